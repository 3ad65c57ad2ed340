package live

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/aws-operator/aws-operator/internal/cluster/pki"
)

const (
	// leafEndsSoon is how long before its expiry a certificate is reported, caEndsSoon that
	// of a CA, which takes longer to replace.
	leafEndsSoon = 30 * 24 * time.Hour
	caEndsSoon   = 180 * 24 * time.Hour
)

// certificates finds certificates that expire soon: of the CAs and the kubeconfig in the Secrets,
// and of the API server.
func certificates(l *Observation) []Problem {
	var problems []Problem
	tell := func(name string, certificate *x509.Certificate, soon time.Duration, remedy string) {
		if certificate == nil || certificate.NotAfter.Sub(l.Now) > soon {
			return
		}
		verb := "ends"
		if !l.Now.Before(certificate.NotAfter) {
			verb = "ended"
		}
		problems = append(problems, Problem{"Certificate", name, ReasonCertificateEnds, fmt.Sprintf(
			"It %s on %s. %s", verb, certificate.NotAfter.UTC().Format(time.DateOnly), remedy)})
	}
	for _, secret := range l.Secrets {
		suffix := strings.TrimPrefix(secret.Name, l.Cluster.Name)
		switch suffix {
		case pki.SuffixCA, pki.SuffixEtcdCA, pki.SuffixFrontProxyCA:
			tell(secret.Name, parse(secret.Data[corev1.TLSCertKey]), caEndsSoon,
				"All certificates of the cluster expire with it. Rotate the CAs: set spec.certificates.rotate of the Cluster to a new text.")
		case pki.SuffixKubeconfig:
			tell(secret.Name, kubeconfigCertificate(secret.Data[pki.KubeconfigKey]), leafEndsSoon,
				"Create another kubeconfig: aws-operator export kubeconfig "+l.Cluster.Name+".")
		}
	}
	if l.API != nil {
		tell("kube-apiserver", l.API.Certificate, leafEndsSoon, fmt.Sprintf(
			"New instances get new ones: aws-operator rolling-update cluster %s --instance-group-roles control-plane --force --yes.",
			l.Cluster.Name,
		))
	}
	return problems
}

func parse(encoded []byte) *x509.Certificate {
	block, _ := pem.Decode(encoded)
	if block == nil {
		return nil
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil
	}
	return certificate
}

// kubeconfigCertificate returns the client certificate of a kubeconfig's current context, nil if it
// has none.
func kubeconfigCertificate(kubeconfig []byte) *x509.Certificate {
	config, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return nil
	}
	context := config.Contexts[config.CurrentContext]
	if context == nil || config.AuthInfos[context.AuthInfo] == nil {
		return nil
	}
	return parse(config.AuthInfos[context.AuthInfo].ClientCertificateData)
}

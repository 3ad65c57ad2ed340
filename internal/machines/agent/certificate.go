//go:build linux

package agent

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// The interval of polls for a certificate, and the time after which another is requested.
const (
	certificateEvery  = 500 * time.Millisecond
	certificateWithin = time.Minute
)

var errDenied = errors.New("the certificate was denied")

// ensureKubeconfig returns when the kubeconfig exists. If it does not, ensureKubeconfig requests a
// client certificate with the bootstrap token:
// https://kubernetes.io/docs/reference/access-authn-authz/kubelet-tls-bootstrapping/
func (k *kubelet) ensureKubeconfig(ctx context.Context) error {
	if exists(k.kubeconfig) {
		return nil
	}
	if k.bootstrapKubeconfig == "" || !exists(k.bootstrapKubeconfig) {
		return fmt.Errorf("there is neither %s nor a bootstrap kubeconfig", k.kubeconfig)
	}
	a, err := newAPI(k.bootstrapKubeconfig)
	if err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("generate the node's key: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, certificateWithin)
	defer cancel()
	certificate, err := k.getCertificate(
		ctx, a, key, &x509.CertificateRequest{}, certificatesv1.KubeAPIServerClientKubeletSignerName, certificatesv1.UsageClientAuth,
	)
	if err != nil {
		return err
	}
	return k.writeKubeconfig(certificate, key)
}

// getCertificate requests a certificate of the node from a signer, and waits for it. asked has what it
// contains besides the node's identity.
func (k *kubelet) getCertificate(
	ctx context.Context, a *api, key *ecdsa.PrivateKey, asked *x509.CertificateRequest, signer string, usage certificatesv1.KeyUsage,
) ([]byte, error) {
	asked.Subject = pkix.Name{CommonName: "system:node:" + k.nodeName, Organization: []string{"system:nodes"}}
	der, err := x509.CreateCertificateRequest(rand.Reader, asked, key)
	if err != nil {
		return nil, fmt.Errorf("write the certificate request: %w", err)
	}
	request := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "node-csr-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			SignerName: signer, Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, usage},
		},
	}
	var made certificatesv1.CertificateSigningRequest
	if err := a.certificates.Post().Resource("certificatesigningrequests").Body(request).Do(ctx).Into(&made); err != nil {
		return nil, fmt.Errorf("request a certificate of %s: %w", signer, err)
	}
	k.log.Info("requested a certificate", "request", made.Name, "signer", signer)
	return k.awaitCertificate(ctx, a, made.Name)
}

func (k *kubelet) awaitCertificate(ctx context.Context, a *api, name string) ([]byte, error) {
	ticker := k.clock.NewTicker(certificateEvery)
	defer ticker.Stop()
	for {
		var request certificatesv1.CertificateSigningRequest
		err := a.certificates.Get().Resource("certificatesigningrequests").Name(name).Do(ctx).Into(&request)
		if err != nil {
			return nil, fmt.Errorf("read the certificate: %w", err)
		}
		for _, c := range request.Status.Conditions {
			if c.Type != certificatesv1.CertificateApproved && c.Status == corev1.ConditionTrue {
				return nil, fmt.Errorf("%w: %s: %s", errDenied, c.Reason, c.Message)
			}
		}
		if len(request.Status.Certificate) > 0 {
			return request.Status.Certificate, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the certificate %s: %w", name, ctx.Err())
		case <-ticker.C():
		}
	}
}

// writeKubeconfig writes the certificate with its key, and then the kubeconfig, whose existence
// marks that both are complete.
func (k *kubelet) writeKubeconfig(certificate []byte, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("write the node's key: %w", err)
	}
	both := bytes.Join([][]byte{certificate, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})}, nil)
	path := filepath.Join(k.certDir, "kubelet-client-current.pem")
	if err := os.MkdirAll(k.certDir, 0o750); err != nil {
		return fmt.Errorf("write the client certificate: %w", err)
	}
	if err := os.WriteFile(path, both, 0o600); err != nil {
		return fmt.Errorf("write the client certificate: %w", err)
	}
	config, err := clientcmd.LoadFromFile(k.bootstrapKubeconfig)
	if err != nil {
		return fmt.Errorf("read the bootstrap kubeconfig: %w", err)
	}
	current, ok := config.Contexts[config.CurrentContext]
	if !ok {
		return fmt.Errorf("the bootstrap kubeconfig %s has no current context", k.bootstrapKubeconfig)
	}
	cluster, ok := config.Clusters[current.Cluster]
	if !ok {
		return fmt.Errorf("the bootstrap kubeconfig %s has no cluster", k.bootstrapKubeconfig)
	}
	own := clientcmdapi.NewConfig()
	own.Clusters["default-cluster"] = cluster
	own.AuthInfos["default-auth"] = &clientcmdapi.AuthInfo{ClientCertificate: path, ClientKey: path}
	own.Contexts["default-context"] = &clientcmdapi.Context{Cluster: "default-cluster", AuthInfo: "default-auth"}
	own.CurrentContext = "default-context"
	if err := clientcmd.WriteToFile(*own, k.kubeconfig); err != nil {
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	k.log.Info("got a client certificate")
	return nil
}

package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/clock"
)

// Groups of the workload cluster.
const (
	// GroupMasters has all permissions, independent of the cluster's roles. The operator's own
	// kubeconfig uses it, because the operator must reach a cluster without role bindings, also if
	// a user deleted them.
	GroupMasters = "system:masters"
	// GroupAdmins is the group that kubeadm binds to cluster-admin. It has no permissions without
	// that binding. The users' kubeconfig uses it.
	GroupAdmins = "kubeadm:cluster-admins"
)

// KubeconfigInput describes a kubeconfig.
type KubeconfigInput struct {
	// Cluster is the cluster's name, for the names in the kubeconfig.
	Cluster string
	// Server is the API's address, https://host:port.
	Server string
	// ServerName is the name that the API server's certificate is verified for, if it is not the
	// host of Server.
	ServerName string
	// CommonName is the user.
	CommonName string
	// Organisations are the user's groups: GroupAdmins, GroupMasters.
	Organisations []string
	// Validity is the validity of the client certificate.
	Validity time.Duration
}

// Kubeconfig creates a kubeconfig with a new key and a client certificate of the cluster's CA.
func (a *CAs) Kubeconfig(clock clock.PassiveClock, in KubeconfigInput) ([]byte, error) {
	if in.Server == "" || in.CommonName == "" || in.Validity <= 0 {
		return nil, errors.New("a kubeconfig needs a server, a common name and a validity")
	}
	certificate, key, err := a.clientCertificate(clock.Now(), in)
	if err != nil {
		return nil, err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters[in.Cluster] = &clientcmdapi.Cluster{
		Server: in.Server, TLSServerName: in.ServerName, CertificateAuthorityData: a.trusted(),
	}
	config.AuthInfos[in.CommonName] = &clientcmdapi.AuthInfo{ClientCertificateData: certificate, ClientKeyData: key}
	config.Contexts[in.Cluster] = &clientcmdapi.Context{Cluster: in.Cluster, AuthInfo: in.CommonName}
	config.CurrentContext = in.Cluster
	written, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("encode the kubeconfig of %s: %w", in.Cluster, err)
	}
	return written, nil
}

func (a *CAs) clientCertificate(now time.Time, in KubeconfigInput) (certificatePEM, keyPEM []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("create the key of %s: %w", in.CommonName, err)
	}
	serial, err := newSerial()
	if err != nil {
		return nil, nil, err
	}
	issuer := a.issuing().cluster
	notAfter := now.Add(in.Validity)
	if notAfter.After(issuer.certificate.NotAfter) {
		notAfter = issuer.certificate.NotAfter
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: in.CommonName, Organization: in.Organisations},
		NotBefore:    now.Add(-backdated).UTC(),
		NotAfter:     notAfter.UTC(),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer.certificate, key.Public(), issuer.key)
	if err != nil {
		return nil, nil, fmt.Errorf("create the certificate of %s: %w", in.CommonName, err)
	}
	if keyPEM, err = encodeKey(key); err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), keyPEM, nil
}

// KubeconfigDue returns why a kubeconfig must be renewed: it does not match in, another CA issued
// it, or less than a third of its certificate's validity is left. An empty reason means that it is
// good.
func (a *CAs) KubeconfigDue(clock clock.PassiveClock, in KubeconfigInput, kubeconfig []byte) (reason string) {
	if len(kubeconfig) == 0 {
		return "there is none"
	}
	config, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return "it cannot be read"
	}
	cluster, user := config.Clusters[in.Cluster], config.AuthInfos[in.CommonName]
	if cluster == nil || user == nil {
		return "it is for another cluster or user"
	}
	if cluster.Server != in.Server || cluster.TLSServerName != in.ServerName {
		return "the API's address has changed"
	}
	if string(cluster.CertificateAuthorityData) != string(a.trusted()) {
		return "it trusts another CA"
	}
	pair, err := tls.X509KeyPair(user.ClientCertificateData, user.ClientKeyData)
	if err != nil {
		return "its certificate and key do not match"
	}
	return a.certificateDue(clock.Now(), pair.Leaf, in)
}

func (a *CAs) certificateDue(now time.Time, certificate *x509.Certificate, in KubeconfigInput) string {
	if err := certificate.CheckSignatureFrom(a.issuing().cluster.certificate); err != nil {
		return "another CA issued its certificate"
	}
	if !sameSet(certificate.Subject.Organization, in.Organisations) {
		return "its groups have changed"
	}
	life := certificate.NotAfter.Sub(certificate.NotBefore)
	if certificate.NotAfter.Sub(now) < life/3 {
		return "its certificate expires on " + certificate.NotAfter.UTC().Format(time.DateOnly)
	}
	return ""
}

func sameSet(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	seen := map[string]int{}
	for _, value := range a {
		seen[value]++
	}
	for _, value := range b {
		seen[value]--
		if seen[value] < 0 {
			return false
		}
	}
	return true
}

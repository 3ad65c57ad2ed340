//go:build linux

package agent

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
)

// servingPort is the port on which a kubelet serves logs and exec.
const servingPort = 10250

// serve gets a serving certificate from the cluster and serves with it until ctx ends:
// https://kubernetes.io/docs/reference/access-authn-authz/kubelet-tls-bootstrapping/#certificate-rotation
func (k *kubelet) serve(ctx context.Context) error {
	certificate, err := k.servingCertificate(ctx)
	if err != nil {
		return err
	}
	clients, err := pool(k.clientCA)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", net.JoinHostPort("0.0.0.0", strconv.Itoa(servingPort)))
	if err != nil {
		return fmt.Errorf("serve logs and exec: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "the simulated kubelet serves neither logs nor exec", http.StatusNotImplemented)
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: patience, TLSConfig: &tls.Config{
		Certificates: []tls.Certificate{*certificate}, ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert,
		MinVersion: tls.VersionTLS12,
	}}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	k.log.Info("serves with a certificate of the cluster")
	if err := server.ServeTLS(listener, "", ""); ctx.Err() == nil {
		return fmt.Errorf("serve logs and exec: %w", err)
	}
	return nil
}

// servingCertificate requests a certificate for the addresses of the node.
func (k *kubelet) servingCertificate(ctx context.Context) (*tls.Certificate, error) {
	status, err := k.status()
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate the key to serve with: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, certificateWithin)
	defer cancel()
	text, err := k.getCertificate(
		ctx, k.api, key, servingNames(status.Addresses), certificatesv1.KubeletServingSignerName, certificatesv1.UsageServerAuth,
	)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("write the key to serve with: %w", err)
	}
	pair, err := tls.X509KeyPair(text, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
	if err != nil {
		return nil, fmt.Errorf("read the serving certificate: %w", err)
	}
	return &pair, nil
}

// servingNames returns the names and addresses of a node as a kubelet requests them, each once.
func servingNames(addresses []corev1.NodeAddress) *x509.CertificateRequest {
	asked, seen := &x509.CertificateRequest{}, map[string]bool{}
	for _, a := range addresses {
		if seen[a.Address] {
			continue
		}
		seen[a.Address] = true
		if ip := net.ParseIP(a.Address); ip != nil {
			asked.IPAddresses = append(asked.IPAddresses, ip)
		} else {
			asked.DNSNames = append(asked.DNSNames, a.Address)
		}
	}
	return asked
}

// pool returns the CAs of a file.
func pool(path string) (*x509.CertPool, error) {
	text, err := os.ReadFile(path) //nolint:gosec // the kubelet's configuration names it
	if err != nil {
		return nil, fmt.Errorf("read the CA of clients: %w", err)
	}
	cas := x509.NewCertPool()
	if !cas.AppendCertsFromPEM(text) {
		return nil, errors.New("the file of the CA of clients has no certificate")
	}
	return cas, nil
}

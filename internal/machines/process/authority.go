//go:build linux

package process

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// certificatesKept limits the cache, because machines may ask for arbitrary names.
const certificatesKept = 1000

// authority is the CA that machines trust for AWS's endpoints. Its key exists only in memory.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte

	mu     sync.Mutex
	leaf   *ecdsa.PrivateKey
	issued map[string]*tls.Certificate
}

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate the key of AWS's CA: %w", err)
	}
	leaf, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate the key of AWS's endpoints: %w", err)
	}
	template := validity(&x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "AWS simulator"},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("create AWS's CA: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("parse AWS's CA: %w", err)
	}
	return &authority{
		cert: cert, key: key, leaf: leaf, issued: map[string]*tls.Certificate{},
		pem: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
	}, nil
}

// validity sets a validity that starts an hour ago by the real clock, not the simulator's, because
// curl and all other programs in a machine use the real clock.
func validity(template *x509.Certificate) *x509.Certificate {
	now := clock.RealClock{}.Now()
	template.NotBefore, template.NotAfter = now.Add(-time.Hour), now.AddDate(1, 0, 0)
	return template
}

// certificate issues a certificate for the name that the client asks for.
func (a *authority) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	name := hello.ServerName
	if cert, ok := a.issued[name]; ok {
		return cert, nil
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return nil, fmt.Errorf("generate a serial number: %w", err)
	}
	template := validity(&x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "AWS simulator endpoint"},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	if name == "" {
		template.IPAddresses = []net.IP{apiAddress.AsSlice()}
	} else {
		template.DNSNames = []string{name}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, a.leaf.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("issue a certificate for %q: %w", name, err)
	}
	if len(a.issued) >= certificatesKept {
		clear(a.issued)
	}
	a.issued[name] = &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: a.leaf}
	return a.issued[name], nil
}

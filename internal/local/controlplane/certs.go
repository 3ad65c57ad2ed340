package controlplane

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// The validity of all certificates: from a little before now, for clocks that
// differ, to longer than any local control plane lives.
const (
	validBefore = time.Hour
	validFor    = 365 * 24 * time.Hour
)

// authority signs the certificates of one control plane.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	now  time.Time
	dir  string
}

// newAuthority makes a certificate authority and writes its certificate as
// ca.crt into dir.
func newAuthority(dir string, now time.Time) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the key of the certificate authority: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "aws-operator local"},
		NotBefore: now.Add(-validBefore), NotAfter: now.Add(validFor),
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make the certificate authority: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read the certificate authority back: %w", err)
	}
	a := &authority{cert: cert, key: key, now: now, dir: dir}
	return a, a.write("ca.crt", "CERTIFICATE", der)
}

// pair is a certificate with its key, in PEM.
type pair struct{ cert, key []byte }

// issue makes a certificate for the server and the client that name is, and
// writes it as name.crt and name.key.
func (a *authority) issue(name string, subject pkix.Name) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, fmt.Errorf("make the key of %s: %w", name, err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return pair{}, fmt.Errorf("make the serial number of %s: %w", name, err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: subject,
		NotBefore: a.now.Add(-validBefore), NotAfter: a.now.Add(validFor),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return pair{}, fmt.Errorf("sign the certificate of %s: %w", name, err)
	}
	if err := a.write(name+".crt", "CERTIFICATE", der); err != nil {
		return pair{}, err
	}
	if err := a.writeKey(name+".key", key); err != nil {
		return pair{}, err
	}
	return a.read(name)
}

// serviceAccountKey writes the key that signs service account tokens as
// service-account.key, and its public half as service-account.pub.
func (a *authority) serviceAccountKey() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make the service account key: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return fmt.Errorf("encode the service account key: %w", err)
	}
	if err := a.write("service-account.pub", "PUBLIC KEY", public); err != nil {
		return err
	}
	return a.writeKey("service-account.key", key)
}

func (a *authority) writeKey(name string, key crypto.PrivateKey) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	return a.write(name, "PRIVATE KEY", der)
}

func (a *authority) write(name, kind string, der []byte) error {
	data := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	if err := os.WriteFile(a.path(name), data, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

func (a *authority) read(name string) (pair, error) {
	cert, err := os.ReadFile(a.path(name + ".crt"))
	if err != nil {
		return pair{}, fmt.Errorf("read the certificate of %s: %w", name, err)
	}
	key, err := os.ReadFile(a.path(name + ".key"))
	if err != nil {
		return pair{}, fmt.Errorf("read the key of %s: %w", name, err)
	}
	return pair{cert: cert, key: key}, nil
}

func (a *authority) path(name string) string { return filepath.Join(a.dir, name) }

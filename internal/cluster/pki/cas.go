package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"

	"k8s.io/utils/clock"
)

// caValidity is the validity of a CA, the same as kubeadm's.
const caValidity = 10 * 365 * 24 * time.Hour

// backdated is how far back certificates become valid, for computers whose clocks are behind.
const backdated = 5 * time.Minute

// CAs are a cluster's three certificate authorities and its service-account key pair.
type CAs struct {
	cluster, etcd, frontProxy *ca
	serviceAccount            *keyPair
}

// ca is a certificate authority.
type ca struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	// certificatePEM and keyPEM are stored byte for byte.
	certificatePEM, keyPEM []byte
}

// keyPair signs service-account tokens.
type keyPair struct {
	key                   *ecdsa.PrivateKey
	publicPEM, privatePEM []byte
}

// New creates a cluster's CAs.
func New(clock clock.PassiveClock) (*CAs, error) {
	cluster, err := newCA(clock.Now(), "kubernetes")
	if err != nil {
		return nil, err
	}
	etcd, err := newCA(clock.Now(), "etcd-ca")
	if err != nil {
		return nil, err
	}
	frontProxy, err := newCA(clock.Now(), "front-proxy-ca")
	if err != nil {
		return nil, err
	}
	serviceAccount, err := newKeyPair()
	if err != nil {
		return nil, err
	}
	return &CAs{cluster: cluster, etcd: etcd, frontProxy: frontProxy, serviceAccount: serviceAccount}, nil
}

// String describes the value without its content.
func (a *CAs) String() string { return "a cluster's CAs (not shown)" }

// GoString describes the value without its content.
func (a *CAs) GoString() string { return a.String() }

// MarshalLog describes the value without its content.
func (a *CAs) MarshalLog() any { return a.String() }

// MarshalJSON returns an error: only [CAs.Files] and [Ensure] write CAs.
func (a *CAs) MarshalJSON() ([]byte, error) {
	return nil, errors.New("a cluster's CAs must not be encoded as JSON")
}

// CACertificate returns the cluster CA's certificate, PEM.
func (a *CAs) CACertificate() []byte { return a.cluster.certificatePEM }

// Expiry returns when the first of the CAs expires.
func (a *CAs) Expiry() time.Time {
	expiry := a.cluster.certificate.NotAfter
	for _, one := range []*ca{a.etcd, a.frontProxy} {
		if one.certificate.NotAfter.Before(expiry) {
			expiry = one.certificate.NotAfter
		}
	}
	return expiry
}

// Files returns what the slots download, by key in the cluster's bucket. All keys are below pki/,
// which only the slots' role may read.
func (a *CAs) Files() map[string][]byte {
	return map[string][]byte{
		"pki/ca.crt":             a.cluster.certificatePEM,
		"pki/ca.key":             a.cluster.keyPEM,
		"pki/etcd/ca.crt":        a.etcd.certificatePEM,
		"pki/etcd/ca.key":        a.etcd.keyPEM,
		"pki/front-proxy-ca.crt": a.frontProxy.certificatePEM,
		"pki/front-proxy-ca.key": a.frontProxy.keyPEM,
		"pki/sa.pub":             a.serviceAccount.publicPEM,
		"pki/sa.key":             a.serviceAccount.privatePEM,
	}
}

func newCA(now time.Time, commonName string) (*ca, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("create the key of %s: %w", commonName, err)
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: commonName},
		DNSNames:              []string{commonName}, // Like kubeadm's: some clients expect a name here.
		NotBefore:             now.Add(-backdated).UTC(),
		NotAfter:              now.Add(caValidity).UTC(),
		KeyUsage:              x509.KeyUsageKeyEncipherment | x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("create the certificate of %s: %w", commonName, err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("parse the certificate of %s: %w", commonName, err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return nil, err
	}
	return &ca{
		certificate: certificate, key: key,
		certificatePEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), keyPEM: keyPEM,
	}, nil
}

func newKeyPair() (*keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("create the service-account key: %w", err)
	}
	private, err := encodeKey(key)
	if err != nil {
		return nil, err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, fmt.Errorf("encode the service-account key: %w", err)
	}
	return &keyPair{
		key:        key,
		publicPEM:  pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}),
		privatePEM: private,
	}, nil
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a private key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

func newSerial() (*big.Int, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("create a serial number: %w", err)
	}
	return serial.Add(serial, big.NewInt(1)), nil
}

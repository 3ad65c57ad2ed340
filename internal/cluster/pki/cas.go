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

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// caValidity is the validity of a CA, the same as kubeadm's.
const caValidity = 10 * 365 * 24 * time.Hour

// backdated is how far back certificates become valid, for computers whose clocks are behind.
const backdated = 5 * time.Minute

// CAs are a cluster's three certificate authorities and its service-account key pair, and during a rotation also
// the next ones.
type CAs struct {
	set
	// origin is the certificate of the cluster's first CA, nil if the cluster still has it.
	origin []byte
	// rotated is the request for the last rotation that ended.
	rotated string
	// rotation is the rotation in progress, nil if there is none.
	rotation *rotation
	// encryption is the state of spec.api.encryption.
	encryption Encryption
}

// set is a complete set of CAs and keys.
type set struct {
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
	made, err := newSet(clock.Now(), "")
	if err != nil {
		return nil, err
	}
	return &CAs{set: *made}, nil
}

// newSet creates CAs and keys. The names of the CAs end with a suffix.
func newSet(now time.Time, suffix string) (*set, error) {
	made := &set{}
	for name, into := range map[string]**ca{"kubernetes": &made.cluster, "etcd-ca": &made.etcd, "front-proxy-ca": &made.frontProxy} {
		created, err := newCA(now, name+suffix)
		if err != nil {
			return nil, err
		}
		*into = created
	}
	var err error
	made.serviceAccount, err = newKeyPair()
	return made, err
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

// CACertificate returns the certificates, PEM, of the cluster's CAs that the instances of instance groups trust.
// These are two while a rotation replaces these instances for the first time.
func (a *CAs) CACertificate() []byte {
	if a.stage() == v1alpha1.RotationTrust || a.stage() == v1alpha1.RotationIssue {
		return a.cluster.certificatePEM // The certificates of the control plane have a chain to it.
	}
	return a.trusted()
}

// Origin returns the certificate, PEM, of the CA that the cluster was created with.
func (a *CAs) Origin() []byte {
	if a.origin == nil {
		return a.cluster.certificatePEM
	}
	return a.origin
}

// trusted returns the certificates, PEM, of the cluster's CAs that clients of the API trust. The one that issues
// comes first.
func (a *CAs) trusted() []byte {
	return joined(a.sets(), func(s *set) []byte { return s.cluster.certificatePEM })
}

// Expiry returns when the first of the CAs expires.
func (a *CAs) Expiry() time.Time {
	issuing := a.issuing()
	expiry := issuing.cluster.certificate.NotAfter
	for _, one := range []*ca{issuing.etcd, issuing.frontProxy} {
		if one.certificate.NotAfter.Before(expiry) {
			expiry = one.certificate.NotAfter
		}
	}
	return expiry
}

// Files returns what the slots download, by key in the cluster's bucket. All keys are below pki/, which only the
// slots' role may read.
func (a *CAs) Files() map[string][]byte {
	keys := a.Keys()
	files := map[string][]byte{}
	a.addFiles(files, keys.Dir())
	if r := a.rotation; r != nil {
		r.next.addFiles(files, keys.Next)
		addTrusted(files, keys.Next+model.KeyTrustFolder, []*set{&a.set, &r.next}, r.crossOld)
		addTrusted(files, keys.Next+model.KeyIssueFolder, []*set{&r.next, &a.set}, r.crossNew)
	}
	return files
}

func (s *set) addFiles(files map[string][]byte, folder string) {
	for name, content := range map[string][]byte{
		"ca.crt": s.cluster.certificatePEM, "ca.key": s.cluster.keyPEM,
		"etcd/ca.crt": s.etcd.certificatePEM, "etcd/ca.key": s.etcd.keyPEM,
		"front-proxy-ca.crt": s.frontProxy.certificatePEM, "front-proxy-ca.key": s.frontProxy.keyPEM,
		"sa.pub": s.serviceAccount.publicPEM, "sa.key": s.serviceAccount.privatePEM,
	} {
		files[folder+name] = content
	}
}

// addTrusted adds the files of slots that trust several sets.
func addTrusted(files map[string][]byte, folder string, sets []*set, cross []byte) {
	files[folder+"ca.crt"] = joined(sets, func(s *set) []byte { return s.cluster.certificatePEM })
	files[folder+"etcd/ca.crt"] = joined(sets, func(s *set) []byte { return s.etcd.certificatePEM })
	files[folder+"front-proxy-ca.crt"] = joined(sets, func(s *set) []byte { return s.frontProxy.certificatePEM })
	files[folder+"sa.pub"] = joined(sets, func(s *set) []byte { return s.serviceAccount.publicPEM })
	files[folder+model.KeyCross] = cross
}

// joined concatenates a file in PEM of several sets.
func joined(sets []*set, of func(*set) []byte) []byte {
	var all []byte
	for _, one := range sets {
		content := of(one)
		if len(all) > 0 && all[len(all)-1] != '\n' { // Users may have restored it without its last newline.
			all = append(all, '\n')
		}
		all = append(all, content...)
	}
	return all
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

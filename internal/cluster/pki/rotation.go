package pki

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// rotation is a rotation in progress.
type rotation struct {
	stage     v1alpha1.RotationStage
	requested string
	started   time.Time
	next      set
	// crossNew is the certificate, PEM, of the cluster's next CA, issued by the current one; crossOld that of the
	// current CA, issued by the next one.
	crossNew, crossOld []byte
}

// Rotation describes the rotation of a cluster's CAs.
type Rotation struct {
	// Stage is the stage of the rotation in progress, empty if there is none.
	Stage v1alpha1.RotationStage
	// Requested is the request that it is for, empty if the age of the CAs triggered it, and Started is its start.
	Requested string
	Started   time.Time
	// Rotated is the request for the last rotation that ended, empty if there was none.
	Rotated string
}

// Due reports whether a request starts a rotation.
func (r Rotation) Due(requested string) bool {
	return r.Stage == "" && requested != "" && requested != r.Rotated
}

// Rotation returns the state of the rotation.
func (a *CAs) Rotation() Rotation {
	state := Rotation{Rotated: a.rotated}
	if r := a.rotation; r != nil {
		state.Stage, state.Requested, state.Started = r.stage, r.requested, r.started
	}
	return state
}

// Keys returns which files in the bucket instances use.
func (a *CAs) Keys() model.Keys {
	keys := model.Keys{Stage: a.stage(), Encryption: a.encryption.Stage}
	if a.origin != nil {
		keys.Folder = folderOf(a.cluster)
	}
	if a.rotation != nil {
		keys.Next = folderOf(a.rotation.next.cluster)
	}
	return keys
}

// folderOf returns the folder in the bucket of CAs that are not the cluster's first ones. It has the fingerprint of
// their certificate, so that no two have the same.
func folderOf(cluster *ca) string { return model.KeyPKIPrefix + fingerprint(cluster) + "/" }

func fingerprint(of *ca) string {
	const length = 8
	sum := sha256.Sum256(of.certificate.Raw)
	return hex.EncodeToString(sum[:length])
}

func (a *CAs) stage() v1alpha1.RotationStage {
	if a.rotation == nil {
		return ""
	}
	return a.rotation.stage
}

// issuing returns the CAs and keys that issue certificates and tokens.
func (a *CAs) issuing() *set { return a.sets()[0] }

// sets returns the CAs and keys that the control plane trusts. The first one issues.
func (a *CAs) sets() []*set {
	switch a.stage() {
	case "":
		return []*set{&a.set}
	case v1alpha1.RotationTrust:
		return []*set{&a.set, &a.rotation.next}
	case v1alpha1.RotationForget:
		return []*set{&a.rotation.next}
	default:
		return []*set{&a.rotation.next, &a.set}
	}
}

// Fingerprint identifies the cluster's CA that issues certificates.
func (a *CAs) Fingerprint() string { return fingerprint(a.issuing().cluster) }

// Superseded are CAs that are no longer trusted: the fingerprint of the cluster's, and the certificates, DER, of that
// and of the front proxy's.
type Superseded struct {
	Fingerprint  string
	Certificates [][]byte
}

// Superseded returns the CAs that a rotation in its last stage supersedes, nil in any other.
func (a *CAs) Superseded() *Superseded {
	if a.stage() != v1alpha1.RotationForget || a.cluster.certificate.Equal(a.rotation.next.cluster.certificate) {
		return nil
	}
	return &Superseded{
		Fingerprint: fingerprint(a.cluster), Certificates: [][]byte{a.cluster.certificate.Raw, a.frontProxy.certificate.Raw},
	}
}

// newRotation creates the next CAs.
func (a *CAs) newRotation(now time.Time, requested string) (*rotation, error) {
	suffix, err := newSuffix()
	if err != nil {
		return nil, err
	}
	next, err := newSet(now, suffix)
	if err != nil {
		return nil, err
	}
	made := &rotation{stage: v1alpha1.RotationTrust, requested: requested, started: now.UTC().Truncate(time.Second), next: *next}
	if made.crossNew, err = a.cluster.cross(now, next.cluster); err != nil {
		return nil, err
	}
	made.crossOld, err = next.cluster.cross(now, a.cluster)
	return made, err
}

// newSuffix returns a suffix for the names of CAs. With the same names, some clients would try the wrong one only.
func newSuffix() (string, error) {
	const length = 4
	random := make([]byte, length)
	if _, err := rand.Read(random); err != nil {
		return "", fmt.Errorf("create the name of a CA: %w", err)
	}
	return "-" + hex.EncodeToString(random), nil
}

// cross returns another CA's certificate, issued by this CA. It has the name and the key of the other CA, so it
// verifies what that one issues.
func (c *ca) cross(now time.Time, other *ca) ([]byte, error) {
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	notAfter := other.certificate.NotAfter
	if c.certificate.NotAfter.Before(notAfter) {
		notAfter = c.certificate.NotAfter
	}
	template := &x509.Certificate{
		SerialNumber: serial, RawSubject: other.certificate.RawSubject, SubjectKeyId: other.certificate.SubjectKeyId,
		NotBefore: now.Add(-backdated).UTC(), NotAfter: notAfter,
		KeyUsage: other.certificate.KeyUsage, BasicConstraintsValid: true, IsCA: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, c.certificate, other.certificate.PublicKey, c.key)
	if err != nil {
		return nil, fmt.Errorf("issue the certificate of one CA by another: %w", err)
	}
	issued, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("parse the certificate of a CA: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(c.certificate)
	options := x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}
	if _, err := issued.Verify(options); err != nil {
		return nil, fmt.Errorf("the cluster's CA cannot issue the certificate of another CA, which a rotation needs: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

// errNoStage reports a stage that does not exist.
var errNoStage = errors.New("has an unknown stage of the rotation in stage")

func knownStage(stage v1alpha1.RotationStage) bool {
	switch stage {
	case v1alpha1.RotationTrust, v1alpha1.RotationIssue, v1alpha1.RotationRenew, v1alpha1.RotationForget:
		return true
	default:
		return false
	}
}

package model

import (
	"strings"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/apiserver"
)

// Keys says which of the certificate authorities (CAs) and keys in the bucket a cluster's instances use. The zero
// value is those that the cluster was created with.
type Keys struct {
	// Folder is where the files of the current CAs are, with a slash at its end; empty for [KeyPKIPrefix].
	Folder string
	// Next is where those of the next CAs are during a rotation, empty without one.
	Next string
	// Stage is the stage of the rotation, empty without one.
	Stage v1alpha1.RotationStage
	// Encryption is the stage of spec.api.encryption in a cluster that was created without it, empty for others.
	Encryption v1alpha1.EncryptionStage
}

// SetKeys sets which CAs and keys slots use, and what their API servers do in the stage of spec.api.encryption.
func (c *Cluster) SetKeys(keys Keys) {
	c.Keys = keys
	if c.Spec.API.Encryption != nil && keys.Encryption != "" {
		c.APIServer, _ = apiserver.New(&c.Spec.API, c.Issuer, keys.Encryption) // Resolve has reported the problems.
	}
}

// CAs returns the value without what does not concern certificates.
func (k Keys) CAs() Keys {
	k.Encryption = ""
	return k
}

// Folders below the folder of the next CAs: the files of the stages that trust both the current and the next CAs,
// the ones that issue certificates first.
const (
	KeyTrustFolder = "trust/"
	KeyIssueFolder = "issue/"
	// KeyCross is a file in them: the certificate of the CA that issues, issued by the other one. Clients that
	// trust only the other one verify certificates with it.
	KeyCross = "cross-ca.crt"
)

// SupersededKey returns the key in the bucket of an object that exists once a rotation has superseded the cluster's CA
// whose certificate has a fingerprint.
func SupersededKey(fingerprint string) string { return KeyPKIPrefix + "superseded/" + fingerprint }

// Dir returns the folder of the current CAs.
func (k Keys) Dir() string {
	if k.Folder == "" {
		return KeyPKIPrefix
	}
	return k.Folder
}

// IsMixed reports whether slots trust both the current and the next CAs.
func (k Keys) IsMixed() bool {
	return k.Next != "" && k.Stage != "" && k.Stage != v1alpha1.RotationForget
}

// Issuing returns the folder of the CAs that issue certificates.
func (k Keys) Issuing() string {
	if k.Next == "" || k.Stage == v1alpha1.RotationTrust {
		return k.Dir()
	}
	return k.Next
}

// Trusted returns the folder of the certificates and public keys that slots trust.
func (k Keys) Trusted() string {
	switch {
	case !k.IsMixed():
		return k.Issuing()
	case k.Stage == v1alpha1.RotationTrust:
		return k.Next + KeyTrustFolder
	default:
		return k.Next + KeyIssueFolder
	}
}

// String identifies the value: it is empty for the zero value.
func (k Keys) String() string {
	if k == (Keys{}) {
		return ""
	}
	parts := []string{k.Folder, k.Next, string(k.Stage)}
	if k.Encryption != "" {
		parts = append(parts, string(k.Encryption))
	}
	return strings.Join(parts, " ")
}

// RotationNeedsOperator is why spec.certificates.rotate is refused for a cluster that no operator manages.
const RotationNeedsOperator = "spec.certificates.rotate requires an operator that manages the cluster, " +
	"since each stage of the rotation must wait for the nodes of the one before: remove it"

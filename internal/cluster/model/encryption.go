package model

import (
	"strings"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
)

// Encryption is how slots encrypt resources in etcd.
type Encryption struct {
	// KMSKeyARN is the ARN of the user's key. Own reports that it is the cluster's own, whose ARN is
	// the output [OutputKey] of the base stack.
	KMSKeyARN string
	Own       bool
	// Context is the encryption context. It keeps a slot of another cluster, which may use the same
	// key, from decrypting the data of this one.
	Context map[string]string
}

// Encryption returns how slots encrypt resources in etcd, nil if they do not.
func (c *Cluster) Encryption() *Encryption {
	e := c.Spec.API.Encryption
	if e == nil {
		return nil
	}
	return &Encryption{
		KMSKeyARN: e.KMSKeyARN, Own: e.KMSKeyARN == "",
		Context: map[string]string{bundle.ContextAccount: c.AccountID, bundle.ContextCluster: c.Name},
	}
}

// SlotsEncrypt reports whether the API servers of slots read encrypted resources: always with
// spec.api.encryption, except before its first stage in a cluster that was created without it.
func (c *Cluster) SlotsEncrypt() bool {
	return c.Spec.API.Encryption != nil && c.Keys.Encryption != v1alpha1.EncryptionPlain
}

// EncryptedResources returns the resources that are encrypted, which are never none.
func EncryptedResources(of *v1alpha1.Encryption) []string {
	if len(of.Resources) == 0 {
		return []string{"secrets"}
	}
	return of.Resources
}

// EncryptionNeedsOperator is why spec.api.encryption is refused for an existing cluster that no operator manages.
const EncryptionNeedsOperator = "spec.api.encryption cannot be added to a cluster that no operator manages, since each stage must wait for " +
	"the nodes of the one before: remove it, let an operator manage the cluster, or create a new cluster with it and move the applications"

// AddsEncryption reports whether spec.api.encryption was added to a cluster that exists without it.
func AddsEncryption(of *v1alpha1.Cluster, stage v1alpha1.EncryptionStage) bool {
	return of.Spec.API.Encryption != nil && stage == v1alpha1.EncryptionPlain
}

// checkEncryption refuses keys that slots could not use.
func (c *Cluster) checkEncryption(problems *Problems) {
	e := c.Encryption()
	if e == nil {
		return
	}
	if region := regionOfKey(e.KMSKeyARN); region != "" && region != c.Region {
		problems.add("spec.api.encryption.kmsKeyARN", "use a key of the cluster's region, or leave it out for the cluster's own key",
			"the key is in %s, and the cluster in %s", region, c.Region)
	}
}

// regionOfKey returns the region of a key by its ARN, empty for none.
func regionOfKey(arn string) string {
	const region = 3
	if parts := strings.Split(arn, ":"); len(parts) > region {
		return parts[region]
	}
	return ""
}

package plan

import (
	"fmt"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
)

// placeholderKeys is the folder in the bucket of CAs that do not exist yet.
const placeholderKeys = model.KeyPKIPrefix + "next/"

// keys returns which CAs and keys instances will use: if the spec requests a rotation, or adds encryption, those of its
// first stage. It returns an error if no operator can do that.
func (d *draft) keys() (model.Keys, error) {
	c, keys := d.in.Cluster, d.in.Keys
	if d.lacksEncryption() {
		keys.Encryption = v1alpha1.EncryptionPlain
	}
	if model.AddsEncryption(c, keys.Encryption) && c.Status.Version != "" && c.DeletionTimestamp.IsZero() {
		if d.options.NoOperator {
			return keys, fmt.Errorf("cluster %s: %s", c.Name, model.EncryptionNeedsOperator)
		}
		d.note("Adding spec.api.encryption replaces the instances of the control plane twice, one at a time, and then writes each object of " +
			"its resources again, while the cluster is used. The plan shows the first time.")
		keys.Encryption = v1alpha1.EncryptionReadable
	}
	if c.Spec.Certificates == nil || c.Status.Version == "" || !c.DeletionTimestamp.IsZero() {
		return keys, nil
	}
	state := d.in.Rotation
	if last := c.Status.Certificates; state.Rotated == "" && state.Stage == "" && last != nil && last.Rotation != nil {
		state.Rotated = last.Rotation.Requested // The Secrets cannot be read, or the rotation has just begun.
	}
	if !state.Due(c.Spec.Certificates.Rotate) {
		return keys, nil
	}
	if d.options.NoOperator {
		return keys, fmt.Errorf("cluster %s: %s", c.Name, model.RotationNeedsOperator)
	}
	d.note("A rotation of the CAs replaces the instances of the control plane three times, and then those of instance groups twice. " +
		"The plan shows the first time, with a placeholder for the new CAs.")
	keys.Next, keys.Stage = placeholderKeys, v1alpha1.RotationTrust
	return keys, nil
}

// lacksEncryption reports whether the slots run without encryption although the Secrets, which cannot be read, do not say
// so.
func (d *draft) lacksEncryption() bool {
	c := d.in.Cluster
	if keys := d.in.Keys; keys != keys.CAs() || c.Status.Encryption != nil {
		return false
	}
	known, err := record.Decode(record.Find(c, model.SlotStackName(c.Name, 0)))
	if err != nil {
		return false
	}
	now := known.History().Now
	return now != nil && len(now.Parts) > 0 && now.Parts[bundle.PartEncryption] == ""
}

package plan

import (
	"fmt"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// placeholderKeys is the folder in the bucket of CAs that do not exist yet.
const placeholderKeys = model.KeyPKIPrefix + "next/"

// keys returns which CAs and keys instances will use: if the spec requests a rotation, those of its first stage. It
// returns an error if no operator can rotate them.
func (d *draft) keys() (model.Keys, error) {
	c, keys := d.in.Cluster, d.in.Keys
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

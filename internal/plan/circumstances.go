package plan

import (
	"maps"
	"slices"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// circumstances adds notes about settings that affect the changes.
func (d *draft) circumstances(p *Plan) {
	c := d.in.Cluster
	if p.Empty() {
		return
	}
	if warning := model.NoBackups(c); warning != "" && d.options.NoOperator && c.DeletionTimestamp.IsZero() {
		d.note("%s", warning)
	}
	for _, group := range d.in.Groups {
		if warning := model.NoNodeClass(group); warning != "" && d.options.NoOperator {
			d.note("%s", warning)
		}
	}
	if c.Spec.Paused {
		d.note("The cluster is paused: the operator makes none of these changes until spec.paused is removed.")
	}
	if was := c.Status.Release; was != "" && was != c.Spec.Release && c.DeletionTimestamp.IsZero() {
		text := "The cluster moves from Release %s to %s."
		if d.model.EKS() == nil { // It has none of the release.
			text += " Its addons, which are in no stack, are updated, too."
		}
		d.note(text, was, c.Spec.Release)
	}
	if d.isDeployed() && c.Spec.UpdatePolicy == v1alpha1.UpdateManual {
		d.note("The cluster's updatePolicy is Manual: each change waits for approval.")
	}
	if d.isDeployed() && c.Spec.ControlPlane.RestoreSnapshot != "" && p.Stacks[0].Action != None {
		d.note(
			"etcd's volumes are created from snapshot %s: the instances of all slots are deleted and created again, and the API is unavailable meanwhile.",
			c.Spec.ControlPlane.RestoreSnapshot,
		)
	}
	if len(d.model.AllSlots()) == 1 && slices.ContainsFunc(p.Rolls, func(r Roll) bool { return r.What == RollControlPlane }) {
		d.note("The control plane has one slot: the API is unavailable while its instance is replaced.")
	}
	if p.disablesAutoMode() {
		d.note("EKS terminates the nodes of Auto Mode and deletes its load balancers. It keeps its volumes.")
	}
	for _, id := range slices.Sorted(maps.Keys(p.stays())) {
		d.note(
			"%s of stack %s gets a new launch template. It applies to new instances only: the existing ones are not replaced.",
			id,
			p.Stacks[0].Name,
		)
	}
}

// disablesAutoMode reports whether EKS Auto Mode is disabled in a cluster:
// https://docs.aws.amazon.com/eks/latest/userguide/auto-disable.html
func (p *Plan) disablesAutoMode() bool {
	return slices.ContainsFunc(p.Stacks[0].Resources, func(r Resource) bool {
		return r.Type == "AWS::EKS::Cluster" && r.Action == Update && slices.ContainsFunc(r.Properties, func(p Property) bool {
			is, _ := p.New.Scalar()
			return p.Path == "ComputeConfig/Enabled" && is == "false"
		})
	})
}

// stays are the Auto Scaling groups of the base stack whose launch template changes without a
// replacement of their instances.
func (p *Plan) stays() map[string]bool {
	found := map[string]bool{}
	for i := range p.Stacks[0].Resources {
		r := &p.Stacks[0].Resources[i]
		if r.Type == typeGroup && r.Action == Update && !r.Rolls &&
			slices.ContainsFunc(r.Properties, func(p Property) bool { return p.Cause != "" }) {
			found[r.LogicalID] = true
		}
	}
	return found
}

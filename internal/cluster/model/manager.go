package model

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// unregistered keeps pods off a node until Karpenter has set its labels and taints.
// https://karpenter.sh/docs/concepts/nodepools/#spectemplatespecstartuptaints
var unregistered = corev1.Taint{Key: "karpenter.sh/unregistered", Effect: corev1.TaintEffectNoExecute}

// IsManagedByKarpenter reports whether Karpenter creates the nodes of a group.
func IsManagedByKarpenter(spec *v1alpha1.InstanceGroupSpec) bool {
	return spec.Manager == v1alpha1.ManagerKarpenter
}

// resolveManager checks who creates the group's nodes, and gives those of Karpenter its taint.
func (r *Group) resolveManager(problems *Problems, c *Cluster) {
	if !IsManagedByKarpenter(&r.Spec) {
		return
	}
	const field = "spec.manager"
	switch {
	case c.EKS() != nil:
		problems.add(field, "leave it out, and follow Karpenter's guide for EKS", "EKS makes the nodes of a group")
	case !c.Features.ProvenJoin:
		problems.add(field, "change spec.release of the Cluster first",
			"slots of resource set %s do not let instances of Karpenter join", c.ResourceSet)
	}
	if r.Spec.MinSize != 0 || r.Spec.Replicas != nil && *r.Spec.Replicas != 0 {
		problems.add("spec.minSize", "set minSize to 0, and leave out replicas", "Karpenter creates the nodes of this group")
	}
	isSet := func(taint corev1.Taint) bool {
		return taint.Key == unregistered.Key && taint.Effect == unregistered.Effect
	}
	if !slices.ContainsFunc(r.Spec.Taints, isSet) {
		r.Spec.Taints = append(r.Spec.Taints, unregistered)
	}
}

// NoNodeClass returns a warning about a group of Karpenter in a cluster without an operator, empty for
// others.
func NoNodeClass(group *v1alpha1.InstanceGroup) string {
	if !IsManagedByKarpenter(&group.Spec) {
		return ""
	}
	return fmt.Sprintf("Nothing keeps an EC2NodeClass for instance group %s: only a running operator does. Make it from the group's launch template.", group.Name)
}

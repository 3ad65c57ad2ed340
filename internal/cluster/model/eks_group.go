package model

import (
	"fmt"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// IsSelfManaged reports whether a group of a cluster of EKS has an Auto Scaling group of its own stack.
func IsSelfManaged(spec *v1alpha1.InstanceGroupSpec) bool {
	return spec.EKS != nil && spec.EKS.Management == v1alpha1.EKSSelfManaged
}

// resolveEKSGroup checks a group of a cluster of EKS, and determines the image of a self-managed one.
func (r *Group) resolveEKSGroup(problems *Problems, c *Cluster, spec *v1alpha1.InstanceGroupSpec) {
	c.checkEKSNodes(problems)
	for _, one := range []inapplicable{
		{"spec.volumes", len(spec.Volumes) > 0},
		{"spec.kubeletExtraArgs", len(spec.KubeletExtraArgs) > 0},
		{"spec.extraUserData", spec.ExtraUserData != ""},
		{"spec.files", len(spec.Files) > 0},
		{"spec.units", len(spec.Units) > 0},
	} {
		if one.set {
			problems.add(one.field, "leave it out", "the images of EKS determine how a node boots, so it has no effect")
		}
	}
	if IsSelfManaged(spec) {
		r.Image = c.eksImage(spec)
		return
	}
	r.checkNodeGroup(problems, spec)
}

// eksImage returns the image of a self-managed group: the newest one of EKS for the cluster's version, or the user's.
// https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id.html
func (c *Cluster) eksImage(spec *v1alpha1.InstanceGroupSpec) Image {
	if spec.Image != "" {
		return Image{ID: spec.Image}
	}
	architecture := "x86_64"
	if spec.Architecture == v1alpha1.ARM64 {
		architecture = "arm64"
	}
	return Image{Parameter: fmt.Sprintf(
		"/aws/service/eks/optimized-ami/%s/amazon-linux-2023/%s/standard/recommended/image_id", c.EKSVersion(), architecture,
	)}
}

// checkNodeGroup checks a managed node group: what EKS does itself, or does not offer, is refused.
func (r *Group) checkNodeGroup(problems *Problems, spec *v1alpha1.InstanceGroupSpec) {
	u := spec.RollingUpdate
	for _, one := range []inapplicable{
		{"spec.image", spec.Image != ""},
		{"spec.autoscale", spec.Autoscale},
		{"spec.repair.after", spec.Repair.After != nil},
		{"spec.repair.maxUnhealthy", spec.Repair.MaxUnhealthy != nil},
		{"spec.rollingUpdate.engine", u.Engine == v1alpha1.RollOperator},
		{"spec.rollingUpdate.minInService", u.MinInService != nil},
		{"spec.rollingUpdate.surge", u.Surge != nil},
		{"spec.rollingUpdate.canary", u.Canary != 0},
		{"spec.rollingUpdate.pause", u.Pause != nil},
		{"spec.rollingUpdate.readyTimeout", u.ReadyTimeout != nil},
		{"spec.rollingUpdate.drainTimeout", u.DrainTimeout != nil},
	} {
		if one.set {
			problems.add(one.field, "leave it out, or create a group with eks.management SelfManaged", "EKS manages the nodes, and has no such setting")
		}
	}
	if s := spec.Spot; s != nil && (s.OnDemandBase > 0 || s.OnDemandPercentage > 0 || s.MaxPrice != "") {
		problems.add("spec.spot", "set onDemandPercentage to 0 and leave out onDemandBase and maxPrice, or leave out spot; use two groups for both",
			"the instances of a managed node group are all spot, or all on demand")
	}
	if n := len(spec.Taints); n > eksTaints {
		problems.add("spec.taints", fmt.Sprintf("use at most %d", eksTaints), "%d taints are more than a managed node group can have", n)
	}
}

// eksTaints is the largest number of taints of a managed node group:
// https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateNodegroup.html
const eksTaints = 50

package model

import (
	"cmp"
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
	family := ImageFamilyOf(spec)
	if family == v1alpha1.EKSAmazonLinux2023Neuron && spec.Architecture == v1alpha1.ARM64 {
		problems.add("spec.eks.imageFamily", "choose another one, or instance types of amd64", "EKS has images with drivers of Neuron for amd64 only")
	}
	if eksImages[family] == "" {
		problems.add("spec.eks.imageFamily", "choose one of those that kubectl explain shows", "there is no family of images %q", family)
		return
	}
	if IsSelfManaged(spec) {
		r.Image = c.eksImage(spec)
		return
	}
	r.checkNodeGroup(problems, spec)
}

// ImageFamilyOf returns the family of the images of a group of a cluster of EKS.
func ImageFamilyOf(spec *v1alpha1.InstanceGroupSpec) v1alpha1.EKSImageFamily {
	if spec.EKS == nil {
		return v1alpha1.EKSAmazonLinux2023
	}
	return cmp.Or(spec.EKS.ImageFamily, v1alpha1.EKSAmazonLinux2023)
}

// IsBottlerocket reports whether the nodes of a group of a cluster of EKS run Bottlerocket.
func IsBottlerocket(spec *v1alpha1.InstanceGroupSpec) bool {
	family := ImageFamilyOf(spec)
	return family == v1alpha1.EKSBottlerocket || family == v1alpha1.EKSBottlerocketNvidia
}

// eksImages are the public parameters with the newest image of each family, of a version and an architecture.
//   - https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id.html
//   - https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id-bottlerocket.html
var eksImages = map[v1alpha1.EKSImageFamily]string{
	v1alpha1.EKSAmazonLinux2023:       "/aws/service/eks/optimized-ami/%s/amazon-linux-2023/%s/standard/recommended/image_id",
	v1alpha1.EKSAmazonLinux2023Nvidia: "/aws/service/eks/optimized-ami/%s/amazon-linux-2023/%s/nvidia/recommended/image_id",
	v1alpha1.EKSAmazonLinux2023Neuron: "/aws/service/eks/optimized-ami/%s/amazon-linux-2023/%s/neuron/recommended/image_id",
	v1alpha1.EKSBottlerocket:          "/aws/service/bottlerocket/aws-k8s-%s/%s/latest/image_id",
	v1alpha1.EKSBottlerocketNvidia:    "/aws/service/bottlerocket/aws-k8s-%s-nvidia/%s/latest/image_id",
}

// eksImage returns the image of a self-managed group: the newest one of its family for the cluster's version, or the user's.
func (c *Cluster) eksImage(spec *v1alpha1.InstanceGroupSpec) Image {
	if spec.Image != "" {
		return Image{ID: spec.Image}
	}
	architecture := "x86_64"
	if spec.Architecture == v1alpha1.ARM64 {
		architecture = "arm64"
	}
	return Image{Parameter: fmt.Sprintf(eksImages[ImageFamilyOf(spec)], c.EKSVersion(), architecture)}
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

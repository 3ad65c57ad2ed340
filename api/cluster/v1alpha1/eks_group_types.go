package v1alpha1

// EKSManagement is who manages the instances of an instance group in a cluster of EKS.
//
// +kubebuilder:validation:Enum=Managed;SelfManaged
type EKSManagement string

const (
	// EKSManaged makes the group a managed node group: EKS launches, replaces and drains the nodes.
	// https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html
	EKSManaged EKSManagement = "Managed"
	// EKSSelfManaged makes the group an Auto Scaling group of its own, as in clusters that the operator runs:
	// rolling updates, drains and repairs are the operator's.
	// https://docs.aws.amazon.com/eks/latest/userguide/worker.html
	EKSSelfManaged EKSManagement = "SelfManaged"
)

// EKSImageFamily is a family of images for nodes of EKS.
//
// +kubebuilder:validation:Enum=AmazonLinux2023;AmazonLinux2023Nvidia;AmazonLinux2023Neuron;Bottlerocket;BottlerocketNvidia
type EKSImageFamily string

// Families of images.
// https://docs.aws.amazon.com/eks/latest/userguide/eks-optimized-amis.html
const (
	// EKSAmazonLinux2023 is Amazon Linux 2023.
	EKSAmazonLinux2023 EKSImageFamily = "AmazonLinux2023"
	// EKSAmazonLinux2023Nvidia has NVIDIA's drivers, for instance types with its GPUs.
	EKSAmazonLinux2023Nvidia EKSImageFamily = "AmazonLinux2023Nvidia"
	// EKSAmazonLinux2023Neuron has AWS's drivers, for instance types with Trainium or Inferentia.
	EKSAmazonLinux2023Neuron EKSImageFamily = "AmazonLinux2023Neuron"
	// EKSBottlerocket is Bottlerocket, a system for containers only.
	EKSBottlerocket EKSImageFamily = "Bottlerocket"
	// EKSBottlerocketNvidia has NVIDIA's drivers.
	EKSBottlerocketNvidia EKSImageFamily = "BottlerocketNvidia"
)

// EKSNodes configures the nodes of an instance group of a Cluster whose control plane EKS runs.
type EKSNodes struct {
	// Management is who manages the instances: EKS, as a managed node group (Managed, the default), or the
	// operator, with an Auto Scaling group of the group's stack (SelfManaged). It cannot change. It is not a
	// value of manager: each group in a cluster of EKS has the value AutoScaling there, and is a managed node group.
	// +optional
	// +kubebuilder:default=Managed
	Management EKSManagement `json:"management,omitempty"`

	// ImageFamily is the family of the nodes' images: AmazonLinux2023 (the default), Bottlerocket, or a
	// variant with drivers of accelerators, which instance types with them need. With Bottlerocket, rootVolume
	// is the volume for images, containers and logs, and the system has another one. A change replaces the nodes.
	// +optional
	// +kubebuilder:default=AmazonLinux2023
	ImageFamily EKSImageFamily `json:"imageFamily,omitempty"`
}

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

// EKSNodes configures the nodes of an instance group of a Cluster whose control plane EKS runs.
type EKSNodes struct {
	// Management is who manages the instances: EKS, as a managed node group (Managed, the default), or the
	// operator, with an Auto Scaling group of the group's stack (SelfManaged). It cannot change. It is not a
	// value of manager: each group in a cluster of EKS has the value AutoScaling there, and is a managed node group.
	// +optional
	// +kubebuilder:default=Managed
	Management EKSManagement `json:"management,omitempty"`
}

package v1alpha1

// Manager is what creates and removes the nodes of an instance group.
//
// +kubebuilder:validation:Enum=AutoScaling;Karpenter
type Manager string

const (
	// ManagerAutoScaling keeps the group's number of nodes with an Auto Scaling group.
	ManagerAutoScaling Manager = "AutoScaling"
	// ManagerKarpenter leaves the nodes to Karpenter: the operator keeps an EC2NodeClass of the
	// group's name in the cluster, which NodePools refer to.
	// https://karpenter.sh/docs/concepts/nodeclasses/
	ManagerKarpenter Manager = "Karpenter"
)

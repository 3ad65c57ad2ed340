package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// InstanceGroup is a group of a cluster's worker nodes of one shape.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=aws,shortName=ig;igs
// +kubebuilder:printcolumn:name="CLUSTER",type=string,JSONPath=`.spec.cluster`
// +kubebuilder:printcolumn:name="VERSION",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="MIN",type=integer,JSONPath=`.spec.minSize`
// +kubebuilder:printcolumn:name="MAX",type=integer,JSONPath=`.spec.maxSize`
// +kubebuilder:printcolumn:name="NODES",type=string,JSONPath=`.status.nodes.summary`
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="REASON",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type InstanceGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says what the group is to be.
	Spec InstanceGroupSpec `json:"spec"`

	// Status says how far it is.
	// +optional
	Status InstanceGroupStatus `json:"status,omitempty"`
}

// InstanceGroupList is a list of instance groups.
//
// +kubebuilder:object:root=true
type InstanceGroupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the instance groups.
	Items []InstanceGroup `json:"items"`
}

// InstanceGroupSpec says what a group is to be.
type InstanceGroupSpec struct {
	// Cluster is the name of the Cluster, in the same namespace.
	Cluster string `json:"cluster"`

	// MinSize is the least number of nodes.
	MinSize int32 `json:"minSize"`

	// MaxSize is the greatest number of nodes.
	MaxSize int32 `json:"maxSize"`

	// InstanceTypes are the types that the machines may have, best first.
	InstanceTypes []string `json:"instanceTypes"`

	// Spot says how many machines are spot instances; none when empty.
	// +optional
	Spot *Spot `json:"spot,omitempty"`

	// Architecture is that of the instance types.
	// +optional
	// +kubebuilder:default=amd64
	Architecture Architecture `json:"architecture,omitempty"`

	// Zones limit the group to some of the network's zones.
	// +optional
	Zones []string `json:"zones,omitempty"`

	// Subnets are the existing subnets to stand in, in place of the network's.
	// +optional
	Subnets []string `json:"subnets,omitempty"`

	// Image is the ID of a machine image in place of the release's.
	// +optional
	Image string `json:"image,omitempty"`

	// RootVolume is the machines' disk.
	// +optional
	RootVolume Volume `json:"rootVolume,omitempty"`

	// Volumes are further disks.
	// +optional
	Volumes []DataVolume `json:"volumes,omitempty"`

	// Labels are put on the nodes.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// Taints are put on the nodes.
	// +optional
	Taints []corev1.Taint `json:"taints,omitempty"`

	// Tags are put on the group and its machines.
	// +optional
	Tags map[string]string `json:"tags,omitempty"`

	// SecurityGroups are existing security groups put on the machines as well.
	// +optional
	SecurityGroups []string `json:"securityGroups,omitempty"`

	// KubeletExtraArgs are further arguments of the kubelet, by name without dashes.
	// +optional
	KubeletExtraArgs map[string]string `json:"kubeletExtraArgs,omitempty"`

	// ExtraUserData is a shell script that each machine runs before it joins.
	// +optional
	ExtraUserData string `json:"extraUserData,omitempty"`

	// Autoscale puts the tags on the group by which the cluster autoscaler finds it.
	// +optional
	Autoscale bool `json:"autoscale,omitempty"`

	// RollingUpdate says how nodes are replaced when their shape changes.
	// +optional
	RollingUpdate RollingUpdate `json:"rollingUpdate,omitempty"`

	// UpdatePolicy says whether changes need a person's approval.
	// +optional
	// +kubebuilder:default=Automatic
	UpdatePolicy UpdatePolicy `json:"updatePolicy,omitempty"`
}

// Architecture is a processor architecture.
//
// +kubebuilder:validation:Enum=amd64;arm64
type Architecture string

// Architectures.
const (
	// AMD64 is x86-64.
	AMD64 Architecture = "amd64"
	// ARM64 is 64-bit ARM, AWS's Graviton.
	ARM64 Architecture = "arm64"
)

// SpotStrategy says which spot capacity is taken.
//
// +kubebuilder:validation:Enum=price-capacity-optimized;capacity-optimized;lowest-price
type SpotStrategy string

// Strategies.
const (
	// SpotPriceCapacityOptimized weighs price and the likelihood of interruption.
	SpotPriceCapacityOptimized SpotStrategy = "price-capacity-optimized"
	// SpotCapacityOptimized takes what is least likely to be interrupted.
	SpotCapacityOptimized SpotStrategy = "capacity-optimized"
	// SpotLowestPrice takes the cheapest.
	SpotLowestPrice SpotStrategy = "lowest-price"
)

// Spot mixes spot instances into a group.
type Spot struct {
	// OnDemandBase is how many machines are on-demand in any case.
	// +optional
	OnDemandBase int32 `json:"onDemandBase,omitempty"`

	// OnDemandPercentage is the share of on-demand machines above the base.
	// +optional
	OnDemandPercentage int32 `json:"onDemandPercentage,omitempty"`

	// Strategy says which capacity is taken.
	// +optional
	// +kubebuilder:default=price-capacity-optimized
	Strategy SpotStrategy `json:"strategy,omitempty"`

	// MaxPrice is the most to pay an hour, in dollars; the on-demand price when empty.
	// +optional
	MaxPrice string `json:"maxPrice,omitempty"`
}

// DataVolume is a further disk of a machine.
type DataVolume struct {
	// Device is its name, for example /dev/sdf.
	Device string `json:"device"`

	Volume `json:",inline"`
}

// RollingUpdate says how nodes are replaced.
type RollingUpdate struct {
	// BatchSize is how many nodes are replaced at once, a number or a percentage.
	// +optional
	BatchSize *intstr.IntOrString `json:"batchSize,omitempty"`

	// MinInService is how many nodes stay in service, a number or a percentage.
	// +optional
	MinInService *intstr.IntOrString `json:"minInService,omitempty"`

	// Pause is the time between batches.
	// +optional
	Pause *metav1.Duration `json:"pause,omitempty"`

	// DrainTimeout is how long draining a node may take.
	// +optional
	DrainTimeout *metav1.Duration `json:"drainTimeout,omitempty"`
}

// InstanceGroupStatus says how far a group is.
type InstanceGroupStatus struct {
	// ObservedGeneration is the generation that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions say how far the group is and what a person can do about it.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Version is the Kubernetes version that the nodes are made with.
	// +optional
	Version string `json:"version,omitempty"`

	// Nodes counts the group's nodes.
	// +optional
	Nodes NodeCount `json:"nodes,omitempty"`

	// AutoScalingGroup is the name of the group in AWS.
	// +optional
	AutoScalingGroup string `json:"autoScalingGroup,omitempty"`

	// Stack is what is known of the group's stack.
	// +optional
	Stack *StackStatus `json:"stack,omitempty"`
}

// GetConditions returns the group's conditions.
func (g *InstanceGroup) GetConditions() []metav1.Condition { return g.Status.Conditions }

// SetConditions replaces the group's conditions.
func (g *InstanceGroup) SetConditions(conditions []metav1.Condition) {
	g.Status.Conditions = conditions
}

// SetObservedGeneration records the generation that the status speaks of.
func (g *InstanceGroup) SetObservedGeneration(generation int64) {
	g.Status.ObservedGeneration = generation
}

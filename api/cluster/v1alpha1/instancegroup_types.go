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
// +kubebuilder:printcolumn:name="UPDATED",type=string,JSONPath=`.status.nodes.updatedSummary`
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="REASON",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="a stack is named after the group: take a name of at most 63 lower-case letters, digits and hyphens that begins with a letter"
// +kubebuilder:validation:XValidation:rule="!self.metadata.name.matches('^(.*-)?control-plane-[0-9]+$')",message="the stacks of slots are named so: take a name that does not end in control-plane and a number"
type InstanceGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says what the group is to be.
	Spec InstanceGroupSpec `json:"spec"`

	// Status says how far it is.
	// +optional
	// +structType=atomic
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
//
// +kubebuilder:validation:XValidation:rule="self.minSize <= self.maxSize",message="minSize is greater than maxSize: lower it, or raise maxSize"
// +kubebuilder:validation:XValidation:rule="self.instanceTypes.all(t, t.matches('^[a-z]+[0-9]+[a-z]*g[a-z]*[.-]|^a1[.]') == (self.architecture == 'arm64'))",message="an instance type is not of the architecture: make a group for each architecture, and set architecture to arm64 for Graviton types"
// +kubebuilder:validation:XValidation:rule="!has(self.spot) || !has(self.spot.onDemandBase) || self.spot.onDemandBase <= self.maxSize",message="spot.onDemandBase is greater than maxSize: lower it, or raise maxSize"
type InstanceGroupSpec struct {
	// Cluster is the name of the Cluster, in the same namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cluster cannot change: make a new group in the other cluster"
	Cluster string `json:"cluster"`

	// MinSize is the least number of nodes.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	MinSize int32 `json:"minSize"`

	// MaxSize is the greatest number of nodes.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxSize int32 `json:"maxSize"`

	// InstanceTypes are the types that the machines may have, best first.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, y == x))",message="names an instance type twice: name each once"
	// +kubebuilder:validation:XValidation:rule="self.all(t, t.matches('^[a-z][a-z0-9-]*[.][a-z0-9-]+$'))",message="write instance types, for example m6i.large"
	InstanceTypes []string `json:"instanceTypes"`

	// Spot says how many machines are spot instances; none when empty.
	// +optional
	Spot *Spot `json:"spot,omitempty"`

	// Architecture is that of the instance types.
	// +optional
	// +kubebuilder:default=amd64
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="architecture cannot change: make a new group"
	Architecture Architecture `json:"architecture,omitempty"`

	// Zones limit the group to some of the network's zones.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, y == x))",message="names a zone twice: name each once"
	Zones []string `json:"zones,omitempty"`

	// Subnets are the existing subnets to stand in, in place of the network's.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=24
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, y == x))",message="names a subnet twice: name each once"
	// +kubebuilder:validation:XValidation:rule="self.all(s, s.matches('^subnet-([0-9a-f]{8}|[0-9a-f]{17})$'))",message="write the ID of a subnet, for example subnet-0123456789abcdef0"
	Subnets []string `json:"subnets,omitempty"`

	// Image is the ID of a machine image in place of the release's.
	// +optional
	// +kubebuilder:validation:MaxLength=21
	// +kubebuilder:validation:XValidation:rule="self.matches('^ami-([0-9a-f]{8}|[0-9a-f]{17})$')",message="write the ID of a machine image, for example ami-0123456789abcdef0"
	Image string `json:"image,omitempty"`

	// RootVolume is the machines' disk; gp3 of 30 GiB when empty.
	// +optional
	RootVolume Volume `json:"rootVolume,omitempty"`

	// Volumes are further disks.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=11
	// +kubebuilder:validation:XValidation:rule="self.all(v, self.exists_one(w, w.device == v.device))",message="names a device twice: name each once"
	Volumes []DataVolume `json:"volumes,omitempty"`

	// Roll has all machines replaced once when this text changes, as rollingUpdate says. Any text does: the date, say, or the
	// number of a ticket. That it is taken away replaces nothing.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Roll string `json:"roll,omitempty"`

	// Labels are put on the nodes.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('cluster-operator.aws/'))",message="labels that begin with cluster-operator.aws/ are the operator's own: take another key"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.startsWith('node.kubernetes.io/') || k.startsWith('kubelet.kubernetes.io/') || !(k.contains('kubernetes.io/') || k.contains('k8s.io/')))",message="kubelets may not set labels of kubernetes.io and k8s.io: take a key of your own domain, of node.kubernetes.io or of kubelet.kubernetes.io"
	// +kubebuilder:validation:XValidation:rule="!('node.kubernetes.io/instance-type' in self)",message="the label node.kubernetes.io/instance-type is set from the machine: leave it out"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() <= 317 && self[k].size() <= 63)",message="a label has a key of at most 317 characters and a value of at most 63: make it shorter"
	Labels map[string]string `json:"labels,omitempty"`

	// Taints are put on the nodes.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +listMapKey=effect
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(t, t.effect in ['NoSchedule', 'PreferNoSchedule', 'NoExecute'])",message="the effect of a taint is NoSchedule, PreferNoSchedule or NoExecute"
	// +kubebuilder:validation:XValidation:rule="self.all(t, !has(t.timeAdded))",message="timeAdded is set by Kubernetes: leave it out"
	Taints []corev1.Taint `json:"taints,omitempty"`

	// Tags are put on the group and its machines.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=40
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('aws:') && !k.startsWith('AWS:'))",message="tags that begin with aws: are AWS's own: take another key"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('kubernetes.io/cluster/') && !k.startsWith('cluster-operator.aws/'))",message="tags that begin with kubernetes.io/cluster/ or cluster-operator.aws/ are the operator's own: take another key"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() >= 1 && k.size() <= 128 && self[k].size() <= 256)",message="a tag has a key of 1 to 128 characters and a value of at most 256: make it shorter"
	Tags map[string]string `json:"tags,omitempty"`

	// SecurityGroups are existing security groups put on the machines as well.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, y == x))",message="names a security group twice: name each once"
	// +kubebuilder:validation:XValidation:rule="self.all(g, g.matches('^sg-([0-9a-f]{8}|[0-9a-f]{17})$'))",message="write the IDs of security groups, for example sg-0123456789abcdef0"
	SecurityGroups []string `json:"securityGroups,omitempty"`

	// KubeletExtraArgs are further arguments of the kubelet, by name without dashes.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('-'))",message="write arguments without dashes, for example v, not --v"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !(k in ['bootstrap-kubeconfig', 'cert-dir', 'cloud-provider', 'config', 'container-runtime-endpoint', 'hostname-override', 'image-credential-provider-bin-dir', 'image-credential-provider-config', 'kubeconfig', 'node-ip', 'node-labels', 'provider-id', 'register-node', 'register-with-taints', 'root-dir']))",message="bootstrap-kubeconfig, cert-dir, cloud-provider, config, container-runtime-endpoint, hostname-override, image-credential-provider-bin-dir, image-credential-provider-config, kubeconfig, node-ip, node-labels, provider-id, register-node, register-with-taints, root-dir are set by the operator: leave them out"
	KubeletExtraArgs map[string]string `json:"kubeletExtraArgs,omitempty"`

	// ExtraUserData is a shell script that each machine runs before it joins.
	// +optional
	// +kubebuilder:validation:MaxLength=12288
	ExtraUserData string `json:"extraUserData,omitempty"`

	// Autoscale puts the tags on the group by which the cluster autoscaler finds it.
	// +optional
	Autoscale bool `json:"autoscale,omitempty"`

	// RollingUpdate says how nodes are replaced when their shape changes.
	// +optional
	RollingUpdate RollingUpdate `json:"rollingUpdate,omitempty"`

	// Repair replaces nodes that are not well.
	// +optional
	Repair Repair `json:"repair,omitempty"`

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
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	OnDemandBase int32 `json:"onDemandBase,omitempty"`

	// OnDemandPercentage is the share of on-demand machines above the base.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	OnDemandPercentage int32 `json:"onDemandPercentage,omitempty"`

	// Strategy says which capacity is taken.
	// +optional
	// +kubebuilder:default=price-capacity-optimized
	Strategy SpotStrategy `json:"strategy,omitempty"`

	// MaxPrice is the most to pay an hour, in dollars; the on-demand price when empty.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]+([.][0-9]{1,6})?$')",message="write dollars an hour, for example 0.05"
	MaxPrice string `json:"maxPrice,omitempty"`
}

// DataVolume is a further disk of a machine.
type DataVolume struct {
	// Device is its name, for example /dev/sdf.
	// +required
	// +kubebuilder:validation:MaxLength=9
	// +kubebuilder:validation:XValidation:rule="self.matches('^/dev/sd[f-p]$')",message="take one of /dev/sdf to /dev/sdp"
	Device string `json:"device"`

	Volume `json:",inline"`
}

// RollingEngine says who replaces a group's nodes.
//
// +kubebuilder:validation:Enum=CloudFormation;Operator
type RollingEngine string

// Rolling engines.
const (
	// RollCloudFormation has CloudFormation replace nodes, by the group's update policy, and go back by itself.
	RollCloudFormation RollingEngine = "CloudFormation"
	// RollOperator has the operator replace nodes, with a canary and a surge.
	RollOperator RollingEngine = "Operator"
)

// DrainPolicy says what becomes of a machine whose node could not be drained in time.
//
// +kubebuilder:validation:Enum=Continue;Abandon
type DrainPolicy string

// Drain policies.
const (
	// DrainContinue ends the machine, and the pods that are left on it.
	DrainContinue DrainPolicy = "Continue"
	// DrainAbandon keeps the machine until its pods can go, and takes the change back that was to end it.
	DrainAbandon DrainPolicy = "Abandon"
)

// RollingUpdate says how nodes are replaced.
//
// +kubebuilder:validation:XValidation:rule="!has(self.batchSize) || (type(self.batchSize) == string ? self.batchSize.matches('^([1-9][0-9]?|100)%$') : int(self.batchSize) >= 1)",message="batchSize is a number of at least 1, or a percentage as 25%"
// +kubebuilder:validation:XValidation:rule="!has(self.minInService) || (type(self.minInService) == string ? self.minInService.matches('^([0-9][0-9]?|100)%$') : int(self.minInService) >= 0)",message="minInService is a number of at least 0, or a percentage as 75%"
// +kubebuilder:validation:XValidation:rule="!has(self.surge) || (type(self.surge) == string ? self.surge.matches('^([1-9][0-9]?|100)%$') : int(self.surge) >= 0)",message="surge is a number of at least 0, or a percentage as 25%"
// +kubebuilder:validation:XValidation:rule="has(self.engine) && self.engine == 'Operator' || !has(self.surge) && !has(self.canary)",message="CloudFormation knows neither surge nor canary: leave them out, or set engine to Operator"
// +kubebuilder:validation:XValidation:rule="(has(self.pause) ? self.pause : duration('0s')) + (has(self.readyTimeout) ? self.readyTimeout : duration('15m')) <= duration('1h')",message="pause and readyTimeout (15m when empty) together are more than 1h, which is the longest that CloudFormation waits for a batch: lower one of them"
type RollingUpdate struct {
	// Engine says who replaces the nodes; CloudFormation when empty.
	// +optional
	Engine RollingEngine `json:"engine,omitempty"`

	// BatchSize is how many nodes are replaced at once, a number or a percentage of maxSize; 1 when empty.
	// +optional
	BatchSize *intstr.IntOrString `json:"batchSize,omitempty"`

	// MinInService is how many nodes stay in service, a number or a percentage of minSize; minSize when empty,
	// but always less than maxSize.
	// +optional
	MinInService *intstr.IntOrString `json:"minInService,omitempty"`

	// Surge is how many nodes there may be above the group's present size while it rolls, a number or a percentage of
	// maxSize, but never more than maxSize; none when empty. Engine Operator only.
	// +optional
	Surge *intstr.IntOrString `json:"surge,omitempty"`

	// Canary is how many nodes are replaced first, alone; the others follow when these are ready. Engine Operator only.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Canary int32 `json:"canary,omitempty"`

	// Pause is how long a new node must have been ready before the next batch; no time when empty.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:XValidation:rule="self >= duration('0s') && self <= duration('45m')",message="take 0s to 45m, since CloudFormation waits at most an hour for a batch"
	Pause *metav1.Duration `json:"pause,omitempty"`

	// ReadyTimeout is how long new nodes may take to become ready before the group goes back to its former shape; 15
	// minutes when empty.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:XValidation:rule="self >= duration('10s') && self <= duration('1h')",message="take 10s to 1h, the longest that CloudFormation waits for a batch"
	ReadyTimeout *metav1.Duration `json:"readyTimeout,omitempty"`

	// DrainTimeout is how long draining a node may take; 10 minutes when empty.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:XValidation:rule="self >= duration('0s') && self <= duration('24h')",message="take 0s to 24h"
	DrainTimeout *metav1.Duration `json:"drainTimeout,omitempty"`

	// OnDrainTimeout says what becomes of a machine whose node could not be drained in time; Continue when empty.
	// +optional
	OnDrainTimeout DrainPolicy `json:"onDrainTimeout,omitempty"`
}

// Repair says when nodes that are not well are replaced.
//
// +kubebuilder:validation:XValidation:rule="!has(self.maxUnhealthy) || (type(self.maxUnhealthy) == string ? self.maxUnhealthy.matches('^([0-9][0-9]?|100)%$') : int(self.maxUnhealthy) >= 0)",message="maxUnhealthy is a number of at least 0, or a percentage as 40%"
type Repair struct {
	// Disabled leaves them as they are.
	// +optional
	Disabled bool `json:"disabled,omitempty"`

	// After is how long a node is not ready, or a machine without a node, before it is replaced; 10 minutes when
	// empty.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:XValidation:rule="self >= duration('10s') && self <= duration('24h')",message="take 10s to 24h"
	After *metav1.Duration `json:"after,omitempty"`

	// MaxUnhealthy is how many of the group's nodes may be unwell for any to be replaced, a number or a percentage of its
	// nodes; 40% when empty, but one in any case. When more are, something else is likely broken, and new machines would not mend
	// it.
	// +optional
	MaxUnhealthy *intstr.IntOrString `json:"maxUnhealthy,omitempty"`
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

	// Release is the Release that the nodes are made with: the Cluster's, once its control plane runs it.
	// +optional
	Release string `json:"release,omitempty"`

	// Nodes counts the group's nodes.
	// +optional
	Nodes NodeCount `json:"nodes,omitempty"`

	// AutoScalingGroup is the name of the group in AWS.
	// +optional
	AutoScalingGroup string `json:"autoScalingGroup,omitempty"`

	// Rollout is the replacement of nodes that is under way, or the last one.
	// +optional
	Rollout *RolloutStatus `json:"rollout,omitempty"`

	// Repair counts how often instances that were not well were replaced.
	// +optional
	Repair *RepairStatus `json:"repair,omitempty"`

	// PendingChanges are changes that wait for approval.
	// +optional
	// +listType=map
	// +listMapKey=stack
	PendingChanges []PendingChange `json:"pendingChanges,omitempty"`

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

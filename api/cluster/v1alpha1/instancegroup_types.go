package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// InstanceGroup is a group of worker nodes of a cluster with the same configuration.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.nodes.ready
// +kubebuilder:resource:categories=aws,shortName=ig;igs
// +kubebuilder:metadata:labels={"cluster.x-k8s.io/v1beta2=v1alpha1"}
// +kubebuilder:printcolumn:name="CLUSTER",type=string,JSONPath=`.spec.cluster`
// +kubebuilder:printcolumn:name="VERSION",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="MIN",type=integer,JSONPath=`.spec.minSize`
// +kubebuilder:printcolumn:name="MAX",type=integer,JSONPath=`.spec.maxSize`
// +kubebuilder:printcolumn:name="NODES",type=string,JSONPath=`.status.nodes.summary`
// +kubebuilder:printcolumn:name="UPDATED",type=string,JSONPath=`.status.nodes.updatedSummary`
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="REASON",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="DRIFTED",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Drifted")].status`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="a stack is named after the group: use a name of at most 63 lower-case letters, digits and hyphens that begins with a letter"
// +kubebuilder:validation:XValidation:rule="!self.metadata.name.matches('^(.*-)?control-plane-[0-9]+$')",message="names of control-plane stacks have this form: use a name that does not end in control-plane and a number"
type InstanceGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state of the group.
	Spec InstanceGroupSpec `json:"spec"`

	// Status is the observed state of the group.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
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

// InstanceGroupSpec is the desired state of a group.
//
// +kubebuilder:validation:XValidation:rule="self.minSize <= self.maxSize",message="minSize is greater than maxSize: lower it, or raise maxSize"
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || self.replicas >= self.minSize && self.replicas <= self.maxSize",message="replicas must be between minSize and maxSize: change replicas, minSize or maxSize"
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || !has(self.autoscale) || !self.autoscale",message="with autoscale, the cluster autoscaler determines the number of nodes: remove replicas, or set autoscale to false"
// +kubebuilder:validation:XValidation:rule="self.instanceTypes.all(t, t.matches('^[a-z]+[0-9]+[a-z]*g[a-z]*[.-]|^a1[.]') == (self.architecture == 'arm64'))",message="an instance type is not of the architecture: create a group for each architecture, and set architecture to arm64 for Graviton types"
// +kubebuilder:validation:XValidation:rule="!has(self.manager) || self.manager != 'Karpenter' || self.minSize == 0 && (!has(self.replicas) || self.replicas == 0)",message="Karpenter creates the nodes of this group: set minSize to 0, and leave out replicas",fieldPath=".minSize"
// +kubebuilder:validation:XValidation:rule="!has(self.manager) || self.manager != 'Karpenter' || !has(self.spot) && !has(self.placement) && !has(self.capacityReservation) && (!has(self.autoscale) || !self.autoscale)",message="Karpenter ignores autoscale, spot, placement and capacityReservation: leave them out, and write requirements into a NodePool",fieldPath=".manager"
// +kubebuilder:validation:XValidation:rule="!has(self.spot) || !has(self.capacityReservation)",message="spot instances do not use reserved capacity: leave out spot or capacityReservation",fieldPath=".capacityReservation"
// +kubebuilder:validation:XValidation:rule="!has(self.capacityReservation) || !has(self.capacityReservation.id) || self.instanceTypes.size() == 1",message="a capacity reservation has one instance type: name only that type, or use capacityReservation.resourceGroup",fieldPath=".instanceTypes"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.placement) || !has(oldSelf.placement.strategy) || has(self.placement) && self.placement == oldSelf.placement",message="a placement group cannot be deleted while instances are in it, so a placement with a strategy cannot change: create a new group",fieldPath=".placement"
// +kubebuilder:validation:XValidation:rule="!has(self.spot) || !has(self.spot.onDemandBase) || self.spot.onDemandBase <= self.maxSize",message="spot.onDemandBase is greater than maxSize: lower it, or raise maxSize"
// +kubebuilder:validation:XValidation:rule="(has(self.eks) && self.eks.management == 'SelfManaged') == (has(oldSelf.eks) && oldSelf.eks.management == 'SelfManaged')",message="eks.management cannot change: create another group",fieldPath=".eks"
type InstanceGroupSpec struct {
	// Cluster is the name of the Cluster, in the same namespace. It cannot change.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cluster cannot change: create a new group in the other cluster"
	Cluster string `json:"cluster"`

	// Manager is what creates and removes the nodes: AutoScaling (the default) or Karpenter. With
	// Karpenter, which you install, the operator keeps an EC2NodeClass of the group's name in the
	// cluster, for your NodePools to refer to. Karpenter replaces its nodes when the group or the
	// release changes. The group has no nodes of its own then. It cannot change.
	// +optional
	// +kubebuilder:default=AutoScaling
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="manager cannot change: create another group"
	Manager Manager `json:"manager,omitempty"`

	// EKS configures the nodes of a group in a Cluster whose control plane EKS runs. Groups of other
	// Clusters do not have it.
	// +optional
	EKS *EKSNodes `json:"eks,omitempty"`

	// Replicas is the number of nodes, minSize to maxSize; kubectl scale sets it. If empty, a new
	// group has minSize nodes, and a change of minSize or maxSize adds or removes nodes only if the
	// number would be outside them. It requires that autoscale is false. A change takes effect in
	// place; surplus nodes are drained first.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Replicas *int32 `json:"replicas,omitempty"`

	// MinSize is the minimum number of nodes, 0 to 1000. A change takes effect in place.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	MinSize int32 `json:"minSize"`

	// MaxSize is the maximum number of nodes, 1 to 1000. A change takes effect in place.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxSize int32 `json:"maxSize"`

	// InstanceTypes are the allowed instance types, in order of preference, for example m6i.large.
	// At most 20, all of the group's architecture. A change replaces the nodes, as rollingUpdate
	// configures.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, y == x))",message="names an instance type twice: name each once"
	// +kubebuilder:validation:XValidation:rule="self.all(t, t.matches('^[a-z][a-z0-9-]*[.][a-z0-9-]+$'))",message="write instance types, for example m6i.large"
	InstanceTypes []string `json:"instanceTypes"`

	// Spot configures how many instances are spot instances. If empty, all are on-demand. A change
	// replaces the nodes, as rollingUpdate configures.
	// +optional
	Spot *Spot `json:"spot,omitempty"`

	// Architecture is the architecture of the instance types: amd64 (the default) or arm64. It
	// cannot change.
	// +optional
	// +kubebuilder:default=amd64
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="architecture cannot change: create a new group"
	Architecture Architecture `json:"architecture,omitempty"`

	// Zones limit the group to these zones of the network. If empty, the group uses all of them. A
	// change replaces the nodes, as rollingUpdate configures.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, y == x))",message="names a zone twice: name each once"
	Zones []string `json:"zones,omitempty"`

	// Subnets are the IDs of existing subnets to use instead of the network's. A change replaces
	// the nodes, as rollingUpdate configures.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=24
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, y == x))",message="names a subnet twice: name each once"
	// +kubebuilder:validation:XValidation:rule="self.all(s, s.matches('^subnet-([0-9a-f]{8}|[0-9a-f]{17})$'))",message="write the ID of a subnet, for example subnet-0123456789abcdef0"
	Subnets []string `json:"subnets,omitempty"`

	// Placement determines where EC2 places the instances relative to each other. If empty, they are
	// in no placement group. A change replaces the nodes, as rollingUpdate configures. A placement
	// with a strategy cannot change.
	// +optional
	Placement *Placement `json:"placement,omitempty"`

	// CapacityReservation determines which reserved capacity of EC2 the instances use. If empty, they
	// use open capacity reservations that match, and otherwise run on demand. A change replaces the
	// nodes, as rollingUpdate configures.
	// +optional
	CapacityReservation *CapacityReservation `json:"capacityReservation,omitempty"`

	// Image is the ID of the AMI to use instead of the release's. A change replaces the nodes, as
	// rollingUpdate configures.
	// +optional
	// +kubebuilder:validation:MaxLength=21
	// +kubebuilder:validation:XValidation:rule="self.matches('^ami-([0-9a-f]{8}|[0-9a-f]{17})$')",message="write the ID of an AMI, for example ami-0123456789abcdef0"
	Image string `json:"image,omitempty"`

	// RootVolume is the root volume of the instances. The default is gp3 with 30 GiB. A change
	// replaces the nodes, as rollingUpdate configures.
	// +optional
	RootVolume Volume `json:"rootVolume,omitempty"`

	// Volumes are further volumes of the instances, at most 11. A change replaces the nodes, as
	// rollingUpdate configures.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=11
	// +kubebuilder:validation:XValidation:rule="self.all(v, self.exists_one(w, w.device == v.device))",message="names a device twice: name each once"
	Volumes []DataVolume `json:"volumes,omitempty"`

	// Roll triggers one replacement of all nodes, as rollingUpdate configures, whenever it is set
	// to a new value: any text of up to 253 characters, for example a date or a ticket number.
	// Removing it replaces no nodes.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Roll string `json:"roll,omitempty"`

	// Labels are added to the nodes. At most 32. A change replaces the nodes, as rollingUpdate
	// configures.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('cluster-operator.aws/'))",message="labels that begin with cluster-operator.aws/ are reserved for the operator: use another key"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.startsWith('node.kubernetes.io/') || k.startsWith('kubelet.kubernetes.io/') || !(k.contains('kubernetes.io/') || k.contains('k8s.io/')))",message="kubelets may not set labels of kubernetes.io and k8s.io: use a key of your own domain, of node.kubernetes.io or of kubelet.kubernetes.io"
	// +kubebuilder:validation:XValidation:rule="!('node.kubernetes.io/instance-type' in self)",message="the label node.kubernetes.io/instance-type is set from the instance: leave it out"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() <= 317 && self[k].size() <= 63)",message="a label has a key of at most 317 characters and a value of at most 63: shorten it"
	Labels map[string]string `json:"labels,omitempty"`

	// Taints are added to the nodes. At most 32. A change replaces the nodes, as rollingUpdate
	// configures.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +listMapKey=effect
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(t, t.effect in ['NoSchedule', 'PreferNoSchedule', 'NoExecute'])",message="the effect of a taint is NoSchedule, PreferNoSchedule or NoExecute"
	// +kubebuilder:validation:XValidation:rule="self.all(t, !has(t.timeAdded))",message="timeAdded is set by Kubernetes: leave it out"
	Taints []corev1.Taint `json:"taints,omitempty"`

	// Tags are added to the Auto Scaling group and its instances, and override the cluster's. At
	// most 40. A change takes effect in place.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=40
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('aws:') && !k.startsWith('AWS:'))",message="tags that begin with aws: are reserved for AWS: use another key"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('kubernetes.io/cluster/') && !k.startsWith('cluster-operator.aws/'))",message="tags that begin with kubernetes.io/cluster/ or cluster-operator.aws/ are reserved for the operator: use another key"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() >= 1 && k.size() <= 128 && self[k].size() <= 256)",message="a tag has a key of 1 to 128 characters and a value of at most 256: shorten it"
	Tags map[string]string `json:"tags,omitempty"`

	// SecurityGroups are the IDs of existing security groups to attach to the instances in addition
	// to the cluster's. At most 4. A change replaces the nodes, as rollingUpdate configures.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, y == x))",message="names a security group twice: name each once"
	// +kubebuilder:validation:XValidation:rule="self.all(g, g.matches('^sg-([0-9a-f]{8}|[0-9a-f]{17})$'))",message="write the IDs of security groups, for example sg-0123456789abcdef0"
	SecurityGroups []string `json:"securityGroups,omitempty"`

	// KubeletExtraArgs are further arguments of the kubelet, by name without dashes. A change
	// replaces the nodes, as rollingUpdate configures.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('-'))",message="write arguments without dashes, for example v, not --v"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !(k in ['bootstrap-kubeconfig', 'cert-dir', 'cloud-provider', 'config', 'container-runtime-endpoint', 'hostname-override', 'image-credential-provider-bin-dir', 'image-credential-provider-config', 'kubeconfig', 'node-ip', 'node-labels', 'provider-id', 'register-node', 'register-with-taints', 'root-dir']))",message="bootstrap-kubeconfig, cert-dir, cloud-provider, config, container-runtime-endpoint, hostname-override, image-credential-provider-bin-dir, image-credential-provider-config, kubeconfig, node-ip, node-labels, provider-id, register-node, register-with-taints, root-dir are set by the operator: leave them out"
	KubeletExtraArgs map[string]string `json:"kubeletExtraArgs,omitempty"`

	// ExtraUserData is a shell script, of up to 12288 characters, that each instance runs before it
	// joins the cluster. A change replaces the nodes, as rollingUpdate configures.
	// +optional
	// +kubebuilder:validation:MaxLength=12288
	ExtraUserData string `json:"extraUserData,omitempty"`

	// The files and units of the group override those of the cluster with the same path or name.
	NodeSetup `json:",inline"`

	// Autoscale adds the tags to the Auto Scaling group by which the cluster autoscaler discovers
	// it. The default is false. A change takes effect in place.
	// +optional
	Autoscale bool `json:"autoscale,omitempty"`

	// RollingUpdate configures how nodes are replaced when a change requires it. A change of these
	// settings replaces no nodes.
	// +optional
	RollingUpdate RollingUpdate `json:"rollingUpdate,omitempty"`

	// Repair configures the replacement of unhealthy nodes.
	// +optional
	Repair Repair `json:"repair,omitempty"`

	// UpdatePolicy is whether the operator applies changes of the group's stack at once (Automatic,
	// the default) or only after a user approves them (Manual).
	// +optional
	// +kubebuilder:default=Automatic
	UpdatePolicy UpdatePolicy `json:"updatePolicy,omitempty"`

	// ProviderIDList are the provider IDs of the group's nodes, for Cluster API. The operator sets it
	// in groups that a MachinePool of Cluster API owns; leave it out. The operator does not act on it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=2000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=128
	ProviderIDList []string `json:"providerIDList,omitempty"`
}

// ExpectedNodes returns the lowest number of nodes that the group has after its creation.
func (s *InstanceGroupSpec) ExpectedNodes() int32 {
	if s.Replicas != nil {
		return *s.Replicas
	}
	return s.MinSize
}

// Architecture is a processor architecture.
//
// +kubebuilder:validation:Enum=amd64;arm64
type Architecture string

// Architectures.
const (
	// AMD64 is x86-64.
	AMD64 Architecture = "amd64"
	// ARM64 is 64-bit ARM, such as AWS Graviton.
	ARM64 Architecture = "arm64"
)

// SpotStrategy is how EC2 chooses spot capacity.
//
// +kubebuilder:validation:Enum=price-capacity-optimized;capacity-optimized;lowest-price
type SpotStrategy string

// Strategies.
const (
	// SpotPriceCapacityOptimized weighs the price against the likelihood of interruption.
	SpotPriceCapacityOptimized SpotStrategy = "price-capacity-optimized"
	// SpotCapacityOptimized chooses the capacity that is least likely to be interrupted.
	SpotCapacityOptimized SpotStrategy = "capacity-optimized"
	// SpotLowestPrice chooses the cheapest capacity.
	SpotLowestPrice SpotStrategy = "lowest-price"
)

// Spot mixes spot instances into a group.
type Spot struct {
	// OnDemandBase is the minimum number of on-demand instances, 0 to 1000 and at most maxSize. The
	// default is 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	OnDemandBase int32 `json:"onDemandBase,omitempty"`

	// OnDemandPercentage is the percentage of on-demand instances above the base, 0 to 100. The
	// default is 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	OnDemandPercentage int32 `json:"onDemandPercentage,omitempty"`

	// Strategy is how EC2 chooses spot capacity: price-capacity-optimized (the default),
	// capacity-optimized or lowest-price.
	// +optional
	// +kubebuilder:default=price-capacity-optimized
	Strategy SpotStrategy `json:"strategy,omitempty"`

	// MaxPrice is the maximum price per hour in US dollars, for example 0.05. The default is the
	// on-demand price.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]+([.][0-9]{1,6})?$')",message="write US dollars per hour, for example 0.05"
	MaxPrice string `json:"maxPrice,omitempty"`
}

// DataVolume is a further volume of an instance.
type DataVolume struct {
	// Device is the device name, /dev/sdf to /dev/sdp.
	// +required
	// +kubebuilder:validation:MaxLength=9
	// +kubebuilder:validation:XValidation:rule="self.matches('^/dev/sd[f-p]$')",message="use /dev/sdf to /dev/sdp"
	Device string `json:"device"`

	Volume `json:",inline"`
}

// RollingEngine is what replaces the nodes of a group.
//
// +kubebuilder:validation:Enum=CloudFormation;Operator
type RollingEngine string

// Rolling engines.
const (
	// RollCloudFormation lets CloudFormation replace nodes, by the update policy of the Auto
	// Scaling group, and roll back on failure.
	RollCloudFormation RollingEngine = "CloudFormation"
	// RollOperator lets the operator replace nodes, with a canary and a surge.
	RollOperator RollingEngine = "Operator"
)

// DrainPolicy is what happens to an instance whose node is not drained in time.
//
// +kubebuilder:validation:Enum=Continue;Abandon
type DrainPolicy string

// Drain policies.
const (
	// DrainContinue terminates the instance, and with it the pods that still run on it.
	DrainContinue DrainPolicy = "Continue"
	// DrainAbandon keeps the instance until its pods can be evicted, and rolls back the change that
	// was to terminate it.
	DrainAbandon DrainPolicy = "Abandon"
)

// RollingUpdate configures how nodes are replaced.
//
// +kubebuilder:validation:XValidation:rule="!has(self.batchSize) || (type(self.batchSize) == string ? self.batchSize.matches('^([1-9][0-9]?|100)%$') : int(self.batchSize) >= 1)",message="batchSize is a number of at least 1, or a percentage such as 25%"
// +kubebuilder:validation:XValidation:rule="!has(self.minInService) || (type(self.minInService) == string ? self.minInService.matches('^([0-9][0-9]?|100)%$') : int(self.minInService) >= 0)",message="minInService is a number of at least 0, or a percentage such as 75%"
// +kubebuilder:validation:XValidation:rule="!has(self.surge) || (type(self.surge) == string ? self.surge.matches('^([1-9][0-9]?|100)%$') : int(self.surge) >= 0)",message="surge is a number of at least 0, or a percentage such as 25%"
// +kubebuilder:validation:XValidation:rule="has(self.engine) && self.engine == 'Operator' || !has(self.surge) && !has(self.canary)",message="CloudFormation supports neither surge nor canary: leave them out, or set engine to Operator"
// +kubebuilder:validation:XValidation:rule="(has(self.pause) ? self.pause : duration('0s')) + (has(self.readyTimeout) ? self.readyTimeout : duration('15m')) <= duration('1h')",message="pause and readyTimeout (15m when empty) together are more than 1h, which is the longest that CloudFormation waits for a batch: lower one of them"
type RollingUpdate struct {
	// Engine is what replaces the nodes: CloudFormation (the default) or Operator.
	// +optional
	Engine RollingEngine `json:"engine,omitempty"`

	// BatchSize is how many nodes are replaced at once, a number of at least 1 or a percentage of
	// maxSize. The default is 1.
	// +optional
	BatchSize *intstr.IntOrString `json:"batchSize,omitempty"`

	// MinInService is how many nodes stay in service, a number or a percentage of minSize. The
	// default is minSize. It is always less than maxSize.
	// +optional
	MinInService *intstr.IntOrString `json:"minInService,omitempty"`

	// Surge is how many nodes the group may have above its current size during a rollout, a number
	// or a percentage of maxSize. The group never exceeds maxSize. The default is 0. It requires
	// the engine Operator.
	// +optional
	Surge *intstr.IntOrString `json:"surge,omitempty"`

	// Canary is how many nodes are replaced first, 0 to 100. The others follow when these are
	// Ready. The default is 0. It requires the engine Operator.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Canary int32 `json:"canary,omitempty"`

	// Pause is how long a new node must have been Ready before the next batch, 0s to 45m. The
	// default is 0s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:XValidation:rule="self >= duration('0s') && self <= duration('45m')",message="use 0s to 45m, since CloudFormation waits at most an hour for a batch"
	Pause *metav1.Duration `json:"pause,omitempty"`

	// ReadyTimeout is how long new nodes may take to become Ready before the group rolls back, 10s
	// to 1h. The default is 15m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:XValidation:rule="self >= duration('10s') && self <= duration('1h')",message="use 10s to 1h, the longest that CloudFormation waits for a batch"
	ReadyTimeout *metav1.Duration `json:"readyTimeout,omitempty"`

	// DrainTimeout is how long draining a node may take, 0s to 24h. The default is 10m. It includes
	// the time for which load balancers of Services still use the node: with a network load balancer
	// 5.5 minutes, or less if its deregistration delay is shorter.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:XValidation:rule="self >= duration('0s') && self <= duration('24h')",message="use 0s to 24h"
	DrainTimeout *metav1.Duration `json:"drainTimeout,omitempty"`

	// OnDrainTimeout is what happens to an instance whose node is not drained in time: Continue
	// (the default) terminates it, Abandon keeps it and rolls back.
	// +optional
	OnDrainTimeout DrainPolicy `json:"onDrainTimeout,omitempty"`
}

// Repair configures when unhealthy nodes are replaced.
//
// +kubebuilder:validation:XValidation:rule="!has(self.maxUnhealthy) || (type(self.maxUnhealthy) == string ? self.maxUnhealthy.matches('^([0-9][0-9]?|100)%$') : int(self.maxUnhealthy) >= 0)",message="maxUnhealthy is a number of at least 0, or a percentage such as 40%"
type Repair struct {
	// Disabled keeps the operator from replacing unhealthy nodes. The default is false.
	// +optional
	Disabled bool `json:"disabled,omitempty"`

	// After is how long a node must be unhealthy, or an instance without a node, before it is
	// replaced, 10s to 24h. The default is 10m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:XValidation:rule="self >= duration('10s') && self <= duration('24h')",message="use 10s to 24h"
	After *metav1.Duration `json:"after,omitempty"`

	// MaxUnhealthy is the maximum number of unhealthy nodes at which the operator still replaces
	// nodes: a number, or a percentage of the group's nodes. The default is 40%, and at least one
	// node. If more nodes are unhealthy, the operator replaces none, since the cause is likely
	// elsewhere and new instances would not help.
	// +optional
	MaxUnhealthy *intstr.IntOrString `json:"maxUnhealthy,omitempty"`
}

// InstanceGroupStatus is the observed state of a group.
type InstanceGroupStatus struct {
	// ObservedGeneration is the generation of the spec that this status reports on.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions are the conditions of the group. Their messages name the action that a user can
	// take.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Version is the Kubernetes version that new nodes run.
	// +optional
	Version string `json:"version,omitempty"`

	// Release is the Release that new nodes run. It becomes the Cluster's release when the entire
	// control plane runs it.
	// +optional
	Release string `json:"release,omitempty"`

	// Nodes are the numbers of the group's nodes.
	// +optional
	Nodes NodeCount `json:"nodes,omitempty"`

	// AutoScalingGroup is the name of the Auto Scaling group in AWS.
	// +optional
	AutoScalingGroup string `json:"autoScalingGroup,omitempty"`

	// Rollout is the current replacement of nodes, or the last one.
	// +optional
	Rollout *RolloutStatus `json:"rollout,omitempty"`

	// Repair is how often unhealthy instances were replaced.
	// +optional
	Repair *RepairStatus `json:"repair,omitempty"`

	// PendingChanges are the changes that wait for approval.
	// +optional
	// +listType=map
	// +listMapKey=stack
	PendingChanges []PendingChange `json:"pendingChanges,omitempty"`

	// Stack is the status of the group's stack.
	// +optional
	Stack *StackStatus `json:"stack,omitempty"`

	// Initialization reports to Cluster API that the group has been created. It is set only in groups
	// that a MachinePool of Cluster API owns.
	// +optional
	Initialization *GroupInitialization `json:"initialization,omitempty"`

	// ReadyForPool is initialization.provisioned in the form of Cluster API's contract v1beta1, which
	// the controller of MachinePools reads.
	// +optional
	ReadyForPool bool `json:"ready,omitempty"`

	// Replicas is the number of the group's nodes, for Cluster API. It is set only in groups that a
	// MachinePool of Cluster API owns.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
}

// GetConditions returns the group's conditions.
func (g *InstanceGroup) GetConditions() []metav1.Condition { return g.Status.Conditions }

// SetConditions replaces the group's conditions.
func (g *InstanceGroup) SetConditions(conditions []metav1.Condition) {
	g.Status.Conditions = conditions
}

// SetObservedGeneration records the generation that the status reports on.
func (g *InstanceGroup) SetObservedGeneration(generation int64) {
	g.Status.ObservedGeneration = generation
}

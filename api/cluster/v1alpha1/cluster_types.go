package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Cluster is a Kubernetes cluster on AWS: its network, its control plane, and what its nodes share.
// Its nodes are InstanceGroups that name it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=aws
// +kubebuilder:printcolumn:name="RELEASE",type=string,JSONPath=`.spec.release`
// +kubebuilder:printcolumn:name="VERSION",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="NODES",type=string,JSONPath=`.status.nodes.summary`
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="REASON",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="REGION",type=string,priority=1,JSONPath=`.spec.region`
// +kubebuilder:printcolumn:name="ENDPOINT",type=string,priority=1,JSONPath=`.status.endpoint`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type Cluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says what the cluster is to be.
	Spec ClusterSpec `json:"spec"`

	// Status says how far it is.
	// +optional
	Status ClusterStatus `json:"status,omitempty"`
}

// ClusterList is a list of clusters.
//
// +kubebuilder:object:root=true
type ClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the clusters.
	Items []Cluster `json:"items"`
}

// ClusterSpec says what a cluster is to be.
type ClusterSpec struct {
	// Release names the Release whose versions the cluster runs, for example v1.36.3.
	Release string `json:"release"`

	// Region is the AWS region.
	Region string `json:"region"`

	// Role is assumed to make the cluster in another account; empty makes it in the operator's own.
	// +optional
	Role *AssumedRole `json:"role,omitempty"`

	// Network is the VPC and its subnets.
	Network Network `json:"network"`

	// API is how the Kubernetes API is reached.
	// +optional
	API APIEndpoint `json:"api,omitempty"`

	// DNS gives the API a name in a public hosted zone; empty leaves it at the load balancer's.
	// +optional
	DNS *DNS `json:"dns,omitempty"`

	// ControlPlane is the machines that run etcd and the Kubernetes API.
	// +optional
	ControlPlane ControlPlane `json:"controlPlane,omitempty"`

	// Bastion is a group of machines through which people reach the nodes by SSH; empty makes none.
	// +optional
	Bastion *Bastion `json:"bastion,omitempty"`

	// SSH says who may log in to the machines.
	// +optional
	SSH SSH `json:"ssh,omitempty"`

	// IAM are further permissions of the machines.
	// +optional
	IAM NodeIAM `json:"iam,omitempty"`

	// ServiceAccountIssuer publishes the cluster's service-account keys, so that IAM roles can trust
	// its service accounts.
	// +optional
	ServiceAccountIssuer *ServiceAccountIssuer `json:"serviceAccountIssuer,omitempty"`

	// Addons add to, change or leave out the release's addons.
	// +optional
	Addons []Addon `json:"addons,omitempty"`

	// Tags are put on everything that AWS makes for the cluster.
	// +optional
	Tags map[string]string `json:"tags,omitempty"`

	// Paused stops the operator from doing anything about the cluster and its instance groups.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// UpdatePolicy says whether changes need a person's approval.
	// +optional
	// +kubebuilder:default=Automatic
	UpdatePolicy UpdatePolicy `json:"updatePolicy,omitempty"`

	// VolumePolicy says what becomes of the volumes of persistent volume claims when the cluster is
	// deleted.
	// +optional
	// +kubebuilder:default=Retain
	VolumePolicy VolumePolicy `json:"volumePolicy,omitempty"`
}

// AssumedRole is a role in another account.
type AssumedRole struct {
	// ARN is the role's ARN.
	ARN string `json:"arn"`

	// ExternalID is what the role's trust policy asks for.
	// +optional
	ExternalID string `json:"externalID,omitempty"`
}

// Topology says where nodes stand.
//
// +kubebuilder:validation:Enum=Public;Private
type Topology string

// Topologies.
const (
	// TopologyPublic has nodes in public subnets, with public addresses.
	TopologyPublic Topology = "Public"
	// TopologyPrivate has nodes in private subnets, behind NAT.
	TopologyPrivate Topology = "Private"
)

// NAT says how private subnets reach the internet.
//
// +kubebuilder:validation:Enum=PerZone;Single;Existing;None
type NAT string

// Ways out of private subnets.
const (
	// NATPerZone makes a NAT gateway in each zone.
	NATPerZone NAT = "PerZone"
	// NATSingle makes one NAT gateway for all zones.
	NATSingle NAT = "Single"
	// NATExisting uses the gateways named in natGateways.
	NATExisting NAT = "Existing"
	// NATNone makes no way out: the VPC has endpoints or a transit gateway of its own.
	NATNone NAT = "None"
)

// Network is a VPC and its subnets, either new (cidr, zones) or existing (vpc, subnets).
type Network struct {
	// CIDR is the range of a new VPC, /16 to /24.
	// +optional
	CIDR string `json:"cidr,omitempty"`

	// Zones are the availability zones of a new VPC; each gets a subnet of each kind.
	// +optional
	Zones []string `json:"zones,omitempty"`

	// VPC is the ID of an existing VPC to stand in.
	// +optional
	VPC string `json:"vpc,omitempty"`

	// Subnets are the existing subnets to stand in.
	// +optional
	Subnets []Subnet `json:"subnets,omitempty"`

	// Topology says whether nodes stand in public or private subnets.
	// +optional
	// +kubebuilder:default=Private
	Topology Topology `json:"topology,omitempty"`

	// NAT says how private subnets of a new VPC reach the internet; Single when empty.
	// +optional
	NAT NAT `json:"nat,omitempty"`

	// NATGateways are the gateways for nat Existing, by zone.
	// +optional
	NATGateways map[string]string `json:"natGateways,omitempty"`

	// PodCIDR is the range of pods' addresses.
	// +optional
	// +kubebuilder:default="100.64.0.0/13"
	PodCIDR string `json:"podCIDR,omitempty"`

	// ServiceCIDR is the range of services' addresses.
	// +optional
	// +kubebuilder:default="172.20.0.0/16"
	ServiceCIDR string `json:"serviceCIDR,omitempty"`
}

// SubnetRole says what a subnet is for.
//
// +kubebuilder:validation:Enum=Public;Private
type SubnetRole string

// Roles of subnets.
const (
	// SubnetPublic holds load balancers that the internet reaches, bastions, and nodes of public clusters.
	SubnetPublic SubnetRole = "Public"
	// SubnetPrivate holds nodes and internal load balancers.
	SubnetPrivate SubnetRole = "Private"
)

// Subnet is an existing subnet.
type Subnet struct {
	// ID is the subnet's ID.
	ID string `json:"id"`

	// Zone is its availability zone.
	Zone string `json:"zone"`

	// Role says what it is for.
	Role SubnetRole `json:"role"`
}

// APIAccess says who reaches the API's load balancer.
//
// +kubebuilder:validation:Enum=Public;Internal
type APIAccess string

// Accesses.
const (
	// APIPublic is an internet-facing load balancer.
	APIPublic APIAccess = "Public"
	// APIInternal is a load balancer that only the VPC, and what is connected to it, reaches.
	APIInternal APIAccess = "Internal"
)

// APIEndpoint is how the Kubernetes API is reached.
type APIEndpoint struct {
	// Access is Public or Internal.
	// +optional
	// +kubebuilder:default=Public
	Access APIAccess `json:"access,omitempty"`

	// AllowedCIDRs are the ranges that may reach it; all when empty.
	// +optional
	AllowedCIDRs []string `json:"allowedCIDRs,omitempty"`

	// SecurityGroups are existing security groups put on the load balancer as well.
	// +optional
	SecurityGroups []string `json:"securityGroups,omitempty"`

	// ExtraNames are further names or addresses that the API server's certificate is good for.
	// +optional
	ExtraNames []string `json:"extraNames,omitempty"`
}

// DNS names the API in a public hosted zone.
type DNS struct {
	// HostedZoneID is the ID of the zone.
	HostedZoneID string `json:"hostedZoneID"`

	// Name is the API's name in it, for example api.demo.example.com.
	Name string `json:"name"`
}

// ControlPlane is the machines that run etcd and the Kubernetes API, in slots.
type ControlPlane struct {
	// Replicas is the number of slots, 1 or 3.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Enum=1;3
	Replicas int32 `json:"replicas,omitempty"`

	// InstanceType is the machines' type.
	// +optional
	// +kubebuilder:default=m6i.large
	InstanceType string `json:"instanceType,omitempty"`

	// Zones are the zones of the slots, in their order; the network's in turn when empty.
	// +optional
	Zones []string `json:"zones,omitempty"`

	// Image is the ID of a machine image in place of the release's.
	// +optional
	Image string `json:"image,omitempty"`

	// RootVolume is the machines' disk.
	// +optional
	RootVolume Volume `json:"rootVolume,omitempty"`

	// EtcdVolume holds etcd's data and outlives its machine.
	// +optional
	EtcdVolume Volume `json:"etcdVolume,omitempty"`

	// SecurityGroups are existing security groups put on the machines as well.
	// +optional
	SecurityGroups []string `json:"securityGroups,omitempty"`

	// Labels are put on the nodes.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// ExtraArgs are further arguments of the control plane's components.
	// +optional
	ExtraArgs ExtraArgs `json:"extraArgs,omitempty"`
}

// ExtraArgs are further arguments, by name without dashes.
type ExtraArgs struct {
	// APIServer are those of kube-apiserver.
	// +optional
	APIServer map[string]string `json:"apiServer,omitempty"`

	// ControllerManager are those of kube-controller-manager.
	// +optional
	ControllerManager map[string]string `json:"controllerManager,omitempty"`

	// Scheduler are those of kube-scheduler.
	// +optional
	Scheduler map[string]string `json:"scheduler,omitempty"`

	// Etcd are those of etcd.
	// +optional
	Etcd map[string]string `json:"etcd,omitempty"`
}

// VolumeType is an EBS volume type that can be what a cluster needs.
//
// +kubebuilder:validation:Enum=gp3;io2
type VolumeType string

// Volume types.
const (
	// VolumeGP3 is general purpose.
	VolumeGP3 VolumeType = "gp3"
	// VolumeIO2 has provisioned performance.
	VolumeIO2 VolumeType = "io2"
)

// Volume is an EBS volume, always encrypted.
type Volume struct {
	// Type is the volume's type.
	// +optional
	Type VolumeType `json:"type,omitempty"`

	// SizeGiB is its size in GiB.
	// +optional
	SizeGiB int32 `json:"sizeGiB,omitempty"`

	// IOPS are its operations a second.
	// +optional
	IOPS int32 `json:"iops,omitempty"`

	// ThroughputMiBps is its throughput in MiB a second; gp3 only.
	// +optional
	ThroughputMiBps int32 `json:"throughputMiBps,omitempty"`
}

// Bastion is a group of machines for SSH.
type Bastion struct {
	// InstanceType is the machines' type.
	// +optional
	// +kubebuilder:default=t3.micro
	InstanceType string `json:"instanceType,omitempty"`

	// Replicas is their number.
	// +optional
	// +kubebuilder:default=1
	Replicas int32 `json:"replicas,omitempty"`

	// AllowedCIDRs are the ranges that may log in; the cluster's ssh.allowedCIDRs when empty.
	// +optional
	AllowedCIDRs []string `json:"allowedCIDRs,omitempty"`
}

// SSH says who may log in.
type SSH struct {
	// AuthorizedKeys are public keys of the image's default user.
	// +optional
	AuthorizedKeys []string `json:"authorizedKeys,omitempty"`

	// AllowedCIDRs are the ranges from which nodes may be reached by SSH; none when empty.
	// +optional
	AllowedCIDRs []string `json:"allowedCIDRs,omitempty"`
}

// NodeIAM are further permissions of machines.
type NodeIAM struct {
	// ControlPlanePolicies are ARNs of policies attached to the slots' role.
	// +optional
	ControlPlanePolicies []string `json:"controlPlanePolicies,omitempty"`

	// WorkerPolicies are ARNs of policies attached to the workers' role.
	// +optional
	WorkerPolicies []string `json:"workerPolicies,omitempty"`

	// PermissionsBoundary is the ARN of the boundary of every role that is made.
	// +optional
	PermissionsBoundary string `json:"permissionsBoundary,omitempty"`
}

// ServiceAccountIssuer publishes service-account keys.
type ServiceAccountIssuer struct {
	// URL is where the documents are published, https and without a path when it is the operator that publishes
	// them; empty publishes them in the cluster's bucket.
	// +optional
	URL string `json:"url,omitempty"`
}

// Addon adds to, changes or leaves out one of the release's addons.
type Addon struct {
	// Name is the addon's, and its Helm release's.
	Name string `json:"name"`

	// Disabled leaves out an addon of the release.
	// +optional
	Disabled bool `json:"disabled,omitempty"`

	// Namespace is where it is installed; kube-system when empty.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Chart is where the chart is: an https repository and name, or an oci:// address. Needed for addons
	// that the release does not have.
	// +optional
	Chart string `json:"chart,omitempty"`

	// Repository is the chart repository's address, if chart is a name.
	// +optional
	Repository string `json:"repository,omitempty"`

	// Version pins the chart's version.
	// +optional
	Version string `json:"version,omitempty"`

	// Values are merged over the release's.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Values *runtime.RawExtension `json:"values,omitempty"`
}

// UpdatePolicy says whether changes need approval.
//
// +kubebuilder:validation:Enum=Automatic;Manual
type UpdatePolicy string

// Update policies.
const (
	// UpdateAutomatic carries changes out.
	UpdateAutomatic UpdatePolicy = "Automatic"
	// UpdateManual waits for approval of each change.
	UpdateManual UpdatePolicy = "Manual"
)

// VolumePolicy says what becomes of persistent volumes.
//
// +kubebuilder:validation:Enum=Retain;Delete
type VolumePolicy string

// Volume policies.
const (
	// VolumesRetain keeps them.
	VolumesRetain VolumePolicy = "Retain"
	// VolumesDelete deletes them with the cluster.
	VolumesDelete VolumePolicy = "Delete"
)

// ClusterStatus says how far a cluster is.
type ClusterStatus struct {
	// ObservedGeneration is the generation that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions say how far the cluster is and what a person can do about it: Ready, Synced, Stalled,
	// Reconciling, NetworkReady, ControlPlaneReady, APIReachable, NodesReady, AddonsReady.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Version is the Kubernetes version that the API servers run.
	// +optional
	Version string `json:"version,omitempty"`

	// ResourceSet is the version of the templates that the cluster is made from.
	// +optional
	ResourceSet string `json:"resourceSet,omitempty"`

	// Endpoint is the address of the Kubernetes API, https://host:port.
	// +optional
	Endpoint string `json:"endpoint,omitempty"`

	// Account is the AWS account that the cluster stands in.
	// +optional
	Account string `json:"account,omitempty"`

	// Nodes counts the cluster's nodes.
	// +optional
	Nodes NodeCount `json:"nodes,omitempty"`

	// Outputs are the outputs of the cluster's base stack, by name.
	// +optional
	Outputs map[string]string `json:"outputs,omitempty"`

	// Stacks are the cluster's own stacks: base, and one for each slot.
	// +optional
	// +listType=map
	// +listMapKey=name
	Stacks []StackStatus `json:"stacks,omitempty"`
}

// NodeCount counts nodes.
type NodeCount struct {
	// Desired is how many there should be.
	// +optional
	Desired int32 `json:"desired,omitempty"`

	// Ready is how many are ready.
	// +optional
	Ready int32 `json:"ready,omitempty"`

	// Updated is how many run the present bundle.
	// +optional
	Updated int32 `json:"updated,omitempty"`

	// Summary is ready and desired for people, for example 5/6.
	// +optional
	Summary string `json:"summary,omitempty"`
}

// StackStatus is what is known of one stack.
type StackStatus struct {
	// Name is the stack's name.
	Name string `json:"name"`

	// Status is CloudFormation's word.
	// +optional
	Status string `json:"status,omitempty"`

	// Reason says why the stack is in that status.
	// +optional
	Reason string `json:"reason,omitempty"`

	// Bundle is the SHA-256 of the bundle that the stack's machines boot from.
	// +optional
	Bundle string `json:"bundle,omitempty"`

	// Record is what the operator must remember of the stack to go on after a restart without asking
	// AWS. Its form is the operator's own.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Record *runtime.RawExtension `json:"record,omitempty"`
}

// GetConditions returns the cluster's conditions.
func (c *Cluster) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions replaces the cluster's conditions.
func (c *Cluster) SetConditions(conditions []metav1.Condition) { c.Status.Conditions = conditions }

// SetObservedGeneration records the generation that the status speaks of.
func (c *Cluster) SetObservedGeneration(generation int64) { c.Status.ObservedGeneration = generation }

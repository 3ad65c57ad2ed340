package model

import (
	"time"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
)

// Input holds the inputs of a cluster's model.
type Input struct {
	// Cluster is the user's object.
	Cluster *v1alpha1.Cluster
	// Release is the Release that it names.
	Release *v1alpha1.Release
	// Operator is the operator's --cluster-name.
	Operator string
	// AccountID is the cluster's account.
	AccountID string
	// Partition is that of the region: aws, aws-cn, aws-us-gov.
	Partition string
	// DNSSuffix is that of the region's endpoints, as amazonaws.com.
	DNSSuffix string
	// Existing is the existing VPC as AWS reports it; nil for a new one, or if AWS was not asked.
	Existing *ExistingVPC
	// Alone reports that no operator manages the cluster, for example with Terraform: its slots
	// then create and renew the token that workers join with.
	Alone bool
	// IssuerInBucket reports that the documents of the service-account issuer are already in the
	// cluster's bucket where no status records it. They stay there, whatever the resource set.
	IssuerInBucket bool
}

// ExistingVPC is a VPC as AWS reports it.
type ExistingVPC struct {
	// ID is the VPC's.
	ID string
	// CIDRs are all its IPv4 ranges.
	CIDRs []string
	// WithoutDNSSupport and WithoutDNSHostnames are whether its attributes enableDnsSupport and
	// enableDnsHostnames are off.
	WithoutDNSSupport, WithoutDNSHostnames bool
	// DHCPOptions is the ID of its set of DHCP options, DNSServers are the name servers in it that
	// are not the VPC's resolver.
	DHCPOptions string
	DNSServers  []string
	// Subnets are its subnets: at least those that the cluster and its instance groups name.
	Subnets []ExistingSubnet
}

// ExistingSubnet is a subnet as AWS has it.
type ExistingSubnet struct {
	// ID is the subnet's.
	ID string
	// Zone is its availability zone.
	Zone string
	// CIDR is its range.
	CIDR string
	// RouteTable is the ID of its route table.
	RouteTable string
}

// Cluster is a fully resolved cluster.
type Cluster struct {
	// Name is the cluster's.
	Name string
	// Namespace is that of the Cluster.
	Namespace string
	// Operator is the operator's --cluster-name.
	Operator string
	// Region is where it stands.
	Region string
	// AccountID is whose it is.
	AccountID string
	// Partition is that of the region.
	Partition string
	// DNSSuffix is that of the region's endpoints.
	DNSSuffix string

	// Spec is a copy of the Cluster's with every default filled.
	Spec v1alpha1.ClusterSpec
	// Release is a copy of what the cluster runs, with the cluster's facts in the values of its
	// addons.
	Release *v1alpha1.Release
	// ResourceSet is the version of the templates.
	ResourceSet string
	// Features are what the templates of that version do.
	Features release.Features

	// NewVPC is whether the VPC is made, not adopted.
	NewVPC bool
	// VPC is the ID of an existing VPC.
	VPC string
	// CIDRs are the VPC's ranges; empty for an existing one of which AWS has not been asked.
	CIDRs []string
	// Subnets are all subnets, by role and zone in the order of the zones: first the public ones.
	Subnets []Subnet
	// NodeRole is the role of the subnets that nodes stand in.
	NodeRole v1alpha1.SubnetRole
	// APIRole is the role of the subnets that the API's load balancer stands in.
	APIRole v1alpha1.SubnetRole
	// Existing is the existing VPC as AWS has it.
	Existing *ExistingVPC

	// Slots are the control plane's positions.
	Slots []Slot
	// ControlPlaneArchitecture is that of the control plane's instance type.
	ControlPlaneArchitecture v1alpha1.Architecture
	// ControlPlaneImage is what the slots' machines boot.
	ControlPlaneImage Image
	// ControlPlaneLabels are the node labels that the slots' kubelets set: the person's and the
	// operator's, without those of the slot and the bundle.
	ControlPlaneLabels map[string]string
	// BastionArchitecture is that of the bastions' instance type.
	BastionArchitecture v1alpha1.Architecture
	// BastionImage is what bastions boot.
	BastionImage Image

	// Bucket is the name of the cluster's bucket.
	Bucket string
	// ZoneName is the name of the private hosted zone.
	ZoneName string
	// TokenParameter is the name of the SSM parameter of the bootstrap token that the operator
	// keeps, empty where no operator runs.
	TokenParameter string
	// TokenKey is the key in the bucket of the bootstrap token where the slots keep it; empty where
	// only the operator does.
	TokenKey string
	// Issuer is the service-account issuer's URL, empty when the cluster publishes none.
	Issuer string
	// IssuerBucket is the name of the bucket that publishes the issuer's documents, empty if they
	// are not published, or in the cluster's bucket.
	IssuerBucket string
	// RestoreProgram is the SHA-256 of the program that the cluster was restored with, in hex. It
	// is empty for a cluster that was not restored, or before the hash was kept.
	RestoreProgram string
	// StackName is the base stack's.
	StackName string
	// Tags are the base stack's.
	Tags map[string]string
}

// Subnet is a subnet with everything decided.
type Subnet struct {
	// Zone is its availability zone.
	Zone string
	// Role is what it is for.
	Role v1alpha1.SubnetRole
	// CIDR is its range; empty for an existing one of which AWS has not been asked.
	CIDR string
	// ID is an existing subnet's; empty for a new one.
	ID string
	// LogicalID is its name in the base stack and that of its output, for example
	// PrivateSubnetEuCentral1a.
	LogicalID string
}

// Slot is a control-plane position.
type Slot struct {
	// Index is its number, from 0.
	Index int
	// Zone is where it stands.
	Zone string
	// Subnet is the one that its machine stands in.
	Subnet Subnet
	// EtcdName is the name of its etcd member.
	EtcdName string
	// EtcdDNS is that member's name in the private hosted zone.
	EtcdDNS string
	// EtcdVolumeGeneration counts how often the slot's etcd volume was lost and replaced by a blank
	// one.
	EtcdVolumeGeneration int32
	// StackName is its stack's.
	StackName string
	// Tags are its stack's.
	Tags map[string]string
	// DiskTags are those of the disks and network interfaces that come with its machine: Tags,
	// unless others are put here.
	DiskTags map[string]string
	// Labels are the node labels that its kubelet sets, without the bundle's.
	Labels map[string]string
}

// Image is a machine image: either an ID or the SSM parameter that holds one.
type Image struct {
	// ID is the image's.
	ID string
	// Parameter is the name of a public SSM parameter.
	Parameter string
	// User is the image's default user.
	User string
}

// Group is a fully resolved instance group.
type Group struct {
	// Name is the group's.
	Name string
	// StackName is its stack's.
	StackName string
	// Spec is a copy of the InstanceGroup's with every default filled.
	Spec v1alpha1.InstanceGroupSpec
	// Subnets are those that its machines stand in.
	Subnets []Subnet
	// Image is what its machines boot.
	Image Image
	// Tags are its stack's and its machines'.
	Tags map[string]string
	// DiskTags are those of the disks and network interfaces that come with its machines: Tags,
	// unless others are put here. They are in the launch template, and a change of them alone would
	// replace every machine.
	DiskTags map[string]string
	// AutoscalerTags tell the cluster autoscaler that the group is its to scale; none if it is not.
	AutoscalerTags map[string]string
	// Labels are the node labels that its kubelets set, without the bundle's.
	Labels map[string]string
	// Rolling is how its machines are replaced.
	Rolling Rolling
}

// Rolling is a rolling update in numbers.
type Rolling struct {
	// Engine says who replaces the machines.
	Engine v1alpha1.RollingEngine
	// BatchSize is how many machines are replaced at once: at least 1, at most the group's greatest
	// size and 100.
	BatchSize int32
	// MinInService is how many stay in service, always less than the group's greatest size, as
	// CloudFormation asks.
	MinInService int32
	// Surge is how many machines there may be above the group's present size, Canary how many are
	// replaced first, alone.
	Surge, Canary int32
	// Pause is how long a new node must have been Ready before its machine is signalled as good.
	Pause time.Duration
	// ReadyTimeout is how long new nodes may take to become Ready.
	ReadyTimeout time.Duration
	// SignalTimeout is how long CloudFormation waits for the signals of a batch: until its nodes
	// are Ready and have paused.
	SignalTimeout time.Duration
	// DrainTimeout is how long draining a node may take, OnDrainTimeout what becomes of its machine
	// then.
	DrainTimeout   time.Duration
	OnDrainTimeout v1alpha1.DrainPolicy
	// HookTimeout is how long Auto Scaling waits between two heartbeats before it ends a machine
	// that is being drained: the drain timeout, as far as hooks can wait so long or so short.
	HookTimeout time.Duration
}

// SubnetsOf returns the cluster's subnets of one role.
func (c *Cluster) SubnetsOf(role v1alpha1.SubnetRole) []Subnet {
	var subnets []Subnet
	for _, s := range c.Subnets {
		if s.Role == role {
			subnets = append(subnets, s)
		}
	}
	return subnets
}

// NodeSubnets returns the subnets that nodes stand in.
func (c *Cluster) NodeSubnets() []Subnet { return c.SubnetsOf(c.NodeRole) }

// APISubnets returns the subnets that the API's load balancer stands in.
func (c *Cluster) APISubnets() []Subnet { return c.SubnetsOf(c.APIRole) }

// Zones returns the zones that nodes can stand in, in their order.
func (c *Cluster) Zones() []string {
	subnets := c.NodeSubnets()
	zones := make([]string, len(subnets))
	for i, s := range subnets {
		zones[i] = s.Zone
	}
	return zones
}

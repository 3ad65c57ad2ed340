package model

import (
	"time"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/apiserver"
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
	// ID is the ID of the VPC.
	ID string
	// CIDRs are all its IPv4 ranges.
	CIDRs []string
	// WithoutDNSSupport and WithoutDNSHostnames report that its attributes enableDnsSupport and
	// enableDnsHostnames are disabled.
	WithoutDNSSupport, WithoutDNSHostnames bool
	// DHCPOptions is the ID of its set of DHCP options, DNSServers are the name servers in it that
	// are not the VPC's resolver.
	DHCPOptions string
	DNSServers  []string
	// Subnets are its subnets: at least those of the cluster and its instance groups.
	Subnets []ExistingSubnet
}

// ExistingSubnet is a subnet as AWS reports it.
type ExistingSubnet struct {
	// ID is the ID of the subnet.
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
	// Region is the region of the cluster.
	Region string
	// AccountID is the account of the cluster.
	AccountID string
	// Partition is the partition of the region.
	Partition string
	// DNSSuffix is that of the region's endpoints.
	DNSSuffix string

	// Spec is a copy of the Cluster's spec with all defaults.
	Spec v1alpha1.ClusterSpec
	// Release is a copy of the cluster's Release, with the cluster's facts in the values of its
	// addons.
	Release *v1alpha1.Release
	// ResourceSet is the version of the templates.
	ResourceSet string
	// Features are the features of that version.
	Features release.Features
	// Keys are the CAs and keys that slots use. [Resolve] does not set it, since no spec contains it.
	Keys Keys

	// NewVPC reports that the VPC is created, not an existing one.
	NewVPC bool
	// VPC is the ID of an existing VPC.
	VPC string
	// CIDRs are the VPC's ranges; empty for an existing one that was not read from AWS.
	CIDRs []string
	// Subnets are all subnets, by role and zone in the order of the zones: first the public ones.
	Subnets []Subnet
	// NodeRole is the role of the nodes' subnets.
	NodeRole v1alpha1.SubnetRole
	// APIRole is the role of the subnets of the API's load balancer.
	APIRole v1alpha1.SubnetRole
	// Existing is the existing VPC as AWS reports it.
	Existing *ExistingVPC

	// Slots are the slots of the control plane.
	Slots []Slot
	// Leaving are those by which the control plane shrinks, as long as one of them exists.
	Leaving []Slot
	// ControlPlaneArchitecture is the architecture of the control plane's instance type.
	ControlPlaneArchitecture v1alpha1.Architecture
	// ControlPlaneImage is the image of the slots' instances.
	ControlPlaneImage Image
	// ControlPlaneLabels are the node labels that the slots' kubelets set: the user's and the
	// operator's, without those of the slot and the bundle.
	ControlPlaneLabels map[string]string
	// ControlPlaneSetup are the files and units of the slots, by path and name.
	ControlPlaneSetup v1alpha1.NodeSetup
	// APIServer is the configuration of the API servers.
	APIServer apiserver.Config
	// BastionArchitecture is the architecture of the bastions' instance type.
	BastionArchitecture v1alpha1.Architecture
	// BastionImage is the image of the bastions.
	BastionImage Image

	// Bucket is the name of the cluster's bucket.
	Bucket string
	// ZoneName is the name of the private hosted zone.
	ZoneName string
	// TokenParameter is the name of the SSM parameter of the bootstrap token that the operator
	// keeps, empty without an operator.
	TokenParameter string
	// TokenKey is the key of the bootstrap token in the bucket if the slots keep it; empty if the
	// operator does.
	TokenKey string
	// Issuer is the service-account issuer's URL, empty when the cluster publishes none.
	Issuer string
	// IssuerBucket is the name of the bucket that publishes the issuer's documents, empty if they
	// are not published, or in the cluster's bucket.
	IssuerBucket string
	// RestoreProgram is the SHA-256 of the program that the cluster was restored with, in hex. It
	// is empty for a cluster that was not restored, or before the hash was kept.
	RestoreProgram string
	// StackName is the name of the base stack.
	StackName string
	// Tags are the tags of the base stack.
	Tags map[string]string
}

// Subnet is a resolved subnet.
type Subnet struct {
	// Zone is its availability zone.
	Zone string
	// Role is its purpose.
	Role v1alpha1.SubnetRole
	// CIDR is its range; empty for an existing one that was not read from AWS.
	CIDR string
	// ID is the ID of an existing subnet; empty for a new one.
	ID string
	// LogicalID is its name in the base stack and that of its output, for example
	// PrivateSubnetEuCentral1a.
	LogicalID string
}

// Slot is a resolved control-plane slot.
type Slot struct {
	// Index is its number, from 0.
	Index int
	// Zone is its availability zone: that of the spec, or the one of its etcd volume from which it
	// cannot move there yet.
	Zone string
	// SpecZone is the zone that the spec gives it.
	SpecZone string
	// Subnet is the subnet of its instance.
	Subnet Subnet
	// EtcdName is the name of its etcd member.
	EtcdName string
	// EtcdDNS is the DNS name of that member in the private hosted zone.
	EtcdDNS string
	// EtcdVolumeGeneration counts how often the slot's etcd volume was replaced by a blank one,
	// since it was lost or the slot moved to another zone.
	EtcdVolumeGeneration int32
	// EtcdVolumeZone is the zone of that volume.
	EtcdVolumeZone string
	// NextEtcdVolumeZone is the zone of a second volume, of the next generation, while the slot moves
	// there or back; empty while it has one volume.
	NextEtcdVolumeZone string
	// StackName is the name of its stack.
	StackName string
	// Tags are the tags of its stack.
	Tags map[string]string
	// DiskTags are the tags of its instance's volumes and network interfaces: Tags, unless set
	// otherwise.
	DiskTags map[string]string
	// Labels are the node labels that its kubelet sets, without the bundle's label.
	Labels map[string]string
}

// Image is a machine image: either an ID or the SSM parameter that holds one.
type Image struct {
	// ID is the ID of the image.
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
	// StackName is the name of its stack.
	StackName string
	// Spec is a copy of the InstanceGroup's spec with all defaults.
	Spec v1alpha1.InstanceGroupSpec
	// Subnets are the subnets of its instances.
	Subnets []Subnet
	// Image is the image of its instances.
	Image Image
	// Tags are the tags of its stack and its instances.
	Tags map[string]string
	// DiskTags are the tags of its instances' volumes and network interfaces: Tags, unless set
	// otherwise. They are in the launch template, so a change of them alone would replace every
	// instance.
	DiskTags map[string]string
	// AutoscalerTags let the cluster autoscaler discover the group; none if it must not scale it.
	AutoscalerTags map[string]string
	// Labels are the node labels that its kubelets set, without the bundle's label.
	Labels map[string]string
	// Setup are the files and units of its instances, by path and name.
	Setup v1alpha1.NodeSetup
	// Rolling is how its instances are replaced.
	Rolling Rolling
}

// Rolling has the resolved numbers of a rolling update.
type Rolling struct {
	// Engine is the engine that replaces the instances.
	Engine v1alpha1.RollingEngine
	// BatchSize is how many instances are replaced at once: at least 1, at most the group's maximum
	// size and 100.
	BatchSize int32
	// MinInService is how many stay in service, always less than the group's maximum size, as
	// CloudFormation requires.
	MinInService int32
	// Surge is how many instances there may be above the group's current size, Canary how many are
	// replaced first, alone.
	Surge, Canary int32
	// Pause is how long a new node must have been Ready before its instance signals success.
	Pause time.Duration
	// ReadyTimeout is how long new nodes may take to become Ready.
	ReadyTimeout time.Duration
	// SignalTimeout is how long CloudFormation waits for the signals of a batch: until its nodes
	// are Ready and have paused.
	SignalTimeout time.Duration
	// DrainTimeout is how long draining a node may take, OnDrainTimeout what happens to its
	// instance afterwards.
	DrainTimeout   time.Duration
	OnDrainTimeout v1alpha1.DrainPolicy
	// HookTimeout is how long Auto Scaling waits between two heartbeats before it terminates an
	// instance that is being drained: the drain timeout, within the limits of hooks.
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

// NodeSubnets returns the nodes' subnets.
func (c *Cluster) NodeSubnets() []Subnet { return c.SubnetsOf(c.NodeRole) }

// APISubnets returns the subnets of the API's load balancer.
func (c *Cluster) APISubnets() []Subnet { return c.SubnetsOf(c.APIRole) }

// Zones returns the zones of the nodes' subnets, in their order.
func (c *Cluster) Zones() []string {
	subnets := c.NodeSubnets()
	zones := make([]string, len(subnets))
	for i, s := range subnets {
		zones[i] = s.Zone
	}
	return zones
}

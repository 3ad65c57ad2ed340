package v1alpha1

// ControlPlane is the machines that run etcd and the Kubernetes API.
	// +optional
	// +kubebuilder:default={replicas: 3}
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
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Addons []Addon `json:"addons,omitempty"`

	// Tags are put on everything that AWS makes for the cluster.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=40
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('aws:') && !k.startsWith('AWS:'))",message="tags that begin with aws: are AWS's own: take another key"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('kubernetes.io/cluster/') && !k.startsWith('cluster-operator.aws/'))",message="tags that begin with kubernetes.io/cluster/ or cluster-operator.aws/ are the operator's own: take another key"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() >= 1 && k.size() <= 128 && self[k].size() <= 256)",message="a tag has a key of 1 to 128 characters and a value of at most 256: make it shorter"
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
	// +required
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^arn:aws(-cn|-us-gov)?:iam::[0-9]{12}:role/.+$')",message="write the ARN of a role, for example arn:aws:iam::123456789012:role/clusters"
	ARN string `json:"arn"`

	// ExternalID is what the role's trust policy asks for.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=1224
	ExternalID string `json:"externalID,omitempty"`
}

// ControlPlane is the machines that run etcd and the Kubernetes API.
	// +optional
	// +kubebuilder:default={replicas: 3}
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
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Addons []Addon `json:"addons,omitempty"`

	// Tags are put on everything that AWS makes for the cluster.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=40
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('aws:') && !k.startsWith('AWS:'))",message="tags that begin with aws: are AWS's own: take another key"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('kubernetes.io/cluster/') && !k.startsWith('cluster-operator.aws/'))",message="tags that begin with kubernetes.io/cluster/ or cluster-operator.aws/ are the operator's own: take another key"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() >= 1 && k.size() <= 128 && self[k].size() <= 256)",message="a tag has a key of 1 to 128 characters and a value of at most 256: make it shorter"
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
	// +required
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^arn:aws(-cn|-us-gov)?:iam::[0-9]{12}:role/.+$')",message="write the ARN of a role, for example arn:aws:iam::123456789012:role/clusters"
	ARN string `json:"arn"`

	// ExternalID is what the role's trust policy asks for.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=1224
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
//
// +kubebuilder:validation:XValidation:rule="has(self.cidr) || has(self.vpc)",message="give cidr and zones for a new VPC, or vpc and subnets for an existing one"
// +kubebuilder:validation:XValidation:rule="!(has(self.cidr) || has(self.zones)) || !(has(self.vpc) || has(self.subnets))",message="cidr and zones are of a new VPC, vpc and subnets of an existing one: give the one or the other"
// +kubebuilder:validation:XValidation:rule="!has(self.cidr) || has(self.zones)",message="a new VPC needs zones: name at least one"
// +kubebuilder:validation:XValidation:rule="!has(self.vpc) || has(self.subnets)",message="an existing VPC needs subnets: name those to stand in"
// +kubebuilder:validation:XValidation:rule="has(self.cidr) == has(oldSelf.cidr) && (!has(self.cidr) || self.cidr == oldSelf.cidr)",message="cidr cannot change: make a new cluster"
// +kubebuilder:validation:XValidation:rule="has(self.vpc) == has(oldSelf.vpc) && (!has(self.vpc) || self.vpc == oldSelf.vpc)",message="vpc cannot change: make a new cluster"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.zones) || !has(self.zones) || oldSelf.zones.all(z, z in self.zones)",message="zones cannot be removed, since subnets stand in them: keep the zone, and limit instance groups to others with their spec.zones"
// +kubebuilder:validation:XValidation:rule="!has(self.subnets) || self.subnets.exists(s, s.role == self.topology)",message="subnets has none for nodes: add one whose role is the topology, or change topology"
// +kubebuilder:validation:XValidation:rule="!has(self.vpc) || !has(self.nat) && !has(self.natGateways)",message="the routes of an existing VPC are not changed: leave out nat and natGateways"
// +kubebuilder:validation:XValidation:rule="self.topology != 'Public' || !has(self.nat) || self.nat == 'None'",message="nodes in public subnets need no NAT: leave out nat, or set topology to Private"
// +kubebuilder:validation:XValidation:rule="!has(self.natGateways) || has(self.nat) && self.nat == 'Existing'",message="natGateways are for nat Existing: set it, or leave them out"
// +kubebuilder:validation:XValidation:rule="!has(self.nat) || self.nat != 'Existing' || !has(self.zones) || self.zones.all(z, has(self.natGateways) && z in self.natGateways)",message="nat is Existing, and a zone has no gateway: name one for every zone in natGateways"
// +kubebuilder:validation:XValidation:rule="!has(self.cidr) || !isCIDR(self.cidr) || !isCIDR(self.podCIDR) || !cidr(self.cidr).containsCIDR(self.podCIDR) && !cidr(self.podCIDR).containsCIDR(self.cidr)",message="podCIDR overlaps cidr: take another range for one of them"
// +kubebuilder:validation:XValidation:rule="!has(self.cidr) || !isCIDR(self.cidr) || !isCIDR(self.serviceCIDR) || !cidr(self.cidr).containsCIDR(self.serviceCIDR) && !cidr(self.serviceCIDR).containsCIDR(self.cidr)",message="serviceCIDR overlaps cidr: take another range for one of them"
// +kubebuilder:validation:XValidation:rule="!isCIDR(self.podCIDR) || !isCIDR(self.serviceCIDR) || !cidr(self.podCIDR).containsCIDR(self.serviceCIDR) && !cidr(self.serviceCIDR).containsCIDR(self.podCIDR)",message="serviceCIDR overlaps podCIDR: take another range for one of them"
type Network struct {
	// CIDR is the range of a new VPC, /16 to /24.
	// +optional
	// +kubebuilder:validation:MaxLength=18
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && cidr(self).ip().family() == 4",message="write an IPv4 range, for example 10.0.0.0/16"
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || cidr(self).ip().family() != 4 || cidr(self).masked() == cidr(self)",message="the range does not begin where its mask does: write for example 10.0.0.0/16, not 10.0.0.1/16"
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || cidr(self).ip().family() != 4 || cidr(self).prefixLength() >= 16",message="the range is too big for a VPC: take one of /16 to /24"
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || cidr(self).ip().family() != 4 || cidr(self).prefixLength() <= 24",message="the range is too small for the subnets of a VPC: take one of /16 to /24"
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10'].exists(p, cidr(p).containsCIDR(self))",message="the range is not private: take one in 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 or 100.64.0.0/10"
	CIDR string `json:"cidr,omitempty"`

	// Zones are the availability zones of a new VPC; each gets a subnet of each kind.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, y == x))",message="names a zone twice: name each once"
	Zones []string `json:"zones,omitempty"`

	// VPC is the ID of an existing VPC to stand in.
	// +optional
	// +kubebuilder:validation:MaxLength=21
	// +kubebuilder:validation:XValidation:rule="self.matches('^vpc-([0-9a-f]{8}|[0-9a-f]{17})$')",message="write the ID of a VPC, for example vpc-0123456789abcdef0"
	VPC string `json:"vpc,omitempty"`

	// Subnets are the existing subnets to stand in.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(s, self.exists_one(t, t.id == s.id))",message="names a subnet twice: name each once"
	// +kubebuilder:validation:XValidation:rule="self.all(s, self.exists_one(t, t.zone == s.zone && t.role == s.role))",message="has two subnets of one role in a zone: name one; instance groups can name others in their spec.subnets"
	Subnets []Subnet `json:"subnets,omitempty"`

	// Topology says whether nodes stand in public or private subnets.
	// +optional
	// +kubebuilder:default=Private
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="topology cannot change: make a new cluster"
	Topology Topology `json:"topology,omitempty"`

	// NAT says how private subnets of a new VPC reach the internet; Single when empty.
	// +optional
	NAT NAT `json:"nat,omitempty"`

	// NATGateways are the gateways for nat Existing, by zone.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=8
	// +kubebuilder:validation:XValidation:rule="self.all(z, self[z].startsWith('nat-') || self[z].startsWith('tgw-'))",message="write the IDs of NAT or transit gateways, for example nat-0123456789abcdef0"
	NATGateways map[string]string `json:"natGateways,omitempty"`

	// PodCIDR is the range of pods' addresses.
	// +optional
	// +kubebuilder:default="100.64.0.0/13"
	// +kubebuilder:validation:MaxLength=18
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && cidr(self).ip().family() == 4",message="write an IPv4 range, for example 10.0.0.0/16"
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || cidr(self).ip().family() != 4 || cidr(self).masked() == cidr(self)",message="the range does not begin where its mask does: write for example 10.0.0.0/16, not 10.0.0.1/16"
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || cidr(self).ip().family() != 4 || cidr(self).prefixLength() >= 8",message="the range is too big for pods: take one of /8 to /20"
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || cidr(self).ip().family() != 4 || cidr(self).prefixLength() <= 20",message="the range is too small for pods, of which every node takes a /24: take one of /8 to /20"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="podCIDR cannot change: make a new cluster"
	PodCIDR string `json:"podCIDR,omitempty"`

	// ServiceCIDR is the range of services' addresses.
	// +optional
	// +kubebuilder:default="172.20.0.0/16"
	// +kubebuilder:validation:MaxLength=18
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && cidr(self).ip().family() == 4",message="write an IPv4 range, for example 10.0.0.0/16"
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || cidr(self).ip().family() != 4 || cidr(self).masked() == cidr(self)",message="the range does not begin where its mask does: write for example 10.0.0.0/16, not 10.0.0.1/16"
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || cidr(self).ip().family() != 4 || cidr(self).prefixLength() >= 12",message="the range is too big for services: take one of /12 to /24"
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || cidr(self).ip().family() != 4 || cidr(self).prefixLength() <= 24",message="the range is too small for services: take one of /12 to /24"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="serviceCIDR cannot change: make a new cluster"
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
	// +required
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:rule="self.matches('^subnet-([0-9a-f]{8}|[0-9a-f]{17})$')",message="write the ID of a subnet, for example subnet-0123456789abcdef0"
	ID string `json:"id"`

	// Zone is its availability zone.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Zone string `json:"zone"`

	// Role says what it is for.
	// +required
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
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="api.access cannot change, since nodes know the API by its load balancer's name: make a new cluster"
	Access APIAccess `json:"access,omitempty"`

	// AllowedCIDRs are the ranges that may reach it; all when empty.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=18
	// +kubebuilder:validation:XValidation:rule="self.all(c, isCIDR(c) && cidr(c).ip().family() == 4)",message="write IPv4 ranges, for example 192.0.2.0/24"
	// +kubebuilder:validation:XValidation:rule="self.all(c, !isCIDR(c) || cidr(c).masked() == cidr(c))",message="a range does not begin where its mask does: write for example 192.0.2.0/24, not 192.0.2.7/24"
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, y == x))",message="names a range twice: name each once"
	AllowedCIDRs []string `json:"allowedCIDRs,omitempty"`

	// SecurityGroups are existing security groups put on the load balancer as well.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, y == x))",message="names a security group twice: name each once"
	// +kubebuilder:validation:XValidation:rule="self.all(g, g.matches('^sg-([0-9a-f]{8}|[0-9a-f]{17})$'))",message="write the IDs of security groups, for example sg-0123456789abcdef0"
	SecurityGroups []string `json:"securityGroups,omitempty"`

	// ExtraNames are further names or addresses that the API server's certificate is good for.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, y == x))",message="names a name twice: name each once"
	// +kubebuilder:validation:XValidation:rule="self.all(n, isIP(n) || n.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?[.])*[a-z0-9]([-a-z0-9]*[a-z0-9])?$'))",message="write DNS names in lower case, or addresses"
	ExtraNames []string `json:"extraNames,omitempty"`
}

// DNS names the API in a public hosted zone.
type DNS struct {
	// HostedZoneID is the ID of the zone.
	// +required
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^Z[A-Z0-9]+$')",message="write the ID of a hosted zone, for example Z0123456789ABCDEFGHIJ"
	HostedZoneID string `json:"hostedZoneID"`

	// Name is the API's name in it, for example api.demo.example.com.
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?[.])+[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="write a DNS name, for example api.demo.example.com"
	Name string `json:"name"`
}

// ControlPlane is the machines that run etcd and the Kubernetes API, in slots.
//
// +kubebuilder:validation:XValidation:rule="(has(self.etcdVolume) && has(self.etcdVolume.sizeGiB) ? self.etcdVolume.sizeGiB : 20) >= (has(oldSelf.etcdVolume) && has(oldSelf.etcdVolume.sizeGiB) ? oldSelf.etcdVolume.sizeGiB : 20)",message="a volume cannot shrink: keep etcdVolume.sizeGiB, or raise it"
type ControlPlane struct {
	// Replicas is the number of slots, 1 or 3.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:XValidation:rule="self == 1 || self == 3",message="take 1 or 3 slots: etcd needs an odd number for its quorum, and more than 3 only make it slower"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="replicas cannot change, since etcd's members are fixed when it is made (also 1 to 3 is not supported): make a new cluster"
	Replicas int32 `json:"replicas,omitempty"`

	// InstanceType is the machines' type.
	// +optional
	// +kubebuilder:default=m6i.large
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z][a-z0-9-]*[.][a-z0-9-]+$')",message="write an instance type, for example m6i.large"
	InstanceType string `json:"instanceType,omitempty"`

	// Zones are the zones of the slots, in their order; the network's in turn when empty.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:items:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, y == x))",message="names a zone twice: name each once"
	Zones []string `json:"zones,omitempty"`

	// Image is the ID of a machine image in place of the release's.
	// +optional
	// +kubebuilder:validation:MaxLength=21
	// +kubebuilder:validation:XValidation:rule="self.matches('^ami-([0-9a-f]{8}|[0-9a-f]{17})$')",message="write the ID of a machine image, for example ami-0123456789abcdef0"
	Image string `json:"image,omitempty"`

	// RootVolume is the machines' disk.
	// +optional
	RootVolume Volume `json:"rootVolume,omitempty"`

	// EtcdVolume holds etcd's data and outlives its machine.
	// +optional
	EtcdVolume Volume `json:"etcdVolume,omitempty"`

	// SecurityGroups are existing security groups put on the machines as well.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, y == x))",message="names a security group twice: name each once"
	// +kubebuilder:validation:XValidation:rule="self.all(g, g.matches('^sg-([0-9a-f]{8}|[0-9a-f]{17})$'))",message="write the IDs of security groups, for example sg-0123456789abcdef0"
	SecurityGroups []string `json:"securityGroups,omitempty"`

	// Labels are put on the nodes.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('cluster-operator.aws/'))",message="labels that begin with cluster-operator.aws/ are the operator's own: take another key"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.startsWith('node.kubernetes.io/') || k.startsWith('kubelet.kubernetes.io/') || !(k.contains('kubernetes.io/') || k.contains('k8s.io/')))",message="kubelets may not set labels of kubernetes.io and k8s.io: take a key of your own domain, of node.kubernetes.io or of kubelet.kubernetes.io"
	// +kubebuilder:validation:XValidation:rule="!('node.kubernetes.io/instance-type' in self)",message="the label node.kubernetes.io/instance-type is set from the machine: leave it out"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() <= 317 && self[k].size() <= 63)",message="a label has a key of at most 317 characters and a value of at most 63: make it shorter"
	Labels map[string]string `json:"labels,omitempty"`

	// ExtraArgs are further arguments of the control plane's components.
	// +optional
	ExtraArgs ExtraArgs `json:"extraArgs,omitempty"`
}

// ExtraArgs are further arguments, by name without dashes.
type ExtraArgs struct {
	// APIServer are those of kube-apiserver.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('-'))",message="write arguments without dashes, for example v, not --v"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !(k in ['advertise-address', 'etcd-servers', 'secure-port', 'service-account-issuer', 'service-cluster-ip-range']))",message="advertise-address, etcd-servers, secure-port, service-account-issuer, service-cluster-ip-range are set by the operator: leave them out"
	APIServer map[string]string `json:"apiServer,omitempty"`

	// ControllerManager are those of kube-controller-manager.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('-'))",message="write arguments without dashes, for example v, not --v"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !(k in ['cloud-provider', 'cluster-cidr', 'service-cluster-ip-range']))",message="cloud-provider, cluster-cidr, service-cluster-ip-range are set by the operator: leave them out"
	ControllerManager map[string]string `json:"controllerManager,omitempty"`

	// Scheduler are those of kube-scheduler.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('-'))",message="write arguments without dashes, for example v, not --v"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !(k in ['kubeconfig']))",message="kubeconfig are set by the operator: leave them out"
	Scheduler map[string]string `json:"scheduler,omitempty"`

	// Etcd are those of etcd.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('-'))",message="write arguments without dashes, for example v, not --v"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !(k in ['name', 'data-dir', 'initial-cluster', 'initial-cluster-state', 'initial-cluster-token', 'initial-advertise-peer-urls', 'advertise-client-urls', 'listen-peer-urls', 'listen-client-urls']))",message="name, data-dir, initial-cluster, initial-cluster-state, initial-cluster-token, initial-advertise-peer-urls, advertise-client-urls, listen-peer-urls, listen-client-urls are set by the operator: leave them out"
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
//
// +kubebuilder:validation:XValidation:rule="!has(self.type) || self.type != 'io2' || !has(self.throughputMiBps)",message="the throughput of an io2 volume follows from its IOPS: leave out throughputMiBps"
// +kubebuilder:validation:XValidation:rule="has(self.type) && self.type == 'io2' || !has(self.iops) || self.iops >= 3000 && self.iops <= 80000",message="a gp3 volume does 3000 to 80000 IOPS: take one of them, or type io2"
// +kubebuilder:validation:XValidation:rule="!has(self.throughputMiBps) || self.throughputMiBps * 4 <= (has(self.iops) ? self.iops : 3000)",message="a gp3 volume needs 4 IOPS for each MiB a second: raise iops, or lower throughputMiBps"
type Volume struct {
	// Type is the volume's type.
	// +optional
	Type VolumeType `json:"type,omitempty"`

	// SizeGiB is its size in GiB.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	SizeGiB int32 `json:"sizeGiB,omitempty"`

	// IOPS are its operations a second.
	// +optional
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=256000
	IOPS int32 `json:"iops,omitempty"`

	// ThroughputMiBps is its throughput in MiB a second; gp3 only.
	// +optional
	// +kubebuilder:validation:Minimum=125
	// +kubebuilder:validation:Maximum=2000
	ThroughputMiBps int32 `json:"throughputMiBps,omitempty"`
}

// Bastion is a group of machines for SSH.
type Bastion struct {
	// InstanceType is the machines' type.
	// +optional
	// +kubebuilder:default=t3.micro
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z][a-z0-9-]*[.][a-z0-9-]+$')",message="write an instance type, for example t3.micro"
	InstanceType string `json:"instanceType,omitempty"`

	// Replicas is their number.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	Replicas int32 `json:"replicas,omitempty"`

	// AllowedCIDRs are the ranges that may log in; the cluster's ssh.allowedCIDRs when empty.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=18
	// +kubebuilder:validation:XValidation:rule="self.all(c, isCIDR(c) && cidr(c).ip().family() == 4)",message="write IPv4 ranges, for example 192.0.2.0/24"
	// +kubebuilder:validation:XValidation:rule="self.all(c, !isCIDR(c) || cidr(c).masked() == cidr(c))",message="a range does not begin where its mask does: write for example 192.0.2.0/24, not 192.0.2.7/24"
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, y == x))",message="names a range twice: name each once"
	AllowedCIDRs []string `json:"allowedCIDRs,omitempty"`
}

// SSH says who may log in.
type SSH struct {
	// AuthorizedKeys are public keys of the image's default user.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.matches('^(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)|sk-ssh-ed25519@openssh.com|sk-ecdsa-sha2-nistp256@openssh.com) [A-Za-z0-9+/]+=*( .*)?$'))",message="write public keys in one line as in authorized_keys, for example ssh-ed25519 AAAAC3… someone@example.com"
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, y == x))",message="names a key twice: name each once"
	AuthorizedKeys []string `json:"authorizedKeys,omitempty"`

	// AllowedCIDRs are the ranges from which nodes may be reached by SSH; none when empty.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=18
	// +kubebuilder:validation:XValidation:rule="self.all(c, isCIDR(c) && cidr(c).ip().family() == 4)",message="write IPv4 ranges, for example 192.0.2.0/24"
	// +kubebuilder:validation:XValidation:rule="self.all(c, !isCIDR(c) || cidr(c).masked() == cidr(c))",message="a range does not begin where its mask does: write for example 192.0.2.0/24, not 192.0.2.7/24"
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, y == x))",message="names a range twice: name each once"
	AllowedCIDRs []string `json:"allowedCIDRs,omitempty"`
}

// NodeIAM are further permissions of machines.
type NodeIAM struct {
	// ControlPlanePolicies are ARNs of policies attached to the slots' role.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, y == x))",message="names a policy twice: name each once"
	// +kubebuilder:validation:XValidation:rule="self.all(a, a.matches('^arn:aws(-cn|-us-gov)?:iam::([0-9]{12}|aws):policy/.+$'))",message="write the ARNs of IAM policies, for example arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"
	ControlPlanePolicies []string `json:"controlPlanePolicies,omitempty"`

	// WorkerPolicies are ARNs of policies attached to the workers' role.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, y == x))",message="names a policy twice: name each once"
	// +kubebuilder:validation:XValidation:rule="self.all(a, a.matches('^arn:aws(-cn|-us-gov)?:iam::([0-9]{12}|aws):policy/.+$'))",message="write the ARNs of IAM policies, for example arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"
	WorkerPolicies []string `json:"workerPolicies,omitempty"`

	// PermissionsBoundary is the ARN of the boundary of every role that is made.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^arn:aws(-cn|-us-gov)?:iam::([0-9]{12}|aws):policy/.+$')",message="write the ARN of an IAM policy, for example arn:aws:iam::123456789012:policy/boundary"
	PermissionsBoundary string `json:"permissionsBoundary,omitempty"`
}

// ServiceAccountIssuer publishes service-account keys.
type ServiceAccountIssuer struct {
	// URL is where the documents are published, https and without a path when it is the operator that publishes
	// them; empty publishes them in the cluster's bucket.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() == 'https' && url(self).getHost().size() > 0 && url(self).getQuery().size() == 0 && !self.endsWith('/')",message="write an https URL without a query and a slash at its end, for example https://oidc.example.com/demo"
	URL string `json:"url,omitempty"`
}

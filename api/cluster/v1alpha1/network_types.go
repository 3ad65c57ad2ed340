package v1alpha1

import "k8s.io/apimachinery/pkg/runtime"

// Topology is the kind of subnets that nodes run in.
//
// +kubebuilder:validation:Enum=Public;Private
type Topology string

// Topologies.
const (
	// TopologyPublic runs nodes in public subnets, with public addresses.
	TopologyPublic Topology = "Public"
	// TopologyPrivate runs nodes in private subnets, behind NAT.
	TopologyPrivate Topology = "Private"
)

// NAT is how private subnets reach the internet.
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
	// NATNone makes no route to the internet: the VPC has endpoints or a transit gateway of its
	// own.
	NATNone NAT = "None"
)

// Network is a VPC and its subnets, either new (cidr, zones) or existing (vpc, subnets).
//
// +kubebuilder:validation:XValidation:rule="has(self.cidr) || has(self.vpc)",message="give cidr and zones for a new VPC, or vpc and subnets for an existing one"
// +kubebuilder:validation:XValidation:rule="!(has(self.cidr) || has(self.zones)) || !(has(self.vpc) || has(self.subnets))",message="cidr and zones are of a new VPC, vpc and subnets of an existing one: give the one or the other"
// +kubebuilder:validation:XValidation:rule="!has(self.cidr) || has(self.zones)",message="a new VPC needs zones: name at least one"
// +kubebuilder:validation:XValidation:rule="!has(self.vpc) || has(self.subnets)",message="an existing VPC needs subnets: list the subnets to use"
// +kubebuilder:validation:XValidation:rule="has(self.cidr) == has(oldSelf.cidr) && (!has(self.cidr) || self.cidr == oldSelf.cidr)",message="cidr cannot change: create a new cluster"
// +kubebuilder:validation:XValidation:rule="has(self.vpc) == has(oldSelf.vpc) && (!has(self.vpc) || self.vpc == oldSelf.vpc)",message="vpc cannot change: create a new cluster"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.zones) || !has(self.zones) || oldSelf.zones.all(z, z in self.zones)",message="zones cannot be removed, since they contain subnets: keep the zone, and limit instance groups to others with their spec.zones"
// +kubebuilder:validation:XValidation:rule="!has(self.subnets) || self.subnets.exists(s, s.role == self.topology)",message="subnets has none for nodes: add one whose role is the topology, or change topology"
// +kubebuilder:validation:XValidation:rule="!has(self.vpc) || !has(self.nat) && !has(self.natGateways)",message="the routes of an existing VPC are not changed: leave out nat and natGateways"
// +kubebuilder:validation:XValidation:rule="self.topology != 'Public' || !has(self.nat) || self.nat == 'None'",message="nodes in public subnets need no NAT: leave out nat, or set topology to Private"
// +kubebuilder:validation:XValidation:rule="!has(self.natGateways) || has(self.nat) && self.nat == 'Existing'",message="natGateways are for nat Existing: set it, or leave them out"
// +kubebuilder:validation:XValidation:rule="!has(self.nat) || self.nat != 'Existing' || !has(self.zones) || self.zones.all(z, has(self.natGateways) && z in self.natGateways)",message="nat is Existing, and a zone has no gateway: name one for every zone in natGateways"
// +kubebuilder:validation:XValidation:rule="!has(self.cidr) || !isCIDR(self.cidr) || !isCIDR(self.podCIDR) || !cidr(self.cidr).containsCIDR(self.podCIDR) && !cidr(self.podCIDR).containsCIDR(self.cidr)",message="podCIDR overlaps cidr: use another range for one of them"
// +kubebuilder:validation:XValidation:rule="!has(self.cidr) || !isCIDR(self.cidr) || !isCIDR(self.serviceCIDR) || !cidr(self.cidr).containsCIDR(self.serviceCIDR) && !cidr(self.serviceCIDR).containsCIDR(self.cidr)",message="serviceCIDR overlaps cidr: use another range for one of them"
// +kubebuilder:validation:XValidation:rule="!isCIDR(self.podCIDR) || !isCIDR(self.serviceCIDR) || !cidr(self.podCIDR).containsCIDR(self.serviceCIDR) && !cidr(self.serviceCIDR).containsCIDR(self.podCIDR)",message="serviceCIDR overlaps podCIDR: use another range for one of them"
type Network struct {
	// CIDR is the IPv4 range of a new VPC, /16 to /24. It cannot change.
	// +optional
	// +kubebuilder:validation:MaxLength=18
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && cidr(self).ip().family() == 4",message="write an IPv4 range, for example 10.0.0.0/16"
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || cidr(self).ip().family() != 4 || cidr(self).masked() == cidr(self)",message="the range has host bits set: write, for example, 10.0.0.0/16, not 10.0.0.1/16"
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || cidr(self).ip().family() != 4 || cidr(self).prefixLength() >= 16",message="the range is too big for a VPC: use a range of /16 to /24"
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || cidr(self).ip().family() != 4 || cidr(self).prefixLength() <= 24",message="the range is too small for the subnets of a VPC: use a range of /16 to /24"
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10'].exists(p, cidr(p).containsCIDR(self))",message="the range is not private: use one in 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 or 100.64.0.0/10"
	CIDR string `json:"cidr,omitempty"`

	// Zones are the availability zones of a new VPC, at most 8, each the region and a letter from a
	// to h. Each zone gets a subnet for nodes and, if that is private, a public subnet. The range
	// of a subnet follows from the letter, so zones can be added in place. They cannot be removed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, y == x))",message="names a zone twice: name each once"
	Zones []string `json:"zones,omitempty"`

	// VPC is the ID of an existing VPC to use. It cannot change.
	// +optional
	// +kubebuilder:validation:MaxLength=21
	// +kubebuilder:validation:XValidation:rule="self.matches('^vpc-([0-9a-f]{8}|[0-9a-f]{17})$')",message="write the ID of a VPC, for example vpc-0123456789abcdef0"
	VPC string `json:"vpc,omitempty"`

	// Subnets are the existing subnets to use, at most one of each role per zone.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(s, self.exists_one(t, t.id == s.id))",message="names a subnet twice: name each once"
	// +kubebuilder:validation:XValidation:rule="self.all(s, self.exists_one(t, t.zone == s.zone && t.role == s.role))",message="has two subnets of one role in a zone: name one; instance groups can name others in their spec.subnets"
	Subnets []Subnet `json:"subnets,omitempty"`

	// Topology is whether nodes run in Private (the default) or Public subnets. It cannot change.
	// +optional
	// +kubebuilder:default=Private
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="topology cannot change: create a new cluster"
	Topology Topology `json:"topology,omitempty"`

	// NAT is how private subnets of a new VPC reach the internet: PerZone, Single, Existing or
	// None. The default is Single, or None for nodes in public subnets. It changes in place. A
	// change that removes gateways requires the annotation cluster-operator.aws/allow: remove.
	// +optional
	NAT NAT `json:"nat,omitempty"`

	// NATGateways are the IDs of the gateways for nat Existing, by zone: NAT gateways (nat-…) or
	// transit gateways (tgw-…) that were created in the VPC, or attached to it, after the operator
	// made it with nat None.
	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MaxProperties=8
	// +kubebuilder:validation:XValidation:rule="self.all(z, self[z].startsWith('nat-') || self[z].startsWith('tgw-'))",message="write the IDs of NAT or transit gateways, for example nat-0123456789abcdef0"
	NATGateways map[string]string `json:"natGateways,omitempty"`

	// PodCIDR is the IPv4 range of pod addresses, /8 to /20. It cannot change.
	// +optional
	// +kubebuilder:default="100.64.0.0/13"
	// +kubebuilder:validation:MaxLength=18
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && cidr(self).ip().family() == 4",message="write an IPv4 range, for example 10.0.0.0/16"
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || cidr(self).ip().family() != 4 || cidr(self).masked() == cidr(self)",message="the range has host bits set: write, for example, 10.0.0.0/16, not 10.0.0.1/16"
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || cidr(self).ip().family() != 4 || cidr(self).prefixLength() >= 8",message="the range is too big for pods: use a range of /8 to /20"
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || cidr(self).ip().family() != 4 || cidr(self).prefixLength() <= 20",message="the range is too small for pods, of which every node takes a /24: use a range of /8 to /20"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="podCIDR cannot change: create a new cluster"
	PodCIDR string `json:"podCIDR,omitempty"`

	// ServiceCIDR is the IPv4 range of Service addresses, /12 to /24. It cannot change.
	// +optional
	// +kubebuilder:default="172.20.0.0/16"
	// +kubebuilder:validation:MaxLength=18
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && cidr(self).ip().family() == 4",message="write an IPv4 range, for example 10.0.0.0/16"
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || cidr(self).ip().family() != 4 || cidr(self).masked() == cidr(self)",message="the range has host bits set: write, for example, 10.0.0.0/16, not 10.0.0.1/16"
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || cidr(self).ip().family() != 4 || cidr(self).prefixLength() >= 12",message="the range is too big for services: use a range of /12 to /24"
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || cidr(self).ip().family() != 4 || cidr(self).prefixLength() <= 24",message="the range is too small for services: use a range of /12 to /24"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="serviceCIDR cannot change: create a new cluster"
	ServiceCIDR string `json:"serviceCIDR,omitempty"`

	// NodeLocalDNS runs a DNS cache on each node, which pods ask first: node-local-dns of Kubernetes,
	// at the address 169.254.20.10. If empty, pods ask CoreDNS. It requires a release with the
	// component node-cache. A change replaces all nodes.
	// +optional
	NodeLocalDNS *NodeLocalDNS `json:"nodeLocalDNS,omitempty"`
}

// DNSForward is what resolves the names outside of a cluster.
//
// +kubebuilder:validation:Enum=Resolver;CoreDNS
type DNSForward string

// What resolves the names outside of a cluster.
const (
	// ForwardToResolver asks the resolver of the node, which is that of the VPC unless its DHCP
	// options name another.
	ForwardToResolver DNSForward = "Resolver"
	// ForwardToCoreDNS asks CoreDNS.
	ForwardToCoreDNS DNSForward = "CoreDNS"
)

// NodeLocalDNS configures the DNS caches of nodes.
// https://kubernetes.io/docs/tasks/administer-cluster/nodelocaldns/
type NodeLocalDNS struct {
	// Forward is what resolves names outside of cluster.local: Resolver (the default), the resolver of
	// the node, or CoreDNS. Use CoreDNS if its ConfigMap has zones of yours. A change replaces all nodes.
	// +optional
	// +kubebuilder:default=Resolver
	Forward DNSForward `json:"forward,omitempty"`
}

// SubnetRole is the purpose of a subnet.
//
// +kubebuilder:validation:Enum=Public;Private
type SubnetRole string

// Roles of subnets.
const (
	// SubnetPublic is for internet-facing load balancers, bastions, and nodes of public clusters.
	SubnetPublic SubnetRole = "Public"
	// SubnetPrivate is for nodes and internal load balancers.
	SubnetPrivate SubnetRole = "Private"
)

// Subnet is an existing subnet.
type Subnet struct {
	// ID is the ID of the subnet.
	// +required
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:rule="self.matches('^subnet-([0-9a-f]{8}|[0-9a-f]{17})$')",message="write the ID of a subnet, for example subnet-0123456789abcdef0"
	ID string `json:"id"`

	// Zone is the availability zone of the subnet.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Zone string `json:"zone"`

	// Role is the purpose of the subnet. Public subnets are for internet-facing load balancers,
	// bastions, and nodes with topology Public. Private subnets are for nodes and internal load
	// balancers.
	// +required
	Role SubnetRole `json:"role"`
}

// APIAccess is where the load balancer of the API can be reached from.
//
// +kubebuilder:validation:Enum=Public;Internal
type APIAccess string

// Accesses.
const (
	// APIPublic makes an internet-facing load balancer.
	APIPublic APIAccess = "Public"
	// APIInternal makes a load balancer that is reachable only from the VPC and networks connected
	// to it.
	APIInternal APIAccess = "Internal"
)

// APIEndpoint configures access to the Kubernetes API.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.encryption) || has(self.encryption)",message="encryption cannot be removed, since API servers without it cannot read the Secrets in etcd that it encrypts: set it back, or create a new cluster without api.encryption, and move to it",fieldPath=".encryption"
type APIEndpoint struct {
	// Access is whether the load balancer of the API is internet-facing (Public, the default) or
	// internal to the VPC (Internal). It cannot change.
	// +optional
	// +kubebuilder:default=Public
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="api.access cannot change, since nodes reach the API under its load balancer's name: create a new cluster"
	Access APIAccess `json:"access,omitempty"`

	// AllowedCIDRs are the IPv4 ranges from which clients may reach the API, at most 50. If empty,
	// all may. A change takes effect in place.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=18
	// +kubebuilder:validation:XValidation:rule="self.all(c, isCIDR(c) && cidr(c).ip().family() == 4)",message="write IPv4 ranges, for example 192.0.2.0/24"
	// +kubebuilder:validation:XValidation:rule="self.all(c, !isCIDR(c) || cidr(c).masked() == cidr(c))",message="a range has host bits set: write, for example, 192.0.2.0/24, not 192.0.2.7/24"
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, y == x))",message="names a range twice: name each once"
	AllowedCIDRs []string `json:"allowedCIDRs,omitempty"`

	// SecurityGroups are the IDs of existing security groups to attach to the load balancer in
	// addition to the cluster's. At most 4. A change takes effect in place.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, y == x))",message="names a security group twice: name each once"
	// +kubebuilder:validation:XValidation:rule="self.all(g, g.matches('^sg-([0-9a-f]{8}|[0-9a-f]{17})$'))",message="write the IDs of security groups, for example sg-0123456789abcdef0"
	SecurityGroups []string `json:"securityGroups,omitempty"`

	// ExtraNames are further DNS names or addresses in the API server's certificate, at most 32. A
	// change replaces the control plane's nodes one at a time.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, y == x))",message="has a name twice: list each once"
	// +kubebuilder:validation:XValidation:rule="self.all(n, isIP(n) || n.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?[.])*[a-z0-9]([-a-z0-9]*[a-z0-9])?$'))",message="write DNS names in lower case, or addresses"
	ExtraNames []string `json:"extraNames,omitempty"`

	// Audit configures the audit log of the API servers. Without it, there is none. A change
	// replaces the control plane's nodes one at a time.
	// +optional
	Audit *Audit `json:"audit,omitempty"`

	// Encryption encrypts Secrets, or other resources, in etcd with a key of AWS KMS. Without it,
	// only etcd's volumes, their snapshots and backups are encrypted, as wholes. Adding it to an
	// existing cluster replaces the control plane's nodes twice, one at a time, and then writes each
	// object of the resources again; that requires an operator that manages the cluster. It cannot be
	// removed, and its fields cannot change.
	// +optional
	Encryption *Encryption `json:"encryption,omitempty"`

	// Authentication lets users log in with tokens of OpenID Connect providers. It has the field jwt
	// of an AuthenticationConfiguration:
	// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#using-authentication-configuration.
	// A change replaces the control plane's nodes one at a time.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Authentication *runtime.RawExtension `json:"authentication,omitempty"`

	// PodSecurity configures the Pod Security Standards of namespaces without labels of their own.
	// Without it, these namespaces allow all pods. A change replaces the control plane's nodes one
	// at a time.
	// +optional
	PodSecurity *PodSecurity `json:"podSecurity,omitempty"`
}

// DNS is a name for the API in a public hosted zone.
type DNS struct {
	// HostedZoneID is the ID of the hosted zone.
	// +required
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^Z[A-Z0-9]+$')",message="write the ID of a hosted zone, for example Z0123456789ABCDEFGHIJ"
	HostedZoneID string `json:"hostedZoneID"`

	// Name is the DNS name of the API in the zone, for example api.demo.example.com. A change
	// replaces the control plane's nodes one at a time.
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?[.])+[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="write a DNS name, for example api.demo.example.com"
	Name string `json:"name"`
}

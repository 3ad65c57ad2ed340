package firewall

import "net/netip"

// Network is a VPC.
type Network struct {
	// ID is the ID of the VPC.
	ID string
	// Ranges are its IPv4 ranges.
	Ranges []netip.Prefix
	// Subnets are its subnets.
	Subnets []Subnet
	// Interfaces are the network interfaces in it.
	Interfaces []Interface
	// Groups are its security groups.
	Groups []Group
}

// Subnet is a subnet with the network ACL and the routes that apply to it.
type Subnet struct {
	ID     string
	Range  netip.Prefix
	ACL    []Entry
	Routes []Route
}

// Entry is a rule of a network ACL.
type Entry struct {
	Number  int
	Egress  bool
	Allow   bool
	Traffic Traffic
	Peer    netip.Prefix
}

// Route is a route to ranges outside of the VPC.
type Route struct {
	To  []netip.Prefix
	Via Via
	// Source is the public address that a NAT gateway gives to packets.
	Source netip.Addr
}

// Via is the kind of a route's target.
type Via int

// The kinds of targets. Blackhole is a target that does not exist or cannot carry packets.
const (
	Blackhole Via = iota
	InternetGateway
	NATGateway
	GatewayEndpoint
)

// Interface is a network interface.
type Interface struct {
	// ID is the interface's ID, Instance the one of the instance to which it is attached.
	ID, Instance string
	// Addresses are its private addresses, the primary one first.
	Addresses []netip.Addr
	// Public is the public address of the primary one, if any.
	Public netip.Addr
	// Groups are the IDs of its security groups.
	Groups []string
	// Unfiltered says that no security groups apply, as for NAT gateways and for network load
	// balancers that were created without one.
	Unfiltered bool
	// SourceDestCheck drops packets that the interface neither sends nor receives for itself.
	SourceDestCheck bool
}

// Group is a security group.
type Group struct {
	ID    string
	Rules []Rule
}

// Rule allows traffic from or to a peer: ranges, or the interfaces of a group.
type Rule struct {
	Egress  bool
	Traffic Traffic
	Ranges  []netip.Prefix
	Group   string
}

// The protocol numbers of IANA that have ports or types.
const (
	AnyProtocol = -1
	ICMP        = 1
	TCP         = 6
	UDP         = 17
)

// Traffic is a protocol with its destination ports.
type Traffic struct {
	// Protocol is the IP protocol's number, or AnyProtocol.
	Protocol int
	// First and Last are the destination ports of TCP and UDP. For ICMP they are the type and the
	// code, -1 for all.
	First, Last int
}

// Matches reports whether a packet is such traffic.
func (t Traffic) Matches(p Packet) bool {
	switch {
	case t.Protocol == AnyProtocol:
		return true
	case t.Protocol != p.Protocol:
		return false
	case t.Protocol == TCP || t.Protocol == UDP:
		return t.First <= p.Port && p.Port <= t.Last
	case t.Protocol == ICMP:
		return (t.First == -1 || t.First == p.Type) && (t.Last == -1 || t.Last == p.Code)
	}
	return true
}

// Packet is an IPv4 packet.
type Packet struct {
	From, To netip.Addr
	Protocol int
	// Port is the destination port of TCP and UDP.
	Port int
	// Type and Code are those of ICMP.
	Type, Code int
	// Established says that the packet belongs to a tracked connection: a response, or what follows
	// after one.
	Established bool
}

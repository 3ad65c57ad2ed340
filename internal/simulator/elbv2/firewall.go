package elbv2

import (
	"errors"
	"net"
	"net/netip"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/firewall"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
)

// The connections of load balancers are not packets of their interfaces, because the simulator opens
// them inside the targets' machines. So the rules of the VPC are evaluated here: those that the kernel
// applies to packets between machines.

// errNoResponse says that packets to a target are dropped.
var errNoResponse = errors.New("the VPC carries no packets from the load balancer to the target")

// source is the client of a connection.
type source struct {
	// address is the client's private address in the load balancer's VPC. It is invalid for programs on
	// the simulator's host, which count as having an address of every range.
	address netip.Addr
}

// passage decides which connections pass through one listener.
type passage struct {
	s    *Service
	r    *region
	b    *balancer
	port int
}

func (s *Service) passage(r *region, b *balancer, port int) passage {
	return passage{s: s, r: r, b: b, port: port}
}

// network returns the VPC of the load balancer, or nil if its packets are not filtered.
func (s *Service) network(vpcID string) *firewall.Network {
	host, ok := s.options.Host.(machine.Filtering)
	if !ok || !host.FiltersPackets() {
		return nil
	}
	n, _ := s.options.Networks.Firewall(vpcID)
	return n
}

// source returns the client of a connection.
func (p passage) source(client net.Conn) source {
	if c, ok := client.(machine.Client); ok && c.InstanceID() != "" {
		if i := p.s.options.Networks.Interfaces(p.r.Account, p.r.Region, c.InstanceID()); len(i) > 0 {
			return source{address: i[0].PrivateIP}
		}
	}
	from, err := netip.ParseAddrPort(client.RemoteAddr().String())
	if err != nil || from.Addr().IsLoopback() {
		return source{}
	}
	return source{address: from.Addr()}
}

// nodes returns the interfaces of a load balancer.
func nodes(n *firewall.Network, r *region, b *balancer) []firewall.Interface {
	r.mu.Lock()
	zones := slices.Clone(b.zones)
	r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(n.Interfaces), func(i firewall.Interface) bool {
		return !slices.ContainsFunc(zones, func(z zone) bool { return z.interfaceID == i.ID })
	})
}

// admits reports whether the client's packets reach the load balancer: its subnet and its security
// groups let them out, and the load balancer's security groups let them in. Those see the private
// address of a client of an internal load balancer. To an internet-facing one, packets come from the
// client's public address or from that of its NAT gateway.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/network/load-balancer-security-groups.html
func (p passage) admits(from source) bool {
	n := p.s.network(p.b.vpcID)
	if n == nil {
		return true
	}
	rules := firewall.Compile(n)
	return slices.ContainsFunc(nodes(n, p.r, p.b), func(node firewall.Interface) bool {
		inside := node.Addresses[0]
		switch {
		case !from.address.IsValid():
			return admitsAnyRange(n, node, p.port)
		case p.b.scheme != types.LoadBalancerSchemeEnumInternetFacing:
			return rules.Allows(p.packet(from.address, inside))
		}
		public := n.PublicSource(from.address, node.Public)
		return public.IsValid() && rules.Allows(p.packet(from.address, node.Public)) && rules.Allows(p.packet(public, inside))
	})
}

func (p passage) packet(from, to netip.Addr) firewall.Packet {
	return firewall.Packet{From: from, To: to, Protocol: firewall.TCP, Port: p.port}
}

// admitsAnyRange reports whether any range of addresses may open connections to a port of an
// interface.
func admitsAnyRange(n *firewall.Network, to firewall.Interface, port int) bool {
	if to.Unfiltered {
		return true
	}
	packet := firewall.Packet{Protocol: firewall.TCP, Port: port}
	return slices.ContainsFunc(n.Groups, func(g firewall.Group) bool {
		return slices.Contains(to.Groups, g.ID) && slices.ContainsFunc(g.Rules, func(x firewall.Rule) bool {
			return !x.Egress && x.Group == "" && x.Traffic.Matches(packet)
		})
	})
}

// reaches reports whether the load balancer can open a connection to a target for a client. If it
// preserves the client's address, a target cannot reach itself.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/network/load-balancer-troubleshooting.html
func (p passage) reaches(t *target, from source) bool {
	n := p.s.network(p.b.vpcID)
	if n == nil {
		return true
	}
	to, ok := address(n, t)
	if !ok {
		return false
	}
	packet := firewall.Packet{To: to.Addresses[0], Protocol: firewall.TCP, Port: int(t.port)}
	all := nodes(n, p.r, p.b)
	switch {
	case !p.preserves(t):
		return fromAny(n, all, packet)
	case from.address == packet.To:
		return false
	case !from.address.IsValid():
		packet.From = unknownClient
		return admitsAnyRange(n, to, packet.Port) || fromAny(n, disguised(n, all, packet.From), packet)
	}
	packet.From = from.address
	if p.b.scheme == types.LoadBalancerSchemeEnumInternetFacing && len(all) > 0 {
		packet.From = n.PublicSource(from.address, all[0].Public)
	}
	return fromAny(n, disguised(n, all, packet.From), packet)
}

// unknownClient is the address of programs on the host. It is reserved for documentation.
var unknownClient = netip.MustParseAddr("203.0.113.2")

// disguised gives the address of a client to the interfaces of a load balancer, whose security groups
// still apply to the packets.
func disguised(n *firewall.Network, all []firewall.Interface, client netip.Addr) []firewall.Interface {
	n.Interfaces = slices.DeleteFunc(slices.Clone(n.Interfaces), func(i firewall.Interface) bool {
		return slices.Contains(i.Addresses, client)
	})
	var list []firewall.Interface
	for _, node := range all {
		node.Addresses = []netip.Addr{client}
		list = append(list, node)
	}
	n.Interfaces = append(n.Interfaces, list...)
	return list
}

// preserves reports whether targets see the addresses of clients. A rule that refers to the load
// balancer's security group allows them, too.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/network/edit-target-group-attributes.html
func (p passage) preserves(t *target) bool {
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	return t.group.attributes["preserve_client_ip.enabled"] == "true"
}

// checked reports whether the health checks of a target reach it from one of the load balancers that
// use its group. They come from the private addresses of the load balancer and are subject to the
// outbound rules of its security groups.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/network/load-balancer-security-groups.html
func (s *Service) checked(users []*balancer, t *target, port int) bool {
	n := s.network(t.group.vpcID)
	if n == nil {
		return true
	}
	to, ok := address(n, t)
	return ok && slices.ContainsFunc(users, func(b *balancer) bool {
		return fromAny(n, nodes(n, t.group.region, b), firewall.Packet{To: to.Addresses[0], Protocol: firewall.TCP, Port: port})
	})
}

// fromAny reports whether a packet reaches its destination from one of the interfaces.
func fromAny(n *firewall.Network, all []firewall.Interface, packet firewall.Packet) bool {
	rules := firewall.Compile(n)
	return slices.ContainsFunc(all, func(node firewall.Interface) bool {
		packet.From = node.Addresses[0]
		return rules.Allows(packet)
	})
}

// address returns the interface of a target.
func address(n *firewall.Network, t *target) (firewall.Interface, bool) {
	if a, err := netip.ParseAddr(t.id); err == nil {
		return n.InterfaceAt(a)
	}
	i := slices.IndexFunc(n.Interfaces, func(i firewall.Interface) bool { return i.Instance == t.machine })
	if i < 0 {
		return firewall.Interface{}, false
	}
	return n.Interfaces[i], true
}

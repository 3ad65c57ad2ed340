package vpc

import (
	"net/netip"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/firewall"
)

// Firewall returns what determines which packets a VPC carries. It reports false if there is no such
// VPC.
func (s *Service) Firewall(vpcID string) (*firewall.Network, bool) {
	for _, r := range s.regions.All() {
		r.mu.Lock()
		v, ok := r.vpcs.byID[vpcID]
		if !ok {
			r.mu.Unlock()
			continue
		}
		n := r.firewall(v)
		r.mu.Unlock()
		return n, true
	}
	return nil, false
}

// Watch calls fn after each operation that may have changed what [Service.Firewall] returns, with no
// lock held. Operations wait for fn.
func (s *Service) Watch(fn func()) {
	s.watchMu.Lock()
	defer s.watchMu.Unlock()
	s.watchers = append(s.watchers, fn)
}

func (s *Service) notify() {
	s.watchMu.Lock()
	watchers := slices.Clone(s.watchers)
	s.watchMu.Unlock()
	for _, fn := range watchers {
		fn()
	}
}

func (r *region) firewall(v *vpc) *firewall.Network {
	n := &firewall.Network{ID: v.id, Ranges: v.ranges()}
	for _, s := range r.subnets.sorted() {
		if s.vpc == v {
			n.Subnets = append(n.Subnets, firewall.Subnet{
				ID: s.id, Range: s.cidr, ACL: s.acl.firewall(), Routes: r.routesOfSubnet(s),
			})
		}
	}
	for _, i := range r.interfaces.sorted() {
		if i.subnet.vpc == v {
			n.Interfaces = append(n.Interfaces, i.firewall())
		}
	}
	for _, g := range r.groups.sorted() {
		if g.vpc == v {
			n.Groups = append(n.Groups, r.groupRules(g))
		}
	}
	return n
}

func (i *networkInterface) firewall() firewall.Interface {
	f := firewall.Interface{
		ID: i.id, Addresses: append([]netip.Addr{i.primary}, i.secondary...), Public: i.mapped(), Groups: slices.Clone(i.groups),
		Unfiltered: !hasGroups(i.kind, i.groups), SourceDestCheck: i.sourceDestCheck,
	}
	if i.attachment != nil {
		f.Instance = i.attachment.InstanceID
	}
	return f
}

// hasGroups reports whether security groups apply to an interface of a kind. NAT gateways never have
// one, and network load balancers only if they were created with one.
// https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-basics.html
// https://docs.aws.amazon.com/elasticloadbalancing/latest/network/load-balancer-security-groups.html
func hasGroups(kind types.NetworkInterfaceType, groups []string) bool {
	switch kind {
	case types.NetworkInterfaceTypeNatGateway, types.NetworkInterfaceTypeNetworkLoadBalancer:
		return len(groups) > 0
	default:
		return true
	}
}

func (r *region) groupRules(g *group) firewall.Group {
	f := firewall.Group{ID: g.id}
	for i := range g.rules {
		x := &g.rules[i]
		rule := firewall.Rule{Egress: x.egress, Traffic: traffic(x.protocol, x.from, x.to)}
		switch x.peerKind() {
		case peerGroup:
			rule.Group = x.peer
		case peerList:
			rule.Ranges = r.rangesOfList(x.peer)
		case peerIPv4:
			rule.Ranges = []netip.Prefix{netip.MustParsePrefix(x.peer)} // it was parsed when the rule was added
		default:
			continue // machines have no IPv6 addresses
		}
		f.Rules = append(f.Rules, rule)
	}
	return f
}

// traffic converts EC2's form of a protocol and its ports.
func traffic(protocol string, from, to *int32) firewall.Traffic {
	numbers := map[string]int{anyProtocol: firewall.AnyProtocol, "tcp": firewall.TCP, "udp": firewall.UDP, "icmp": firewall.ICMP, "icmpv6": 58}
	number, ok := numbers[protocol]
	if !ok {
		number, _ = strconv.Atoi(protocol) // it was parsed when the rule was added
	}
	return firewall.Traffic{Protocol: number, First: int(aws.ToInt32(from)), Last: int(aws.ToInt32(to))}
}

func (r *region) rangesOfList(id string) []netip.Prefix {
	ranges := []netip.Prefix{}
	for _, l := range r.prefixLists() {
		if *l.PrefixListId == id {
			for _, cidr := range l.Cidrs {
				ranges = append(ranges, netip.MustParsePrefix(cidr))
			}
		}
	}
	return ranges
}

// tableOf returns the route table of a subnet: its own, or the VPC's main one.
// https://docs.aws.amazon.com/vpc/latest/userguide/VPC_Route_Tables.html
func tableOf(n *subnet) *routeTable {
	var main *routeTable
	for _, t := range n.vpc.tables {
		if slices.ContainsFunc(t.associations, func(a association) bool { return a.subnet == n }) {
			return t
		}
		if t.isMain() {
			main = t
		}
	}
	return main
}

func (r *region) routesOfSubnet(n *subnet) []firewall.Route {
	t := tableOf(n)
	if t == nil {
		return nil
	}
	var list []firewall.Route
	for i := range t.routes {
		x := &t.routes[i]
		f := firewall.Route{}
		if ranges := r.rangesOfList(x.destination); len(ranges) > 0 {
			f.To = ranges
		} else if p, err := netip.ParsePrefix(x.destination); err == nil && p.Addr().Is4() {
			f.To = []netip.Prefix{p}
		} else {
			continue
		}
		f.Via, f.Source = r.via(x)
		list = append(list, f)
	}
	return list
}

// via returns through what a route carries packets out of the VPC. A NAT gateway in a subnet without
// a route to an internet gateway carries none:
// https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-troubleshooting.html
func (r *region) via(x *route) (firewall.Via, netip.Addr) {
	switch {
	case x.state(r) != types.RouteStateActive:
	case x.byEndpoint:
		return firewall.GatewayEndpoint, netip.Addr{}
	case x.gateway != "":
		return firewall.InternetGateway, netip.Addr{}
	case x.nat != "":
		n := r.nats.byID[x.nat]
		if r.natState(n) == types.NatGatewayStateAvailable && n.networkInterface != nil && r.leadsOut(n.subnet) {
			return firewall.NATGateway, n.networkInterface.mapped()
		}
	}
	return firewall.Blackhole, netip.Addr{}
}

// leadsOut reports whether a subnet has a default route to an internet gateway.
func (r *region) leadsOut(n *subnet) bool {
	t := tableOf(n)
	return t != nil && slices.ContainsFunc(t.routes, func(x route) bool {
		return x.destination == "0.0.0.0/0" && x.gateway != "" && !x.byEndpoint && x.state(r) == types.RouteStateActive
	})
}

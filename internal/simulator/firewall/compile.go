package firewall

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// everything is the range of all addresses.
var everything = netip.MustParsePrefix("0.0.0.0/0")

// Compile returns the rules of a network. They are the same for the same network.
func Compile(n *Network) *Ruleset {
	c := &compiler{Network: n, members: map[string][]netip.Prefix{}, groups: map[string]*Group{}}
	for i := range n.Groups {
		c.groups[n.Groups[i].ID] = &n.Groups[i]
	}
	for i := range n.Interfaces {
		for _, id := range n.Interfaces[i].Groups {
			c.members[id] = append(c.members[id], hosts(n.Interfaces[i].Addresses)...)
		}
	}
	main := c.chain("main")
	c.sources(main)
	c.acls(main)
	shared := c.shared()
	for i, s := range shared {
		c.jump(main, Step{From: s.addresses}, c.sender(fmt.Sprintf("out%d", i), s.groups))
	}
	c.routes(main)
	for i, s := range shared {
		c.jump(main, Step{To: s.addresses}, c.receiver(fmt.Sprintf("in%d", i), s.groups))
	}
	c.destinations(main)
	rules := &Ruleset{}
	for _, chain := range c.chains {
		rules.Chains = append(rules.Chains, *chain)
	}
	return rules
}

type compiler struct {
	*Network

	chains  []*Chain
	members map[string][]netip.Prefix // the addresses of a group's interfaces
	groups  map[string]*Group
}

func (c *compiler) chain(name string, steps ...Step) *Chain {
	made := &Chain{Name: name, Steps: steps}
	c.chains = append(c.chains, made)
	return made
}

func (c *compiler) jump(from *Chain, s Step, to *Chain) {
	s.Action, s.Target = Jump, to.Name
	from.Steps = append(from.Steps, s)
}

func host(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }

func hosts(addresses []netip.Addr) []netip.Prefix {
	list := make([]netip.Prefix, 0, len(addresses))
	for _, a := range addresses {
		list = append(list, host(a))
	}
	return list
}

func (c *compiler) addresses() []netip.Prefix {
	list := []netip.Prefix{}
	for i := range c.Interfaces {
		list = append(list, hosts(c.Interfaces[i].Addresses)...)
	}
	return list
}

// sources drops packets from addresses of the VPC that no interface has.
func (c *compiler) sources(main *Chain) {
	c.jump(main, Step{From: c.Ranges}, c.chain("sources",
		Step{From: c.addresses(), Action: Return},
		Step{Action: Drop},
	))
}

// destinations drops packets to addresses of the VPC that no interface has.
func (c *compiler) destinations(main *Chain) {
	main.Steps = append(main.Steps,
		Step{To: c.addresses(), Action: Accept},
		Step{To: c.Ranges, Action: Drop},
		Step{Action: Accept},
	)
}

// acls adds the network ACLs of subnets, in both directions.
func (c *compiler) acls(main *Chain) {
	for i := range c.Subnets {
		s := &c.Subnets[i]
		within := []netip.Prefix{s.Range}
		if !open(s.ACL, true) {
			chain := c.chain(fmt.Sprintf("acl-out%d", i), Step{To: within, Action: Return})
			c.jump(main, Step{From: within}, chain)
			for _, e := range ordered(s.ACL, true) {
				chain.Steps = append(chain.Steps, Step{To: []netip.Prefix{e.Peer}, Traffic: traffic(e.Traffic), Action: verdict(e.Allow)})
			}
			chain.Steps = append(chain.Steps, Step{Action: Drop})
		}
		if !open(s.ACL, false) {
			chain := c.chain(fmt.Sprintf("acl-in%d", i), Step{From: within, Action: Return})
			c.jump(main, Step{To: within}, chain)
			for _, e := range ordered(s.ACL, false) {
				chain.Steps = append(chain.Steps, Step{From: []netip.Prefix{e.Peer}, Traffic: traffic(e.Traffic), Action: verdict(e.Allow)})
			}
			chain.Steps = append(chain.Steps, Step{Action: Drop})
		}
	}
}

func ordered(acl []Entry, egress bool) []Entry {
	list := slices.DeleteFunc(slices.Clone(acl), func(e Entry) bool { return e.Egress != egress })
	slices.SortFunc(list, func(a, b Entry) int { return cmp.Compare(a.Number, b.Number) })
	return list
}

// open reports whether a direction allows everything, as in a default network ACL.
func open(acl []Entry, egress bool) bool {
	list := ordered(acl, egress)
	return len(list) > 0 && list[0].Allow && list[0].Peer == everything && list[0].Traffic.Protocol == AnyProtocol
}

func verdict(allow bool) Action {
	if allow {
		return Return
	}
	return Drop
}

func traffic(t Traffic) *Traffic {
	if t.Protocol == AnyProtocol {
		return nil
	}
	return &t
}

// share is a set of security groups, and the addresses of the interfaces that have it.
type share struct {
	groups    []string
	addresses []netip.Prefix
}

func (c *compiler) shared() []share {
	byGroups := map[string]*share{}
	for i := range c.Interfaces {
		e := &c.Interfaces[i]
		if e.Unfiltered {
			continue
		}
		groups := slices.Sorted(slices.Values(e.Groups))
		key := strings.Join(groups, "+")
		s, ok := byGroups[key]
		if !ok {
			s = &share{groups: groups}
			byGroups[key] = s
		}
		s.addresses = append(s.addresses, hosts(e.Addresses)...)
	}
	var list []share
	for _, key := range slices.Sorted(maps.Keys(byGroups)) {
		list = append(list, *byGroups[key])
	}
	return list
}

// sender is the chain for packets that interfaces with these groups send.
func (c *compiler) sender(name string, groups []string) *Chain {
	return c.side(name, groups, Sender)
}

// receiver is the chain for packets that they receive.
func (c *compiler) receiver(name string, groups []string) *Chain {
	return c.side(name, groups, Receiver)
}

func (c *compiler) side(name string, groups []string, side Side) *Chain {
	chain := c.chain(name, Step{Tracked: side, Action: Return})
	for _, x := range c.rules(groups, side == Sender) {
		s := Step{Traffic: traffic(x.Traffic), Action: Return}
		peers := c.peers(x)
		if x.Group == "" && slices.Contains(peers, everything) {
			peers = nil
			if c.answersAnyone(groups, x, side) {
				s.Untrack = side
			}
		}
		if side == Sender {
			s.To = peers
		} else {
			s.From = peers
		}
		chain.Steps = append(chain.Steps, s)
	}
	chain.Steps = append(chain.Steps, Step{Action: Drop})
	return chain
}

func (c *compiler) rules(groups []string, egress bool) []Rule {
	var list []Rule
	for _, id := range groups {
		g, ok := c.groups[id]
		if !ok {
			continue
		}
		for _, x := range g.Rules {
			if x.Egress == egress {
				list = append(list, x)
			}
		}
	}
	return list
}

// peers are the addresses to which a rule refers. A group stands for the private addresses of its
// interfaces:
// https://docs.aws.amazon.com/vpc/latest/userguide/security-group-rules.html#security-group-referencing
func (c *compiler) peers(x Rule) []netip.Prefix {
	if x.Group == "" {
		return x.Ranges
	}
	return append([]netip.Prefix{}, c.members[x.Group]...)
}

// answersAnyone reports whether a connection that a rule allows is not tracked: the rule allows TCP
// or UDP with any address, and another one allows all responses.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/security-group-connection-tracking.html#untracked-connections
func (c *compiler) answersAnyone(groups []string, allowed Rule, side Side) bool {
	if p := allowed.Traffic.Protocol; p != TCP && p != UDP && p != AnyProtocol {
		return false
	}
	return slices.ContainsFunc(c.rules(groups, side != Sender), func(x Rule) bool {
		all := x.Traffic.Protocol == AnyProtocol ||
			x.Traffic.Protocol == allowed.Traffic.Protocol && x.Traffic.First == 0 && x.Traffic.Last == 65535
		return all && x.Group == "" && slices.Contains(x.Ranges, everything)
	})
}

// routes adds what the route tables say about packets that leave the VPC.
func (c *compiler) routes(main *Chain) {
	for i := range c.Subnets {
		s := &c.Subnets[i]
		chain := c.chain(fmt.Sprintf("routes%d", i), Step{To: c.Ranges, Action: Return})
		for _, r := range s.specificFirst() {
			to := []netip.Prefix{r.to}
			switch r.via {
			case InternetGateway:
				chain.Steps = append(chain.Steps, Step{From: c.public(s.Range), To: to, Action: Return}, Step{To: to, Action: Drop})
			case NATGateway, GatewayEndpoint:
				chain.Steps = append(chain.Steps, Step{To: to, Action: Return})
			default:
				chain.Steps = append(chain.Steps, Step{To: to, Action: Drop})
			}
		}
		chain.Steps = append(chain.Steps, Step{Action: Drop})
		c.jump(main, Step{From: []netip.Prefix{s.Range}}, chain)
	}
}

// public returns the primary addresses in a range to which public ones are mapped.
func (c *compiler) public(within netip.Prefix) []netip.Prefix {
	list := []netip.Prefix{}
	for i := range c.Interfaces {
		e := &c.Interfaces[i]
		if e.Public.IsValid() && len(e.Addresses) > 0 && within.Contains(e.Addresses[0]) {
			list = append(list, host(e.Addresses[0]))
		}
	}
	return list
}

// hop is one range of a route.
type hop struct {
	to     netip.Prefix
	via    Via
	source netip.Addr
}

// specificFirst returns the routes in the order in which they are considered.
func (s *Subnet) specificFirst() []hop {
	var list []hop
	for _, r := range s.Routes {
		for _, to := range r.To {
			list = append(list, hop{to: to, via: r.Via, source: r.Source})
		}
	}
	slices.SortStableFunc(list, func(a, b hop) int {
		return cmp.Or(cmp.Compare(b.to.Bits(), a.to.Bits()), a.to.Addr().Compare(b.to.Addr()))
	})
	return list
}

// PublicSource returns the address that a destination outside of the VPC sees as the source of
// packets from a private address: its public address, or the one of a NAT gateway. It is invalid if
// no route carries them there.
func (n *Network) PublicSource(from, to netip.Addr) netip.Addr {
	for i := range n.Subnets {
		if !n.Subnets[i].Range.Contains(from) {
			continue
		}
		for _, h := range n.Subnets[i].specificFirst() {
			if !h.to.Contains(to) {
				continue
			}
			if h.via == NATGateway {
				return h.source
			}
			if e, ok := n.InterfaceAt(from); ok && h.via == InternetGateway {
				return e.Public
			}
			return netip.Addr{}
		}
	}
	return netip.Addr{}
}

// InterfaceAt returns the interface that has a private address.
func (n *Network) InterfaceAt(a netip.Addr) (Interface, bool) {
	i := slices.IndexFunc(n.Interfaces, func(e Interface) bool { return slices.Contains(e.Addresses, a) })
	if i < 0 {
		return Interface{}, false
	}
	return n.Interfaces[i], true
}

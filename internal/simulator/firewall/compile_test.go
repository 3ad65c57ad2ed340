package firewall

import (
	"net/netip"
	"testing"
)

func ip(text string) netip.Addr { return netip.MustParseAddr(text) }

func cidrs(texts ...string) []netip.Prefix {
	var list []netip.Prefix
	for _, text := range texts {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}

func tcp(first, last int) Traffic { return Traffic{Protocol: TCP, First: first, Last: last} }

var (
	all     = Traffic{Protocol: AnyProtocol}
	outward = Rule{Egress: true, Traffic: all, Ranges: cidrs("0.0.0.0/0")}
)

// network has a server and a client in one subnet, a client in another one, and a balancer without
// security groups.
func network(server ...Rule) *Network {
	open := []Entry{
		{Number: 100, Allow: true, Traffic: all, Peer: netip.MustParsePrefix("0.0.0.0/0")},
		{Number: 100, Egress: true, Allow: true, Traffic: all, Peer: netip.MustParsePrefix("0.0.0.0/0")},
	}
	return &Network{
		Ranges: cidrs("10.0.0.0/16"),
		Subnets: []Subnet{
			{ID: "a", Range: netip.MustParsePrefix("10.0.1.0/24"), ACL: open},
			{ID: "b", Range: netip.MustParsePrefix("10.0.2.0/24"), ACL: open},
		},
		Interfaces: []Interface{
			{ID: "server", Addresses: []netip.Addr{ip("10.0.1.4")}, Groups: []string{"servers"}, SourceDestCheck: true},
			{ID: "near", Addresses: []netip.Addr{ip("10.0.1.5")}, Groups: []string{"clients"}, Public: ip("198.18.0.5")},
			{ID: "far", Addresses: []netip.Addr{ip("10.0.2.5")}, Groups: []string{"clients", "more"}},
			{ID: "nlb", Addresses: []netip.Addr{ip("10.0.2.9")}, Unfiltered: true},
		},
		Groups: []Group{
			{ID: "servers", Rules: append(server, outward)}, {ID: "clients", Rules: []Rule{outward}},
			{ID: "more", Rules: []Rule{{Traffic: Traffic{Protocol: ICMP, First: 8, Last: -1}, Ranges: cidrs("10.0.0.0/16")}}},
		},
	}
}

const near, far, server, nlb = "10.0.1.5", "10.0.2.5", "10.0.1.4", "10.0.2.9"

func to443(from, to string) Packet {
	return Packet{From: ip(from), To: ip(to), Protocol: TCP, Port: 443}
}

func established(p Packet) Packet {
	p.Established = true
	return p
}

func TestSecurityGroups(t *testing.T) {
	fromClients := Rule{Traffic: tcp(443, 443), Group: "clients"}
	for name, c := range map[string]struct {
		rules  []Rule
		packet Packet
		want   bool
	}{
		"no rule, in the same subnet":          {nil, to443(near, server), false},
		"no rule, an established connection":   {nil, established(to443(near, server)), true},
		"a group allows its members":           {[]Rule{fromClients}, to443(near, server), true},
		"a group, from another subnet":         {[]Rule{fromClients}, to443(far, server), true},
		"a group does not allow others":        {[]Rule{fromClients}, to443(nlb, server), false},
		"a rule does not allow other ports":    {[]Rule{{Traffic: tcp(80, 442), Group: "clients"}}, to443(near, server), false},
		"a rule allows its last port":          {[]Rule{{Traffic: tcp(80, 443), Group: "clients"}}, to443(near, server), true},
		"a rule does not allow other protocol": {[]Rule{{Traffic: Traffic{Protocol: UDP, Last: 65535}, Group: "clients"}}, to443(near, server), false},
		"a range allows its addresses":         {[]Rule{{Traffic: all, Ranges: cidrs("10.0.2.0/24")}}, to443(nlb, server), true},
		"a range does not allow others":        {[]Rule{{Traffic: all, Ranges: cidrs("10.0.2.0/24")}}, to443(near, server), false},
		"an empty prefix list allows nothing":  {[]Rule{{Traffic: all, Ranges: []netip.Prefix{}}}, to443(near, server), false},
		"a group without members":              {[]Rule{{Traffic: all, Group: "none"}}, to443(near, server), false},
		"any of several groups allows": {
			nil, Packet{From: ip(server), To: ip(far), Protocol: ICMP, Type: 8}, true,
		},
		"another ICMP type":                       {nil, Packet{From: ip(server), To: ip(far), Protocol: ICMP, Type: 13}, false},
		"an address of the VPC without interface": {[]Rule{{Traffic: all, Ranges: cidrs("0.0.0.0/0")}}, to443("10.0.1.77", server), false},
		"to an address without interface":         {nil, to443(near, "10.0.1.77"), false},
		"no security group applies":               {nil, to443(near, nlb), true},
	} {
		if got := Compile(network(c.rules...)).Allows(c.packet); got != c.want {
			t.Errorf("%s: allowed is %t, want %t", name, got, c.want)
		}
	}
}

func TestOutboundRulesLimitTheSender(t *testing.T) {
	n := network(Rule{Traffic: all, Ranges: cidrs("0.0.0.0/0")})
	n.Groups[1].Rules = nil
	if Compile(n).Allows(to443(near, server)) {
		t.Error("a sender without outbound rules sends")
	}
	if !Compile(n).Allows(established(to443(near, server))) {
		t.Error("a sender without outbound rules does not respond")
	}
}

func TestNetworkACLs(t *testing.T) {
	anywhere := netip.MustParsePrefix("0.0.0.0/0")
	allow := Entry{Number: 200, Allow: true, Traffic: all, Peer: anywhere}
	for name, c := range map[string]struct {
		entries []Entry
		packet  Packet
		want    bool
	}{
		"it does not apply within the subnet":        {nil, to443(near, server), true},
		"it denies what no entry matches":            {nil, to443(far, server), false},
		"it is stateless":                            {nil, established(to443(far, server)), false},
		"an entry allows":                            {[]Entry{allow}, to443(far, server), true},
		"the lower number decides":                   {[]Entry{allow, {Number: 100, Traffic: tcp(443, 443), Peer: anywhere}}, to443(far, server), false},
		"the higher number does not":                 {[]Entry{allow, {Number: 300, Traffic: tcp(443, 443), Peer: anywhere}}, to443(far, server), true},
		"an entry for another range does not":        {[]Entry{allow, {Number: 1, Traffic: all, Peer: cidrs("10.0.3.0/24")[0]}}, to443(far, server), true},
		"an outbound entry does not concern inbound": {[]Entry{{Number: 1, Egress: true, Allow: true, Traffic: all, Peer: anywhere}}, to443(far, server), false},
	} {
		n := network(Rule{Traffic: all, Ranges: cidrs("0.0.0.0/0")})
		n.Subnets[0].ACL = c.entries
		if got := Compile(n).Allows(c.packet); got != c.want {
			t.Errorf("%s: allowed is %t, want %t", name, got, c.want)
		}
	}
}

func TestRoutes(t *testing.T) {
	everywhere := cidrs("0.0.0.0/0")
	list := cidrs("192.0.2.0/25")
	const internet, s3 = "203.0.113.1", "192.0.2.1"
	for name, c := range map[string]struct {
		routes []Route
		packet Packet
		want   bool
	}{
		"no route":                                  {nil, to443(near, internet), false},
		"a local destination needs none":            {nil, to443(near, far), false}, // only its security group drops it
		"an internet gateway, public address":       {[]Route{{To: everywhere, Via: InternetGateway}}, to443(near, internet), true},
		"an internet gateway, no public address":    {[]Route{{To: everywhere, Via: InternetGateway}}, to443(server, internet), false},
		"a NAT gateway":                             {[]Route{{To: everywhere, Via: NATGateway}}, to443(server, internet), true},
		"a target that does not exist":              {[]Route{{To: everywhere, Via: Blackhole}}, to443(near, internet), false},
		"a gateway endpoint for its service":        {[]Route{{To: list, Via: GatewayEndpoint}}, to443(server, s3), true},
		"a gateway endpoint not for others":         {[]Route{{To: list, Via: GatewayEndpoint}}, to443(server, internet), false},
		"the most specific route decides":           {[]Route{{To: everywhere, Via: NATGateway}, {To: list, Via: Blackhole}}, to443(server, s3), false},
		"the most specific route, in another order": {[]Route{{To: list, Via: GatewayEndpoint}, {To: everywhere, Via: Blackhole}}, to443(server, s3), true},
	} {
		n := network()
		n.Subnets[0].Routes = c.routes
		if got := Compile(n).Allows(c.packet); got != c.want {
			t.Errorf("%s: allowed is %t, want %t", name, got, c.want)
		}
	}
}

func TestPublicSourceIsThatOfTheRoute(t *testing.T) {
	n := network()
	n.Subnets[0].Routes = []Route{{To: cidrs("0.0.0.0/0"), Via: InternetGateway}}
	n.Subnets[1].Routes = []Route{{To: cidrs("0.0.0.0/0"), Via: NATGateway, Source: ip("198.18.0.9")}}
	for from, want := range map[string]netip.Addr{near: ip("198.18.0.5"), server: {}, far: ip("198.18.0.9")} {
		if got := n.PublicSource(ip(from), ip("203.0.113.1")); got != want {
			t.Errorf("%s appears as %v, want %v", from, got, want)
		}
	}
}

// Rules for all addresses in both directions do not track connections.
func TestUntrackedConnections(t *testing.T) {
	for name, c := range map[string]struct {
		rule Rule
		want Side
	}{
		"TCP from anywhere": {Rule{Traffic: tcp(443, 443), Ranges: cidrs("0.0.0.0/0")}, Receiver},
		"from a range":      {Rule{Traffic: tcp(443, 443), Ranges: cidrs("10.0.0.0/16")}, NoSide},
		"from a group":      {Rule{Traffic: tcp(443, 443), Group: "clients"}, NoSide},
		"ICMP":              {Rule{Traffic: Traffic{Protocol: ICMP, First: 8, Last: -1}, Ranges: cidrs("0.0.0.0/0")}, NoSide},
	} {
		got := NoSide
		for _, chain := range Compile(network(c.rule)).Chains {
			for _, s := range chain.Steps {
				got = max(got, s.Untrack)
			}
		}
		if got != c.want {
			t.Errorf("%s: the side that does not track is %v, want %v", name, got, c.want)
		}
	}
}

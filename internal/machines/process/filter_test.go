//go:build linux

package process_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws-operator/aws-operator/internal/machines/process"
	"github.com/aws-operator/aws-operator/internal/simulator/firewall"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
)

// vpcState is the firewall of vpc-1, which tests change.
type vpcState struct {
	mu      sync.Mutex
	network firewall.Network
	watch   func()
}

// anywhere allows all traffic with all addresses.
var (
	anyTraffic = firewall.Traffic{Protocol: firewall.AnyProtocol}
	anywhere   = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}
	outbound   = firewall.Rule{Egress: true, Traffic: anyTraffic, Ranges: anywhere}
)

func port80(from ...string) firewall.Rule {
	r := firewall.Rule{Traffic: firewall.Traffic{Protocol: firewall.TCP, First: 80, Last: 80}}
	for _, text := range from {
		if strings.HasPrefix(text, "sg-") {
			r.Group = text
		} else {
			r.Ranges = append(r.Ranges, netip.MustParsePrefix(text))
		}
	}
	return r
}

// filtered connects a host to a VPC with two subnets and the machines 10.0.1.4 (sg-server), 10.0.1.5
// and 10.0.2.5 (sg-client).
func filtered(t *testing.T, host *process.Host) *vpcState {
	t.Helper()
	all := []firewall.Entry{
		{Number: 100, Allow: true, Traffic: anyTraffic, Peer: anywhere[0]},
		{Number: 100, Egress: true, Allow: true, Traffic: anyTraffic, Peer: anywhere[0]},
	}
	s := &vpcState{network: firewall.Network{
		ID: "vpc-1", Ranges: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/16")},
		Subnets: []firewall.Subnet{
			{ID: "subnet-1", Range: netip.MustParsePrefix("10.0.1.0/24"), ACL: all},
			{ID: "subnet-2", Range: netip.MustParsePrefix("10.0.2.0/24"), ACL: all},
		},
		Groups: []firewall.Group{{ID: "sg-server"}, {ID: "sg-client", Rules: []firewall.Rule{outbound}}},
	}}
	for id, address := range map[string]string{"i-server": "10.0.1.4", "i-near": "10.0.1.5", "i-far": "10.0.2.5"} {
		group := "sg-client"
		if id == "i-server" {
			group = "sg-server"
		}
		s.network.Interfaces = append(s.network.Interfaces, firewall.Interface{
			ID: "eni-" + id, Instance: id, Addresses: []netip.Addr{netip.MustParseAddr(address)}, Groups: []string{group}, SourceDestCheck: true,
		})
	}
	host.Connect(machine.Services{
		AWS:             http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "AWS answers") }),
		EndpointAddress: func(string, string) netip.Addr { return netip.MustParseAddr("203.0.113.1") },
		Firewall: func(vpcID string) (*firewall.Network, bool) {
			s.mu.Lock()
			defer s.mu.Unlock()
			n := s.network
			return &n, vpcID == "vpc-1"
		},
		Watch: func(changed func()) { s.watch = changed },
	})
	if !host.FiltersPackets() {
		t.Skip("this kernel does not pass packets of bridges to nftables")
	}
	return s
}

// change changes the VPC. Rules replaces the rules of sg-server.
func (s *vpcState) change(change func(n *firewall.Network)) {
	s.mu.Lock()
	change(&s.network)
	s.mu.Unlock()
	s.watch()
}

func (s *vpcState) rules(rules ...firewall.Rule) {
	s.change(func(n *firewall.Network) {
		n.Groups = []firewall.Group{{ID: "sg-server", Rules: rules}, n.Groups[1]}
	})
}

// idle is the user data of machines in which only the test opens sockets.
const idle = "sleep 1000\n"

var server = netip.MustParseAddrPort("10.0.1.4:80")

// bootAll boots the machines of the VPC. The server echoes.
func bootAll(t *testing.T, host *process.Host) {
	t.Helper()
	boot(t, host, spec("i-server", "vpc-1", "10.0.1.4", idle))
	boot(t, host, spec("i-near", "vpc-1", "10.0.1.5", idle))
	boot(t, host, spec("i-far", "vpc-1", "10.0.2.5", idle))
	listener, err := host.ListenIn("i-server", server)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(conn, conn) }()
		}
	}()
}

// packetTime is how long a packet between machines may take. A first packet that is dropped is sent
// again only after a second.
const packetTime = 500 * time.Millisecond

// dial connects to the server; nil if the packets are dropped.
func dial(t *testing.T, host *process.Host, from string) net.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), packetTime)
	defer cancel()
	conn, err := host.DialIn(ctx, from, "tcp4", server)
	switch {
	case err == nil:
		return conn
	case !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, context.DeadlineExceeded):
		t.Fatalf("%s is refused instead of ignored: %v", from, err)
	}
	return nil
}

// expect waits until a change has taken effect for new connections.
func expect(t *testing.T, host *process.Host, why string, want bool, from ...string) {
	t.Helper()
	began := time.Now()
	for _, id := range from {
		within(t, fmt.Sprintf("%s: %s to reach the server: %t", why, id, want), func() bool {
			conn := dial(t, host, id)
			if conn != nil {
				_ = conn.Close()
			}
			return (conn != nil) == want
		})
	}
	t.Logf("%s: after %v", why, time.Since(began).Round(time.Millisecond))
}

// echoes reports whether bytes pass in both directions.
func echoes(t *testing.T, conn net.Conn) bool {
	t.Helper()
	if err := conn.SetDeadline(time.Now().Add(packetTime)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	_, err := io.ReadFull(conn, make([]byte, 1))
	return err == nil
}

func TestSecurityGroupsFilterPackets(t *testing.T) {
	host := newHost(t)
	vpc := filtered(t, host)
	bootAll(t, host)
	expect(t, host, "without a rule", false, "i-near", "i-far")
	vpc.rules(port80("10.0.1.0/24"))
	expect(t, host, "a rule for the range of i-near", true, "i-near")
	expect(t, host, "a rule for another range", false, "i-far")
	vpc.rules(port80("sg-client"))
	expect(t, host, "a rule for the group of both", true, "i-near", "i-far")
	vpc.rules(port80("sg-server"))
	expect(t, host, "a rule for another group", false, "i-near", "i-far")
}

func TestNetworkACLsFilterPacketsBetweenSubnets(t *testing.T) {
	host := newHost(t)
	vpc := filtered(t, host)
	bootAll(t, host)
	vpc.rules(port80("sg-client"))
	expect(t, host, "before", true, "i-near", "i-far")
	open := dial(t, host, "i-far")
	defer func() { _ = open.Close() }()
	vpc.change(func(n *firewall.Network) {
		second := n.Subnets[1]
		second.ACL = []firewall.Entry{{Number: 100, Egress: true, Allow: true, Traffic: anyTraffic, Peer: anywhere[0]}}
		n.Subnets = []firewall.Subnet{n.Subnets[0], second}
	})
	expect(t, host, "the network ACL denies inbound packets", false, "i-far")
	expect(t, host, "in the other subnet", true, "i-near")
	if echoes(t, open) {
		t.Error("a network ACL let packets of an established connection pass, as if it were stateful")
	}
}

// A revoked rule does not end tracked connections, but those that are not tracked.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/security-group-connection-tracking.html
func TestTrackedConnectionsOutliveTheirRule(t *testing.T) {
	for name, c := range map[string]struct {
		rules []firewall.Rule
		want  bool
	}{
		"tracked":                            {[]firewall.Rule{port80("sg-client")}, true},
		"untracked, all addresses both ways": {[]firewall.Rule{port80("0.0.0.0/0"), outbound}, false},
	} {
		t.Run(name, func(t *testing.T) {
			host := newHost(t)
			vpc := filtered(t, host)
			bootAll(t, host)
			vpc.rules(c.rules...)
			expect(t, host, "with the rule", true, "i-near")
			conn := dial(t, host, "i-near")
			defer func() { _ = conn.Close() }()
			if !echoes(t, conn) {
				t.Fatal("no response")
			}
			vpc.rules(outbound)
			expect(t, host, "without the rule", false, "i-near")
			if got := echoes(t, conn); got != c.want {
				t.Errorf("the connection works: %t, want %t", got, c.want)
			}
		})
	}
}

func TestMachineCannotSendFromAnotherAddress(t *testing.T) {
	host := newHost(t)
	vpc := filtered(t, host)
	bootAll(t, host)
	vpc.rules(port80("10.0.2.0/24"))
	expect(t, host, "the range of i-far", true, "i-far")
	expect(t, host, "another range", false, "i-near")
	boot(t, host, spec("i-liar", "vpc-1", "10.0.1.6", "ip address add 10.0.2.66/32 dev lo; curl -sv -m 2 --interface 10.0.2.66 http://10.0.1.4; echo sent\n"))
	vpc.change(func(n *firewall.Network) {
		n.Interfaces = append(slices.Clone(n.Interfaces),
			firewall.Interface{ID: "eni-liar", Instance: "i-liar", Addresses: []netip.Addr{netip.MustParseAddr("10.0.1.6")}, SourceDestCheck: true},
			firewall.Interface{ID: "eni-absent", Addresses: []netip.Addr{netip.MustParseAddr("10.0.2.66")}, Groups: []string{"sg-client"}, SourceDestCheck: true})
	})
	if console := awaitConsole(t, host, "i-liar", "sent"); strings.Contains(console, "Connected") {
		t.Errorf("it reached the server:\n%s", console)
	}
}

func TestMachineSeesNoRules(t *testing.T) {
	host := newHost(t)
	vpc := filtered(t, host)
	bootAll(t, host)
	vpc.rules()
	expect(t, host, "without a rule", false, "i-near")
	tables, err := host.TablesIn("i-near")
	if err != nil || tables != 0 {
		t.Errorf("a machine sees %d tables, %v", tables, err)
	}
}

// Without a route to the internet, an API call gets no response; it proceeds when there is one.
func TestAPIsNeedARouteAndAnOutboundRule(t *testing.T) {
	host := newHost(t)
	vpc := filtered(t, host)
	call := `curl -s -m 3 https://sts.eu-central-1.amazonaws.com/; echo "early ends with $?"
curl -s --retry-connrefused https://sts.eu-central-1.amazonaws.com/; echo " late ends with $?"
`
	boot(t, host, spec("i-near", "vpc-1", "10.0.1.5", call))
	console := awaitConsole(t, host, "i-near", "early ends with")
	if !strings.Contains(console, "early ends with 28") { // a timeout
		t.Errorf("without a route:\n%s", console)
	}
	vpc.change(func(n *firewall.Network) {
		n.Subnets = []firewall.Subnet{
			{ID: "subnet-1", Range: n.Subnets[0].Range, ACL: n.Subnets[0].ACL, Routes: []firewall.Route{{To: anywhere, Via: firewall.NATGateway}}},
			n.Subnets[1],
		}
	})
	if console := awaitConsole(t, host, "i-near", "late ends with"); !strings.Contains(console, "AWS answers late ends with 0") {
		t.Errorf("with a route:\n%s", console)
	}
	vpc.change(func(n *firewall.Network) {
		n.Groups = []firewall.Group{n.Groups[0], {ID: "sg-client"}}
	})
	boot(t, host, spec("i-far", "vpc-1", "10.0.2.5", call))
	if console := awaitConsole(t, host, "i-far", "early ends with"); !strings.Contains(console, "early ends with 28") {
		t.Errorf("without an outbound rule:\n%s", console)
	}
}

// The kernel and the evaluation for load balancers give the same answers.
func TestKernelAgreesWithEvaluation(t *testing.T) {
	host := newHost(t)
	vpc := filtered(t, host)
	boot(t, host, spec("i-server", "vpc-1", "10.0.1.4", idle))
	boot(t, host, spec("i-near", "vpc-1", "10.0.1.5", idle))
	boot(t, host, spec("i-far", "vpc-1", "10.0.2.5", idle))
	const seed = 14
	random := rand.New(rand.NewPCG(seed, seed))
	choose := func(texts ...string) string { return texts[random.IntN(len(texts))] }
	traffic := func() firewall.Traffic {
		switch first := random.IntN(3); choose("any", "tcp", "udp", "udp") {
		case "any":
			return anyTraffic
		case "tcp":
			return firewall.Traffic{Protocol: firewall.TCP, First: 1 + first, Last: 1 + first + random.IntN(3)}
		default:
			return firewall.Traffic{Protocol: firewall.UDP, First: 1 + first, Last: 1 + first + random.IntN(3)}
		}
	}
	passed := map[bool]int{}
	for range 25 {
		var rules []firewall.Rule
		for range 1 + random.IntN(4) {
			r := firewall.Rule{Traffic: traffic()}
			if r.Group = choose("", "sg-client", "sg-client", "sg-server"); r.Group == "" {
				r.Ranges = []netip.Prefix{netip.MustParsePrefix(choose("0.0.0.0/0", "10.0.1.0/24", "10.0.2.5/32", "10.0.0.0/15"))}
			}
			rules = append(rules, r)
		}
		var entries []firewall.Entry
		for number := range 1 + random.IntN(4) {
			entries = append(entries, firewall.Entry{
				Number: number + 1, Allow: random.IntN(4) > 0, Traffic: traffic(),
				Peer: netip.MustParsePrefix(choose("0.0.0.0/0", "10.0.2.0/24", "10.0.2.5/32")),
			})
		}
		var want *firewall.Ruleset
		vpc.change(func(n *firewall.Network) {
			n.Groups = []firewall.Group{{ID: "sg-server", Rules: append(rules, outbound)}, n.Groups[1]}
			first := n.Subnets[0]
			first.ACL = append(entries, firewall.Entry{Number: 1, Egress: true, Allow: true, Traffic: anyTraffic, Peer: anywhere[0]})
			n.Subnets = []firewall.Subnet{first, n.Subnets[1]}
			want = firewall.Compile(n)
		})
		from, address := "i-near", "10.0.1.5"
		if random.IntN(2) == 0 {
			from, address = "i-far", "10.0.2.5"
		}
		protocol, number := "tcp4", firewall.TCP
		if random.IntN(2) == 0 {
			protocol, number = "udp4", firewall.UDP
		}
		to := netip.AddrPortFrom(server.Addr(), uint16(1+random.IntN(4))) //nolint:gosec // small
		allowed := want.Allows(firewall.Packet{From: netip.MustParseAddr(address), To: to.Addr(), Protocol: number, Port: int(to.Port())})
		passed[allowed]++
		within(t, fmt.Sprintf("%s from %s to %s to pass: %t; rules %+v, entries %+v", protocol, from, to, allowed, rules, entries), func() bool {
			return answered(t, host, from, protocol, to) == allowed
		})
	}
	if passed[true] < 5 || passed[false] < 5 {
		t.Errorf("passed and dropped: %v", passed)
	}
}

// answered reports whether a machine refuses a packet, which it does if it receives it.
func answered(t *testing.T, host *process.Host, from, protocol string, to netip.AddrPort) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), packetTime)
	defer cancel()
	conn, err := host.DialIn(ctx, from, protocol, to)
	if err == nil && protocol == "udp4" {
		defer func() { _ = conn.Close() }()
		if err := conn.SetDeadline(time.Now().Add(packetTime)); err != nil {
			t.Fatal(err)
		}
		if _, err = conn.Write([]byte("x")); err == nil {
			_, err = conn.Read(make([]byte, 1))
		}
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

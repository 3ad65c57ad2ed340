//go:build linux

package packetfilter

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/aws-operator/aws-operator/internal/simulator/firewall"
)

// VPC is the bridge of a VPC.
type VPC struct {
	// Bridge is the name of the bridge's interface.
	Bridge string
	// Zone is the conntrack zone of the VPC.
	Zone uint16
	// Rules are the VPC's rules. If they are nil, the bridge carries nothing.
	Rules *firewall.Ruleset
	// Ports are the bridge's ports.
	Ports []Port
}

// Port is a port of a bridge.
type Port struct {
	// Name is the name of its interface.
	Name string
	// Addresses are the only ones from and to which the port carries IPv4 packets, as with EC2's source
	// and destination check. Nil means any.
	Addresses []netip.Addr
}

// bridgesTable filters packets by connection, portsTable by the port through which they enter and
// leave a bridge, which the former does not know.
var (
	bridgesTable = &nftables.Table{Name: "vpcs", Family: nftables.TableFamilyINet}
	portsTable   = &nftables.Table{Name: "ports", Family: nftables.TableFamilyBridge}
)

// buffer is the size of the socket's buffers, in which a transaction and its responses must fit.
const buffer = 64 << 20

// Supported returns an error if the kernel does not pass packets of bridges to the rules. It loads
// the module that does, if there is one.
func Supported() error {
	const setting = "/proc/sys/net/bridge/bridge-nf-call-iptables"
	_, err := os.Stat(setting)
	if errors.Is(err, os.ErrNotExist) {
		_ = exec.Command("modprobe", "br_netfilter").Run() //nolint:noctx // it exits at once, and the next line reports the failure
		_, err = os.Stat(setting)
	}
	if errors.Is(err, os.ErrNotExist) {
		return errors.New("the kernel has no module br_netfilter")
	}
	return err //nolint:wrapcheck // it names the file
}

// Load makes these the only VPCs whose packets are carried in a network namespace, which is open as a
// file descriptor. Existing connections stay tracked.
func Load(namespace int, vpcs []VPC) error {
	conn, err := nftables.New(nftables.WithNetNSFd(namespace), nftables.WithSockOptions(func(c *netlink.Conn) error {
		return errors.Join(c.SetReadBuffer(buffer), c.SetWriteBuffer(buffer))
	}))
	if err != nil {
		return fmt.Errorf("connect to nftables: %w", err)
	}
	for _, table := range []*nftables.Table{bridgesTable, portsTable} {
		conn.AddTable(table) // so that it exists
		conn.DelTable(table)
		conn.AddTable(table)
	}
	l := &loader{Conn: conn}
	l.bridges(vpcs)
	l.ports(vpcs)
	if l.err != nil {
		return fmt.Errorf("define the rules: %w", l.err)
	}
	if err := conn.Flush(); err != nil {
		return fmt.Errorf("load the rules: %w", err)
	}
	return nil
}

type loader struct {
	*nftables.Conn

	err error
}

func (l *loader) rule(chain *nftables.Chain, exprs ...[]expr.Any) {
	var all []expr.Any
	for _, e := range exprs {
		all = append(all, e...)
	}
	l.AddRule(&nftables.Rule{Table: chain.Table, Chain: chain, Exprs: all})
}

func (l *loader) bridges(vpcs []VPC) {
	drop := nftables.ChainPolicyDrop
	zones := l.AddChain(&nftables.Chain{
		Name: "zones", Table: bridgesTable, Type: nftables.ChainTypeFilter, Hooknum: nftables.ChainHookPrerouting,
		Priority: nftables.ChainPriorityRaw,
	})
	forward := l.AddChain(&nftables.Chain{
		Name: "forward", Table: bridgesTable, Type: nftables.ChainTypeFilter, Hooknum: nftables.ChainHookForward,
		Priority: nftables.ChainPriorityFilter, Policy: &drop,
	})
	for i := range vpcs {
		v := &vpcs[i]
		l.rule(zones, interfaceIs(expr.MetaKeyIIFNAME, v.Bridge), setZone(v.Zone))
		if v.Rules == nil {
			continue
		}
		chains := map[string]*nftables.Chain{}
		for _, c := range v.Rules.Chains {
			chains[c.Name] = l.AddChain(&nftables.Chain{Name: v.Bridge + "-" + c.Name, Table: bridgesTable})
		}
		for _, c := range v.Rules.Chains {
			for j := range c.Steps {
				l.step(chains, chains[c.Name], &c.Steps[j])
			}
		}
		l.rule(forward, protocolFamilyIs(unix.NFPROTO_IPV4), interfaceIs(expr.MetaKeyIIFNAME, v.Bridge),
			verdict(expr.VerdictJump, v.Bridge+"-"+v.Rules.Chains[0].Name))
	}
}

// step adds the rules of one step: one for each combination of its alternatives.
func (l *loader) step(chains map[string]*nftables.Chain, chain *nftables.Chain, s *firewall.Step) {
	for _, state := range tracked(s.Tracked) {
		for _, from := range l.within(bridgesTable, sourceOffset, s.From) {
			for _, to := range l.within(bridgesTable, destinationOffset, s.To) {
				l.rule(chain, state, from, to, carries(s.Traffic), untrack(s.Untrack), action(chains, s))
			}
		}
	}
}

func action(chains map[string]*nftables.Chain, s *firewall.Step) []expr.Any {
	switch s.Action {
	case firewall.Accept:
		return verdict(expr.VerdictAccept, "")
	case firewall.Return:
		return verdict(expr.VerdictReturn, "")
	case firewall.Jump:
		return verdict(expr.VerdictJump, chains[s.Target].Name)
	default:
		return verdict(expr.VerdictDrop, "")
	}
}

// within returns the alternatives of which one must match for an address, at an offset of the IPv4
// header, to be in one of the ranges. Hosts become a set.
func (l *loader) within(table *nftables.Table, offset uint32, ranges []netip.Prefix) [][]expr.Any {
	if ranges == nil {
		return [][]expr.Any{nil}
	}
	var alternatives [][]expr.Any
	hosts := map[netip.Addr]bool{}
	for _, r := range ranges {
		switch {
		case r.Bits() == 0:
			return [][]expr.Any{nil}
		case r.IsSingleIP():
			hosts[r.Addr()] = true
		default:
			alternatives = append(alternatives, inRange(offset, r))
		}
	}
	if len(hosts) > 0 {
		alternatives = append(alternatives, l.inSet(table, offset, hosts, false))
	}
	return alternatives
}

func (l *loader) inSet(table *nftables.Table, offset uint32, hosts map[netip.Addr]bool, invert bool) []expr.Any {
	set := &nftables.Set{Table: table, Anonymous: true, Constant: true, KeyType: nftables.TypeIPAddr}
	var elements []nftables.SetElement
	for a := range hosts {
		elements = append(elements, nftables.SetElement{Key: a.AsSlice()})
	}
	l.err = errors.Join(l.err, l.AddSet(set, elements))
	return append(address(offset), &expr.Lookup{SourceRegister: 1, SetID: set.ID, SetName: set.Name, Invert: invert})
}

// ports adds the check of addresses, and drops IPv6: no VPC of the simulator has such a range.
func (l *loader) ports(vpcs []VPC) {
	entering := l.AddChain(&nftables.Chain{
		Name: "entering", Table: portsTable, Type: nftables.ChainTypeFilter, Hooknum: nftables.ChainHookPrerouting,
		Priority: nftables.ChainPriorityRaw,
	})
	leaving := l.AddChain(&nftables.Chain{
		Name: "leaving", Table: portsTable, Type: nftables.ChainTypeFilter, Hooknum: nftables.ChainHookPostrouting,
		Priority: nftables.ChainPriorityFilter,
	})
	l.rule(entering, etherTypeIs(unix.ETH_P_IPV6), verdict(expr.VerdictDrop, ""))
	for i := range vpcs {
		for _, p := range vpcs[i].Ports {
			if p.Addresses == nil {
				continue
			}
			hosts := map[netip.Addr]bool{}
			for _, a := range p.Addresses {
				hosts[a] = true
			}
			l.rule(entering, interfaceIs(expr.MetaKeyIIFNAME, p.Name), etherTypeIs(unix.ETH_P_IP),
				l.inSet(portsTable, sourceOffset, hosts, true), verdict(expr.VerdictDrop, ""))
			l.rule(leaving, interfaceIs(expr.MetaKeyOIFNAME, p.Name), etherTypeIs(unix.ETH_P_IP),
				l.inSet(portsTable, destinationOffset, hosts, true), verdict(expr.VerdictDrop, ""))
		}
	}
}

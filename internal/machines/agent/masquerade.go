//go:build linux

package agent

import (
	"fmt"
	"net/netip"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// masqueradeTable is the nftables table of the pod network.
const masqueradeTable = "pod-network"

// masquerade gives packets of the node's pods that leave the pod network the node's address: the VPC
// carries no others, because of the source and destination check. Packets to pods, which are the
// ranges of cluster beside the node's own, keep their source.
func masquerade(pods netip.Prefix, cluster []netip.Prefix) error {
	c, err := nftables.New()
	if err != nil {
		return fmt.Errorf("reach nftables: %w", err)
	}
	table := &nftables.Table{Family: nftables.TableFamilyIPv4, Name: masqueradeTable}
	c.AddTable(table) // deleting a table that does not exist fails
	c.DelTable(table)
	c.AddTable(table)
	chain := c.AddChain(&nftables.Chain{
		Name: "postrouting", Table: table, Type: nftables.ChainTypeNAT,
		Hooknum: nftables.ChainHookPostrouting, Priority: nftables.ChainPriorityNATSource,
	})
	for _, within := range append([]netip.Prefix{pods}, cluster...) {
		c.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: append(
			matchAddress(destination, within), &expr.Verdict{Kind: expr.VerdictReturn},
		)})
	}
	port := []expr.Any{
		&expr.Meta{Key: expr.MetaKeyOIFNAME, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: interfaceName("eth0")},
	}
	c.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: append(append(port, matchAddress(source, pods)...), &expr.Masq{})})
	if err := c.Flush(); err != nil {
		return fmt.Errorf("write the rules of the pod network: %w", err)
	}
	return nil
}

// The offsets of addresses in an IPv4 header: https://www.rfc-editor.org/rfc/rfc791#section-3.1
const (
	source      = 12
	destination = 16
)

// matchAddress compares an address of a packet with a range.
func matchAddress(offset uint32, within netip.Prefix) []expr.Any {
	mask := binaryutil.BigEndian.PutUint32(uint32(uint64(0xffffffff) << (32 - within.Bits()) & 0xffffffff))
	return []expr.Any{
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: offset, Len: 4},
		&expr.Bitwise{SourceRegister: 1, DestRegister: 1, Len: 4, Mask: mask, Xor: []byte{0, 0, 0, 0}},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: within.Masked().Addr().AsSlice()},
	}
}

// interfaceName is an interface's name as the kernel compares it.
func interfaceName(name string) []byte {
	padded := make([]byte, unix.IFNAMSIZ)
	copy(padded, name)
	return padded
}

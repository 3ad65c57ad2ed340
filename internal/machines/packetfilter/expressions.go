//go:build linux

package packetfilter

import (
	"net"
	"net/netip"

	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"github.com/aws-operator/aws-operator/internal/simulator/firewall"
)

// The offsets of the addresses in an IPv4 header: https://www.rfc-editor.org/rfc/rfc791#section-3.1
const sourceOffset, destinationOffset = 12, 16

func interfaceIs(key expr.MetaKey, name string) []expr.Any {
	padded := make([]byte, unix.IFNAMSIZ)
	copy(padded, name)
	return []expr.Any{&expr.Meta{Key: key, Register: 1}, equals(padded)}
}

func protocolFamilyIs(family byte) []expr.Any {
	return []expr.Any{&expr.Meta{Key: expr.MetaKeyNFPROTO, Register: 1}, equals([]byte{family})}
}

func etherTypeIs(number uint16) []expr.Any {
	return []expr.Any{&expr.Meta{Key: expr.MetaKeyPROTOCOL, Register: 1}, equals(binaryutil.BigEndian.PutUint16(number))}
}

func equals(data []byte) expr.Any { return &expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: data} }

func verdict(kind expr.VerdictKind, chain string) []expr.Any {
	return []expr.Any{&expr.Verdict{Kind: kind, Chain: chain}}
}

func address(offset uint32) []expr.Any {
	return []expr.Any{&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: offset, Len: net.IPv4len}}
}

func inRange(offset uint32, r netip.Prefix) []expr.Any {
	return append(address(offset),
		&expr.Bitwise{
			SourceRegister: 1, DestRegister: 1, Len: net.IPv4len, Mask: net.CIDRMask(r.Bits(), 8*net.IPv4len),
			Xor: make([]byte, net.IPv4len),
		},
		equals(r.Masked().Addr().AsSlice()),
	)
}

// carries matches a protocol and its ports, or ICMP's type and code.
func carries(t *firewall.Traffic) []expr.Any {
	if t == nil {
		return nil
	}
	list := []expr.Any{&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1}, equals([]byte{byte(t.Protocol)})}
	switch t.Protocol {
	case firewall.TCP, firewall.UDP:
		if t.First == 0 && t.Last == 65535 {
			return list
		}
		list = append(list,
			&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: 2, Len: 2},
			&expr.Range{Op: expr.CmpOpEq, Register: 1, FromData: port(t.First), ToData: port(t.Last)},
		)
	case firewall.ICMP:
		for offset, value := range []int{t.First, t.Last} {
			if value >= 0 {
				list = append(list,
					&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: uint32(offset), Len: 1}, //nolint:gosec // 0 or 1
					equals([]byte{byte(value)}),
				)
			}
		}
	}
	return list
}

func port(number int) []byte {
	return binaryutil.BigEndian.PutUint16(uint16(number)) //nolint:gosec // a port, which EC2 checked
}

func setZone(zone uint16) []expr.Any {
	return []expr.Any{
		&expr.Immediate{Register: 1, Data: binaryutil.NativeEndian.PutUint16(zone)},
		&expr.Ct{Key: expr.CtKeyZONE, Register: 1, SourceRegister: true},
	}
}

// bit is the bit of a connection's mark that says that a side does not track it.
func bit(side firewall.Side) []byte {
	return binaryutil.NativeEndian.PutUint32(uint32(side)) //nolint:gosec // 1 or 2
}

// tracked returns the alternatives for packets of an established connection that a side tracks. The
// rules that a side does not track concern the packets of the direction that opened the connection.
func tracked(side firewall.Side) [][]expr.Any {
	if side == firewall.NoSide {
		return [][]expr.Any{nil}
	}
	established := []expr.Any{
		&expr.Ct{Key: expr.CtKeySTATE, Register: 1},
		&expr.Bitwise{
			SourceRegister: 1, DestRegister: 1, Len: 4,
			Mask: binaryutil.NativeEndian.PutUint32(expr.CtStateBitESTABLISHED | expr.CtStateBitRELATED), Xor: make([]byte, 4),
		},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: 1, Data: make([]byte, 4)},
	}
	reply := append(append([]expr.Any{}, established...), &expr.Ct{Key: expr.CtKeyDIRECTION, Register: 1}, equals([]byte{1}))
	unmarked := append(append([]expr.Any{}, established...),
		&expr.Ct{Key: expr.CtKeyMARK, Register: 1},
		&expr.Bitwise{SourceRegister: 1, DestRegister: 1, Len: 4, Mask: bit(side), Xor: make([]byte, 4)},
		equals(make([]byte, 4)),
	)
	return [][]expr.Any{reply, unmarked}
}

// untrack sets the bit of a side in a connection's mark.
func untrack(side firewall.Side) []expr.Any {
	if side == firewall.NoSide {
		return nil
	}
	rest := binaryutil.NativeEndian.PutUint32(^uint32(side)) //nolint:gosec // 1 or 2
	return []expr.Any{
		&expr.Ct{Key: expr.CtKeyMARK, Register: 1},
		&expr.Bitwise{SourceRegister: 1, DestRegister: 1, Len: 4, Mask: rest, Xor: bit(side)},
		&expr.Ct{Key: expr.CtKeyMARK, Register: 1, SourceRegister: true},
	}
}

package eval

import (
	"encoding/binary"
	"math/big"
	"net/netip"
	"strconv"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// cidr implements Fn::Cidr: count blocks of 2^cidrBits addresses from a block.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference-cidr.html
func (s *Scope) cidr(arg *template.Node) (any, error) {
	if arg == nil || len(arg.Items) < 2 || len(arg.Items) > 3 {
		return nil, Errorf("Template error: every Fn::Cidr object requires two or three parameters, ipBlock, count and cidrBits")
	}
	block, unknown, err := s.String(arg.Items[0], "Fn::Cidr")
	if err != nil || unknown != nil {
		return orUnknown(unknown), err
	}
	numbers := [2]int{0, 0}
	for i, item := range arg.Items[1:] {
		text, pending, err := s.String(item, "Fn::Cidr")
		if err != nil || pending != nil {
			return orUnknown(pending), err
		}
		n, convErr := strconv.Atoi(text)
		if convErr != nil || n < 1 {
			return nil, Errorf("Template error: Fn::Cidr parameters must be positive numbers, got %s", text)
		}
		numbers[i] = n
	}
	return subnets(block, numbers[0], numbers[1])
}

func subnets(block string, count, bits int) (any, error) {
	prefix, err := netip.ParsePrefix(block)
	if err != nil {
		return nil, Errorf("Template error: Fn::Cidr: %s is not a valid CIDR block", block)
	}
	if bits == 0 {
		bits = prefix.Addr().BitLen() - prefix.Bits() - 8
	}
	length := prefix.Addr().BitLen() - bits
	room := length - prefix.Bits()
	if count > 256 || room < 0 || (room < 31 && count > 1<<room) || bits < 0 {
		return nil, Errorf("Template error: Fn::Cidr: %s has no room for %d blocks of %d bits", block, count, bits)
	}
	base := new(big.Int).SetBytes(prefix.Masked().Addr().AsSlice())
	step := new(big.Int).Exp(big.NewInt(2), big.NewInt(int64(bits)), nil)
	out := make([]any, 0, count)
	for range count {
		out = append(out, netip.PrefixFrom(address(base, prefix.Addr().Is4()), length).String())
		base = new(big.Int).Add(base, step)
	}
	return out, nil
}

func address(value *big.Int, four bool) netip.Addr {
	if four {
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], uint32(value.Uint64())) //nolint:gosec // an IPv4 address has 32 bits
		return netip.AddrFrom4(b)
	}
	var b [16]byte
	value.FillBytes(b[:])
	return netip.AddrFrom16(b)
}

package ec2

import (
	"net/netip"
	"strings"
)

// Resolve resolves the names of private addresses as a VPC's resolver does:
// ip-10-0-1-2.eu-central-1.compute.internal. It returns nothing for other names, and for addresses
// that no instance of the VPC has.
// https://docs.aws.amazon.com/vpc/latest/userguide/AmazonDNS-concepts.html
func (s *Service) Resolve(vpcID, name string) []netip.Addr {
	host, suffix, _ := strings.Cut(strings.TrimSuffix(strings.ToLower(name), "."), ".")
	digits, ok := strings.CutPrefix(host, "ip-")
	if !ok || suffix != "ec2.internal" && !strings.HasSuffix(suffix, ".compute.internal") {
		return nil
	}
	address, err := netip.ParseAddr(strings.ReplaceAll(digits, "-", "."))
	if err != nil {
		return nil
	}
	if _, ok := s.ByAddress(vpcID, address); !ok {
		return nil
	}
	return []netip.Addr{address}
}

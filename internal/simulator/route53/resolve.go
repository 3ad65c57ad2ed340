package route53

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// maxHops is the maximum number of CNAMEs and aliases that the resolver follows.
const maxHops = 8

// Resolve resolves a name as the resolver of a VPC does: from the private zones of the VPC, if its
// attributes enable them, from public zones, and to the addresses of load balancers. If a private
// zone contains the name's domain, public zones are not used. It returns nothing for an unknown
// name. Without a VPC it resolves as a resolver on the internet does.
// https://docs.aws.amazon.com/Route53/latest/DeveloperGuide/hosted-zone-private-considerations.html
func (s *Service) Resolve(vpcID, name string) []netip.Addr {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.resolve(vpcID, fqdn(name), maxHops)
}

func (s *Service) resolve(vpcID, name string, hops int) []netip.Addr {
	if hops == 0 {
		return nil
	}
	z := s.zoneFor(vpcID, name)
	if z == nil {
		if s.balancers == nil {
			return nil
		}
		return s.balancers(vpcID, strings.TrimSuffix(name, "."))
	}
	var found []netip.Addr
	for _, kind := range []string{"A", "AAAA", "CNAME"} {
		x := s.answer(z, name, kind)
		switch {
		case x == nil:
		case x.alias != nil:
			target := strings.TrimPrefix(fqdn(aws.ToString(x.alias.DNSName)), "dualstack.")
			found = append(found, s.resolve(vpcID, target, hops-1)...)
		case kind == "CNAME":
			found = append(found, s.resolve(vpcID, fqdn(x.values[0]), hops-1)...)
		default:
			for _, value := range x.values {
				if a, err := netip.ParseAddr(value); err == nil {
					found = append(found, a)
				}
			}
		}
	}
	slices.SortFunc(found, netip.Addr.Compare)
	return slices.Compact(found)
}

// zoneFor returns the zone that is authoritative for a name: the private zone of the VPC with the
// longest matching name, or else the public one.
func (s *Service) zoneFor(vpcID, name string) *zone {
	var private, public *zone
	longer := func(z, than *zone) bool { return than == nil || len(z.name) > len(than.name) }
	for _, z := range s.zones {
		if name != z.name && !strings.HasSuffix(name, "."+z.name) {
			continue
		}
		switch {
		case !z.private && longer(z, public):
			public = z
		case z.private && longer(z, private) && s.visible(z, vpcID):
			private = z
		}
	}
	if private != nil {
		return private
	}
	return public
}

// visible reports whether a VPC uses a private zone: the VPC is associated with it, and both
// enableDnsHostnames and enableDnsSupport are true.
// https://docs.aws.amazon.com/Route53/latest/DeveloperGuide/hosted-zone-private-considerations.html
func (s *Service) visible(z *zone, vpcID string) bool {
	for _, v := range z.vpcs {
		if aws.ToString(v.VPCId) != vpcID {
			continue
		}
		found, ok := s.vpcs.VPC(z.account, string(v.VPCRegion), vpcID)
		return ok && found.DNSSupport && found.DNSHostnames
	}
	return false
}

// lookup returns a record set by its name, or else by the closest wildcard.
func (z *zone) lookup(name, kind string) *record {
	if x, ok := z.records[key{name, kind}]; ok {
		return x
	}
	for k := range z.records {
		if k.name == name {
			return nil // an existing name hides wildcards
		}
	}
	for rest := name; rest != z.name; {
		_, parent, ok := strings.Cut(rest, ".")
		if !ok {
			return nil
		}
		if x, ok := z.records[key{`\052.` + parent, kind}]; ok {
			return x
		}
		rest = parent
	}
	return nil
}

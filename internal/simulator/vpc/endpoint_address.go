package vpc

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// publicEndpoint stands for the public addresses of all endpoints of AWS without a prefix list, and
// for everything else on the internet. It is reserved for documentation.
var publicEndpoint = netip.MustParseAddr("203.0.113.1")

// EndpointAddress returns the address to which a machine in a VPC sends packets for the endpoint of
// an AWS service: that of an interface endpoint with private DNS, one in the prefix list of a service
// with gateway endpoints in the VPC's region, or one on the internet.
// https://docs.aws.amazon.com/vpc/latest/privatelink/privatelink-access-aws-services.html
// https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html
func (s *Service) EndpointAddress(vpcID, name string) netip.Addr {
	labels := strings.Split(strings.ToLower(strings.TrimSuffix(name, ".")), ".")
	for _, r := range s.regions.All() {
		r.mu.Lock()
		v, ok := r.vpcs.byID[vpcID]
		if !ok {
			r.mu.Unlock()
			continue
		}
		a := r.endpointAddress(v, labels)
		r.mu.Unlock()
		return a
	}
	return publicEndpoint
}

func (r *region) endpointAddress(v *vpc, labels []string) netip.Addr {
	if len(labels) < 2 || !slices.Contains(labels, r.Region) {
		return publicEndpoint
	}
	of := func(service string) bool {
		parts := strings.Split(service, ".") // ecr.api is api.ecr.<region>.amazonaws.com
		slices.Reverse(parts)
		at := slices.Index(labels, r.Region)
		return at >= len(parts) && slices.Equal(labels[at-len(parts):at], parts)
	}
	for _, e := range r.endpoints.sorted() {
		service := strings.TrimPrefix(e.service, "com.amazonaws."+r.Region+".")
		if e.vpc == v && e.kind == types.VpcEndpointTypeInterface && e.privateDNS && len(e.interfaces) > 0 && of(service) {
			return e.interfaces[0].primary
		}
	}
	for _, l := range r.prefixLists() {
		if of(strings.TrimPrefix(*l.PrefixListName, "com.amazonaws."+r.Region+".")) {
			return netip.MustParsePrefix(l.Cidrs[0]).Addr().Next()
		}
	}
	return publicEndpoint
}

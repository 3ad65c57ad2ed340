package model

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// The division of a new VPC's range: eight parts, one for each letter of a zone. The first half of
// a part is the nodes' subnet. The third quarter is the public subnet for clusters with private
// nodes. The rest is reserved.
const (
	letters     = "abcdefgh"
	letterBits  = 3
	nodeBits    = letterBits + 1
	besideBits  = letterBits + 2
	minVPCBits  = 16 // https://docs.aws.amazon.com/vpc/latest/userguide/vpc-cidr-blocks.html
	maxVPCBits  = 24 // a /24 gives each zone two of the smallest subnets that AWS allows, /28
	maxNodeBits = 28 // https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html
)

// privateRanges are the allowed ranges of a VPC: RFC 1918 and RFC 6598.
var privateRanges = []netip.Prefix{
	netip.MustParsePrefix("10.0.0.0/8"),
	netip.MustParsePrefix("172.16.0.0/12"),
	netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("100.64.0.0/10"),
}

// resolveNetwork resolves the VPC, its subnets and their roles.
func (c *Cluster) resolveNetwork(problems *Problems) {
	n := &c.Spec.Network
	c.NewVPC = n.VPC == ""
	c.VPC = n.VPC
	c.NodeRole = v1alpha1.SubnetPrivate
	if n.Topology == v1alpha1.TopologyPublic {
		c.NodeRole = v1alpha1.SubnetPublic
	}
	c.APIRole = v1alpha1.SubnetPublic
	if c.Spec.API.Access == v1alpha1.APIInternal {
		c.APIRole = c.NodeRole
	}
	if c.NewVPC {
		c.newNetwork(problems)
	} else {
		c.existingNetwork(problems)
	}
	c.checkRanges(problems)
	c.checkRoles(problems)
}

// newNetwork divides the range of a new VPC.
func (c *Cluster) newNetwork(problems *Problems) {
	n := &c.Spec.Network
	if len(n.Subnets) > 0 {
		problems.add(
			"spec.network.subnets", "name the VPC in spec.network.vpc, or leave the subnets out", "existing subnets require their VPC",
		)
	}
	checkZones(problems, c.Region, "spec.network.zones", n.Zones)
	if len(n.Zones) == 0 {
		problems.add("spec.network.zones", "name at least one availability zone", "a new VPC has no zones")
	}
	checkNAT(problems, n)
	vpc, ok := parseRange(problems, "spec.network.cidr", n.CIDR, minVPCBits, maxVPCBits)
	if !ok {
		return
	}
	if !slices.ContainsFunc(privateRanges, func(p netip.Prefix) bool { return p.Bits() <= vpc.Bits() && p.Contains(vpc.Addr()) }) {
		problems.add(
			"spec.network.cidr",
			"choose one in 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 or 100.64.0.0/10",
			"%s is not a private range",
			vpc,
		)
		return
	}
	c.CIDRs = []string{vpc.String()}
	roles := []v1alpha1.SubnetRole{v1alpha1.SubnetPublic, v1alpha1.SubnetPrivate}
	if c.NodeRole == v1alpha1.SubnetPublic {
		roles = roles[:1]
	}
	for _, role := range roles {
		for _, zone := range n.Zones {
			if cidr, ok := subnetCIDR(vpc, zone, role == c.NodeRole); ok {
				c.Subnets = append(c.Subnets, Subnet{Zone: zone, Role: role, CIDR: cidr.String(), LogicalID: subnetLogicalID(role, zone)})
			}
		}
	}
}

// subnetCIDR returns the range of a zone's subnet in a new VPC, for nodes or the public one. It is
// false for a zone without a letter.
func subnetCIDR(vpc netip.Prefix, zone string, nodes bool) (netip.Prefix, bool) {
	if zone == "" {
		return netip.Prefix{}, false
	}
	letter := strings.IndexByte(letters, zone[len(zone)-1])
	if letter < 0 {
		return netip.Prefix{}, false
	}
	if nodes {
		return part(vpc, nodeBits, 2*letter), true
	}
	if vpc.Bits()+besideBits > maxNodeBits {
		return part(vpc, nodeBits, 2*letter+1), true
	}
	return part(vpc, besideBits, 4*letter+2), true
}

// part returns the nth of the 2^bits equal parts of an IPv4 range.
func part(p netip.Prefix, bits, n int) netip.Prefix {
	address := p.Masked().Addr().As4()
	length := p.Bits() + bits
	value := binary.BigEndian.Uint32(address[:]) | uint32(n)<<(32-length) //nolint:gosec // n is below 2^bits
	binary.BigEndian.PutUint32(address[:], value)
	return netip.PrefixFrom(netip.AddrFrom4(address), length)
}

// subnetLogicalID returns the logical ID of a subnet, for example PrivateSubnetEuCentral1a.
func subnetLogicalID(role v1alpha1.SubnetRole, zone string) string {
	return string(role) + "Subnet" + zoneLogicalID(zone)
}

// checkNAT checks how a new VPC's private subnets reach the internet.
func checkNAT(problems *Problems, n *v1alpha1.Network) {
	if n.NAT != v1alpha1.NATExisting {
		if len(n.NATGateways) > 0 {
			problems.add(
				"spec.network.natGateways",
				"set spec.network.nat to Existing, or leave the gateways out",
				"there are gateways although nat is %s",
				n.NAT,
			)
		}
		return
	}
	for _, zone := range n.Zones {
		if n.NATGateways[zone] == "" {
			problems.add("spec.network.natGateways", "name one for every zone", "nat is Existing, but zone %s has no gateway", zone)
		}
	}
}

// existingNetwork takes the subnets of an existing VPC.
func (c *Cluster) existingNetwork(problems *Problems) {
	n := &c.Spec.Network
	if n.CIDR != "" || len(n.Zones) > 0 {
		problems.add("spec.network.vpc", "leave out cidr and zones, or vpc and subnets", "an existing VPC has its own range and zones")
	}
	if n.NAT != v1alpha1.NATExisting || len(n.NATGateways) > 0 {
		problems.add("spec.network.nat", "leave out nat and natGateways", "the routes of an existing VPC are not changed")
	}
	if c.Existing != nil {
		c.CIDRs = slices.Clone(c.Existing.CIDRs)
		if c.Existing.ID != n.VPC {
			problems.add("spec.network.vpc", "look up the VPC again", "the known VPC is %s, not %s", c.Existing.ID, n.VPC)
		}
	}
	for _, role := range []v1alpha1.SubnetRole{v1alpha1.SubnetPublic, v1alpha1.SubnetPrivate} {
		for i, s := range n.Subnets {
			if s.Role == role {
				c.existingSubnet(problems, fmt.Sprintf("spec.network.subnets[%d]", i), s)
			}
		}
	}
}

// existingSubnet takes one subnet of an existing VPC.
func (c *Cluster) existingSubnet(problems *Problems, field string, s v1alpha1.Subnet) {
	subnet := Subnet{Zone: s.Zone, Role: s.Role, ID: s.ID, LogicalID: subnetLogicalID(s.Role, s.Zone)}
	checkZone(problems, c.Region, field+".zone", s.Zone)
	if slices.ContainsFunc(c.Subnets, func(o Subnet) bool { return o.ID == s.ID }) {
		problems.add(field+".id", "name it once", "subnet %s is named twice", s.ID)
	}
	if slices.ContainsFunc(c.Subnets, func(o Subnet) bool { return o.Zone == s.Zone && o.Role == s.Role }) {
		problems.add(
			field,
			"name one subnet of each role in a zone; instance groups can name others in spec.subnets",
			"zone %s has two %s subnets",
			s.Zone,
			s.Role,
		)
		return
	}
	if c.Existing != nil {
		i := slices.IndexFunc(c.Existing.Subnets, func(e ExistingSubnet) bool { return e.ID == s.ID })
		switch {
		case i < 0:
			problems.add(field+".id", "name a subnet of that VPC", "%s is not a subnet of %s", s.ID, c.VPC)
			return
		case c.Existing.Subnets[i].Zone != s.Zone:
			problems.add(
				field+".zone",
				"write "+c.Existing.Subnets[i].Zone,
				"subnet %s is in zone %s, not %s",
				s.ID,
				c.Existing.Subnets[i].Zone,
				s.Zone,
			)
			return
		}
		subnet.CIDR = c.Existing.Subnets[i].CIDR
	}
	c.Subnets = append(c.Subnets, subnet)
}

// checkRanges checks that pods, services and the VPC do not overlap.
func (c *Cluster) checkRanges(problems *Problems) {
	n := &c.Spec.Network
	type taken struct {
		what   string
		prefix netip.Prefix
	}
	var ranges []taken
	for _, cidr := range c.CIDRs {
		if p, err := netip.ParsePrefix(cidr); err == nil {
			ranges = append(ranges, taken{"the network's " + cidr, p})
		}
	}
	add := func(field, what, cidr string, minBits, maxBits int) {
		p, ok := parseRange(problems, field, cidr, minBits, maxBits)
		if !ok {
			return
		}
		for _, t := range ranges {
			if t.prefix.Overlaps(p) {
				problems.add(field, "choose another range", "%s overlaps %s", cidr, t.what)
			}
		}
		ranges = append(ranges, taken{what + cidr, p})
	}
	add("spec.network.podCIDR", "the pods' ", n.PodCIDR, minPodBits, maxPodBits)
	add("spec.network.serviceCIDR", "the services' ", n.ServiceCIDR, minServiceBits, maxServiceBits)
}

// Bounds of the cluster's own ranges. Every node takes a /24 of the pods'
// range, so a /20 is good for 16 nodes; the API server allows services no more
// than 20 bits.
const (
	minPodBits     = 8
	maxPodBits     = 20
	minServiceBits = 12
	maxServiceBits = 24
)

// parseRange parses an IPv4 range of a length between two others.
func parseRange(problems *Problems, field, cidr string, minBits, maxBits int) (netip.Prefix, bool) {
	p, err := netip.ParsePrefix(cidr)
	switch {
	case err != nil || !p.Addr().Is4():
		problems.add(field, "write it as 10.0.0.0/16", "%q is not an IPv4 range", cidr)
	case p != p.Masked():
		problems.add(field, "write "+p.Masked().String(), "%s has host bits set", cidr)
	case p.Bits() < minBits:
		problems.add(field, fmt.Sprintf("choose a range of /%d to /%d", minBits, maxBits), "%s is too large", cidr)
	case p.Bits() > maxBits:
		problems.add(field, fmt.Sprintf("choose a range of /%d to /%d", minBits, maxBits), "%s is too small", cidr)
	default:
		return p, true
	}
	return netip.Prefix{}, false
}

// checkRoles checks that there are subnets for everything that needs some.
func (c *Cluster) checkRoles(problems *Problems) {
	if c.NewVPC {
		return
	}
	has := func(role v1alpha1.SubnetRole) bool { return len(c.SubnetsOf(role)) > 0 }
	if !has(c.NodeRole) {
		problems.add("spec.network.subnets", fmt.Sprintf("name at least one with role %s, or change spec.network.topology", c.NodeRole),
			"topology is %s, but there is no %s subnet", c.Spec.Network.Topology, strings.ToLower(string(c.NodeRole)))
	}
	if c.Spec.API.Access == v1alpha1.APIPublic && !has(v1alpha1.SubnetPublic) {
		problems.add(
			"spec.network.subnets",
			"name at least one with role Public, or set spec.api.access to Internal",
			"the API is public, but there is no public subnet",
		)
	}
	if c.Spec.Bastion != nil && !has(v1alpha1.SubnetPublic) {
		problems.add(
			"spec.network.subnets",
			"name at least one with role Public, or leave out spec.bastion",
			"there is a bastion, but no public subnet",
		)
	}
}

// checkZones checks a list of zones.
func checkZones(problems *Problems, region, field string, zones []string) {
	for i, zone := range zones {
		at := fmt.Sprintf("%s[%d]", field, i)
		checkZone(problems, region, at, zone)
		if slices.Contains(zones[:i], zone) {
			problems.add(at, "name it once", "zone %s is named twice", zone)
		}
	}
}

// checkZone checks that a zone is one of the region's.
func checkZone(problems *Problems, region, field, zone string) {
	letter, ok := strings.CutPrefix(zone, region)
	if !ok || len(letter) != 1 || !strings.Contains(letters, letter) {
		problems.add(
			field, fmt.Sprintf("write the region and a letter, as %sa", region), "%q is not an availability zone of %s", zone, region,
		)
	}
}

package kops

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// subnet is a subnet of kops.
type subnet struct {
	part *part
	name string
	zone string
	id   string
	role v1alpha1.SubnetRole
	// spare is whether another subnet of its role and zone comes before it.
	spare bool
}

// readSubnets reads the subnets. Utility is what kops calls public subnets beside private ones.
func (c *cluster) readSubnets() {
	for _, p := range c.spec.Sections("subnets", subnetFields) {
		s := &subnet{part: p, name: p.Text("name"), zone: p.Text("zone"), id: p.Text("id"), role: v1alpha1.SubnetPublic}
		switch kind := p.Text("type"); kind {
		case "Private":
			s.role = v1alpha1.SubnetPrivate
		case "Public", "Utility", "":
		default:
			p.Refuse("type", "write Private, Public or Utility: nodes have IPv4 addresses")
		}
		if p.Text("ipv6CIDR") != "" {
			p.Refuse("ipv6CIDR", "nodes and pods have IPv4 addresses only")
		}
		if p.Text("region") != "" {
			p.Refuse("region", "every subnet is in a zone: set zone")
		}
		p.Field("cidr")
		s.spare = slices.ContainsFunc(c.subnets, func(o *subnet) bool { return o.role == s.role && o.zone == s.zone })
		c.subnets = append(c.subnets, s)
	}
	if len(c.subnets) == 0 {
		c.spec.Refuse("subnets", "the cluster has no subnets: name at least one")
	}
}

// region is that of the subnets' zones.
func (c *cluster) region() string {
	region := ""
	for _, s := range c.subnets {
		if len(s.zone) < 2 || s.zone[len(s.zone)-1] < 'a' || s.zone[len(s.zone)-1] > 'h' {
			s.part.Refuse("zone", "write an availability zone: a region and a letter from a to h")
			continue
		}
		own := s.zone[:len(s.zone)-1]
		if region != "" && own != region {
			s.part.Refuse("zone", "it is not in the region of the other subnets, "+region)
		}
		region = own
	}
	return region
}

// topology reads where nodes stand.
func (c *cluster) topology() v1alpha1.Topology {
	p := c.spec.Section("topology", topologyFields)
	if p == nil {
		return v1alpha1.TopologyPublic
	}
	masters, nodes := p.Text("masters"), p.Text("nodes")
	if masters != "" && nodes != "" && masters != nodes {
		p.Refuse("masters", "slots and nodes use subnets of the same kind: use the value of nodes, or change both")
	}
	if b := p.Section("bastion", bastionFields); b != nil {
		b.Finish()
	}
	p.Field("dns") // read with the API's name
	p.Finish()
	switch strings.ToLower(nodes + masters) {
	case "private", "privateprivate":
		return v1alpha1.TopologyPrivate
	case "", "public", "publicpublic":
	default:
		p.Refuse("nodes", "write public or private")
	}
	return v1alpha1.TopologyPublic
}

// network translates the VPC and the ranges.
func (c *cluster) network(n *v1alpha1.Network) {
	n.Topology = c.topology()
	n.VPC = c.spec.Text("networkID")
	existing := 0
	for _, s := range c.subnets {
		if s.id != "" {
			existing++
		}
	}
	switch {
	case existing > 0 && existing < len(c.subnets):
		c.spec.Refuse("subnets", "some subnets have an id and some have none: set an id for all or for none")
	case existing > 0 && n.VPC == "":
		c.spec.Refuse("networkID", "the subnets exist already: set their VPC")
	case existing > 0:
		c.existingSubnets(n)
	case n.VPC != "":
		c.spec.Refuse(
			"networkID",
			"the operator cannot create subnets in an existing VPC: create them, for example with Terraform, and set the id of each",
		)
	default:
		c.newSubnets(n)
	}
	c.ranges(n)
}

// existingSubnets uses subnets by their IDs. It leaves their routes unchanged, as kops does
// (https://kops.sigs.k8s.io/run_in_existing_vpc/#shared-nat-egress).
func (c *cluster) existingSubnets(n *v1alpha1.Network) {
	for _, s := range c.subnets {
		if via := s.part.Text("egress"); via != "" {
			s.part.Note(
				"egress",
				Info,
				"the operator, like kops, does not change the routes of existing subnets: make sure that the route of this one leads there",
			)
		}
		if s.part.Text("publicIP") != "" {
			s.part.Note("publicIP", Info, "no NAT gateway is created for existing subnets")
		}
		if s.part.Field("additionalRoutes") != nil {
			s.part.Note("additionalRoutes", Warning, "the routes of existing subnets are not changed: create these yourself")
		}
		s.part.Finish()
		if s.spare {
			s.part.Note(
				"",
				Info,
				fmt.Sprintf(
					"zone %s has another %s subnet, which the cluster uses; groups that name this one use it",
					s.zone,
					strings.ToLower(string(s.role)),
				),
			)
			continue
		}
		n.Subnets = append(n.Subnets, v1alpha1.Subnet{ID: s.id, Zone: s.zone, Role: s.role})
	}
}

// newSubnets takes the zones of the subnets to be made, and decides their way out.
func (c *cluster) newSubnets(n *v1alpha1.Network) {
	n.CIDR = c.spec.Text("networkCIDR")
	if n.CIDR == "" {
		c.spec.Refuse("networkCIDR", "a new VPC requires a range: set one, for example 172.20.0.0/16")
	}
	var external, gateways int
	role := v1alpha1.SubnetPublic
	if n.Topology == v1alpha1.TopologyPrivate {
		role = v1alpha1.SubnetPrivate
	}
	for _, s := range c.subnets {
		if s.part.Text("publicIP") != "" {
			s.part.Refuse(
				"publicIP",
				"traffic would come from another address, which other networks may block: leave it out if they allow it",
			)
		}
		if s.part.Field("additionalRoutes") != nil {
			s.part.Refuse("additionalRoutes", "traffic would take another route: use existing subnets with routes of your own")
		}
		via := s.part.Text("egress")
		switch {
		case s.role != v1alpha1.SubnetPrivate:
		case via == "External":
			external++
		case via == "":
			gateways++
		default:
			s.part.Refuse(
				"egress",
				"traffic would take another route: use existing subnets with routes of your own, or leave it out to get a NAT gateway in each zone",
			)
		}
		s.part.Finish()
		if s.role == role && !s.spare {
			n.Zones = append(n.Zones, s.zone)
		}
		if s.spare {
			s.part.Refuse("zone", "a new VPC has one subnet of each kind in a zone")
		}
	}
	if len(c.subnets) > 0 {
		c.spec.Note("subnets", Info, "the ranges of new subnets follow from the VPC's range and the letter of their zone")
	}
	switch {
	case n.Topology == v1alpha1.TopologyPublic:
	case external > 0 && gateways > 0:
		c.spec.Refuse("subnets", "some private subnets have egress External and some have none: traffic would take another route")
	case external > 0:
		n.NAT = v1alpha1.NATNone
	default:
		n.NAT = v1alpha1.NATPerZone
	}
}

// How kops divides the nonMasqueradeCIDR: the upper half is the pods', the first eighth the
// services'.
const (
	defaultRange = "100.64.0.0/10"
	podBits      = 1
	serviceBits  = 3
)

// ranges translates the ranges of pods and services, with kops' defaults, so that configuration
// that contains those ranges stays valid.
func (c *cluster) ranges(n *v1alpha1.Network) {
	whole := c.spec.Text("nonMasqueradeCIDR")
	vpcAddresses := c.spec.Value.Field("networking").Field("amazonvpc") != nil
	if whole == "" || vpcAddresses { // there kops writes the network's range, which pods have no addresses of here
		whole = defaultRange
	}
	n.ServiceCIDR, n.PodCIDR = c.spec.Text("serviceClusterIPRange"), c.spec.Text("podCIDR")
	if controllers := c.spec.Value.Field("kubeControllerManager"); controllers != nil && n.PodCIDR == "" {
		if given := controllers.Field("clusterCIDR"); given != nil {
			n.PodCIDR = given.Text
		}
	}
	p, err := netip.ParsePrefix(whole)
	if err != nil || !p.Addr().Is4() {
		c.spec.Refuse("nonMasqueradeCIDR", "pods and services have IPv4 addresses: write an IPv4 range")
		return
	}
	if n.PodCIDR == "" || vpcAddresses {
		n.PodCIDR = part4(p, podBits, 1)
	}
	if n.ServiceCIDR == "" {
		n.ServiceCIDR = part4(p, serviceBits, 0)
	}
	c.checkRanges(n)
}

// part4 returns the nth of the 2^bits parts of an IPv4 range.
func part4(p netip.Prefix, bits, n int) string {
	address := p.Masked().Addr().As4()
	length := p.Bits() + bits
	value := binary.BigEndian.Uint32(address[:]) | uint32(n)<<(32-min(length, 32)) //nolint:gosec // n is below 2^bits
	binary.BigEndian.PutUint32(address[:], value)
	return netip.PrefixFrom(netip.AddrFrom4(address), min(length, 32)).String()
}

// checkRanges refuses ranges of which one address would be two things.
func (c *cluster) checkRanges(n *v1alpha1.Network) {
	var vpc []string
	if cidr := c.spec.Text("networkCIDR"); cidr != "" {
		vpc = append(vpc, cidr)
	}
	more := c.spec.Texts("additionalNetworkCIDRs")
	if len(more) > 0 && n.VPC == "" {
		c.spec.Refuse("additionalNetworkCIDRs", "a new VPC has one range: create the VPC yourself, and name it in networkID")
	}
	vpc = append(vpc, more...)
	ranges := []struct{ field, of, cidr string }{
		{"serviceClusterIPRange", "services", n.ServiceCIDR}, {"podCIDR", "pods", n.PodCIDR},
	}
	for i, one := range ranges {
		p, err := netip.ParsePrefix(one.cidr)
		if one.cidr == "" {
			continue
		}
		if err != nil || !p.Addr().Is4() {
			c.spec.Refuse(one.field, fmt.Sprintf("%q is not an IPv4 range", one.cidr))
			continue
		}
		for _, cidr := range vpc {
			if overlaps(p, cidr) {
				c.spec.Refuse(
					c.rangeField(one.field),
					fmt.Sprintf("the range of %s, %s, overlaps the network's %s: take another", one.of, one.cidr, cidr),
				)
			}
		}
		if i > 0 && overlaps(p, n.ServiceCIDR) {
			c.spec.Refuse(
				c.rangeField(one.field),
				fmt.Sprintf("the range of pods, %s, overlaps that of services, %s: take another", one.cidr, n.ServiceCIDR),
			)
		}
	}
}

// overlaps reports whether a range has addresses of another; what is no range has none.
func overlaps(p netip.Prefix, other string) bool {
	parsed, err := netip.ParsePrefix(other)
	return err == nil && parsed.Overlaps(p)
}

// rangeField is the field with a range that the user wrote.
func (c *cluster) rangeField(field string) string {
	if c.spec.Value.Field(field) == nil && c.spec.Value.Field("nonMasqueradeCIDR") != nil {
		return "nonMasqueradeCIDR"
	}
	return field
}

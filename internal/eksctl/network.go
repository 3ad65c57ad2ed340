package eksctl

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/translation"
)

// defaultRange is the range of a VPC that eksctl makes.
// https://docs.aws.amazon.com/eks/latest/eksctl/vpc-configuration.html
const defaultRange = "192.168.0.0/16"

// subnet is an existing subnet, under its name in the ClusterConfig.
type subnet struct {
	v1alpha1.Subnet

	name string
}

// network translates the VPC, its subnets, and how the API is reached.
func (c *cluster) network() {
	n := &c.result.Spec.Network
	n.Topology = c.topology()
	n.Zones = c.spec.Texts("availabilityZones")
	if p := c.spec.Section("kubernetesNetworkConfig", networkFields); p != nil {
		n.ServiceCIDR = p.Text("serviceIPv4CIDR")
		p.Finish()
	}
	vpc := c.spec.Section("vpc", vpcFields)
	if vpc == nil {
		vpc = c.report.Part(c.document, "ClusterConfig", "vpc", nil, vpcFields)
	}
	n.VPC, n.CIDR = vpc.Text("id"), vpc.Text("cidr")
	c.readSubnets(vpc)
	if n.VPC == "" && len(c.subnets) > 0 {
		vpc.Refuse("id", "the subnets exist: set the ID of their VPC, for example vpc-0123456789abcdef0")
	}
	if n.VPC != "" {
		c.existing(vpc)
	} else {
		c.made(vpc)
	}
	c.endpoint(vpc)
	if vpc.Value != nil {
		vpc.Finish()
	}
}

// topology returns the kind of subnets that all nodes run in.
func (c *cluster) topology() v1alpha1.Topology {
	private := 0
	for _, g := range c.groups {
		if g.private {
			private++
		}
	}
	if private > 0 && private < len(c.groups) {
		c.groups[0].spec.Refuse(
			"privateNetworking", "some groups have it and some have none, but all nodes run in one kind of subnets: set it to the same value in all",
		)
	}
	if private > 0 || len(c.groups) == 0 {
		return v1alpha1.TopologyPrivate
	}
	return v1alpha1.TopologyPublic
}

// readSubnets reads the existing subnets.
func (c *cluster) readSubnets(vpc *translation.Part) {
	both := vpc.Section("subnets", subnetsFields)
	if both == nil {
		return
	}
	for _, role := range []v1alpha1.SubnetRole{v1alpha1.SubnetPrivate, v1alpha1.SubnetPublic} {
		name := strings.ToLower(string(role))
		section := both.Section(name, nil)
		if section == nil {
			continue
		}
		for _, entry := range section.Value.Entries {
			one := section.Section(entry.Key, subnetFields)
			if one == nil {
				continue
			}
			s := subnet{name: entry.Key, Subnet: v1alpha1.Subnet{ID: one.Text("id"), Zone: one.Text("az"), Role: role}}
			if s.Zone == "" {
				s.Zone = entry.Key
			}
			if s.ID == "" {
				one.Refuse("id", "the range of a new subnet follows from the VPC's range and the letter of its zone: leave out the subnets and list availabilityZones, or set the ID of an existing subnet")
			}
			one.Finish()
			c.subnets = append(c.subnets, s)
		}
	}
	both.Finish()
}

// existing takes the subnets of an existing VPC.
func (c *cluster) existing(vpc *translation.Part) {
	n := &c.result.Spec.Network
	if n.CIDR != "" {
		vpc.Note("cidr", translation.Info, "the range of an existing VPC is its own")
		n.CIDR = ""
	}
	if len(n.Zones) > 0 {
		c.spec.Note("availabilityZones", translation.Info, "the zones are those of the existing subnets")
		n.Zones = nil
	}
	if p := vpc.Section("nat", natFields); p != nil {
		p.Use("gateway")
		p.Note("gateway", translation.Info, "no NAT gateway is made for existing subnets")
		p.Finish()
	}
	if len(c.subnets) == 0 {
		vpc.Refuse("subnets", "an existing VPC needs subnets: list them with their IDs")
	}
	taken := map[string]bool{}
	for _, s := range c.subnets {
		if key := string(s.Role) + " " + s.Zone; !taken[key] {
			taken[key] = true
			n.Subnets = append(n.Subnets, s.Subnet)
			continue
		}
		vpc.Note("subnets", translation.Info, fmt.Sprintf(
			"zone %s has another %s subnet, which the cluster uses; groups that name %s use it", s.Zone, strings.ToLower(string(s.Role)), s.name,
		))
	}
}

// made describes a new VPC.
func (c *cluster) made(vpc *translation.Part) {
	n := &c.result.Spec.Network
	if n.CIDR == "" {
		n.CIDR = defaultRange
	}
	if len(n.Zones) == 0 {
		c.spec.Refuse("availabilityZones", "eksctl chooses zones at random: list at least two zones of the region, for example eu-central-1a")
	}
	gateway := "Single"
	if p := vpc.Section("nat", natFields); p != nil {
		gateway = p.Text("gateway")
		if _, known := nats[gateway]; !known && gateway != "" {
			p.Refuse("gateway", "write Single, HighlyAvailable or Disable")
		}
		p.Finish()
	}
	if n.Topology == v1alpha1.TopologyPrivate {
		n.NAT = nats[gateway]
	}
}

// nats are the ways out of private subnets.
var nats = map[string]v1alpha1.NAT{
	"": v1alpha1.NATSingle, "Single": v1alpha1.NATSingle, "HighlyAvailable": v1alpha1.NATPerZone, "Disable": v1alpha1.NATNone,
}

// endpoint translates how the API is reached.
func (c *cluster) endpoint(vpc *translation.Part) {
	api := &c.result.Spec.API
	api.Access = v1alpha1.APIPublic
	if p := vpc.Section("clusterEndpoints", endpointFields); p != nil {
		public, private := p.Truth("publicAccess", true), p.Truth("privateAccess", false)
		switch {
		case !public && !private:
			p.Refuse("publicAccess", "the API would have no endpoint: set publicAccess or privateAccess")
		case !public:
			api.Access = v1alpha1.APIInternal
		case !private:
			p.Note("privateAccess", translation.Info, "nodes reach the API inside the VPC")
		}
		p.Finish()
	}
	for _, text := range vpc.Texts("publicAccessCIDRs") {
		p, err := netip.ParsePrefix(text)
		switch {
		case err != nil:
			vpc.Refuse("publicAccessCIDRs", fmt.Sprintf("%q is not a range: write for example 192.0.2.0/24", text))
		case !p.Addr().Is4():
			vpc.Note("publicAccessCIDRs", translation.Warning, text+" is dropped: only IPv4 ranges can reach the API")
		default:
			api.AllowedCIDRs = append(api.AllowedCIDRs, p.Masked().String())
		}
	}
	if given := vpc.Value.Field("publicAccessCIDRs"); given != nil && len(given.Items) > 0 && len(api.AllowedCIDRs) == 0 {
		vpc.Refuse("publicAccessCIDRs", "no range may reach the API, which would mean that all may: name at least one IPv4 range")
	}
	if slices.Contains(api.AllowedCIDRs, "0.0.0.0/0") {
		api.AllowedCIDRs = nil // all, as when there is none
	}
}

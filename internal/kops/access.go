package kops

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// api translates how the API is reached.
func (c *cluster) api(to *v1alpha1.APIEndpoint) {
	private := c.result.Spec.Network.Topology == v1alpha1.TopologyPrivate
	to.Access = v1alpha1.APIPublic
	if p := c.spec.Section("api", apiFields); p != nil {
		endpointOf(p, to, private)
		p.Finish()
	}
	to.AllowedCIDRs = c.cidrs("kubernetesApiAccess")
	if v := c.spec.Value.Field("kubernetesApiAccess"); v != nil && len(to.AllowedCIDRs) == 0 {
		c.spec.Refuse("kubernetesApiAccess", "no range may reach the API, which would mean that all may: name at least one IPv4 range")
	}
	if slices.Contains(to.AllowedCIDRs, "0.0.0.0/0") {
		to.AllowedCIDRs = nil // all, as when there is none
	}
	to.ExtraNames = c.spec.Texts("additionalSans")
}

// endpointOf translates whether the API is reached by a load balancer, and by which.
func endpointOf(p *part, to *v1alpha1.APIEndpoint, private bool) {
	b := p.Section("loadBalancer", balancerFields)
	if p.Field("dns") != nil && b == nil {
		p.Note("dns", Info, "the API has a load balancer, whose name does not change when nodes are replaced")
		if private {
			to.Access = v1alpha1.APIInternal
		}
	}
	if b == nil {
		return
	}
	switch kind := b.Text("type"); kind {
	case "Internal":
		to.Access = v1alpha1.APIInternal
	case "Public", "":
	default:
		b.Refuse("type", "write Public or Internal")
	}
	to.SecurityGroups = securityGroupsOf(b, "additionalSecurityGroups")
	b.Finish()
}

// securityGroupsOf returns the IDs of existing security groups.
func securityGroupsOf(p *part, field string) []string {
	groups := p.Texts(field)
	const most = 4
	if len(groups) > most {
		p.Refuse(field, fmt.Sprintf("at most %d can be attached: merge the rules of some", most))
		return nil
	}
	return groups
}

// cidrs returns the IPv4 ranges of a field.
func (c *cluster) cidrs(field string) []string {
	var all []string
	for _, text := range c.spec.Texts(field) {
		p, err := netip.ParsePrefix(text)
		switch {
		case err == nil && p.Addr().Is4():
			if cidr := p.Masked().String(); !slices.Contains(all, cidr) {
				all = append(all, cidr)
			}
		case err == nil:
			c.spec.Note(field, Warning, text+" is dropped: nodes have IPv4 addresses only")
		case strings.HasPrefix(text, "pl-"):
			c.spec.Note(
				field,
				Warning,
				text+" is dropped: prefix lists have no counterpart, so list their ranges or attach a security group of your own",
			)
		default:
			c.spec.Refuse(field, fmt.Sprintf("%q is not a range: write for example 192.0.2.0/24", text))
		}
	}
	return all
}

// access translates who may log in.
func (c *cluster) access() {
	s := &c.result.Spec
	given := c.spec.Value.Field("sshAccess") != nil
	cidrs := c.cidrs("sshAccess")
	if s.Bastion = c.bastion(); s.Bastion != nil {
		s.Bastion.AllowedCIDRs = cidrs
	} else {
		s.SSH.AllowedCIDRs = cidrs
	}
	if !given {
		c.spec.Note("sshAccess", Info, "without ranges, no one can log in by SSH")
	}
	for _, key := range c.keys {
		if text := key.Text("publicKey"); text != "" {
			s.SSH.AuthorizedKeys = append(s.SSH.AuthorizedKeys, strings.TrimSpace(text))
		}
		key.Finish()
	}
	if len(s.SSH.AuthorizedKeys) == 0 && len(cidrs) > 0 && c.spec.Value.Field("sshKeyName") == nil {
		c.spec.Note(
			"sshAccess", Warning, "kops keeps SSH keys in its state: set the public keys in spec.ssh.authorizedKeys, or no one can log in",
		)
	}
}

// dns translates the API's name.
func (c *cluster) dns() {
	s := &c.result.Spec
	zone, public := c.spec.Text("dnsZone"), c.spec.Text("masterPublicName")
	gossip := strings.HasSuffix(c.name, ".k8s.local")
	name := public
	if name == "" {
		name = "api." + c.name
	}
	kind := "Public"
	if v := c.spec.Value.Field("topology").Field("dns").Field("type"); v != nil {
		kind = v.Text
	}
	switch {
	case gossip:
	case kind == "Public" && isZoneID(zone):
		s.DNS = &v1alpha1.DNS{HostedZoneID: zone, Name: name}
		return
	case kind == "Public":
		c.spec.Note("dnsZone", Warning, fmt.Sprintf(
			"the API's record, %s, is not created: set the ID of the hosted zone, for example Z0123456789ABCDEFGHIJ, or create it yourself as an alias of the load balancer",
			name,
		))
	default:
		c.spec.Note("dnsZone", Warning, fmt.Sprintf(
			"the API's record, %s, is not created, since the zone is not public: create it yourself as an alias of the load balancer",
			name,
		))
	}
	if !gossip || public != "" {
		s.API.ExtraNames = appendNew(s.API.ExtraNames, name)
	}
}

func appendNew(list []string, text string) []string {
	if slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

// isZoneID reports whether a zone is given by its ID, not by its name.
func isZoneID(zone string) bool { return strings.HasPrefix(zone, "Z") && !strings.Contains(zone, ".") }

// check says what can only be said of the whole.
func (c *cluster) check() {
	s := &c.result.Spec
	if s.Network.VPC == "" {
		return
	}
	has := func(role v1alpha1.SubnetRole) bool {
		return slices.ContainsFunc(s.Network.Subnets, func(n v1alpha1.Subnet) bool { return n.Role == role })
	}
	if !has(v1alpha1.SubnetPublic) && (s.API.Access == v1alpha1.APIPublic || s.Bastion != nil) {
		c.spec.Refuse("subnets", "a public API and bastions need a subnet of type Utility or Public: add one")
	}
	if !has(v1alpha1.SubnetRole(s.Network.Topology)) {
		c.spec.Refuse(
			"subnets", fmt.Sprintf("topology is %s, and no subnet is of that type: add one", strings.ToLower(string(s.Network.Topology))),
		)
	}
}

package vpc

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// anyProtocol means all protocols and ports.
const anyProtocol = "-1"

// rule allows traffic of one protocol from or to one peer: a range of addresses, a group or a
// prefix list.
type rule struct {
	id          string
	egress      bool
	protocol    string
	from, to    *int32
	peer, owner string
	description string
}

// The kinds of peers.
const (
	peerIPv4  = "ipv4"
	peerIPv6  = "ipv6"
	peerGroup = "group"
	peerList  = "list"
)

func (x *rule) peerKind() string {
	switch {
	case strings.HasPrefix(x.peer, "sg-"):
		return peerGroup
	case strings.HasPrefix(x.peer, "pl-"):
		return peerList
	case strings.Contains(x.peer, ":"):
		return peerIPv6
	default:
		return peerIPv4
	}
}

// same reports whether two rules allow the same traffic; it ignores their descriptions.
func (x *rule) same(o *rule) bool {
	return x.egress == o.egress && x.protocol == o.protocol && x.peer == o.peer && portText(x.from) == portText(o.from) &&
		portText(x.to) == portText(o.to)
}

// String returns a rule in the form of EC2's messages.
func (x *rule) String() string {
	ports := ""
	protocol := strings.ToUpper(x.protocol)
	if x.protocol == anyProtocol {
		protocol = "ALL"
	} else if x.from != nil {
		ports = fmt.Sprintf(", from port: %s, to port: %s", portText(x.from), portText(x.to))
	}
	return "peer: " + x.peer + ", " + protocol + ports + ", ALLOW"
}

func portText(p *int32) string {
	if p == nil {
		return ""
	}
	return decimal(int(*p))
}

// protocolNames are the protocols that have a name in EC2; others are numbers.
var protocolNames = map[string]string{"6": "tcp", "17": "udp", "1": "icmp", "58": "icmpv6", "all": anyProtocol}

// checkPorts normalizes protocol and ports as EC2 does.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_IpPermission.html
func checkPorts(p *types.IpPermission) (protocol string, from, to *int32, err error) {
	protocol = strings.ToLower(aws.ToString(p.IpProtocol))
	protocol = cmp.Or(protocolNames[protocol], protocol)
	switch protocol {
	case anyProtocol:
		return protocol, nil, nil, nil
	case "tcp", "udp":
		f, t := aws.ToInt32(p.FromPort), aws.ToInt32(p.ToPort)
		if p.FromPort == nil || p.ToPort == nil {
			return "", nil, nil, wire.Errorf(
				"InvalidParameterValue", "Invalid value 'Must specify both from and to ports with TCP/UDP.' for portRange.",
			)
		}
		if f == -1 && t == -1 {
			f, t = 0, 65535
		}
		if f < 0 || t > 65535 || f > t {
			return "", nil, nil, wire.Errorf("InvalidParameterValue", "Invalid %s port range (%d:%d)", strings.ToUpper(protocol), f, t)
		}
		return protocol, aws.Int32(f), aws.Int32(t), nil
	case "icmp", "icmpv6":
		from, to = p.FromPort, p.ToPort
		if from == nil {
			from = aws.Int32(-1)
		}
		if to == nil {
			to = aws.Int32(-1)
		}
		return protocol, from, to, nil
	case "":
		return "", nil, nil, missing("ipProtocol")
	}
	var number int
	if _, err := fmt.Sscanf(protocol, "%d", &number); err != nil || number < 0 || number > 255 {
		return "", nil, nil, wire.Errorf(
			"InvalidParameterValue", "Invalid value '%s' for IP protocol. Unknown protocol.", aws.ToString(p.IpProtocol),
		)
	}
	return protocol, nil, nil, nil
}

// rulesOf splits a permission into rules with one peer each.
func (r *region) rulesOf(g *group, p *types.IpPermission, egress bool) ([]rule, error) {
	protocol, from, to, err := checkPorts(p)
	if err != nil {
		return nil, err
	}
	var list []rule
	add := func(peer, owner string, description *string) {
		list = append(
			list,
			rule{egress: egress, protocol: protocol, from: from, to: to, peer: peer, owner: owner, description: aws.ToString(description)},
		)
	}
	for _, x := range p.IpRanges {
		cidr, err := netip.ParsePrefix(aws.ToString(x.CidrIp))
		if err != nil || !cidr.Addr().Is4() {
			return nil, wire.Errorf("InvalidParameterValue", "CIDR block %s is malformed", aws.ToString(x.CidrIp))
		}
		add(cidr.Masked().String(), "", x.Description)
	}
	for _, x := range p.Ipv6Ranges {
		cidr, err := netip.ParsePrefix(aws.ToString(x.CidrIpv6))
		if err != nil || !cidr.Addr().Is6() {
			return nil, wire.Errorf("InvalidParameterValue", "CIDR block %s is malformed", aws.ToString(x.CidrIpv6))
		}
		add(cidr.Masked().String(), "", x.Description)
	}
	for _, x := range p.PrefixListIds {
		if err := r.checkList(aws.ToString(x.PrefixListId)); err != nil {
			return nil, err
		}
		add(*x.PrefixListId, "", x.Description)
	}
	for _, x := range p.UserIdGroupPairs {
		peer, err := r.groupOf(x.GroupId, x.GroupName)
		if err != nil {
			return nil, err
		}
		if peer.vpc != g.vpc {
			return nil, wire.Errorf("InvalidGroup.NotFound", "You have specified two resources that belong to different networks.")
		}
		add(peer.id, r.Account, x.Description)
	}
	if len(list) == 0 {
		return nil, wire.Errorf("MissingParameter", "Either 'cidrIp', 'cidrIpv6', 'prefixListId' or 'groupId' must be specified.")
	}
	return list, nil
}

// authorize adds rules to a group, all or none.
func (r *region) authorize(g *group, list []types.IpPermission, egress bool, tags map[string]string) ([]rule, error) {
	if len(list) == 0 {
		return nil, missing("ipPermissions")
	}
	var fresh []rule
	for _, p := range list {
		rules, err := r.rulesOf(g, &p, egress)
		if err != nil {
			return nil, err
		}
		for _, x := range rules {
			if slices.ContainsFunc(append(g.rules, fresh...), func(o rule) bool { return o.same(&x) }) {
				return nil, wire.Errorf("InvalidPermission.Duplicate", "the specified rule \"%s\" already exists", x.String())
			}
			fresh = append(fresh, x)
		}
	}
	n := 0
	for _, x := range g.rules {
		if x.egress == egress {
			n++
		}
	}
	err := r.within(
		RulesOfGroup,
		n+len(fresh)-1,
		"RulesPerSecurityGroupLimitExceeded",
		"The maximum number of rules per security group has been reached.",
	)
	if err != nil {
		return nil, err
	}
	added := r.addRules(g, fresh...)
	for _, x := range added {
		r.tags.Set(x.id, tags)
	}
	return added, nil
}

func (r *region) addRules(g *group, rules ...rule) []rule {
	before := len(g.rules)
	for _, x := range rules {
		x.id = r.newID("sgr", types.ResourceTypeSecurityGroupRule, nil).id
		g.rules = append(g.rules, x)
		r.ruleGroups[x.id] = g
	}
	return g.rules[before:]
}

// revoke removes rules from a group. A rule that the group does not have is an error.
func (r *region) revoke(g *group, list []types.IpPermission, ids []string, egress bool) ([]rule, error) {
	var removed []rule
	for _, id := range ids {
		i := slices.IndexFunc(g.rules, func(x rule) bool { return x.id == id && x.egress == egress })
		if i < 0 {
			return nil, noID(id)
		}
		removed = append(removed, g.rules[i])
	}
	for _, p := range list {
		rules, err := r.rulesOf(g, &p, egress)
		if err != nil {
			return nil, err
		}
		for _, x := range rules {
			i := slices.IndexFunc(g.rules, func(o rule) bool { return o.same(&x) })
			if i < 0 {
				return nil, wire.Errorf("InvalidPermission.NotFound", "The specified rule does not exist in this security group.")
			}
			removed = append(removed, g.rules[i])
		}
	}
	r.dropRules(g, removed)
	return removed, nil
}

func (r *region) dropRules(g *group, removed []rule) {
	for _, d := range removed {
		g.rules = slices.DeleteFunc(g.rules, func(x rule) bool { return x.id == d.id })
		r.forgetRule(d.id)
	}
}

func (r *region) forgetRule(id string) {
	delete(r.ruleGroups, id)
	r.tags.Forget(id)
}

// permissions groups rules of one direction by protocol and ports, as EC2's responses do.
func permissions(rules []rule, egress bool) []types.IpPermission {
	list := []types.IpPermission{}
	at := map[string]int{}
	for _, x := range rules {
		if x.egress != egress {
			continue
		}
		key := x.protocol + "/" + portText(x.from) + "/" + portText(x.to)
		i, ok := at[key]
		if !ok {
			i, at[key] = len(list), len(list)
			list = append(list, types.IpPermission{IpProtocol: aws.String(x.protocol), FromPort: x.from, ToPort: x.to})
		}
		x.addTo(&list[i])
	}
	return list
}

func (x *rule) addTo(p *types.IpPermission) {
	description := wire.Optional(x.description)
	switch x.peerKind() {
	case peerGroup:
		p.UserIdGroupPairs = append(
			p.UserIdGroupPairs,
			types.UserIdGroupPair{GroupId: aws.String(x.peer), UserId: wire.Optional(x.owner), Description: description},
		)
	case peerList:
		p.PrefixListIds = append(p.PrefixListIds, types.PrefixListId{PrefixListId: aws.String(x.peer), Description: description})
	case peerIPv6:
		p.Ipv6Ranges = append(p.Ipv6Ranges, types.Ipv6Range{CidrIpv6: aws.String(x.peer), Description: description})
	default:
		p.IpRanges = append(p.IpRanges, types.IpRange{CidrIp: aws.String(x.peer), Description: description})
	}
}

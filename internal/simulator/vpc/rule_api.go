package vpc

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// single converts the older parameters, which hold one rule, to a permission.
func single(list []types.IpPermission, protocol, cidr, group *string, from, to *int32) []types.IpPermission {
	if len(list) > 0 || protocol == nil {
		return list
	}
	p := types.IpPermission{IpProtocol: protocol, FromPort: from, ToPort: to}
	if cidr != nil {
		p.IpRanges = []types.IpRange{{CidrIp: cidr}}
	}
	if group != nil {
		p.UserIdGroupPairs = []types.UserIdGroupPair{{GroupName: group}}
	}
	return []types.IpPermission{p}
}

func (r *region) authorizeIngress(in *ec2.AuthorizeSecurityGroupIngressInput) (*ec2.AuthorizeSecurityGroupIngressOutput, error) {
	list := single(in.IpPermissions, in.IpProtocol, in.CidrIp, in.SourceSecurityGroupName, in.FromPort, in.ToPort)
	rules, err := r.authorizeCall(in.GroupId, in.GroupName, list, in.TagSpecifications, false)
	return &ec2.AuthorizeSecurityGroupIngressOutput{Return: yes(), SecurityGroupRules: rules}, err
}

func (r *region) authorizeEgress(in *ec2.AuthorizeSecurityGroupEgressInput) (*ec2.AuthorizeSecurityGroupEgressOutput, error) {
	list := single(in.IpPermissions, in.IpProtocol, in.CidrIp, in.SourceSecurityGroupName, in.FromPort, in.ToPort)
	rules, err := r.authorizeCall(in.GroupId, nil, list, in.TagSpecifications, true)
	return &ec2.AuthorizeSecurityGroupEgressOutput{Return: yes(), SecurityGroupRules: rules}, err
}

func (r *region) authorizeCall(
	id, name *string, list []types.IpPermission, specs []types.TagSpecification, egress bool,
) ([]types.SecurityGroupRule, error) {
	g, err := r.groupOf(id, name)
	if err != nil {
		return nil, err
	}
	tags, err := TagsFor(specs, types.ResourceTypeSecurityGroupRule)
	if err != nil {
		return nil, err
	}
	added, err := r.authorize(g, list, egress, tags[types.ResourceTypeSecurityGroupRule])
	if err != nil {
		return nil, err
	}
	var out []types.SecurityGroupRule
	for _, x := range added {
		out = append(out, r.describeRule(ruleOf{g, x}))
	}
	return out, nil
}

func (r *region) revokeIngress(in *ec2.RevokeSecurityGroupIngressInput) (*ec2.RevokeSecurityGroupIngressOutput, error) {
	list := single(in.IpPermissions, in.IpProtocol, in.CidrIp, in.SourceSecurityGroupName, in.FromPort, in.ToPort)
	revoked, err := r.revokeCall(in.GroupId, in.GroupName, list, in.SecurityGroupRuleIds, false)
	return &ec2.RevokeSecurityGroupIngressOutput{Return: yes(), RevokedSecurityGroupRules: revoked}, err
}

func (r *region) revokeEgress(in *ec2.RevokeSecurityGroupEgressInput) (*ec2.RevokeSecurityGroupEgressOutput, error) {
	list := single(in.IpPermissions, in.IpProtocol, in.CidrIp, in.SourceSecurityGroupName, in.FromPort, in.ToPort)
	revoked, err := r.revokeCall(in.GroupId, nil, list, in.SecurityGroupRuleIds, true)
	return &ec2.RevokeSecurityGroupEgressOutput{Return: yes(), RevokedSecurityGroupRules: revoked}, err
}

func (r *region) revokeCall(
	id, name *string, list []types.IpPermission, ids []string, egress bool,
) ([]types.RevokedSecurityGroupRule, error) {
	g, err := r.groupOf(id, name)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 && len(ids) == 0 {
		return nil, missing("ipPermissions")
	}
	rules, err := r.revoke(g, list, ids, egress)
	if err != nil {
		return nil, err
	}
	var out []types.RevokedSecurityGroupRule
	for _, x := range rules {
		d := r.describeRule(ruleOf{g, x})
		revoked := types.RevokedSecurityGroupRule{
			SecurityGroupRuleId: d.SecurityGroupRuleId, GroupId: d.GroupId, IsEgress: d.IsEgress, IpProtocol: d.IpProtocol,
			FromPort: d.FromPort,
			ToPort:   d.ToPort, CidrIpv4: d.CidrIpv4, CidrIpv6: d.CidrIpv6, PrefixListId: d.PrefixListId, Description: d.Description,
		}
		if d.ReferencedGroupInfo != nil {
			revoked.ReferencedGroupId = d.ReferencedGroupInfo.GroupId
		}
		out = append(out, revoked)
	}
	return out, nil
}

// describing changes the descriptions of existing rules.
func (r *region) describing(id, name *string, list []types.IpPermission, byID []types.SecurityGroupRuleDescription, egress bool) error {
	g, err := r.groupOf(id, name)
	if err != nil {
		return err
	}
	for _, d := range byID {
		i := slices.IndexFunc(g.rules, func(x rule) bool { return x.id == aws.ToString(d.SecurityGroupRuleId) && x.egress == egress })
		if i < 0 {
			return noID(aws.ToString(d.SecurityGroupRuleId))
		}
		g.rules[i].description = aws.ToString(d.Description)
	}
	for _, p := range list {
		rules, err := r.rulesOf(g, &p, egress)
		if err != nil {
			return err
		}
		for _, x := range rules {
			i := slices.IndexFunc(g.rules, func(o rule) bool { return o.same(&x) })
			if i < 0 {
				return wire.Errorf("InvalidPermission.NotFound", "The specified rule does not exist in this security group.")
			}
			g.rules[i].description = x.description
		}
	}
	return nil
}

func (r *region) updateIngressDescriptions(
	in *ec2.UpdateSecurityGroupRuleDescriptionsIngressInput,
) (*ec2.UpdateSecurityGroupRuleDescriptionsIngressOutput, error) {
	err := r.describing(in.GroupId, in.GroupName, in.IpPermissions, in.SecurityGroupRuleDescriptions, false)
	return &ec2.UpdateSecurityGroupRuleDescriptionsIngressOutput{Return: yes()}, err
}

func (r *region) updateEgressDescriptions(
	in *ec2.UpdateSecurityGroupRuleDescriptionsEgressInput,
) (*ec2.UpdateSecurityGroupRuleDescriptionsEgressOutput, error) {
	err := r.describing(in.GroupId, in.GroupName, in.IpPermissions, in.SecurityGroupRuleDescriptions, true)
	return &ec2.UpdateSecurityGroupRuleDescriptionsEgressOutput{Return: yes()}, err
}

// ruleOf is a rule with its group.
type ruleOf struct {
	group *group
	rule  rule
}

func (x ruleOf) ident() string { return x.rule.id }

func (r *region) describeRule(x ruleOf) types.SecurityGroupRule {
	d := types.SecurityGroupRule{
		SecurityGroupRuleId: aws.String(x.rule.id), GroupId: aws.String(x.group.id), GroupOwnerId: aws.String(r.Account),
		SecurityGroupRuleArn: aws.String(r.ARN(r.partition(), "ec2", "security-group-rule/"+x.rule.id)),
		IsEgress:             aws.Bool(x.rule.egress), IpProtocol: aws.String(x.rule.protocol), FromPort: x.rule.from, ToPort: x.rule.to,
		Description: wire.Optional(x.rule.description), Tags: r.tags.List(x.rule.id),
	}
	if x.rule.protocol == anyProtocol {
		d.FromPort, d.ToPort = aws.Int32(-1), aws.Int32(-1)
	}
	switch x.rule.peerKind() {
	case peerGroup:
		d.ReferencedGroupInfo = &types.ReferencedSecurityGroup{GroupId: aws.String(x.rule.peer), UserId: wire.Optional(x.rule.owner)}
	case peerList:
		d.PrefixListId = aws.String(x.rule.peer)
	case peerIPv6:
		d.CidrIpv6 = aws.String(x.rule.peer)
	default:
		d.CidrIpv4 = aws.String(x.rule.peer)
	}
	return d
}

func (r *region) describeSecurityGroupRules(in *ec2.DescribeSecurityGroupRulesInput) (*ec2.DescribeSecurityGroupRulesOutput, error) {
	fields := Fields[ruleOf]{
		"group-id":               func(x ruleOf) []string { return text(x.group.id) },
		"security-group-rule-id": func(x ruleOf) []string { return text(x.rule.id) },
	}
	rules := newTable[ruleOf]()
	for _, g := range r.groups.byID {
		for _, x := range g.rules {
			rules.byID[x.id] = ruleOf{g, x}
		}
	}
	w := wanted{in.SecurityGroupRuleIds, in.Filters, in.MaxResults, in.NextToken}
	list, next, err := describe(r, rules, w, fields, r.describeRule)
	return &ec2.DescribeSecurityGroupRulesOutput{SecurityGroupRules: list, NextToken: next}, err
}

// modifySecurityGroupRules changes rules, all or none. They keep their IDs.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_ModifySecurityGroupRules.html
func (r *region) modifySecurityGroupRules(in *ec2.ModifySecurityGroupRulesInput) (*ec2.ModifySecurityGroupRulesOutput, error) {
	g, err := r.groups.get(in.GroupId)
	if err != nil {
		return nil, err
	}
	rules := slices.Clone(g.rules)
	for _, u := range in.SecurityGroupRules {
		i := slices.IndexFunc(rules, func(x rule) bool { return x.id == aws.ToString(u.SecurityGroupRuleId) })
		if i < 0 {
			return nil, noID(aws.ToString(u.SecurityGroupRuleId))
		}
		if u.SecurityGroupRule == nil {
			return nil, missing("securityGroupRule")
		}
		p := permissionOf(u.SecurityGroupRule)
		fresh, err := r.rulesOf(g, &p, rules[i].egress)
		if err != nil {
			return nil, err
		}
		if len(fresh) != 1 {
			return nil, wire.Errorf("InvalidParameterCombination", "A rule has exactly one peer")
		}
		if k := slices.IndexFunc(rules, func(o rule) bool { return o.same(&fresh[0]) }); k >= 0 && k != i {
			return nil, wire.Errorf("InvalidPermission.Duplicate", "the specified rule \"%s\" already exists", fresh[0].String())
		}
		fresh[0].id = rules[i].id
		rules[i] = fresh[0]
	}
	g.rules = rules
	return &ec2.ModifySecurityGroupRulesOutput{Return: yes()}, nil
}

func permissionOf(q *types.SecurityGroupRuleRequest) types.IpPermission {
	p := types.IpPermission{IpProtocol: q.IpProtocol, FromPort: q.FromPort, ToPort: q.ToPort}
	if q.CidrIpv4 != nil {
		p.IpRanges = []types.IpRange{{CidrIp: q.CidrIpv4, Description: q.Description}}
	}
	if q.CidrIpv6 != nil {
		p.Ipv6Ranges = []types.Ipv6Range{{CidrIpv6: q.CidrIpv6, Description: q.Description}}
	}
	if q.PrefixListId != nil {
		p.PrefixListIds = []types.PrefixListId{{PrefixListId: q.PrefixListId, Description: q.Description}}
	}
	if q.ReferencedGroupId != nil {
		p.UserIdGroupPairs = []types.UserIdGroupPair{{GroupId: q.ReferencedGroupId, Description: q.Description}}
	}
	return p
}

package vpc

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/property"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

// ruleProperties are the properties of a rule, in a group's lists or in a resource of its own.
type ruleProperties struct {
	GroupId, GroupName, IpProtocol, CidrIp, CidrIpv6, Description      string //nolint:revive // the properties' names
	FromPort, ToPort                                                   *int32
	SourceSecurityGroupId, SourceSecurityGroupName, SourcePrefixListId string //nolint:revive // the properties' names
	DestinationSecurityGroupId, DestinationPrefixListId                string //nolint:revive // the properties' names
}

func (p *ruleProperties) permission() types.IpPermission {
	description := optional(p.Description)
	out := types.IpPermission{IpProtocol: optional(p.IpProtocol), FromPort: p.FromPort, ToPort: p.ToPort}
	if p.CidrIp != "" {
		out.IpRanges = []types.IpRange{{CidrIp: &p.CidrIp, Description: description}}
	}
	if p.CidrIpv6 != "" {
		out.Ipv6Ranges = []types.Ipv6Range{{CidrIpv6: &p.CidrIpv6, Description: description}}
	}
	for _, id := range []string{p.SourcePrefixListId, p.DestinationPrefixListId} {
		if id != "" {
			out.PrefixListIds = append(out.PrefixListIds, types.PrefixListId{PrefixListId: &id, Description: description})
		}
	}
	for _, id := range []string{p.SourceSecurityGroupId, p.DestinationSecurityGroupId} {
		if id != "" {
			out.UserIdGroupPairs = append(out.UserIdGroupPairs, types.UserIdGroupPair{GroupId: &id, Description: description})
		}
	}
	if p.SourceSecurityGroupName != "" {
		out.UserIdGroupPairs = append(
			out.UserIdGroupPairs, types.UserIdGroupPair{GroupName: &p.SourceSecurityGroupName, Description: description},
		)
	}
	return out
}

type groupProperties struct {
	GroupDescription, GroupName, VpcId        string //nolint:revive // the properties' names
	SecurityGroupIngress, SecurityGroupEgress []ruleProperties
}

// everything returns the rule of a group whose template does not define egress.
func everything() []ruleProperties {
	return []ruleProperties{{IpProtocol: anyProtocol, CidrIp: "0.0.0.0/0"}}
}

// rules returns the rules in a group's template. If a rule names a group that does not exist, the
// error does not say which rule.
func (p *groupProperties) rules(r *region, g *group) ([]rule, error) {
	var all []rule
	egress := p.SecurityGroupEgress
	if len(egress) == 0 {
		egress = everything()
	}
	for _, direction := range []struct {
		list   []ruleProperties
		egress bool
	}{{p.SecurityGroupIngress, false}, {egress, true}} {
		for _, x := range direction.list {
			permission := x.permission()
			list, err := r.rulesOf(g, &permission, direction.egress)
			if err != nil {
				return nil, err
			}
			for _, fresh := range list {
				if slices.ContainsFunc(all, func(o rule) bool { return o.same(&fresh) }) {
					return nil, resource.Errorf(resource.AlreadyExists, "the specified rule \"%s\" already exists", fresh.String())
				}
				all = append(all, fresh)
			}
		}
	}
	return all, nil
}

func groupResult(g *group) resource.Result {
	return resource.Result{PhysicalID: g.id, Attributes: map[string]any{"GroupId": g.id, "Id": g.id, "VpcId": g.vpc.id}}
}

func makeGroup(r *region, q resource.Request) (resource.Result, error) {
	var p groupProperties
	if err := decodeNew(q, &p); err != nil {
		return resource.Result{}, err
	}
	if p.GroupName == "" {
		p.GroupName = property.Name(q, 255, "")
	}
	g, err := r.newGroup(&p.GroupName, &p.GroupDescription, optional(p.VpcId), nil)
	if err != nil {
		return resource.Result{}, err
	}
	rules, err := p.rules(r, g)
	if err == nil {
		err = r.within(
			RulesOfGroup,
			len(rules)-1,
			"RulesPerSecurityGroupLimitExceeded",
			"The maximum number of rules per security group has been reached.",
		)
	}
	if err != nil {
		r.dropGroup(g)
		return resource.Result{}, err
	}
	r.dropRules(g, slices.Clone(g.rules))
	r.addRules(g, rules...)
	return groupResult(g), r.setTags(q, g.id)
}

// changeGroup adds and removes the rules that changed in the template; it keeps the rules of other
// resources.
func changeGroup(r *region, q resource.Request) (resource.Result, error) {
	var p, before groupProperties
	if err := decode(q, &p); err != nil {
		return resource.Result{}, err
	}
	if err := property.Decode(q.Previous, &before); err != nil {
		return resource.Result{}, err
	}
	g, err := r.groups.get(&q.PhysicalID)
	if err != nil {
		return resource.Result{}, err
	}
	want, err := p.rules(r, g)
	if err != nil {
		return resource.Result{}, err
	}
	had, err := before.rules(r, g)
	if err != nil {
		return resource.Result{}, err
	}
	var removed, fresh []rule
	for _, x := range g.rules {
		same := func(o rule) bool { return o.same(&x) }
		if slices.ContainsFunc(had, same) && !slices.ContainsFunc(want, same) {
			removed = append(removed, x)
		}
	}
	for _, x := range want {
		i := slices.IndexFunc(g.rules, func(o rule) bool { return o.same(&x) })
		if i < 0 {
			fresh = append(fresh, x)
			continue
		}
		g.rules[i].description = x.description
	}
	r.dropRules(g, removed)
	r.addRules(g, fresh...)
	return groupResult(g), r.setTags(q, g.id)
}

func deleteGroup(r *region, q resource.Request) error {
	g, err := r.groups.get(&q.PhysicalID)
	if err != nil {
		return err
	}
	return r.removeGroup(g)
}

// propertiesOf returns a rule in the form of templates.
func propertiesOf(x rule) map[string]any {
	p := map[string]any{"IpProtocol": x.protocol}
	prefix := "Source"
	if x.egress {
		prefix = "Destination"
	}
	switch x.peerKind() {
	case peerGroup:
		p[prefix+"SecurityGroupId"] = x.peer
	case peerList:
		p[prefix+"PrefixListId"] = x.peer
	case peerIPv6:
		p["CidrIpv6"] = x.peer
	default:
		p["CidrIp"] = x.peer
	}
	if x.from != nil {
		p["FromPort"], p["ToPort"] = number(x.from), number(x.to)
	}
	if x.description != "" {
		p["Description"] = x.description
	}
	return p
}

// readGroup returns only the rules in the group's own template, because others may be separate
// resources.
func readGroup(r *region, q resource.Request) (map[string]any, error) {
	g, err := r.groups.get(&q.PhysicalID)
	if err != nil {
		return nil, err
	}
	var p groupProperties
	if err := property.Decode(q.Properties, &p); err != nil {
		return nil, err
	}
	properties := map[string]any{"GroupDescription": g.description, "GroupName": g.name, "VpcId": g.vpc.id}
	if q.StackID == "" {
		// Cloud Control API returns all rules, also those of other clients.
		for _, x := range g.rules {
			name := "SecurityGroupIngress"
			if x.egress {
				name = "SecurityGroupEgress"
			}
			list, _ := properties[name].([]any)
			properties[name] = append(list, propertiesOf(x))
		}
		return r.with(properties, q, g.id), nil
	}
	own, err := p.rules(r, g)
	if err != nil {
		return nil, err
	}
	for name, list := range map[string][]ruleProperties{
		"SecurityGroupIngress": p.SecurityGroupIngress, "SecurityGroupEgress": p.SecurityGroupEgress,
	} {
		if len(list) == 0 {
			continue
		}
		found := []any{}
		for _, x := range own {
			i := slices.IndexFunc(g.rules, func(o rule) bool { return o.same(&x) })
			if x.egress == (name == "SecurityGroupEgress") && i >= 0 {
				found = append(found, propertiesOf(g.rules[i]))
			}
		}
		properties[name] = found
	}
	return r.with(properties, q, g.id), nil
}

func makeIngress(r *region, q resource.Request) (resource.Result, error) {
	return makeRule(r, q, false)
}

func makeEgressRule(r *region, q resource.Request) (resource.Result, error) {
	return makeRule(r, q, true)
}

func makeRule(r *region, q resource.Request, egress bool) (resource.Result, error) {
	var p ruleProperties
	if err := decode(q, &p); err != nil {
		return resource.Result{}, err
	}
	g, err := r.groupOf(&p.GroupId, &p.GroupName)
	if err != nil {
		return resource.Result{}, err
	}
	added, err := r.authorize(g, []types.IpPermission{p.permission()}, egress, nil)
	if err != nil {
		return resource.Result{}, err
	}
	return made(added[0].id, "Id"), nil
}

// ruleNamed returns a rule by its ID.
func (r *region) ruleNamed(id string) (*group, *rule, error) {
	g, ok := r.ruleGroups[id]
	if !ok {
		return nil, nil, noID(id)
	}
	i := slices.IndexFunc(g.rules, func(x rule) bool { return x.id == id })
	return g, &g.rules[i], nil
}

// changeRule changes a rule's description. Other properties cannot change.
func changeRule(r *region, q resource.Request) (resource.Result, error) {
	var p ruleProperties
	if err := decode(q, &p); err != nil {
		return resource.Result{}, err
	}
	_, x, err := r.ruleNamed(q.PhysicalID)
	if err != nil {
		return resource.Result{}, err
	}
	x.description = p.Description
	return made(x.id, "Id"), nil
}

func deleteRule(r *region, q resource.Request) error {
	g, x, err := r.ruleNamed(q.PhysicalID)
	if err != nil {
		return err
	}
	r.dropRules(g, []rule{*x})
	return nil
}

func readRule(r *region, q resource.Request) (map[string]any, error) {
	g, x, err := r.ruleNamed(q.PhysicalID)
	if err != nil {
		return nil, err
	}
	p := propertiesOf(*x)
	p["GroupId"] = g.id
	if _, ok := p["SourceSecurityGroupId"]; ok {
		p["SourceSecurityGroupOwnerId"] = aws.ToString(&x.owner)
	}
	return p, nil
}

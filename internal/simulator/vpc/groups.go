package vpc

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/lazyregexp"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// defaultName is the name of the group that each VPC has.
const defaultName = "default"

// group is a security group.
type group struct {
	named

	name, description string
	vpc               *vpc
	rules             []rule
}

// groupName matches valid names and descriptions.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateSecurityGroup.html
var groupName = lazyregexp.New(`^[a-zA-Z0-9 ._\-:/()#,@\[\]+=&;{}!$*]{1,255}$`)

func (r *region) newDefaultGroup(v *vpc) {
	g := &group{
		named:       r.newID("sg", types.ResourceTypeSecurityGroup, nil),
		name:        defaultName,
		description: "default VPC security group",
		vpc:         v,
	}
	r.groups.byID[g.id] = g
	r.addRules(g,
		rule{protocol: anyProtocol, peer: g.id, owner: r.Account},
		rule{protocol: anyProtocol, peer: "0.0.0.0/0", egress: true})
}

// defaultGroup returns the default group of a VPC.
func (r *region) defaultGroup(v *vpc) *group {
	for _, g := range r.groups.byID {
		if g.vpc == v && g.name == defaultName {
			return g
		}
	}
	return &group{}
}

func (r *region) newGroup(name, description, vpcID *string, tags map[string]string) (*group, error) {
	switch {
	case aws.ToString(name) == "":
		return nil, missing("groupName")
	case aws.ToString(description) == "":
		return nil, missing("groupDescription")
	case !groupName.MatchString(*description):
		return nil, invalid("GroupDescription", *description, "Character sets beyond ASCII are not supported.")
	case !groupName.MatchString(*name):
		return nil, invalid("groupName", *name, "Character sets beyond ASCII are not supported.")
	case strings.HasPrefix(*name, "sg-"):
		return nil, invalid("groupName", *name, "Group names may not be in the format sg-*.")
	}
	var v *vpc
	var err error
	if aws.ToString(vpcID) == "" {
		v, err = r.defaultVPC()
	} else {
		v, err = r.vpcs.get(vpcID)
	}
	if err != nil {
		return nil, err
	}
	if r.groups.has(func(g *group) bool { return g.vpc == v && g.name == *name }) {
		return nil, wire.Errorf("InvalidGroup.Duplicate", "The security group '%s' already exists for VPC '%s'", *name, v.id)
	}
	g := &group{named: r.newID("sg", types.ResourceTypeSecurityGroup, tags), name: *name, description: *description, vpc: v}
	r.groups.byID[g.id] = g
	r.addRules(g, rule{protocol: anyProtocol, peer: "0.0.0.0/0", egress: true})
	return g, nil
}

func (r *region) createSecurityGroup(in *ec2.CreateSecurityGroupInput) (*ec2.CreateSecurityGroupOutput, error) {
	tags, err := TagsFor(in.TagSpecifications, types.ResourceTypeSecurityGroup)
	if err != nil {
		return nil, err
	}
	g, err := r.newGroup(in.GroupName, in.Description, in.VpcId, tags[types.ResourceTypeSecurityGroup])
	if err != nil {
		return nil, err
	}
	return &ec2.CreateSecurityGroupOutput{
		GroupId: aws.String(g.id), SecurityGroupArn: aws.String(r.groupARN(g)), Tags: r.tags.List(g.id),
	}, nil
}

func (r *region) groupARN(g *group) string {
	return r.ARN(r.partition(), "ec2", "security-group/"+g.id)
}

// groupOf returns a group by its ID. Only groups of a default VPC can be found by name.
func (r *region) groupOf(id, name *string) (*group, error) {
	if aws.ToString(id) != "" {
		return r.groups.get(id)
	}
	if aws.ToString(name) == "" {
		return nil, wire.Errorf("MissingParameter", "The request must contain the parameter groupName or groupId")
	}
	return r.groupNamed(*name)
}

// groupNamed returns a group of the default VPC by its name.
func (r *region) groupNamed(name string) (*group, error) {
	v, err := r.defaultVPC()
	if err != nil {
		return nil, err
	}
	for _, g := range r.groups.byID {
		if g.vpc == v && g.name == name {
			return g, nil
		}
	}
	return nil, wire.Errorf("InvalidGroup.NotFound", "The security group '%s' does not exist in default VPC '%s'", name, v.id)
}

// removeGroup deletes a group that no interface and no rule of another group uses.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteSecurityGroup.html
func (r *region) removeGroup(g *group) error {
	if g.name == defaultName {
		return wire.Errorf("CannotDelete", "the specified group: \"%s\" name: \"%s\" cannot be deleted by a user", g.id, g.name)
	}
	inUse := r.interfaces.has(func(i *networkInterface) bool { return slices.Contains(i.groups, g.id) }) ||
		r.endpoints.has(func(e *endpoint) bool { return slices.Contains(e.groups, g.id) }) ||
		r.groups.has(func(o *group) bool {
			return o != g && slices.ContainsFunc(o.rules, func(x rule) bool { return x.peer == g.id })
		})
	if inUse {
		return wire.Errorf("DependencyViolation", "resource %s has a dependent object", g.id)
	}
	r.dropGroup(g)
	return nil
}

func (r *region) dropGroup(g *group) {
	for _, x := range g.rules {
		r.forgetRule(x.id)
	}
	drop(r, r.groups, g)
}

func (r *region) deleteSecurityGroup(in *ec2.DeleteSecurityGroupInput) (*ec2.DeleteSecurityGroupOutput, error) {
	g, err := r.groupOf(in.GroupId, in.GroupName)
	if err != nil {
		return nil, err
	}
	if err := r.removeGroup(g); err != nil {
		return nil, err
	}
	return &ec2.DeleteSecurityGroupOutput{GroupId: aws.String(g.id), Return: yes()}, nil
}

func (r *region) describeGroup(g *group) types.SecurityGroup {
	return types.SecurityGroup{
		GroupId: aws.String(g.id), GroupName: aws.String(g.name), Description: aws.String(g.description), VpcId: aws.String(g.vpc.id),
		OwnerId: aws.String(r.Account), SecurityGroupArn: aws.String(r.groupARN(g)), Tags: r.tags.List(g.id),
		IpPermissions: permissions(g.rules, false), IpPermissionsEgress: permissions(g.rules, true),
	}
}

func groupFields(r *region) Fields[*group] {
	f := Fields[*group]{
		"group-id":    func(g *group) []string { return text(g.id) },
		"group-name":  func(g *group) []string { return text(g.name) },
		"description": func(g *group) []string { return text(g.description) },
		"vpc-id":      func(g *group) []string { return text(g.vpc.id) },
		"owner-id":    func(*group) []string { return text(r.Account) },
	}
	of := func(egress bool, value func(rule) string) func(*group) []string {
		return func(g *group) (list []string) {
			for _, x := range g.rules {
				if v := value(x); x.egress == egress && v != "" {
					list = append(list, v)
				}
			}
			return list
		}
	}
	peer := func(kind string) func(rule) string {
		return func(x rule) string {
			if x.peerKind() == kind {
				return x.peer
			}
			return ""
		}
	}
	for prefix, egress := range map[string]bool{"ip-permission.": false, "egress.ip-permission.": true} {
		f[prefix+"cidr"], f[prefix+"ipv6-cidr"] = of(egress, peer(peerIPv4)), of(egress, peer(peerIPv6))
		f[prefix+"group-id"], f[prefix+"prefix-list-id"] = of(egress, peer(peerGroup)), of(egress, peer(peerList))
		f[prefix+"protocol"] = of(egress, func(x rule) string { return x.protocol })
		f[prefix+"from-port"] = of(egress, func(x rule) string { return portText(x.from) })
		f[prefix+"to-port"] = of(egress, func(x rule) string { return portText(x.to) })
		f[prefix+"user-id"] = of(egress, func(x rule) string { return x.owner })
	}
	return f
}

func (r *region) describeSecurityGroups(in *ec2.DescribeSecurityGroupsInput) (*ec2.DescribeSecurityGroupsOutput, error) {
	ids := slices.Clone(in.GroupIds)
	for _, name := range in.GroupNames {
		g, err := r.groupNamed(name)
		if err != nil {
			return nil, err
		}
		ids = append(ids, g.id)
	}
	list, next, err := describe(r, r.groups, wanted{ids, in.Filters, in.MaxResults, in.NextToken}, groupFields(r), r.describeGroup)
	return &ec2.DescribeSecurityGroupsOutput{SecurityGroups: list, NextToken: next}, err
}

// describeSecurityGroupReferences returns nothing, because there are no peered VPCs.
func (r *region) describeSecurityGroupReferences(
	in *ec2.DescribeSecurityGroupReferencesInput,
) (*ec2.DescribeSecurityGroupReferencesOutput, error) {
	for _, id := range in.GroupId {
		if _, err := r.groups.get(&id); err != nil {
			return nil, err
		}
	}
	return &ec2.DescribeSecurityGroupReferencesOutput{}, nil
}

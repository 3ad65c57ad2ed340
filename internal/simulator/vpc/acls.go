package vpc

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/firewall"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// acl is a network ACL.
// https://docs.aws.amazon.com/vpc/latest/userguide/vpc-network-acls.html
type acl struct {
	named

	vpc       *vpc
	isDefault bool
	entries   []aclEntry // without the last ones, which deny everything
}

// aclEntry is a rule of a network ACL.
type aclEntry struct {
	number   int32
	egress   bool
	allow    bool
	protocol string // a number, or anyProtocol
	from, to *int32 // ports; for ICMP, type and code
	cidr     netip.Prefix
}

// lastNumber is the number of the rules that deny what no other rule matches; users choose lower
// ones.
const lastNumber, mostNumber = 32767, 32766

// newACL creates a network ACL. The default one of a VPC allows all traffic, others none.
func (r *region) newACL(v *vpc, isDefault bool, tags map[string]string) *acl {
	a := &acl{named: r.newID("acl", types.ResourceTypeNetworkAcl, tags), vpc: v, isDefault: isDefault}
	if isDefault {
		for _, egress := range []bool{true, false} {
			a.entries = append(a.entries, aclEntry{
				number: 100, egress: egress, allow: true, protocol: anyProtocol, cidr: netip.MustParsePrefix("0.0.0.0/0"),
			})
		}
	}
	r.acls.byID[a.id] = a
	return a
}

// defaultACL returns the default network ACL of a VPC, to which new subnets belong.
func (r *region) defaultACL(v *vpc) *acl {
	a, _ := r.acls.first(func(a *acl) bool { return a.vpc == v && a.isDefault })
	return a
}

func (r *region) aclOf(v *vpc) string {
	if a := r.defaultACL(v); a != nil {
		return a.id
	}
	return ""
}

// firewall returns the entries that are evaluated. A network ACL denies what none of them matches.
func (a *acl) firewall() []firewall.Entry {
	if a == nil {
		return nil
	}
	var list []firewall.Entry
	for _, e := range a.entries {
		list = append(list, firewall.Entry{
			Number: int(e.number), Egress: e.egress, Allow: e.allow, Traffic: traffic(e.protocol, e.from, e.to), Peer: e.cidr,
		})
	}
	return list
}

func (a *acl) find(number int32, egress bool) int {
	return slices.IndexFunc(a.entries, func(e aclEntry) bool { return e.number == number && e.egress == egress })
}

func (r *region) describeACL(a *acl) types.NetworkAcl {
	d := types.NetworkAcl{
		NetworkAclId: aws.String(a.id), VpcId: aws.String(a.vpc.id), IsDefault: aws.Bool(a.isDefault), OwnerId: aws.String(r.Account),
		Tags:         r.tags.List(a.id),
		Associations: []types.NetworkAclAssociation{},
	}
	for _, egress := range []bool{true, false} {
		entries := slices.DeleteFunc(slices.Clone(a.entries), func(e aclEntry) bool { return e.egress != egress })
		slices.SortFunc(entries, func(x, y aclEntry) int { return cmp.Compare(x.number, y.number) })
		entries = append(entries, aclEntry{
			number: lastNumber, egress: egress, protocol: anyProtocol, cidr: netip.MustParsePrefix("0.0.0.0/0"),
		})
		for i := range entries {
			d.Entries = append(d.Entries, entries[i].describe())
		}
	}
	for _, n := range r.subnets.sorted() {
		if n.acl == a {
			d.Associations = append(d.Associations, types.NetworkAclAssociation{
				NetworkAclAssociationId: aws.String(n.aclAssociation), NetworkAclId: aws.String(a.id), SubnetId: aws.String(n.id),
			})
		}
	}
	return d
}

func (e *aclEntry) describe() types.NetworkAclEntry {
	d := types.NetworkAclEntry{
		CidrBlock: aws.String(e.cidr.String()), Egress: aws.Bool(e.egress), Protocol: aws.String(e.protocol),
		RuleAction: types.RuleActionDeny, RuleNumber: aws.Int32(e.number),
	}
	if e.allow {
		d.RuleAction = types.RuleActionAllow
	}
	switch {
	case e.from == nil:
	case e.protocol == "1":
		d.IcmpTypeCode = &types.IcmpTypeCode{Type: e.from, Code: e.to}
	default:
		d.PortRange = &types.PortRange{From: e.from, To: e.to}
	}
	return d
}

func (r *region) describeNetworkAcls(in *ec2.DescribeNetworkAclsInput) (*ec2.DescribeNetworkAclsOutput, error) {
	fields := Fields[*acl]{
		"network-acl-id":             func(a *acl) []string { return text(a.id) },
		"association.network-acl-id": func(a *acl) []string { return text(a.id) },
		"vpc-id":                     func(a *acl) []string { return text(a.vpc.id) },
		"default":                    func(a *acl) []string { return flag(a.isDefault) },
		"owner-id":                   func(*acl) []string { return text(r.Account) },
		"association.subnet-id": func(a *acl) (list []string) {
			for _, n := range r.subnets.byID {
				if n.acl == a {
					list = append(list, n.id)
				}
			}
			return list
		},
	}
	list, next, err := describe(r, r.acls, wanted{in.NetworkAclIds, in.Filters, in.MaxResults, in.NextToken}, fields, r.describeACL)
	return &ec2.DescribeNetworkAclsOutput{NetworkAcls: list, NextToken: next}, err
}

// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateNetworkAcl.html
func (r *region) createNetworkACL(in *ec2.CreateNetworkAclInput) (*ec2.CreateNetworkAclOutput, error) {
	v, err := r.vpcs.get(in.VpcId)
	if err != nil {
		return nil, err
	}
	tags, err := TagsFor(in.TagSpecifications, types.ResourceTypeNetworkAcl)
	if err != nil {
		return nil, err
	}
	d := r.describeACL(r.newACL(v, false, tags[types.ResourceTypeNetworkAcl]))
	return &ec2.CreateNetworkAclOutput{NetworkAcl: &d, ClientToken: in.ClientToken}, nil
}

// deleteNetworkACL deletes a network ACL with which no subnet is associated.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteNetworkAcl.html
func (r *region) deleteNetworkACL(in *ec2.DeleteNetworkAclInput) (*ec2.DeleteNetworkAclOutput, error) {
	a, err := r.acls.get(in.NetworkAclId)
	switch {
	case err != nil:
		return nil, err
	case a.isDefault:
		return nil, wire.Errorf("InvalidParameterValue", "Default network ACL %s cannot be deleted", a.id)
	case r.subnets.has(func(n *subnet) bool { return n.acl == a }):
		return nil, depends("networkAcl", a.id)
	}
	drop(r, r.acls, a)
	return &ec2.DeleteNetworkAclOutput{}, nil
}

// replaceNetworkACLAssociation associates a subnet with another network ACL.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_ReplaceNetworkAclAssociation.html
func (r *region) replaceNetworkACLAssociation(
	in *ec2.ReplaceNetworkAclAssociationInput,
) (*ec2.ReplaceNetworkAclAssociationOutput, error) {
	a, err := r.acls.get(in.NetworkAclId)
	if err != nil {
		return nil, err
	}
	n, ok := r.subnets.first(func(n *subnet) bool { return n.aclAssociation == aws.ToString(in.AssociationId) })
	switch {
	case !ok:
		return nil, wire.Errorf("InvalidAssociationID.NotFound", "The association ID '%s' does not exist", aws.ToString(in.AssociationId))
	case n.vpc != a.vpc:
		return nil, wire.Errorf("InvalidParameterValue", "networkAcl %s and subnet %s belong to different networks", a.id, n.id)
	}
	n.acl, n.aclAssociation = a, NewID("aclassoc")
	return &ec2.ReplaceNetworkAclAssociationOutput{NewAssociationId: aws.String(n.aclAssociation)}, nil
}

// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateNetworkAclEntry.html
func (r *region) createNetworkACLEntry(in *ec2.CreateNetworkAclEntryInput) (*ec2.CreateNetworkAclEntryOutput, error) {
	a, err := r.acls.get(in.NetworkAclId)
	if err != nil {
		return nil, err
	}
	e, err := entryOf(in)
	if err != nil {
		return nil, err
	}
	if a.find(e.number, e.egress) >= 0 {
		return nil, wire.Errorf("NetworkAclEntryAlreadyExists", "The network acl entry identified by %d already exists.", e.number)
	}
	// The quota applies to each direction: https://github.com/jantman/awslimitchecker/issues/538
	// The error is that of https://github.com/cisagov/cool-assessment-terraform/issues/288.
	same := 0
	for i := range a.entries {
		if a.entries[i].egress == e.egress {
			same++
		}
	}
	if err := r.within(
		EntriesOfACL, same, "NetworkAclEntryLimitExceeded", "The maximum number of network acl entries has been reached.",
	); err != nil {
		return nil, err
	}
	a.entries = append(a.entries, e)
	return &ec2.CreateNetworkAclEntryOutput{}, nil
}

// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_ReplaceNetworkAclEntry.html
func (r *region) replaceNetworkACLEntry(in *ec2.ReplaceNetworkAclEntryInput) (*ec2.ReplaceNetworkAclEntryOutput, error) {
	a, err := r.acls.get(in.NetworkAclId)
	if err != nil {
		return nil, err
	}
	e, err := entryOf(&ec2.CreateNetworkAclEntryInput{
		Egress: in.Egress, NetworkAclId: in.NetworkAclId, Protocol: in.Protocol, RuleAction: in.RuleAction, RuleNumber: in.RuleNumber,
		CidrBlock: in.CidrBlock, IcmpTypeCode: in.IcmpTypeCode, Ipv6CidrBlock: in.Ipv6CidrBlock, PortRange: in.PortRange,
	})
	if err != nil {
		return nil, err
	}
	i := a.find(e.number, e.egress)
	if i < 0 {
		return nil, noEntry(e.number)
	}
	a.entries[i] = e
	return &ec2.ReplaceNetworkAclEntryOutput{}, nil
}

// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteNetworkAclEntry.html
func (r *region) deleteNetworkACLEntry(in *ec2.DeleteNetworkAclEntryInput) (*ec2.DeleteNetworkAclEntryOutput, error) {
	a, err := r.acls.get(in.NetworkAclId)
	if err != nil {
		return nil, err
	}
	i := a.find(aws.ToInt32(in.RuleNumber), aws.ToBool(in.Egress))
	if i < 0 {
		return nil, noEntry(aws.ToInt32(in.RuleNumber))
	}
	a.entries = slices.Delete(a.entries, i, i+1)
	return &ec2.DeleteNetworkAclEntryOutput{}, nil
}

func noEntry(number int32) *wire.Error {
	return wire.Errorf("InvalidNetworkAclEntry.NotFound", "The network acl entry identified by %d does not exist.", number)
}

func entryOf(in *ec2.CreateNetworkAclEntryInput) (aclEntry, error) {
	e := aclEntry{
		number: aws.ToInt32(in.RuleNumber), egress: aws.ToBool(in.Egress), allow: in.RuleAction == types.RuleActionAllow,
		protocol: aws.ToString(in.Protocol),
	}
	switch {
	case in.Ipv6CidrBlock != nil:
		return e, unsupported("ipv6CidrBlock")
	case e.number < 1 || e.number > mostNumber:
		return e, invalid("ruleNumber", e.number, "Must be between 1 and 32766.")
	case in.RuleAction != types.RuleActionAllow && in.RuleAction != types.RuleActionDeny:
		return e, invalid("ruleAction", in.RuleAction, "")
	}
	for number, name := range protocolNames {
		if e.protocol == name && name != anyProtocol {
			e.protocol = number
		}
	}
	var err error
	if e.cidr, err = parseRange("cidrBlock", aws.ToString(in.CidrBlock)); err != nil {
		return e, err
	}
	switch e.protocol {
	case anyProtocol: // ports are ignored
	case "6", "17":
		if in.PortRange == nil || in.PortRange.From == nil || in.PortRange.To == nil {
			return e, missing("portRange")
		}
		e.from, e.to = in.PortRange.From, in.PortRange.To
	case "1":
		if in.IcmpTypeCode == nil {
			return e, missing("icmpTypeCode")
		}
		e.from, e.to = in.IcmpTypeCode.Type, in.IcmpTypeCode.Code
	case "":
		return e, missing("protocol")
	default:
		if n, err := strconv.Atoi(e.protocol); err != nil || n < 0 || n > 255 {
			return e, invalid("protocol", e.protocol, "Unknown protocol.")
		}
	}
	return e, nil
}

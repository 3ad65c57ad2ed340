package vpc

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// dhcpOptions are the options that DHCP sends to instances.
type dhcpOptions struct {
	named

	configurations []dhcpConfiguration
}

type dhcpConfiguration struct {
	key    string
	values []string
}

var dhcpKeys = []string{
	"domain-name",
	"domain-name-servers",
	"ntp-servers",
	"netbios-name-servers",
	"netbios-node-type",
	"ipv6-address-preferred-lease-time",
}

// standardOptions returns the region's default set, which the first VPC creates. It is not among
// the user's sets.
func (r *region) standardOptions() *dhcpOptions {
	if r.standard == nil {
		name := r.Region + ".compute.internal"
		if r.Region == "us-east-1" {
			name = "ec2.internal"
		}
		r.standard = &dhcpOptions{named: named{NewID("dopt")}, configurations: []dhcpConfiguration{
			{"domain-name", []string{name}}, {"domain-name-servers", []string{"AmazonProvidedDNS"}},
		}}
	}
	return r.standard
}

func (r *region) newOptions(configurations []dhcpConfiguration, tags map[string]string) (*dhcpOptions, error) {
	if len(configurations) == 0 {
		return nil, missing("dhcpConfiguration")
	}
	for _, c := range configurations {
		if !slices.Contains(dhcpKeys, c.key) {
			return nil, invalid("dhcpConfiguration", c.key, "Unknown DHCP option.")
		}
		if len(c.values) == 0 || len(c.values) > 4 {
			return nil, invalid("dhcpConfiguration", c.key, "From one to four values are expected.")
		}
	}
	o := &dhcpOptions{named: r.newID("dopt", types.ResourceTypeDhcpOptions, tags), configurations: configurations}
	r.dhcp.byID[o.id] = o
	return o, nil
}

// setOptions sets the options of a VPC; "default" means none.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_AssociateDhcpOptions.html
func (r *region) setOptions(vpcID, optionsID *string) error {
	v, err := r.vpcs.get(vpcID)
	if err != nil {
		return err
	}
	if aws.ToString(optionsID) == "default" {
		v.options = nil
		return nil
	}
	if aws.ToString(optionsID) == r.standardOptions().id {
		v.options = r.standardOptions()
		return nil
	}
	o, err := r.dhcp.get(optionsID)
	if err != nil {
		return err
	}
	v.options = o
	return nil
}

// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteDhcpOptions.html
func (r *region) removeOptions(id *string) error {
	o, err := r.dhcp.get(id)
	if err != nil {
		return err
	}
	if r.vpcs.has(func(v *vpc) bool { return v.options == o }) {
		return depends("dhcpOptions", o.id)
	}
	drop(r, r.dhcp, o)
	return nil
}

func (r *region) createDhcpOptions(in *ec2.CreateDhcpOptionsInput) (*ec2.CreateDhcpOptionsOutput, error) {
	tags, err := TagsFor(in.TagSpecifications, types.ResourceTypeDhcpOptions)
	if err != nil {
		return nil, err
	}
	var list []dhcpConfiguration
	for _, c := range in.DhcpConfigurations {
		list = append(list, dhcpConfiguration{aws.ToString(c.Key), c.Values})
	}
	o, err := r.newOptions(list, tags[types.ResourceTypeDhcpOptions])
	if err != nil {
		return nil, err
	}
	d := r.describeOptions(o)
	return &ec2.CreateDhcpOptionsOutput{DhcpOptions: &d}, nil
}

func (r *region) deleteDhcpOptions(in *ec2.DeleteDhcpOptionsInput) (*ec2.DeleteDhcpOptionsOutput, error) {
	return &ec2.DeleteDhcpOptionsOutput{}, r.removeOptions(in.DhcpOptionsId)
}

func (r *region) associateDhcpOptions(in *ec2.AssociateDhcpOptionsInput) (*ec2.AssociateDhcpOptionsOutput, error) {
	return &ec2.AssociateDhcpOptionsOutput{}, r.setOptions(in.VpcId, in.DhcpOptionsId)
}

func (r *region) describeOptions(o *dhcpOptions) types.DhcpOptions {
	d := types.DhcpOptions{DhcpOptionsId: aws.String(o.id), OwnerId: aws.String(r.Account), Tags: r.tags.List(o.id)}
	for _, c := range o.configurations {
		dc := types.DhcpConfiguration{Key: aws.String(c.key)}
		for _, value := range c.values {
			dc.Values = append(dc.Values, types.AttributeValue{Value: aws.String(value)})
		}
		d.DhcpConfigurations = append(d.DhcpConfigurations, dc)
	}
	return d
}

func (r *region) describeDhcpOptions(in *ec2.DescribeDhcpOptionsInput) (*ec2.DescribeDhcpOptionsOutput, error) {
	fields := Fields[*dhcpOptions]{
		"dhcp-options-id": func(o *dhcpOptions) []string { return text(o.id) },
		"owner-id":        func(*dhcpOptions) []string { return text(r.Account) },
		"key": func(o *dhcpOptions) (list []string) {
			for _, c := range o.configurations {
				list = append(list, c.key)
			}
			return list
		},
		"value": func(o *dhcpOptions) (list []string) {
			for _, c := range o.configurations {
				list = append(list, c.values...)
			}
			return list
		},
	}
	known := newTable[*dhcpOptions]()
	maps.Copy(known.byID, r.dhcp.byID)
	if r.standard != nil {
		known.byID[r.standard.id] = r.standard
	}
	list, next, err := describe(r, known, wanted{in.DhcpOptionsIds, in.Filters, in.MaxResults, in.NextToken}, fields, r.describeOptions)
	return &ec2.DescribeDhcpOptionsOutput{DhcpOptions: list, NextToken: next}, err
}

// acl is a VPC's default network ACL, which allows all traffic. The simulator has no others.
type acl struct {
	named

	vpc *vpc
}

func (r *region) newACL(v *vpc) {
	a := &acl{named: r.newID("acl", types.ResourceTypeNetworkAcl, nil), vpc: v}
	r.acls.byID[a.id] = a
}

func (r *region) aclOf(v *vpc) string {
	a, ok := r.acls.first(func(a *acl) bool { return a.vpc == v })
	if !ok {
		return ""
	}
	return a.id
}

func (r *region) describeACL(a *acl) types.NetworkAcl {
	d := types.NetworkAcl{
		NetworkAclId: aws.String(a.id), VpcId: aws.String(a.vpc.id), IsDefault: aws.Bool(true), OwnerId: aws.String(r.Account),
		Tags:         r.tags.List(a.id),
		Associations: []types.NetworkAclAssociation{},
	}
	for _, egress := range []bool{true, false} {
		d.Entries = append(
			d.Entries,
			types.NetworkAclEntry{
				CidrBlock:  aws.String("0.0.0.0/0"),
				Egress:     aws.Bool(egress),
				Protocol:   aws.String("-1"),
				RuleAction: types.RuleActionAllow,
				RuleNumber: aws.Int32(100),
			},
			types.NetworkAclEntry{
				CidrBlock:  aws.String("0.0.0.0/0"),
				Egress:     aws.Bool(egress),
				Protocol:   aws.String("-1"),
				RuleAction: types.RuleActionDeny,
				RuleNumber: aws.Int32(32767),
			},
		)
	}
	for _, n := range r.subnets.sorted() {
		if n.vpc == a.vpc {
			d.Associations = append(d.Associations, types.NetworkAclAssociation{
				NetworkAclAssociationId: aws.String(n.aclAssociation), NetworkAclId: aws.String(a.id), SubnetId: aws.String(n.id),
			})
		}
	}
	return d
}

func (r *region) describeNetworkAcls(in *ec2.DescribeNetworkAclsInput) (*ec2.DescribeNetworkAclsOutput, error) {
	fields := Fields[*acl]{
		"network-acl-id":             func(a *acl) []string { return text(a.id) },
		"association.network-acl-id": func(a *acl) []string { return text(a.id) },
		"vpc-id":                     func(a *acl) []string { return text(a.vpc.id) },
		"default":                    func(*acl) []string { return flag(true) },
		"owner-id":                   func(*acl) []string { return text(r.Account) },
		"association.subnet-id": func(a *acl) (list []string) {
			for _, n := range r.subnets.byID {
				if n.vpc == a.vpc {
					list = append(list, n.id)
				}
			}
			return list
		},
	}
	list, next, err := describe(r, r.acls, wanted{in.NetworkAclIds, in.Filters, in.MaxResults, in.NextToken}, fields, r.describeACL)
	return &ec2.DescribeNetworkAclsOutput{NetworkAcls: list, NextToken: next}, err
}

// deleteNetworkACL refuses, because there are only default network ACLs.
func (r *region) deleteNetworkACL(in *ec2.DeleteNetworkAclInput) (*ec2.DeleteNetworkAclOutput, error) {
	a, err := r.acls.get(in.NetworkAclId)
	if err != nil {
		return nil, err
	}
	return nil, wire.Errorf("InvalidParameterValue", "Default network ACL %s cannot be deleted", a.id)
}

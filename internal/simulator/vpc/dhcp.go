package vpc

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
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

// Package existingvpc reads from AWS the VPC, subnets and DNS settings that a cluster uses but does not own.
package existingvpc

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// Describe reads a VPC, its subnets and their route tables, usually in six calls. It returns an error if
// the VPC does not exist.
func Describe(ctx context.Context, client awsapi.EC2, id string) (*model.ExistingVPC, error) {
	vpcs, err := client.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{VpcIds: []string{id}})
	if err != nil {
		return nil, fmt.Errorf("describe VPC %s: %w", id, err)
	}
	if len(vpcs.Vpcs) == 0 {
		return nil, fmt.Errorf("describe VPC %s: it does not exist", id)
	}
	facts := &model.ExistingVPC{ID: id}
	for _, block := range vpcs.Vpcs[0].CidrBlockAssociationSet {
		facts.CIDRs = append(facts.CIDRs, aws.ToString(block.CidrBlock))
	}
	if len(facts.CIDRs) == 0 {
		facts.CIDRs = []string{aws.ToString(vpcs.Vpcs[0].CidrBlock)}
	}
	if err := dns(ctx, client, &vpcs.Vpcs[0], facts); err != nil {
		return nil, err
	}
	subnets, err := Subnets(ctx, client, id)
	if err != nil {
		return nil, err
	}
	tables, err := routeTables(ctx, client, id)
	if err != nil {
		return nil, err
	}
	for i := range subnets {
		subnet := model.ExistingSubnet{
			ID: aws.ToString(subnets[i].SubnetId), Zone: aws.ToString(subnets[i].AvailabilityZone),
			CIDR: aws.ToString(subnets[i].CidrBlock),
		}
		subnet.RouteTable = tables[subnet.ID]
		if subnet.RouteTable == "" {
			subnet.RouteTable = tables[""] // the main one
		}
		facts.Subnets = append(facts.Subnets, subnet)
	}
	slices.SortFunc(facts.Subnets, func(a, b model.ExistingSubnet) int { return strings.Compare(a.ID, b.ID) })
	return facts, nil
}

// dns reads the settings that determine which names instances in the VPC can resolve.
func dns(ctx context.Context, client awsapi.EC2, vpc *types.Vpc, facts *model.ExistingVPC) error {
	for name, off := range map[types.VpcAttributeName]*bool{
		types.VpcAttributeNameEnableDnsSupport:   &facts.WithoutDNSSupport,
		types.VpcAttributeNameEnableDnsHostnames: &facts.WithoutDNSHostnames,
	} {
		found, err := client.DescribeVpcAttribute(ctx, &ec2.DescribeVpcAttributeInput{VpcId: &facts.ID, Attribute: name})
		if err != nil {
			return fmt.Errorf("read %s of VPC %s: %w", name, facts.ID, err)
		}
		for _, value := range []*types.AttributeBooleanValue{found.EnableDnsSupport, found.EnableDnsHostnames} {
			*off = *off || value != nil && !aws.ToBool(value.Value)
		}
	}
	facts.DHCPOptions = aws.ToString(vpc.DhcpOptionsId)
	if facts.DHCPOptions == "" || facts.DHCPOptions == "default" { // It has none.
		return nil
	}
	found, err := client.DescribeDhcpOptions(ctx, &ec2.DescribeDhcpOptionsInput{DhcpOptionsIds: []string{facts.DHCPOptions}})
	if err != nil {
		return fmt.Errorf("describe the DHCP options %s of VPC %s: %w", facts.DHCPOptions, facts.ID, err)
	}
	for i := range found.DhcpOptions {
		facts.DNSServers = append(facts.DNSServers, foreignServers(found.DhcpOptions[i].DhcpConfigurations, resolvers(facts.CIDRs))...)
	}
	return nil
}

// foreignServers returns the name servers in DHCP options other than the VPC's own.
func foreignServers(options []types.DhcpConfiguration, own []string) (servers []string) {
	for _, one := range options {
		if aws.ToString(one.Key) != "domain-name-servers" {
			continue
		}
		for _, value := range one.Values {
			if server := aws.ToString(value.Value); !slices.Contains(own, server) {
				servers = append(servers, server)
			}
		}
	}
	return servers
}

// resolvers returns the names and addresses of a VPC's own resolver, for example the base of its
// first range plus two. https://docs.aws.amazon.com/vpc/latest/userguide/AmazonDNS-concepts.html
func resolvers(cidrs []string) []string {
	own := []string{"AmazonProvidedDNS", "169.254.169.253", "fd00:ec2::253"}
	for _, cidr := range cidrs {
		if prefix, err := netip.ParsePrefix(cidr); err == nil {
			own = append(own, prefix.Masked().Addr().Next().Next().String())
		}
	}
	return own
}

func inVPC(id string) []types.Filter {
	return []types.Filter{{Name: aws.String("vpc-id"), Values: []string{id}}}
}

// Subnets returns the subnets of a VPC.
func Subnets(ctx context.Context, client awsapi.EC2, vpc string) ([]types.Subnet, error) {
	var subnets []types.Subnet
	in := &ec2.DescribeSubnetsInput{Filters: inVPC(vpc)}
	for {
		page, err := client.DescribeSubnets(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("describe the subnets of VPC %s: %w", vpc, err)
		}
		subnets = append(subnets, page.Subnets...)
		if in.NextToken = page.NextToken; aws.ToString(page.NextToken) == "" {
			return subnets, nil
		}
	}
}

// routeTables returns the route tables by subnet, the main one as "".
func routeTables(ctx context.Context, client awsapi.EC2, vpc string) (map[string]string, error) {
	tables := map[string]string{}
	in := &ec2.DescribeRouteTablesInput{Filters: inVPC(vpc)}
	for {
		page, err := client.DescribeRouteTables(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("describe the route tables of VPC %s: %w", vpc, err)
		}
		for i := range page.RouteTables {
			for j := range page.RouteTables[i].Associations {
				one := &page.RouteTables[i].Associations[j]
				if aws.ToBool(one.Main) || aws.ToString(one.SubnetId) != "" {
					tables[aws.ToString(one.SubnetId)] = aws.ToString(page.RouteTables[i].RouteTableId)
				}
			}
		}
		if in.NextToken = page.NextToken; aws.ToString(page.NextToken) == "" {
			return tables, nil
		}
	}
}

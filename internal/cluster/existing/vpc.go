// Package existing asks AWS about what a cluster finds there: a VPC that is not made for it.
package existing

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// VPC asks AWS about a VPC, its subnets and their route tables, in three calls as a rule. It errs when there is no such VPC.
func VPC(ctx context.Context, client awsapi.EC2, id string) (*model.ExistingVPC, error) {
	vpcs, err := client.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{VpcIds: []string{id}})
	if err != nil {
		return nil, fmt.Errorf("look at VPC %s: %w", id, err)
	}
	if len(vpcs.Vpcs) == 0 {
		return nil, fmt.Errorf("look at VPC %s: AWS does not know it", id)
	}
	facts := &model.ExistingVPC{ID: id}
	for _, block := range vpcs.Vpcs[0].CidrBlockAssociationSet {
		facts.CIDRs = append(facts.CIDRs, aws.ToString(block.CidrBlock))
	}
	if len(facts.CIDRs) == 0 {
		facts.CIDRs = []string{aws.ToString(vpcs.Vpcs[0].CidrBlock)}
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
			ID: aws.ToString(subnets[i].SubnetId), Zone: aws.ToString(subnets[i].AvailabilityZone), CIDR: aws.ToString(subnets[i].CidrBlock),
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
			return nil, fmt.Errorf("look at the subnets of VPC %s: %w", vpc, err)
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
			return nil, fmt.Errorf("look at the route tables of VPC %s: %w", vpc, err)
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

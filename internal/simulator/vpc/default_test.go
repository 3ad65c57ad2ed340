package vpc_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
)

func TestAccountHasDefaultVPCInEachRegion(t *testing.T) {
	n := start(t, vpc.WithDefaultVPC())
	vpcs := must(n, n.DescribeVpcs, &ec2.DescribeVpcsInput{Filters: []types.Filter{filter("is-default", "true")}}).Vpcs
	if len(vpcs) != 1 || !*vpcs[0].IsDefault || *vpcs[0].CidrBlock != "172.31.0.0/16" {
		t.Fatalf("default VPCs: %+v", vpcs)
	}
	subnets := must(n, n.DescribeSubnets, &ec2.DescribeSubnetsInput{Filters: []types.Filter{filter("default-for-az", "true")}}).Subnets
	if len(subnets) != 3 {
		t.Fatalf("%d default subnets", len(subnets))
	}
	for _, s := range subnets {
		if got, _ := n.service.Subnet(account, region, *s.SubnetId); !got.InternetGateway || !got.MapPublicIP ||
			got.VPCID != *vpcs[0].VpcId {
			t.Errorf("subnet %+v", got)
		}
	}
	tables := must(
		n,
		n.DescribeRouteTables,
		&ec2.DescribeRouteTablesInput{Filters: []types.Filter{filter("route.destination-cidr-block", "0.0.0.0/0")}},
	).RouteTables
	if len(tables) != 1 || *tables[0].VpcId != *vpcs[0].VpcId {
		t.Errorf("route tables to the internet: %+v", tables)
	}
}

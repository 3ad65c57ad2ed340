package vpc_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	testclock "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/simulator/ec2names"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

const (
	account = "123456789012"
	region  = "eu-central-1"
)

// network is a service with a client and helpers that create resources.
type network struct {
	*ec2.Client

	t       *testing.T
	service *vpc.Service
	clock   *testclock.FakeClock
}

func start(t *testing.T, options ...vpc.Option) *network {
	t.Helper()
	clk := testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	s := vpc.New(&resource.Env{Clock: clk}, options...)
	services := []*wire.Service{{
		Name: "ec2", Protocols: []wire.Protocol{wire.EC2Query}, APIVersion: "2016-11-15",
		XMLNamespace: "http://ec2.amazonaws.com/doc/2016-11-15/", Names: ec2names.Names(), Operations: s.Operations(),
	}}
	client := ec2.NewFromConfig(wiretest.Serve(t, wire.NewRouter(services, nil, clk)))
	return &network{Client: client, t: t, service: s, clock: clk}
}

// must calls an operation and fails the test if it returns an error.
func must[I, O any](n *network, call func(context.Context, *I, ...func(*ec2.Options)) (*O, error), in *I) *O {
	n.t.Helper()
	out, err := call(n.t.Context(), in)
	if err != nil {
		n.t.Fatal(err)
	}
	return out
}

// refused calls an operation that must fail with a code.
func refused[I, O any](n *network, reason string, call func(context.Context, *I, ...func(*ec2.Options)) (*O, error), in *I, code string) {
	n.t.Helper()
	_, err := call(n.t.Context(), in)
	if err == nil {
		n.t.Errorf("%s: went well, want %s", reason, code)
		return
	}
	wiretest.WantCode(n.t, err, code)
}

func (n *network) vpc(cidr string) *string {
	n.t.Helper()
	return must(n, n.CreateVpc, &ec2.CreateVpcInput{CidrBlock: &cidr}).Vpc.VpcId
}

func (n *network) subnet(vpcID *string, cidr, zone string) *string {
	n.t.Helper()
	return must(
		n, n.CreateSubnet, &ec2.CreateSubnetInput{VpcId: vpcID, CidrBlock: &cidr, AvailabilityZone: aws.String(region + zone)},
	).Subnet.SubnetId
}

func (n *network) gateway(vpcID *string) *string {
	n.t.Helper()
	id := must(n, n.CreateInternetGateway, &ec2.CreateInternetGatewayInput{}).InternetGateway.InternetGatewayId
	if vpcID != nil {
		must(n, n.AttachInternetGateway, &ec2.AttachInternetGatewayInput{InternetGatewayId: id, VpcId: vpcID})
	}
	return id
}

func (n *network) group(vpcID *string, name string) *string {
	n.t.Helper()
	return must(n, n.CreateSecurityGroup, &ec2.CreateSecurityGroupInput{VpcId: vpcID, GroupName: &name, Description: &name}).GroupId
}

func (n *network) table(vpcID *string) *string {
	n.t.Helper()
	return must(n, n.CreateRouteTable, &ec2.CreateRouteTableInput{VpcId: vpcID}).RouteTable.RouteTableId
}

func (n *network) address() *string {
	n.t.Helper()
	return must(n, n.AllocateAddress, &ec2.AllocateAddressInput{Domain: types.DomainTypeVpc}).AllocationId
}

func (n *network) eni(subnetID *string, groups ...string) *string {
	n.t.Helper()
	return must(
		n, n.CreateNetworkInterface, &ec2.CreateNetworkInterfaceInput{SubnetId: subnetID, Groups: groups},
	).NetworkInterface.NetworkInterfaceId
}

func (n *network) nat(subnetID, allocation *string) *string {
	n.t.Helper()
	return must(n, n.CreateNatGateway, &ec2.CreateNatGatewayInput{SubnetId: subnetID, AllocationId: allocation}).NatGateway.NatGatewayId
}

func filter(name string, values ...string) types.Filter {
	return types.Filter{Name: &name, Values: values}
}

package vpc_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
)

const dependencyViolation = "DependencyViolation"

// AWS refuses to delete resources on which others depend. The error codes are from
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
func TestResourcesWithDependentsCannotBeDeleted(t *testing.T) {
	deleteVPC := func(n *network, id *string) error {
		_, err := n.DeleteVpc(t.Context(), &ec2.DeleteVpcInput{VpcId: id})
		return err
	}
	tests := []struct {
		reason string
		// make creates the resource and one that depends on it. It returns the deletion and a
		// function that removes the dependency.
		make func(n *network, v *string) (del func() error, free func())
		code string
	}{
		// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteVpc.html
		{"a VPC with a subnet", func(n *network, v *string) (func() error, func()) {
			id := n.subnet(v, "10.0.0.0/24", "a")
			return func() error { return deleteVPC(n, v) }, func() { must(n, n.DeleteSubnet, &ec2.DeleteSubnetInput{SubnetId: id}) }
		}, dependencyViolation},
		{"a VPC with an internet gateway", func(n *network, v *string) (func() error, func()) {
			id := n.gateway(v)
			return func() error { return deleteVPC(n, v) }, func() {
				must(n, n.DetachInternetGateway, &ec2.DetachInternetGatewayInput{InternetGatewayId: id, VpcId: v})
			}
		}, dependencyViolation},
		{"a VPC with a security group of its user's", func(n *network, v *string) (func() error, func()) {
			id := n.group(v, "g")
			deleted := &ec2.DeleteSecurityGroupInput{GroupId: id}
			return func() error { return deleteVPC(n, v) }, func() { must(n, n.DeleteSecurityGroup, deleted) }
		}, dependencyViolation},
		{"a VPC with a route table of its user's", func(n *network, v *string) (func() error, func()) {
			id := n.table(v)
			deleted := &ec2.DeleteRouteTableInput{RouteTableId: id}
			return func() error { return deleteVPC(n, v) }, func() { must(n, n.DeleteRouteTable, deleted) }
		}, dependencyViolation},
		{"a VPC with an endpoint", func(n *network, v *string) (func() error, func()) {
			e := must(
				n, n.CreateVpcEndpoint, &ec2.CreateVpcEndpointInput{VpcId: v, ServiceName: aws.String("com.amazonaws.eu-central-1.s3")},
			)
			return func() error { return deleteVPC(n, v) }, func() {
				must(n, n.DeleteVpcEndpoints, &ec2.DeleteVpcEndpointsInput{VpcEndpointIds: []string{*e.VpcEndpoint.VpcEndpointId}})
			}
		}, dependencyViolation},
		// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteSubnet.html
		{"a subnet with an interface", func(n *network, v *string) (func() error, func()) {
			id := n.subnet(v, "10.0.0.0/24", "a")
			eni := n.eni(id)
			return func() error {
				_, err := n.DeleteSubnet(t.Context(), &ec2.DeleteSubnetInput{SubnetId: id})
				return err
			}, func() { must(n, n.DeleteNetworkInterface, &ec2.DeleteNetworkInterfaceInput{NetworkInterfaceId: eni}) }
		}, dependencyViolation},
		{"a subnet with a NAT gateway", func(n *network, v *string) (func() error, func()) {
			n.gateway(v)
			id := n.subnet(v, "10.0.0.0/24", "a")
			nat := n.nat(id, n.address())
			return func() error {
				_, err := n.DeleteSubnet(t.Context(), &ec2.DeleteSubnetInput{SubnetId: id})
				return err
			}, func() { must(n, n.DeleteNatGateway, &ec2.DeleteNatGatewayInput{NatGatewayId: nat}) }
		}, dependencyViolation},
		// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteRouteTable.html
		{"a route table that a subnet uses", func(n *network, v *string) (func() error, func()) {
			id, subnet := n.table(v), n.subnet(v, "10.0.0.0/24", "a")
			a := must(n, n.AssociateRouteTable, &ec2.AssociateRouteTableInput{RouteTableId: id, SubnetId: subnet})
			return func() error {
					_, err := n.DeleteRouteTable(t.Context(), &ec2.DeleteRouteTableInput{RouteTableId: id})
					return err
				}, func() {
					must(n, n.DisassociateRouteTable, &ec2.DisassociateRouteTableInput{AssociationId: a.AssociationId})
				}
		}, dependencyViolation},
		// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteInternetGateway.html
		{"an internet gateway that is attached", func(n *network, v *string) (func() error, func()) {
			id := n.gateway(v)
			return func() error {
					_, err := n.DeleteInternetGateway(t.Context(), &ec2.DeleteInternetGatewayInput{InternetGatewayId: id})
					return err
				}, func() {
					must(n, n.DetachInternetGateway, &ec2.DetachInternetGatewayInput{InternetGatewayId: id, VpcId: v})
				}
		}, dependencyViolation},
		// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DetachInternetGateway.html
		{"an attachment whose VPC has a mapped address", func(n *network, v *string) (func() error, func()) {
			id := n.gateway(v)
			a := must(
				n,
				n.AssociateAddress,
				&ec2.AssociateAddressInput{AllocationId: n.address(), NetworkInterfaceId: n.eni(n.subnet(v, "10.0.0.0/24", "a"))},
			)
			return func() error {
				_, err := n.DetachInternetGateway(t.Context(), &ec2.DetachInternetGatewayInput{InternetGatewayId: id, VpcId: v})
				return err
			}, func() { must(n, n.DisassociateAddress, &ec2.DisassociateAddressInput{AssociationId: a.AssociationId}) }
		}, dependencyViolation},
		// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteSecurityGroup.html
		{"a group that an interface is in", func(n *network, v *string) (func() error, func()) {
			id := n.group(v, "g")
			eni := n.eni(n.subnet(v, "10.0.0.0/24", "a"), *id)
			return func() error {
				_, err := n.DeleteSecurityGroup(t.Context(), &ec2.DeleteSecurityGroupInput{GroupId: id})
				return err
			}, func() { must(n, n.DeleteNetworkInterface, &ec2.DeleteNetworkInterfaceInput{NetworkInterfaceId: eni}) }
		}, dependencyViolation},
		{"a group that another's rule names", func(n *network, v *string) (func() error, func()) {
			id, other := n.group(v, "g"), n.group(v, "o")
			from := []types.IpPermission{{IpProtocol: aws.String("-1"), UserIdGroupPairs: []types.UserIdGroupPair{{GroupId: id}}}}
			must(n, n.AuthorizeSecurityGroupIngress, &ec2.AuthorizeSecurityGroupIngressInput{GroupId: other, IpPermissions: from})
			return func() error {
					_, err := n.DeleteSecurityGroup(t.Context(), &ec2.DeleteSecurityGroupInput{GroupId: id})
					return err
				}, func() {
					must(n, n.RevokeSecurityGroupIngress, &ec2.RevokeSecurityGroupIngressInput{GroupId: other, IpPermissions: from})
				}
		}, dependencyViolation},
		// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_ReleaseAddress.html
		{"an address that a NAT gateway has", func(n *network, v *string) (func() error, func()) {
			n.gateway(v)
			id := n.address()
			nat := n.nat(n.subnet(v, "10.0.0.0/24", "a"), id)
			return func() error {
				_, err := n.ReleaseAddress(t.Context(), &ec2.ReleaseAddressInput{AllocationId: id})
				return err
			}, func() { must(n, n.DeleteNatGateway, &ec2.DeleteNatGatewayInput{NatGatewayId: nat}) }
		}, "InvalidIPAddress.InUse"},
		// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteDhcpOptions.html
		{"DHCP options that a VPC has", func(n *network, v *string) (func() error, func()) {
			o := must(
				n,
				n.CreateDhcpOptions,
				&ec2.CreateDhcpOptionsInput{
					DhcpConfigurations: []types.NewDhcpConfiguration{{Key: aws.String("domain-name"), Values: []string{"x"}}},
				},
			)
			must(n, n.AssociateDhcpOptions, &ec2.AssociateDhcpOptionsInput{VpcId: v, DhcpOptionsId: o.DhcpOptions.DhcpOptionsId})
			return func() error {
					_, err := n.DeleteDhcpOptions(t.Context(), &ec2.DeleteDhcpOptionsInput{DhcpOptionsId: o.DhcpOptions.DhcpOptionsId})
					return err
				}, func() {
					must(n, n.AssociateDhcpOptions, &ec2.AssociateDhcpOptionsInput{VpcId: v, DhcpOptionsId: aws.String("default")})
				}
		}, dependencyViolation},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			n := start(t)
			del, free := test.make(n, n.vpc("10.0.0.0/16"))
			wantCode(t, del(), test.code)
			free()
			if err := del(); err != nil {
				t.Errorf("freed, it does not go: %v", err)
			}
		})
	}
}

func TestUsersCannotChangeInterfacesOfServices(t *testing.T) {
	n := start(t)
	subnet := n.subnet(n.vpc("10.0.0.0/16"), "10.0.0.0/24", "a")
	i, err := n.service.NewInterface(account, region, *subnet, vpc.InterfaceRequest{
		RequesterManaged: true, Type: types.NetworkInterfaceTypeNetworkLoadBalancer, Attachment: &vpc.Attachment{},
	})
	if err != nil {
		t.Fatal(err)
	}
	refused(n, "deleting it", n.DeleteNetworkInterface, &ec2.DeleteNetworkInterfaceInput{NetworkInterfaceId: &i.ID}, "AuthFailure")
	refused(
		n,
		"changing it",
		n.ModifyNetworkInterfaceAttribute,
		&ec2.ModifyNetworkInterfaceAttributeInput{NetworkInterfaceId: &i.ID},
		"AuthFailure",
	)
	own, err := n.service.NewInterface(account, region, *subnet, vpc.InterfaceRequest{Attachment: &vpc.Attachment{InstanceID: "i-1"}})
	if err != nil {
		t.Fatal(err)
	}
	// github.com/gruntwork-io/cloud-nuke/pull/1132 shows the code and message.
	refused(
		n,
		"deleting an instance's",
		n.DeleteNetworkInterface,
		&ec2.DeleteNetworkInterfaceInput{NetworkInterfaceId: &own.ID},
		"InvalidParameterValue",
	)
	if err := n.service.DeleteInterface(account, region, own.ID); err != nil {
		t.Error(err)
	}
}

func TestQuotas(t *testing.T) {
	n := start(t)
	for range 5 {
		n.address()
	}
	refused(n, "a sixth address", n.AllocateAddress, &ec2.AllocateAddressInput{}, "AddressLimitExceeded")
	n.service.SetQuota(account, region, vpc.ElasticAddresses, 6)
	n.address()
	for range 5 {
		n.vpc("10.0.0.0/16")
	}
	refused(n, "a sixth VPC", n.CreateVpc, &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16")}, "VpcLimitExceeded")
	for range 5 {
		n.gateway(nil)
	}
	refused(n, "a sixth gateway", n.CreateInternetGateway, &ec2.CreateInternetGatewayInput{}, "InternetGatewayLimitExceeded")
}

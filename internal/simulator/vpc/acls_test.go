package vpc_test

import (
	"net/netip"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/firewall"
	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
)

func entry(acl *string, number int32, egress bool, action types.RuleAction, cidr string) *ec2.CreateNetworkAclEntryInput {
	return &ec2.CreateNetworkAclEntryInput{
		NetworkAclId: acl, RuleNumber: &number, Egress: &egress, RuleAction: action, CidrBlock: &cidr, Protocol: aws.String("-1"),
	}
}

// https://docs.aws.amazon.com/vpc/latest/userguide/custom-network-acl.html
func TestNetworkACLs(t *testing.T) {
	n := start(t)
	v := n.vpc("10.1.0.0/16")
	subnet := n.subnet(v, "10.1.1.0/24", "a")
	made := must(n, n.CreateNetworkAcl, &ec2.CreateNetworkAclInput{VpcId: v}).NetworkAcl
	if *made.IsDefault || len(made.Entries) != 2 || *made.Entries[0].RuleNumber != 32767 || made.Entries[0].RuleAction != types.RuleActionDeny {
		t.Errorf("a new network ACL has more than the two last rules: %+v", made)
	}
	must(n, n.CreateNetworkAclEntry, entry(made.NetworkAclId, 100, true, types.RuleActionAllow, "0.0.0.0/0"))
	refused(n, "a number twice", n.CreateNetworkAclEntry,
		entry(made.NetworkAclId, 100, true, types.RuleActionDeny, "0.0.0.0/0"), "NetworkAclEntryAlreadyExists")
	refused(n, "the last number", n.CreateNetworkAclEntry,
		entry(made.NetworkAclId, 32767, true, types.RuleActionAllow, "0.0.0.0/0"), "InvalidParameterValue")
	must(n, n.CreateNetworkAclEntry, &ec2.CreateNetworkAclEntryInput{
		NetworkAclId: made.NetworkAclId, RuleNumber: aws.Int32(100), Egress: aws.Bool(false), RuleAction: types.RuleActionDeny,
		CidrBlock: aws.String("10.1.0.0/16"), Protocol: aws.String("6"), PortRange: &types.PortRange{From: aws.Int32(22), To: aws.Int32(80)},
	})
	standard := must(n, n.DescribeNetworkAcls, &ec2.DescribeNetworkAclsInput{Filters: []types.Filter{filter("association.subnet-id", *subnet)}})
	association := standard.NetworkAcls[0].Associations[0].NetworkAclAssociationId
	moved := must(n, n.ReplaceNetworkAclAssociation, &ec2.ReplaceNetworkAclAssociationInput{
		AssociationId: association, NetworkAclId: made.NetworkAclId,
	})
	if moved.NewAssociationId == nil || *moved.NewAssociationId == *association {
		t.Errorf("the association kept its ID: %+v", moved)
	}
	refused(n, "a network ACL of a subnet", n.DeleteNetworkAcl, &ec2.DeleteNetworkAclInput{NetworkAclId: made.NetworkAclId}, "DependencyViolation")
	state, ok := n.service.Firewall(*v)
	if !ok || len(state.Subnets[0].ACL) != 2 {
		t.Fatalf("the firewall has %+v", state)
	}
	want := firewall.Entry{
		Number: 100, Traffic: firewall.Traffic{Protocol: firewall.TCP, First: 22, Last: 80}, Peer: netip.MustParsePrefix("10.1.0.0/16"),
	}
	if got := state.Subnets[0].ACL[1]; got != want {
		t.Errorf("the firewall has %+v, want %+v", got, want)
	}
	must(n, n.DeleteNetworkAclEntry, &ec2.DeleteNetworkAclEntryInput{
		NetworkAclId: made.NetworkAclId, RuleNumber: aws.Int32(100), Egress: aws.Bool(false),
	})
	refused(n, "no such entry", n.DeleteNetworkAclEntry, &ec2.DeleteNetworkAclEntryInput{
		NetworkAclId: made.NetworkAclId, RuleNumber: aws.Int32(100), Egress: aws.Bool(false),
	}, "InvalidNetworkAclEntry.NotFound")
	must(n, n.DeleteSubnet, &ec2.DeleteSubnetInput{SubnetId: subnet})
	refused(n, "a VPC with a network ACL", n.DeleteVpc, &ec2.DeleteVpcInput{VpcId: v}, "DependencyViolation")
	must(n, n.DeleteNetworkAcl, &ec2.DeleteNetworkAclInput{NetworkAclId: made.NetworkAclId})
	must(n, n.DeleteVpc, &ec2.DeleteVpcInput{VpcId: v})
}

func TestFirewallFollowsTheNetwork(t *testing.T) {
	n := start(t)
	changes := 0
	n.service.Watch(func() { changes++ })
	v := n.vpc("10.1.0.0/16")
	private, public := n.subnet(v, "10.1.1.0/24", "a"), n.subnet(v, "10.1.2.0/24", "a")
	table := n.table(v)
	must(n, n.AssociateRouteTable, &ec2.AssociateRouteTableInput{RouteTableId: table, SubnetId: public})
	gateway := n.gateway(v)
	nat := n.nat(public, n.address())
	must(n, n.CreateRoute, &ec2.CreateRouteInput{
		RouteTableId: mainTable(n, v), DestinationCidrBlock: aws.String("0.0.0.0/0"), NatGatewayId: nat,
	})
	made, err := n.service.NewInterface(account, region, *private, vpc.InterfaceRequest{})
	if err != nil {
		t.Fatal(err)
	}
	call := firewall.Packet{
		From: made.PrivateIP, To: n.service.EndpointAddress(*v, "sts.eu-central-1.amazonaws.com"), Protocol: firewall.TCP, Port: 443,
	}
	bucket := call
	bucket.To = n.service.EndpointAddress(*v, "bucket.s3.eu-central-1.amazonaws.com")
	check := func(why string, packet firewall.Packet, want bool) {
		t.Helper()
		state, _ := n.service.Firewall(*v)
		if got := firewall.Compile(state).Allows(packet); got != want {
			t.Errorf("%s: allowed is %t, want %t", why, got, want)
		}
	}
	check("the NAT gateway's subnet has no route to an internet gateway", call, false)
	must(n, n.CreateRoute, &ec2.CreateRouteInput{RouteTableId: table, DestinationCidrBlock: aws.String("0.0.0.0/0"), GatewayId: gateway})
	check("through the NAT gateway", call, true)
	must(n, n.DeleteNatGateway, &ec2.DeleteNatGatewayInput{NatGatewayId: nat})
	check("the NAT gateway is deleted", call, false)
	check("a bucket, too", bucket, false)
	must(n, n.CreateVpcEndpoint, &ec2.CreateVpcEndpointInput{
		VpcId: v, ServiceName: aws.String("com.amazonaws.eu-central-1.s3"), RouteTableIds: []string{*mainTable(n, v)},
	})
	check("a bucket through the gateway endpoint", bucket, true)
	check("other services not", call, false)
	other := bucket
	other.To = n.service.EndpointAddress(*v, "bucket.s3.us-east-1.amazonaws.com")
	check("a bucket of another region not", other, false)
	must(n, n.CreateVpcEndpoint, &ec2.CreateVpcEndpointInput{
		VpcId: v, ServiceName: aws.String("com.amazonaws.eu-central-1.sts"), VpcEndpointType: types.VpcEndpointTypeInterface,
		SubnetIds: []string{*private}, PrivateDnsEnabled: aws.Bool(true),
	})
	call.To = n.service.EndpointAddress(*v, "sts.eu-central-1.amazonaws.com")
	check("through an interface endpoint with the same security group", call, true)
	before := changes
	must(n, n.DescribeSubnets, &ec2.DescribeSubnetsInput{})
	if changes != before || before == 0 {
		t.Errorf("%d changes before a description, %d after", before, changes)
	}
}

// mainTable returns the main route table of a VPC.
func mainTable(n *network, v *string) *string {
	n.t.Helper()
	return must(n, n.DescribeRouteTables, &ec2.DescribeRouteTablesInput{Filters: []types.Filter{
		filter("association.main", "true"), filter("vpc-id", *v),
	}}).RouteTables[0].RouteTableId
}

package vpc_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	wiretest.WantCode(t, err, code)
}

func TestVPCHasDefaultResources(t *testing.T) {
	n := start(t)
	v := n.vpc("10.1.2.3/16") // host bits are cleared
	got := must(n, n.DescribeVpcs, &ec2.DescribeVpcsInput{Filters: []types.Filter{filter("cidr", "10.1.0.0/16")}}).Vpcs
	if len(got) != 1 || *got[0].VpcId != *v || *got[0].IsDefault {
		t.Fatalf("VPCs %+v", got)
	}
	tables := must(
		n, n.DescribeRouteTables, &ec2.DescribeRouteTablesInput{Filters: []types.Filter{filter("association.main", "true")}},
	).RouteTables
	if len(tables) != 1 || len(tables[0].Routes) != 1 || *tables[0].Routes[0].GatewayId != "local" {
		t.Errorf("main table %+v", tables)
	}
	groups := must(
		n,
		n.DescribeSecurityGroups,
		&ec2.DescribeSecurityGroupsInput{Filters: []types.Filter{filter("group-name", "default"), filter("vpc-id", *v)}},
	).SecurityGroups
	if len(groups) != 1 || len(groups[0].IpPermissions) != 1 || len(groups[0].IpPermissionsEgress) != 1 {
		t.Errorf("groups %+v", groups)
	}
	acls := must(n, n.DescribeNetworkAcls, &ec2.DescribeNetworkAclsInput{}).NetworkAcls
	if len(acls) != 1 || len(acls[0].Entries) != 4 {
		t.Errorf("access lists %+v", acls)
	}
	refused(
		n, "its main table", n.DeleteRouteTable, &ec2.DeleteRouteTableInput{RouteTableId: tables[0].RouteTableId}, "DependencyViolation",
	)
	refused(n, "its group", n.DeleteSecurityGroup, &ec2.DeleteSecurityGroupInput{GroupId: groups[0].GroupId}, "CannotDelete")
	must(
		n,
		n.ModifyVpcAttribute,
		&ec2.ModifyVpcAttributeInput{VpcId: v, EnableDnsHostnames: &types.AttributeBooleanValue{Value: aws.Bool(true)}},
	)
	a := must(n, n.DescribeVpcAttribute, &ec2.DescribeVpcAttributeInput{VpcId: v, Attribute: types.VpcAttributeNameEnableDnsHostnames})
	if !*a.EnableDnsHostnames.Value {
		t.Error("the attribute was not set")
	}
	must(n, n.DeleteVpc, &ec2.DeleteVpcInput{VpcId: v})
	if kept := n.service.Kept(account, region); len(kept) != 0 {
		t.Errorf("left: %v", kept)
	}
}

func TestRanges(t *testing.T) {
	n := start(t)
	v := n.vpc("10.0.0.0/16")
	n.subnet(v, "10.0.0.0/24", "a")
	for _, test := range []struct{ reason, cidr, zone, code string }{
		{"off the VPC's range", "10.1.0.0/24", "a", "InvalidSubnet.Range"},
		{"smaller than /28", "10.0.1.0/29", "a", "InvalidSubnet.Range"},
		{"within another subnet", "10.0.0.128/25", "b", "InvalidSubnet.Conflict"},
		{"no range", "10.0.1.0", "a", "InvalidParameterValue"},
		{"a zone that is not there", "10.0.1.0/24", "z", "InvalidParameterValue"},
	} {
		refused(
			n,
			test.reason,
			n.CreateSubnet,
			&ec2.CreateSubnetInput{VpcId: v, CidrBlock: &test.cidr, AvailabilityZone: aws.String(region + test.zone)},
			test.code,
		)
	}
	refused(n, "a VPC larger than /16", n.CreateVpc, &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/8")}, "InvalidVpc.Range")
	refused(
		n,
		"a VPC that is not there",
		n.CreateSubnet,
		&ec2.CreateSubnetInput{VpcId: aws.String("vpc-1"), CidrBlock: aws.String("10.0.9.0/24")},
		"InvalidVpcID.NotFound",
	)
	refused(
		n,
		"IPv6",
		n.CreateVpc,
		&ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16"), AmazonProvidedIpv6CidrBlock: aws.Bool(true)},
		"UnsupportedOperation",
	)

	refused(
		n,
		"what is not there in part",
		n.ModifySubnetAttribute,
		&ec2.ModifySubnetAttributeInput{SubnetId: aws.String("subnet-1"), EnableLniAtDeviceIndex: aws.Int32(1)},
		"UnsupportedOperation",
	)

	second := must(
		n, n.AssociateVpcCidrBlock, &ec2.AssociateVpcCidrBlockInput{VpcId: v, CidrBlock: aws.String("10.1.0.0/16")},
	).CidrBlockAssociation
	in2 := n.subnet(v, "10.1.0.0/24", "a")
	refused(
		n,
		"a range with a subnet",
		n.DisassociateVpcCidrBlock,
		&ec2.DisassociateVpcCidrBlockInput{AssociationId: second.AssociationId},
		"InvalidCidrBlock.InUse",
	)
	must(n, n.DeleteSubnet, &ec2.DeleteSubnetInput{SubnetId: in2})
	must(n, n.DisassociateVpcCidrBlock, &ec2.DisassociateVpcCidrBlockInput{AssociationId: second.AssociationId})
}

func TestSubnetAddresses(t *testing.T) {
	n := start(t)
	s := n.subnet(n.vpc("10.0.0.0/16"), "10.0.0.0/28", "a")
	free := func() int32 {
		return *must(n, n.DescribeSubnets, &ec2.DescribeSubnetsInput{SubnetIds: []string{*s}}).Subnets[0].AvailableIpAddressCount
	}
	if free() != 11 { // https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html
		t.Errorf("%d free, want 16 less the 5 that AWS keeps", free())
	}
	first := must(n, n.CreateNetworkInterface, &ec2.CreateNetworkInterfaceInput{SubnetId: s}).NetworkInterface
	if *first.PrivateIpAddress != "10.0.0.4" || *first.PrivateDnsName != "ip-10-0-0-4.eu-central-1.compute.internal" {
		t.Errorf("the first is %s, %s", *first.PrivateIpAddress, *first.PrivateDnsName)
	}
	refused(
		n,
		"an address twice",
		n.CreateNetworkInterface,
		&ec2.CreateNetworkInterfaceInput{SubnetId: s, PrivateIpAddress: aws.String("10.0.0.4")},
		"InvalidIPAddress.InUse",
	)
	refused(
		n,
		"one that AWS keeps",
		n.CreateNetworkInterface,
		&ec2.CreateNetworkInterfaceInput{SubnetId: s, PrivateIpAddress: aws.String("10.0.0.15")},
		"InvalidParameterValue",
	)
	for range 10 {
		n.eni(s)
	}
	refused(
		n, "a full subnet", n.CreateNetworkInterface, &ec2.CreateNetworkInterfaceInput{SubnetId: s}, "InsufficientFreeAddressesInSubnet",
	)
	must(n, n.DeleteNetworkInterface, &ec2.DeleteNetworkInterfaceInput{NetworkInterfaceId: first.NetworkInterfaceId})
	if again := must(
		n, n.CreateNetworkInterface, &ec2.CreateNetworkInterfaceInput{SubnetId: s},
	).NetworkInterface; *again.PrivateIpAddress != "10.0.0.4" {
		t.Errorf("the free address is %s", *again.PrivateIpAddress)
	}
}

func TestRoutes(t *testing.T) {
	n := start(t)
	v := n.vpc("10.0.0.0/16")
	loose, table := n.gateway(nil), n.table(v)
	everywhere := aws.String("0.0.0.0/0")
	refused(
		n,
		"a gateway of no VPC",
		n.CreateRoute,
		&ec2.CreateRouteInput{RouteTableId: table, DestinationCidrBlock: everywhere, GatewayId: loose},
		"InvalidParameterValue",
	)
	refused(
		n,
		"no target",
		n.CreateRoute,
		&ec2.CreateRouteInput{RouteTableId: table, DestinationCidrBlock: everywhere},
		"InvalidParameterCombination",
	)
	refused(
		n,
		"a NAT gateway that is not there",
		n.CreateRoute,
		&ec2.CreateRouteInput{RouteTableId: table, DestinationCidrBlock: everywhere, NatGatewayId: aws.String("nat-1")},
		"InvalidNatGatewayID.NotFound",
	)
	must(n, n.AttachInternetGateway, &ec2.AttachInternetGatewayInput{InternetGatewayId: loose, VpcId: v})
	must(n, n.CreateRoute, &ec2.CreateRouteInput{RouteTableId: table, DestinationCidrBlock: everywhere, GatewayId: loose})
	refused(
		n,
		"a destination twice",
		n.CreateRoute,
		&ec2.CreateRouteInput{RouteTableId: table, DestinationCidrBlock: everywhere, GatewayId: loose},
		"RouteAlreadyExists",
	)
	refused(
		n,
		"the local route",
		n.DeleteRoute,
		&ec2.DeleteRouteInput{RouteTableId: table, DestinationCidrBlock: aws.String("10.0.0.0/16")},
		"InvalidParameterValue",
	)

	s := n.subnet(v, "10.0.0.0/24", "a")
	must(n, n.AssociateRouteTable, &ec2.AssociateRouteTableInput{RouteTableId: table, SubnetId: s})
	refused(
		n,
		"a second table",
		n.AssociateRouteTable,
		&ec2.AssociateRouteTableInput{RouteTableId: n.table(v), SubnetId: s},
		"Resource.AlreadyAssociated",
	)
	if got, _ := n.service.Subnet(account, region, *s); !got.InternetGateway || got.Zone != "eu-central-1a" ||
		got.VPCRange.String() != "10.0.0.0/16" {
		t.Errorf("subnet %+v", got)
	}
	must(n, n.DetachInternetGateway, &ec2.DetachInternetGatewayInput{InternetGatewayId: loose, VpcId: v})
	holes := must(
		n, n.DescribeRouteTables, &ec2.DescribeRouteTablesInput{Filters: []types.Filter{filter("route.state", "blackhole")}},
	).RouteTables
	if len(holes) != 1 || *holes[0].RouteTableId != *table {
		t.Errorf("tables with routes to nothing: %+v", holes)
	}
	must(n, n.DeleteRoute, &ec2.DeleteRouteInput{RouteTableId: table, DestinationCidrBlock: everywhere})
	refused(
		n,
		"a route that is not there",
		n.DeleteRoute,
		&ec2.DeleteRouteInput{RouteTableId: table, DestinationCidrBlock: everywhere},
		"InvalidRoute.NotFound",
	)
}

func TestNATGateways(t *testing.T) {
	n := start(t, vpc.WithNATLatency(time.Minute))
	v := n.vpc("10.0.0.0/16")
	s, a := n.subnet(v, "10.0.0.0/24", "a"), n.address()
	state := func(id *string) types.NatGateway {
		t.Helper()
		return must(n, n.DescribeNatGateways, &ec2.DescribeNatGatewaysInput{NatGatewayIds: []string{*id}}).NatGateways[0]
	}
	// https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-troubleshooting.html
	if failed := state(n.nat(s, a)); failed.State != types.NatGatewayStateFailed || *failed.FailureCode != "Gateway.NotAttached" {
		t.Errorf("without an internet gateway: %+v", failed)
	}
	n.gateway(v)
	id := n.nat(s, a)
	if got := state(id); got.State != types.NatGatewayStatePending || *got.NatGatewayAddresses[0].AllocationId != *a {
		t.Errorf("at first: %+v", got)
	}
	if taken := state(n.nat(s, a)); taken.State != types.NatGatewayStateFailed || *taken.FailureCode != "Resource.AlreadyAssociated" {
		t.Errorf("with an address that is taken: %+v", taken)
	}
	n.clock.Step(time.Minute)
	if got := state(id); got.State != types.NatGatewayStateAvailable {
		t.Errorf("after a minute: %s", got.State)
	}
	refused(
		n,
		"its mapping",
		n.DisassociateAddress,
		&ec2.DisassociateAddressInput{AssociationId: state(id).NatGatewayAddresses[0].AssociationId},
		"AuthFailure",
	)
	must(n, n.DeleteNatGateway, &ec2.DeleteNatGatewayInput{NatGatewayId: id})
	if got := state(id); got.State != types.NatGatewayStateDeleting {
		t.Errorf("on its way: %s", got.State)
	}
	must(n, n.ReleaseAddress, &ec2.ReleaseAddressInput{AllocationId: a})
	n.clock.Step(2 * time.Hour)
	refused(n, "long deleted", n.DescribeNatGateways, &ec2.DescribeNatGatewaysInput{NatGatewayIds: []string{*id}}, "NatGatewayNotFound")
}

func TestSecurityGroupRules(t *testing.T) {
	n := start(t)
	v := n.vpc("10.0.0.0/16")
	g := n.group(v, "g")
	ssh := types.IpPermission{
		IpProtocol: aws.String("6"),
		FromPort:   aws.Int32(22),
		ToPort:     aws.Int32(22),
		IpRanges:   []types.IpRange{{CidrIp: aws.String("0.0.0.0/0"), Description: aws.String("ssh")}},
	}
	added := must(
		n, n.AuthorizeSecurityGroupIngress, &ec2.AuthorizeSecurityGroupIngressInput{GroupId: g, IpPermissions: []types.IpPermission{ssh}},
	).SecurityGroupRules
	if len(added) != 1 || *added[0].IpProtocol != "tcp" || *added[0].CidrIpv4 != "0.0.0.0/0" {
		t.Fatalf("added %+v", added)
	}
	authorize := func(reason string, p types.IpPermission, code string) {
		t.Helper()
		refused(
			n,
			reason,
			n.AuthorizeSecurityGroupIngress,
			&ec2.AuthorizeSecurityGroupIngressInput{GroupId: g, IpPermissions: []types.IpPermission{p}},
			code,
		)
	}
	authorize("a rule twice", ssh, "InvalidPermission.Duplicate")
	authorize(
		"ports without an end",
		types.IpPermission{IpProtocol: aws.String("tcp"), FromPort: aws.Int32(1), IpRanges: ssh.IpRanges},
		"InvalidParameterValue",
	)
	authorize("no peer", types.IpPermission{IpProtocol: aws.String("-1")}, "MissingParameter")
	authorize(
		"a malformed range",
		types.IpPermission{IpProtocol: aws.String("-1"), IpRanges: []types.IpRange{{CidrIp: aws.String("10.0.0.0")}}},
		"InvalidParameterValue",
	)
	authorize(
		"a group that is not there",
		types.IpPermission{IpProtocol: aws.String("-1"), UserIdGroupPairs: []types.UserIdGroupPair{{GroupId: aws.String("sg-1")}}},
		"InvalidGroup.NotFound",
	)
	refused(
		n,
		"a name twice",
		n.CreateSecurityGroup,
		&ec2.CreateSecurityGroupInput{VpcId: v, GroupName: aws.String("g"), Description: aws.String("d")},
		"InvalidGroup.Duplicate",
	)
	refused(
		n,
		"no VPC, as there is no default one",
		n.CreateSecurityGroup,
		&ec2.CreateSecurityGroupInput{GroupName: aws.String("h"), Description: aws.String("d")},
		"VPCIdNotSpecified",
	)

	list := must(n, n.DescribeSecurityGroups, &ec2.DescribeSecurityGroupsInput{GroupIds: []string{*g}}).SecurityGroups[0]
	want := []types.IpPermission{{
		IpProtocol: aws.String("tcp"), FromPort: aws.Int32(22), ToPort: aws.Int32(22),
		IpRanges: []types.IpRange{{CidrIp: aws.String("0.0.0.0/0"), Description: aws.String("ssh")}},
	}}
	private := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".noSmithyDocumentSerde" }, cmp.Ignore())
	if diff := cmp.Diff(want, list.IpPermissions, private); diff != "" {
		t.Error(diff)
	}
	must(n, n.ModifySecurityGroupRules, &ec2.ModifySecurityGroupRulesInput{GroupId: g, SecurityGroupRules: []types.SecurityGroupRuleUpdate{{
		SecurityGroupRuleId: added[0].SecurityGroupRuleId,
		SecurityGroupRule: &types.SecurityGroupRuleRequest{
			IpProtocol:        aws.String("tcp"),
			FromPort:          aws.Int32(23),
			ToPort:            aws.Int32(23),
			ReferencedGroupId: g,
		},
	}}})
	rules := must(
		n,
		n.DescribeSecurityGroupRules,
		&ec2.DescribeSecurityGroupRulesInput{SecurityGroupRuleIds: []string{*added[0].SecurityGroupRuleId}},
	).SecurityGroupRules
	if len(rules) != 1 || *rules[0].FromPort != 23 || *rules[0].ReferencedGroupInfo.GroupId != *g {
		t.Errorf("modified %+v", rules)
	}
	must(
		n,
		n.RevokeSecurityGroupIngress,
		&ec2.RevokeSecurityGroupIngressInput{GroupId: g, SecurityGroupRuleIds: []string{*added[0].SecurityGroupRuleId}},
	)
	refused(
		n,
		"a deleted rule",
		n.RevokeSecurityGroupIngress,
		&ec2.RevokeSecurityGroupIngressInput{GroupId: g, IpPermissions: []types.IpPermission{ssh}},
		"InvalidPermission.NotFound",
	)
}

func TestEndpoints(t *testing.T) {
	n := start(t)
	v := n.vpc("10.0.0.0/16")
	table, s := n.table(v), n.subnet(v, "10.0.0.0/24", "a")
	s3 := must(
		n,
		n.CreateVpcEndpoint,
		&ec2.CreateVpcEndpointInput{VpcId: v, ServiceName: aws.String("com.amazonaws.eu-central-1.s3"), RouteTableIds: []string{*table}},
	).VpcEndpoint
	lists := must(
		n, n.DescribePrefixLists, &ec2.DescribePrefixListsInput{Filters: []types.Filter{filter("prefix-list-name", "com.amazonaws.*.s3")}},
	).PrefixLists
	routes := must(n, n.DescribeRouteTables, &ec2.DescribeRouteTablesInput{RouteTableIds: []string{*table}}).RouteTables[0].Routes
	if len(lists) != 1 || len(routes) != 2 || *routes[1].DestinationPrefixListId != *lists[0].PrefixListId ||
		*routes[1].GatewayId != *s3.VpcEndpointId {
		t.Errorf("lists %+v, routes %+v", lists, routes)
	}
	refused(
		n,
		"no such service",
		n.CreateVpcEndpoint,
		&ec2.CreateVpcEndpointInput{VpcId: v, ServiceName: aws.String("com.amazonaws.us-east-1.s3")},
		"InvalidServiceName",
	)
	ecr := must(n, n.CreateVpcEndpoint, &ec2.CreateVpcEndpointInput{
		VpcId: v, ServiceName: aws.String("com.amazonaws.eu-central-1.ecr.api"), VpcEndpointType: types.VpcEndpointTypeInterface,
		SubnetIds: []string{*s},
	}).VpcEndpoint
	if len(ecr.NetworkInterfaceIds) != 1 || len(ecr.Groups) != 1 {
		t.Errorf("interface endpoint %+v", ecr)
	}
	out := must(
		n, n.DeleteVpcEndpoints, &ec2.DeleteVpcEndpointsInput{VpcEndpointIds: []string{*s3.VpcEndpointId, *ecr.VpcEndpointId, "vpce-1"}},
	)
	if len(out.Unsuccessful) != 1 || *out.Unsuccessful[0].Error.Code != "InvalidVpcEndpointId.NotFound" {
		t.Errorf("unsuccessful %+v", out.Unsuccessful)
	}
	must(n, n.DeleteSubnet, &ec2.DeleteSubnetInput{SubnetId: s})
	must(n, n.DeleteRouteTable, &ec2.DeleteRouteTableInput{RouteTableId: table})
	must(n, n.DeleteVpc, &ec2.DeleteVpcInput{VpcId: v})
}

func TestTagsFiltersAndPages(t *testing.T) {
	n := start(t)
	v := n.vpc("10.0.0.0/16")
	spec := []types.TagSpecification{
		{ResourceType: types.ResourceTypeSubnet, Tags: []types.Tag{{Key: aws.String("Name"), Value: aws.String("demo-a")}}},
	}
	s := must(n, n.CreateSubnet, &ec2.CreateSubnetInput{VpcId: v, CidrBlock: aws.String("10.0.0.0/24"), TagSpecifications: spec}).Subnet
	spec[0].ResourceType = types.ResourceTypeVpc
	refused(
		n,
		"tags of another kind",
		n.CreateSubnet,
		&ec2.CreateSubnetInput{VpcId: v, CidrBlock: aws.String("10.0.1.0/24"), TagSpecifications: spec},
		"InvalidParameterValue",
	)
	must(
		n,
		n.CreateTags,
		&ec2.CreateTagsInput{
			Resources: []string{*v, *s.SubnetId},
			Tags:      []types.Tag{{Key: aws.String("cluster"), Value: aws.String("demo")}},
		},
	)
	refused(
		n,
		"an id that is not there",
		n.CreateTags,
		&ec2.CreateTagsInput{Resources: []string{"subnet-1"}, Tags: []types.Tag{{Key: aws.String("a")}}},
		"InvalidSubnetID.NotFound",
	)
	refused(
		n,
		"a key that is AWS's",
		n.CreateTags,
		&ec2.CreateTagsInput{Resources: []string{*v}, Tags: []types.Tag{{Key: aws.String("aws:x")}}},
		"InvalidParameterValue",
	)
	for _, test := range []struct {
		reason  string
		filters []types.Filter
		want    int
	}{
		{"a tag's value with a wildcard", []types.Filter{filter("tag:Name", "demo-?")}, 1},
		{"all filters must pass", []types.Filter{filter("tag:Name", "demo-*"), filter("vpc-id", "vpc-0")}, 0},
		{"one of the values is enough", []types.Filter{filter("tag:cluster", "other", "demo")}, 1},
		{"a tag's key", []types.Filter{filter("tag-key", "Nam")}, 0},
	} {
		if got := must(n, n.DescribeSubnets, &ec2.DescribeSubnetsInput{Filters: test.filters}).Subnets; len(got) != test.want {
			t.Errorf("%s: %d found, want %d", test.reason, len(got), test.want)
		}
	}
	refused(
		n,
		"a filter that is not there",
		n.DescribeSubnets,
		&ec2.DescribeSubnetsInput{Filters: []types.Filter{filter("nonsense", "x")}},
		"InvalidParameterValue",
	)
	tags := must(n, n.DescribeTags, &ec2.DescribeTagsInput{Filters: []types.Filter{filter("resource-id", *s.SubnetId)}}).Tags
	if len(tags) != 2 || tags[0].ResourceType != types.ResourceTypeSubnet {
		t.Errorf("tags %+v", tags)
	}
	must(
		n,
		n.DeleteTags,
		&ec2.DeleteTagsInput{Resources: []string{*v}, Tags: []types.Tag{{Key: aws.String("cluster"), Value: aws.String("other")}}},
	)
	if got := n.service.Tags(account, region).Having("cluster", "demo"); len(got) != 2 {
		t.Errorf("a tag of another value was deleted: %v", got)
	}
	must(n, n.DeleteTags, &ec2.DeleteTagsInput{Resources: []string{*v}})
	if got := n.service.Tags(account, region).Get(*v); len(got) != 0 {
		t.Errorf("left: %v", got)
	}

	for i := range 11 {
		n.group(v, "g"+string(rune('a'+i)))
	}
	pages, seen := 0, map[string]bool{}
	p := ec2.NewDescribeSecurityGroupsPaginator(n, &ec2.DescribeSecurityGroupsInput{MaxResults: aws.Int32(5)})
	for p.HasMorePages() {
		page, err := p.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		pages++
		for _, g := range page.SecurityGroups {
			seen[*g.GroupId] = true
		}
	}
	if pages != 3 || len(seen) != 12 {
		t.Errorf("%d groups on %d pages", len(seen), pages)
	}
	refused(
		n,
		"a page that is too small",
		n.DescribeSecurityGroups,
		&ec2.DescribeSecurityGroupsInput{MaxResults: aws.Int32(1)},
		"InvalidParameterValue",
	)
}

func TestZones(t *testing.T) {
	n := start(t)
	zones := must(
		n,
		n.DescribeAvailabilityZones,
		&ec2.DescribeAvailabilityZonesInput{Filters: []types.Filter{filter("opt-in-status", "opt-in-not-required")}},
	).AvailabilityZones
	if len(zones) != 3 || *zones[0].ZoneName != "eu-central-1a" || *zones[0].ZoneId != "euc1-az1" {
		t.Errorf("zones %+v", zones)
	}
	refused(
		n,
		"a zone that is not there",
		n.DescribeAvailabilityZones,
		&ec2.DescribeAvailabilityZonesInput{ZoneNames: []string{"eu-central-1z"}},
		"InvalidParameterValue",
	)
	all := must(n, n.DescribeRegions, &ec2.DescribeRegionsInput{AllRegions: aws.Bool(true)}).Regions
	mine := must(n, n.DescribeRegions, &ec2.DescribeRegionsInput{}).Regions
	if len(mine) != 17 || len(all) <= len(mine) {
		t.Errorf("%d regions of %d", len(mine), len(all))
	}
	refused(
		n, "a dry run", n.CreateVpc, &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16"), DryRun: aws.Bool(true)}, "DryRunOperation",
	)
}

func TestAddressesMapToInterfaces(t *testing.T) {
	n := start(t)
	v := n.vpc("10.0.0.0/16")
	s, a := n.subnet(v, "10.0.0.0/24", "a"), n.address()
	i, err := n.service.NewInterface(
		account, region, *s, vpc.InterfaceRequest{PublicIP: true, Attachment: &vpc.Attachment{InstanceID: "i-1"}},
	)
	if err != nil || !i.PublicIP.IsValid() {
		t.Fatalf("%+v %v", i, err)
	}
	refused(
		n,
		"no gateway",
		n.AssociateAddress,
		&ec2.AssociateAddressInput{AllocationId: a, InstanceId: aws.String("i-1")},
		"Gateway.NotAttached",
	)
	n.gateway(v)
	must(n, n.AssociateAddress, &ec2.AssociateAddressInput{AllocationId: a, InstanceId: aws.String("i-1")})
	got := must(n, n.DescribeAddresses, &ec2.DescribeAddressesInput{Filters: []types.Filter{filter("instance-id", "i-1")}}).Addresses
	now, _ := n.service.Interface(account, region, i.ID)
	if len(got) != 1 || now.PublicIP.String() != *got[0].PublicIp || now.PublicIP == i.PublicIP {
		t.Errorf("addresses %+v, interface %+v", got, now)
	}
	refused(n, "one in use", n.ReleaseAddress, &ec2.ReleaseAddressInput{AllocationId: a}, "InvalidIPAddress.InUse")
	if err := n.service.DeleteInterface(account, region, i.ID); err != nil {
		t.Fatal(err)
	}
	must(n, n.ReleaseAddress, &ec2.ReleaseAddressInput{AllocationId: a})
}

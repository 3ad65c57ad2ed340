package vpc

import (
	"net/netip"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// subnet is a range of a VPC's addresses in one zone.
type subnet struct {
	named

	vpc            *vpc
	zone           zone
	cidr           netip.Prefix
	isDefault      bool // of its zone
	mapPublic      bool
	dnsARecords    bool
	hostnameType   types.HostnameType
	acl            *acl
	aclAssociation string
	taken          map[netip.Addr]bool // by interfaces
}

// reserved is the number of addresses that AWS reserves in each subnet: the first four and the
// last.
// https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html
const reserved = 5

// free returns the number of unused addresses.
func (n *subnet) free() int { return 1<<(32-n.cidr.Bits()) - reserved - len(n.taken) }

// usable reports whether an interface can have an address of the subnet.
func (n *subnet) usable(a netip.Addr) bool {
	if !n.cidr.Contains(a) {
		return false
	}
	first := n.cidr.Addr()
	for range 4 {
		if a == first {
			return false
		}
		first = first.Next()
	}
	return n.cidr.Contains(a.Next())
}

// take allocates the requested address, or the first free one.
func (n *subnet) take(asked string) (netip.Addr, error) {
	a, err := n.pick(asked)
	if err == nil {
		n.taken[a] = true
	}
	return a, err
}

func (n *subnet) pick(asked string) (netip.Addr, error) {
	if asked != "" {
		a, err := netip.ParseAddr(asked)
		switch {
		case err != nil:
			return a, invalid("address", asked, "Invalid IPv4 address")
		case !n.usable(a):
			return a, wire.Errorf("InvalidParameterValue", "Address %s does not fall within the subnet's address range", asked)
		case n.taken[a]:
			return a, wire.Errorf("InvalidIPAddress.InUse", "Address %s is in use.", asked)
		}
		return a, nil
	}
	for a := n.cidr.Addr(); n.cidr.Contains(a); a = a.Next() {
		if n.usable(a) && !n.taken[a] {
			return a, nil
		}
	}
	return netip.Addr{}, wire.Errorf(
		"InsufficientFreeAddressesInSubnet", "The specified subnet does not have enough free addresses to satisfy the request.",
	)
}

func (r *region) createSubnet(in *ec2.CreateSubnetInput) (*ec2.CreateSubnetOutput, error) {
	n, err := r.newSubnet(in)
	if err != nil {
		return nil, err
	}
	d := r.describeSubnet(n)
	return &ec2.CreateSubnetOutput{Subnet: &d}, nil
}

// newSubnet creates a subnet. It must be within its VPC's range and not overlap other subnets.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateSubnet.html
func (r *region) newSubnet(in *ec2.CreateSubnetInput) (*subnet, error) {
	switch {
	case in.Ipv6CidrBlock != nil || aws.ToBool(in.Ipv6Native):
		return nil, unsupported("ipv6CidrBlock")
	case in.Ipv4IpamPoolId != nil || in.Ipv4NetmaskLength != nil || in.Ipv6IpamPoolId != nil:
		return nil, unsupported("ipv4IpamPoolId")
	case in.OutpostArn != nil:
		return nil, unsupported("outpostArn")
	}
	v, err := r.vpcs.get(in.VpcId)
	if err != nil {
		return nil, err
	}
	if aws.ToString(in.CidrBlock) == "" {
		return nil, wire.Errorf("MissingParameter", "Either 'cidrBlock' or 'ipv6CidrBlock' should be provided.")
	}
	cidr, err := parseRange("cidrBlock", *in.CidrBlock)
	if err != nil {
		return nil, err
	}
	if cidr.Bits() > 28 || cidr.Bits() < 16 || !v.rangeOf(cidr).IsValid() {
		return nil, wire.Errorf("InvalidSubnet.Range", "The CIDR '%s' is invalid.", *in.CidrBlock)
	}
	if r.subnets.has(func(n *subnet) bool { return n.vpc == v && n.cidr.Overlaps(cidr) }) {
		return nil, wire.Errorf("InvalidSubnet.Conflict", "The CIDR '%s' conflicts with another subnet", *in.CidrBlock)
	}
	z, err := r.zone(in.AvailabilityZone, in.AvailabilityZoneId)
	if err != nil {
		return nil, err
	}
	tags, err := TagsFor(in.TagSpecifications, types.ResourceTypeSubnet)
	if err != nil {
		return nil, err
	}
	in1 := r.subnets.count(func(n *subnet) bool { return n.vpc == v })
	if err := r.within(SubnetsOfVPC, in1, "SubnetLimitExceeded", "The maximum number of subnets has been reached."); err != nil {
		return nil, err
	}
	n := &subnet{
		named: r.newID("subnet", types.ResourceTypeSubnet, tags[types.ResourceTypeSubnet]), vpc: v, zone: z, cidr: cidr,
		hostnameType: types.HostnameTypeIpName, acl: r.defaultACL(v), aclAssociation: NewID("aclassoc"), taken: map[netip.Addr]bool{},
	}
	r.subnets.byID[n.id] = n
	return n, nil
}

// removeSubnet deletes a subnet without interfaces, and its association with a route table.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteSubnet.html
func (r *region) removeSubnet(id *string) error {
	n, err := r.subnets.get(id)
	if err != nil {
		return err
	}
	if len(n.taken) > 0 {
		return depends("subnet", n.id)
	}
	for _, t := range r.routeTables.byID {
		t.associations = slices.DeleteFunc(t.associations, func(a association) bool { return a.subnet == n })
	}
	drop(r, r.subnets, n)
	return nil
}

func (r *region) deleteSubnet(in *ec2.DeleteSubnetInput) (*ec2.DeleteSubnetOutput, error) {
	return &ec2.DeleteSubnetOutput{}, r.removeSubnet(in.SubnetId)
}

func (r *region) describeSubnet(n *subnet) types.Subnet {
	return types.Subnet{
		SubnetId: aws.String(n.id), VpcId: aws.String(n.vpc.id), CidrBlock: aws.String(n.cidr.String()), State: types.SubnetStateAvailable,
		SubnetArn: aws.String(r.ARN(r.partition(), "ec2", "subnet/"+n.id)), OwnerId: aws.String(r.Account),
		AvailabilityZone: aws.String(n.zone.name), AvailabilityZoneId: aws.String(n.zone.id), DefaultForAz: aws.Bool(n.isDefault),
		AvailableIpAddressCount: aws.Int32(int32(n.free())), //nolint:gosec // at most 65536
		MapPublicIpOnLaunch:     aws.Bool(n.mapPublic), AssignIpv6AddressOnCreation: aws.Bool(false),
		EnableDns64: aws.Bool(false), Ipv6Native: aws.Bool(false), MapCustomerOwnedIpOnLaunch: aws.Bool(false), Tags: r.tags.List(n.id),
		PrivateDnsNameOptionsOnLaunch: &types.PrivateDnsNameOptionsOnLaunch{
			HostnameType: n.hostnameType, EnableResourceNameDnsARecord: aws.Bool(n.dnsARecords),
			EnableResourceNameDnsAAAARecord: aws.Bool(false),
		},
	}
}

func (r *region) subnetFields() Fields[*subnet] {
	name := func(n *subnet) []string { return text(n.zone.name) }
	zoneID := func(n *subnet) []string { return text(n.zone.id) }
	cidr := func(n *subnet) []string { return text(n.cidr.String()) }
	return Fields[*subnet]{
		"subnet-id": func(n *subnet) []string { return text(n.id) }, "vpc-id": func(n *subnet) []string { return text(n.vpc.id) },
		"availability-zone": name, "availabilityZone": name, "availability-zone-id": zoneID, "availabilityZoneId": zoneID,
		"cidr": cidr, "cidrBlock": cidr, "cidr-block": cidr, "state": func(*subnet) []string { return text("available") },
		"owner-id":                   func(*subnet) []string { return text(r.Account) },
		"default-for-az":             func(n *subnet) []string { return flag(n.isDefault) },
		"defaultForAz":               func(n *subnet) []string { return flag(n.isDefault) },
		"map-public-ip-on-launch":    func(n *subnet) []string { return flag(n.mapPublic) },
		"mapPublicIpOnLaunch":        func(n *subnet) []string { return flag(n.mapPublic) },
		"available-ip-address-count": func(n *subnet) []string { return text(decimal(n.free())) },
		"subnet-arn":                 func(n *subnet) []string { return text(r.ARN(r.partition(), "ec2", "subnet/"+n.id)) },
		"ipv6-native":                func(*subnet) []string { return flag(false) },
	}
}

func (r *region) describeSubnets(in *ec2.DescribeSubnetsInput) (*ec2.DescribeSubnetsOutput, error) {
	list, next, err := describe(
		r, r.subnets, wanted{in.SubnetIds, in.Filters, in.MaxResults, in.NextToken}, r.subnetFields(), r.describeSubnet,
	)
	return &ec2.DescribeSubnetsOutput{Subnets: list, NextToken: next}, err
}

func (r *region) modifySubnetAttribute(in *ec2.ModifySubnetAttributeInput) (*ec2.ModifySubnetAttributeOutput, error) {
	n, err := r.subnets.get(in.SubnetId)
	if err != nil {
		return nil, err
	}
	for parameter, value := range map[string]*types.AttributeBooleanValue{
		"assignIpv6AddressOnCreation": in.AssignIpv6AddressOnCreation, "enableDns64": in.EnableDns64,
		"mapCustomerOwnedIpOnLaunch":              in.MapCustomerOwnedIpOnLaunch,
		"enableResourceNameDnsAAAARecordOnLaunch": in.EnableResourceNameDnsAAAARecordOnLaunch,
	} {
		if value != nil && aws.ToBool(value.Value) {
			return nil, unsupported(parameter)
		}
	}
	if in.MapPublicIpOnLaunch != nil {
		n.mapPublic = aws.ToBool(in.MapPublicIpOnLaunch.Value)
	}
	if in.EnableResourceNameDnsARecordOnLaunch != nil {
		n.dnsARecords = aws.ToBool(in.EnableResourceNameDnsARecordOnLaunch.Value)
	}
	if in.PrivateDnsHostnameTypeOnLaunch != "" {
		n.hostnameType = in.PrivateDnsHostnameTypeOnLaunch
	}
	return &ec2.ModifySubnetAttributeOutput{}, nil
}

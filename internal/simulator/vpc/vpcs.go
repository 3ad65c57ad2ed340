package vpc

import (
	"net/netip"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// vpc is a virtual private cloud.
type vpc struct {
	named

	blocks                         []block
	tenancy                        types.Tenancy
	isDefault                      bool
	dnsSupport, dnsHostnames, nuam bool
	options                        *dhcpOptions
	// tables are its route tables.
	tables []*routeTable
	// gateway is the attached internet gateway, nil without one.
	gateway *gateway
}

// block is a range of addresses of a VPC.
type block struct {
	association string
	cidr        netip.Prefix
}

func (v *vpc) ranges() []netip.Prefix {
	list := make([]netip.Prefix, 0, len(v.blocks))
	for _, b := range v.blocks {
		list = append(list, b.cidr)
	}
	return list
}

// rangeOf returns the range of the VPC that contains a range; invalid if none does.
func (v *vpc) rangeOf(p netip.Prefix) netip.Prefix {
	for _, b := range v.blocks {
		if b.cidr.Bits() <= p.Bits() && b.cidr.Contains(p.Addr()) {
			return b.cidr
		}
	}
	return netip.Prefix{}
}

func decimal(n int) string { return strconv.Itoa(n) }

// vpcRange parses the range of a VPC: between /16 and /28.
// https://docs.aws.amazon.com/vpc/latest/userguide/vpc-cidr-blocks.html
func vpcRange(value *string) (netip.Prefix, error) {
	if aws.ToString(value) == "" {
		return netip.Prefix{}, missing("cidrBlock")
	}
	p, err := parseRange("cidrBlock", *value)
	if err != nil {
		return p, err
	}
	if p.Bits() < 16 || p.Bits() > 28 {
		return p, wire.Errorf("InvalidVpc.Range", "The CIDR '%s' is invalid.", *value)
	}
	return p, nil
}

func (r *region) createVpc(in *ec2.CreateVpcInput) (*ec2.CreateVpcOutput, error) {
	v, err := r.newVPC(in)
	if err != nil {
		return nil, err
	}
	d := r.describeVPC(v)
	return &ec2.CreateVpcOutput{Vpc: &d}, nil
}

// newVPC creates a VPC with a main route table, a default group and network ACL, and the region's
// DHCP options.
func (r *region) newVPC(in *ec2.CreateVpcInput) (*vpc, error) {
	switch {
	case aws.ToBool(in.AmazonProvidedIpv6CidrBlock) || in.Ipv6CidrBlock != nil || in.Ipv6Pool != nil || in.Ipv6IpamPoolId != nil:
		return nil, unsupported("amazonProvidedIpv6CidrBlock")
	case in.Ipv4IpamPoolId != nil || in.Ipv4NetmaskLength != nil:
		return nil, unsupported("ipv4IpamPoolId")
	}
	cidr, err := vpcRange(in.CidrBlock)
	if err != nil {
		return nil, err
	}
	tags, err := TagsFor(in.TagSpecifications, types.ResourceTypeVpc)
	if err != nil {
		return nil, err
	}
	if err := r.within(VPCs, len(r.vpcs.byID), "VpcLimitExceeded", "The maximum number of VPCs has been reached."); err != nil {
		return nil, err
	}
	v := &vpc{
		named: r.newID("vpc", types.ResourceTypeVpc, tags[types.ResourceTypeVpc]), tenancy: in.InstanceTenancy, dnsSupport: true,
		blocks: []block{{NewID("vpc-cidr-assoc"), cidr}}, options: r.standardOptions(),
	}
	if v.tenancy == "" {
		v.tenancy = types.TenancyDefault
	}
	r.vpcs.byID[v.id] = v
	t := r.newRouteTable(v, nil)
	t.associations = append(t.associations, association{id: NewID("rtbassoc"), main: true})
	r.newACL(v, true, nil)
	r.newDefaultGroup(v)
	return v, nil
}

// removeVPC deletes a VPC and its default resources, unless it contains other resources.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteVpc.html
func (r *region) removeVPC(id *string) error {
	v, err := r.vpcs.get(id)
	if err != nil {
		return err
	}
	busy := r.subnets.has(func(n *subnet) bool { return n.vpc == v }) ||
		v.gateway != nil ||
		r.egress.has(func(g *egressGateway) bool { return g.vpc == v }) ||
		r.endpoints.has(func(e *endpoint) bool { return e.vpc == v }) ||
		slices.ContainsFunc(v.tables, func(t *routeTable) bool { return !t.isMain() }) ||
		r.groups.has(func(g *group) bool { return g.vpc == v && g.name != defaultName }) ||
		r.acls.has(func(a *acl) bool { return a.vpc == v && !a.isDefault })
	if busy {
		return depends("vpc", v.id)
	}
	for _, t := range slices.Clone(v.tables) {
		r.dropRouteTable(t)
	}
	for _, g := range r.groups.sorted() {
		if g.vpc == v {
			r.dropGroup(g)
		}
	}
	for _, a := range r.acls.sorted() {
		if a.vpc == v {
			drop(r, r.acls, a)
		}
	}
	drop(r, r.vpcs, v)
	return nil
}

// drop removes a resource from its table and forgets its tags.
func drop[T item](r *region, t table[T], x T) {
	delete(t.byID, x.ident())
	delete(r.templated, x.ident())
	r.tags.Forget(x.ident())
}

func (r *region) deleteVpc(in *ec2.DeleteVpcInput) (*ec2.DeleteVpcOutput, error) {
	return &ec2.DeleteVpcOutput{}, r.removeVPC(in.VpcId)
}

func (r *region) describeVPC(v *vpc) types.Vpc {
	d := types.Vpc{
		VpcId: aws.String(v.id), CidrBlock: aws.String(v.blocks[0].cidr.String()), State: types.VpcStateAvailable,
		IsDefault:       aws.Bool(v.isDefault),
		InstanceTenancy: v.tenancy, OwnerId: aws.String(r.Account), DhcpOptionsId: aws.String(v.optionsID()), Tags: r.tags.List(v.id),
	}
	for _, b := range v.blocks {
		d.CidrBlockAssociationSet = append(d.CidrBlockAssociationSet, *b.describe())
	}
	return d
}

func (b *block) describe() *types.VpcCidrBlockAssociation {
	return &types.VpcCidrBlockAssociation{
		AssociationId: aws.String(b.association), CidrBlock: aws.String(b.cidr.String()),
		CidrBlockState: &types.VpcCidrBlockState{State: types.VpcCidrBlockStateCodeAssociated},
	}
}

func (v *vpc) optionsID() string {
	if v.options == nil {
		return "default"
	}
	return v.options.id
}

func (r *region) vpcFields() Fields[*vpc] {
	blocks := func(of func(block) string) func(*vpc) []string {
		return func(v *vpc) (list []string) {
			for _, b := range v.blocks {
				list = append(list, of(b))
			}
			return list
		}
	}
	return Fields[*vpc]{
		"vpc-id":                                func(v *vpc) []string { return text(v.id) },
		"cidr":                                  func(v *vpc) []string { return text(v.blocks[0].cidr.String()) },
		"cidr-block-association.cidr-block":     blocks(func(b block) string { return b.cidr.String() }),
		"cidr-block-association.association-id": blocks(func(b block) string { return b.association }),
		"cidr-block-association.state":          blocks(func(block) string { return "associated" }),
		"dhcp-options-id":                       func(v *vpc) []string { return text(v.optionsID()) },
		"is-default":                            func(v *vpc) []string { return flag(v.isDefault) },
		"isDefault":                             func(v *vpc) []string { return flag(v.isDefault) },
		"owner-id":                              func(*vpc) []string { return text(r.Account) },
		"state":                                 func(*vpc) []string { return text("available") },
		"ipv6-cidr-block-association.state":     func(*vpc) []string { return nil },
	}
}

func (r *region) describeVpcs(in *ec2.DescribeVpcsInput) (*ec2.DescribeVpcsOutput, error) {
	list, next, err := describe(r, r.vpcs, wanted{in.VpcIds, in.Filters, in.MaxResults, in.NextToken}, r.vpcFields(), r.describeVPC)
	return &ec2.DescribeVpcsOutput{Vpcs: list, NextToken: next}, err
}

func (r *region) describeVpcAttribute(in *ec2.DescribeVpcAttributeInput) (*ec2.DescribeVpcAttributeOutput, error) {
	v, err := r.vpcs.get(in.VpcId)
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeVpcAttributeOutput{VpcId: in.VpcId}
	value := func(b bool) *types.AttributeBooleanValue { return &types.AttributeBooleanValue{Value: aws.Bool(b)} }
	switch in.Attribute {
	case types.VpcAttributeNameEnableDnsSupport:
		out.EnableDnsSupport = value(v.dnsSupport)
	case types.VpcAttributeNameEnableDnsHostnames:
		out.EnableDnsHostnames = value(v.dnsHostnames)
	case types.VpcAttributeNameEnableNetworkAddressUsageMetrics:
		out.EnableNetworkAddressUsageMetrics = value(v.nuam)
	default:
		return nil, invalid("attribute", in.Attribute, "")
	}
	return out, nil
}

func (r *region) modifyVpcAttribute(in *ec2.ModifyVpcAttributeInput) (*ec2.ModifyVpcAttributeOutput, error) {
	v, err := r.vpcs.get(in.VpcId)
	if err != nil {
		return nil, err
	}
	for _, a := range []struct {
		value *types.AttributeBooleanValue
		field *bool
	}{{in.EnableDnsSupport, &v.dnsSupport}, {in.EnableDnsHostnames, &v.dnsHostnames}, {in.EnableNetworkAddressUsageMetrics, &v.nuam}} {
		if a.value != nil {
			*a.field = aws.ToBool(a.value.Value)
		}
	}
	return &ec2.ModifyVpcAttributeOutput{}, nil
}

// addBlock adds a range to a VPC. It must not overlap another range of the VPC.
func (r *region) addBlock(vpcID, cidr *string) (*vpc, *block, error) {
	v, err := r.vpcs.get(vpcID)
	if err != nil {
		return nil, nil, err
	}
	p, err := vpcRange(cidr)
	if err != nil {
		return nil, nil, err
	}
	for _, b := range v.blocks {
		if b.cidr.Overlaps(p) {
			return nil, nil, wire.Errorf("InvalidVpc.Range", "CIDR %s overlaps with an existing CIDR range of VPC %s.", p, v.id)
		}
	}
	if len(v.blocks) >= 5 {
		return nil, nil, wire.Errorf("CidrLimitExceeded", "This network '%s' has met its maximum number of allowed CIDRs: 5", v.id)
	}
	v.blocks = append(v.blocks, block{NewID("vpc-cidr-assoc"), p})
	return v, &v.blocks[len(v.blocks)-1], nil
}

// dropBlock removes a range from its VPC. It must not be the primary range or contain subnets.
func (r *region) dropBlock(associationID *string) (*vpc, *block, error) {
	for _, v := range r.vpcs.byID {
		for i, b := range v.blocks {
			if b.association != aws.ToString(associationID) {
				continue
			}
			if i == 0 {
				return nil, nil, wire.Errorf(
					"OperationNotPermitted",
					"The vpc CIDR block with association ID %s may not be disassociated. It is the primary IPv4 CIDR block of the VPC",
					b.association,
				)
			}
			if r.subnets.has(func(n *subnet) bool { return n.vpc == v && b.cidr.Overlaps(n.cidr) }) {
				return nil, nil, wire.Errorf("InvalidCidrBlock.InUse", "The vpc currently has a subnet within CIDR block '%s'", b.cidr)
			}
			v.blocks = append(v.blocks[:i:i], v.blocks[i+1:]...)
			return v, &b, nil
		}
	}
	return nil, nil, wire.Errorf(
		"InvalidVpcCidrBlockAssociationID.NotFound",
		"The vpc CIDR block with association ID %s does not exist",
		aws.ToString(associationID),
	)
}

func (r *region) associateVpcCidrBlock(in *ec2.AssociateVpcCidrBlockInput) (*ec2.AssociateVpcCidrBlockOutput, error) {
	if in.CidrBlock == nil {
		return nil, unsupported("amazonProvidedIpv6CidrBlock")
	}
	v, b, err := r.addBlock(in.VpcId, in.CidrBlock)
	if err != nil {
		return nil, err
	}
	return &ec2.AssociateVpcCidrBlockOutput{VpcId: aws.String(v.id), CidrBlockAssociation: b.describe()}, nil
}

func (r *region) disassociateVpcCidrBlock(in *ec2.DisassociateVpcCidrBlockInput) (*ec2.DisassociateVpcCidrBlockOutput, error) {
	v, b, err := r.dropBlock(in.AssociationId)
	if err != nil {
		return nil, err
	}
	d := b.describe()
	d.CidrBlockState.State = types.VpcCidrBlockStateCodeDisassociating
	return &ec2.DisassociateVpcCidrBlockOutput{VpcId: aws.String(v.id), CidrBlockAssociation: d}, nil
}

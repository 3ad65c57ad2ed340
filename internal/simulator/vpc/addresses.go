package vpc

import (
	"net/netip"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// address is an elastic IP address. It may be mapped to an interface.
type address struct {
	named

	ip          netip.Addr
	association string
	to          *networkInterface
	byNAT       bool
}

// mapTo maps an address to an interface and unmaps the interface's previous address.
func (a *address) mapTo(i *networkInterface) {
	if i.elastic != nil {
		i.elastic.unmap()
	}
	if i.auto.IsValid() {
		i.region.service.publics.release(i.auto)
		i.auto = netip.Addr{}
	}
	a.to, a.association, i.elastic = i, NewID("eipassoc"), a
}

func (a *address) unmap() {
	if a.to != nil {
		a.to.elastic = nil
	}
	a.to, a.association, a.byNAT = nil, "", false
}

func (r *region) newAddress(tags map[string]string) (*address, error) {
	err := r.within(ElasticAddresses, len(r.addresses.byID), "AddressLimitExceeded", "The maximum number of addresses has been reached.")
	if err != nil {
		return nil, err
	}
	ip, err := r.service.publics.take()
	if err != nil {
		return nil, err
	}
	a := &address{named: r.newID("eipalloc", types.ResourceTypeElasticIp, tags), ip: ip}
	r.addresses.byID[a.id] = a
	return a, nil
}

func (r *region) allocateAddress(in *ec2.AllocateAddressInput) (*ec2.AllocateAddressOutput, error) {
	switch {
	case in.Domain == types.DomainTypeStandard:
		return nil, unsupported("domain standard")
	case in.Address != nil || in.PublicIpv4Pool != nil && *in.PublicIpv4Pool != "amazon" || in.IpamPoolId != nil ||
		in.CustomerOwnedIpv4Pool != nil:
		return nil, unsupported("address, publicIpv4Pool, ipamPoolId")
	case in.NetworkBorderGroup != nil && *in.NetworkBorderGroup != r.Region:
		return nil, unsupported("networkBorderGroup")
	}
	tags, err := TagsFor(in.TagSpecifications, types.ResourceTypeElasticIp)
	if err != nil {
		return nil, err
	}
	a, err := r.newAddress(tags[types.ResourceTypeElasticIp])
	if err != nil {
		return nil, err
	}
	return &ec2.AllocateAddressOutput{
		AllocationId: aws.String(a.id), PublicIp: aws.String(a.ip.String()), Domain: types.DomainTypeVpc,
		NetworkBorderGroup: aws.String(r.Region), PublicIpv4Pool: aws.String("amazon"),
	}, nil
}

// addressOf returns an address by its allocation ID or IP.
func (r *region) addressOf(allocation, ip *string) (*address, error) {
	if aws.ToString(allocation) != "" {
		return r.addresses.get(allocation)
	}
	a, ok := r.addresses.first(func(a *address) bool { return a.ip.String() == aws.ToString(ip) })
	if !ok {
		return nil, wire.Errorf("InvalidAddress.NotFound", "Address '%s' not found.", aws.ToString(ip))
	}
	return a, nil
}

// releaseAddress releases an address that is not mapped.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_ReleaseAddress.html
func (r *region) releaseAddress(in *ec2.ReleaseAddressInput) (*ec2.ReleaseAddressOutput, error) {
	a, err := r.addressOf(in.AllocationId, in.PublicIp)
	if err != nil {
		return nil, err
	}
	if a.to != nil {
		return nil, wire.Errorf("InvalidIPAddress.InUse", "Address %s is in use.", a.ip)
	}
	r.service.publics.release(a.ip)
	drop(r, r.addresses, a)
	return &ec2.ReleaseAddressOutput{}, nil
}

// associateAddress maps an address to an instance or an interface in a VPC with an internet
// gateway.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_AssociateAddress.html
func (r *region) associateAddress(in *ec2.AssociateAddressInput) (*ec2.AssociateAddressOutput, error) {
	a, err := r.addressOf(in.AllocationId, in.PublicIp)
	if err != nil {
		return nil, err
	}
	var i *networkInterface
	switch {
	case in.NetworkInterfaceId != nil:
		i, err = r.interfaces.get(in.NetworkInterfaceId)
	case in.InstanceId != nil:
		i, err = r.primaryOf(*in.InstanceId)
	default:
		return nil, wire.Errorf("MissingParameter", "Either instance ID or network interface id must be specified")
	}
	switch {
	case err != nil:
		return nil, err
	case in.PrivateIpAddress != nil && *in.PrivateIpAddress != i.primary.String():
		return nil, unsupported("privateIpAddress")
	case i.subnet.vpc.gateway == nil:
		return nil, wire.Errorf("Gateway.NotAttached", "Network %s is not attached to any internet gateway", i.subnet.vpc.id)
	case a.to == i:
		return &ec2.AssociateAddressOutput{AssociationId: aws.String(a.association)}, nil
	case a.to != nil && (a.byNAT || in.AllowReassociation != nil && !*in.AllowReassociation):
		return nil, wire.Errorf("Resource.AlreadyAssociated", "resource %s is already associated with associate-id %s", a.id, a.association)
	case i.managed:
		return nil, wire.Errorf("AuthFailure", "You do not have permission to access the specified resource.")
	}
	a.unmap()
	a.mapTo(i)
	return &ec2.AssociateAddressOutput{AssociationId: aws.String(a.association)}, nil
}

func (r *region) disassociateAddress(in *ec2.DisassociateAddressInput) (*ec2.DisassociateAddressOutput, error) {
	a, ok := r.addresses.first(func(a *address) bool {
		return a.to != nil &&
			(a.association == aws.ToString(in.AssociationId) || in.AssociationId == nil && a.ip.String() == aws.ToString(in.PublicIp))
	})
	switch {
	case !ok:
		return nil, wire.Errorf("InvalidAssociationID.NotFound", "The association ID '%s' does not exist", aws.ToString(in.AssociationId))
	case a.byNAT || a.to.managed:
		return nil, wire.Errorf("AuthFailure", "You do not have permission to access the specified resource.")
	}
	a.unmap()
	return &ec2.DisassociateAddressOutput{}, nil
}

func (r *region) describeAddress(a *address) types.Address {
	d := types.Address{
		AllocationId: aws.String(a.id), PublicIp: aws.String(a.ip.String()), Domain: types.DomainTypeVpc,
		NetworkBorderGroup: aws.String(r.Region),
		PublicIpv4Pool:     aws.String("amazon"), AssociationId: wire.Optional(a.association), Tags: r.tags.List(a.id),
	}
	if i := a.to; i != nil {
		d.NetworkInterfaceId, d.PrivateIpAddress, d.NetworkInterfaceOwnerId = aws.String(i.id), aws.String(i.primary.String()), aws.String(
			r.Account,
		)
		if i.attachment != nil {
			d.InstanceId = wire.Optional(i.attachment.InstanceID)
		}
	}
	return d
}

func (r *region) describeAddresses(in *ec2.DescribeAddressesInput) (*ec2.DescribeAddressesOutput, error) {
	field := func(of func(types.Address) string) func(*address) []string {
		return func(a *address) []string { return text(of(r.describeAddress(a))) }
	}
	fields := Fields[*address]{
		"allocation-id":              field(func(a types.Address) string { return aws.ToString(a.AllocationId) }),
		"association-id":             field(func(a types.Address) string { return aws.ToString(a.AssociationId) }),
		"domain":                     field(func(a types.Address) string { return string(a.Domain) }),
		"instance-id":                field(func(a types.Address) string { return aws.ToString(a.InstanceId) }),
		"network-border-group":       field(func(a types.Address) string { return aws.ToString(a.NetworkBorderGroup) }),
		"network-interface-id":       field(func(a types.Address) string { return aws.ToString(a.NetworkInterfaceId) }),
		"network-interface-owner-id": field(func(a types.Address) string { return aws.ToString(a.NetworkInterfaceOwnerId) }),
		"private-ip-address":         field(func(a types.Address) string { return aws.ToString(a.PrivateIpAddress) }),
		"public-ip":                  field(func(a types.Address) string { return aws.ToString(a.PublicIp) }),
	}
	ids := in.AllocationIds
	for _, ip := range in.PublicIps {
		a, err := r.addressOf(nil, &ip)
		if err != nil {
			return nil, err
		}
		ids = append(ids, a.id)
	}
	list, _, err := describe(r, r.addresses, wanted{ids: ids, filters: in.Filters}, fields, r.describeAddress)
	return &ec2.DescribeAddressesOutput{Addresses: list}, err
}

// describeAddressesAttribute returns no attributes, because no address has a custom domain name.
func (r *region) describeAddressesAttribute(in *ec2.DescribeAddressesAttributeInput) (*ec2.DescribeAddressesAttributeOutput, error) {
	w := wanted{ids: in.AllocationIds, max: in.MaxResults, token: in.NextToken}
	list, next, err := describe(r, r.addresses, w, Fields[*address]{}, func(a *address) types.AddressAttribute {
		return types.AddressAttribute{AllocationId: aws.String(a.id), PublicIp: aws.String(a.ip.String())}
	})
	return &ec2.DescribeAddressesAttributeOutput{Addresses: list, NextToken: next}, err
}

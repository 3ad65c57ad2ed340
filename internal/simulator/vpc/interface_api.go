package vpc

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

func (r *region) createNetworkInterface(in *ec2.CreateNetworkInterfaceInput) (*ec2.CreateNetworkInterfaceOutput, error) {
	switch {
	case len(in.Ipv6Addresses) > 0 || in.Ipv6AddressCount != nil || len(in.Ipv6Prefixes) > 0 || in.Ipv6PrefixCount != nil:
		return nil, unsupported("ipv6Addresses")
	case len(in.Ipv4Prefixes) > 0 || in.Ipv4PrefixCount != nil:
		return nil, unsupported("ipv4Prefixes")
	case in.InterfaceType != "" && in.InterfaceType != "interface":
		return nil, unsupported("interfaceType")
	}
	if in.SubnetId == nil {
		return nil, missing("subnetId")
	}
	tags, err := TagsFor(in.TagSpecifications, types.ResourceTypeNetworkInterface)
	if err != nil {
		return nil, err
	}
	q := InterfaceRequest{
		Description: aws.ToString(in.Description), SecurityGroups: in.Groups, PrivateIP: aws.ToString(in.PrivateIpAddress),
		Tags: tags[types.ResourceTypeNetworkInterface],
	}
	var secondary []string
	for _, a := range in.PrivateIpAddresses {
		if aws.ToBool(a.Primary) {
			q.PrivateIP = aws.ToString(a.PrivateIpAddress)
		} else {
			secondary = append(secondary, aws.ToString(a.PrivateIpAddress))
		}
	}
	secondary = append(secondary, make([]string, aws.ToInt32(in.SecondaryPrivateIpAddressCount))...)
	i, err := r.newInterface(*in.SubnetId, q)
	if err != nil {
		return nil, err
	}
	if err := i.addSecondary(secondary); err != nil {
		r.dropInterface(i)
		return nil, err
	}
	d := r.describeInterface(i)
	return &ec2.CreateNetworkInterfaceOutput{NetworkInterface: &d, ClientToken: in.ClientToken}, nil
}

// addSecondary adds addresses to an interface; an empty one means any free address.
func (i *networkInterface) addSecondary(asked []string) error {
	before := len(i.secondary)
	for _, a := range asked {
		ip, err := i.subnet.take(a)
		if err != nil {
			i.release(i.secondary[before:])
			i.secondary = i.secondary[:before]
			return err
		}
		i.secondary = append(i.secondary, ip)
	}
	return nil
}

func (r *region) assignPrivateIPAddresses(in *ec2.AssignPrivateIpAddressesInput) (*ec2.AssignPrivateIpAddressesOutput, error) {
	if in.Ipv4PrefixCount != nil || len(in.Ipv4Prefixes) > 0 {
		return nil, unsupported("ipv4Prefixes")
	}
	i, err := r.interfaces.get(in.NetworkInterfaceId)
	if err != nil {
		return nil, err
	}
	asked := slices.Concat(in.PrivateIpAddresses, make([]string, aws.ToInt32(in.SecondaryPrivateIpAddressCount)))
	before := len(i.secondary)
	if err := i.addSecondary(asked); err != nil {
		return nil, err
	}
	out := &ec2.AssignPrivateIpAddressesOutput{NetworkInterfaceId: in.NetworkInterfaceId}
	for _, a := range i.secondary[before:] {
		out.AssignedPrivateIpAddresses = append(
			out.AssignedPrivateIpAddresses, types.AssignedPrivateIpAddress{PrivateIpAddress: aws.String(a.String())},
		)
	}
	return out, nil
}

func (r *region) unassignPrivateIPAddresses(in *ec2.UnassignPrivateIpAddressesInput) (*ec2.UnassignPrivateIpAddressesOutput, error) {
	i, err := r.interfaces.get(in.NetworkInterfaceId)
	if err != nil {
		return nil, err
	}
	for _, asked := range in.PrivateIpAddresses {
		found := false
		for k, a := range i.secondary {
			if a.String() == asked {
				delete(i.subnet.taken, a)
				i.secondary, found = append(i.secondary[:k:k], i.secondary[k+1:]...), true
				break
			}
		}
		if !found {
			return nil, wire.Errorf("InvalidParameterValue", "Some of the specified addresses are not assigned to interface %s", i.id)
		}
	}
	return &ec2.UnassignPrivateIpAddressesOutput{}, nil
}

// removeInterface deletes an interface for a user. It must be detached and not belong to another
// service.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteNetworkInterface.html
func (r *region) removeInterface(id *string) error {
	i, err := r.interfaces.get(id)
	if err != nil {
		return err
	}
	if i.managed {
		return wire.Errorf("AuthFailure", "You do not have permission to access the specified resource.")
	}
	if i.attachment != nil {
		return wire.Errorf("InvalidParameterValue", "Network interface '%s' is currently in use.", i.id)
	}
	r.dropInterface(i)
	return nil
}

func (r *region) deleteNetworkInterface(in *ec2.DeleteNetworkInterfaceInput) (*ec2.DeleteNetworkInterfaceOutput, error) {
	return &ec2.DeleteNetworkInterfaceOutput{}, r.removeInterface(in.NetworkInterfaceId)
}

func (r *region) modifyNetworkInterfaceAttribute(
	in *ec2.ModifyNetworkInterfaceAttributeInput,
) (*ec2.ModifyNetworkInterfaceAttributeOutput, error) {
	i, err := r.interfaces.get(in.NetworkInterfaceId)
	if err != nil {
		return nil, err
	}
	if i.managed {
		return nil, wire.Errorf("AuthFailure", "You do not have permission to access the specified resource.")
	}
	var description *string
	if in.Description != nil {
		description = aws.String(aws.ToString(in.Description.Value))
	}
	var check *bool
	if in.SourceDestCheck != nil {
		check = in.SourceDestCheck.Value
	}
	if err := r.changeInterface(i, in.Groups, description, check); err != nil {
		return nil, err
	}
	if in.Attachment != nil && i.attachment != nil && in.Attachment.DeleteOnTermination != nil {
		i.attachment.DeleteOnTermination = *in.Attachment.DeleteOnTermination
	}
	return &ec2.ModifyNetworkInterfaceAttributeOutput{}, nil
}

func (r *region) interfaceFields() Fields[*networkInterface] {
	attachment := func(of func(types.NetworkInterfaceAttachment) string) func(*networkInterface) []string {
		return func(i *networkInterface) []string {
			if d := r.describeInterface(i); d.Attachment != nil {
				return text(of(*d.Attachment))
			}
			return nil
		}
	}
	association := func(of func(types.NetworkInterfaceAssociation) *string) func(*networkInterface) []string {
		return func(i *networkInterface) []string {
			if a := i.association(); a != nil {
				return text(aws.ToString(of(*a)))
			}
			return nil
		}
	}
	addresses := func(i *networkInterface) []string {
		list := text(i.primary.String())
		for _, a := range i.secondary {
			list = append(list, a.String())
		}
		return list
	}
	return Fields[*networkInterface]{
		"network-interface-id": func(i *networkInterface) []string { return text(i.id) },
		"subnet-id":            func(i *networkInterface) []string { return text(i.subnet.id) },
		"vpc-id":               func(i *networkInterface) []string { return text(i.subnet.vpc.id) },
		"availability-zone":    func(i *networkInterface) []string { return text(i.subnet.zone.name) },
		"description":          func(i *networkInterface) []string { return text(i.description) },
		"group-id":             func(i *networkInterface) []string { return i.groups },
		"group-name": func(i *networkInterface) (list []string) {
			for _, g := range r.groupIDs(i.groups) {
				list = append(list, *g.GroupName)
			}
			return list
		},
		"interface-type":               func(i *networkInterface) []string { return text(string(i.kind)) },
		"mac-address":                  func(i *networkInterface) []string { return text(i.mac) },
		"owner-id":                     func(*networkInterface) []string { return text(r.Account) },
		"private-ip-address":           func(i *networkInterface) []string { return text(i.primary.String()) },
		"private-dns-name":             func(i *networkInterface) []string { return text(i.dnsName()) },
		"addresses.private-ip-address": addresses,
		"requester-id":                 func(i *networkInterface) []string { return text(i.requester) },
		"requester-managed":            func(i *networkInterface) []string { return flag(i.managed) },
		"source-dest-check":            func(i *networkInterface) []string { return flag(i.sourceDestCheck) },
		"status":                       func(i *networkInterface) []string { return text(string(i.status())) },
		"attachment.attachment-id": attachment(
			func(a types.NetworkInterfaceAttachment) string { return aws.ToString(a.AttachmentId) },
		),
		"attachment.instance-id": attachment(
			func(a types.NetworkInterfaceAttachment) string { return aws.ToString(a.InstanceId) },
		),
		"attachment.instance-owner-id": attachment(
			func(a types.NetworkInterfaceAttachment) string { return aws.ToString(a.InstanceOwnerId) },
		),
		"attachment.status": attachment(func(a types.NetworkInterfaceAttachment) string { return string(a.Status) }),
		"attachment.device-index": attachment(
			func(a types.NetworkInterfaceAttachment) string { return decimal(int(aws.ToInt32(a.DeviceIndex))) },
		),
		"attachment.delete-on-termination": attachment(
			func(a types.NetworkInterfaceAttachment) string { return flag(aws.ToBool(a.DeleteOnTermination))[0] },
		),
		"association.allocation-id":       association(func(a types.NetworkInterfaceAssociation) *string { return a.AllocationId }),
		"association.association-id":      association(func(a types.NetworkInterfaceAssociation) *string { return a.AssociationId }),
		"association.public-ip":           association(func(a types.NetworkInterfaceAssociation) *string { return a.PublicIp }),
		"association.ip-owner-id":         association(func(a types.NetworkInterfaceAssociation) *string { return a.IpOwnerId }),
		"association.public-dns-name":     association(func(a types.NetworkInterfaceAssociation) *string { return a.PublicDnsName }),
		"addresses.association.public-ip": association(func(a types.NetworkInterfaceAssociation) *string { return a.PublicIp }),
	}
}

func (r *region) describeNetworkInterfaces(in *ec2.DescribeNetworkInterfacesInput) (*ec2.DescribeNetworkInterfacesOutput, error) {
	w := wanted{in.NetworkInterfaceIds, in.Filters, in.MaxResults, in.NextToken}
	list, next, err := describe(r, r.interfaces, w, r.interfaceFields(), r.describeInterface)
	return &ec2.DescribeNetworkInterfacesOutput{NetworkInterfaces: list, NextToken: next}, err
}

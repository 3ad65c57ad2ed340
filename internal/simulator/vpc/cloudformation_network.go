package vpc

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/property"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

type vpcProperties struct {
	CidrBlock, InstanceTenancy           string
	EnableDnsHostnames, EnableDnsSupport *bool //nolint:revive // the properties' names
}

func (p *vpcProperties) apply(v *vpc) {
	v.dnsHostnames = aws.ToBool(p.EnableDnsHostnames)
	v.dnsSupport = p.EnableDnsSupport == nil || *p.EnableDnsSupport
	if p.InstanceTenancy != "" {
		v.tenancy = types.Tenancy(p.InstanceTenancy)
	}
}

func (r *region) vpcResult(v *vpc) resource.Result {
	associations := []any{}
	for _, b := range v.blocks {
		associations = append(associations, b.association)
	}
	return resource.Result{PhysicalID: v.id, Attributes: map[string]any{
		"VpcId": v.id, "CidrBlock": v.blocks[0].cidr.String(), "CidrBlockAssociations": associations, "Ipv6CidrBlocks": []any{},
		"DefaultNetworkAcl": r.aclOf(v), "DefaultSecurityGroup": r.defaultGroup(v).id,
	}}
}

func makeVPC(r *region, q resource.Request) (resource.Result, error) {
	var p vpcProperties
	if err := decodeNew(q, &p, "Ipv4IpamPoolId", "Ipv4NetmaskLength"); err != nil {
		return resource.Result{}, err
	}
	v, err := r.newVPC(&ec2.CreateVpcInput{CidrBlock: optional(p.CidrBlock)})
	if err != nil {
		return resource.Result{}, err
	}
	p.apply(v)
	return r.vpcResult(v), r.setTags(q, v.id)
}

func changeVPC(r *region, q resource.Request) (resource.Result, error) {
	var p vpcProperties
	if err := decode(q, &p, "Ipv4IpamPoolId", "Ipv4NetmaskLength"); err != nil {
		return resource.Result{}, err
	}
	v, err := r.vpcs.get(&q.PhysicalID)
	if err != nil {
		return resource.Result{}, err
	}
	p.apply(v)
	return r.vpcResult(v), r.setTags(q, v.id)
}

func deleteVPC(r *region, q resource.Request) error { return r.removeVPC(&q.PhysicalID) }

func readVPC(r *region, q resource.Request) (map[string]any, error) {
	v, err := r.vpcs.get(&q.PhysicalID)
	if err != nil {
		return nil, err
	}
	return r.with(map[string]any{
		"CidrBlock": v.blocks[0].cidr.String(), "EnableDnsHostnames": v.dnsHostnames, "EnableDnsSupport": v.dnsSupport,
		"InstanceTenancy": string(v.tenancy),
	}, q, v.id), nil
}

type blockProperties struct{ CidrBlock, VpcId string } //nolint:revive // the properties' names

func makeBlock(r *region, q resource.Request) (resource.Result, error) {
	var p blockProperties
	err := decode(
		q,
		&p,
		"AmazonProvidedIpv6CidrBlock",
		"Ipv4IpamPoolId",
		"Ipv4NetmaskLength",
		"Ipv6CidrBlock",
		"Ipv6IpamPoolId",
		"Ipv6NetmaskLength",
		"Ipv6Pool",
	)
	if err != nil {
		return resource.Result{}, err
	}
	_, b, err := r.addBlock(&p.VpcId, &p.CidrBlock)
	if err != nil {
		return resource.Result{}, err
	}
	return made(b.association, "Id"), nil
}

func deleteBlock(r *region, q resource.Request) error {
	_, _, err := r.dropBlock(&q.PhysicalID)
	return err
}

func readBlock(r *region, q resource.Request) (map[string]any, error) {
	for _, v := range r.vpcs.byID {
		for _, b := range v.blocks {
			if b.association == q.PhysicalID {
				return map[string]any{"CidrBlock": b.cidr.String(), "VpcId": v.id}, nil
			}
		}
	}
	return nil, property.Missing("AWS::EC2::VPCCidrBlock", q.PhysicalID)
}

type subnetProperties struct {
	VpcId, CidrBlock, AvailabilityZone, AvailabilityZoneId string    //nolint:revive // the properties' names
	MapPublicIpOnLaunch                                    bool      //nolint:revive // the property's name
	AssignIpv6AddressOnCreation, EnableDns64, Ipv6Native   bool      //nolint:revive // the properties' names
	PrivateDnsNameOptionsOnLaunch                          *struct { //nolint:revive // the property's name
		HostnameType                                                  string
		EnableResourceNameDnsARecord, EnableResourceNameDnsAAAARecord bool //nolint:revive // the properties' names
	}
}

func decodeSubnet(q resource.Request) (p subnetProperties, err error) {
	err = decode(
		q,
		&p,
		"OutpostArn",
		"Ipv4IpamPoolId",
		"Ipv4NetmaskLength",
		"Ipv6IpamPoolId",
		"Ipv6NetmaskLength",
		"Ipv6CidrBlock",
		"Ipv6CidrBlocks",
		"EnableLniAtDeviceIndex",
	)
	if err == nil && (p.AssignIpv6AddressOnCreation || p.EnableDns64 || p.Ipv6Native) {
		err = unsupported("IPv6")
	}
	return p, err
}

func (p *subnetProperties) apply(n *subnet) {
	n.mapPublic, n.dnsARecords, n.hostnameType = p.MapPublicIpOnLaunch, false, types.HostnameTypeIpName
	if o := p.PrivateDnsNameOptionsOnLaunch; o != nil {
		n.dnsARecords = o.EnableResourceNameDnsARecord
		if o.HostnameType != "" {
			n.hostnameType = types.HostnameType(o.HostnameType)
		}
	}
}

func subnetResult(n *subnet) resource.Result {
	return resource.Result{PhysicalID: n.id, Attributes: map[string]any{
		"SubnetId": n.id, "VpcId": n.vpc.id, "AvailabilityZone": n.zone.name, "AvailabilityZoneId": n.zone.id, "CidrBlock": n.cidr.String(),
		"NetworkAclAssociationId": n.aclAssociation, "Ipv6CidrBlocks": []any{},
	}}
}

func makeSubnet(r *region, q resource.Request) (resource.Result, error) {
	p, err := decodeSubnet(q)
	if err != nil {
		return resource.Result{}, err
	}
	if err := stackTags(q); err != nil {
		return resource.Result{}, err
	}
	n, err := r.newSubnet(&ec2.CreateSubnetInput{
		VpcId: optional(p.VpcId), CidrBlock: optional(p.CidrBlock), AvailabilityZone: optional(p.AvailabilityZone),
		AvailabilityZoneId: optional(p.AvailabilityZoneId),
	})
	if err != nil {
		return resource.Result{}, err
	}
	p.apply(n)
	return subnetResult(n), r.setTags(q, n.id)
}

func changeSubnet(r *region, q resource.Request) (resource.Result, error) {
	p, err := decodeSubnet(q)
	if err != nil {
		return resource.Result{}, err
	}
	n, err := r.subnets.get(&q.PhysicalID)
	if err != nil {
		return resource.Result{}, err
	}
	p.apply(n)
	return subnetResult(n), r.setTags(q, n.id)
}

func deleteSubnet(r *region, q resource.Request) error { return r.removeSubnet(&q.PhysicalID) }

func readSubnet(r *region, q resource.Request) (map[string]any, error) {
	n, err := r.subnets.get(&q.PhysicalID)
	if err != nil {
		return nil, err
	}
	return r.with(map[string]any{
		"VpcId": n.vpc.id, "CidrBlock": n.cidr.String(), "AvailabilityZone": n.zone.name, "AvailabilityZoneId": n.zone.id,
		"MapPublicIpOnLaunch":         n.mapPublic,
		"AssignIpv6AddressOnCreation": false, "EnableDns64": false, "Ipv6Native": false,
		"PrivateDnsNameOptionsOnLaunch": map[string]any{
			"HostnameType": string(n.hostnameType), "EnableResourceNameDnsARecord": n.dnsARecords, "EnableResourceNameDnsAAAARecord": false,
		},
	}, q, n.id), nil
}

type inVPC struct{ VpcId string } //nolint:revive // the property's name

func makeTable(r *region, q resource.Request) (resource.Result, error) {
	var p inVPC
	if err := decodeNew(q, &p); err != nil {
		return resource.Result{}, err
	}
	v, err := r.vpcs.get(&p.VpcId)
	if err != nil {
		return resource.Result{}, err
	}
	t := r.newRouteTable(v, nil)
	return made(t.id, "RouteTableId"), r.setTags(q, t.id)
}

func changeTable(r *region, q resource.Request) (resource.Result, error) {
	return changeTags(r, q, r.routeTables, "RouteTableId")
}

func deleteTable(r *region, q resource.Request) error { return r.removeRouteTable(&q.PhysicalID) }

func readTable(r *region, q resource.Request) (map[string]any, error) {
	return readTagged(r, q, r.routeTables, func(t *routeTable) map[string]any { return map[string]any{"VpcId": t.vpc.id} })
}

type routeProperties struct {
	RouteTableId, DestinationCidrBlock, DestinationIpv6CidrBlock, DestinationPrefixListId string //nolint:revive // the properties' names
	GatewayId, NatGatewayId, EgressOnlyInternetGatewayId, NetworkInterfaceId, InstanceId  string //nolint:revive // the properties' names
}

var otherTargets = []string{
	"CarrierGatewayId",
	"CoreNetworkArn",
	"LocalGatewayId",
	"TransitGatewayId",
	"VpcEndpointId",
	"VpcPeeringConnectionId",
}

func routeResult(t *routeTable, to string) resource.Result {
	return resource.Result{PhysicalID: t.id + "|" + to, Attributes: map[string]any{"CidrBlock": to}}
}

func makeRoute(r *region, q resource.Request) (resource.Result, error) {
	var p routeProperties
	if err := decode(q, &p, otherTargets...); err != nil {
		return resource.Result{}, err
	}
	t, x, err := r.addRoute(&ec2.CreateRouteInput{
		RouteTableId: &p.RouteTableId, DestinationCidrBlock: optional(p.DestinationCidrBlock),
		DestinationIpv6CidrBlock: optional(p.DestinationIpv6CidrBlock),
		DestinationPrefixListId:  optional(p.DestinationPrefixListId), GatewayId: optional(p.GatewayId),
		NatGatewayId:                optional(p.NatGatewayId),
		EgressOnlyInternetGatewayId: optional(p.EgressOnlyInternetGatewayId), NetworkInterfaceId: optional(p.NetworkInterfaceId),
		InstanceId: optional(p.InstanceId),
	})
	if err != nil {
		return resource.Result{}, err
	}
	return routeResult(t, x.destination), nil
}

func changeRoute(r *region, q resource.Request) (resource.Result, error) {
	var p routeProperties
	if err := decode(q, &p, otherTargets...); err != nil {
		return resource.Result{}, err
	}
	t, x, err := r.routeOf(q.PhysicalID)
	if err != nil {
		return resource.Result{}, err
	}
	_, err = r.replaceRoute(&ec2.ReplaceRouteInput{
		RouteTableId: &t.id, DestinationCidrBlock: optional(p.DestinationCidrBlock),
		DestinationIpv6CidrBlock: optional(p.DestinationIpv6CidrBlock),
		DestinationPrefixListId:  optional(p.DestinationPrefixListId), GatewayId: optional(p.GatewayId),
		NatGatewayId:                optional(p.NatGatewayId),
		EgressOnlyInternetGatewayId: optional(p.EgressOnlyInternetGatewayId), NetworkInterfaceId: optional(p.NetworkInterfaceId),
		InstanceId: optional(p.InstanceId),
	})
	return routeResult(t, x.destination), err
}

// routeOf returns a route by its physical ID: table and destination.
func (r *region) routeOf(id string) (*routeTable, *route, error) {
	table, to, _ := strings.Cut(id, "|")
	t, ok := r.routeTables.byID[table]
	if ok {
		for i := range t.routes {
			if t.routes[i].destination == to {
				return t, &t.routes[i], nil
			}
		}
	}
	return nil, nil, property.Missing("AWS::EC2::Route", id)
}

func deleteRoute(r *region, q resource.Request) error {
	t, x, err := r.routeOf(q.PhysicalID)
	if err != nil {
		return err
	}
	d := x.describe(r)
	return r.dropRoute(&ec2.DeleteRouteInput{
		RouteTableId: &t.id, DestinationCidrBlock: d.DestinationCidrBlock, DestinationIpv6CidrBlock: d.DestinationIpv6CidrBlock,
		DestinationPrefixListId: d.DestinationPrefixListId,
	})
}

func readRoute(r *region, q resource.Request) (map[string]any, error) {
	t, x, err := r.routeOf(q.PhysicalID)
	if err != nil {
		return nil, err
	}
	d := x.describe(r)
	return r.with(map[string]any{
		"RouteTableId": t.id, "DestinationCidrBlock": value(d.DestinationCidrBlock),
		"DestinationIpv6CidrBlock": value(d.DestinationIpv6CidrBlock),
		"DestinationPrefixListId":  value(d.DestinationPrefixListId), "GatewayId": value(d.GatewayId),
		"NatGatewayId":                value(d.NatGatewayId),
		"EgressOnlyInternetGatewayId": value(d.EgressOnlyInternetGatewayId), "NetworkInterfaceId": value(d.NetworkInterfaceId),
		"InstanceId": value(d.InstanceId),
	}, q, ""), nil
}

type associationProperties struct{ RouteTableId, SubnetId string } //nolint:revive // the properties' names

func makeAssociation(r *region, q resource.Request) (resource.Result, error) {
	var p associationProperties
	if err := decode(q, &p); err != nil {
		return resource.Result{}, err
	}
	owner := q.StackID + "/" + q.LogicalID
	replaces := r.replaceOwn(owner, p.SubnetId, p.RouteTableId)
	a, err := r.associate(&p.RouteTableId, &p.SubnetId)
	if err != nil {
		return resource.Result{}, err
	}
	a.owner, a.replaces = owner, replaces
	return made(a.id, "Id"), nil
}

// replaceOwn removes a subnet's association with another table if the same resource of the stack
// created it. CloudFormation replaces the resource, but a subnet has exactly one table at a time. A
// conflict with any other association remains an error.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ec2-subnetroutetableassociation.html
func (r *region) replaceOwn(owner, subnetID, tableID string) *replacedAssociation {
	to, ok := r.routeTables.byID[tableID]
	if !ok {
		return nil
	}
	for _, t := range r.routeTables.byID {
		i := slices.IndexFunc(t.associations, func(a association) bool {
			return a.owner == owner && a.subnet != nil && a.subnet.id == subnetID && a.subnet.vpc == to.vpc
		})
		if i >= 0 {
			old := &replacedAssociation{id: t.associations[i].id, table: t}
			t.associations = slices.Delete(t.associations, i, i+1)
			return old
		}
	}
	return nil
}

// deleteAssociation deletes an association. If the association replaced another one in an update
// that is now rolled back, deleteAssociation restores the other one. In the clean-up
// after an update, the replaced association no longer exists; only its record is removed.
func deleteAssociation(r *region, q resource.Request) error {
	for _, t := range r.routeTables.byID {
		for i := range t.associations {
			a := &t.associations[i]
			switch {
			case a.replaces == nil:
			case a.replaces.id == q.PhysicalID:
				a.replaces = nil
				return nil
			case a.id == q.PhysicalID && r.routeTables.byID[a.replaces.table.id] != nil:
				old := association{id: a.replaces.id, subnet: a.subnet, owner: a.owner}
				back := a.replaces.table
				t.associations = slices.Delete(t.associations, i, i+1)
				back.associations = append(back.associations, old)
				return nil
			}
		}
	}
	return r.disassociate(&q.PhysicalID)
}

func readAssociation(r *region, q resource.Request) (map[string]any, error) {
	for _, t := range r.routeTables.byID {
		for _, a := range t.associations {
			if a.id == q.PhysicalID && a.subnet != nil {
				return map[string]any{"RouteTableId": t.id, "SubnetId": a.subnet.id}, nil
			}
		}
	}
	return nil, property.Missing("AWS::EC2::SubnetRouteTableAssociation", q.PhysicalID)
}

package vpc

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// route is a route from a destination (an IPv4 or IPv6 range or a prefix list) to one target.
type route struct {
	destination                            string
	gateway, nat, egress, networkInterface string
	local                                  bool
	byEndpoint                             bool
}

// routesOf returns a table's routes, the local ones of its VPC first.
func (r *region) routesOf(t *routeTable) []route {
	var all []route
	for _, b := range t.vpc.blocks {
		all = append(all, route{destination: b.cidr.String(), local: true})
	}
	return append(all, t.routes...)
}

// state reports whether a route's target exists.
func (x *route) state(r *region) types.RouteState {
	ok := x.local || x.byEndpoint
	switch {
	case x.gateway != "" && !x.byEndpoint:
		g, found := r.gateways.byID[x.gateway]
		ok = found && g.vpc != nil
	case x.nat != "":
		n, found := r.nats.byID[x.nat]
		ok = found && (r.natState(n) == types.NatGatewayStateAvailable || r.natState(n) == types.NatGatewayStatePending)
	case x.egress != "":
		_, ok = r.egress.byID[x.egress]
	case x.networkInterface != "":
		i, found := r.interfaces.byID[x.networkInterface]
		ok = found && i.attachment != nil
	}
	if ok {
		return types.RouteStateActive
	}
	return types.RouteStateBlackhole
}

func (x *route) describe(r *region) types.Route {
	d := types.Route{
		State: x.state(r), Origin: types.RouteOriginCreateRoute, GatewayId: wire.Optional(x.gateway), NatGatewayId: wire.Optional(x.nat),
		EgressOnlyInternetGatewayId: wire.Optional(x.egress), NetworkInterfaceId: wire.Optional(x.networkInterface),
	}
	switch {
	case strings.HasPrefix(x.destination, "pl-"):
		d.DestinationPrefixListId = aws.String(x.destination)
	case strings.Contains(x.destination, ":"):
		d.DestinationIpv6CidrBlock = aws.String(x.destination)
	default:
		d.DestinationCidrBlock = aws.String(x.destination)
	}
	if x.local {
		d.GatewayId, d.Origin = aws.String("local"), types.RouteOriginCreateRouteTable
	}
	if i, ok := r.interfaces.byID[x.networkInterface]; ok && i.attachment != nil && i.attachment.InstanceID != "" {
		d.InstanceId, d.InstanceOwnerId = aws.String(i.attachment.InstanceID), aws.String(r.Account)
	}
	return d
}

// destination returns a route's destination, of which exactly one must be set.
func destination(v4, v6, list *string) (string, error) {
	given := slices.DeleteFunc([]string{aws.ToString(v4), aws.ToString(v6), aws.ToString(list)}, func(s string) bool { return s == "" })
	if len(given) != 1 {
		return "", wire.Errorf(
			"InvalidParameterCombination",
			"Exactly one of destinationCidrBlock, destinationIpv6CidrBlock and destinationPrefixListId must be given",
		)
	}
	switch {
	case aws.ToString(v4) != "":
		p, err := parseRange("destinationCidrBlock", *v4)
		return p.String(), err
	case aws.ToString(v6) != "":
		p, err := netip.ParsePrefix(*v6)
		if err != nil || !p.Addr().Is6() {
			return "", invalid("destinationIpv6CidrBlock", *v6, "This is not a valid CIDR block.")
		}
		return p.Masked().String(), nil
	default:
		return *list, nil
	}
}

// target returns a route's target. Exactly one must be set, and it must exist in the table's VPC.
func (r *region) target(t *routeTable, in *ec2.CreateRouteInput) (route, error) {
	x := route{
		gateway: aws.ToString(in.GatewayId), nat: aws.ToString(in.NatGatewayId), egress: aws.ToString(in.EgressOnlyInternetGatewayId),
		networkInterface: aws.ToString(in.NetworkInterfaceId),
	}
	for parameter, value := range map[string]*string{
		"transitGatewayId": in.TransitGatewayId, "vpcPeeringConnectionId": in.VpcPeeringConnectionId, "localGatewayId": in.LocalGatewayId,
		"carrierGatewayId": in.CarrierGatewayId, "coreNetworkArn": in.CoreNetworkArn, "vpcEndpointId": in.VpcEndpointId,
		"odbNetworkArn": in.OdbNetworkArn,
	} {
		if value != nil {
			return x, unsupported(parameter)
		}
	}
	if in.InstanceId != nil {
		i, err := r.primaryOf(*in.InstanceId)
		if err != nil {
			return x, err
		}
		x.networkInterface = i.id
	}
	given := slices.DeleteFunc([]string{x.gateway, x.nat, x.egress, x.networkInterface}, func(s string) bool { return s == "" })
	if len(given) != 1 {
		return x, wire.Errorf("InvalidParameterCombination", "The request must contain exactly one target")
	}
	return x, r.checkTarget(t, &x)
}

func (r *region) checkTarget(t *routeTable, x *route) error {
	var v *vpc
	kind, id := "network gateway", x.gateway
	switch {
	case x.gateway != "":
		if !strings.HasPrefix(x.gateway, "igw-") {
			return unsupported("gatewayId " + x.gateway)
		}
		g, ok := r.gateways.byID[x.gateway]
		if !ok {
			return wire.Errorf("InvalidGatewayID.NotFound", "The gateway ID '%s' does not exist", x.gateway)
		}
		v = g.vpc
	case x.nat != "":
		n, ok := r.nats.byID[x.nat]
		if !ok || r.inactive(n) {
			return wire.Errorf("InvalidNatGatewayID.NotFound", "The natGateway ID '%s' does not exist", x.nat)
		}
		v, kind, id = n.subnet.vpc, "NatGateway", x.nat
	case x.egress != "":
		g, ok := r.egress.byID[x.egress]
		if !ok {
			return wire.Errorf("InvalidGatewayID.NotFound", "The gateway ID '%s' does not exist", x.egress)
		}
		v, id = g.vpc, x.egress
	default:
		i, err := r.interfaces.get(&x.networkInterface)
		if err != nil {
			return err
		}
		v, kind, id = i.subnet.vpc, "interface", x.networkInterface
	}
	if v != t.vpc {
		return wire.Errorf("InvalidParameterValue", "route table %s and %s %s belong to different networks", t.id, kind, id)
	}
	return nil
}

// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateRoute.html
func (r *region) addRoute(in *ec2.CreateRouteInput) (*routeTable, *route, error) {
	t, err := r.routeTables.get(in.RouteTableId)
	if err != nil {
		return nil, nil, err
	}
	to, err := destination(in.DestinationCidrBlock, in.DestinationIpv6CidrBlock, in.DestinationPrefixListId)
	if err != nil {
		return nil, nil, err
	}
	x, err := r.target(t, in)
	if err != nil {
		return nil, nil, err
	}
	if slices.ContainsFunc(r.routesOf(t), func(o route) bool { return o.destination == to }) {
		return nil, nil, wire.Errorf("RouteAlreadyExists", "The route identified by %s already exists.", to)
	}
	err = r.within(RoutesOfTable, len(t.routes), "RouteLimitExceeded", "The maximum number of routes has been reached.")
	if err != nil {
		return nil, nil, err
	}
	x.destination = to
	t.routes = append(t.routes, x)
	return t, &t.routes[len(t.routes)-1], nil
}

func (r *region) createRoute(in *ec2.CreateRouteInput) (*ec2.CreateRouteOutput, error) {
	if _, _, err := r.addRoute(in); err != nil {
		return nil, err
	}
	return &ec2.CreateRouteOutput{Return: yes()}, nil
}

// replaceRoute changes the target of a route.
func (r *region) replaceRoute(in *ec2.ReplaceRouteInput) (*ec2.ReplaceRouteOutput, error) {
	if aws.ToBool(in.LocalTarget) {
		return nil, unsupported("localTarget")
	}
	t, err := r.routeTables.get(in.RouteTableId)
	if err != nil {
		return nil, err
	}
	from, err := destination(in.DestinationCidrBlock, in.DestinationIpv6CidrBlock, in.DestinationPrefixListId)
	if err != nil {
		return nil, err
	}
	x, err := r.target(t, &ec2.CreateRouteInput{
		GatewayId: in.GatewayId, NatGatewayId: in.NatGatewayId, EgressOnlyInternetGatewayId: in.EgressOnlyInternetGatewayId,
		NetworkInterfaceId: in.NetworkInterfaceId, InstanceId: in.InstanceId, TransitGatewayId: in.TransitGatewayId,
		VpcPeeringConnectionId: in.VpcPeeringConnectionId, LocalGatewayId: in.LocalGatewayId, CarrierGatewayId: in.CarrierGatewayId,
		CoreNetworkArn: in.CoreNetworkArn, VpcEndpointId: in.VpcEndpointId, OdbNetworkArn: in.OdbNetworkArn,
	})
	if err != nil {
		return nil, err
	}
	for i, o := range t.routes {
		if o.destination == from && !o.byEndpoint {
			x.destination = from
			t.routes[i] = x
			return &ec2.ReplaceRouteOutput{}, nil
		}
	}
	return nil, wire.Errorf(
		"InvalidParameterValue", "There is no route defined for '%s' in the route table. Use CreateRoute instead.", from,
	)
}

func (r *region) dropRoute(in *ec2.DeleteRouteInput) error {
	t, err := r.routeTables.get(in.RouteTableId)
	if err != nil {
		return err
	}
	from, err := destination(in.DestinationCidrBlock, in.DestinationIpv6CidrBlock, in.DestinationPrefixListId)
	if err != nil {
		return err
	}
	for _, x := range r.routesOf(t) {
		switch {
		case x.destination != from:
			continue
		case x.local:
			return wire.Errorf("InvalidParameterValue", "cannot remove local route %s in route table %s", from, t.id)
		case x.byEndpoint:
			return wire.Errorf("InvalidParameterValue", "cannot remove VPC endpoint route %s in route table %s", from, t.id)
		}
		t.routes = slices.DeleteFunc(t.routes, func(o route) bool { return o.destination == from })
		return nil
	}
	return wire.Errorf("InvalidRoute.NotFound", "no route with destination-cidr-block %s in route table %s", from, t.id)
}

func (r *region) deleteRoute(in *ec2.DeleteRouteInput) (*ec2.DeleteRouteOutput, error) {
	return &ec2.DeleteRouteOutput{}, r.dropRoute(in)
}

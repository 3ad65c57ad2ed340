package vpc

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// routeTable is a route table. It does not contain its VPC's local routes.
type routeTable struct {
	named

	vpc          *vpc
	routes       []route
	associations []association
}

// association associates a table with a subnet or, as the main table, with the whole VPC.
type association struct {
	id     string
	main   bool
	subnet *subnet

	// owner is the stack's resource that created it; replaces is the association that it replaced
	// in an update of that resource which has not ended.
	owner    string
	replaces *replacedAssociation
}

// replacedAssociation is an association that a rollback may restore.
type replacedAssociation struct {
	id    string
	table *routeTable
}

func (t *routeTable) isMain() bool {
	return slices.ContainsFunc(t.associations, func(a association) bool { return a.main })
}

func (r *region) newRouteTable(v *vpc, tags map[string]string) *routeTable {
	t := &routeTable{named: r.newID("rtb", types.ResourceTypeRouteTable, tags), vpc: v}
	r.routeTables.byID[t.id] = t
	v.tables = append(v.tables, t)
	return t
}

func (r *region) createRouteTable(in *ec2.CreateRouteTableInput) (*ec2.CreateRouteTableOutput, error) {
	v, err := r.vpcs.get(in.VpcId)
	if err != nil {
		return nil, err
	}
	tags, err := TagsFor(in.TagSpecifications, types.ResourceTypeRouteTable)
	if err != nil {
		return nil, err
	}
	d := r.describeRouteTable(r.newRouteTable(v, tags[types.ResourceTypeRouteTable]))
	return &ec2.CreateRouteTableOutput{RouteTable: &d}, nil
}

// removeRouteTable deletes an unused table. The main table of a VPC cannot be deleted.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteRouteTable.html
func (r *region) removeRouteTable(id *string) error {
	t, err := r.routeTables.get(id)
	if err != nil {
		return err
	}
	if len(t.associations) > 0 {
		return depends("routeTable", t.id)
	}
	for _, e := range r.endpoints.byID {
		e.routeTables = slices.DeleteFunc(e.routeTables, func(id string) bool { return id == t.id })
	}
	r.dropRouteTable(t)
	return nil
}

func (r *region) dropRouteTable(t *routeTable) {
	t.vpc.tables = slices.DeleteFunc(t.vpc.tables, func(o *routeTable) bool { return o == t })
	drop(r, r.routeTables, t)
}

func (r *region) deleteRouteTable(in *ec2.DeleteRouteTableInput) (*ec2.DeleteRouteTableOutput, error) {
	return &ec2.DeleteRouteTableOutput{}, r.removeRouteTable(in.RouteTableId)
}

func (r *region) associate(tableID, subnetID *string) (*association, error) {
	t, err := r.routeTables.get(tableID)
	if err != nil {
		return nil, err
	}
	n, err := r.subnets.get(subnetID)
	if err != nil {
		return nil, err
	}
	if n.vpc != t.vpc {
		return nil, wire.Errorf("InvalidParameterValue", "route table %s and subnet %s belong to different networks", t.id, n.id)
	}
	if slices.ContainsFunc(t.vpc.tables, func(o *routeTable) bool {
		return slices.ContainsFunc(o.associations, func(a association) bool { return a.subnet == n })
	}) {
		return nil, wire.Errorf(
			"Resource.AlreadyAssociated", "the specified association for route table %s conflicts with an existing association", t.id,
		)
	}
	t.associations = append(t.associations, association{id: NewID("rtbassoc"), subnet: n})
	return &t.associations[len(t.associations)-1], nil
}

// disassociate deletes an association.
func (r *region) disassociate(id *string) error {
	for _, t := range r.routeTables.byID {
		for i, a := range t.associations {
			switch {
			case a.id != aws.ToString(id):
			case a.main:
				return wire.Errorf("InvalidParameterValue", "cannot disassociate the main route table association %s", a.id)
			default:
				t.associations = slices.Delete(t.associations, i, i+1)
				return nil
			}
		}
	}
	return wire.Errorf("InvalidAssociationID.NotFound", "The association ID '%s' does not exist", aws.ToString(id))
}

func associated() *types.RouteTableAssociationState {
	return &types.RouteTableAssociationState{State: types.RouteTableAssociationStateCodeAssociated}
}

func (r *region) associateRouteTable(in *ec2.AssociateRouteTableInput) (*ec2.AssociateRouteTableOutput, error) {
	if in.GatewayId != nil {
		return nil, unsupported("gatewayId")
	}
	a, err := r.associate(in.RouteTableId, in.SubnetId)
	if err != nil {
		return nil, err
	}
	return &ec2.AssociateRouteTableOutput{AssociationId: aws.String(a.id), AssociationState: associated()}, nil
}

func (r *region) disassociateRouteTable(in *ec2.DisassociateRouteTableInput) (*ec2.DisassociateRouteTableOutput, error) {
	return &ec2.DisassociateRouteTableOutput{}, r.disassociate(in.AssociationId)
}

// replaceRouteTableAssociation moves an association, also the main one, to another table of the
// VPC. The association gets a new ID.
func (r *region) replaceRouteTableAssociation(in *ec2.ReplaceRouteTableAssociationInput) (*ec2.ReplaceRouteTableAssociationOutput, error) {
	to, err := r.routeTables.get(in.RouteTableId)
	if err != nil {
		return nil, err
	}
	for _, from := range r.routeTables.byID {
		i := slices.IndexFunc(from.associations, func(a association) bool { return a.id == aws.ToString(in.AssociationId) })
		if i < 0 {
			continue
		}
		if from.vpc != to.vpc {
			return nil, wire.Errorf(
				"InvalidParameterValue", "route table %s and association %s belong to different networks", to.id, *in.AssociationId,
			)
		}
		a := from.associations[i]
		from.associations = slices.Delete(from.associations, i, i+1)
		a.id = NewID("rtbassoc")
		to.associations = append(to.associations, a)
		return &ec2.ReplaceRouteTableAssociationOutput{NewAssociationId: aws.String(a.id), AssociationState: associated()}, nil
	}
	return nil, wire.Errorf("InvalidAssociationID.NotFound", "The association ID '%s' does not exist", aws.ToString(in.AssociationId))
}

func (r *region) describeRouteTable(t *routeTable) types.RouteTable {
	d := types.RouteTable{
		RouteTableId: aws.String(t.id), VpcId: aws.String(t.vpc.id), OwnerId: aws.String(r.Account), Tags: r.tags.List(t.id),
		Associations: []types.RouteTableAssociation{}, PropagatingVgws: []types.PropagatingVgw{},
	}
	for _, x := range r.routesOf(t) {
		d.Routes = append(d.Routes, x.describe(r))
	}
	for _, a := range t.associations {
		da := types.RouteTableAssociation{
			RouteTableAssociationId: aws.String(a.id), RouteTableId: aws.String(t.id), Main: aws.Bool(a.main),
			AssociationState: associated(),
		}
		if a.subnet != nil {
			da.SubnetId = aws.String(a.subnet.id)
		}
		d.Associations = append(d.Associations, da)
	}
	return d
}

func (r *region) routeTableFields() Fields[*routeTable] {
	associations := func(of func(association) string) func(*routeTable) []string {
		return func(t *routeTable) (list []string) {
			for _, a := range t.associations {
				list = append(list, of(a))
			}
			return list
		}
	}
	routes := func(of func(types.Route) string) func(*routeTable) []string {
		return func(t *routeTable) (list []string) {
			for _, x := range r.routesOf(t) {
				list = append(list, of(x.describe(r)))
			}
			return list
		}
	}
	return Fields[*routeTable]{
		"route-table-id":                         func(t *routeTable) []string { return text(t.id) },
		"vpc-id":                                 func(t *routeTable) []string { return text(t.vpc.id) },
		"owner-id":                               func(*routeTable) []string { return text(r.Account) },
		"association.main":                       associations(func(a association) string { return flag(a.main)[0] }),
		"association.route-table-association-id": associations(func(a association) string { return a.id }),
		"association.route-table-id":             func(t *routeTable) []string { return text(t.id) },
		"association.subnet-id": associations(func(a association) string {
			if a.subnet == nil {
				return ""
			}
			return a.subnet.id
		}),
		"route.destination-cidr-block":     routes(func(x types.Route) string { return aws.ToString(x.DestinationCidrBlock) }),
		"route.destination-prefix-list-id": routes(func(x types.Route) string { return aws.ToString(x.DestinationPrefixListId) }),
		"route.gateway-id":                 routes(func(x types.Route) string { return aws.ToString(x.GatewayId) }),
		"route.nat-gateway-id":             routes(func(x types.Route) string { return aws.ToString(x.NatGatewayId) }),
		"route.instance-id":                routes(func(x types.Route) string { return aws.ToString(x.InstanceId) }),
		"route.origin":                     routes(func(x types.Route) string { return string(x.Origin) }),
		"route.state":                      routes(func(x types.Route) string { return string(x.State) }),
	}
}

func (r *region) describeRouteTables(in *ec2.DescribeRouteTablesInput) (*ec2.DescribeRouteTablesOutput, error) {
	list, next, err := describe(
		r, r.routeTables, wanted{in.RouteTableIds, in.Filters, in.MaxResults, in.NextToken}, r.routeTableFields(), r.describeRouteTable,
	)
	return &ec2.DescribeRouteTablesOutput{RouteTables: list, NextToken: next}, err
}

package vpc

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// endpoint is a VPC endpoint. One of type Gateway is a route to S3 or DynamoDB in some route
// tables; one of type Interface has interfaces in some subnets.
type endpoint struct {
	named

	vpc         *vpc
	kind        types.VpcEndpointType
	service     string
	policy      string
	privateDNS  bool
	routeTables []string
	groups      []string
	interfaces  []*networkInterface
	created     time.Time
}

// prefixLists are the AWS-managed lists of each region, by the service's name.
// https://docs.aws.amazon.com/vpc/latest/userguide/working-with-aws-managed-prefix-lists.html
func (r *region) prefixLists() []types.PrefixList {
	// The ranges are reserved for documentation: behind them is the simulator.
	return []types.PrefixList{
		{
			PrefixListId:   aws.String("pl-" + r.listDigits("s3")),
			PrefixListName: aws.String("com.amazonaws." + r.Region + ".s3"),
			Cidrs:          []string{"192.0.2.0/25"},
		},
		{
			PrefixListId:   aws.String("pl-" + r.listDigits("dynamodb")),
			PrefixListName: aws.String("com.amazonaws." + r.Region + ".dynamodb"),
			Cidrs:          []string{"192.0.2.128/25"},
		},
	}
}

// listDigits generates the digits of a list's ID, which are the same in all accounts but differ
// between regions.
func (r *region) listDigits(service string) string {
	h := uint32(2166136261)
	for _, c := range []byte(service + "/" + r.Region) {
		h = (h ^ uint32(c)) * 16777619
	}
	const digits = "0123456789abcdef"
	id := make([]byte, 8)
	for i := range id {
		id[i] = digits[h>>(4*i)&15]
	}
	return string(id)
}

// checkList returns an error if a prefix list does not exist.
func (r *region) checkList(id string) error {
	if slices.ContainsFunc(r.prefixLists(), func(l types.PrefixList) bool { return *l.PrefixListId == id }) {
		return nil
	}
	return noID(id)
}

func (r *region) describePrefixLists(in *ec2.DescribePrefixListsInput) (*ec2.DescribePrefixListsOutput, error) {
	fields := Fields[types.PrefixList]{
		"prefix-list-id":   func(l types.PrefixList) []string { return text(*l.PrefixListId) },
		"prefix-list-name": func(l types.PrefixList) []string { return text(*l.PrefixListName) },
	}
	list, next, err := listPrefixes(r, in.PrefixListIds, in.Filters, fields, in.MaxResults, in.NextToken)
	return &ec2.DescribePrefixListsOutput{PrefixLists: list, NextToken: next}, err
}

func listPrefixes(
	r *region, ids []string, filters []types.Filter, fields Fields[types.PrefixList], most *int32, token *string,
) ([]types.PrefixList, *string, error) {
	pass, err := fields.Compile(filters)
	if err != nil {
		return nil, nil, err
	}
	for _, id := range ids {
		if err := r.checkList(id); err != nil {
			return nil, nil, err
		}
	}
	found := slices.DeleteFunc(r.prefixLists(), func(l types.PrefixList) bool {
		return len(ids) > 0 && !slices.Contains(ids, *l.PrefixListId) || !pass(l, nil)
	})
	return Page(found, func(l types.PrefixList) string { return *l.PrefixListId }, most, token)
}

func (r *region) describeManagedPrefixLists(in *ec2.DescribeManagedPrefixListsInput) (*ec2.DescribeManagedPrefixListsOutput, error) {
	fields := Fields[types.PrefixList]{
		"prefix-list-id":   func(l types.PrefixList) []string { return text(*l.PrefixListId) },
		"prefix-list-name": func(l types.PrefixList) []string { return text(*l.PrefixListName) },
		"owner-id":         func(types.PrefixList) []string { return text("AWS") },
	}
	list, next, err := listPrefixes(r, in.PrefixListIds, in.Filters, fields, in.MaxResults, in.NextToken)
	out := &ec2.DescribeManagedPrefixListsOutput{NextToken: next}
	for _, l := range list {
		out.PrefixLists = append(out.PrefixLists, types.ManagedPrefixList{
			PrefixListId: l.PrefixListId, PrefixListName: l.PrefixListName, OwnerId: aws.String("AWS"), AddressFamily: aws.String("IPv4"),
			State:         types.PrefixListStateCreateComplete,
			PrefixListArn: aws.String("arn:" + r.partition() + ":ec2:" + r.Region + ":aws:prefix-list/" + *l.PrefixListId),
		})
	}
	return out, err
}

// newEndpoint creates an endpoint. It validates everything first.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateVpcEndpoint.html
func (r *region) newEndpoint(in *ec2.CreateVpcEndpointInput) (*endpoint, error) {
	v, err := r.vpcs.get(in.VpcId)
	if err != nil {
		return nil, err
	}
	tags, err := TagsFor(in.TagSpecifications, types.ResourceTypeVpcEndpoint)
	if err != nil {
		return nil, err
	}
	e := &endpoint{
		vpc: v, kind: types.VpcEndpointType(cmp.Or(string(in.VpcEndpointType), string(types.VpcEndpointTypeGateway))),
		service: aws.ToString(in.ServiceName),
		policy:  aws.ToString(in.PolicyDocument), privateDNS: in.PrivateDnsEnabled == nil || *in.PrivateDnsEnabled, created: r.now(),
	}
	if !strings.HasPrefix(e.service, "com.amazonaws."+r.Region+".") {
		return nil, wire.Errorf("InvalidServiceName", "The Vpc Endpoint Service '%s' does not exist", e.service)
	}
	switch {
	case in.IpAddressType != "" && in.IpAddressType != types.IpAddressTypeIpv4:
		return nil, unsupported("ipAddressType")
	case len(in.SubnetConfigurations) > 0:
		return nil, unsupported("subnetConfigurations")
	}
	switch e.kind {
	case types.VpcEndpointTypeGateway:
		err = r.routeEndpoint(e, in)
	case types.VpcEndpointTypeInterface:
		err = r.placeEndpoint(e, in)
	default:
		err = unsupported("vpcEndpointType " + string(e.kind))
	}
	if err != nil {
		return nil, err
	}
	e.named = r.newID("vpce", types.ResourceTypeVpcEndpoint, tags[types.ResourceTypeVpcEndpoint])
	r.endpoints.byID[e.id] = e
	r.setRoutes(e, e.routeTables)
	for _, i := range e.interfaces {
		i.description = "VPC Endpoint Interface " + e.id
	}
	return e, nil
}

func (r *region) routeEndpoint(e *endpoint, in *ec2.CreateVpcEndpointInput) error {
	if len(in.SubnetIds) > 0 || len(in.SecurityGroupIds) > 0 {
		return wire.Errorf("InvalidParameter", "SubnetIds and SecurityGroupIds are not valid for an endpoint of type Gateway")
	}
	if e.list(r) == "" {
		return wire.Errorf("InvalidParameter", "Endpoint type (Gateway) does not match available service types ([Interface]).")
	}
	e.privateDNS = false
	return r.checkTables(e, in.RouteTableIds)
}

func (r *region) checkTables(e *endpoint, ids []string) error {
	for _, id := range ids {
		t, err := r.routeTables.get(&id)
		if err != nil {
			return err
		}
		if t.vpc != e.vpc {
			return wire.Errorf("InvalidParameter", "Route table %s and endpoint belong to different networks", id)
		}
		if slices.ContainsFunc(t.routes, func(x route) bool { return x.destination == e.list(r) && x.gateway != e.id }) {
			return wire.Errorf("RouteAlreadyExists", "route table %s already has a route with destination-prefix-list-id %s", id, e.list(r))
		}
	}
	e.routeTables = slices.Clone(ids)
	return nil
}

// list returns the prefix list of the endpoint's service, or "".
func (e *endpoint) list(r *region) string {
	for _, l := range r.prefixLists() {
		if *l.PrefixListName == e.service {
			return *l.PrefixListId
		}
	}
	return ""
}

// setRoutes sets the route tables of a gateway endpoint.
func (r *region) setRoutes(e *endpoint, tables []string) {
	if e.kind != types.VpcEndpointTypeGateway {
		return
	}
	for _, t := range e.vpc.tables {
		t.routes = slices.DeleteFunc(t.routes, func(x route) bool { return x.byEndpoint && x.gateway == e.id })
		if slices.Contains(tables, t.id) {
			t.routes = append(t.routes, route{destination: e.list(r), gateway: e.id, byEndpoint: true})
		}
	}
	e.routeTables = slices.Clone(tables)
}

func (r *region) placeEndpoint(e *endpoint, in *ec2.CreateVpcEndpointInput) error {
	if len(in.RouteTableIds) > 0 {
		return wire.Errorf("InvalidParameter", "RouteTableIds are not valid for an endpoint of type Interface")
	}
	groups, err := r.groupsIn(e.vpc, in.SecurityGroupIds)
	if err != nil {
		return err
	}
	e.groups = groups
	return r.setSubnets(e, in.SubnetIds)
}

// setSubnets sets the subnets of an interface endpoint, all or none.
func (r *region) setSubnets(e *endpoint, ids []string) error {
	var kept, fresh []*networkInterface
	zones := map[string]bool{}
	undo := func() {
		for _, i := range fresh {
			r.dropInterface(i)
		}
	}
	for _, id := range ids {
		n, err := r.subnets.get(&id)
		if err == nil && n.vpc != e.vpc {
			err = wire.Errorf("InvalidParameter", "Subnet %s and the endpoint belong to different networks", id)
		}
		if err == nil && zones[n.zone.name] {
			err = wire.Errorf("DuplicateSubnetsInSameZone", "Found another VPC endpoint subnet in the availability zone of %s", id)
		}
		if err != nil {
			undo()
			return err
		}
		zones[n.zone.name] = true
		if k := slices.IndexFunc(e.interfaces, func(i *networkInterface) bool { return i.subnet == n }); k >= 0 {
			kept = append(kept, e.interfaces[k])
			continue
		}
		i, err := r.newInterface(id, InterfaceRequest{
			SecurityGroups: e.groups, Type: types.NetworkInterfaceTypeVpcEndpoint, RequesterManaged: true, RequesterID: r.Account,
			Attachment: &Attachment{}, Description: "VPC Endpoint Interface " + e.id,
		})
		if err != nil {
			undo()
			return err
		}
		fresh = append(fresh, i)
	}
	for _, i := range e.interfaces {
		if !slices.Contains(kept, i) {
			r.dropInterface(i)
		}
	}
	e.interfaces = slices.Concat(kept, fresh)
	return nil
}

func (r *region) removeEndpoint(id *string) error {
	e, err := r.endpoints.get(id)
	if err != nil {
		return err
	}
	r.setRoutes(e, nil)
	for _, i := range e.interfaces {
		r.dropInterface(i)
	}
	drop(r, r.endpoints, e)
	return nil
}

func (r *region) createVpcEndpoint(in *ec2.CreateVpcEndpointInput) (*ec2.CreateVpcEndpointOutput, error) {
	e, err := r.newEndpoint(in)
	if err != nil {
		return nil, err
	}
	d := r.describeEndpoint(e)
	return &ec2.CreateVpcEndpointOutput{VpcEndpoint: &d, ClientToken: in.ClientToken}, nil
}

func (r *region) deleteVpcEndpoints(in *ec2.DeleteVpcEndpointsInput) (*ec2.DeleteVpcEndpointsOutput, error) {
	out := &ec2.DeleteVpcEndpointsOutput{Unsuccessful: []types.UnsuccessfulItem{}}
	for _, id := range in.VpcEndpointIds {
		if err := r.removeEndpoint(&id); err != nil {
			e := noID(id)
			out.Unsuccessful = append(out.Unsuccessful, types.UnsuccessfulItem{
				ResourceId: aws.String(id), Error: &types.UnsuccessfulItemError{Code: aws.String(e.Code), Message: aws.String(e.Message)},
			})
		}
	}
	return out, nil
}

// endpointChange holds the changes of an endpoint; nil leaves a member unchanged.
type endpointChange struct {
	tables, subnets, groups []string
	policy                  *string
	privateDNS              *bool
}

func (r *region) changeEndpoint(e *endpoint, c endpointChange) error {
	gateway := e.kind == types.VpcEndpointTypeGateway
	if gateway && (c.subnets != nil || c.groups != nil) || !gateway && c.tables != nil {
		return wire.Errorf("InvalidParameter", "The parameters are not valid for an endpoint of type %s", e.kind)
	}
	if c.groups != nil {
		groups, err := r.groupsIn(e.vpc, c.groups)
		if err != nil {
			return err
		}
		e.groups = groups
		for _, i := range e.interfaces {
			i.groups = slices.Clone(groups)
		}
	}
	if c.tables != nil {
		if err := r.checkTables(e, c.tables); err != nil {
			return err
		}
		r.setRoutes(e, c.tables)
	}
	if c.subnets != nil {
		if err := r.setSubnets(e, c.subnets); err != nil {
			return err
		}
	}
	if c.policy != nil {
		e.policy = *c.policy
	}
	if c.privateDNS != nil {
		e.privateDNS = *c.privateDNS
	}
	return nil
}

// changed returns a list with items added and removed, or nil if there are no changes.
func changed(list, add, remove []string) []string {
	if len(add) == 0 && len(remove) == 0 {
		return nil
	}
	set := map[string]bool{}
	for _, x := range append(slices.Clone(list), add...) {
		set[x] = true
	}
	for _, x := range remove {
		delete(set, x)
	}
	out := slices.Sorted(maps.Keys(set))
	if out == nil {
		out = []string{}
	}
	return out
}

func (e *endpoint) subnetIDs() []string {
	list := make([]string, 0, len(e.interfaces))
	for _, i := range e.interfaces {
		list = append(list, i.subnet.id)
	}
	return list
}

func (r *region) modifyVpcEndpoint(in *ec2.ModifyVpcEndpointInput) (*ec2.ModifyVpcEndpointOutput, error) {
	e, err := r.endpoints.get(in.VpcEndpointId)
	if err != nil {
		return nil, err
	}
	if in.IpAddressType != "" || len(in.SubnetConfigurations) > 0 {
		return nil, unsupported("ipAddressType")
	}
	c := endpointChange{
		tables: changed(e.routeTables, in.AddRouteTableIds, in.RemoveRouteTableIds), policy: in.PolicyDocument,
		privateDNS: in.PrivateDnsEnabled,
		subnets:    changed(e.subnetIDs(), in.AddSubnetIds, in.RemoveSubnetIds),
		groups:     changed(e.groups, in.AddSecurityGroupIds, in.RemoveSecurityGroupIds),
	}
	if aws.ToBool(in.ResetPolicy) {
		c.policy = aws.String("")
	}
	return &ec2.ModifyVpcEndpointOutput{Return: yes()}, r.changeEndpoint(e, c)
}

// anyPolicy is the default policy of an endpoint.
const anyPolicy = `{"Version":"2008-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"*","Resource":"*"}]}`

func (r *region) describeEndpoint(e *endpoint) types.VpcEndpoint {
	d := types.VpcEndpoint{
		VpcEndpointId: aws.String(e.id), VpcId: aws.String(e.vpc.id), ServiceName: aws.String(e.service), State: types.StateAvailable,
		VpcEndpointType: e.kind, CreationTimestamp: aws.Time(e.created), OwnerId: aws.String(r.Account), Tags: r.tags.List(e.id),
		PolicyDocument: aws.String(cmp.Or(e.policy, anyPolicy)), RouteTableIds: slices.Clone(e.routeTables), SubnetIds: e.subnetIDs(),
		PrivateDnsEnabled: aws.Bool(e.privateDNS), RequesterManaged: aws.Bool(false),
	}
	for _, id := range e.groups {
		d.Groups = append(d.Groups, types.SecurityGroupIdentifier{GroupId: aws.String(id), GroupName: aws.String(r.groups.byID[id].name)})
	}
	for _, i := range e.interfaces {
		d.NetworkInterfaceIds = append(d.NetworkInterfaceIds, i.id)
	}
	if e.kind == types.VpcEndpointTypeInterface {
		service := strings.TrimPrefix(e.service, "com.amazonaws."+r.Region+".")
		d.DnsEntries = []types.DnsEntry{{DnsName: aws.String(e.id + "." + service + "." + r.Region + ".vpce.amazonaws.com")}}
	}
	return d
}

func (r *region) describeVpcEndpoints(in *ec2.DescribeVpcEndpointsInput) (*ec2.DescribeVpcEndpointsOutput, error) {
	fields := Fields[*endpoint]{
		"vpc-endpoint-id":    func(e *endpoint) []string { return text(e.id) },
		"vpc-endpoint-type":  func(e *endpoint) []string { return text(string(e.kind)) },
		"vpc-endpoint-state": func(*endpoint) []string { return text("available") },
		"service-name":       func(e *endpoint) []string { return text(e.service) },
		"vpc-id":             func(e *endpoint) []string { return text(e.vpc.id) },
	}
	list, next, err := describe(
		r, r.endpoints, wanted{in.VpcEndpointIds, in.Filters, in.MaxResults, in.NextToken}, fields, r.describeEndpoint,
	)
	return &ec2.DescribeVpcEndpointsOutput{VpcEndpoints: list, NextToken: next}, err
}

func (r *region) getManagedPrefixListEntries(in *ec2.GetManagedPrefixListEntriesInput) (*ec2.GetManagedPrefixListEntriesOutput, error) {
	for _, l := range r.prefixLists() {
		if *l.PrefixListId != aws.ToString(in.PrefixListId) {
			continue
		}
		out := &ec2.GetManagedPrefixListEntriesOutput{}
		for _, cidr := range l.Cidrs {
			out.Entries = append(out.Entries, types.PrefixListEntry{Cidr: aws.String(cidr)})
		}
		return out, nil
	}
	return nil, noID(aws.ToString(in.PrefixListId))
}

package vpc

import (
	"context"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/property"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Providers returns the providers of the CloudFormation types for the network.
func (s *Service) Providers() map[string]resource.Provider {
	all := map[string]resource.Provider{
		"AWS::EC2::NatGateway": natProvider{provider{service: s, make: makeNAT, change: changeNAT, remove: deleteNAT, read: readNAT}},
	}
	for kind, p := range map[string]provider{
		"AWS::EC2::VPC":                         {make: makeVPC, change: changeVPC, remove: deleteVPC, read: readVPC},
		"AWS::EC2::VPCCidrBlock":                {make: makeBlock, remove: deleteBlock, read: readBlock},
		"AWS::EC2::Subnet":                      {make: makeSubnet, change: changeSubnet, remove: deleteSubnet, read: readSubnet},
		"AWS::EC2::RouteTable":                  {make: makeTable, change: changeTable, remove: deleteTable, read: readTable},
		"AWS::EC2::Route":                       {make: makeRoute, change: changeRoute, remove: deleteRoute, read: readRoute},
		"AWS::EC2::SubnetRouteTableAssociation": {make: makeAssociation, remove: deleteAssociation, read: readAssociation},
		"AWS::EC2::InternetGateway":             {make: makeGateway, change: changeGateway, remove: deleteGateway, read: readGateway},
		"AWS::EC2::VPCGatewayAttachment":        {make: makeAttachment, change: changeAttachment, remove: deleteAttachment, read: readAttachment},
		"AWS::EC2::EgressOnlyInternetGateway":   {make: makeEgress, change: changeEgress, remove: deleteEgress, read: readEgress},
		"AWS::EC2::EIP":                         {make: makeAddress, change: changeAddress, remove: deleteAddress, read: readAddress},
		"AWS::EC2::EIPAssociation":              {make: makeMapping, remove: deleteMapping, read: readMapping},
		"AWS::EC2::SecurityGroup":               {make: makeGroup, change: changeGroup, remove: deleteGroup, read: readGroup},
		"AWS::EC2::SecurityGroupIngress":        {make: makeIngress, change: changeRule, remove: deleteRule, read: readRule},
		"AWS::EC2::SecurityGroupEgress":         {make: makeEgressRule, change: changeRule, remove: deleteRule, read: readRule},
		"AWS::EC2::NetworkInterface":            {make: makeInterface, change: changeInterface, remove: deleteInterface, read: readInterface},
		"AWS::EC2::VPCEndpoint":                 {make: makeEndpoint, change: changeEndpoint, remove: deleteEndpoint, read: readEndpoint},
		"AWS::EC2::DHCPOptions":                 {make: makeOptions, change: changeOptions, remove: deleteOptions, read: readOptions},
		"AWS::EC2::VPCDHCPOptionsAssociation":   {make: makeOptionsOf, remove: deleteOptionsOf, read: readOptionsOf},
	} {
		p.service = s
		all[kind] = p
		if ids := listed[kind]; ids != nil {
			all[kind] = listedProvider{p, ids}
		}
	}
	return all
}

// listed return the IDs of the resources of the types that Cloud Control API can list here.
var listed = map[string]func(*region) []string{
	"AWS::EC2::InternetGateway": func(r *region) []string { return slices.Collect(maps.Keys(r.gateways.byID)) },
	"AWS::EC2::SecurityGroup":   func(r *region) []string { return slices.Collect(maps.Keys(r.groups.byID)) },
	"AWS::EC2::VPC":             func(r *region) []string { return slices.Collect(maps.Keys(r.vpcs.byID)) },
}

// listedProvider is a provider that lists.
type listedProvider struct {
	provider

	ids func(*region) []string
}

// List returns the IDs of the resources.
func (p listedProvider) List(_ context.Context, at wire.Target) ([]string, error) {
	r, unlock := p.service.lock(at)
	defer unlock()
	return p.ids(r), nil
}

// provider implements one type with functions on a region, which is locked while they run.
type provider struct {
	service *Service
	make    func(*region, resource.Request) (resource.Result, error)
	change  func(*region, resource.Request) (resource.Result, error) // nil if no property can change
	remove  func(*region, resource.Request) error
	read    func(*region, resource.Request) (map[string]any, error)
}

func handled(err error) error { return property.HandlerError("Ec2", err) }

// Create creates a resource. If it fails, it leaves nothing behind.
func (p provider) Create(_ context.Context, q resource.Request) (resource.Result, error) {
	r, unlock := p.service.lock(q.Target())
	defer unlock()
	result, err := p.make(r, q)
	return result, handled(err)
}

// Update changes a resource in place.
func (p provider) Update(_ context.Context, q resource.Request) (resource.Result, error) {
	if p.change == nil {
		return resource.Result{}, resource.Errorf(resource.NotUpdatable, "Resource of this type cannot be updated")
	}
	r, unlock := p.service.lock(q.Target())
	defer unlock()
	result, err := p.change(r, q)
	return result, handled(err)
}

// Delete deletes a resource unless other resources depend on it.
func (p provider) Delete(_ context.Context, q resource.Request) error {
	r, unlock := p.service.lock(q.Target())
	defer unlock()
	return handled(p.remove(r, q))
}

// Read returns the current properties of a resource.
func (p provider) Read(_ context.Context, q resource.Request) (map[string]any, error) {
	r, unlock := p.service.lock(q.Target())
	defer unlock()
	properties, err := p.read(r, q)
	return properties, handled(err)
}

// decode decodes properties, and refuses those that the simulator would have to ignore.
func decode(q resource.Request, into any, refused ...string) error {
	for _, name := range refused {
		if q.Properties[name] != nil {
			return resource.Errorf(resource.InvalidRequest, "The simulator does not support the property %s.", name)
		}
	}
	return property.Decode(q.Properties, into)
}

// decodeNew decodes the properties of a new resource and validates its tags.
func decodeNew(q resource.Request, into any, refused ...string) error {
	if err := decode(q, into, refused...); err != nil {
		return err
	}
	return stackTags(q)
}

// changeTags updates a resource of which only the tags can change.
func changeTags[T item](r *region, q resource.Request, t table[T], attribute string) (resource.Result, error) {
	x, err := t.get(&q.PhysicalID)
	if err != nil {
		return resource.Result{}, err
	}
	return made(x.ident(), attribute), r.setTags(q, x.ident())
}

// readTagged returns the properties of a resource and its own tags.
func readTagged[T item](r *region, q resource.Request, t table[T], properties func(T) map[string]any) (map[string]any, error) {
	x, err := t.get(&q.PhysicalID)
	if err != nil {
		return nil, err
	}
	return r.with(properties(x), q, x.ident()), nil
}

// ownTags are the tags in a resource's properties.
type ownTags struct{ Tags []property.Tag }

// setTags sets the tags of a resource. It removes tags that are no longer in the template, and
// keeps tags that other clients set.
func (r *region) setTags(q resource.Request, id string) error {
	var now ownTags
	if err := property.Decode(q.Properties, &now); err != nil {
		return err
	}
	tags := property.Tags(q.Tags, now.Tags)
	if err := CheckTags(tags, true); err != nil {
		return err
	}
	for _, key := range r.templated[id] {
		if _, ok := tags[key]; !ok {
			r.tags.Delete(id, key)
		}
	}
	r.tags.Set(id, tags)
	r.templated[id] = slices.Collect(maps.Keys(tags))
	return nil
}

// stackTags validates a new resource's tags before the resource is created.
func stackTags(q resource.Request) error {
	var own ownTags
	if err := property.Decode(q.Properties, &own); err != nil {
		return err
	}
	return CheckTags(property.Tags(q.Tags, own.Tags), true)
}

// made returns the result for a resource whose only attribute is its ID.
func made(id, attribute string) resource.Result {
	return resource.Result{PhysicalID: id, Attributes: map[string]any{attribute: id}}
}

// optional returns nil for an empty property.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func anys(list []string) []any {
	out := make([]any, 0, len(list))
	for _, s := range list {
		out = append(out, s)
	}
	return out
}

// with adds a resource's own tags to its properties.
func (r *region) with(properties map[string]any, q resource.Request, id string) map[string]any {
	if tags := property.OwnTags(r.tags.Get(id), q.Tags); tags != nil {
		properties["Tags"] = tags
	}
	for name, value := range properties {
		if value == nil {
			delete(properties, name)
		}
	}
	return properties
}

// value returns a property for reading; nil if it is not set.
func value(s *string) any {
	if aws.ToString(s) == "" {
		return nil
	}
	return *s
}

func number(p *int32) any {
	if p == nil {
		return nil
	}
	return int64(*p)
}

// natProvider implements NAT gateways, which become available only after a while.
type natProvider struct{ provider }

// Stable reports whether a gateway is available or, after a Delete, no longer exists. A failed
// gateway never becomes available.
func (p natProvider) Stable(_ context.Context, q resource.Request) (bool, error) {
	r, unlock := p.service.lock(q.Target())
	defer unlock()
	n, ok := r.nats.byID[q.PhysicalID]
	if !ok {
		return true, nil
	}
	switch r.natState(n) {
	case types.NatGatewayStateFailed:
		return false, resource.Errorf(resource.NotStabilized,
			"NatGateway %s is in state failed and hence failed to stabilize. Detailed failure message: %s", n.id, n.reason)
	case types.NatGatewayStateAvailable, types.NatGatewayStateDeleted:
		return true, nil
	default:
		return false, nil
	}
}

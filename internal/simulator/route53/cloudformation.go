package route53

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/google/uuid"

	"github.com/aws-operator/aws-operator/internal/simulator/property"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

const (
	zoneType   = "AWS::Route53::HostedZone"
	recordType = "AWS::Route53::RecordSet"
	groupType  = "AWS::Route53::RecordSetGroup"
)

// Providers returns the providers of the CloudFormation types for Route 53.
func (s *Service) Providers() map[string]resource.Provider {
	return map[string]resource.Provider{zoneType: zoneProvider{s}, recordType: recordProvider{s}, groupType: groupProvider{s}}
}

func handled(err error) error { return property.HandlerError("Route53", err) }

type zoneProperties struct {
	Name             string
	HostedZoneConfig struct{ Comment string }
	HostedZoneTags   []property.Tag
	VPCs             []struct{ VPCId, VPCRegion string }
}

func decodeZone(r resource.Request) (p zoneProperties, err error) {
	for _, name := range []string{"QueryLoggingConfig", "HostedZoneFeatures"} {
		if r.Properties[name] != nil {
			return p, resource.Errorf(resource.InvalidRequest, "The simulator does not support the property %s.", name)
		}
	}
	return p, property.Decode(r.Properties, &p)
}

func (p *zoneProperties) vpcs() []types.VPC {
	var list []types.VPC
	for _, v := range p.VPCs {
		list = append(list, types.VPC{VPCId: aws.String(v.VPCId), VPCRegion: types.VPCRegion(v.VPCRegion)})
	}
	return list
}

// zoneResult returns a zone's attributes. A private zone has no NameServers:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-route53-hostedzone.html
func zoneResult(z *zone) resource.Result {
	attributes := map[string]any{"Id": z.id}
	if !z.private {
		servers := []any{}
		for _, server := range z.servers {
			servers = append(servers, server)
		}
		attributes["NameServers"] = servers
	}
	return resource.Result{PhysicalID: z.id, Attributes: attributes}
}

type zoneProvider struct{ s *Service }

// Create creates a zone, which is private if the template names VPCs.
func (p zoneProvider) Create(_ context.Context, r resource.Request) (resource.Result, error) {
	props, err := decodeZone(r)
	if err != nil {
		return resource.Result{}, err
	}
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	z := &zone{
		account: r.Account, name: props.Name, reference: uuid.NewString(), comment: props.HostedZoneConfig.Comment, vpcs: props.vpcs(),
		tags: property.Tags(r.Tags, props.HostedZoneTags),
	}
	if err := p.s.addZone(z); err != nil {
		return resource.Result{}, handled(err)
	}
	return zoneResult(z), nil
}

// Update changes a zone's comment, tags and VPCs.
func (p zoneProvider) Update(_ context.Context, r resource.Request) (resource.Result, error) {
	props, err := decodeZone(r)
	if err != nil {
		return resource.Result{}, err
	}
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	z, err := p.s.find(r.Account, &r.PhysicalID)
	if err != nil {
		return resource.Result{}, handled(err)
	}
	want := props.vpcs()
	if z.private != (len(want) > 0) {
		return resource.Result{}, resource.Errorf(resource.NotUpdatable, "A hosted zone cannot change between public and private.")
	}
	for _, v := range want {
		if z.has(*v.VPCId) {
			continue
		}
		if err := p.s.join(z, &v); err != nil {
			return resource.Result{}, handled(err)
		}
	}
	z.vpcs = want
	z.comment, z.tags = props.HostedZoneConfig.Comment, property.Tags(r.Tags, props.HostedZoneTags)
	return zoneResult(z), nil
}

// Delete deletes an empty zone.
func (p zoneProvider) Delete(_ context.Context, r resource.Request) error {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	z, err := p.s.find(r.Account, &r.PhysicalID)
	if err != nil {
		return handled(err)
	}
	return handled(p.s.removeZone(z))
}

// Read returns a zone's properties.
func (p zoneProvider) Read(_ context.Context, r resource.Request) (map[string]any, error) {
	p.s.mu.RLock()
	defer p.s.mu.RUnlock()
	z, err := p.s.find(r.Account, &r.PhysicalID)
	if err != nil {
		return nil, handled(err)
	}
	properties := map[string]any{"Name": strings.TrimSuffix(z.name, ".")}
	if name, _ := r.Properties["Name"].(string); fqdn(name) == z.name {
		properties["Name"] = name // in the template's spelling
	}
	if z.comment != "" {
		properties["HostedZoneConfig"] = map[string]any{"Comment": z.comment}
	}
	if tags := property.OwnTags(z.tags, r.Tags); tags != nil {
		properties["HostedZoneTags"] = tags
	}
	if z.private {
		list := []any{}
		for _, v := range z.vpcs {
			list = append(list, map[string]any{"VPCId": aws.ToString(v.VPCId), "VPCRegion": string(v.VPCRegion)})
		}
		properties["VPCs"] = list
	}
	return properties, nil
}

// recordProperties are the properties of a record set, alone or in a group.
type recordProperties struct {
	HostedZoneId, HostedZoneName, Name, Type, TTL string //nolint:revive // the properties' names
	ResourceRecords                               []string
	AliasTarget                                   *struct {
		DNSName, HostedZoneId string //nolint:revive // the properties' names
		EvaluateTargetHealth  bool
	}
	SetIdentifier, Failover, Region, HealthCheckId string //nolint:revive // the properties' names
	Weight                                         *int64
	MultiValueAnswer                               *bool
	GeoLocation, GeoProximityLocation              map[string]any
	CidrRoutingConfig                              map[string]any
}

func (p *recordProperties) set() (*types.ResourceRecordSet, error) {
	for name, given := range map[string]bool{
		"SetIdentifier": p.SetIdentifier != "", "Failover": p.Failover != "", "Region": p.Region != "",
		"HealthCheckId": p.HealthCheckId != "",
		"Weight":        p.Weight != nil, "MultiValueAnswer": p.MultiValueAnswer != nil, "GeoLocation": p.GeoLocation != nil,
		"GeoProximityLocation": p.GeoProximityLocation != nil, "CidrRoutingConfig": p.CidrRoutingConfig != nil,
	} {
		if given {
			return nil, unsupported(name)
		}
	}
	set := &types.ResourceRecordSet{Name: &p.Name, Type: types.RRType(p.Type)}
	if p.TTL != "" {
		ttl, err := parseTTL(p.TTL)
		if err != nil {
			return nil, err
		}
		set.TTL = &ttl
	}
	for _, value := range p.ResourceRecords {
		set.ResourceRecords = append(set.ResourceRecords, types.ResourceRecord{Value: &value})
	}
	if a := p.AliasTarget; a != nil {
		set.AliasTarget = &types.AliasTarget{
			DNSName:              &a.DNSName,
			HostedZoneId:         &a.HostedZoneId,
			EvaluateTargetHealth: a.EvaluateTargetHealth,
		}
	}
	return set, nil
}

// zoneOf returns the zone that a template names by its ID or unique name.
func (s *Service) zoneOf(account, id, name string) (*zone, error) {
	if id != "" {
		return s.find(account, &id)
	}
	var found *zone
	for _, z := range s.sorted(account) {
		if z.name != fqdn(name) {
			continue
		}
		if found != nil {
			return nil, invalidInput("Found multiple hosted zones with the name %s", name)
		}
		found = z
	}
	if found == nil {
		return nil, invalidInput("No hosted zones named %s found", name)
	}
	return found, nil
}

// replace changes a zone's records from before to now: it deletes those only in before, creates
// those only in now, and overwrites those in both.
func (s *Service) replace(z *zone, before, now []recordProperties) error {
	var changes []types.Change
	kept := map[key]bool{}
	for _, p := range now {
		kept[key{fqdn(p.Name), p.Type}] = true
	}
	had := map[key]bool{}
	for _, p := range before {
		k := key{fqdn(p.Name), p.Type}
		had[k] = true
		x, ok := z.records[k]
		if !ok || kept[k] {
			continue
		}
		set := x.describe()
		changes = append(changes, types.Change{Action: types.ChangeActionDelete, ResourceRecordSet: &set})
	}
	for _, p := range now {
		set, err := p.set()
		if err != nil {
			return err
		}
		action := types.ChangeActionCreate
		if had[key{fqdn(p.Name), p.Type}] {
			action = types.ChangeActionUpsert
		}
		changes = append(changes, types.Change{Action: action, ResourceRecordSet: set})
	}
	if len(changes) == 0 {
		return nil
	}
	if err := s.apply(z, changes); err != nil {
		return err
	}
	s.submit(z.account, "")
	return nil
}

type recordProvider struct{ s *Service }

func recordResult(p *recordProperties) resource.Result {
	name := strings.ReplaceAll(strings.TrimSuffix(fqdn(p.Name), "."), `\052`, "*")
	return resource.Result{PhysicalID: name, Attributes: map[string]any{"Id": name}}
}

// Create creates a record set, which must not exist.
func (p recordProvider) Create(_ context.Context, r resource.Request) (resource.Result, error) {
	return p.put(r, nil)
}

// Update changes a record set.
func (p recordProvider) Update(_ context.Context, r resource.Request) (resource.Result, error) {
	var before recordProperties
	if err := property.Decode(r.Previous, &before); err != nil {
		return resource.Result{}, err
	}
	return p.put(r, []recordProperties{before})
}

func (p recordProvider) put(r resource.Request, before []recordProperties) (resource.Result, error) {
	var now recordProperties
	if err := property.Decode(r.Properties, &now); err != nil {
		return resource.Result{}, err
	}
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	z, err := p.s.zoneOf(r.Account, now.HostedZoneId, now.HostedZoneName)
	if err != nil {
		return resource.Result{}, handled(err)
	}
	if err := p.s.replace(z, before, []recordProperties{now}); err != nil {
		return resource.Result{}, handled(err)
	}
	return recordResult(&now), nil
}

// Delete deletes a record set, also if its values have changed.
func (p recordProvider) Delete(_ context.Context, r resource.Request) error {
	var now recordProperties
	if err := property.Decode(r.Properties, &now); err != nil {
		return err
	}
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	z, err := p.s.zoneOf(r.Account, now.HostedZoneId, now.HostedZoneName)
	if err != nil || z.records[key{fqdn(now.Name), now.Type}] == nil {
		return property.Missing(recordType, r.PhysicalID)
	}
	return handled(p.s.replace(z, []recordProperties{now}, nil))
}

// Read returns a record set's properties.
func (p recordProvider) Read(_ context.Context, r resource.Request) (map[string]any, error) {
	var now recordProperties
	if err := property.Decode(r.Properties, &now); err != nil {
		return nil, err
	}
	p.s.mu.RLock()
	defer p.s.mu.RUnlock()
	z, err := p.s.zoneOf(r.Account, now.HostedZoneId, now.HostedZoneName)
	if err != nil {
		return nil, property.Missing(recordType, r.PhysicalID)
	}
	x := z.records[key{fqdn(now.Name), now.Type}]
	if x == nil {
		return nil, property.Missing(recordType, r.PhysicalID)
	}
	properties := x.properties(&now)
	if now.HostedZoneId != "" {
		properties["HostedZoneId"] = now.HostedZoneId
	} else {
		properties["HostedZoneName"] = now.HostedZoneName
	}
	return properties, nil
}

// properties returns a record set's properties, with the name in the template's spelling.
func (x *record) properties(p *recordProperties) map[string]any {
	properties := map[string]any{"Name": p.Name, "Type": x.kind}
	if x.alias != nil {
		properties["AliasTarget"] = map[string]any{
			"DNSName": aws.ToString(x.alias.DNSName), "HostedZoneId": aws.ToString(x.alias.HostedZoneId),
			"EvaluateTargetHealth": x.alias.EvaluateTargetHealth,
		}
		return properties
	}
	values := []any{}
	for _, value := range x.values {
		values = append(values, value)
	}
	properties["TTL"], properties["ResourceRecords"] = ttlText(x.ttl), values
	return properties
}

type groupProperties struct {
	HostedZoneId, HostedZoneName, Comment string //nolint:revive // the properties' names
	RecordSets                            []recordProperties
}

// zone returns the group's zone: its own, or that of its first record set.
func (p *groupProperties) zone(s *Service, account string) (*zone, error) {
	id, name := p.HostedZoneId, p.HostedZoneName
	if id == "" && name == "" && len(p.RecordSets) > 0 {
		id, name = p.RecordSets[0].HostedZoneId, p.RecordSets[0].HostedZoneName
	}
	for _, x := range p.RecordSets {
		if cmp.Or(x.HostedZoneId, id) != id || cmp.Or(x.HostedZoneName, name) != name {
			return nil, unsupported("record sets of several zones in one group")
		}
	}
	return s.zoneOf(account, id, name)
}

type groupProvider struct{ s *Service }

// Create creates the record sets of a group, all or none.
func (p groupProvider) Create(_ context.Context, r resource.Request) (resource.Result, error) {
	r.PhysicalID = property.Name(r, 128, "")
	return p.put(r, nil)
}

// Update changes the record sets of a group.
func (p groupProvider) Update(_ context.Context, r resource.Request) (resource.Result, error) {
	var before groupProperties
	if err := property.Decode(r.Previous, &before); err != nil {
		return resource.Result{}, err
	}
	return p.put(r, before.RecordSets)
}

func (p groupProvider) put(r resource.Request, before []recordProperties) (resource.Result, error) {
	var now groupProperties
	if err := property.Decode(r.Properties, &now); err != nil {
		return resource.Result{}, err
	}
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	z, err := now.zone(p.s, r.Account)
	if err != nil {
		return resource.Result{}, handled(err)
	}
	if err := p.s.replace(z, before, now.RecordSets); err != nil {
		return resource.Result{}, handled(err)
	}
	return resource.Result{PhysicalID: r.PhysicalID, Attributes: map[string]any{"Id": r.PhysicalID}}, nil
}

// Delete deletes the record sets that still exist.
func (p groupProvider) Delete(_ context.Context, r resource.Request) error {
	var now groupProperties
	if err := property.Decode(r.Properties, &now); err != nil {
		return err
	}
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	z, err := now.zone(p.s, r.Account)
	if err != nil {
		return property.Missing(groupType, r.PhysicalID)
	}
	return handled(p.s.replace(z, now.RecordSets, nil))
}

// Read returns a group's properties, with the existing record sets.
func (p groupProvider) Read(_ context.Context, r resource.Request) (map[string]any, error) {
	var now groupProperties
	if err := property.Decode(r.Properties, &now); err != nil {
		return nil, err
	}
	p.s.mu.RLock()
	defer p.s.mu.RUnlock()
	z, err := now.zone(p.s, r.Account)
	if err != nil {
		return nil, property.Missing(groupType, r.PhysicalID)
	}
	sets := []any{}
	for _, set := range now.RecordSets {
		if x := z.records[key{fqdn(set.Name), set.Type}]; x != nil {
			sets = append(sets, x.properties(&set))
		}
	}
	properties := map[string]any{"RecordSets": sets}
	for name, text := range map[string]string{
		"HostedZoneId": now.HostedZoneId, "HostedZoneName": now.HostedZoneName, "Comment": now.Comment,
	} {
		if text != "" {
			properties[name] = text
		}
	}
	if !slices.ContainsFunc(now.RecordSets, func(p recordProperties) bool { return z.records[key{fqdn(p.Name), p.Type}] != nil }) &&
		len(now.RecordSets) > 0 {
		return nil, property.Missing(groupType, r.PhysicalID)
	}
	return properties, nil
}

// List returns the IDs of the account's zones.
func (p zoneProvider) List(_ context.Context, at wire.Target) ([]string, error) {
	p.s.mu.RLock()
	defer p.s.mu.RUnlock()
	var ids []string
	for id, z := range p.s.zones {
		if z.account == at.Account {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

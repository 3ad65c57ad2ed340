package elbv2

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/property"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

const (
	balancerType = "AWS::ElasticLoadBalancingV2::LoadBalancer"
	groupType    = "AWS::ElasticLoadBalancingV2::TargetGroup"
	listenerType = "AWS::ElasticLoadBalancingV2::Listener"

	handlerService = "ElasticLoadBalancingV2"
)

// Providers returns the providers of the CloudFormation types for Elastic Load Balancing.
func (s *Service) Providers() map[string]resource.Provider {
	return map[string]resource.Provider{
		balancerType: balancerProvider{s}, groupType: groupProvider{s}, listenerType: listenerProvider{s},
	}
}

var _ resource.Stabilizer = balancerProvider{}

func refusal(err error) error { return property.HandlerError(handlerService, err) }

// pair is an attribute in a template.
type pair struct{ Key, Value string }

// over merges attributes over defaults.
func over(defaults map[string]string, pairs []pair) map[string]string {
	out := map[string]string{}
	maps.Copy(out, defaults)
	for _, p := range pairs {
		out[p.Key] = p.Value
	}
	return out
}

func pairs(attributes, defaults map[string]string) []any {
	var list []any
	for _, key := range sortedKeys(attributes) {
		if attributes[key] != defaults[key] {
			list = append(list, map[string]any{"Key": key, "Value": attributes[key]})
		}
	}
	return list
}

func tagList(tags map[string]string) []types.Tag {
	var list []types.Tag
	for _, key := range sortedKeys(tags) {
		list = append(list, types.Tag{Key: aws.String(key), Value: aws.String(tags[key])})
	}
	return list
}

func texts(list []string) []any {
	out := make([]any, len(list))
	for i, text := range list {
		out[i] = text
	}
	return out
}

// generated returns the name that CloudFormation generates: at most 32 characters, without a hyphen
// at the end.
func generated(r resource.Request) string {
	return strings.Trim(property.Name(r, 32, ""), "-")
}

type balancerProvider struct{ s *Service }

// balancerProperties are the properties of AWS::ElasticLoadBalancingV2::LoadBalancer.
type balancerProperties struct {
	Name, Type, Scheme, IpAddressType string //nolint:revive // the property's name
	Subnets, SecurityGroups           []string
	SubnetMappings                    []types.SubnetMapping
	LoadBalancerAttributes            []pair
	Tags                              []property.Tag
	MinimumLoadBalancerCapacity       any
	Ipv4IpamPoolId                    string //nolint:revive // the property's name

	EnablePrefixForIpv6SourceNat string
	// EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic has no effect, because there is no
	// PrivateLink.
	EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic string
}

func (p *balancerProperties) subnets() []string {
	subnets := p.Subnets
	for _, m := range p.SubnetMappings {
		subnets = append(slices.Clip(subnets), deref(m.SubnetId))
	}
	return subnets
}

func decodeBalancer(r resource.Request) (*balancerProperties, error) {
	p := &balancerProperties{}
	if err := property.Decode(r.Properties, p); err != nil {
		return nil, err
	}
	if p.MinimumLoadBalancerCapacity != nil || p.Ipv4IpamPoolId != "" || p.EnablePrefixForIpv6SourceNat == "on" {
		return nil, refusal(unsupported("reserved capacity, address pools and IPv6 source addresses of load balancers"))
	}
	return p, nil
}

// Create creates a load balancer.
func (p balancerProvider) Create(_ context.Context, r resource.Request) (resource.Result, error) {
	props, err := decodeBalancer(r)
	if err != nil {
		return resource.Result{}, err
	}
	if props.Name == "" {
		props.Name = generated(r)
	}
	reg := p.s.regions.At(r.Target())
	if reg.hasBalancer(props.Name) {
		return resource.Result{}, property.Exists(balancerType, props.Name)
	}
	b, err := p.s.create(reg, &elb.CreateLoadBalancerInput{
		Name: &props.Name, Type: types.LoadBalancerTypeEnum(props.Type), Scheme: types.LoadBalancerSchemeEnum(props.Scheme),
		IpAddressType: types.IpAddressType(props.IpAddressType), Subnets: props.Subnets, SubnetMappings: props.SubnetMappings,
		SecurityGroups: props.SecurityGroups, Tags: tagList(property.Tags(r.Tags, props.Tags)),
	})
	if err != nil {
		return resource.Result{}, refusal(err)
	}
	reg.mu.Lock()
	err = b.setAttributes(over(nil, props.LoadBalancerAttributes))
	result := b.result()
	reg.mu.Unlock()
	if err != nil {
		_ = p.s.remove(reg, b.arn)
		return resource.Result{}, refusal(err)
	}
	return result, nil
}

func (r *region) hasBalancer(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range r.balancers {
		if b.name == name {
			return true
		}
	}
	return false
}

func (b *balancer) result() resource.Result {
	return resource.Result{PhysicalID: b.arn, Attributes: map[string]any{
		"LoadBalancerArn": b.arn, "LoadBalancerName": b.name, "LoadBalancerFullName": b.fullName, "DNSName": b.dnsName,
		"CanonicalHostedZoneID": b.hostedZone(), "SecurityGroups": texts(b.securityGroups),
	}}
}

// Stable reports whether a load balancer is active or, after a deletion, no longer exists.
func (p balancerProvider) Stable(_ context.Context, r resource.Request) (bool, error) {
	reg := p.s.regions.At(r.Target())
	reg.mu.Lock()
	defer reg.mu.Unlock()
	b, ok := reg.balancers[r.PhysicalID]
	return !ok || p.s.active(b), nil
}

// Update changes a load balancer's subnets, security groups, attributes and tags.
func (p balancerProvider) Update(_ context.Context, r resource.Request) (resource.Result, error) {
	props, err := decodeBalancer(r)
	if err != nil {
		return resource.Result{}, err
	}
	reg := p.s.regions.At(r.Target())
	reg.mu.Lock()
	b, ok := reg.balancers[r.PhysicalID]
	if !ok {
		reg.mu.Unlock()
		return resource.Result{}, property.Missing(balancerType, r.PhysicalID)
	}
	reg.mu.Unlock()
	if err := p.s.move(reg, r.PhysicalID, props.subnets()); err != nil {
		return resource.Result{}, refusal(err)
	}
	if err := p.s.regroup(reg, r.PhysicalID, props.SecurityGroups); err != nil {
		return resource.Result{}, refusal(err)
	}
	reg.mu.Lock()
	defer reg.mu.Unlock()
	if err := b.setAttributes(over(balancerDefaults(b.kind), props.LoadBalancerAttributes)); err != nil {
		return resource.Result{}, refusal(err)
	}
	b.tags = property.Tags(r.Tags, props.Tags)
	return b.result(), nil
}

// Delete deletes a load balancer.
func (p balancerProvider) Delete(_ context.Context, r resource.Request) error {
	reg := p.s.regions.At(r.Target())
	reg.mu.Lock()
	_, ok := reg.balancers[r.PhysicalID]
	reg.mu.Unlock()
	if !ok {
		return property.Missing(balancerType, r.PhysicalID)
	}
	return refusal(p.s.remove(reg, r.PhysicalID))
}

// Read returns a load balancer's properties.
func (p balancerProvider) Read(_ context.Context, r resource.Request) (map[string]any, error) {
	reg := p.s.regions.At(r.Target())
	reg.mu.Lock()
	defer reg.mu.Unlock()
	b, ok := reg.balancers[r.PhysicalID]
	if !ok {
		return nil, property.Missing(balancerType, r.PhysicalID)
	}
	props := map[string]any{
		"Name": b.name, "Type": string(b.kind), "Scheme": string(b.scheme), "IpAddressType": string(b.addressType),
	}
	maps.Copy(props, b.result().Attributes)
	var subnets []string
	for _, z := range b.zones {
		subnets = append(subnets, z.subnet)
	}
	props["Subnets"] = texts(subnets)
	if len(b.securityGroups) == 0 {
		delete(props, "SecurityGroups")
	}
	if list := pairs(b.attributes, balancerDefaults(b.kind)); list != nil {
		props["LoadBalancerAttributes"] = list
	}
	if list := property.OwnTags(b.tags, r.Tags); list != nil {
		props["Tags"] = list
	}
	return props, nil
}

type listenerProvider struct{ s *Service }

// listenerProperties are the properties of AWS::ElasticLoadBalancingV2::Listener.
type listenerProperties struct {
	LoadBalancerArn, Protocol string
	Port                      int32
	DefaultActions            []types.Action
	Certificates              []types.Certificate
	SslPolicy                 string
	AlpnPolicy                []string
	MutualAuthentication      any
	ListenerAttributes        []pair
}

func decodeListener(r resource.Request) (*listenerProperties, error) {
	p := &listenerProperties{}
	if err := property.Decode(r.Properties, p); err != nil {
		return nil, err
	}
	if p.SslPolicy != "" || len(p.AlpnPolicy) > 0 || p.MutualAuthentication != nil {
		return nil, refusal(unsupported("TLS listeners"))
	}
	return p, nil
}

func (p *listenerProperties) attributes() []types.ListenerAttribute {
	var list []types.ListenerAttribute
	for _, a := range p.ListenerAttributes {
		list = append(list, types.ListenerAttribute{Key: aws.String(a.Key), Value: aws.String(a.Value)})
	}
	return list
}

// Create creates a listener.
func (p listenerProvider) Create(_ context.Context, r resource.Request) (resource.Result, error) {
	props, err := decodeListener(r)
	if err != nil {
		return resource.Result{}, err
	}
	reg := p.s.regions.At(r.Target())
	l, err := p.s.newListener(reg, &elb.CreateListenerInput{
		LoadBalancerArn: &props.LoadBalancerArn, Port: &props.Port, Protocol: types.ProtocolEnum(props.Protocol),
		DefaultActions: props.DefaultActions, Certificates: props.Certificates, Tags: tagList(r.Tags),
	})
	if err != nil {
		return resource.Result{}, refusal(err)
	}
	reg.mu.Lock()
	err = l.setAttributes(props.attributes())
	reg.mu.Unlock()
	if err != nil {
		_ = p.s.removeListener(reg, l.arn)
		return resource.Result{}, refusal(err)
	}
	return resource.Result{PhysicalID: l.arn, Attributes: map[string]any{"ListenerArn": l.arn}}, nil
}

// Update changes a listener.
func (p listenerProvider) Update(_ context.Context, r resource.Request) (resource.Result, error) {
	props, err := decodeListener(r)
	if err != nil {
		return resource.Result{}, err
	}
	reg := p.s.regions.At(r.Target())
	l, err := p.s.changeListener(reg, &elb.ModifyListenerInput{
		ListenerArn: &r.PhysicalID, Port: &props.Port, Protocol: types.ProtocolEnum(props.Protocol),
		DefaultActions: props.DefaultActions, Certificates: props.Certificates,
	})
	if err != nil {
		return resource.Result{}, refusal(err)
	}
	reg.mu.Lock()
	defer reg.mu.Unlock()
	l.attributes = map[string]string{idleTimeout: "350"}
	if err := l.setAttributes(props.attributes()); err != nil {
		return resource.Result{}, refusal(err)
	}
	return resource.Result{PhysicalID: l.arn, Attributes: map[string]any{"ListenerArn": l.arn}}, nil
}

// Delete deletes a listener.
func (p listenerProvider) Delete(_ context.Context, r resource.Request) error {
	return refusal(p.s.removeListener(p.s.regions.At(r.Target()), r.PhysicalID))
}

// Read returns a listener's properties.
func (p listenerProvider) Read(_ context.Context, r resource.Request) (map[string]any, error) {
	reg := p.s.regions.At(r.Target())
	reg.mu.Lock()
	defer reg.mu.Unlock()
	l, err := reg.listener(&r.PhysicalID)
	if err != nil {
		return nil, property.Missing(listenerType, r.PhysicalID)
	}
	return map[string]any{
		"ListenerArn": l.arn, "LoadBalancerArn": l.balancer.arn, "Port": float64(l.port), "Protocol": string(l.protocol),
		"DefaultActions": []any{map[string]any{"Type": "forward", "TargetGroupArn": l.group}},
	}, nil
}

// List returns the ARNs of the target groups.
func (p groupProvider) List(_ context.Context, at wire.Target) ([]string, error) {
	r := p.s.regions.At(at)
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.groups)), nil
}

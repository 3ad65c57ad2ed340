package elbv2

import (
	"context"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/property"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

type groupProvider struct{ s *Service }

// groupProperties are the properties of AWS::ElasticLoadBalancingV2::TargetGroup.
type groupProperties struct {
	Name, Protocol, ProtocolVersion, TargetType, IpAddressType string //nolint:revive // the properties' names
	VpcId                                                      string //nolint:revive // the property's name
	Port, TargetControlPort                                    *int32
	HealthCheckEnabled                                         *bool
	HealthCheckProtocol                                        string
	HealthCheckPort, HealthCheckPath                           *string
	HealthCheckIntervalSeconds, HealthCheckTimeoutSeconds      *int32
	HealthyThresholdCount, UnhealthyThresholdCount             *int32
	Matcher                                                    *types.Matcher
	TargetGroupAttributes                                      []pair
	Targets                                                    []types.TargetDescription
	Tags                                                       []property.Tag
}

func (p *groupProperties) check() checkRequest {
	return checkRequest{
		enabled: p.HealthCheckEnabled, protocol: types.ProtocolEnum(p.HealthCheckProtocol), port: p.HealthCheckPort,
		path:    p.HealthCheckPath,
		matcher: p.Matcher, interval: p.HealthCheckIntervalSeconds, timeout: p.HealthCheckTimeoutSeconds,
		healthy: p.HealthyThresholdCount, sick: p.UnhealthyThresholdCount,
	}
}

func decodeGroup(r resource.Request) (*groupProperties, error) {
	p := &groupProperties{}
	if err := property.Decode(r.Properties, p); err != nil {
		return nil, err
	}
	if p.IpAddressType != "" && p.IpAddressType != "ipv4" || p.TargetControlPort != nil {
		return nil, refusal(unsupported("IPv6 target groups and target control ports"))
	}
	return p, nil
}

// Create creates a target group with its targets.
func (p groupProvider) Create(_ context.Context, r resource.Request) (resource.Result, error) {
	props, err := decodeGroup(r)
	if err != nil {
		return resource.Result{}, err
	}
	if props.Name == "" {
		props.Name = generated(r)
	}
	reg := p.s.regions.At(r.Target())
	if reg.hasGroup(props.Name) {
		return resource.Result{}, property.Exists(groupType, props.Name)
	}
	in := &elb.CreateTargetGroupInput{
		Name: &props.Name, Protocol: types.ProtocolEnum(props.Protocol), Port: props.Port,
		TargetType: types.TargetTypeEnum(props.TargetType),
		VpcId:      &props.VpcId, HealthCheckEnabled: props.HealthCheckEnabled,
		HealthCheckProtocol: types.ProtocolEnum(props.HealthCheckProtocol),
		HealthCheckPort:     props.HealthCheckPort, HealthCheckPath: props.HealthCheckPath, Matcher: props.Matcher,
		HealthCheckIntervalSeconds: props.HealthCheckIntervalSeconds, HealthCheckTimeoutSeconds: props.HealthCheckTimeoutSeconds,
		HealthyThresholdCount: props.HealthyThresholdCount, UnhealthyThresholdCount: props.UnhealthyThresholdCount,
		Tags: tagList(property.Tags(r.Tags, props.Tags)),
	}
	if props.ProtocolVersion != "" {
		in.ProtocolVersion = &props.ProtocolVersion
	}
	g, err := p.s.newGroup(reg, in)
	if err != nil {
		return resource.Result{}, refusal(err)
	}
	reg.mu.Lock()
	err = g.setAttributes(over(nil, props.TargetGroupAttributes))
	reg.mu.Unlock()
	if err == nil && len(props.Targets) > 0 {
		err = p.s.register(reg, g.arn, props.Targets)
	}
	if err != nil {
		_ = p.s.removeGroup(reg, g.arn)
		return resource.Result{}, refusal(err)
	}
	reg.mu.Lock()
	defer reg.mu.Unlock()
	return groupResult(g), nil
}

func (r *region) hasGroup(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.groups {
		if g.name == name {
			return true
		}
	}
	return false
}

func groupResult(g *targetGroup) resource.Result {
	return resource.Result{PhysicalID: g.arn, Attributes: map[string]any{
		"TargetGroupArn": g.arn, "TargetGroupName": g.name, "TargetGroupFullName": g.fullName,
		"LoadBalancerArns": texts(describeGroup(g).LoadBalancerArns),
	}}
}

// Update changes health checks, attributes, targets and tags. Properties that were removed return
// to their default.
func (p groupProvider) Update(_ context.Context, r resource.Request) (resource.Result, error) {
	props, err := decodeGroup(r)
	if err != nil {
		return resource.Result{}, err
	}
	var before groupProperties
	if err := property.Decode(r.Previous, &before); err != nil {
		return resource.Result{}, err
	}
	reg := p.s.regions.At(r.Target())
	result, err := p.change(reg, r, props)
	if err != nil {
		return result, refusal(err)
	}
	if len(before.Targets) > 0 {
		err = p.s.deregister(reg, r.PhysicalID, missingTargets(before.Targets, props.Targets))
	}
	if err == nil && len(props.Targets) > 0 {
		err = p.s.register(reg, r.PhysicalID, props.Targets)
	}
	return result, refusal(err)
}

// change changes everything but the targets.
func (p groupProvider) change(reg *region, r resource.Request, props *groupProperties) (resource.Result, error) {
	reg.mu.Lock()
	defer reg.mu.Unlock()
	g, ok := reg.groups[r.PhysicalID]
	if !ok {
		return resource.Result{}, property.Missing(groupType, r.PhysicalID)
	}
	health, err := props.check().apply(checkDefaults(g.protocol))
	if err != nil {
		return resource.Result{}, err
	}
	if err := g.setAttributes(over(groupDefaults(g.protocol, g.targetType), props.TargetGroupAttributes)); err != nil {
		return resource.Result{}, err
	}
	g.health, g.tags = health, property.Tags(r.Tags, props.Tags)
	return groupResult(g), nil
}

// missingTargets returns the targets in before that are not in now.
func missingTargets(before, now []types.TargetDescription) []types.TargetDescription {
	var gone []types.TargetDescription
	for _, b := range before {
		stays := false
		for _, n := range now {
			stays = stays || deref(b.Id) == deref(n.Id) && deref(b.Port) == deref(n.Port)
		}
		if !stays {
			gone = append(gone, b)
		}
	}
	return gone
}

// Delete deletes a target group.
func (p groupProvider) Delete(_ context.Context, r resource.Request) error {
	reg := p.s.regions.At(r.Target())
	reg.mu.Lock()
	_, ok := reg.groups[r.PhysicalID]
	reg.mu.Unlock()
	if !ok {
		return property.Missing(groupType, r.PhysicalID)
	}
	return refusal(p.s.removeGroup(reg, r.PhysicalID))
}

// Read returns a target group's properties.
func (p groupProvider) Read(_ context.Context, r resource.Request) (map[string]any, error) {
	reg := p.s.regions.At(r.Target())
	reg.mu.Lock()
	defer reg.mu.Unlock()
	g, ok := reg.groups[r.PhysicalID]
	if !ok {
		return nil, property.Missing(groupType, r.PhysicalID)
	}
	h := g.health
	props := map[string]any{
		"Name": g.name, "Protocol": string(g.protocol), "Port": float64(g.port), "VpcId": g.vpcID, "TargetType": string(g.targetType),
		"IpAddressType": "ipv4", "HealthCheckEnabled": h.enabled, "HealthCheckProtocol": string(h.protocol), "HealthCheckPort": h.port,
		"HealthCheckIntervalSeconds": float64(h.interval), "HealthCheckTimeoutSeconds": float64(h.timeout),
		"HealthyThresholdCount": float64(h.healthy), "UnhealthyThresholdCount": float64(h.sick),
		"TargetGroupArn": g.arn, "TargetGroupName": g.name, "TargetGroupFullName": g.fullName,
	}
	if h.path != "" {
		props["HealthCheckPath"] = h.path
	}
	if h.codes != "" {
		props["Matcher"] = map[string]any{"HttpCode": h.codes}
	}
	if list := pairs(g.attributes, groupDefaults(g.protocol, g.targetType)); list != nil {
		props["TargetGroupAttributes"] = list
	}
	if list := property.OwnTags(g.tags, r.Tags); list != nil {
		props["Tags"] = list
	}
	return props, nil
}

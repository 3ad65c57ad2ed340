package autoscaling

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/aws-operator/aws-operator/internal/simulator/property"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

const (
	groupType = "AWS::AutoScaling::AutoScalingGroup"
	hookType  = "AWS::AutoScaling::LifecycleHook"
	planType  = "AWS::AutoScaling::ScheduledAction"
)

// Providers returns the providers of the CloudFormation types for Auto Scaling.
func (s *Service) Providers() map[string]resource.Provider {
	return map[string]resource.Provider{groupType: groupProvider{s}, hookType: hookProvider{s}, planType: scheduledActionProvider{s}}
}

var _ resource.Stabilizer = groupProvider{}

// groupProperties are the properties of AWS::AutoScaling::AutoScalingGroup.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-autoscaling-autoscalinggroup.html
type groupProperties struct {
	AutoScalingGroupName             string
	MinSize, MaxSize                 int32
	DesiredCapacity                  *int32
	Cooldown, HealthCheckGracePeriod *int32
	DefaultInstanceWarmup            *int32
	HealthCheckType                  *string
	VPCZoneIdentifier                []string
	LaunchTemplate                   *types.LaunchTemplateSpecification
	MixedInstancesPolicy             *types.MixedInstancesPolicy
	LifecycleHookSpecificationList   []types.LifecycleHookSpecification
	MetricsCollection                []struct {
		Granularity string
		Metrics     []string
	}
	NewInstancesProtectedFromScaleIn *bool
	TargetGroupARNs                  []string
	TrafficSources                   []types.TrafficSourceIdentifier
	TerminationPolicies              []string
	CapacityRebalance                *bool
	Context, ServiceLinkedRoleARN    *string
	DesiredCapacityType              *string
	MaxInstanceLifetime              *int32
	Tags                             []struct {
		Key, Value        string
		PropagateAtLaunch bool
	}

	AvailabilityZones                []string
	LaunchConfigurationName          *string
	InstanceId                       *string //nolint:revive // the property's name
	LoadBalancerNames                []string
	PlacementGroup                   *string
	NotificationConfigurations       []any
	NotificationConfiguration        any
	CapacityReservationSpecification any
	InstanceMaintenancePolicy        *types.InstanceMaintenancePolicy
	InstanceLifecyclePolicy          *types.InstanceLifecyclePolicy
	DeletionProtection               string
	AvailabilityZoneDistribution     *types.AvailabilityZoneDistribution
	AvailabilityZoneImpairmentPolicy *types.AvailabilityZoneImpairmentPolicy
}

// input converts the properties to the input of CreateAutoScalingGroup.
func (p *groupProperties) input(r resource.Request) *autoscaling.CreateAutoScalingGroupInput {
	in := &autoscaling.CreateAutoScalingGroupInput{
		AutoScalingGroupName: &p.AutoScalingGroupName, MinSize: &p.MinSize, MaxSize: &p.MaxSize, DesiredCapacity: p.DesiredCapacity,
		DefaultCooldown: p.Cooldown, HealthCheckGracePeriod: p.HealthCheckGracePeriod, DefaultInstanceWarmup: p.DefaultInstanceWarmup,
		HealthCheckType: p.HealthCheckType, VPCZoneIdentifier: aws.String(strings.Join(p.VPCZoneIdentifier, ",")),
		LaunchTemplate: p.LaunchTemplate, MixedInstancesPolicy: p.MixedInstancesPolicy,
		LifecycleHookSpecificationList:   p.LifecycleHookSpecificationList,
		NewInstancesProtectedFromScaleIn: p.NewInstancesProtectedFromScaleIn,
		TargetGroupARNs:                  p.TargetGroupARNs, TrafficSources: p.TrafficSources, TerminationPolicies: p.TerminationPolicies,
		CapacityRebalance: p.CapacityRebalance, Context: p.Context, ServiceLinkedRoleARN: p.ServiceLinkedRoleARN,
		DesiredCapacityType: p.DesiredCapacityType, MaxInstanceLifetime: p.MaxInstanceLifetime, Tags: p.tags(r.Tags),
		LaunchConfigurationName: p.LaunchConfigurationName, InstanceId: p.InstanceId, LoadBalancerNames: p.LoadBalancerNames,
		PlacementGroup: p.PlacementGroup, InstanceMaintenancePolicy: p.InstanceMaintenancePolicy,
		DeletionProtection: types.DeletionProtection(p.DeletionProtection), AvailabilityZoneDistribution: p.AvailabilityZoneDistribution,
		AvailabilityZoneImpairmentPolicy: p.AvailabilityZoneImpairmentPolicy, InstanceLifecyclePolicy: p.InstanceLifecyclePolicy,
	}
	if p.CapacityReservationSpecification != nil {
		in.CapacityReservationSpecification = &types.CapacityReservationSpecification{}
	}
	return in
}

// tags merges the group's tags over the stack's, which instances get as well.
func (p *groupProperties) tags(stack map[string]string) []types.Tag {
	var tags []types.Tag
	for _, key := range slices.Sorted(maps.Keys(stack)) {
		tags = withTag(tags, types.Tag{Key: aws.String(key), Value: aws.String(stack[key]), PropagateAtLaunch: aws.Bool(true)})
	}
	for _, t := range p.Tags {
		tags = withTag(
			tags, types.Tag{Key: aws.String(t.Key), Value: aws.String(t.Value), PropagateAtLaunch: aws.Bool(t.PropagateAtLaunch)},
		)
	}
	return tags
}

func decodeGroup(r resource.Request) (*groupProperties, error) {
	p := &groupProperties{}
	if err := property.Decode(r.Properties, p); err != nil {
		return nil, err
	}
	switch {
	case len(p.NotificationConfigurations) > 0 || p.NotificationConfiguration != nil:
		return nil, property.HandlerError(handlerService, unsupported("notification configurations: EventBridge has the events"))
	case len(p.VPCZoneIdentifier) == 0 && len(p.AvailabilityZones) > 0:
		return nil, property.HandlerError(handlerService, unsupported("groups without subnets"))
	}
	return p, nil
}

const handlerService = "AutoScaling"

// enabledMetrics returns the metrics that the properties enable.
func (p *groupProperties) enabledMetrics() []types.EnabledMetric {
	var list []types.EnabledMetric
	for _, c := range p.MetricsCollection {
		names := c.Metrics
		if len(names) == 0 {
			names = metrics
		}
		list = enabled(list, names, c.Granularity)
	}
	return list
}

type groupProvider struct{ s *Service }

// Create creates a group. Stable then reports whether its instances are in service.
func (p groupProvider) Create(_ context.Context, r resource.Request) (resource.Result, error) {
	props, err := decodeGroup(r)
	if err != nil {
		return resource.Result{}, err
	}
	if props.AutoScalingGroupName == "" {
		props.AutoScalingGroupName = property.Name(r, 255, "")
	}
	reg := p.s.regions.At(r.Target())
	g, err := p.s.create(reg, props.input(r))
	if err != nil {
		return resource.Result{}, property.HandlerError(handlerService, err)
	}
	reg.mu.Lock()
	defer reg.mu.Unlock()
	g.metrics = props.enabledMetrics()
	g.aim = g.desired
	return g.result(), nil
}

func (g *group) result() resource.Result {
	return resource.Result{
		PhysicalID: g.name, Attributes: map[string]any{"AutoScalingGroupName": g.name, "AutoScalingGroupARN": g.arn},
	}
}

// on runs fn on the group of a request under its region's lock, and enqueues the group.
func (p groupProvider) on(r resource.Request, fn func(*group) error) error {
	reg := p.s.regions.At(r.Target())
	reg.mu.Lock()
	defer reg.mu.Unlock()
	g, ok := reg.groups[r.PhysicalID]
	if !ok {
		return property.Missing(groupType, r.PhysicalID)
	}
	if err := fn(g); err != nil {
		return property.HandlerError(handlerService, err)
	}
	p.s.queue.post(g)
	return nil
}

// Update changes a group in place; existing instances stay as they are. Properties that were
// removed return to their default, except the desired capacity, which only moves into the bounds.
func (p groupProvider) Update(_ context.Context, r resource.Request) (resource.Result, error) {
	props, err := decodeGroup(r)
	if err != nil {
		return resource.Result{}, err
	}
	props.AutoScalingGroupName = r.PhysicalID
	in := props.input(r)
	desired := 0
	targets := append(slices.Clone(in.TargetGroupARNs), sources(in.TrafficSources)...)
	added := slices.Clone(targets)
	err = p.on(r, func(g *group) error {
		desired = g.desired
		added = slices.DeleteFunc(added, func(arn string) bool { return slices.Contains(g.targetGroups, arn) })
		return nil
	})
	if err != nil {
		return resource.Result{}, err
	}
	set, desired, err := ofCreate(in).apply(newSettings(), desired, false)
	if err == nil {
		set.tags, err = ownTags(r.PhysicalID, in.Tags)
	}
	reg := p.s.regions.At(r.Target())
	if err == nil {
		err = p.s.checkReferences(reg, set)
	}
	if err == nil {
		err = p.s.checkTargets(reg, added)
	}
	if err != nil {
		return resource.Result{}, property.HandlerError(handlerService, err)
	}
	result := resource.Result{}
	err = p.on(r, func(g *group) error {
		hooks := g.hooks
		if err := g.setHooks(props.LifecycleHookSpecificationList, r.Previous); err != nil {
			g.hooks = hooks
			return err
		}
		g.aim = 0
		if desired > g.desired {
			g.aim = desired
		}
		g.update(p.s.now(), set, desired)
		g.tags, g.metrics = set.tags, props.enabledMetrics()
		g.targetGroups = targets
		result = g.result()
		return nil
	})
	return result, err
}

// setHooks updates the hooks in the group's own properties; it keeps hooks from other sources.
func (g *group) setHooks(now []types.LifecycleHookSpecification, previous map[string]any) error {
	var before groupProperties
	if err := property.Decode(previous, &before); err != nil {
		return err
	}
	g.hooks = slices.Clone(g.hooks)
	for _, old := range before.LifecycleHookSpecificationList {
		stays := slices.ContainsFunc(now, func(h types.LifecycleHookSpecification) bool {
			return deref(h.LifecycleHookName) == deref(old.LifecycleHookName)
		})
		if !stays {
			_ = g.deleteHook(deref(old.LifecycleHookName)) // the hook may have been deleted already
		}
	}
	for _, h := range now {
		if err := g.putHook(h); err != nil {
			return err
		}
	}
	return nil
}

// Delete starts to terminate the instances of a group, with their hooks; the group is deleted with
// the last one.
func (p groupProvider) Delete(_ context.Context, r resource.Request) error {
	return p.on(r, func(g *group) error {
		g.beginDeletion(p.s.now(), false)
		return nil
	})
}

// enoughFailures is the number of consecutive failed launches after which a stack stops waiting for
// a group.
const enoughFailures = 3

// Stable reports whether the number of instances in service is what the last operation asked for
// or, after a deletion, whether the group no longer exists.
func (p groupProvider) Stable(_ context.Context, r resource.Request) (bool, error) {
	reg := p.s.regions.At(r.Target())
	reg.mu.Lock()
	defer reg.mu.Unlock()
	g, ok := reg.groups[r.PhysicalID]
	switch {
	case !ok:
		return true, nil
	case g.deleting && g.retainedOnly():
		return false, resource.Errorf(resource.NotStabilized,
			"You cannot delete an AutoScalingGroup while there are instances or pending Spot instance request(s) still in the group.")
	case g.deleting:
		return false, nil
	case g.inService() >= min(g.aim, g.desired):
		g.aim = 0
		return true, nil
	case g.failures < enoughFailures:
		return false, nil
	}
	return false, resource.Errorf(resource.NotStabilized, "%s", g.unstable())
}

// Read returns a group's properties.
func (p groupProvider) Read(_ context.Context, r resource.Request) (map[string]any, error) {
	var props map[string]any
	err := p.on(r, func(g *group) error {
		props = map[string]any{
			"AutoScalingGroupName": g.name, "AutoScalingGroupARN": g.arn, "MinSize": fmt.Sprint(g.min), "MaxSize": fmt.Sprint(g.max),
			"DesiredCapacity": fmt.Sprint(g.desired), "Cooldown": fmt.Sprint(g.cooldown), "HealthCheckType": g.healthCheckType,
			"HealthCheckGracePeriod": g.grace.Seconds(), "VPCZoneIdentifier": texts(g.subnets), "TerminationPolicies": texts(g.policies),
			"NewInstancesProtectedFromScaleIn": g.protect,
		}
		if len(g.targetGroups) > 0 {
			props["TargetGroupARNs"] = texts(g.targetGroups)
		}
		if t := g.template; t != nil {
			spec := map[string]any{"Version": deref(t.Version)}
			if id := deref(t.LaunchTemplateId); id != "" {
				spec["LaunchTemplateId"] = id
			} else {
				spec["LaunchTemplateName"] = deref(t.LaunchTemplateName)
			}
			props["LaunchTemplate"] = spec
		}
		var tags []any
		for _, t := range g.tags {
			if _, stack := r.Tags[*t.Key]; !stack && !strings.HasPrefix(*t.Key, "aws:") {
				tags = append(tags, map[string]any{"Key": *t.Key, "Value": *t.Value, "PropagateAtLaunch": *t.PropagateAtLaunch})
			}
		}
		if tags != nil {
			props["Tags"] = tags
		}
		g.readMore(props)
		return nil
	})
	return props, err
}

// readMore adds the properties whose names are those of the SDK. The hooks are all of the group's, those of
// resources of their own among them: https://github.com/go-to-k/cdk-real-drift/issues/700
func (g *group) readMore(props map[string]any) {
	hooks := make([]types.LifecycleHookSpecification, len(g.hooks))
	for i, h := range g.hooks {
		hooks[i] = types.LifecycleHookSpecification{
			LifecycleHookName: &h.name, LifecycleTransition: &h.transition, DefaultResult: &h.result, HeartbeatTimeout: &h.heartbeat,
			NotificationMetadata: h.metadata, NotificationTargetARN: h.target, RoleARN: h.roleARN,
		}
	}
	if len(hooks) > 0 {
		props["LifecycleHookSpecificationList"] = property.Plain(hooks)
	}
	for name, value := range map[string]any{
		"MixedInstancesPolicy": g.mixed, "InstanceLifecyclePolicy": g.lifecycle,
		"DefaultInstanceWarmup": g.warmup, "CapacityRebalance": g.rebalance,
	} {
		if v := property.Plain(value); v != nil {
			props[name] = v
		}
	}
}

func texts(list []string) []any {
	out := make([]any, len(list))
	for i, text := range list {
		out[i] = text
	}
	return out
}

type hookProvider struct{ s *Service }

// decodeHook decodes the properties of a hook, which have the same names in the SDK and in
// CloudFormation.
func decodeHook(r resource.Request) (group string, hook types.LifecycleHookSpecification, err error) {
	group, _ = property.Text(r.Properties["AutoScalingGroupName"])
	return group, hook, property.Decode(r.Properties, &hook)
}

func (p hookProvider) put(r resource.Request, hook types.LifecycleHookSpecification, group string) (resource.Result, error) {
	reg := p.s.regions.At(r.Target())
	reg.mu.Lock()
	defer reg.mu.Unlock()
	g, err := reg.find(&group)
	if err == nil {
		err = g.putHook(hook)
	}
	if err != nil {
		return resource.Result{}, property.HandlerError(handlerService, err)
	}
	name := deref(hook.LifecycleHookName)
	return resource.Result{PhysicalID: name, Attributes: map[string]any{"LifecycleHookName": name, "AutoScalingGroupName": group}}, nil
}

// Create adds a hook to a group.
func (p hookProvider) Create(_ context.Context, r resource.Request) (resource.Result, error) {
	group, hook, err := decodeHook(r)
	if err != nil {
		return resource.Result{}, err
	}
	if deref(hook.LifecycleHookName) == "" {
		hook.LifecycleHookName = aws.String(property.Name(r, 255, ""))
	}
	return p.put(r, hook, group)
}

// Update changes a hook. Properties that were removed return to their default.
func (p hookProvider) Update(_ context.Context, r resource.Request) (resource.Result, error) {
	group, hook, err := decodeHook(r)
	if err != nil {
		return resource.Result{}, err
	}
	hook.LifecycleHookName = &r.PhysicalID
	if hook.HeartbeatTimeout == nil {
		hook.HeartbeatTimeout = aws.Int32(defaultHeartbeat)
	}
	if hook.DefaultResult == nil {
		hook.DefaultResult = aws.String(resultAbandon)
	}
	return p.put(r, hook, group)
}

// Delete removes a hook from its group.
func (p hookProvider) Delete(_ context.Context, r resource.Request) error {
	group, _, err := decodeHook(r)
	if err != nil {
		return err
	}
	reg := p.s.regions.At(r.Target())
	reg.mu.Lock()
	defer reg.mu.Unlock()
	g, ok := reg.groups[group]
	if !ok || g.deleteHook(r.PhysicalID) != nil {
		return property.Missing(hookType, group+"|"+r.PhysicalID)
	}
	p.s.queue.post(g)
	return nil
}

// Read returns a hook's properties.
func (p hookProvider) Read(_ context.Context, r resource.Request) (map[string]any, error) {
	group, _, err := decodeHook(r)
	if err != nil {
		return nil, err
	}
	reg := p.s.regions.At(r.Target())
	reg.mu.Lock()
	defer reg.mu.Unlock()
	if g, ok := reg.groups[group]; ok {
		for _, h := range g.hooks {
			if h.name != r.PhysicalID {
				continue
			}
			props := map[string]any{
				"AutoScalingGroupName": group, "LifecycleHookName": h.name, "LifecycleTransition": h.transition,
				"DefaultResult": h.result, "HeartbeatTimeout": float64(h.heartbeat),
			}
			if h.metadata != nil {
				props["NotificationMetadata"] = *h.metadata
			}
			return props, nil
		}
	}
	return nil, property.Missing(hookType, group+"|"+r.PhysicalID)
}

// List returns the names of the groups.
func (p groupProvider) List(_ context.Context, at wire.Target) ([]string, error) {
	r := p.s.regions.At(at)
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.groups)), nil
}

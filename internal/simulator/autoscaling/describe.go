package autoscaling

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// page returns a page of names, of at most 100 entries.
func page(names []string, token *string, most *int32) (cut []string, next *string, err error) {
	if most != nil && (*most < 1 || *most > 100) {
		return nil, nil, validation(
			"1 validation error detected: Value '%d' at 'maxRecords' failed to satisfy constraint: Member must have value between 1 and 100",
			*most,
		)
	}
	cut, next = wire.PageSize{Standard: 50, Most: 100}.Page(names, token, most)
	return cut, next, nil
}

func (g *group) sdk(zones map[string]string) types.AutoScalingGroup {
	out := types.AutoScalingGroup{
		AutoScalingGroupName: &g.name, AutoScalingGroupARN: &g.arn, CreatedTime: aws.Time(g.created),
		//nolint:gosec // sizes came as int32
		MinSize: aws.Int32(int32(g.min)), MaxSize: aws.Int32(int32(g.max)), DesiredCapacity: aws.Int32(int32(g.desired)),
		DefaultCooldown: aws.Int32(g.cooldown), DefaultInstanceWarmup: g.warmup, HealthCheckType: aws.String(g.healthCheckType),
		HealthCheckGracePeriod: aws.Int32(int32(g.grace.Seconds())), LaunchTemplate: g.template, MixedInstancesPolicy: g.mixed,
		NewInstancesProtectedFromScaleIn: aws.Bool(g.protect), VPCZoneIdentifier: aws.String(strings.Join(g.subnets, ",")),
		TerminationPolicies: g.policies, TargetGroupARNs: slices.Clone(g.targetGroups), CapacityRebalance: g.rebalance,
		EnabledMetrics: g.metrics, Instances: []types.Instance{}, Tags: g.tagDescriptions(), LoadBalancerNames: []string{},
		ServiceLinkedRoleARN: aws.String(g.serviceRole), SuspendedProcesses: []types.SuspendedProcess{},
		AvailabilityZoneDistribution: &types.AvailabilityZoneDistribution{
			CapacityDistributionStrategy: types.CapacityDistributionStrategyBalancedBestEffort,
		},
		InstanceLifecyclePolicy: g.lifecycle, Context: wire.Optional(g.context), DesiredCapacityType: wire.Optional(g.capacityType),
		TrafficSources: []types.TrafficSourceIdentifier{},
	}
	if g.serviceRole == "" {
		out.ServiceLinkedRoleARN = aws.String("arn:" + strings.Split(g.arn, ":")[1] + ":iam::" + g.region.Account +
			":role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling")
	}
	if r := g.refreshed(); r != nil && r.wanted != nil {
		out.LaunchTemplate, out.MixedInstancesPolicy = r.before.template, r.before.mixed
	}
	if g.deleting {
		out.Status = aws.String("Delete in progress")
	}
	for _, id := range g.subnets {
		if zone := zones[id]; zone != "" && !slices.Contains(out.AvailabilityZones, zone) {
			out.AvailabilityZones = append(out.AvailabilityZones, zone)
		}
	}
	for _, arn := range g.targetGroups {
		out.TrafficSources = append(
			out.TrafficSources, types.TrafficSourceIdentifier{Identifier: aws.String(arn), Type: aws.String("elbv2")},
		)
	}
	for _, m := range g.members {
		if m.id != "" {
			out.Instances = append(out.Instances, m.sdk(g))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.suspended)) {
		out.SuspendedProcesses = append(out.SuspendedProcesses, types.SuspendedProcess{
			ProcessName: aws.String(name), SuspensionReason: aws.String(g.suspended[name]),
		})
	}
	return out
}

func (m *member) health() string {
	if m.unhealthy {
		return "Unhealthy"
	}
	return "Healthy"
}

// template returns the launch template of the member.
func (m *member) template(g *group) *types.LaunchTemplateSpecification {
	out := &types.LaunchTemplateSpecification{LaunchTemplateId: wire.Optional(m.templateID), Version: wire.Optional(m.templateVersion)}
	if t := g.launchTemplate(); t != nil && deref(t.LaunchTemplateName) != "" {
		out.LaunchTemplateName = t.LaunchTemplateName
	}
	return out
}

func (m *member) sdk(g *group) types.Instance {
	return types.Instance{
		InstanceId: &m.id, AvailabilityZone: aws.String(m.zone), InstanceType: wire.Optional(m.instanceType), LifecycleState: m.state,
		HealthStatus: aws.String(m.health()), ProtectedFromScaleIn: aws.Bool(m.protected), LaunchTemplate: m.template(g),
	}
}

func (s *Service) describeInstances(
	ctx context.Context, in *autoscaling.DescribeAutoScalingInstancesInput,
) (*autoscaling.DescribeAutoScalingInstancesOutput, error) {
	r := s.at(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	type instance struct {
		group  *group
		member *member
	}
	found := map[string]instance{}
	add := func(g *group, m *member) {
		if m != nil && m.id != "" {
			found[m.id] = instance{g, m}
		}
	}
	for _, id := range in.InstanceIds {
		if g, ok := s.owner(id); ok && g.region == r {
			add(g, g.member(id))
		}
	}
	if len(in.InstanceIds) == 0 {
		for _, g := range r.groups {
			for _, m := range g.members {
				add(g, m)
			}
		}
	}
	if in.MaxRecords != nil && *in.MaxRecords > 50 {
		return nil, validation(
			"1 validation error detected: Value '%d' at 'maxRecords' failed to satisfy constraint: Member must have value less than or equal to 50",
			*in.MaxRecords,
		)
	}
	ids, next, err := page(slices.Collect(maps.Keys(found)), in.NextToken, in.MaxRecords)
	if err != nil {
		return nil, err
	}
	out := &autoscaling.DescribeAutoScalingInstancesOutput{AutoScalingInstances: []types.AutoScalingInstanceDetails{}, NextToken: next}
	for _, id := range ids {
		g, m := found[id].group, found[id].member
		out.AutoScalingInstances = append(out.AutoScalingInstances, types.AutoScalingInstanceDetails{
			AutoScalingGroupName: &g.name, InstanceId: &m.id, AvailabilityZone: aws.String(m.zone),
			InstanceType:   wire.Optional(m.instanceType),
			LifecycleState: aws.String(string(m.state)), HealthStatus: aws.String(strings.ToUpper(m.health())),
			ProtectedFromScaleIn: aws.Bool(m.protected), LaunchTemplate: m.template(g),
		})
	}
	return out, nil
}

func (s *Service) describeActivities(
	ctx context.Context, in *autoscaling.DescribeScalingActivitiesInput,
) (*autoscaling.DescribeScalingActivitiesOutput, error) {
	r := s.at(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	groups := []*group{}
	if in.AutoScalingGroupName != nil {
		g, ok := r.groups[*in.AutoScalingGroupName]
		if ok {
			groups = append(groups, g)
		}
	} else {
		for _, name := range r.names() {
			groups = append(groups, r.groups[name])
		}
	}
	out := &autoscaling.DescribeScalingActivitiesOutput{Activities: []types.Activity{}}
	most := 100
	if in.MaxRecords != nil {
		most = int(min(max(*in.MaxRecords, 1), 100))
	}
	skip := deref(in.NextToken)
	for _, g := range groups {
		for _, a := range g.activities {
			switch {
			case len(in.ActivityIds) > 0 && !slices.Contains(in.ActivityIds, a.id):
			case skip != "":
				if a.id == skip {
					skip = ""
				}
			case len(out.Activities) == most:
				out.NextToken = out.Activities[most-1].ActivityId
				return out, nil
			default:
				out.Activities = append(out.Activities, a.sdk(g))
			}
		}
	}
	return out, nil
}

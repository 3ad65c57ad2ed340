package autoscaling

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
)

// attach adds target groups to a group; its instances are then registered.
func (s *Service) attach(ctx context.Context, name *string, arns []string) error {
	if err := s.checkTargets(s.at(ctx), arns); err != nil {
		return err
	}
	return s.change(ctx, name, func(g *group) error {
		all := slices.Clone(g.targetGroups)
		for _, arn := range arns {
			if !slices.Contains(all, arn) {
				all = append(all, arn)
			}
		}
		g.targetGroups = all
		return nil
	})
}

// detach removes target groups from a group; its instances are then deregistered.
func (s *Service) detach(ctx context.Context, name *string, arns []string) error {
	return s.change(ctx, name, func(g *group) error {
		for _, arn := range arns {
			if !slices.Contains(g.targetGroups, arn) {
				return validation("Trying to remove Target Groups that are not part of the group.")
			}
		}
		g.targetGroups = slices.DeleteFunc(slices.Clone(g.targetGroups), func(arn string) bool { return slices.Contains(arns, arn) })
		return nil
	})
}

func (s *Service) attachTargetGroups(
	ctx context.Context, in *autoscaling.AttachLoadBalancerTargetGroupsInput,
) (*autoscaling.AttachLoadBalancerTargetGroupsOutput, error) {
	return nil, s.attach(ctx, in.AutoScalingGroupName, in.TargetGroupARNs)
}

func (s *Service) detachTargetGroups(
	ctx context.Context, in *autoscaling.DetachLoadBalancerTargetGroupsInput,
) (*autoscaling.DetachLoadBalancerTargetGroupsOutput, error) {
	return nil, s.detach(ctx, in.AutoScalingGroupName, in.TargetGroupARNs)
}

func sources(list []types.TrafficSourceIdentifier) []string {
	arns := make([]string, len(list))
	for i, source := range list {
		arns[i] = deref(source.Identifier)
	}
	return arns
}

func (s *Service) attachTrafficSources(
	ctx context.Context, in *autoscaling.AttachTrafficSourcesInput,
) (*autoscaling.AttachTrafficSourcesOutput, error) {
	return nil, s.attach(ctx, in.AutoScalingGroupName, sources(in.TrafficSources))
}

func (s *Service) detachTrafficSources(
	ctx context.Context, in *autoscaling.DetachTrafficSourcesInput,
) (*autoscaling.DetachTrafficSourcesOutput, error) {
	return nil, s.detach(ctx, in.AutoScalingGroupName, sources(in.TrafficSources))
}

// targetState returns the state of a group's registration with a target group.
func (g *group) targetState(arn string) string {
	for _, m := range g.members {
		if m.state == types.LifecycleStateInService && !m.leaving && !slices.Contains(m.registered, arn) {
			return "Adding"
		}
	}
	if len(g.members) == 0 {
		return "Added"
	}
	return "InService"
}

func (s *Service) describeTargetGroups(
	ctx context.Context, in *autoscaling.DescribeLoadBalancerTargetGroupsInput,
) (*autoscaling.DescribeLoadBalancerTargetGroupsOutput, error) {
	r := s.at(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	g, err := r.find(in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	out := &autoscaling.DescribeLoadBalancerTargetGroupsOutput{LoadBalancerTargetGroups: []types.LoadBalancerTargetGroupState{}}
	for _, arn := range g.targetGroups {
		out.LoadBalancerTargetGroups = append(out.LoadBalancerTargetGroups, types.LoadBalancerTargetGroupState{
			LoadBalancerTargetGroupARN: aws.String(arn), State: aws.String(g.targetState(arn)),
		})
	}
	return out, nil
}

func (s *Service) describeTrafficSources(
	ctx context.Context, in *autoscaling.DescribeTrafficSourcesInput,
) (*autoscaling.DescribeTrafficSourcesOutput, error) {
	r := s.at(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	g, err := r.find(in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	out := &autoscaling.DescribeTrafficSourcesOutput{TrafficSources: []types.TrafficSourceState{}}
	for _, arn := range g.targetGroups {
		out.TrafficSources = append(out.TrafficSources, types.TrafficSourceState{
			Identifier: aws.String(arn), Type: aws.String("elbv2"), State: aws.String(g.targetState(arn)),
		})
	}
	return out, nil
}

func (s *Service) describeLoadBalancers(
	ctx context.Context, in *autoscaling.DescribeLoadBalancersInput,
) (*autoscaling.DescribeLoadBalancersOutput, error) {
	r := s.at(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err := r.find(in.AutoScalingGroupName)
	return &autoscaling.DescribeLoadBalancersOutput{LoadBalancers: []types.LoadBalancerState{}}, err
}

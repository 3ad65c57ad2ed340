package autoscaling

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
)

// The simulator rejects requests for features that it does not support, and finds none of their
// resources.

func (s *Service) putWarmPool(context.Context, *autoscaling.PutWarmPoolInput) (*autoscaling.PutWarmPoolOutput, error) {
	return nil, unsupported("warm pools")
}

func (s *Service) describeWarmPool(
	ctx context.Context, in *autoscaling.DescribeWarmPoolInput,
) (*autoscaling.DescribeWarmPoolOutput, error) {
	return &autoscaling.DescribeWarmPoolOutput{Instances: []types.Instance{}}, s.exists(ctx, in.AutoScalingGroupName)
}

func (s *Service) exists(ctx context.Context, name *string) error {
	r := s.at(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err := r.find(name)
	return err
}

func (s *Service) describePolicies(context.Context, *autoscaling.DescribePoliciesInput) (*autoscaling.DescribePoliciesOutput, error) {
	return &autoscaling.DescribePoliciesOutput{ScalingPolicies: []types.ScalingPolicy{}}, nil
}

func (s *Service) describeNotificationConfigurations(
	context.Context, *autoscaling.DescribeNotificationConfigurationsInput,
) (*autoscaling.DescribeNotificationConfigurationsOutput, error) {
	return &autoscaling.DescribeNotificationConfigurationsOutput{NotificationConfigurations: []types.NotificationConfiguration{}}, nil
}

// describeAccountLimits returns AWS's quotas; they are not enforced.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-quotas.html
func (s *Service) describeAccountLimits(
	ctx context.Context, _ *autoscaling.DescribeAccountLimitsInput,
) (*autoscaling.DescribeAccountLimitsOutput, error) {
	r := s.at(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	return &autoscaling.DescribeAccountLimitsOutput{
		MaxNumberOfAutoScalingGroups: aws.Int32(500), MaxNumberOfLaunchConfigurations: aws.Int32(200),
		NumberOfAutoScalingGroups: aws.Int32(int32(len(r.groups))), NumberOfLaunchConfigurations: aws.Int32(0), //nolint:gosec // few
	}, nil
}

// metrics are what groups can send to CloudWatch. The simulator records which metrics a group
// sends, but sends none.
var metrics = []string{
	"GroupMinSize", "GroupMaxSize", "GroupDesiredCapacity", "GroupInServiceInstances", "GroupPendingInstances",
	"GroupStandbyInstances", "GroupTerminatingInstances", "GroupTotalInstances", "GroupInServiceCapacity", "GroupPendingCapacity",
	"GroupStandbyCapacity", "GroupTerminatingCapacity", "GroupTotalCapacity",
}

func (s *Service) enableMetrics(
	ctx context.Context, in *autoscaling.EnableMetricsCollectionInput,
) (*autoscaling.EnableMetricsCollectionOutput, error) {
	names := in.Metrics
	if len(names) == 0 {
		names = metrics
	}
	return nil, s.change(ctx, in.AutoScalingGroupName, func(g *group) error {
		g.metrics = enabled(g.metrics, names, deref(in.Granularity))
		return nil
	})
}

func enabled(before []types.EnabledMetric, names []string, granularity string) []types.EnabledMetric {
	after := slices.Clone(before)
	for _, name := range names {
		if !slices.ContainsFunc(after, func(m types.EnabledMetric) bool { return *m.Metric == name }) {
			after = append(after, types.EnabledMetric{Metric: &name, Granularity: &granularity})
		}
	}
	return after
}

func (s *Service) disableMetrics(
	ctx context.Context, in *autoscaling.DisableMetricsCollectionInput,
) (*autoscaling.DisableMetricsCollectionOutput, error) {
	return nil, s.change(ctx, in.AutoScalingGroupName, func(g *group) error {
		g.metrics = slices.DeleteFunc(slices.Clone(g.metrics), func(m types.EnabledMetric) bool {
			return len(in.Metrics) == 0 || slices.Contains(in.Metrics, *m.Metric)
		})
		return nil
	})
}

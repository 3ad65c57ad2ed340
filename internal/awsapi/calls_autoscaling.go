package awsapi

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
)

// autoscalingCalls are the calls of Auto Scaling that the project makes.
type autoscalingCalls struct {
	completeLifecycleAction             call[autoscaling.CompleteLifecycleActionInput, autoscaling.CompleteLifecycleActionOutput, autoscaling.Options]
	createOrUpdateTags                  call[autoscaling.CreateOrUpdateTagsInput, autoscaling.CreateOrUpdateTagsOutput, autoscaling.Options]
	deleteTags                          call[autoscaling.DeleteTagsInput, autoscaling.DeleteTagsOutput, autoscaling.Options]
	describeAutoScalingGroups           call[autoscaling.DescribeAutoScalingGroupsInput, autoscaling.DescribeAutoScalingGroupsOutput, autoscaling.Options]
	describeAutoScalingInstances        call[autoscaling.DescribeAutoScalingInstancesInput, autoscaling.DescribeAutoScalingInstancesOutput, autoscaling.Options]
	describeScalingActivities           call[autoscaling.DescribeScalingActivitiesInput, autoscaling.DescribeScalingActivitiesOutput, autoscaling.Options]
	recordLifecycleActionHeartbeat      call[autoscaling.RecordLifecycleActionHeartbeatInput, autoscaling.RecordLifecycleActionHeartbeatOutput, autoscaling.Options]
	resumeProcesses                     call[autoscaling.ResumeProcessesInput, autoscaling.ResumeProcessesOutput, autoscaling.Options]
	setDesiredCapacity                  call[autoscaling.SetDesiredCapacityInput, autoscaling.SetDesiredCapacityOutput, autoscaling.Options]
	suspendProcesses                    call[autoscaling.SuspendProcessesInput, autoscaling.SuspendProcessesOutput, autoscaling.Options]
	terminateInstanceInAutoScalingGroup call[autoscaling.TerminateInstanceInAutoScalingGroupInput, autoscaling.TerminateInstanceInAutoScalingGroupOutput, autoscaling.Options]
}

func newAutoscalingCalls(cfg aws.Config) *autoscalingCalls {
	client := autoscaling.NewFromConfig(cfg)
	return &autoscalingCalls{
		completeLifecycleAction:             client.CompleteLifecycleAction,
		createOrUpdateTags:                  client.CreateOrUpdateTags,
		deleteTags:                          client.DeleteTags,
		describeAutoScalingGroups:           client.DescribeAutoScalingGroups,
		describeAutoScalingInstances:        client.DescribeAutoScalingInstances,
		describeScalingActivities:           client.DescribeScalingActivities,
		recordLifecycleActionHeartbeat:      client.RecordLifecycleActionHeartbeat,
		resumeProcesses:                     client.ResumeProcesses,
		setDesiredCapacity:                  client.SetDesiredCapacity,
		suspendProcesses:                    client.SuspendProcesses,
		terminateInstanceInAutoScalingGroup: client.TerminateInstanceInAutoScalingGroup,
	}
}

func (c *autoscalingCalls) CompleteLifecycleAction(
	ctx context.Context, in *autoscaling.CompleteLifecycleActionInput, options ...func(*autoscaling.Options),
) (*autoscaling.CompleteLifecycleActionOutput, error) {
	return c.completeLifecycleAction(ctx, in, options...)
}

func (c *autoscalingCalls) CreateOrUpdateTags(
	ctx context.Context, in *autoscaling.CreateOrUpdateTagsInput, options ...func(*autoscaling.Options),
) (*autoscaling.CreateOrUpdateTagsOutput, error) {
	return c.createOrUpdateTags(ctx, in, options...)
}

func (c *autoscalingCalls) DeleteTags(
	ctx context.Context, in *autoscaling.DeleteTagsInput, options ...func(*autoscaling.Options),
) (*autoscaling.DeleteTagsOutput, error) {
	return c.deleteTags(ctx, in, options...)
}

func (c *autoscalingCalls) DescribeAutoScalingGroups(
	ctx context.Context, in *autoscaling.DescribeAutoScalingGroupsInput, options ...func(*autoscaling.Options),
) (*autoscaling.DescribeAutoScalingGroupsOutput, error) {
	return c.describeAutoScalingGroups(ctx, in, options...)
}

func (c *autoscalingCalls) DescribeAutoScalingInstances(
	ctx context.Context, in *autoscaling.DescribeAutoScalingInstancesInput, options ...func(*autoscaling.Options),
) (*autoscaling.DescribeAutoScalingInstancesOutput, error) {
	return c.describeAutoScalingInstances(ctx, in, options...)
}

func (c *autoscalingCalls) DescribeScalingActivities(
	ctx context.Context, in *autoscaling.DescribeScalingActivitiesInput, options ...func(*autoscaling.Options),
) (*autoscaling.DescribeScalingActivitiesOutput, error) {
	return c.describeScalingActivities(ctx, in, options...)
}

func (c *autoscalingCalls) RecordLifecycleActionHeartbeat(
	ctx context.Context, in *autoscaling.RecordLifecycleActionHeartbeatInput, options ...func(*autoscaling.Options),
) (*autoscaling.RecordLifecycleActionHeartbeatOutput, error) {
	return c.recordLifecycleActionHeartbeat(ctx, in, options...)
}

func (c *autoscalingCalls) ResumeProcesses(
	ctx context.Context, in *autoscaling.ResumeProcessesInput, options ...func(*autoscaling.Options),
) (*autoscaling.ResumeProcessesOutput, error) {
	return c.resumeProcesses(ctx, in, options...)
}

func (c *autoscalingCalls) SetDesiredCapacity(
	ctx context.Context, in *autoscaling.SetDesiredCapacityInput, options ...func(*autoscaling.Options),
) (*autoscaling.SetDesiredCapacityOutput, error) {
	return c.setDesiredCapacity(ctx, in, options...)
}

func (c *autoscalingCalls) SuspendProcesses(
	ctx context.Context, in *autoscaling.SuspendProcessesInput, options ...func(*autoscaling.Options),
) (*autoscaling.SuspendProcessesOutput, error) {
	return c.suspendProcesses(ctx, in, options...)
}

func (c *autoscalingCalls) TerminateInstanceInAutoScalingGroup(
	ctx context.Context, in *autoscaling.TerminateInstanceInAutoScalingGroupInput, options ...func(*autoscaling.Options),
) (*autoscaling.TerminateInstanceInAutoScalingGroupOutput, error) {
	return c.terminateInstanceInAutoScalingGroup(ctx, in, options...)
}

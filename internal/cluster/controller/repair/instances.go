package repair

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	astypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// inService returns the in-service instances of Auto Scaling groups.
func (r *Repairs) inService(
	ctx context.Context,
	target awsapi.Target,
	which *autoscaling.DescribeAutoScalingGroupsInput,
) ([]string, error) {
	out, err := r.options.Clients.AutoScaling(target).DescribeAutoScalingGroups(ctx, which)
	if err != nil {
		return nil, fmt.Errorf("describe Auto Scaling groups: %w", err)
	}
	var ids []string
	for i := range out.AutoScalingGroups {
		for _, one := range out.AutoScalingGroups[i].Instances {
			if one.LifecycleState == astypes.LifecycleStateInService {
				ids = append(ids, aws.ToString(one.InstanceId))
			}
		}
	}
	return ids, nil
}

// launched returns the health of instances without nodes, with their launch times.
func (r *Repairs) launched(ctx context.Context, target awsapi.Target, ids []string) ([]health, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	out, err := r.options.Clients.EC2(target).DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: ids})
	if awsapi.Code(err) == "InvalidInstanceID.NotFound" {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("describe instances: %w", err)
	}
	var machines []health
	for i := range out.Reservations {
		for j := range out.Reservations[i].Instances {
			instance := &out.Reservations[i].Instances[j]
			id := aws.ToString(instance.InstanceId)
			machines = append(
				machines,
				health{
					instance:  id,
					since:     aws.ToTime(instance.LaunchTime),
					began:     aws.ToTime(instance.LaunchTime),
					replacing: r.tracker.isReplacing(id),
				},
			)
		}
	}
	return machines, nil
}

// replace makes Auto Scaling terminate an instance and launch another: the lifecycle hook holds the
// instance until its node is drained. An instance that is no longer in a group is ignored.
// https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_TerminateInstanceInAutoScalingGroup.html
func (r *Repairs) replace(ctx context.Context, target awsapi.Target, machine *health) error {
	if machine.instance == "" {
		return nil
	}
	_, err := r.options.Clients.AutoScaling(target).
		TerminateInstanceInAutoScalingGroup(ctx, &autoscaling.TerminateInstanceInAutoScalingGroupInput{
			InstanceId: aws.String(machine.instance), ShouldDecrementDesiredCapacity: aws.Bool(false),
		})
	if err != nil && awsapi.Code(err) != "ValidationError" {
		return fmt.Errorf("replace instance %s: %w", machine.instance, err)
	}
	r.tracker.replaced(machine.instance, r.options.Clock.Now())
	return nil
}

// ended returns the instances that are stopping, stopped, shutting down or terminated.
func (r *Repairs) ended(ctx context.Context, target awsapi.Target, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	out, err := r.options.Clients.EC2(target).DescribeInstances(ctx, &ec2.DescribeInstancesInput{Filters: []ec2types.Filter{
		{Name: aws.String("instance-id"), Values: ids},
		{Name: aws.String("instance-state-name"), Values: []string{"shutting-down", "terminated", "stopping", "stopped"}},
	}})
	if err != nil {
		return nil, fmt.Errorf("describe instances: %w", err)
	}
	var ended []string
	for i := range out.Reservations {
		for j := range out.Reservations[i].Instances {
			ended = append(ended, aws.ToString(out.Reservations[i].Instances[j].InstanceId))
		}
	}
	return ended, nil
}

package drain

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/smithy-go"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// heartbeat extends the lifecycle action's timeout.
// https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_RecordLifecycleActionHeartbeat.html
func (r *run) heartbeat(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	order := &r.view.order
	_, err := r.client().RecordLifecycleActionHeartbeat(ctx, &autoscaling.RecordLifecycleActionHeartbeatInput{
		AutoScalingGroupName: aws.String(order.AutoScalingGroup), LifecycleHookName: aws.String(order.Hook),
		InstanceId: aws.String(order.Instance),
	})
	switch {
	case err == nil:
		r.view.beat = r.now()
		r.worked()
	case noAction(err):
		r.view.over = true
	default:
		r.failed("The heartbeat of the lifecycle action failed", err)
	}
}

// complete completes the lifecycle action. It succeeds if the action has already ended.
// https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_CompleteLifecycleAction.html
func (r *run) complete(ctx context.Context, result string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	order := &r.view.order
	_, err := r.client().CompleteLifecycleAction(ctx, &autoscaling.CompleteLifecycleActionInput{
		AutoScalingGroupName: aws.String(order.AutoScalingGroup), LifecycleHookName: aws.String(order.Hook),
		InstanceId:            aws.String(order.Instance),
		LifecycleActionResult: aws.String(result),
	})
	if err != nil && !noAction(err) {
		r.failed("The lifecycle action could not be completed", err)
		return err
	}
	r.worked()
	return nil
}

// terminate terminates an instance that Auto Scaling kept. Its group has already replaced it.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/manage-retained-instances.html
func (r *run) terminate(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := r.client().TerminateInstanceInAutoScalingGroup(ctx, &autoscaling.TerminateInstanceInAutoScalingGroupInput{
		InstanceId: aws.String(r.view.order.Instance), ShouldDecrementDesiredCapacity: aws.Bool(false),
	})
	if err != nil && !notFound(err) {
		r.failed("The kept instance could not be terminated", err)
		return err
	}
	r.worked()
	return nil
}

func (r *run) client() awsapi.AutoScaling {
	return r.drains.options.Clients.AutoScaling(r.view.order.Target)
}

// worked resets the failure count after a successful call to AWS.
func (r *run) worked() {
	r.failures, r.view.awsAt, r.problem = 0, time.Time{}, ""
}

// noAction reports whether an AWS error says that no lifecycle action waits: it completed or timed
// out, or the group or instance no longer exists.
func noAction(err error) bool {
	return validation(err, "no active lifecycle action") || notFound(err)
}

// notFound reports whether an AWS error says that the group or instance does not exist, or that the
// instance is in no group.
func notFound(err error) bool {
	return validation(err, "not found") || validation(err, "not part of")
}

func validation(err error, says string) bool {
	var failure smithy.APIError
	return errors.As(err, &failure) && failure.ErrorCode() == "ValidationError" &&
		strings.Contains(strings.ToLower(failure.ErrorMessage()), says)
}

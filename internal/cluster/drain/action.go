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

// heartbeat tells Auto Scaling that the drain goes on.
// https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_RecordLifecycleActionHeartbeat.html
func (r *run) heartbeat(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	order := &r.view.order
	_, err := r.client().RecordLifecycleActionHeartbeat(ctx, &autoscaling.RecordLifecycleActionHeartbeatInput{
		AutoScalingGroupName: aws.String(order.AutoScalingGroup), LifecycleHookName: aws.String(order.Hook), InstanceId: aws.String(order.Instance),
	})
	switch {
	case err == nil:
		r.view.beat = r.now()
		r.worked()
	case noAction(err):
		r.view.over = true
	default:
		r.failed("Auto Scaling could not be told that draining goes on", err)
	}
}

// complete ends the lifecycle action. That it has ended already is as good.
// https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_CompleteLifecycleAction.html
func (r *run) complete(ctx context.Context, result string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	order := &r.view.order
	_, err := r.client().CompleteLifecycleAction(ctx, &autoscaling.CompleteLifecycleActionInput{
		AutoScalingGroupName: aws.String(order.AutoScalingGroup), LifecycleHookName: aws.String(order.Hook), InstanceId: aws.String(order.Instance),
		LifecycleActionResult: aws.String(result),
	})
	if err != nil && !noAction(err) {
		r.failed("The lifecycle action could not be completed", err)
		return err
	}
	r.worked()
	return nil
}

// terminate ends a machine that Auto Scaling kept. Its group has a machine in its place already.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/manage-retained-instances.html
func (r *run) terminate(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := r.client().TerminateInstanceInAutoScalingGroup(ctx, &autoscaling.TerminateInstanceInAutoScalingGroupInput{
		InstanceId: aws.String(r.view.order.Instance), ShouldDecrementDesiredCapacity: aws.Bool(false),
	})
	if err != nil && !notFound(err) {
		r.failed("The machine that was kept could not be ended", err)
		return err
	}
	r.worked()
	return nil
}

func (r *run) client() awsapi.AutoScaling {
	return r.drains.options.Clients.AutoScaling(r.view.order.Target)
}

// worked notes that AWS did what it was asked for.
func (r *run) worked() {
	r.failures, r.view.awsAt, r.problem = 0, time.Time{}, ""
}

// noAction reports whether AWS says that no lifecycle action waits: it was completed, or timed out, or the group or instance is gone.
func noAction(err error) bool {
	return validation(err, "no active lifecycle action") || notFound(err)
}

// notFound reports whether AWS says that it does not know the group or instance, or not as one of a group.
func notFound(err error) bool {
	return validation(err, "not found") || validation(err, "not part of")
}

func validation(err error, says string) bool {
	var failure smithy.APIError
	return errors.As(err, &failure) && failure.ErrorCode() == "ValidationError" && strings.Contains(strings.ToLower(failure.ErrorMessage()), says)
}

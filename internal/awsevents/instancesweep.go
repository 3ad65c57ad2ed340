package awsevents

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// instanceSweepInterval is the time between looks for instances whose lifecycle action nobody told of, where one is expected.
const instanceSweepInterval = time.Minute

// ExpectInstances has the instances of every target looked at with each sweep, and every minute while due says that some of ours are
// going there. Without it nobody waits for them, and AWS is not asked. Call it before the listener starts.
func (l *Listener) ExpectInstances(due func(awsapi.Target) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.due = due
}

// expected returns what was given to ExpectInstances, nil if nothing was.
func (l *Listener) expected() func(awsapi.Target) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.due
}

// sweepInstancesForever looks at a target's instances while some of ours are going.
func (l *Listener) sweepInstancesForever(ctx context.Context, target awsapi.Target) {
	for l.pause(ctx, instanceSweepInterval, nil) == nil {
		if due := l.expected(); due == nil || !due(target) {
			continue
		}
		if err := l.SweepInstances(ctx, target); err != nil && ctx.Err() == nil {
			l.log.Info("Looking for instances that wait failed; trying again", "target", target.String(), "reason", err.Error())
		}
	}
}

// SweepInstances passes on which instances of a target a lifecycle hook holds before they go, and which are retained, since Auto Scaling
// tells of them on a best-effort basis only; and which are in service, some of which may have become no nodes. It errs if AWS cannot be asked.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-event-reference.html
func (l *Listener) SweepInstances(ctx context.Context, target awsapi.Target) error {
	if l.expected() == nil {
		return nil
	}
	client := l.options.Clients.AutoScaling(target)
	in := &autoscaling.DescribeAutoScalingInstancesInput{}
	for {
		page, err := client.DescribeAutoScalingInstances(ctx, in)
		if err != nil {
			l.metrics.sweeps.WithLabelValues("failed").Inc()
			return awsapi.Explain(err)
		}
		for i := range page.AutoScalingInstances {
			l.foundInstance(target, &page.AutoScalingInstances[i])
		}
		if in.NextToken = page.NextToken; aws.ToString(in.NextToken) == "" {
			return nil
		}
	}
}

// foundInstance passes on an instance that is in service, waits or is retained.
func (l *Listener) foundInstance(target awsapi.Target, found *types.AutoScalingInstanceDetails) {
	kind := InstanceKind("")
	switch types.LifecycleState(aws.ToString(found.LifecycleState)) {
	case types.LifecycleStateTerminatingWait:
		kind = InstanceTerminating
	case types.LifecycleStateTerminatingRetained:
		kind = InstanceRetained
	case types.LifecycleStateInService:
		kind = InstanceInService
	default:
		return
	}
	l.publish(Event{
		Source: autoScalingSource, DetailType: terminateLifecycleAction, Time: l.options.Clock.Now(), Target: target,
		Instance: &InstanceEvent{
			Kind: kind, ID: aws.ToString(found.InstanceId), Group: aws.ToString(found.AutoScalingGroupName), Transition: terminatingTransition,
		},
	})
}

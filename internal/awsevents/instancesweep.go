package awsevents

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// instanceSweepInterval is the time between looks for instances whose lifecycle action nobody told of: where some go at every
// interval, and elsewhere so often that the calls are one an interval.
const instanceSweepInterval = time.Minute

// Expectation is what the instances of a target may be up to.
type Expectation int

const (
	// NoInstances says that none of ours are there.
	NoInstances Expectation = iota
	// InstancesStay says that some are there, and nothing known has any of them go.
	InstancesStay
	// InstancesGo says that some are going.
	InstancesGo
)

// ExpectInstances has the instances of every target looked at with each sweep, every minute while expect says that some of ours are
// going there, and in as many minutes as that takes calls while they stay: whoever ends one tells nobody but Auto Scaling, whose news
// may be lost. Without it nobody waits for them, and AWS is not asked. Call it before the listener starts.
func (l *Listener) ExpectInstances(expect func(awsapi.Target) Expectation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expect = expect
}

// expected returns what was given to ExpectInstances, nil if nothing was.
func (l *Listener) expected() func(awsapi.Target) Expectation {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.expect
}

// sweepInstancesForever looks at a target's instances, often while some of ours are going.
func (l *Listener) sweepInstancesForever(ctx context.Context, target awsapi.Target) {
	passed, calls := 0, 1
	for l.pause(ctx, instanceSweepInterval, nil) == nil {
		passed++
		expectation := NoInstances
		if expect := l.expected(); expect != nil {
			expectation = expect(target)
		}
		if !isLookDue(expectation, passed, calls) {
			continue
		}
		made, err := l.SweepInstances(ctx, target)
		if err != nil {
			if ctx.Err() == nil {
				l.log.Info("Looking for instances that wait failed; trying again", "target", target.String(), "reason", err.Error())
			}
			continue
		}
		passed, calls = 0, made
	}
}

// isLookDue reports whether instances are to be looked at when so many intervals have passed since a look that took so many calls.
func isLookDue(expectation Expectation, passed, calls int) bool {
	return expectation == InstancesGo || expectation == InstancesStay && passed >= calls
}

// SweepInstances passes on which instances of a target a lifecycle hook holds before they go, and which are retained, since Auto Scaling
// tells of them on a best-effort basis only; and which are in service, some of which may have become no nodes. It returns
// how many calls that took, and errs if AWS cannot be asked.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-event-reference.html
func (l *Listener) SweepInstances(ctx context.Context, target awsapi.Target) (calls int, err error) {
	if l.expected() == nil {
		return 0, nil
	}
	client := l.options.Clients.AutoScaling(target)
	in := &autoscaling.DescribeAutoScalingInstancesInput{}
	for {
		calls++
		page, err := client.DescribeAutoScalingInstances(ctx, in)
		if err != nil {
			l.metrics.sweeps.WithLabelValues("failed").Inc()
			return calls, awsapi.Explain(err)
		}
		for i := range page.AutoScalingInstances {
			l.foundInstance(target, &page.AutoScalingInstances[i])
		}
		if in.NextToken = page.NextToken; aws.ToString(in.NextToken) == "" {
			return calls, nil
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

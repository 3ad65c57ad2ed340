package awsevents

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// instanceSweepInterval is the time between sweeps for instances whose lifecycle action no event
// reported. Where some terminate, it is every interval; elsewhere it is as rare as keeps the
// average at one call per interval.
const instanceSweepInterval = time.Minute

// Expectation is what the instances of a target are expected to do.
type Expectation int

const (
	// NoInstances means that the operator has no instances there.
	NoInstances Expectation = iota
	// InstancesStay means that there are instances, none of which is known to terminate.
	InstancesStay
	// InstancesTerminating means that instances are terminating.
	InstancesTerminating
)

// ExpectInstances makes the listener sweep the instances of every account and region: every minute while expect
// reports that instances terminate there, and every n minutes while they stay, if a sweep takes n
// calls. Only Auto Scaling reports an instance that another client terminates, and its events may
// be lost. Without ExpectInstances the listener makes no calls for instances. Call it before the
// listener starts.
func (l *Listener) ExpectInstances(expect func(awsapi.Place) Expectation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expect = expect
}

// expected returns the argument of ExpectInstances, or nil.
func (l *Listener) expected() func(awsapi.Place) Expectation {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.expect
}

// sweepInstancesForever sweeps a target's instances, every minute while some terminate.
func (l *Listener) sweepInstancesForever(ctx context.Context, at awsapi.Place, target awsapi.Target) {
	passed, calls := 0, 1
	for l.pause(ctx, instanceSweepInterval, nil) == nil {
		passed++
		expectation := NoInstances
		if expect := l.expected(); expect != nil {
			expectation = expect(at)
		}
		if !isSweepDue(expectation, passed, calls) {
			continue
		}
		made, err := l.SweepInstances(ctx, target)
		if err != nil {
			if ctx.Err() == nil {
				l.log.Info("Reading the instances failed; retrying", "target", target.String(), "reason", err.Error())
			}
			continue
		}
		passed, calls = 0, made
	}
}

// isSweepDue reports whether a sweep of instances is due when this many intervals have passed since
// a sweep that took this many calls.
func isSweepDue(expectation Expectation, passed, calls int) bool {
	return expectation == InstancesTerminating || expectation == InstancesStay && passed >= calls
}

// SweepInstances publishes the instances of a target that a lifecycle hook holds before their
// termination and those that are retained, because Auto Scaling's events are best effort. It also
// publishes those in service, some of which may never have become nodes. It returns the number of
// calls, and an error if AWS cannot be reached.
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
			l.foundInstance(l.Place(target), &page.AutoScalingInstances[i])
		}
		if in.NextToken = page.NextToken; aws.ToString(in.NextToken) == "" {
			return calls, nil
		}
	}
}

// foundInstance publishes an instance that is in service, waiting or retained.
func (l *Listener) foundInstance(at awsapi.Place, found *types.AutoScalingInstanceDetails) {
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
		Source: autoScalingSource, DetailType: terminateLifecycleAction, Time: l.options.Clock.Now(),
		Account: at.Account, Region: at.Region,
		Instance: &InstanceEvent{
			Kind: kind, ID: aws.ToString(found.InstanceId), Group: aws.ToString(found.AutoScalingGroupName),
			Transition: terminatingTransition,
		},
	})
}

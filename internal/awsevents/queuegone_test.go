package awsevents

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
)

// removedByHand is an account in which the events' stack exists, but not its queue; if denied, the
// operator may not create the stack.
type removedByHand struct {
	denied     bool
	made, asks atomic.Int64
	forgotten  sync.Map // targets
}

// AutoScaling is never called: no instances are expected.
func (r *removedByHand) AutoScaling(awsapi.Target) awsapi.AutoScaling { return nil }

func (r *removedByHand) SQS(awsapi.Target) awsapi.SQS { return r }

func (r *removedByHand) Forget(t awsapi.Target) { r.forgotten.Store(t, true) }

// Region returns the target's region, or the operator's own.
func (r *removedByHand) Region(t awsapi.Target) string { return cmp.Or(t.Region, "eu-central-1") }

func (r *removedByHand) ReceiveMessage(
	context.Context, *sqs.ReceiveMessageInput, ...func(*sqs.Options),
) (*sqs.ReceiveMessageOutput, error) {
	r.asks.Add(1)
	return nil, &smithy.GenericAPIError{Code: "QueueDoesNotExist", Message: "The specified queue does not exist."}
}

func (r *removedByHand) DeleteMessageBatch(
	context.Context, *sqs.DeleteMessageBatchInput, ...func(*sqs.Options),
) (*sqs.DeleteMessageBatchOutput, error) {
	return &sqs.DeleteMessageBatchOutput{}, nil
}

func (r *removedByHand) Ensure(context.Context, awsapi.Target, stack.Desired, stack.Record) (stack.Result, error) {
	r.made.Add(1)
	if r.denied {
		return stack.Result{
			State:        stack.Waiting,
			Reason:       "AccessDenied",
			Message:      "AWS denies access.",
			RequeueAfter: 10 * time.Minute,
		}, nil
	}
	return stack.Result{State: stack.Ready, Outputs: map[string]string{queueOutput: "https://sqs/queue"}}, nil
}

func (r *removedByHand) Sweep(context.Context, awsapi.Target) ([]stack.Event, error) { return nil, nil }
func (r *removedByHand) Observe(stack.Event)                                         {}

func TestFailureThatNeedsAUserIsRetriedRarely(t *testing.T) {
	for name, denied := range map[string]bool{"a queue deleted by a user": false, "a stack that may not be created": true} {
		t.Run(name, func(t *testing.T) {
			account := &removedByHand{denied: denied}
			clock := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
			listener := New(Options{Clients: account, Engine: account, Clock: clock})
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- listener.Start(ctx) }()
			const minutes = 10
			for range minutes * 60 {
				eventually(t, "the listener waits for the next sweeps and the next attempt", func() bool { return clock.Waiters() >= 3 })
				clock.Step(time.Second)
			}
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if made := account.made.Load(); made < minutes-1 || made > 3*minutes {
				t.Errorf("polled %d times in %d minutes, want about one a minute", made, minutes)
			}
		})
	}
}

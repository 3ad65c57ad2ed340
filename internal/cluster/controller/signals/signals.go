package signals

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/cache"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

// resourceGroup is the logical ID of the Auto Scaling group in the stacks of instance groups and
// slots.
const resourceGroup = "AutoScalingGroup"

// Retry is the delay before a signal is retried that failed or came before CloudFormation waited
// for it.
const Retry = 2 * time.Second

// Engine sends signals to CloudFormation. *stack.Engine implements it.
type Engine interface {
	Signal(ctx context.Context, target awsapi.Target, owner stack.Owner, logicalID, instanceID string) (waiting bool, err error)
}

// Signals sends signals, each once.
type Signals struct {
	engine Engine
	clock  clock.PassiveClock
	sent   *cache.Keyed[key, struct{}]
}

// key identifies a signal that was sent for an instance in an operation of a stack. CloudFormation
// counts an instance only once, so repeating signals after a restart costs only calls.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_SignalResource.html
type key struct {
	uid             types.UID
	token, instance string
	back            bool
}

// New sends signals with an engine.
func New(engine Engine, clock clock.PassiveClock) *Signals {
	return &Signals{engine: engine, clock: clock, sent: cache.NewKeyed[key, struct{}]()}
}

// Forget drops the signals that were sent for a deleted object.
func (s *Signals) Forget(uid types.UID) { s.sent.DropAll(func(k key) bool { return k.uid == uid }) }

// Sent reports whether an instance was signaled in the operation of a stack with a token, unless
// that is a rollback.
func (s *Signals) Sent(uid types.UID, token, instance string) bool {
	_, ok := s.sent.Get(key{uid, token, instance, false})
	return ok
}

// Stack is the stack to signal.
type Stack struct {
	// UID is that of the stack's object.
	UID    types.UID
	Target awsapi.Target
	Owner  stack.Owner
}

// Due returns the delay until a node is to be signaled, false if never.
type Due func(node *workload.Node, now time.Time) (time.Duration, bool)

// Send sends CloudFormation the signals of the nodes that are due. It returns the delay until the next
// check, 0 if only a node's change requires one.
func (s *Signals) Send(ctx context.Context, to Stack, nodes []workload.Node, known *record.Stack, isDue Due) (time.Duration, error) {
	if !record.IsChanging(known.Status) {
		return 0, nil
	}
	now := s.clock.Now()
	var requeueAfter time.Duration
	var problems []error
	for _, node := range nodes {
		k := key{to.UID, known.Record.Token, node.InstanceID, record.IsRollingBack(known.Status)}
		if _, ok := s.sent.Get(k); ok {
			continue
		}
		after, due := isDue(&node, now)
		switch {
		case !due:
			continue
		case after == 0:
			waiting, err := s.engine.Signal(ctx, to.Target, to.Owner, resourceGroup, node.InstanceID)
			if err != nil {
				problems = append(problems, err)
			}
			if waiting {
				s.sent.Keep(k, struct{}{})
				continue
			}
			after = Retry
		}
		if requeueAfter == 0 || after < requeueAfter {
			requeueAfter = after
		}
	}
	return requeueAfter, errors.Join(problems...)
}

// SendSlot signals for a slot's instance, unless it already did or the instance has a problem.
func (s *Signals) SendSlot(
	ctx context.Context, to Stack, node *workload.Node, known *record.Stack, problem string,
) (sent bool, err error) {
	k := key{to.UID, known.Record.Token, node.InstanceID, record.IsRollingBack(known.Status)}
	if _, ok := s.sent.Get(k); ok {
		return true, nil
	}
	if problem != "" {
		return false, nil
	}
	waiting, err := s.engine.Signal(ctx, to.Target, to.Owner, resourceGroup, node.InstanceID)
	if waiting {
		s.sent.Keep(k, struct{}{})
	}
	return waiting, err //nolint:wrapcheck // the engine explained it
}

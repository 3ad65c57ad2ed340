package stack

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// errKilled is the script's error when the operator dies at a call.
var errKilled = errors.New("killed")

// life is the lifecycle of an object: it is created, edited twice (once while an operation runs, or
// while a change waits for approval), and deleted. The operator dies at one call, before or after
// its effect, without persisting anything, and restarts without state.
type life struct {
	review bool
	wiped  bool // the record is removed when the operator dies
	t      *testing.T
	s      *script
	e      *Engine
	record Record
	calls  int
	killAt int
	effect bool
	killed bool
}

func (l *life) arm() {
	kill := func(string) error {
		if l.killed || l.calls != l.killAt {
			return nil
		}
		l.killed = true
		return errKilled
	}
	l.s.before = func(operation string) error {
		l.calls++
		if l.effect {
			return nil
		}
		return kill(operation)
	}
	l.s.after = func(operation string) error {
		if !l.effect {
			return nil
		}
		return kill(operation)
	}
}

// visit runs one visit. If the operator dies in it, the result is lost.
func (l *life) visit(run func() (Result, error)) Result {
	l.t.Helper()
	died := l.killed
	result, err := run()
	if l.killed && !died {
		l.e = l.s.engine()
		if l.wiped {
			l.record = Record{}
		}
		return Result{State: Waiting}
	}
	if err != nil {
		l.t.Fatal(err)
	}
	l.record = result.Record
	return result
}

// settle visits until the wanted state, and lets CloudFormation complete its operations.
func (l *life) settle(want State, run func() (Result, error)) {
	l.t.Helper()
	var last Result
	for range 40 {
		last = l.visit(run)
		if last.State == want {
			return
		}
		l.s.step(2 * time.Minute) // long enough for any poll
		l.complete()
	}
	l.t.Fatalf("not settled after 40 visits: %s, %s: %s; calls %q", last.State, last.Reason, last.Message, l.s.calls)
}

// complete completes the running operation. Its event is lost, which makes the test harder.
func (l *life) complete() {
	if len(l.s.stacks) == 0 {
		return
	}
	one := l.s.stacks[len(l.s.stacks)-1]
	if inProgress(one.shown.StackStatus) {
		verb, _, _ := strings.Cut(string(one.shown.StackStatus), "_")
		l.s.end(types.StackStatus(verb+"_COMPLETE"), "")
	}
}

func (l *life) live() {
	approved := map[int][]string{}
	ensure := func(delay int) func() (Result, error) {
		return func() (Result, error) {
			desired := desire(l.t, delay)
			if l.review {
				desired.Review = &Review{Approved: approved[delay], Shown: l.record.Proposal}
			}
			result, err := l.e.Ensure(l.t.Context(), awsapi.Target{}, desired, l.record)
			if delay == 3 && result.State == Proposed {
				approved[delay] = append(approved[delay], result.Record.Proposal)
			}
			return result, err
		}
	}
	l.settle(Ready, ensure(1))
	l.visit(ensure(2)) // starts the update
	l.visit(ensure(3)) // an edit while it runs
	l.settle(Ready, ensure(3))
	if body := l.s.stacks[len(l.s.stacks)-1].body; body != string(desire(l.t, 3).Template.JSON()) {
		l.t.Errorf("the last edit was lost: %s", body)
	}
	l.settle(Gone, func() (Result, error) {
		return l.e.Delete(l.t.Context(), awsapi.Target{}, "jobs", l.record, DeleteOptions{OwnerTags: desire(l.t, 1).Tags})
	})
}

func TestKilledAtAnyCall(t *testing.T) {
	killedAtAnyCall(t, life{})
}

// The record is only a cache: without it, no stack is left and none is created twice.
func TestKilledAtAnyCallWithTheRecordRemoved(t *testing.T) {
	killedAtAnyCall(t, life{wiped: true})
}

// Wherever the operator dies, only approved changes are executed, once, and no change set is left.
func TestKilledAtAnyCallOfAReview(t *testing.T) {
	killedAtAnyCall(t, life{review: true})
}

func killedAtAnyCall(t *testing.T, how life) {
	t.Helper()
	whole := &life{t: t, s: newScript(t), killAt: -1, review: how.review}
	whole.e = whole.s.engine()
	whole.arm()
	whole.live()
	if whole.calls < 7 {
		t.Fatalf("a lifecycle took %d calls, want more calls to be killed at: %q", whole.calls, whole.s.calls)
	}
	for killAt := 1; killAt <= whole.calls; killAt++ {
		for _, effect := range []bool{false, true} {
			t.Run(fmt.Sprintf("at call %d %s, effect %t", killAt, whole.s.calls[killAt-1], effect), func(t *testing.T) {
				l := &life{t: t, s: newScript(t), killAt: killAt, effect: effect, review: how.review, wiped: how.wiped}
				l.e = l.s.engine()
				l.arm()
				l.live()
				if left := l.s.stacks[0].waiting(); len(left) > 0 {
					t.Errorf("change sets %q are left over", left)
				}
				if !l.killed {
					t.Error("the operator was not killed")
				}
				if left := alive(l.s); len(left) != 0 {
					t.Errorf("left over: %q", left)
				}
				if len(l.s.stacks) != 1 {
					t.Errorf("%d stacks were created, want 1", len(l.s.stacks))
				}
				begun := operations(l.s.stacks[0])
				if how.review && !slices.Equal(begun, []string{"CREATE", "UPDATE", "DELETE"}) {
					t.Errorf("operations %q, want only the update that was approved", begun)
				}
				if want := []string{"CREATE", "UPDATE", "UPDATE", "DELETE"}; !slices.Equal(begun, want) &&
					!slices.Equal(begun, []string{"CREATE", "UPDATE", "DELETE"}) {
					t.Errorf("operations %q, want each once: %q, possibly without the superseded update", begun, want)
				}
			})
		}
	}
}

// operations are the operations that were started, in order.
func operations(one *scripted) []string {
	var begun []string
	for _, event := range slices.Backward(one.events) {
		verb, _, _ := strings.Cut(string(event.ResourceStatus), "_")
		begun = append(begun, verb)
	}
	return begun
}

func TestKilledWhileAFailingCreationIsRepeated(t *testing.T) {
	for _, effect := range []bool{false, true} {
		for killAt := 1; killAt <= 12; killAt++ {
			t.Run(fmt.Sprintf("at call %d, effect %t", killAt, effect), func(t *testing.T) {
				l := &life{t: t, s: newScript(t), killAt: killAt, effect: effect}
				l.e = l.s.engine()
				l.arm()
				for range 60 {
					l.visit(func() (Result, error) { return l.e.Ensure(t.Context(), awsapi.Target{}, desire(t, 1), l.record) })
					l.s.step(2 * time.Minute)
					if one := l.s.stacks; len(one) > 0 {
						switch one[len(one)-1].shown.StackStatus {
						case types.StackStatusCreateInProgress:
							l.s.end(types.StackStatusRollbackComplete, "jobs already exists")
						case types.StackStatusDeleteInProgress:
							l.s.end(types.StackStatusDeleteComplete, "")
						default:
						}
					}
				}
				if made := len(l.s.stacks); made > 4 {
					t.Errorf("%d creations, want 3, or one more when its record was lost", made)
				}
				result := l.visit(func() (Result, error) { return l.e.Ensure(t.Context(), awsapi.Target{}, desire(t, 1), l.record) })
				if result.State != Stalled {
					t.Errorf("%s: %s, want Stalled", result.State, result.Message)
				}
				l.settle(Gone, func() (Result, error) {
					return l.e.Delete(t.Context(), awsapi.Target{}, "jobs", l.record, DeleteOptions{OwnerTags: desire(t, 1).Tags})
				})
				if left := alive(l.s); len(left) != 0 {
					t.Errorf("left over: %q", left)
				}
			})
		}
	}
}

// The token identifies a failed update whose record was lost, so that it is not sent again.
func TestFailedUpdateWithoutRecordIsNotSentAgain(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	ensured(t, s, e, desire(t, 2), record, InProgress, "UpdateStack") // and dies
	s.step(time.Second)
	s.stacks[0].body = string(desire(t, 1).Template.JSON())
	s.end(types.StackStatusUpdateRollbackComplete, "DelaySeconds is out of bounds")
	ensured(t, s, s.engine(), desire(t, 2), record, Stalled, "DescribeStacks", "DescribeStackEvents")
}

// A stack that was re-created just before the operator died is deleted when the object is deleted
// then.
func TestUnrecordedSecondCreationIsDeleted(t *testing.T) {
	s := newScript(t)
	e := s.engine()
	record := ensured(t, s, e, desire(t, 1), Record{}, InProgress, "CreateStack").Record
	e.Observe(s.end(types.StackStatusRollbackComplete, "no"))
	result := ensured(t, s, e, desire(t, 1), record, Waiting, "DescribeStacks", "DescribeStackEvents")
	s.step(result.RequeueAfter)
	record = ensured(t, s, e, desire(t, 1), result.Record, InProgress, "DeleteStack").Record
	e.Observe(s.end(types.StackStatusDeleteComplete, ""))
	ensured(t, s, e, desire(t, 1), record, InProgress, "DescribeStacks", "CreateStack") // and dies
	e = s.engine()
	s.step(defaultPollInterval)
	record = deletedBy(t, s, e, record, DeleteOptions{}, InProgress, "DescribeStacks", "DescribeStacks").Record
	s.end(types.StackStatusCreateComplete, "")
	s.step(defaultPollInterval)
	record = deletedBy(t, s, e, record, DeleteOptions{}, InProgress, "DescribeStacks", "DeleteStack").Record
	e.Observe(s.end(types.StackStatusDeleteComplete, ""))
	deletedBy(t, s, e, record, DeleteOptions{}, Gone, "DescribeStacks")
	if left := alive(s); len(left) != 0 {
		t.Errorf("left over: %q", left)
	}
}

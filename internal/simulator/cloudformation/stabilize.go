package cloudformation

import (
	"context"
	"errors"
	"time"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

const (
	// firstPause and longestPause are the shortest and longest pause between two polls of a
	// resource that is not stable. The pause doubles with each poll.
	firstPause   = 100 * time.Millisecond
	longestPause = 2 * time.Second
	// stabilizeTimeout is the time limit for a resource: the default of a resource type unless its
	// schema's handlers set another.
	// https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-schema.html
	stabilizeTimeout = 2 * time.Hour
)

// stabilize calls done when the resource of a member is stable, or with the error that prevents
// that. For types without stabilization it calls done at once, in the stack's task. It does not
// call done if the step has ended.
func (s *stack) stabilize(st *step, m *member, r resource.Request, done func(err error)) {
	stabilizer, ok := s.engine.Provider(m.kind).(resource.Stabilizer)
	if !ok {
		done(nil)
		return
	}
	l := &poll{stack: s, step: st, provider: stabilizer, request: r, done: done, pause: firstPause}
	l.deadline = s.engine.now().Add(stabilizeTimeout)
	l.check()
}

// poll polls one resource until it is stable.
type poll struct {
	stack    *stack
	step     *step
	provider resource.Stabilizer
	request  resource.Request
	done     func(error)
	pause    time.Duration
	deadline time.Time
}

func (l *poll) check() {
	if !l.step.active() {
		return
	}
	var (
		stable bool
		err    error
	)
	l.stack.outside(func() { stable, err = l.provider.Stable(l.stack.background(), l.request) })
	switch {
	case !l.step.active():
	case err != nil:
		l.done(err)
	case stable:
		l.done(nil)
	case l.stack.engine.now().After(l.deadline):
		l.done(resource.Errorf(resource.NotStabilized, "Exceeded attempts to wait"))
	default:
		l.stack.after(l.pause, l.check)
		l.pause = min(l.pause*2, longestPause)
	}
}

// snapshot takes a snapshot of a resource before it is deleted. It does nothing for types without
// snapshots, because validation rejects templates where that matters.
func (s *stack) snapshot(m *member, r resource.Request) error {
	snapshotter, ok := s.engine.Provider(m.kind).(resource.Snapshotter)
	if !ok {
		return nil
	}
	out := s.call(OpSnapshot, m, r, func(ctx context.Context, _ resource.Provider, r resource.Request) (resource.Result, error) {
		id, err := snapshotter.Snapshot(ctx, r)
		return resource.Result{PhysicalID: id}, err
	})
	if handled, ok := errors.AsType[*resource.Error](out.err); ok && handled.Code == resource.NotFound {
		return nil // the deletion reports it
	}
	return out.err
}

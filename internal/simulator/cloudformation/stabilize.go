package cloudformation

import (
	"context"
	"errors"
	"time"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

const (
	// firstLook and longestLook bound how long the engine waits before it looks
	// again at a resource that is not stable: at first soon, then ever later.
	firstLook   = 100 * time.Millisecond
	longestLook = 2 * time.Second
	// stabilizeTimeout is how long a resource may take: what a resource type has
	// unless its schema's handlers say otherwise.
	// https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-schema.html
	stabilizeTimeout = 2 * time.Hour
)

// stabilize calls done once the resource of a member is stable, or with the
// reason why it will not be. It does so at once, in the stack's task, for types
// whose operations are complete when they return. done is never called if the
// step has ended meanwhile.
func (s *stack) stabilize(st *step, m *member, r resource.Request, done func(err error)) {
	stabilizer, ok := s.engine.provider(m.kind).(resource.Stabilizer)
	if !ok {
		done(nil)
		return
	}
	l := &look{stack: s, step: st, provider: stabilizer, request: r, done: done, pause: firstLook}
	l.deadline = s.engine.now().Add(stabilizeTimeout)
	l.ask()
}

// look is the wait for one resource to become stable.
type look struct {
	stack    *stack
	step     *step
	provider resource.Stabilizer
	request  resource.Request
	done     func(error)
	pause    time.Duration
	deadline time.Time
}

func (l *look) ask() {
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
		l.stack.after(l.pause, l.ask)
		l.pause = min(l.pause*2, longestLook)
	}
}

// snapshot keeps a resource as a snapshot before it is deleted. Types that have
// none are deleted all the same: the template was refused where that matters.
func (s *stack) snapshot(m *member, r resource.Request) error {
	snapshotter, ok := s.engine.provider(m.kind).(resource.Snapshotter)
	if !ok {
		return nil
	}
	out := s.call(OpSnapshot, m, r, func(ctx context.Context, _ resource.Provider, r resource.Request) (resource.Result, error) {
		id, err := snapshotter.Snapshot(ctx, r)
		return resource.Result{PhysicalID: id}, err
	})
	if handled, ok := errors.AsType[*resource.Error](out.err); ok && handled.Code == resource.NotFound {
		return nil // the deletion finds out
	}
	return out.err
}

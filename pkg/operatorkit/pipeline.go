package operatorkit

import (
	"context"
	"fmt"
	"iter"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Pipeline is an ordered list of steps. It runs them first to last for a live
// object, and last to first for an object that is being deleted. It stops at
// the first step that is not done, because later steps may depend on it. Wrap
// steps that do not depend on each other in [All].
type Pipeline[T client.Object] struct {
	steps sequence[T]
}

// NewPipeline returns a pipeline of steps, in the order in which they create.
func NewPipeline[T client.Object](steps ...Step[T]) *Pipeline[T] {
	return &Pipeline[T]{steps: slices.Clone(steps)}
}

// PipelineFor returns the pipeline itself: a Pipeline is a Selector with one choice.
func (p *Pipeline[T]) PipelineFor(T) (*Pipeline[T], error) { return p, nil }

// Selector picks the pipeline of an object. It returns an error if there is
// none, which should say what the user can do; the object is then stalled.
type Selector[T client.Object] interface {
	PipelineFor(obj T) (*Pipeline[T], error)
}

// All returns a step that runs all the given steps, even if some of them are
// not done, and aggregates their outcomes (see [Aggregate]). The steps after it
// in a pipeline run only when all of them are done. Metrics count each of the
// given steps by its own name.
func All[T client.Object](steps ...Step[T]) Step[T] { return all[T](slices.Clone(steps)) }

// Sequence returns a step that runs the given steps in order and stops at the
// first that is not done, as a pipeline does. Use it inside [All]. Metrics count
// each of the given steps by its own name.
func Sequence[T client.Object](steps ...Step[T]) Step[T] { return sequence[T](slices.Clone(steps)) }

// stepObserver is called with every step that ran.
type stepObserver func(step string, outcome Outcome, took time.Duration)

// run runs the steps and returns the aggregated outcome.
func (p *Pipeline[T]) run(ctx context.Context, obj T, clk clock.PassiveClock, observe stepObserver) Outcome {
	return p.steps.run(ctx, obj, runner[T]{clock: clk, observe: observe, deleting: isDeleting(obj)})
}

// composite is a step that consists of steps.
type composite[T client.Object] interface {
	run(ctx context.Context, obj T, r runner[T]) Outcome
}

// sequence runs its steps up to the first that is not done.
type sequence[T client.Object] []Step[T]

// Name lists the names of the steps.
func (s sequence[T]) Name() string { return names(s) }

// EnsureCreated runs the steps first to last.
func (s sequence[T]) EnsureCreated(ctx context.Context, obj T) Outcome {
	return s.run(ctx, obj, unobserved[T](false))
}

// EnsureDeleted runs the steps last to first.
func (s sequence[T]) EnsureDeleted(ctx context.Context, obj T) Outcome {
	return s.run(ctx, obj, unobserved[T](true))
}

// run returns the outcome of the step that is not done, or Done with the last
// explanation that a step gave. In either case it has the shortest time after
// which a step wants to be run.
func (s sequence[T]) run(ctx context.Context, obj T, r runner[T]) Outcome {
	whole := Done()
	for step := range r.order(s) {
		outcome := r.step(ctx, step, obj)
		if !outcome.IsDone() {
			return outcome.RequeueAfter(soonest(whole.after, outcome.after))
		}
		whole = Aggregate(whole, outcome)
	}
	return whole
}

// all runs its steps regardless of their outcomes.
type all[T client.Object] []Step[T]

// Name lists the names of the steps.
func (s all[T]) Name() string { return names(s) }

// EnsureCreated runs all steps, first to last.
func (s all[T]) EnsureCreated(ctx context.Context, obj T) Outcome {
	return s.run(ctx, obj, unobserved[T](false))
}

// EnsureDeleted runs all steps, last to first.
func (s all[T]) EnsureDeleted(ctx context.Context, obj T) Outcome {
	return s.run(ctx, obj, unobserved[T](true))
}

func (s all[T]) run(ctx context.Context, obj T, r runner[T]) Outcome {
	var outcomes []Outcome
	for step := range r.order(s) {
		outcomes = append(outcomes, r.step(ctx, step, obj))
	}
	return Aggregate(outcomes...)
}

func names[T client.Object](steps []Step[T]) string {
	names := make([]string, len(steps))
	for i, step := range steps {
		names[i] = step.Name()
	}
	return strings.Join(names, ",")
}

// runner runs single steps for one reconcile.
type runner[T client.Object] struct {
	clock    clock.PassiveClock
	observe  stepObserver
	deleting bool
}

// unobserved returns a runner for a composite step that runs outside a pipeline.
func unobserved[T client.Object](deleting bool) runner[T] {
	return runner[T]{clock: clock.RealClock{}, observe: func(string, Outcome, time.Duration) {}, deleting: deleting}
}

// order returns the steps in the order in which to run them.
func (r runner[T]) order(steps []Step[T]) iter.Seq[Step[T]] {
	if !r.deleting {
		return slices.Values(steps)
	}
	return func(yield func(Step[T]) bool) {
		for _, step := range slices.Backward(steps) {
			if !yield(step) {
				return
			}
		}
	}
}

// step runs a step and observes it, or each step that it consists of.
func (r runner[T]) step(ctx context.Context, step Step[T], obj T) Outcome {
	if c, ok := step.(composite[T]); ok {
		return c.run(ctx, obj, r)
	}
	start := r.clock.Now()
	ctx, span := tracer.Start(ctx, step.Name())
	outcome := call(ctx, step, obj, r.deleting)
	endStep(span, outcome)
	r.observe(step.Name(), outcome, r.clock.Since(start))
	return inStep(step.Name(), outcome)
}

// call turns a panic into a failure of the step, so that a defect affects one
// object and not the whole process.
func call[T client.Object](ctx context.Context, step Step[T], obj T, deleting bool) (outcome Outcome) {
	defer func() {
		if cause := recover(); cause != nil {
			err := fmt.Errorf("panic: %v", cause)
			log.FromContext(ctx).Error(err, "A step panicked", "step", step.Name(), "stack", string(debug.Stack()))
			outcome = Fail(err)
		}
	}()
	if deleting {
		return step.EnsureDeleted(ctx, obj)
	}
	return step.EnsureCreated(ctx, obj)
}

// inStep adds the name of the failed step to the error, and an explanation to a
// failure that has none.
func inStep(name string, o Outcome) Outcome {
	if o.kind != KindFail {
		return o
	}
	err := o.Err()
	if o.reason == "" {
		o.reason, o.text = ReasonFailed, fmt.Sprintf("Step %q failed and will be retried: %v.", name, err)
	}
	o.err = fmt.Errorf("step %q: %w", name, err)
	return o
}

func isDeleting(obj client.Object) bool { return !obj.GetDeletionTimestamp().IsZero() }

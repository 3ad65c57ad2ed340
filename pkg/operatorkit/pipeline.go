package operatorkit

import (
	"context"
	"fmt"
	"iter"
	"runtime/debug"
	"slices"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Pipeline is an ordered list of steps. For a live object they run first to
// last, for one that is being deleted last to first. A step that is not done
// ends the run, because the steps after it may rely on it.
type Pipeline[T client.Object] struct {
	steps []Step[T]
}

// NewPipeline makes a pipeline of steps, in the order in which they create.
func NewPipeline[T client.Object](steps ...Step[T]) *Pipeline[T] {
	return &Pipeline[T]{steps: slices.Clone(steps)}
}

// PipelineFor returns the pipeline itself: a Pipeline is a Selector with one choice.
func (p *Pipeline[T]) PipelineFor(T) (*Pipeline[T], error) { return p, nil }

// Selector picks the pipeline of an object. An error means that there is none,
// and what a person can do about it; the object is then stalled.
type Selector[T client.Object] interface {
	PipelineFor(obj T) (*Pipeline[T], error)
}

// stepObserver is told about every step that ran.
type stepObserver func(step string, outcome Outcome, took time.Duration)

// run runs the steps and returns the outcome of the whole: that of the step
// which was not done, or Done with the last explanation that a step gave, and in
// either case the shortest time after which a step wants to look again.
func (p *Pipeline[T]) run(ctx context.Context, obj T, clk clock.PassiveClock, observe stepObserver) Outcome {
	whole := Done()
	deleting := isDeleting(obj)
	for step := range p.order(deleting) {
		start := clk.Now()
		outcome := runStep(ctx, step, obj, deleting)
		observe(step.Name(), outcome, clk.Since(start))
		if !outcome.IsDone() {
			if whole.after > 0 && (outcome.after == 0 || whole.after < outcome.after) {
				outcome = outcome.LookAgain(whole.after)
			}
			return inStep(step.Name(), outcome)
		}
		if outcome.reason != "" {
			whole = whole.Explain(outcome.reason, outcome.message)
		}
		if outcome.after > 0 && (whole.after == 0 || outcome.after < whole.after) {
			whole = whole.LookAgain(outcome.after)
		}
	}
	return whole
}

func (p *Pipeline[T]) order(deleting bool) iter.Seq[Step[T]] {
	if !deleting {
		return slices.Values(p.steps)
	}
	return func(yield func(Step[T]) bool) {
		for _, step := range slices.Backward(p.steps) {
			if !yield(step) {
				return
			}
		}
	}
}

// runStep turns a panic into a failure of its step, so that a defect in one
// step costs one object its progress and not the process its life.
func runStep[T client.Object](ctx context.Context, step Step[T], obj T, deleting bool) (outcome Outcome) {
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

// inStep names the failed step in the error and gives a failure without an
// explanation one.
func inStep(name string, o Outcome) Outcome {
	if o.kind != KindFail {
		return o
	}
	err := o.Err()
	if o.reason == "" {
		o = o.Explain(ReasonFailed, fmt.Sprintf("Step %q failed and will be tried again: %v.", name, err))
	}
	o.err = fmt.Errorf("step %q: %w", name, err)
	return o
}

func isDeleting(obj client.Object) bool { return !obj.GetDeletionTimestamp().IsZero() }

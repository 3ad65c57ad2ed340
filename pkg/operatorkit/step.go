package operatorkit

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Step manages one concern of one kind of object, for example a stack, a
// certificate or a DNS record. Its methods are called at every reconcile, so
// they must be idempotent: each observes what exists, starts at most what is
// missing, and returns. They never wait or sleep.
//
// A step may change the object's status (and the fields that the reconciler's
// Writer writes) in memory. It must not write the object to the API server: the
// reconciler does that once, at the end of the run.
type Step[T client.Object] interface {
	// Name identifies the step within its pipeline, in messages and in metrics.
	Name() string
	// EnsureCreated makes the concern match what the object asks for.
	EnsureCreated(ctx context.Context, obj T) Outcome
	// EnsureDeleted removes the concern. Done means that nothing of it remains.
	EnsureDeleted(ctx context.Context, obj T) Outcome
}

// StepFunc is the function behind one method of a step.
type StepFunc[T client.Object] func(ctx context.Context, obj T) Outcome

// NewStep returns a step made of two functions. A nil function is always done.
func NewStep[T client.Object](name string, create, remove StepFunc[T]) Step[T] {
	return funcStep[T]{name: name, create: create, remove: remove}
}

type funcStep[T client.Object] struct {
	name           string
	create, remove StepFunc[T]
}

func (s funcStep[T]) Name() string { return s.name }

func (s funcStep[T]) EnsureCreated(ctx context.Context, obj T) Outcome {
	if s.create == nil {
		return Done()
	}
	return s.create(ctx, obj)
}

func (s funcStep[T]) EnsureDeleted(ctx context.Context, obj T) Outcome {
	if s.remove == nil {
		return Done()
	}
	return s.remove(ctx, obj)
}

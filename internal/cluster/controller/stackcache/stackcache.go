package stackcache

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/cache"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
	"github.com/aws-operator/aws-operator/internal/cluster/stacks"
)

// Key identifies a stack of an object.
type Key struct {
	UID   types.UID
	Stack string
}

// Stacks caches the state of stacks.
type Stacks struct {
	// settled holds the stacks that were found up to date.
	settled *cache.Keyed[Key, settled]
	// absent holds the stacks that cannot exist.
	absent *cache.Keyed[Key, struct{}]
	// rendered holds the rendered stacks of changes in progress.
	rendered *cache.Latest[Key, rendered]
}

// settled is the inputs for which a stack was found up to date, and the digest of what is deployed.
type settled struct {
	inputs uint64
	digest string
}

// New returns an empty cache.
func New() *Stacks {
	return &Stacks{
		settled: cache.NewKeyed[Key, settled](), absent: cache.NewKeyed[Key, struct{}](),
		rendered: cache.NewLatest[Key, rendered](renderedAtOnce),
	}
}

// Forget drops what is cached for a deleted object.
func (s *Stacks) Forget(uid types.UID) {
	its := func(key Key) bool { return key.UID == uid }
	s.settled.DropAll(its)
	s.absent.DropAll(its)
}

// Settle records that a stack with a status is up to date for its inputs, so that its rendered form
// is not needed anymore.
func (s *Stacks) Settle(key Key, inputs uint64, status *v1alpha1.StackStatus) {
	known, err := record.Decode(status)
	if err != nil {
		return
	}
	s.settled.Keep(key, settled{inputs: inputs, digest: known.Digest})
	s.rendered.Drop(key)
}

// Unsettle makes the next reconcile of a stack compare it with its inputs again.
func (s *Stacks) Unsettle(key Key) { s.settled.Drop(key) }

// IsSettled reports whether a stack was found up to date for its inputs, and its status says so,
// too: the reconcile that found it may have failed to write the status.
func (s *Stacks) IsSettled(key Key, inputs uint64, status *v1alpha1.StackStatus) bool {
	last, ok := s.settled.Get(key)
	if !ok || last.inputs != inputs {
		return false
	}
	known, err := record.Decode(status)
	return err == nil && known.PendingDigest == "" && known.Digest == last.digest
}

// WasSettled reports whether a stack was found up to date, for whatever inputs.
func (s *Stacks) WasSettled(key Key) bool {
	_, ok := s.settled.Get(key)
	return ok
}

// MarkAbsent records that a stack cannot exist, because this process saw that what it needs is
// still being created.
func (s *Stacks) MarkAbsent(key Key) { s.absent.Keep(key, struct{}{}) }

// TakeAbsent reports, once, whether a stack cannot exist.
func (s *Stacks) TakeAbsent(key Key) bool {
	_, ok := s.absent.Get(key)
	s.absent.Drop(key)
	return ok
}

// RenderBase renders a base stack, or returns the cached result for the same inputs.
func (s *Stacks) RenderBase(key Key, inputs uint64, render func() (*render.Stack, error)) (*render.Stack, error) {
	if last, ok := s.rendered.Get(key); ok && last.inputs == inputs {
		return last.made.Stack, nil
	}
	made, err := render()
	if err != nil {
		return nil, err
	}
	s.rendered.Keep(key, rendered{inputs: inputs, made: &stacks.Made{Stack: made}})
	return made, nil
}

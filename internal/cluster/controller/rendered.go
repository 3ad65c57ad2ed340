package controller

import (
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/stacks"
)

// renderedAtOnce is the capacity of the cache of rendered stacks.
const renderedAtOnce = 256

// rendered is a rendered stack and the hash of its inputs.
type rendered struct {
	inputs uint64
	made   *stacks.Made
}

// render renders a stack, or returns the cached result for the same inputs. While CloudFormation
// changes the stack, every reconcile needs it.
func (o *operator) render(
	key stackKey, inputs uint64, past *record.History, render func() (*stacks.Made, error),
) (*stacks.Made, error) {
	if last, ok := o.rendered.get(key); ok && last.inputs == inputs && isOf(past, &last.made.Machines) {
		return last.made, nil
	}
	made, err := render()
	if err != nil {
		return nil, err
	}
	o.rendered.keep(key, rendered{inputs: inputs, made: made})
	return made, nil
}

// isOf reports whether machines equal those of a stack's last change, so that rendering would
// return the same result.
func isOf(past *record.History, machines *record.Machines) bool {
	if past == nil {
		return false
	}
	last := past.Next
	if last == nil {
		last = past.Now
	}
	return last != nil && equality.Semantic.DeepEqual(last, machines)
}

// latest caches a bounded number of values and evicts the oldest. It is safe for concurrent use.
type latest[K comparable, V any] struct {
	mu    sync.Mutex
	known map[K]V
	order []K // oldest first; may include dropped keys
	most  int
}

func newLatest[K comparable, V any](most int) *latest[K, V] {
	return &latest[K, V]{known: map[K]V{}, most: most}
}

func (l *latest[K, V]) get(key K) (V, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	value, ok := l.known[key]
	return value, ok
}

func (l *latest[K, V]) keep(key K, value V) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.known[key]; !ok {
		l.order = append(l.order, key)
	}
	l.known[key] = value
	for len(l.order) > l.most {
		delete(l.known, l.order[0])
		l.order = l.order[1:]
	}
}

func (l *latest[K, V]) drop(key K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.known, key)
}

package controller

import (
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/aws-operator/aws-operator/internal/cluster/stacks"
)

// renderedAtOnce bounds the stacks of which it is remembered what was rendered for them.
const renderedAtOnce = 256

// rendered is a stack as it was made from inputs.
type rendered struct {
	inputs uint64
	made   *stacks.Made
}

// render makes a stack, or returns it as it was made before from the same inputs. While CloudFormation makes it, it is looked at again and
// again.
func (o *operator) render(key stackKey, inputs uint64, past stacks.Past, render func() (*stacks.Made, error)) (*stacks.Made, error) {
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

// isOf reports whether machines are what the last change of a stack made, so that they would be rendered as they were.
func isOf(past stacks.Past, machines *stacks.Machines) bool {
	last := past.Next
	if last == nil {
		last = past.Now
	}
	return last != nil && equality.Semantic.DeepEqual(last, machines)
}

// latest remembers the values that were kept last, so many at once. It is safe for use by many goroutines.
type latest[K comparable, V any] struct {
	mu    sync.Mutex
	known map[K]V
	order []K // oldest first; it may name what is not known any more
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

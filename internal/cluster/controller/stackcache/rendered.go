package stackcache

import (
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

// Render renders a stack, or returns the cached result for the same inputs. While CloudFormation
// changes the stack, every reconcile needs it.
func (s *Stacks) Render(
	key Key, inputs uint64, past *record.History, render func() (*stacks.Made, error),
) (*stacks.Made, error) {
	if last, ok := s.rendered.Get(key); ok && last.inputs == inputs && isOf(past, &last.made.Machines) {
		return last.made, nil
	}
	made, err := render()
	if err != nil {
		return nil, err
	}
	s.rendered.Keep(key, rendered{inputs: inputs, made: made})
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

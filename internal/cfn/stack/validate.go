package stack

import (
	"container/list"
	"sync"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// maxVerdicts limits how many templates' verdicts are cached.
const maxVerdicts = 4096

// checkedTemplates caches the verdicts on templates by digest, so that each template is checked
// once.
type checkedTemplates struct {
	mu       sync.Mutex
	verdicts map[string]*list.Element
	order    *list.List // front: most recently used
}

type verdict struct {
	digest   string
	problems template.Problems
}

// check returns the problems of the template with a digest, before anything is sent.
func (e *Engine) check(t *template.Template, digest string) template.Problems {
	if known, ok := e.checked.get(digest); ok {
		return known
	}
	problems := t.Check()
	problems = append(problems, e.options.Registry.Validate(t)...)
	if len(problems) == 0 {
		problems = nil
	}
	e.checked.put(digest, problems)
	return problems
}

func (c *checkedTemplates) get(digest string) (template.Problems, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, ok := c.verdicts[digest]
	if !ok {
		return nil, false
	}
	c.order.MoveToFront(element)
	known, ok := element.Value.(verdict)
	return known.problems, ok
}

func (c *checkedTemplates) put(digest string, problems template.Problems) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.verdicts[digest]; ok {
		return
	}
	c.verdicts[digest] = c.order.PushFront(verdict{digest: digest, problems: problems})
	if c.order.Len() > maxVerdicts {
		last := c.order.Back()
		c.order.Remove(last)
		if oldest, ok := last.Value.(verdict); ok {
			delete(c.verdicts, oldest.digest)
		}
	}
}

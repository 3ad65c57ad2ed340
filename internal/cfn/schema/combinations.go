package schema

import (
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// combinations checks a literal against allOf, anyOf, oneOf and if.
func (c *check) combinations(n *template.Node, p *Property, path []string) {
	for _, branch := range p.AllOf {
		c.problems = append(c.problems, c.try(n, branch, path)...)
	}
	if len(p.AnyOf) > 0 {
		c.any(n, p.AnyOf, path)
	}
	if len(p.OneOf) > 0 && c.any(n, p.OneOf, path) {
		c.exclusive(n, p.OneOf, path)
	}
	if p.If != nil && p.Then != nil && len(c.try(n, p.If, path)) == 0 {
		c.problems = append(c.problems, c.try(n, p.Then, path)...)
	}
}

// try returns the problems of a literal with one branch.
func (c *check) try(n *template.Node, branch *Property, path []string) template.Problems {
	if c.depth > maxDepth {
		return nil
	}
	below := &check{v: c.v, resource: c.resource, t: c.t, depth: c.depth + 1}
	below.literal(n, c.t.Resolve(branch), path)
	return below.problems
}

// any reports the problems of the closest branch, unless one has none.
func (c *check) any(n *template.Node, branches []*Property, path []string) bool {
	var nearest template.Problems
	for i, branch := range branches {
		problems := c.try(n, branch, path)
		if len(problems) == 0 {
			return true
		}
		if i == 0 || closer(problems, nearest) {
			nearest = problems
		}
	}
	if names, ok := requiredOnly(c.t, branches); ok {
		c.problem(n.Pos, path, c.t.Name+" requires one of the properties "+strings.Join(names, ", ")+in(path), "")
		return false
	}
	c.problems = append(c.problems, nearest...)
	return false
}

// closer reports whether problems belong to a likelier branch: one that fails deeper in the value,
// or in fewer places.
func closer(problems, than template.Problems) bool {
	depth, other := strings.Count(problems[0].Path, "/"), strings.Count(than[0].Path, "/")
	if depth != other {
		return depth > other
	}
	return len(problems) < len(than)
}

// exclusive reports two matching branches of a oneOf if the branches only say which properties are
// required. Others may overlap because of mistakes in the schemas, which AWS tolerates.
func (c *check) exclusive(n *template.Node, branches []*Property, path []string) {
	if _, ok := requiredOnly(c.t, branches); !ok || n.Kind != template.Map {
		return
	}
	var held []string
	for _, branch := range branches {
		names := c.t.Resolve(branch).Required
		if certainlyGiven(n, names) {
			held = append(held, strings.Join(names, " and "))
		}
	}
	if len(held) > 1 {
		c.problem(n.Pos, path, c.t.Name+" allows only one of the properties "+strings.Join(held, ", ")+in(path), "")
	}
}

// requiredOnly reports whether the branches only say which properties are required, and which.
func requiredOnly(t *Type, branches []*Property) ([]string, bool) {
	var names []string
	for _, branch := range branches {
		p := t.Resolve(branch)
		if len(p.Required) == 0 || len(p.Properties) > 0 || len(p.OneOf)+len(p.AnyOf)+len(p.AllOf) > 0 {
			return nil, false
		}
		names = append(names, strings.Join(p.Required, " and "))
	}
	return names, true
}

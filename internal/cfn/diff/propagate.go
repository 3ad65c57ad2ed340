package diff

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// propagate adds the changes of resources that refer to replaced ones.
func (c *comparison) propagate() {
	for again := true; again; {
		again = false
		for _, id := range slices.Sorted(maps.Keys(c.new.resources)) {
			if c.old.resources[id] != nil && c.follow(id) {
				again = true
			}
		}
	}
}

// follow adds to a resource the changes that replacements of other resources cause, and reports
// whether it added any.
func (c *comparison) follow(id string) bool {
	replaced := func(other string) bool {
		change := c.changes[other]
		return other != id && change != nil && (change.Action == Replace || change.Action == MayReplace)
	}
	added := false
	for _, use := range mentions(c.new.properties[id], replaced) {
		change := c.changes[id]
		if change == nil {
			change = &Change{
				LogicalID: id, Type: c.new.resources[id].Type, Action: Update, Stateful: schema.IsStateful(c.new.resources[id].Type),
			}
		}
		path := strings.Join(use.path, "/")
		if slices.ContainsFunc(change.Properties, func(one PropertyChange) bool { return covers(one.Path, path) }) {
			continue
		}
		known, _ := c.registry.Type(change.Type)
		change.Properties = append(change.Properties, PropertyChange{
			Path: path, Old: use.value, New: use.value, Cause: use.target,
			MayReplace: known != nil && (known.IsCreateOnly(use.path) || known.IsConditionalCreateOnly(use.path)),
		})
		c.changes[id] = change
		c.settle(change)
		added = true
	}
	return added
}

// covers reports whether a change at path includes what is at other.
func covers(path, other string) bool {
	return path == other || strings.HasPrefix(other, path+"/")
}

// mentions lists the paths below n that refer to one of the named resources, with the resource.
func mentions(n *template.Node, named func(string) bool) []mention {
	var found []mention
	var walk func(n *template.Node, path []string)
	walk = func(n *template.Node, path []string) {
		switch {
		case n == nil:
		case n.Kind == template.Map:
			for _, field := range n.Fields {
				walk(field.Value, append(slices.Clone(path), field.Key))
			}
		case n.Kind == template.List:
			for i, item := range n.Items {
				walk(item, append(slices.Clone(path), strconv.Itoa(i)))
			}
		case n.Kind == template.Intrinsic:
			for _, ref := range n.References() {
				if named(ref.Target) {
					found = append(found, mention{path: path, target: ref.Target, value: n})
					return
				}
			}
		}
	}
	walk(n, nil)
	return found
}

// mention is a use of a resource in a property of another.
type mention struct {
	path   []string
	target string
	value  *template.Node
}

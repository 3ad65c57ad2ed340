package diff

import (
	"slices"
	"strconv"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// properties collects the changed properties of one resource.
type properties struct {
	// t is the resource's type, nil if unknown.
	t       *schema.Type
	changes []PropertyChange
}

// compare records the differences between two values at a path, as deep in the tree as possible.
func (w *properties) compare(path []string, old, desired *template.Node) {
	at := w.schema(path)
	switch {
	case equal(old, desired, at):
	case old != nil && desired != nil && old.Kind == template.Map && desired.Kind == template.Map:
		for _, key := range keys(old, desired) {
			w.compare(append(slices.Clone(path), key), old.Get(key), desired.Get(key))
		}
	case old != nil && desired != nil && old.Kind == template.List && desired.Kind == template.List:
		w.lists(path, old, desired, at)
	default:
		w.note(path, old, desired)
	}
}

func (w *properties) lists(path []string, old, desired *template.Node, at *schema.Property) {
	if at != nil && at.Unordered && sameElements(old, desired) {
		// An unordered list has another order: CloudFormation updates the resource without
		// replacing it.
		w.changes = append(w.changes, PropertyChange{Path: strings.Join(path, "/"), Old: old, New: desired})
		return
	}
	if len(old.Items) != len(desired.Items) || !slices.Equal(elementKeys(old, at), elementKeys(desired, at)) {
		w.note(path, old, desired)
		return
	}
	for i := range old.Items {
		w.compare(append(slices.Clone(path), itoa(i)), old.Items[i], desired.Items[i])
	}
}

func sameElements(a, b *template.Node) bool {
	if len(a.Items) != len(b.Items) {
		return false
	}
	rest := slices.Clone(b.Items)
	for _, item := range a.Items {
		i := slices.IndexFunc(rest, func(other *template.Node) bool { return equal(item, other, nil) })
		if i < 0 {
			return false
		}
		rest = slices.Delete(rest, i, i+1)
	}
	return true
}

// elementKeys returns the keys that identify the elements of a list. It returns nil if the schema has
// no keys for them, if an element has none, or if two have the same.
func elementKeys(list *template.Node, at *schema.Property) []string {
	if at == nil || len(at.UniqueKeys) == 0 || list == nil || list.Kind != template.List {
		return nil
	}
	all := make([]string, 0, len(list.Items))
	for _, item := range list.Items {
		values := make([]string, len(at.UniqueKeys))
		for i, name := range at.UniqueKeys {
			value, ok := item.Get(name).Scalar()
			if !ok {
				return nil
			}
			values[i] = value
		}
		key := strings.Join(values, "\x00")
		if slices.Contains(all, key) {
			return nil
		}
		all = append(all, key)
	}
	return all
}

// inBoth returns the elements that both lists have by their keys, in the same order: adding or
// removing an element does not change the others. It returns other values as they are.
func inBoth(old, desired *template.Node, at *schema.Property) (before, after *template.Node) {
	oldKeys, desiredKeys := elementKeys(old, at), elementKeys(desired, at)
	if oldKeys == nil || desiredKeys == nil {
		return old, desired
	}
	before, after = &template.Node{Kind: template.List}, &template.Node{Kind: template.List}
	for i, key := range desiredKeys {
		if was := slices.Index(oldKeys, key); was >= 0 {
			before.Items, after.Items = append(before.Items, old.Items[was]), append(after.Items, desired.Items[i])
		}
	}
	return before, after
}

func (w *properties) schema(path []string) *schema.Property {
	if w.t == nil {
		return nil
	}
	return w.t.At(path)
}

// note adds a change and its effect on the resource.
func (w *properties) note(path []string, old, desired *template.Node) {
	change := PropertyChange{Path: strings.Join(path, "/"), Old: old, New: desired}
	if w.t != nil && !hiddenFromUs(desired) {
		before, after := inBoth(old, desired, w.schema(path))
		change.ForcesReplacement = replaces(w.t.CreateOnly, path, before, after)
		change.MayReplace = !change.ForcesReplacement && replaces(w.t.ConditionalCreateOnly, path, before, after)
	}
	w.changes = append(w.changes, change)
}

// hiddenFromUs reports whether a value may or may not differ, because CloudFormation hides the
// deployed one. The digest of what was applied decides whether to update at all; reporting a
// replacement would block every other update.
func hiddenFromUs(n *template.Node) bool {
	text, _ := n.Scalar()
	return strings.Contains(text, MaybeNewSecret)
}

// replaces reports whether a change at path changes a property that one of the pointers names: at
// or above path, or below it with a different value.
func replaces(pointers, path []string, old, desired *template.Node) bool {
	for _, pointer := range pointers {
		below, ok := schema.Below(strings.Split(pointer, "/"), path)
		if ok && (len(below) == 0 || !slices.EqualFunc(valuesAt(old, below), valuesAt(desired, below),
			func(a, b *template.Node) bool { return equal(a, b, nil) })) {
			return true
		}
	}
	return false
}

// valuesAt returns the values at a pointer below n.
func valuesAt(n *template.Node, pointer []string) []*template.Node {
	switch {
	case n == nil:
		return nil
	case len(pointer) == 0, n.Kind == template.Intrinsic:
		return []*template.Node{n}
	case n.Kind == template.List:
		var found []*template.Node
		below := pointer
		if pointer[0] == "*" {
			below = pointer[1:]
		}
		for _, item := range n.Items {
			found = append(found, valuesAt(item, below)...)
		}
		return found
	case n.Kind == template.Map && pointer[0] == "*":
		var found []*template.Node
		for _, key := range keys(n, nil) {
			found = append(found, valuesAt(n.Get(key), pointer[1:])...)
		}
		return found
	default:
		return valuesAt(n.Get(pointer[0]), pointer[1:])
	}
}

func keys(a, b *template.Node) []string {
	var all []string
	for _, n := range []*template.Node{a, b} {
		if n == nil {
			continue
		}
		for i := range n.Fields {
			all = append(all, n.Fields[i].Key)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// attributes compares a resource's attributes besides its properties. DependsOn and Condition have
// no effect of their own.
func (w *properties) attributes(old, desired *side, id string) {
	a, b := old.resources[id], desired.resources[id]
	for _, one := range []struct {
		name         string
		old, desired *template.Node
	}{
		{"CreationPolicy", old.resolver.node(a.CreationPolicy), desired.resolver.node(b.CreationPolicy)},
		{"DeletionPolicy", textNode(a.DeletionPolicy), textNode(b.DeletionPolicy)},
		{"Metadata", old.resolver.node(a.Metadata), desired.resolver.node(b.Metadata)},
		{"UpdatePolicy", old.resolver.node(a.UpdatePolicy), desired.resolver.node(b.UpdatePolicy)},
		{"UpdateReplacePolicy", textNode(a.UpdateReplacePolicy), textNode(b.UpdateReplacePolicy)},
	} {
		if !equal(one.old, one.desired, nil) {
			w.changes = append(w.changes, PropertyChange{Path: "." + one.name, Old: one.old, New: one.desired})
		}
	}
}

func textNode(text string) *template.Node {
	if text == "" {
		return nil
	}
	return template.NewString(text)
}

// equal reports whether CloudFormation considers two values equal: scalars by their text, and
// numbers and booleans by their value where the schema has these types.
func equal(a, b *template.Node, at *schema.Property) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.IsScalar() && b.IsScalar() {
		return equalScalars(a, b, at)
	}
	if a.Kind != b.Kind {
		return false
	}
	switch a.Kind {
	case template.List:
		return slices.EqualFunc(a.Items, b.Items, func(x, y *template.Node) bool { return equal(x, y, nil) })
	case template.Map:
		for _, key := range keys(a, b) {
			if !equal(a.Get(key), b.Get(key), nil) {
				return false
			}
		}
		return true
	case template.Intrinsic:
		return a.Func == b.Func && equal(a.Arg, b.Arg, nil)
	default:
		return true
	}
}

func equalScalars(a, b *template.Node, at *schema.Property) bool {
	x, _ := a.Scalar()
	y, _ := b.Scalar()
	if x == y {
		return true
	}
	numeric := a.Kind == template.Number && b.Kind == template.Number
	if at != nil && len(at.Types) > 0 && !at.Allows("string") {
		if at.Allows("boolean") && strings.EqualFold(x, y) {
			return true
		}
		numeric = true
	}
	if !numeric {
		return false
	}
	m, errM := strconv.ParseFloat(x, 64)
	n, errN := strconv.ParseFloat(y, 64)
	return errM == nil && errN == nil && m == n
}

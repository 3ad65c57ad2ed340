package pattern

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Pattern is a parsed event pattern.
type Pattern struct{ root group }

// group is one object of a pattern: every field must match, and at least one alternative of each
// $or.
type group struct {
	fields map[string]field
	ors    [][]group
}

// field is either a nested object or a list of conditions, of which one must hold.
type field struct {
	nested     *group
	conditions []condition
}

// Parse parses a pattern. It returns an error for patterns that AWS rejects as invalid: values that
// are not lists, unknown operators, empty objects.
func Parse(text string) (*Pattern, error) {
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.UseNumber()
	var tree map[string]any
	if err := decoder.Decode(&tree); err != nil {
		return nil, fmt.Errorf("event pattern is not a JSON object: %w", err)
	}
	root, err := parseGroup(tree)
	if err != nil {
		return nil, err
	}
	return &Pattern{*root}, nil
}

func parseGroup(tree map[string]any) (*group, error) {
	if len(tree) == 0 {
		return nil, fmt.Errorf("empty objects are not allowed")
	}
	g := &group{fields: map[string]field{}}
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		if alternatives, ok := tree[name].([]any); ok && name == "$or" {
			or, err := parseOr(alternatives)
			if err != nil {
				return nil, err
			}
			g.ors = append(g.ors, or)
			continue
		}
		f, err := parseField(name, tree[name])
		if err != nil {
			return nil, err
		}
		g.fields[name] = f
	}
	return g, nil
}

func parseOr(alternatives []any) ([]group, error) {
	var or []group
	for _, a := range alternatives {
		object, ok := a.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("$or takes a list of objects")
		}
		g, err := parseGroup(object)
		if err != nil {
			return nil, err
		}
		or = append(or, *g)
	}
	if len(or) < 2 {
		return nil, fmt.Errorf("there must have at least 2 Objects in $or relationship")
	}
	return or, nil
}

func parseField(name string, value any) (field, error) {
	switch v := value.(type) {
	case map[string]any:
		nested, err := parseGroup(v)
		if err != nil {
			return field{}, fmt.Errorf("%s: %w", name, err)
		}
		return field{nested: nested}, nil
	case []any:
		var conditions []condition
		for _, item := range v {
			c, err := parseCondition(item)
			if err != nil {
				return field{}, fmt.Errorf("%s: %w", name, err)
			}
			conditions = append(conditions, c)
		}
		if len(conditions) == 0 {
			return field{}, fmt.Errorf("%s: empty arrays are not allowed", name)
		}
		return field{conditions: conditions}, nil
	default:
		return field{}, fmt.Errorf("%q must be an object or an array", name)
	}
}

// Match reports whether a document matches. The document has the types that encoding/json decodes
// to.
func (p *Pattern) Match(document map[string]any) bool { return p.root.match(document) }

// MayMatch reports whether a document of which only some top-level fields are known can match: it
// returns false if a known field does not match.
func (p *Pattern) MayMatch(known map[string]any) bool {
	for name, value := range known {
		if f, ok := p.root.fields[name]; ok && !f.match(value, true) {
			return false
		}
	}
	return true
}

// MatchJSON reports whether a JSON object matches. Text that is not a JSON object does not match.
func (p *Pattern) MatchJSON(text []byte) bool {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var document map[string]any
	return decoder.Decode(&document) == nil && p.Match(document)
}

func (g *group) match(document map[string]any) bool {
	for name, f := range g.fields {
		value, present := document[name]
		if !f.match(value, present) {
			return false
		}
	}
	for _, or := range g.ors {
		if !slices.ContainsFunc(or, func(a group) bool { return a.match(document) }) {
			return false
		}
	}
	return true
}

func (f field) match(value any, present bool) bool {
	if f.nested != nil {
		return f.matchNested(value)
	}
	values, isList := value.([]any)
	if !isList {
		values = []any{value}
	}
	_, isObject := value.(map[string]any)
	present = present && !isObject // exists applies only to leaves
	for _, c := range f.conditions {
		if !present || isList && len(values) == 0 {
			if c(nil, false) {
				return true
			}
			continue
		}
		if slices.ContainsFunc(values, func(v any) bool { return c(v, true) }) {
			return true
		}
	}
	return false
}

// matchNested matches an object, or any object in a list.
func (f field) matchNested(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		return f.nested.match(v)
	case []any:
		return slices.ContainsFunc(v, f.matchNested)
	default:
		// The object is absent: only "exists": false can hold below it.
		return f.nested.match(nil)
	}
}

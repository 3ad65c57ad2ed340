package simulated

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
)

// maxDepth limits schemas that require themselves.
const maxDepth = 16

// MinimalProperties generates the smallest properties that the schema accepts: the required ones,
// with values that match enums, patterns, formats and bounds. It returns an error if the schema
// contradicts itself or requires values that cannot be generated.
func MinimalProperties(t *schema.Type) (map[string]any, error) {
	if t.Root == nil {
		return nil, fmt.Errorf("%s has no properties in its schema", t.Name)
	}
	g := generator{t: t}
	value, err := g.make(t.Root, "", 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.Name, err)
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s: its schema does not describe an object", t.Name)
	}
	for _, path := range t.ReadOnly {
		if !slices.Contains(t.Root.Required, path) {
			delete(object, path)
		}
	}
	if problems := Validate(t, object); len(problems) > 0 {
		return nil, fmt.Errorf("%s: generated properties are not valid: %s", t.Name, strings.Join(problems, ", "))
	}
	return object, nil
}

// hints are values that a service requires although its schema does not.
var hints = map[string]any{cacheClusterType + "/Engine": "redis"}

type generator struct {
	t    *schema.Type
	seed int
}

func (g *generator) make(p *schema.Property, name string, depth int) (any, error) {
	p = g.t.Resolve(p)
	if p == nil {
		return "example", nil
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("%s: the schema requires itself", name)
	}
	if len(p.AllOf) > 0 {
		p = g.merged(p, p.AllOf...)
	}
	if v, ok := hints[g.t.Name+"/"+name]; ok {
		return v, nil
	}
	if v, ok := g.fixed(p); ok {
		return v, nil
	}
	branches := p.OneOf
	if len(branches) == 0 {
		branches = p.AnyOf
	}
	if len(branches) == 0 {
		return g.plain(p, name, depth)
	}
	return g.anyBranch(p, branches, name, depth)
}

// anyBranch tries the schema alone and then together with each branch of its combination, and
// returns the first valid value.
func (g *generator) anyBranch(p *schema.Property, branches []*schema.Property, name string, depth int) (any, error) {
	bare := *p
	bare.OneOf, bare.AnyOf = nil, nil
	candidates := []*schema.Property{&bare}
	for _, branch := range branches {
		candidates = append(candidates, g.merged(&bare, branch))
	}
	for _, branch := range branches { // an empty object may match several branches, one with a property does not
		if b := g.t.Resolve(branch); b != nil {
			for _, name := range slices.Sorted(maps.Keys(b.Properties)) {
				whole := g.merged(&bare, branch)
				whole.Required = append(whole.Required, name)
				candidates = append(candidates, whole)
			}
		}
	}
	var firstErr error
	for _, candidate := range candidates {
		v, err := g.make(candidate, name, depth+1)
		if err == nil {
			check := validator{t: g.t}
			check.check("#", p, v)
			if len(check.problems) == 0 {
				return v, nil
			}
			err = fmt.Errorf("%s: %s", name, strings.Join(check.problems, ", "))
		}
		if firstErr == nil {
			firstErr = err
		}
	}
	return nil, firstErr
}

// merged returns p merged with other schemas.
func (g *generator) merged(p *schema.Property, others ...*schema.Property) *schema.Property {
	out := *p
	out.AllOf = nil
	out.Properties = maps.Clone(p.Properties)
	out.Required = slices.Clone(p.Required)
	for _, other := range others {
		o := g.t.Resolve(other)
		if o == nil {
			continue
		}
		if len(o.Types) > 0 {
			out.Types = o.Types
		}
		for name, child := range o.Properties {
			if out.Properties == nil {
				out.Properties = map[string]*schema.Property{}
			}
			if have, ok := out.Properties[name]; ok {
				child = g.merged(g.t.Resolve(have), child)
			}
			out.Properties[name] = child
		}
		out.Required = append(out.Required, o.Required...)
		mergeValues(&out, o)
	}
	return &out
}

func mergeValues(out, o *schema.Property) {
	if len(o.Enum) > 0 {
		out.Enum = o.Enum
	}
	if o.Const != nil {
		out.Const = o.Const
	}
	if o.Pattern != "" {
		out.Pattern = o.Pattern
	}
	if o.Format != "" {
		out.Format = o.Format
	}
	if o.Items != nil {
		out.Items = o.Items
	}
	if o.MinItems != nil {
		out.MinItems = o.MinItems
	}
	if o.MinLength != nil {
		out.MinLength = o.MinLength
	}
	out.OneOf = append(slices.Clone(out.OneOf), o.OneOf...)
	out.AnyOf = append(slices.Clone(out.AnyOf), o.AnyOf...)
	out.RequiredXor = append(slices.Clone(out.RequiredXor), o.RequiredXor...)
	out.RequiredOr = append(slices.Clone(out.RequiredOr), o.RequiredOr...)
	if len(o.PatternProperties) > 0 {
		out.PatternProperties = o.PatternProperties
	}
}

// fixed returns a value that the schema lists.
func (g *generator) fixed(p *schema.Property) (any, bool) {
	if p.Const != nil {
		return p.Const, true
	}
	for _, list := range [][]any{p.Enum, p.EnumCaseInsensitive} {
		if len(list) > 0 {
			return list[g.seed%len(list)], true
		}
	}
	return nil, false
}

func (g *generator) plain(p *schema.Property, name string, depth int) (any, error) {
	switch kindOf(p) {
	case "object":
		return g.object(p, name, depth)
	case "array":
		return g.array(p, name, depth)
	case "integer", "number":
		return g.number(p), nil
	case "boolean":
		return true, nil
	case "null":
		return nil, nil
	}
	return g.text(p, name)
}

func kindOf(p *schema.Property) string {
	if len(p.Types) > 0 {
		return p.Types[0]
	}
	switch {
	case len(p.Properties) > 0 || len(p.Required) > 0 || len(p.PatternProperties) > 0 || len(p.RequiredXor) > 0 || p.MinProperties != nil:
		return "object"
	case p.Items != nil:
		return "array"
	}
	return "string"
}

func (g *generator) object(p *schema.Property, name string, depth int) (any, error) {
	out := map[string]any{}
	wanted := slices.Clone(p.Required)
	if len(p.RequiredXor) > 0 && !slices.ContainsFunc(p.RequiredXor, func(n string) bool { return slices.Contains(wanted, n) }) {
		wanted = append(wanted, p.RequiredXor[0])
	}
	if len(p.RequiredOr) > 0 && !slices.ContainsFunc(p.RequiredOr, func(n string) bool { return slices.Contains(wanted, n) }) {
		wanted = append(wanted, p.RequiredOr[0])
	}
	for i := 0; i < len(wanted); i++ {
		field := wanted[i]
		if _, done := out[field]; done {
			continue
		}
		v, err := g.make(g.field(p, field), join(name, field), depth+1)
		if err != nil {
			return nil, err
		}
		out[field] = v
		wanted = append(wanted, p.DependentRequired[field]...)
	}
	if p.MinProperties == nil || len(out) >= *p.MinProperties {
		return out, nil
	}
	return g.fill(p, out, name, depth)
}

func (g *generator) field(p *schema.Property, name string) *schema.Property {
	return member(g.t, p, name, 0)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "/" + name
}

// fill adds properties until the required minimum is reached.
func (g *generator) fill(p *schema.Property, out map[string]any, name string, depth int) (any, error) {
	missing := func() bool { return len(out) < *p.MinProperties }
	add := func(field string, child *schema.Property) error {
		v, err := g.make(child, join(name, field), depth+1)
		if err == nil {
			out[field] = v
		}
		return err
	}
	for _, field := range slices.Sorted(maps.Keys(p.Properties)) {
		if _, done := out[field]; missing() && !done {
			_ = add(field, p.Properties[field]) // If this one cannot be generated, another may suffice.
		}
	}
	for pattern, child := range p.PatternProperties {
		for key := range examples(pattern, 5) {
			if !missing() {
				break
			}
			if err := add(key, child); err != nil {
				return nil, err
			}
		}
	}
	for i := 0; missing() && !p.Closed; i++ {
		if err := add("Key"+strconv.Itoa(i), p.AdditionalProperties); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// examples returns up to n strings that match a pattern.
func examples(pattern string, n int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range n {
			if text, ok := example(pattern, 1, -1, i); ok && !yield(text) {
				return
			}
		}
	}
}

func (g *generator) array(p *schema.Property, name string, depth int) (any, error) {
	out := []any{}
	n := len(p.PrefixItems)
	if p.MinItems != nil {
		n = max(n, *p.MinItems)
	}
	before := g.seed
	defer func() { g.seed = before }()
	for i := range n {
		item := p.Items
		if i < len(p.PrefixItems) {
			item = p.PrefixItems[i]
		}
		v, err := g.make(item, join(name, strconv.Itoa(i)), depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
		g.seed++
	}
	return out, nil
}

func (g *generator) number(p *schema.Property) any {
	n := 1.0
	if p.Minimum != nil {
		n = math.Max(n, *p.Minimum)
	}
	if p.ExclusiveMinimum != nil && n <= *p.ExclusiveMinimum {
		n = *p.ExclusiveMinimum + 1
	}
	n += float64(g.seed)
	if p.Maximum != nil {
		n = math.Min(n, *p.Maximum)
	}
	if p.ExclusiveMaximum != nil && n >= *p.ExclusiveMaximum {
		n = *p.ExclusiveMaximum / 2
	}
	if p.MultipleOf != nil && *p.MultipleOf > 0 {
		n = math.Ceil(n / *p.MultipleOf) * *p.MultipleOf
	}
	return json.Number(strconv.FormatFloat(n, 'f', -1, 64))
}

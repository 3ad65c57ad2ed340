package schema

import "slices"

// Resolve follows a $ref and keeps other keywords beside it. It returns p itself if p is no $ref,
// and an empty Property, which allows anything, if the target does not exist or refers to itself.
func (t *Type) Resolve(p *Property) *Property {
	for range 16 {
		if p == nil {
			return &Property{}
		}
		if p.Ref == "" {
			return p
		}
		target := t.target(p.Ref)
		if target != nil && p.beside && target.Ref == "" {
			return merge(target, p)
		}
		p = target
	}
	return &Property{}
}

func (t *Type) target(ref string) *Property {
	switch section, name := definition(ref); section {
	case "definitions":
		return t.Definitions[name]
	case "properties":
		return t.Root.Properties[name]
	default:
		return nil
	}
}

// merge returns the target of a $ref with the keywords beside the $ref.
func merge(target, beside *Property) *Property {
	merged := *target
	if len(target.Types) == 0 {
		// Some schemas say "object" beside a $ref to a string: the target is right.
		merged.Types = beside.Types
	}
	if beside.Default != nil {
		merged.Default = beside.Default
	}
	if beside.Format != "" {
		merged.Format = beside.Format
	}
	merged.UniqueItems = merged.UniqueItems || beside.UniqueItems
	merged.MinItems, merged.MaxItems = either(beside.MinItems, target.MinItems), either(beside.MaxItems, target.MaxItems)
	merged.MinLength, merged.MaxLength = either(beside.MinLength, target.MinLength), either(beside.MaxLength, target.MaxLength)
	merged.MaxProperties = either(beside.MaxProperties, target.MaxProperties)
	return &merged
}

func either(first, second *int) *int {
	if first != nil {
		return first
	}
	return second
}

// Child returns the schema of a member of an object, or of the elements of an array for any name;
// nil if p has none. It searches combinations and does not resolve the $ref of its result.
func (t *Type) Child(p *Property, name string) *Property {
	return t.child(p, name, 0)
}

func (t *Type) child(p *Property, name string, depth int) *Property {
	p = t.Resolve(p)
	if child := p.Properties[name]; child != nil {
		return child
	}
	for _, pattern := range sortedKeys(p.PatternProperties) {
		if expression := compile(pattern); expression != nil && expression.MatchString(name) {
			return p.PatternProperties[pattern]
		}
	}
	if p.Items != nil {
		return p.Items
	}
	if depth > 4 {
		return nil
	}
	for _, branch := range slices.Concat(p.AllOf, p.AnyOf, p.OneOf) {
		if child := t.child(branch, name, depth+1); child != nil {
			return child
		}
	}
	return p.AdditionalProperties
}

// At returns the schema at a path from [Type.CreateOnly] or a similar list, split at slashes; nil
// if there is none.
func (t *Type) At(path []string) *Property {
	current := t.Root
	for _, name := range path {
		if current = t.Child(current, name); current == nil {
			return nil
		}
	}
	return t.Resolve(current)
}

// Visit is one position in a type's schema.
type Visit struct {
	// Path from the root; "*" stands for elements of an array or a map.
	Path []string
	// Property is the schema there, with its $ref resolved.
	Property *Property
	// Ref is the $ref that led here, or empty.
	Ref string
	// Required means that the containing object requires it.
	Required bool
	// Recursive means that the position is within another one of the same $ref; Walk does not
	// descend.
	Recursive bool
}

// Walk calls visit for the properties of the type and everything below, parents first and sorted by
// name. It does not descend where visit returns false.
func (t *Type) Walk(visit func(Visit) bool) {
	w := &walker{t: t, visit: visit}
	w.below(nil, t.Root)
}

type walker struct {
	t     *Type
	visit func(Visit) bool
	// refs are the $refs on the path.
	refs []string
}

func (w *walker) at(path []string, p *Property, required bool) {
	here := Visit{Path: path, Property: w.t.Resolve(p), Ref: p.Ref, Required: required}
	here.Recursive = p.Ref != "" && slices.Contains(w.refs, p.Ref)
	if !w.visit(here) || here.Recursive {
		return
	}
	if p.Ref != "" {
		w.refs = append(w.refs, p.Ref)
		defer func() { w.refs = w.refs[:len(w.refs)-1] }()
	}
	w.below(path, here.Property)
}

func (w *walker) below(path []string, p *Property) {
	for _, name := range p.Names() {
		w.at(append(slices.Clone(path), name), p.Properties[name], slices.Contains(p.Required, name))
	}
	each := append(slices.Clone(path), "*")
	if p.Items != nil {
		w.at(each, p.Items, false)
	}
	for _, pattern := range sortedKeys(p.PatternProperties) {
		w.at(each, p.PatternProperties[pattern], false)
	}
	if p.AdditionalProperties != nil {
		w.at(each, p.AdditionalProperties, false)
	}
	for _, branch := range slices.Concat(p.AllOf, p.AnyOf, p.OneOf) {
		if branch.Ref == "" || !slices.Contains(w.refs, branch.Ref) {
			w.branch(path, branch)
		}
	}
}

// branch visits what a combination adds at the same position.
func (w *walker) branch(path []string, branch *Property) {
	if branch.Ref != "" {
		w.refs = append(w.refs, branch.Ref)
		defer func() { w.refs = w.refs[:len(w.refs)-1] }()
	}
	w.below(path, w.t.Resolve(branch))
}

// Recursive reports whether p can contain itself.
func (t *Type) Recursive(p *Property) bool {
	if p == nil || p.Ref == "" {
		return false
	}
	found := false
	w := &walker{t: t, refs: []string{p.Ref}}
	w.visit = func(v Visit) bool {
		found = found || v.Ref == p.Ref
		return !found
	}
	w.below(nil, t.Resolve(p))
	return found
}

func sortedKeys(m map[string]*Property) []string {
	if len(m) == 0 {
		return nil
	}
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

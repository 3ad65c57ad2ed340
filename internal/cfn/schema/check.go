package schema

import (
	"slices"
	"strconv"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// check validates one resource against its type.
type check struct {
	v        *validator
	resource *template.Resource
	t        *Type
	problems template.Problems
	// depth counts combinations within combinations.
	depth int
}

// maxDepth limits how deep combinations are followed, since schemas may refer to themselves.
const maxDepth = 32

func (c *check) problem(pos template.Position, path []string, message, suggestion string) {
	full := "Resources/" + c.resource.LogicalID + "/Properties"
	if len(path) > 0 {
		full += "/" + strings.Join(path, "/")
	}
	c.problems = append(c.problems, template.Problem{Pos: pos, Path: full, Message: message, Suggestion: suggestion})
}

// subject names a property as messages do: "AWS::SQS::Queue property DelaySeconds".
func (c *check) subject(path []string) string {
	return c.t.Name + " property " + strings.Join(path, "/")
}

// in names the property of an object, for messages about its members.
func in(path []string) string {
	if len(path) == 0 {
		return ""
	}
	return " in " + strings.Join(path, "/")
}

// value validates every possible value of n against a schema.
func (c *check) value(n *template.Node, p *Property, path []string) {
	resolved := c.t.Resolve(p)
	for _, one := range c.v.results(n) {
		if one.node == nil {
			c.computed(one, resolved, path)
			continue
		}
		c.literal(one.node, resolved, path)
	}
}

// computed validates a value of which only the type is known.
func (c *check) computed(one result, p *Property, path []string) {
	allowed := c.t.typesOf(p, 0)
	if len(allowed) == 0 || len(one.types) == 0 || slices.Contains(p.Types, "object") && p.Format == "json" {
		return
	}
	if slices.ContainsFunc(one.types, func(have string) bool { return fits(have, allowed) }) {
		if one.types.only("array") && p.Items != nil && len(one.items) > 0 {
			c.computedItems(one, p, path)
		}
		return
	}
	c.problem(one.pos, path, c.subject(path)+" must be "+oneOfTypes(allowed)+"; "+one.source+" is "+oneOfTypes(one.types), "")
}

func (c *check) computedItems(one result, p *Property, path []string) {
	allowed := c.t.typesOf(c.t.Resolve(p.Items), 0)
	if len(allowed) == 0 || slices.ContainsFunc(one.items, func(have string) bool { return fits(have, allowed) }) {
		return
	}
	c.problem(one.pos, path, c.subject(path)+" must be a list of "+plural(allowed)+"; "+one.source+" is a list of "+plural(one.items), "")
}

// fits reports whether CloudFormation accepts a value of one type as another: it converts scalars.
func fits(have string, allowed []string) bool {
	if slices.Contains(allowed, have) {
		return true
	}
	return isScalar(have) && slices.ContainsFunc(allowed, isScalar)
}

func isScalar(jsonType string) bool {
	return jsonType == "string" || jsonType == "number" || jsonType == "integer" || jsonType == "boolean"
}

// literal validates a value in the template.
func (c *check) literal(n *template.Node, p *Property, path []string) {
	if n.Kind == template.Null || c.depth > maxDepth {
		return
	}
	before := len(c.problems)
	switch n.Kind {
	case template.Map:
		if c.kind(n, p, path, "object") {
			c.object(n, p, path)
		}
	case template.List:
		if c.kind(n, p, path, "array") {
			c.array(n, p, path)
		}
	default:
		c.scalar(n, p, path)
	}
	if len(c.problems) == before && n.Kind != template.Map {
		c.combinations(n, p, path)
	}
}

func (c *check) kind(n *template.Node, p *Property, path []string, jsonType string) bool {
	if p.Allows(jsonType) || len(p.Types) == 0 {
		return true
	}
	c.problem(n.Pos, path, c.subject(path)+" must be "+oneOfTypes(p.Types)+", not a "+n.Kind.String(), "")
	return false
}

func (c *check) array(n *template.Node, p *Property, path []string) {
	certain := true
	for i, item := range n.Items {
		below := append(slices.Clone(path), index(i))
		certain = certain && item.Kind != template.Intrinsic
		switch {
		case i < len(p.PrefixItems):
			c.value(item, p.PrefixItems[i], below)
		case p.Items != nil:
			c.value(item, p.Items, below)
		}
	}
	if p.MaxItems != nil && len(n.Items) > *p.MaxItems && certain {
		c.problem(n.Pos, path, c.subject(path)+" must not have more than "+count(*p.MaxItems, "item")+"; it has "+index(len(n.Items)), "")
	}
	if p.MinItems != nil && len(n.Items) < *p.MinItems && certain {
		c.problem(n.Pos, path, c.subject(path)+" must have at least "+count(*p.MinItems, "item")+"; it has "+index(len(n.Items)), "")
	}
	if p.UniqueItems {
		c.unique(n, path)
	}
}

// unique reports duplicate literal elements.
func (c *check) unique(n *template.Node, path []string) {
	for i, item := range n.Items {
		if !item.IsScalar() {
			continue
		}
		if slices.ContainsFunc(n.Items[:i], func(other *template.Node) bool { return template.Equal(item, other) }) {
			text, _ := item.Scalar()
			c.problem(item.Pos, path, c.subject(path)+" has "+text+" twice", "")
		}
	}
}

// object validates the members of a map.
func (c *check) object(n *template.Node, p *Property, path []string) {
	if slices.ContainsFunc(n.Fields, func(f template.Field) bool { return template.IsMacroKey(f.Key) }) {
		// What a macro adds is unknown; what is written is still validated.
		q := *p
		q.Required, q.RequiredXor, q.RequiredOr = nil, nil, nil
		p = &q
	}
	start := len(c.problems)
	for _, field := range n.Fields {
		if !template.IsMacroKey(field.Key) {
			c.member(n, p, path, field)
		}
	}
	before := len(c.problems)
	c.required(n, p, path, c.problems[start:before])
	c.exclusions(n, p, path)
	if p.MaxProperties != nil && len(n.Fields) > *p.MaxProperties {
		c.problem(n.Pos, path, c.t.Name+" allows no more than "+count(*p.MaxProperties, "member")+in(path), "")
	}
	if p.MinProperties != nil && len(n.Fields) < *p.MinProperties {
		c.problem(n.Pos, path, c.t.Name+" needs at least "+count(*p.MinProperties, "member")+in(path), "")
	}
	if len(c.problems) == before {
		c.combinations(n, p, path)
	}
}

// member validates one member of a map: whether it is allowed, and its value.
func (c *check) member(n *template.Node, p *Property, path []string, field template.Field) {
	below := append(slices.Clone(path), field.Key)
	if c.t.IsReadOnly(below) && !field.Value.IsNoValue() {
		c.problem(field.KeyPos, below, c.subject(below)+" is read-only: AWS sets it", "")
		return
	}
	if known := p.Properties[field.Key]; known != nil {
		c.value(field.Value, known, below)
		return
	}
	for _, pattern := range sortedKeys(p.PatternProperties) {
		expression := compile(pattern)
		if expression == nil || expression.MatchString(field.Key) {
			c.value(field.Value, p.PatternProperties[pattern], below)
			return
		}
	}
	if p.AdditionalProperties != nil {
		c.value(field.Value, p.AdditionalProperties, below)
		return
	}
	if !p.Closed || len(p.Properties) == 0 && len(p.PatternProperties) == 0 || c.inCombination(p, field.Key) {
		return
	}
	if len(p.Properties) == 0 {
		c.problem(field.KeyPos, below, c.subject(path)+" cannot have the name "+strconv.Quote(shorten(field.Key))+
			": names must match "+strings.Join(sortedKeys(p.PatternProperties), " or "), "")
		return
	}
	c.problem(field.KeyPos, below, c.t.Name+" has no property "+field.Key+in(path), template.Closest(field.Key, absent(p, n)))
}

// absent lists the properties that are not set, which an unknown one may be meant to be.
func absent(p *Property, n *template.Node) []string {
	return slices.DeleteFunc(p.Names(), func(name string) bool { return n.Get(name) != nil })
}

// inCombination reports whether a branch of p knows the property.
func (c *check) inCombination(p *Property, name string) bool {
	for _, branch := range slices.Concat(p.AllOf, p.AnyOf, p.OneOf) {
		if c.t.Resolve(branch).Properties[name] != nil {
			return true
		}
	}
	return false
}

// required reports missing properties, except those that are only misspelled.
func (c *check) required(n *template.Node, p *Property, path []string, found template.Problems) {
	for _, name := range p.Required {
		misspelt := slices.ContainsFunc(found, func(one template.Problem) bool { return one.Suggestion == name })
		if !given(n, name) && !misspelt {
			c.problem(n.Pos, path, c.t.Name+" requires property "+name+in(path), "")
		}
	}
	if len(p.RequiredXor) > 0 {
		switch present := givenOf(n, p.RequiredXor); {
		case len(present) == 0:
			c.problem(n.Pos, path, c.t.Name+" requires one of the properties "+strings.Join(p.RequiredXor, ", ")+in(path), "")
		case len(present) > 1 && certainlyGiven(n, present):
			c.problem(n.Pos, path, c.t.Name+" allows only one of the properties "+strings.Join(present, ", ")+in(path), "")
		}
	}
	if len(p.RequiredOr) > 0 && len(givenOf(n, p.RequiredOr)) == 0 {
		c.problem(n.Pos, path, c.t.Name+" requires one of the properties "+strings.Join(p.RequiredOr, ", ")+in(path), "")
	}
}

func (c *check) exclusions(n *template.Node, p *Property, path []string) {
	for _, field := range n.Fields {
		if !certainlyGiven(n, []string{field.Key}) {
			continue
		}
		for _, needed := range p.DependentRequired[field.Key] {
			if !given(n, needed) {
				c.problem(field.KeyPos, path, c.t.Name+" requires property "+needed+" together with "+field.Key+in(path), "")
			}
		}
		for _, excluded := range p.DependentExcluded[field.Key] {
			if field.Key < excluded && certainlyGiven(n, []string{excluded}) {
				c.problem(field.KeyPos, path, c.t.Name+" does not allow property "+excluded+" together with "+field.Key+in(path), "")
			}
		}
	}
}

// given reports whether a member may have a value.
func given(n *template.Node, name string) bool {
	value := n.Get(name)
	return value != nil && !value.IsNoValue() && value.Kind != template.Null
}

func givenOf(n *template.Node, names []string) []string {
	var present []string
	for _, name := range names {
		if given(n, name) {
			present = append(present, name)
		}
	}
	return present
}

// certainlyGiven reports whether members have values under all conditions.
func certainlyGiven(n *template.Node, names []string) bool {
	for _, name := range names {
		value := n.Get(name)
		if value == nil || value.IsNoValue() || value.Kind == template.Intrinsic && value.Func == "Fn::If" {
			return false
		}
	}
	return true
}

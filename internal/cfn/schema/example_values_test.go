package schema_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// minimal creates a value with exactly what a schema requires. Strings are parameters, because
// generating strings that match patterns is hard.
type minimal struct{ t *schema.Type }

func (m minimal) value(p *schema.Property, path []string) *template.Node {
	p = m.t.Resolve(p)
	for _, choices := range [][]any{p.Enum, p.EnumCaseInsensitive} {
		if len(choices) > 0 {
			return template.FromInterface(choices[0])
		}
	}
	if p.Const != nil {
		return template.FromInterface(p.Const)
	}
	switch kind := m.kind(p); kind {
	case "object":
		return m.object(p, path)
	case "array":
		return m.array(p, path)
	case "boolean":
		return template.NewBool(true)
	case "integer", "number":
		for _, limit := range []*float64{p.Minimum, p.Maximum} {
			if limit != nil {
				return template.FromInterface(*limit)
			}
		}
		return template.NewNumber("1")
	case "branch":
		return m.value(slices.Concat(p.OneOf, p.AnyOf, p.AllOf)[0], path)
	default:
		return template.NewRef("P")
	}
}

func (m minimal) kind(p *schema.Property) string {
	switch {
	case len(p.Types) > 0:
		return p.Types[0]
	case len(p.Properties)+len(p.PatternProperties) > 0:
		return "object"
	case len(p.OneOf)+len(p.AnyOf)+len(p.AllOf) > 0:
		return "branch"
	default:
		return "string"
	}
}

func (m minimal) array(p *schema.Property, path []string) *template.Node {
	list := template.NewList()
	if p.MinItems == nil || len(path) > 16 {
		return list
	}
	for i := range *p.MinItems {
		item := p.Items
		if i < len(p.PrefixItems) {
			item = p.PrefixItems[i]
		}
		if item == nil {
			item = &schema.Property{}
		}
		list.Items = append(list.Items, m.value(item, append(slices.Clone(path), "*")))
	}
	return list
}

func (m minimal) object(p *schema.Property, path []string) *template.Node {
	node := &template.Node{Kind: template.Map}
	names := slices.Clone(p.Required)
	for _, branches := range [][]*schema.Property{p.OneOf, p.AnyOf} {
		if len(branches) > 0 {
			names = append(names, m.t.Resolve(branches[0]).Required...)
		}
	}
	for _, choice := range [][]string{p.RequiredXor, p.RequiredOr} {
		if len(choice) > 0 && !slices.ContainsFunc(choice, func(name string) bool { return slices.Contains(names, name) }) {
			names = append(names, choice[0])
		}
	}
	for _, name := range p.Names() {
		if p.MinProperties != nil && len(names) < *p.MinProperties && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		below := append(slices.Clone(path), name)
		if child := m.t.Child(p, name); child != nil && !m.t.IsReadOnly(below) && len(path) < 16 {
			node.Fields = append(node.Fields, template.Field{Key: name, Value: m.value(child, below)})
		}
	}
	return node
}

// notMinimal is the number of types whose smallest value cannot be created this way: their
// requirements follow only from their combinations.
const notMinimal = 5

func TestRequiredPropertiesAreSufficient(t *testing.T) {
	registry := schema.Default()
	refused := map[string]string{}
	for _, name := range registry.Names() {
		resource, _ := registry.Type(name)
		properties := minimal{resource}.object(resource.Root, nil)
		if name == "AWS::CloudFormation::CustomResource" {
			continue
		}
		one := &template.Template{
			Parameters: map[string]*template.Parameter{"P": {Name: "P", Type: "String"}},
			Resources:  map[string]*template.Resource{"R": {LogicalID: "R", Type: name, Properties: properties}},
		}
		if problems := registry.Validate(one); len(problems) > 0 {
			refused[name] = problems.Error()
		}
	}
	for name, why := range refused {
		t.Logf("%s: %s", name, strings.ReplaceAll(why, "\n", "; "))
	}
	if len(refused) > notMinimal {
		t.Errorf("%d types refuse what they require", len(refused))
	}
}

package schema

import (
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// kinds is the set of JSON types that a value may have; empty if unknown.
type kinds []string

// only reports whether all possible types are among types.
func (k kinds) only(types ...string) bool {
	return len(k) > 0 && !slices.ContainsFunc(k, func(one string) bool { return !slices.Contains(types, one) })
}

var (
	text    = kinds{"string"}
	list    = kinds{"array"}
	unknown = kinds(nil)
)

// result is one possible value: a literal node, or something of which only the type is known.
type result struct {
	// node is the literal, nil if the value is computed.
	node *template.Node
	// types are the types of a computed value.
	types kinds
	// items are the types of the elements of a computed list.
	items kinds
	// source says where a computed value comes from, such as "Fn::GetAtt Queue.Arn".
	source string
	// pos is its position.
	pos template.Position
}

// results returns the possible values of n: one for each branch of Fn::If, and none for
// AWS::NoValue.
func (v *validator) results(n *template.Node) []result {
	if n.Kind != template.Intrinsic {
		return []result{{node: n, pos: n.Pos}}
	}
	if n.IsNoValue() {
		return nil
	}
	if n.Func == "Fn::If" && n.Arg != nil && n.Arg.Kind == template.List && len(n.Arg.Items) == 3 {
		return slices.Concat(v.results(n.Arg.Items[1]), v.results(n.Arg.Items[2]))
	}
	computed := v.computed(n)
	computed.pos, computed.source = n.Pos, describeCall(n)
	return []result{computed}
}

// computed returns the type of an intrinsic's result.
func (v *validator) computed(n *template.Node) result {
	switch n.Func {
	case "Ref":
		return v.ref(n.Arg)
	case "Fn::GetAtt":
		return v.getAtt(n.Arg)
	case "Fn::Sub", "Fn::Join", "Fn::Base64", "Fn::ImportValue", "Fn::ToJsonString":
		return result{types: text}
	case "Fn::GetAZs", "Fn::Split", "Fn::Cidr":
		return result{types: list, items: text}
	case "Fn::Length":
		return result{types: kinds{"integer"}}
	default:
		return result{types: unknown}
	}
}

func (v *validator) ref(target *template.Node) result {
	if target == nil || target.Kind != template.String {
		return result{types: unknown}
	}
	if parameter := v.t.Parameters[target.Text]; parameter != nil {
		if parameter.IsList() {
			return result{types: list, items: text}
		}
		if parameter.Type == "Number" {
			return result{types: kinds{"number"}}
		}
		return result{types: text}
	}
	if target.Text == "AWS::NotificationARNs" {
		return result{types: list, items: text}
	}
	return result{types: text}
}

func (v *validator) getAtt(arg *template.Node) result {
	if arg == nil || arg.Kind != template.List || len(arg.Items) != 2 {
		return result{types: unknown}
	}
	t := v.types[arg.Items[0].Text]
	name, literal := arg.Items[1].Scalar()
	if t == nil || !literal {
		return result{types: unknown}
	}
	attribute, ok := t.Attribute(name)
	if !ok {
		return result{types: unknown}
	}
	found := result{types: t.typesOf(attribute, 0)}
	if attribute.Items != nil {
		found.items = t.typesOf(t.Resolve(attribute.Items), 0)
	}
	return found
}

// typesOf returns the JSON types that a schema allows, as far as it defines them.
func (t *Type) typesOf(p *Property, depth int) kinds {
	switch {
	case len(p.Types) > 0:
		return p.Types
	case len(p.Properties) > 0 || len(p.PatternProperties) > 0:
		return kinds{"object"}
	case depth > 4:
		return unknown
	}
	var all kinds
	for _, branch := range slices.Concat(p.AnyOf, p.OneOf) {
		one := t.typesOf(t.Resolve(branch), depth+1)
		if len(one) == 0 {
			return unknown
		}
		all = append(all, one...)
	}
	return all
}

func describeCall(n *template.Node) string {
	if n.Arg == nil {
		return n.Func
	}
	switch {
	case n.Func == "Ref" && n.Arg.Kind == template.String:
		return "Ref " + n.Arg.Text
	case n.Func == "Fn::GetAtt" && n.Arg.Kind == template.List && len(n.Arg.Items) == 2:
		attribute, _ := n.Arg.Items[1].Scalar()
		return strings.TrimSuffix("Fn::GetAtt "+n.Arg.Items[0].Text+"."+attribute, ".")
	default:
		return n.Func
	}
}

package terraform

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// value translates a value of a template. It returns an error on what has no counterpart, and says
// where it stands.
func (s *scope) value(n *template.Node) (expression, error) {
	switch n.Kind {
	case template.String:
		return s.module.marked(n.Text), nil
	case template.Number:
		return raw(n.Text), nil
	case template.Bool:
		return raw(strconv.FormatBool(n.Bool)), nil
	case template.List:
		items, err := s.values(n.Items)
		return list(items), err
	case template.Map:
		members := make([]member, 0, len(n.Fields))
		for _, field := range n.Fields {
			value, err := s.value(field.Value)
			if err != nil {
				return expression{}, err
			}
			members = append(members, member{field.Key, value})
		}
		return object(members), nil
	case template.Intrinsic:
		translate := functions[n.Func]
		if translate == nil {
			return expression{}, fmt.Errorf("the function %s has no counterpart", n.Func)
		}
		return translate(s, n.Arg)
	default:
		return expression{}, fmt.Errorf("a %s has no counterpart", n.Kind)
	}
}

// values translates those of a list, without what stands for nothing.
func (s *scope) values(nodes []*template.Node) ([]expression, error) {
	all := make([]expression, 0, len(nodes))
	for _, n := range nodes {
		if n.IsNoValue() {
			continue
		}
		one, err := s.value(n)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// functions translate the arguments of CloudFormation's functions:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference.html
var functions map[string]func(*scope, *template.Node) (expression, error)

func init() { //nolint:gochecknoinits // the functions call each other by the table
	functions = map[string]func(*scope, *template.Node) (expression, error){
		"Ref":             func(s *scope, arg *template.Node) (expression, error) { return s.refer(arg.Text, "") },
		"Fn::GetAtt":      (*scope).getAtt,
		"Fn::Sub":         (*scope).sub,
		"Fn::Join":        (*scope).join,
		"Fn::Select":      (*scope).choose,
		"Fn::Split":       (*scope).split,
		"Fn::If":          (*scope).either,
		"Fn::FindInMap":   (*scope).findInMap,
		"Fn::ImportValue": (*scope).importValue,
		"Fn::Base64": func(s *scope, arg *template.Node) (expression, error) {
			return s.called("base64encode", arg)
		},
		"Fn::Length":       func(s *scope, arg *template.Node) (expression, error) { return s.called("length", arg) },
		"Fn::ToJsonString": func(s *scope, arg *template.Node) (expression, error) { return s.called("jsonencode", arg) },
	}
}

func (s *scope) called(function string, arg *template.Node) (expression, error) {
	value, err := s.value(arg)
	return call(function, value), err
}

func (s *scope) getAtt(arg *template.Node) (expression, error) {
	attribute, ok := arg.Items[1].Scalar()
	if !ok {
		return expression{}, fmt.Errorf("an attribute of %s that is computed has no counterpart", arg.Items[0].Text)
	}
	return s.refer(arg.Items[0].Text, attribute)
}

// sub translates a text with variables.
func (s *scope) sub(arg *template.Node) (expression, error) {
	call := &template.Node{Kind: template.Intrinsic, Func: "Fn::Sub", Arg: arg}
	whole, own := call.SubArguments()
	if whole == nil {
		return expression{}, fmt.Errorf("the argument of Fn::Sub is a %s", arg.Kind)
	}
	var pieces []piece
	for _, part := range template.ParseSub(whole.Text) {
		value, err := s.subPart(part, own)
		if err != nil {
			return expression{}, err
		}
		pieces = append(pieces, value.asPieces(snake(part.Variable))...)
	}
	return joined(pieces), nil
}

func (s *scope) subPart(part template.SubPart, own *template.Node) (expression, error) {
	if part.Variable == "" {
		return s.module.marked(part.Literal), nil
	}
	if value := own.Get(part.Variable); value != nil {
		return s.value(value)
	}
	target, attribute, _ := strings.Cut(part.Variable, ".")
	return s.refer(target, attribute)
}

// pair returns the arguments of a function that takes a number of them.
func pair(function string, arg *template.Node, number int) ([]*template.Node, error) {
	if arg.Kind != template.List || len(arg.Items) != number {
		return nil, fmt.Errorf("%s takes %d arguments", function, number)
	}
	return arg.Items, nil
}

// join translates to a text where the list is written out, and to a call where it is not.
func (s *scope) join(arg *template.Node) (expression, error) {
	items, err := pair("Fn::Join", arg, 2) //nolint:mnd // the delimiter and the list
	if err != nil {
		return expression{}, err
	}
	if items[1].Kind != template.List {
		delimited, err := s.values(items)
		return call("join", delimited...), err
	}
	values, err := s.values(items[1].Items)
	if err != nil {
		return expression{}, err
	}
	var pieces []piece
	for i, value := range values {
		if i > 0 {
			pieces = append(pieces, piece{literal: items[0].Text})
		}
		pieces = append(pieces, value.asPieces("value_"+strconv.Itoa(i))...)
	}
	return joined(pieces), nil
}

// choose translates Fn::Select.
func (s *scope) choose(arg *template.Node) (expression, error) {
	items, err := pair("Fn::Select", arg, 2) //nolint:mnd // the index and the list
	if err != nil {
		return expression{}, err
	}
	index, ok := items[0].Scalar()
	n, err := strconv.Atoi(index)
	if !ok || err != nil || n < 0 {
		return expression{}, fmt.Errorf("the index of Fn::Select is not a number")
	}
	if items[1].Kind == template.List {
		if n >= len(items[1].Items) {
			return expression{}, fmt.Errorf("Fn::Select selects element %d of %d", n, len(items[1].Items))
		}
		return s.value(items[1].Items[n])
	}
	of, err := s.value(items[1])
	return raw(of.String() + "[" + strconv.Itoa(n) + "]"), err
}

func (s *scope) split(arg *template.Node) (expression, error) {
	items, err := pair("Fn::Split", arg, 2) //nolint:mnd // the delimiter and the text
	if err != nil {
		return expression{}, err
	}
	values, err := s.values(items)
	return call("split", values...), err
}

// either translates Fn::If.
func (s *scope) either(arg *template.Node) (expression, error) {
	items, err := pair("Fn::If", arg, 3) //nolint:mnd // the condition and two values
	if err != nil {
		return expression{}, err
	}
	condition, err := s.named(items[0].Text)
	if err != nil {
		return expression{}, err
	}
	branches := make([]string, 0, 2) //nolint:mnd // then and else
	for _, item := range items[1:] {
		if item.IsNoValue() {
			branches = append(branches, "null")
			continue
		}
		value, err := s.value(item)
		if err != nil {
			return expression{}, err
		}
		branches = append(branches, value.String())
	}
	return raw(condition + " ? " + branches[0] + " : " + branches[1]), nil
}

// named translates a condition of the template.
func (s *scope) named(name string) (string, error) {
	condition := s.stack.Template.Conditions[name]
	if condition == nil {
		return "", fmt.Errorf("there is no condition %s", name)
	}
	return s.condition(condition)
}

// condition translates one. Every one that is put together stands in brackets.
func (s *scope) condition(n *template.Node) (string, error) {
	if n.Kind != template.Intrinsic {
		return "", fmt.Errorf("a condition is a %s", n.Kind)
	}
	switch n.Func {
	case "Condition":
		return s.named(n.Arg.Text)
	case "Fn::Equals":
		sides, err := s.values(n.Arg.Items)
		if err != nil || len(sides) != 2 {
			return "", fmt.Errorf("a side of Fn::Equals has no counterpart: %w", err)
		}
		return "(" + sides[0].String() + " == " + sides[1].String() + ")", nil
	}
	operator := map[string]string{"Fn::And": " && ", "Fn::Or": " || ", "Fn::Not": ""}
	between, known := operator[n.Func]
	if !known {
		return "", fmt.Errorf("the function %s has no counterpart in a condition", n.Func)
	}
	all := make([]string, 0, len(n.Arg.Items))
	for _, item := range n.Arg.Items {
		one, err := s.condition(item)
		if err != nil {
			return "", err
		}
		all = append(all, one)
	}
	if between == "" {
		return "!" + all[0], nil
	}
	return "(" + strings.Join(all, between) + ")", nil
}

// findInMap looks a value up, which must be possible without asking AWS.
func (s *scope) findInMap(arg *template.Node) (expression, error) {
	items, err := pair("Fn::FindInMap", arg, 3) //nolint:mnd // the map and two keys
	if err != nil {
		return expression{}, err
	}
	at := s.stack.Template.Mappings
	for _, item := range items {
		key, err := s.value(item)
		if err != nil {
			return expression{}, err
		}
		name, ok := key.literal()
		if !ok {
			return expression{}, fmt.Errorf("a key of Fn::FindInMap is known only to AWS")
		}
		if at = at.Get(name); at == nil {
			return expression{}, fmt.Errorf("Fn::FindInMap has no entry %s", name)
		}
	}
	return s.value(at)
}

// importValue finds the stack of the cluster that exports the name.
func (s *scope) importValue(arg *template.Node) (expression, error) {
	wanted, err := s.value(arg)
	if err != nil {
		return expression{}, err
	}
	for _, other := range s.module.scopes {
		for _, output := range other.stack.Template.Outputs {
			if output.ExportName == nil {
				continue
			}
			name, err := other.value(output.ExportName)
			if err != nil {
				return expression{}, err
			}
			if name.String() == wanted.String() {
				return other.value(output.Value)
			}
		}
	}
	return expression{}, fmt.Errorf("none of the cluster's stacks exports %s", wanted)
}

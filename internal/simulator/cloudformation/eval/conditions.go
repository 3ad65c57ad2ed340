package eval

import (
	"reflect"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/simulator/property"
)

// EvaluateConditions evaluates every condition of the template and stores the results for Fn::If
// and for the Condition attribute.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/conditions-section-structure.html
func (s *Scope) EvaluateConditions() error {
	s.Conditions = make(map[string]bool, len(s.Template.Conditions))
	visiting := map[string]bool{}
	for name := range s.Template.Conditions {
		if _, err := s.conditionNamed(name, visiting); err != nil {
			return err
		}
	}
	return nil
}

func (s *Scope) conditionNamed(name string, visiting map[string]bool) (bool, error) {
	if v, ok := s.Conditions[name]; ok {
		return v, nil
	}
	n := s.Template.Conditions[name]
	if n == nil {
		return false, Errorf("Template format error: Unresolved condition dependency %s in the Conditions block of the template", name)
	}
	if visiting[name] {
		return false, Errorf("Template format error: Circular dependency between conditions: [%s]", name)
	}
	visiting[name] = true
	v, err := s.boolean(n, visiting)
	if err != nil {
		return false, err
	}
	s.Conditions[name] = v
	return v, nil
}

// Active reports whether an item with this Condition attribute exists.
func (s *Scope) Active(condition string) bool {
	return condition == "" || s.Conditions[condition]
}

func (s *Scope) condition(arg *template.Node) (any, error) {
	if arg == nil || arg.Kind != template.String {
		return nil, Errorf("Template format error: Conditions can only be boolean operations on parameters and other conditions")
	}
	return s.conditionNamed(arg.Text, map[string]bool{})
}

func (s *Scope) truth(n *template.Node) (any, error) {
	return s.boolean(n, map[string]bool{})
}

// choose implements Fn::If.
func (s *Scope) choose(arg *template.Node) (any, error) {
	if arg == nil || len(arg.Items) != 3 || arg.Items[0].Kind != template.String {
		return nil, Errorf("Template error: Fn::If requires a list argument with three parameters")
	}
	v, ok := s.Conditions[arg.Items[0].Text]
	if !ok {
		return nil, Errorf("Template error: unresolved condition dependency %s in Fn::If", arg.Items[0].Text)
	}
	if v {
		return s.Value(arg.Items[1])
	}
	return s.Value(arg.Items[2])
}

// boolean evaluates a condition.
func (s *Scope) boolean(n *template.Node, visiting map[string]bool) (bool, error) {
	if n == nil || n.Kind != template.Intrinsic {
		return s.literal(n)
	}
	switch n.Func {
	case "Condition":
		return s.conditionNamed(n.Arg.Text, visiting)
	case "Fn::Equals":
		return s.equals(n.Arg)
	case "Fn::Not":
		if len(n.Arg.Items) != 1 {
			return false, Errorf("Template error: every Fn::Not object requires one boolean parameter.")
		}
		v, err := s.boolean(n.Arg.Items[0], visiting)
		return !v, err
	case "Fn::And", "Fn::Or":
		return s.junction(n, visiting)
	}
	v, err := s.call(n)
	if err != nil {
		return false, err
	}
	text, _ := property.Text(v)
	return asBool(text)
}

func (s *Scope) literal(n *template.Node) (bool, error) {
	if n == nil {
		return false, Errorf("Template format error: Conditions can only be boolean operations on parameters and other conditions")
	}
	if n.Kind == template.Bool {
		return n.Bool, nil
	}
	return asBool(n.Text)
}

func asBool(text string) (bool, error) {
	switch text {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, Errorf("Template format error: Conditions can only be boolean operations on parameters and other conditions")
}

func (s *Scope) junction(n *template.Node, visiting map[string]bool) (bool, error) {
	if len(n.Arg.Items) < 2 || len(n.Arg.Items) > 10 {
		return false, Errorf("Template error: every %s object requires a list of at least 2 and at most 10 boolean parameters.", n.Func)
	}
	all, anyTrue := true, false
	for _, item := range n.Arg.Items {
		v, err := s.boolean(item, visiting)
		if err != nil {
			return false, err
		}
		all, anyTrue = all && v, anyTrue || v
	}
	if n.Func == "Fn::And" {
		return all, nil
	}
	return anyTrue, nil
}

func (s *Scope) equals(arg *template.Node) (bool, error) {
	if arg == nil || len(arg.Items) != 2 {
		return false, Errorf("Template error: every Fn::Equals object requires a list of 2 string parameters.")
	}
	left, err := s.Value(arg.Items[0])
	if err != nil {
		return false, err
	}
	right, err := s.Value(arg.Items[1])
	if err != nil {
		return false, err
	}
	l, leftScalar := property.Text(left)
	r, rightScalar := property.Text(right)
	if leftScalar && rightScalar {
		return l == r, nil
	}
	return reflect.DeepEqual(left, right), nil
}

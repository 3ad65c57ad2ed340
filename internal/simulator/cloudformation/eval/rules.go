package eval

import (
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/simulator/property"
)

// CheckRules evaluates the Rules section against the parameters and returns the first failed
// assertion with AWS's message.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/rules-section-structure.html
func (s *Scope) CheckRules() error {
	if s.Template.Rules == nil {
		return nil
	}
	for _, rule := range s.Template.Rules.Fields {
		if err := s.checkRule(rule.Key, rule.Value); err != nil {
			return err
		}
	}
	return nil
}

func (s *Scope) checkRule(name string, rule *template.Node) error {
	if when := rule.Get("RuleCondition"); when != nil {
		applies, err := s.ruleTruth(when)
		if err != nil || !applies {
			return err
		}
	}
	assertions := rule.Get("Assertions")
	if assertions == nil {
		return Errorf("Template format error: Rule %s must contain Assertions", name)
	}
	for _, a := range assertions.Items {
		holds, err := s.ruleTruth(a.Get("Assert"))
		if err != nil {
			return err
		}
		if holds {
			continue
		}
		text := "Assertion failed"
		if d := a.Get("AssertDescription"); d != nil {
			text = d.Text
		}
		return Errorf("Template validation error: %s", text)
	}
	return nil
}

// ruleTruth evaluates a rule-specific intrinsic function. The parser recognizes only some of them
// as intrinsic functions; the others are maps with one key.
func (s *Scope) ruleTruth(n *template.Node) (bool, error) {
	if n == nil {
		return false, Errorf("Template format error: every rule needs an Assert")
	}
	function, arg := n.Func, n.Arg
	if n.Kind == template.Map && len(n.Fields) == 1 {
		function, arg = n.Fields[0].Key, n.Fields[0].Value
	}
	switch function {
	case "Fn::Contains", "Fn::EachMemberEquals", "Fn::EachMemberIn":
		return s.members(function, arg)
	case "Fn::And", "Fn::Or", "Fn::Not":
		return s.ruleJunction(function, arg)
	case "Fn::Equals":
		return s.equals(arg)
	}
	return false, Errorf("Template format error: %s cannot be used in a rule by the simulator", function)
}

func (s *Scope) ruleJunction(function string, arg *template.Node) (bool, error) {
	all, anyTrue := true, false
	for _, item := range arg.Items {
		v, err := s.ruleTruth(item)
		if err != nil {
			return false, err
		}
		all, anyTrue = all && v, anyTrue || v
	}
	switch function {
	case "Fn::Not":
		return !anyTrue, nil
	case "Fn::And":
		return all, nil
	}
	return anyTrue, nil
}

func (s *Scope) members(function string, arg *template.Node) (bool, error) {
	if arg == nil || len(arg.Items) != 2 {
		return false, Errorf("Template format error: %s requires two parameters", function)
	}
	left, err := s.Value(arg.Items[0])
	if err != nil {
		return false, err
	}
	right, err := s.Value(arg.Items[1])
	if err != nil {
		return false, err
	}
	first, second := texts(left), texts(right)
	for _, item := range first {
		if function == "Fn::EachMemberIn" && !slices.Contains(second, item) {
			return false, nil
		}
		if function == "Fn::EachMemberEquals" && (len(second) != 1 || item != second[0]) {
			return false, nil
		}
	}
	if function == "Fn::Contains" {
		return len(second) == 1 && slices.Contains(first, second[0]), nil
	}
	return true, nil
}

func texts(v any) []string {
	if items, ok := v.([]any); ok {
		out := make([]string, 0, len(items))
		for _, item := range items {
			t, _ := property.Text(item)
			out = append(out, t)
		}
		return out
	}
	t, _ := property.Text(v)
	if strings.Contains(t, ",") {
		return strings.Split(t, ",")
	}
	return []string{t}
}

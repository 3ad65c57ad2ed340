package eval

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

const forEachPrefix = "Fn::ForEach::"

// ExpandLanguageExtensions expands the structures that the transform AWS::LanguageExtensions
// supports: Fn::ForEach in Resources, Outputs, Conditions and in properties. The functions of the
// transform (Fn::Length, Fn::ToJsonString, the default of Fn::FindInMap) are evaluated like any
// other.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference-foreach.html
func ExpandLanguageExtensions(t *template.Template) (*template.Template, error) {
	var tree any
	if err := json.Unmarshal(t.JSON(), &tree); err != nil {
		return nil, Errorf("Template format error: %v", err)
	}
	root, ok := tree.(map[string]any)
	if !ok {
		return nil, Errorf("Template format error: unsupported structure.")
	}
	delete(root, "Transform")
	x := expander{template: t}
	expanded, err := x.expand(root, nil)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(expanded)
	if err != nil {
		return nil, Errorf("Template format error: %v", err)
	}
	out, err := template.Parse(t.File, data)
	if err != nil {
		return nil, Errorf("Template format error: %v", err)
	}
	return out, nil
}

type expander struct{ template *template.Template }

// expand expands a tree; variables are the current loop variables.
func (x expander) expand(v any, variables map[string]string) (any, error) {
	switch v := v.(type) {
	case string:
		return substitute(v, variables), nil
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			expanded, err := x.expand(item, variables)
			if err != nil {
				return nil, err
			}
			out[i] = expanded
		}
		return out, nil
	case map[string]any:
		return x.object(v, variables)
	}
	return v, nil
}

func (x expander) object(v map[string]any, variables map[string]string) (any, error) {
	if name, ok := v["Ref"].(string); ok && len(v) == 1 {
		if value, loop := variables[name]; loop {
			return value, nil
		}
	}
	out := make(map[string]any, len(v))
	for _, key := range slices.Sorted(maps.Keys(v)) {
		if after, ok := strings.CutPrefix(key, forEachPrefix); ok {
			if err := x.loop(out, after, v[key], variables); err != nil {
				return nil, err
			}
			continue
		}
		expanded, err := x.expand(v[key], variables)
		if err != nil {
			return nil, err
		}
		out[substitute(key, variables)] = expanded
	}
	return out, nil
}

// loop adds the result of one Fn::ForEach to the map that contains it.
func (x expander) loop(out map[string]any, name string, arg any, variables map[string]string) error {
	parts, ok := arg.([]any)
	if !ok || len(parts) != 3 {
		return Errorf("Fn::ForEach::%s layout is incorrect", name)
	}
	identifier, isName := parts[0].(string)
	body, isMap := parts[2].(map[string]any)
	if !isName || !isMap {
		return Errorf("Fn::ForEach::%s layout is incorrect", name)
	}
	items, err := x.collection(name, parts[1], variables)
	if err != nil {
		return err
	}
	for _, item := range items {
		inner := maps.Clone(variables)
		if inner == nil {
			inner = map[string]string{}
		}
		inner[identifier] = item
		expanded, err := x.expand(body, inner)
		if err != nil {
			return err
		}
		fields, _ := expanded.(map[string]any)
		for key, value := range fields {
			if _, twice := out[key]; twice {
				return Errorf("Fn::ForEach::%s: duplicate key %s", name, key)
			}
			out[key] = value
		}
	}
	return nil
}

// collection returns the items of a loop: a list of strings, or the default of a list parameter
// that a Ref names, because other values are not known here.
func (x expander) collection(name string, v any, variables map[string]string) ([]string, error) {
	v, err := x.expand(v, variables)
	if err != nil {
		return nil, err
	}
	if ref, ok := v.(map[string]any); ok {
		target, _ := ref["Ref"].(string)
		p := x.template.Parameters[target]
		if p == nil || p.Default == nil || !isList(p.Type) {
			return nil, Errorf("Fn::ForEach::%s: the simulator expands only lists and parameters with a default", name)
		}
		text, _ := textOf(ParameterInput{Template: x.template}, p)
		return texts(typed(p.Type, text)), nil
	}
	items, ok := v.([]any)
	if !ok {
		return nil, Errorf("Fn::ForEach::%s layout is incorrect", name)
	}
	return texts(items), nil
}

// substitute replaces ${name} and &{name} (its letters and digits only) of the loop variables and
// keeps other variables.
func substitute(text string, variables map[string]string) string {
	for name, value := range variables {
		text = strings.ReplaceAll(text, "${"+name+"}", value)
		text = strings.ReplaceAll(text, "&{"+name+"}", onlyAlphanumeric(value))
	}
	return text
}

func onlyAlphanumeric(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, s)
}

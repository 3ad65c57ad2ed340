package admit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/yamltree"
)

// pathOf returns the path of an error's field, empty for the object as a whole.
func pathOf(e *field.Error) string {
	if e.Field == "<nil>" {
		return ""
	}
	return e.Field
}

// unknown returns the problem of a field that the schema does not have.
func (r *rules) unknown(path string) yamltree.Problem {
	p := yamltree.Problem{Path: path, Message: "there is no such field: remove it"}
	last := strings.LastIndexByte(path, '.')
	around := at(r.structural, path[:max(0, last)])
	if around == nil || len(around.Properties) == 0 {
		return p
	}
	names := slices.Sorted(maps.Keys(around.Properties))
	p.Message = "there is no such field"
	if p.Suggestion = template.Closest(path[last+1:], names); p.Suggestion == "" {
		p.Message += "; use one of " + strings.Join(names, ", ")
	}
	return p
}

// at returns the schema of a path such as spec.rules[0].name, nil if there is none.
func at(s *schema.Structural, path string) *schema.Structural {
	for path != "" && s != nil {
		var next *schema.Structural
		end := strings.IndexAny(path, ".[")
		switch {
		case end == 0: // an index, or a key in brackets
			end = strings.IndexByte(path, ']') + 1
			next = s.Items
		case end < 0:
			end = len(path)
		}
		if one, ok := s.Properties[path[:end]]; ok {
			next = &one
		}
		if next == nil && s.AdditionalProperties != nil {
			next = s.AdditionalProperties.Structural
		}
		s, path = next, strings.TrimPrefix(path[end:], ".")
	}
	return s
}

// ofSchema returns errors of the schema as problems, sorted, each once.
func (r *rules) ofSchema(wrong field.ErrorList) yamltree.Problems {
	var problems yamltree.Problems
	var alternatives []string
	for _, e := range wrong {
		path, isAlternative := strings.CutSuffix(e.Detail, `" must validate at least one schema (anyOf)`)
		switch {
		case isAlternative:
			alternatives = append(alternatives, strings.TrimPrefix(path, `"`))
		case pathOf(e) == "" && strings.HasPrefix(e.Detail, "Checked value "):
			// A number of another format is reported a second time, without its field.
		default:
			problems = append(problems, r.ofField(e))
		}
	}
	for _, path := range alternatives {
		problems = r.ofAlternatives(problems, path)
	}
	slices.SortFunc(problems, func(a, b yamltree.Problem) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(problems)
}

// ofAlternatives adds the problem of a value that matches none of the alternatives of its schema,
// unless a problem of a field in it says what is wrong.
func (r *rules) ofAlternatives(problems yamltree.Problems, path string) yamltree.Problems {
	within := func(p yamltree.Problem) bool { return strings.HasPrefix(p.Path, path+".") }
	problems = slices.DeleteFunc(problems, func(p yamltree.Problem) bool {
		return within(p) && p.Message == "Too long: may not be more than 0 bytes" // An alternative without the field.
	})
	if slices.ContainsFunc(problems, within) {
		return problems
	}
	p := yamltree.Problem{Path: path, Message: "this combination of values is not allowed"}
	if s := at(r.structural, path); s != nil && s.ValueValidation != nil {
		for _, alternative := range s.ValueValidation.AnyOf {
			if len(alternative.Required) > 0 {
				p.Message += ": set " + strings.Join(alternative.Required, " and ")
				break
			}
		}
	}
	return append(problems, p)
}

// ofField returns an error about a field as a problem, without what the API server repeats.
func (r *rules) ofField(e *field.Error) yamltree.Problem {
	p := yamltree.Problem{Path: pathOf(e), Message: e.ErrorBody()}
	_, rest, fromSchema := strings.Cut(e.Detail, " in body ")
	switch {
	case e.Type == field.ErrorTypeNotSupported:
		return r.unsupported(p, e)
	case e.Type == field.ErrorTypeTypeInvalid && fromSchema:
		p.Message = wrongType(rest)
	case rest == "should be at least 1 chars long" || rest == "should have at least 1 items":
		p.Message = "this must not be empty"
	case e.Type == field.ErrorTypeInvalid && fromSchema:
		p.Message = valueOf(e.BadValue) + " " + rest
	}
	return p
}

// valueOf returns a value for a message.
func valueOf(value any) string {
	switch value := value.(type) {
	case string:
		return fmt.Sprintf("%q", value)
	case int64, float64, bool:
		return fmt.Sprint(value)
	}
	return "the value"
}

// types are the types of the schema, its formats of numbers, and the types of values, as users call
// them, and as yamltree does.
var types = map[string]string{
	"string": "text", "integer": "a whole number", "number": "a number", "boolean": "true or false",
	"array": "a list", "object": "a map", "null": "nothing",
	"int32": "a whole number", "int64": "a whole number", "float64": "a number",
}

// unquoted is a remedy that explains booleans where there is text in the file.
const unquoted = "put it in quotes, since YAML reads an unquoted y, yes, on, n, no or off as true or false"

// wrongType returns the message for "must be of type integer: \"string\"".
func wrongType(rule string) string {
	want, got, _ := strings.Cut(strings.TrimPrefix(rule, "must be of type "), ": ")
	got = strings.Trim(got, `"`)
	if types[want] == "" || types[got] == "" {
		return rule
	}
	text := fmt.Sprintf("this is %s, but must be %s", types[got], types[want])
	switch {
	case types[want] == types[got]:
		return "this number is too large"
	case want == "string" && got == "boolean":
		text += ": " + unquoted
	case want == "string" && (got == "integer" || got == "number"):
		text += ": put it in quotes"
	}
	return text
}

// unsupported completes the problem of a value that is not one of the schema's. Some schemas accept
// false next to text, since YAML reads an unquoted N as false; it is not offered.
func (r *rules) unsupported(p yamltree.Problem, e *field.Error) yamltree.Problem {
	var names []string
	if s := at(r.structural, p.Path); s != nil && s.ValueValidation != nil {
		for _, one := range s.ValueValidation.Enum {
			if name, ok := one.Object.(string); ok && name != "" {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return p
	}
	p.Message = fmt.Sprintf("%s is not supported; use one of %s", valueOf(e.BadValue), strings.Join(names, ", "))
	switch value := e.BadValue.(type) {
	case string:
		p.Suggestion = template.Closest(value, names)
	case bool:
		p.Message += ": " + unquoted
	}
	return p
}

package eval

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/simulator/property"
)

// NoValue is the value of the pseudo parameter AWS::NoValue. A property or list item with this
// value is omitted.
type NoValue struct{}

// Unknown is a value that depends on a resource which does not exist yet.
type Unknown struct {
	// Resource is the logical ID of the resource.
	Resource string
	// Attribute is the attribute's name, empty for Ref.
	Attribute string
}

// Error is an error in the template, with AWS's message. The API returns it as a ValidationError.
type Error struct{ Message string }

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Errorf returns an [*Error] with a formatted message.
func Errorf(format string, args ...any) *Error {
	return &Error{Message: fmt.Sprintf(format, args...)}
}

// Scope holds the values for the evaluation of a template.
type Scope struct {
	// Template provides mappings and conditions.
	Template *template.Template
	// Parameters are the resolved parameters: string, or []any for lists.
	Parameters map[string]any
	// Pseudo are the pseudo parameters, by full name ("AWS::Region").
	Pseudo map[string]any
	// Conditions are the template's conditions; see [Scope.EvaluateConditions].
	Conditions map[string]bool
	// Ref returns what Ref returns for a resource.
	Ref func(logicalID string) (any, error)
	// GetAtt returns an attribute of a resource.
	GetAtt func(logicalID, attribute string) (any, error)
	// Import returns the value of an export.
	Import func(name string) (any, error)
	// Zones lists the availability zones of a region.
	Zones func(region string) []string
	// Resolve returns the value of a dynamic reference, given the text between {{resolve: and }}.
	// If it is nil, references stay unresolved.
	Resolve func(reference string) (string, error)
}

// Value evaluates a node.
func (s *Scope) Value(n *template.Node) (any, error) {
	if n == nil {
		return nil, nil
	}
	switch n.Kind {
	case template.Null:
		return nil, nil
	case template.Bool:
		return n.Bool, nil
	case template.Number:
		return number(n.Text), nil
	case template.String:
		return s.dynamic(n.Text)
	case template.List:
		return s.list(n.Items)
	case template.Map:
		return s.object(n.Fields)
	case template.Intrinsic:
		v, err := s.call(n)
		if err != nil {
			return nil, err
		}
		if text, ok := v.(string); ok {
			return s.dynamic(text)
		}
		return v, nil
	}
	return nil, Errorf("Template format error: unsupported structure.")
}

// String evaluates a function's argument that must be a string. unknown is set if the string is not
// known yet.
func (s *Scope) String(n *template.Node, function string) (text string, unknown *Unknown, err error) {
	v, err := s.Value(n)
	if err != nil {
		return "", nil, err
	}
	if u, ok := v.(Unknown); ok {
		return "", &u, nil
	}
	text, ok := property.Text(v)
	if !ok {
		return "", nil, Errorf("Template error: every %s object must have String arguments", function)
	}
	return text, nil, nil
}

func (s *Scope) list(items []*template.Node) (any, error) {
	out := make([]any, 0, len(items))
	for _, item := range items {
		v, err := s.Value(item)
		if err != nil {
			return nil, err
		}
		if _, none := v.(NoValue); none {
			continue
		}
		out = append(out, v)
	}
	return out, nil
}

func (s *Scope) object(fields []template.Field) (any, error) {
	out := make(map[string]any, len(fields))
	for _, f := range fields {
		v, err := s.Value(f.Value)
		if err != nil {
			return nil, err
		}
		if _, none := v.(NoValue); none {
			continue
		}
		out[f.Key] = v
	}
	return out, nil
}

// dynamic replaces {{resolve:service:key}} in a string.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/dynamic-references.html
func (s *Scope) dynamic(text string) (any, error) {
	if s.Resolve == nil || !strings.Contains(text, "{{resolve:") {
		return text, nil
	}
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{{resolve:")
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		reference, after, closed := strings.Cut(rest, "}}")
		if !closed {
			return nil, Errorf("Template format error: unclosed dynamic reference {{resolve:%s", rest)
		}
		v, err := s.Resolve(reference)
		if err != nil {
			return nil, err
		}
		out.WriteString(v)
		text = after
	}
}

// number keeps a literal that is valid JSON and converts one that is valid only in YAML.
func number(text string) any {
	if json.Valid([]byte(text)) {
		return json.Number(text)
	}
	if i, err := strconv.ParseInt(text, 0, 64); err == nil {
		return json.Number(strconv.FormatInt(i, 10))
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return json.Number(strconv.FormatFloat(f, 'f', -1, 64))
	}
	return text
}

// Contains reports whether a value contains an [Unknown], and returns the first one.
func Contains(v any) (Unknown, bool) {
	switch t := v.(type) {
	case Unknown:
		return t, true
	case []any:
		for _, item := range t {
			if u, ok := Contains(item); ok {
				return u, true
			}
		}
	case map[string]any:
		for _, item := range t {
			if u, ok := Contains(item); ok {
				return u, true
			}
		}
	}
	return Unknown{}, false
}

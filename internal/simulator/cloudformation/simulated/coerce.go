package simulated

import (
	"encoding/json"
	"strconv"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
)

// Coerce converts scalars to the types in the schema, as CloudFormation does: the Ref of a
// parameter of type Number is a string, and "true" is accepted as a boolean.
func Coerce(t *schema.Type, properties map[string]any) map[string]any {
	out, _ := coerce(t, t.Root, asAny(properties), 0).(map[string]any)
	return out
}

func coerce(t *schema.Type, p *schema.Property, value any, depth int) any {
	p = t.Resolve(p)
	if p == nil || depth > 60 {
		return value
	}
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, item := range v {
			out[name] = coerce(t, member(t, p, name, 0), item, depth+1)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = coerce(t, itemsOf(t, p), item, depth+1)
		}
		return out
	}
	return scalar(p.Types, value)
}

// member returns the schema of an object's member, also from within combinations.
func member(t *schema.Type, p *schema.Property, name string, depth int) *schema.Property {
	p = t.Resolve(p)
	if p == nil || depth > 8 {
		return nil
	}
	if child, ok := p.Properties[name]; ok {
		return child
	}
	for pattern, child := range p.PatternProperties {
		if Matches(pattern, name) {
			return child
		}
	}
	for _, branches := range [][]*schema.Property{p.OneOf, p.AnyOf, p.AllOf} {
		for _, branch := range branches {
			if child := member(t, branch, name, depth+1); child != nil {
				return child
			}
		}
	}
	return p.AdditionalProperties
}

func itemsOf(t *schema.Type, p *schema.Property) *schema.Property {
	if p.Items != nil {
		return p.Items
	}
	for _, branches := range [][]*schema.Property{p.OneOf, p.AnyOf, p.AllOf} {
		for _, branch := range branches {
			if b := t.Resolve(branch); b != nil && b.Items != nil {
				return b.Items
			}
		}
	}
	return nil
}

func scalar(types []string, value any) any {
	if len(types) == 0 || value == nil {
		return value
	}
	for _, kind := range types {
		if isKind(kind, value) {
			return value
		}
	}
	for _, kind := range types {
		if converted, ok := convert(kind, value); ok {
			return converted
		}
	}
	return value
}

func convert(kind string, value any) (any, bool) {
	switch kind {
	case "string":
		switch v := value.(type) {
		case bool:
			return strconv.FormatBool(v), true
		case json.Number:
			return v.String(), true
		case float64:
			return strconv.FormatFloat(v, 'f', -1, 64), true
		}
	case "boolean":
		switch value {
		case "true", "True", "TRUE":
			return true, true
		case "false", "False", "FALSE":
			return false, true
		}
	case "integer", "number":
		text, ok := value.(string)
		if _, err := strconv.ParseFloat(text, 64); ok && err == nil && json.Valid([]byte(text)) {
			return json.Number(text), true
		}
	}
	return nil, false
}

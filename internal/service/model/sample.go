package model

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// sampleWord begins every text of a sample that the schema does not determine.
const sampleWord = "sample0"

// free is a sample of a value of which the schema says nothing.
type free string

const anything free = sampleWord + "Anything"

// maxSamples limits how many specs a template is rendered with.
const maxSamples = 128

// sample is a spec that the schema allows: all optional fields are set, or none, except for one
// field.
type sample struct {
	all bool
	// field is the path of the field that differs, empty for none.
	field string
	// value is its value; nil changes whether the field is set.
	value any
}

// samples returns the spec with all optional fields, that with none, and those that differ from
// them in one field: whether it is set, its value in an enum, or false for a boolean.
func samples(spec *apiextensionsv1.JSONSchemaProps) []sample {
	all := []sample{{all: true}, {}}
	eachField(spec, "", func(path string, s *apiextensionsv1.JSONSchemaProps, required bool) {
		if !required {
			all = append(all, sample{all: true, field: path}, sample{field: path})
		}
		if s.Type == "boolean" {
			all = append(all, sample{all: true, field: path, value: false})
		}
		for _, raw := range s.Enum {
			if value := decoded(raw.Raw); value != nil {
				all = append(all, sample{all: true, field: path, value: value})
			}
		}
	})
	return all[:min(len(all), maxSamples)]
}

// eachField visits the fields of an object and of the objects in it, parents first.
func eachField(
	s *apiextensionsv1.JSONSchemaProps, path string, visit func(path string, s *apiextensionsv1.JSONSchemaProps, required bool),
) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		field := s.Properties[name]
		visit(path+"."+name, &field, slices.Contains(s.Required, name))
		eachField(&field, path+"."+name, visit)
	}
}

// spec returns the sample.
func (v sample) spec(schema *apiextensionsv1.JSONSchemaProps) map[string]any {
	return v.object(schema, "")
}

func (v sample) object(s *apiextensionsv1.JSONSchemaProps, path string) map[string]any {
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		field, at := s.Properties[name], path+"."+name
		if v.sets(at, slices.Contains(s.Required, name)) {
			out[name] = v.valueOf(&field, at)
		}
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		out[sampleWord] = v.valueOf(s.AdditionalProperties.Schema, path+"."+element)
	}
	if len(out) == 0 && s.XPreserveUnknownFields != nil {
		out[sampleWord] = anything
	}
	return out
}

// sets reports whether the sample sets a field.
func (v sample) sets(path string, required bool) bool {
	switch {
	case v.field == path:
		return required || v.value != nil || !v.all
	case strings.HasPrefix(v.field, path+"."):
		return true // it contains the field that differs
	}
	return required || v.all
}

func (v sample) valueOf(s *apiextensionsv1.JSONSchemaProps, path string) any {
	if v.field == path && v.value != nil {
		return v.value
	}
	if value := listed(s); value != nil {
		return value
	}
	name := path[strings.LastIndexByte(path, '.')+1:]
	switch {
	case s.Type == "object":
		return v.object(s, path)
	case s.Type == "array" && s.Items != nil && s.Items.Schema != nil:
		return []any{v.valueOf(s.Items.Schema, path+"."+element)}
	case s.Type == "array":
		return []any{anything}
	case s.Type == "string":
		return sampleWord + PascalName(strings.Map(alphanumeric, name))
	case s.Type == "boolean":
		return true
	case s.Type == "integer", s.Type == "number", s.XIntOrString:
		return number(s)
	default:
		return anything
	}
}

// listed returns a value that the schema contains: an example, the default, or the first of the
// values that it allows.
func listed(s *apiextensionsv1.JSONSchemaProps) any {
	for _, raw := range []*apiextensionsv1.JSON{s.Example, s.Default} {
		if raw != nil {
			if value := decoded(raw.Raw); value != nil {
				return value
			}
		}
	}
	for _, raw := range s.Enum {
		if value := decoded(raw.Raw); value != nil && value != "" {
			return value
		}
	}
	return nil
}

func number(s *apiextensionsv1.JSONSchemaProps) any {
	n := int64(1)
	if s.Minimum != nil && *s.Minimum > 1 {
		n = int64(*s.Minimum)
	}
	return n
}

func decoded(raw []byte) any {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return nil
	}
	return value
}

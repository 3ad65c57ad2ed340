package model

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	cfntemplate "github.com/aws-operator/aws-operator/internal/cfn/template"
)

// Inference is what the properties of a resource say about the spec of its object, for a kind with a
// template of its own. It is found by rendering the template with samples: a property that always has
// the value of a field has it also in a resource.
type Inference struct {
	// Type is the CloudFormation type of the kind's resource.
	Type string

	schema *apiextensionsv1.JSONSchemaProps
	fields []inferred
}

// inferred is how the value of one field is found.
type inferred struct {
	path   []string
	schema apiextensionsv1.JSONSchemaProps
	// property is the path of the property with the field's value; empty if choices have the values.
	property string
	choices  []choice
}

// choice is a value of a field, and the properties that a resource has if the field has that value.
type choice struct {
	value any
	signs map[string]string
}

// Infer finds out what the properties of a resource say about a spec. It returns nil for a kind that is
// not of one resource when only required fields are set.
func (m *Model) Infer() *Inference {
	id, kind := m.only()
	if kind == "" {
		return nil
	}
	found := &Inference{Type: kind, schema: m.Schema}
	eachField(m.Schema, "", func(path string, s *apiextensionsv1.JSONSchemaProps, required bool) {
		values := domain(s)
		if len(values) == 0 {
			return
		}
		for _, all := range []bool{false, true} {
			if one, ok := m.inferField(id, path, s, required, all, values); ok {
				found.fields = append(found.fields, one)
				return
			}
		}
	})
	return found
}

// only returns the logical ID and the type of the only resource in the template of an object with
// nothing but the required fields.
func (m *Model) only() (id, kind string) {
	t := m.renderSample(sample{}.spec(m.Schema))
	if t == nil || len(t.Resources) != 1 {
		return "", ""
	}
	for _, r := range t.Resources {
		id, kind = r.LogicalID, r.Type
	}
	return id, kind
}

// renderSample renders the template with a spec, without references; nil if that fails.
func (m *Model) renderSample(spec map[string]any) *cfntemplate.Template {
	text, err := m.Template.Execute(map[string]any{
		"name": sampleWord + "Name", "namespace": "default", "kind": m.Kind, "spec": spec,
		"references": map[string]any{}, "siblings": map[string]any{},
		"region": "us-east-1", "accountID": "123456789012", "partition": "aws", "dnsSuffix": "amazonaws.com",
		"clusterName": "aws-operator", "role": sampleRole(),
	})
	if err != nil {
		return nil
	}
	t, err := cfntemplate.Parse(m.Name, []byte(text))
	if err != nil {
		return nil
	}
	return t
}

// sampleProperties returns the properties of a resource, by path, when the template is rendered with a spec.
func (m *Model) sampleProperties(id string, spec map[string]any) map[string]string {
	t := m.renderSample(spec)
	if t == nil || t.Resources[id] == nil {
		return nil
	}
	flat := map[string]string{}
	leaves(t.Resources[id].Properties.Interface(), "", flat)
	return flat
}

// inferField finds out how to find the value of a field: all says whether the other optional fields are set.
func (m *Model) inferField(
	id, path string, s *apiextensionsv1.JSONSchemaProps, required, all bool, values []any,
) (inferred, bool) {
	one := inferred{path: strings.Split(strings.TrimPrefix(path, "."), "."), schema: *s}
	rendered := make([]map[string]string, len(values))
	for i, value := range values {
		rendered[i] = m.sampleProperties(id, sample{all: all, field: path, value: value}.spec(m.Schema))
		if rendered[i] == nil {
			return one, false
		}
	}
	if !isFinite(s) {
		one.property = sameAs(rendered, values)
		return one, one.property != ""
	}
	others := rendered
	if !required {
		unset := sample{all: all, field: path, value: values[0]}.spec(m.Schema)
		remove(unset, one.path)
		if without := m.sampleProperties(id, unset); without != nil {
			others = append(slices.Clone(rendered), without)
		}
	}
	for i, value := range values {
		signs := map[string]string{}
		for at, text := range rendered[i] {
			differs := func(other map[string]string) bool { return other[at] != text }
			if !strings.Contains(text, sampleWord) && slices.ContainsFunc(others, differs) {
				signs[at] = text
			}
		}
		if len(signs) > 0 {
			one.choices = append(one.choices, choice{value, signs})
		}
	}
	return one, len(one.choices) > 0
}

// Spec returns the spec for the properties of a resource.
func (in *Inference) Spec(live map[string]any) map[string]any {
	flat := map[string]string{}
	leaves(live, "", flat)
	spec := map[string]any{}
	for i := range in.fields {
		if value := in.fields[i].of(live, flat); value != nil {
			set(spec, in.fields[i].path, value)
		}
	}
	prune(spec, in.schema)
	return spec
}

// prune removes the objects in a spec that lack a required field: the resource has no such feature.
func prune(spec map[string]any, s *apiextensionsv1.JSONSchemaProps) {
	for name, value := range spec {
		field := s.Properties[name]
		object, ok := value.(map[string]any)
		if !ok {
			continue
		}
		prune(object, &field)
		if slices.ContainsFunc(field.Required, func(required string) bool { return object[required] == nil }) {
			delete(spec, name)
		}
	}
}

// of returns the value of the field; nil if it has none.
func (f *inferred) of(live map[string]any, flat map[string]string) any {
	if f.property != "" {
		return fit(&f.schema, at(live, f.property))
	}
	var best choice
	for _, c := range f.choices {
		if len(c.signs) > len(best.signs) && covers(flat, c.signs) {
			best = c
		}
	}
	return best.value
}

func covers(flat, signs map[string]string) bool {
	for at, text := range signs {
		if found, ok := flat[at]; !ok || found != text {
			return false
		}
	}
	return true
}

// isFinite reports whether a field has few values.
func isFinite(s *apiextensionsv1.JSONSchemaProps) bool { return s.Type == "boolean" || len(s.Enum) > 0 }

// domain returns all values of a field with few of them, or else two values; none for objects and for
// lists of these.
func domain(s *apiextensionsv1.JSONSchemaProps) []any {
	const first, second = sampleWord + "First", sampleWord + "Second"
	switch {
	case len(s.Enum) > 0:
		var values []any
		for _, raw := range s.Enum {
			if value := decoded(raw.Raw); value != nil {
				values = append(values, value)
			}
		}
		return values
	case s.Type == "boolean":
		return []any{true, false}
	case s.Type == "string":
		return []any{first, second}
	case s.Type == "integer", s.Type == "number", s.XIntOrString:
		n := number(s).(int64)
		const distinctive = 97 // another field hardly has it
		return []any{n + distinctive, n + distinctive + 1}
	case s.Type == "array" && s.Items != nil && s.Items.Schema != nil && s.Items.Schema.Type == "string":
		return []any{[]any{first}, []any{first, second}}
	default:
		return nil
	}
}

// sameAs returns the path of the property that has each of the values when the field does.
func sameAs(rendered []map[string]string, values []any) string {
	if list, ok := values[len(values)-1].([]any); ok { // its last item is at the end of the longer list
		last, at := asText(list[len(list)-1]), "/"+strconv.Itoa(len(list)-1)
		for _, path := range slices.Sorted(maps.Keys(rendered[len(values)-1])) {
			if of, is := strings.CutSuffix(path, at); is && rendered[len(values)-1][path] == last {
				return of
			}
		}
		return ""
	}
	for _, path := range slices.Sorted(maps.Keys(rendered[0])) {
		same := true
		for i, value := range values {
			same = same && rendered[i][path] == asText(value)
		}
		if same {
			return path
		}
	}
	return ""
}

// fit returns a value that the field's schema allows in its type; nil if there is none.
func fit(s *apiextensionsv1.JSONSchemaProps, value any) any {
	switch v := value.(type) {
	case nil, map[string]any:
		return nil
	case []any:
		if s.Type == "array" {
			return v
		}
		return nil
	default:
		text := asText(v)
		switch s.Type {
		case "string":
			return text
		case "integer":
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return nil
			}
			return n
		default:
			return v
		}
	}
}

// leaves adds the scalars in a value by their paths. Functions of templates are values of their own.
func leaves(value any, path string, into map[string]string) {
	below := func(name string) string { return strings.TrimPrefix(path+"/"+name, "/") }
	switch v := value.(type) {
	case map[string]any:
		for name, child := range v {
			leaves(child, below(name), into)
		}
	case []any:
		for i, child := range v {
			leaves(child, below(strconv.Itoa(i)), into)
		}
	case nil:
	default:
		into[path] = asText(v)
	}
}

// at returns the value at a path of properties.
func at(value any, path string) any {
	for part := range strings.SplitSeq(path, "/") {
		switch v := value.(type) {
		case map[string]any:
			value = v[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

// set sets a field, and makes the objects around it.
func set(spec map[string]any, path []string, value any) {
	for _, name := range path[:len(path)-1] {
		next, ok := spec[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			spec[name] = next
		}
		spec = next
	}
	spec[path[len(path)-1]] = value
}

// remove removes a field.
func remove(spec map[string]any, path []string) {
	for _, name := range path[:len(path)-1] {
		next, ok := spec[name].(map[string]any)
		if !ok {
			return
		}
		spec = next
	}
	delete(spec, path[len(path)-1])
}

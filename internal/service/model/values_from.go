package model

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/cel"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
)

// ValuesFromField is the field of the spec that says where the values of other fields come from.
const ValuesFromField = "valuesFrom"

// MaxValuesFrom is the number of entries that spec.valuesFrom may have.
const MaxValuesFrom = 32

// FieldPath is the path of a field in a spec, such as tags[0].value.
type FieldPath struct {
	text string
	// parts are names (string) and indexes of lists (int).
	parts []any
}

// String returns the path as the user wrote it.
func (p FieldPath) String() string { return p.text }

// fieldPath is the form of a path: names, the indexes of lists, and keys of maps that are no names.
const fieldPath = `^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+|\[[0-9]{1,3}\]|\["[^"]+"\])*$`

var (
	wholePath = regexp.MustCompile(fieldPath)
	pathPart  = regexp.MustCompile(`\["[^"]+"\]|\[[0-9]+\]|[^.\[\]]+`)
)

// Field parses the path of a field of the resource, and returns the field's schema; nil if the field is
// below one with any content. The error says what is wrong with the path.
func (m *Model) Field(text string) (FieldPath, *apiextensionsv1.JSONSchemaProps, error) {
	path := FieldPath{text: text}
	if !wholePath.MatchString(text) {
		return path, nil, fmt.Errorf(`%q is no path of a field; write names, and indexes and keys in brackets, as in tags[0].value or labels["a.b"]`, text)
	}
	for _, part := range pathPart.FindAllString(text, -1) {
		switch inner := strings.Trim(part, "[]"); {
		case part == inner:
			path.parts = append(path.parts, part)
		case strings.HasPrefix(inner, `"`):
			path.parts = append(path.parts, strings.Trim(inner, `"`))
		default:
			index, err := strconv.Atoi(inner)
			if err != nil {
				return path, nil, fmt.Errorf("%q has the index %s, which is no number", text, inner)
			}
			path.parts = append(path.parts, index)
		}
	}
	if first, _ := path.parts[0].(string); m.isShared(first) {
		return path, nil, fmt.Errorf("%s does not describe the resource; write its value into the spec", first)
	}
	props, err := fieldAt(m.Schema, path.parts)
	return path, props, err
}

// isShared reports whether a field of the spec does not describe the resource.
func (m *Model) isShared(name string) bool {
	if _, own := m.Schema.Properties[name]; own {
		return false
	}
	return slices.Contains(sharedFields, name) || (name == GrantsField || name == ObjectGrantsField) && len(m.AccessLevels) > 0
}

// fieldAt returns the schema at a path below another; nil where anything is allowed.
func fieldAt(props *apiextensionsv1.JSONSchemaProps, parts []any) (*apiextensionsv1.JSONSchemaProps, error) {
	for _, part := range parts {
		switch name := part.(type) {
		case int:
			if props.Type != "array" || props.Items == nil {
				return orAny(props, fmt.Errorf("[%d] is not in a list", name))
			}
			props = props.Items.Schema
		case string:
			if child, ok := props.Properties[name]; ok {
				props = &child
				continue
			}
			if extra := props.AdditionalProperties; extra != nil && extra.Schema != nil {
				props = extra.Schema
				continue
			}
			return orAny(props, noField(props, name))
		}
	}
	return props, nil
}

// orAny returns no schema if any field is allowed below one, or else the error.
func orAny(props *apiextensionsv1.JSONSchemaProps, err error) (*apiextensionsv1.JSONSchemaProps, error) {
	extra, unknown := props.AdditionalProperties, props.XPreserveUnknownFields
	if extra != nil && extra.Allows || unknown != nil && *unknown {
		return nil, nil //nolint:nilnil // as documented
	}
	return nil, err
}

func noField(props *apiextensionsv1.JSONSchemaProps, name string) error {
	known := make([]string, 0, len(props.Properties))
	for field := range props.Properties {
		known = append(known, field)
	}
	slices.Sort(known)
	if suggestion := nearest(name, known); suggestion != "" {
		return fmt.Errorf("there is no field %s; did you mean %s?", name, suggestion)
	}
	return fmt.Errorf("there is no field %s; the fields are in kubectl explain", name)
}

// Set sets the field in a spec, and creates the objects and lists that contain it. An index may be the
// length of its list, which adds an element. The error says what is in the way.
func (p FieldPath) Set(spec map[string]any, value any) error {
	_, err := setAt(spec, p.parts, value) // the first part is a name, so that the result is the spec itself
	return err
}

// setAt returns a value with another one at a path below it.
func setAt(in any, parts []any, value any) (any, error) {
	if len(parts) == 0 {
		return value, nil
	}
	switch part := parts[0].(type) {
	case string:
		object, ok := in.(map[string]any)
		if in != nil && !ok {
			return nil, fmt.Errorf("%s is in a value that has no fields", part)
		}
		if object == nil {
			object = map[string]any{}
		}
		below, err := setAt(object[part], parts[1:], value)
		if err != nil {
			return nil, err
		}
		object[part] = below
		return object, nil
	case int:
		list, ok := in.([]any)
		if in != nil && !ok {
			return nil, fmt.Errorf("[%d] is in a value that is no list", part)
		}
		if part > len(list) {
			return nil, fmt.Errorf("[%d] is behind the end of the list, which has %d elements", part, len(list))
		}
		if part == len(list) {
			list = append(list, nil)
		}
		below, err := setAt(list[part], parts[1:], value)
		if err != nil {
			return nil, err
		}
		list[part] = below
		return list, nil
	}
	return nil, nil //nolint:nilnil // no other type is in a path
}

// typed reports whether rules can read a field: they see nothing of what has no type.
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules
func typed(props *apiextensionsv1.JSONSchemaProps) bool {
	switch {
	case props.XIntOrString:
		return true
	case props.Items != nil && props.Items.Schema != nil:
		return typed(props.Items.Schema)
	case props.AdditionalProperties != nil && props.AdditionalProperties.Schema != nil:
		return typed(props.AdditionalProperties.Schema)
	}
	return props.Type != "" && props.Type != "array"
}

// requiredFrom moves required fields of the spec to rules that spec.valuesFrom also meets. Fields without a
// type stay required.
func requiredFrom(spec *apiextensionsv1.JSONSchemaProps) {
	var kept []string
	for _, name := range spec.Required {
		escaped, ok := cel.Escape(name)
		field := spec.Properties[name]
		if !ok || !typed(&field) {
			kept = append(kept, name)
			continue
		}
		reason := apiextensionsv1.FieldValueRequired
		spec.XValidations = append(spec.XValidations, apiextensionsv1.ValidationRule{
			Rule: fmt.Sprintf("has(self.%s) || has(self.%s) && self.%[2]s.exists(v, v.field == '%[3]s' || v.field.startsWith('%[3]s.') || v.field.startsWith('%[3]s['))",
				escaped, ValuesFromField, name),
			Message: "set it, or say in valuesFrom where its value comes from",
			Reason:  &reason, FieldPath: "." + name,
		})
		field.Description = strings.TrimSpace("Required. " + field.Description)
		spec.Properties[name] = field
	}
	spec.Required = kept
}

// valuesFromSchema is the schema of spec.valuesFrom.
func valuesFromSchema() apiextensionsv1.JSONSchemaProps {
	items, length, least, label := int64(MaxValuesFrom), int64(253), int64(1), int64(63)
	list := "map"
	name := func(description string) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "string", Pattern: subdomain, MinLength: &least, MaxLength: &length, Description: description}
	}
	namespace := apiextensionsv1.JSONSchemaProps{
		Type: "string", Pattern: `^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`, MinLength: &least, MaxLength: &label,
		Description: "Its namespace; the object's own if empty. In another namespace, its annotation " + v1alpha1.ShareWithAnnotation + " must name the object's namespace.",
	}
	key := func(kind string) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{
			Type: "object", Required: []string{"name", "key"},
			Description: fmt.Sprintf("A key of a %s that has the label %s=%s.", kind, v1alpha1.ValuesLabel, v1alpha1.ValuesAllowed),
			Properties: map[string]apiextensionsv1.JSONSchemaProps{
				"name": name("The name of the " + kind + "."), "namespace": namespace,
				"key": {Type: "string", MinLength: &least, MaxLength: &length, Description: "The key of the value."},
			},
		}
	}
	secret := key("Secret")
	secret.Description += " CloudFormation gets the value as a NoEcho parameter."
	return apiextensionsv1.JSONSchemaProps{
		Type: "array", MaxItems: &items, XListType: &list, XListMapKeys: []string{"field"},
		Description: "Where the values of fields come from that are not in the spec. The resource changes when a value does.",
		Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{
			Type: "object", Required: []string{"field"},
			Properties: map[string]apiextensionsv1.JSONSchemaProps{
				"field": {
					Type: "string", Pattern: fieldPath, MinLength: &least, MaxLength: &length,
					Description: `The path of the field in the spec, such as tags[0].value. The value replaces that in the spec.`,
				},
				"valueFrom": {
					Type: "object", Required: []string{"kind", "name", "output"},
					Description: "An output of another object of this API group, which is ready or was.",
					Properties: map[string]apiextensionsv1.JSONSchemaProps{
						"kind":      {Type: "string", MinLength: &least, MaxLength: &label, Description: "The kind of the object."},
						"name":      name("The name of the object."),
						"namespace": namespace,
						"output":    {Type: "string", MinLength: &least, MaxLength: &length, Description: "The name of the output."},
					},
				},
				"configMapKeyRef": key("ConfigMap"),
				"secretKeyRef":    secret,
			},
			XValidations: apiextensionsv1.ValidationRules{{
				Rule:    "[has(self.valueFrom), has(self.configMapKeyRef), has(self.secretKeyRef)].filter(given, given).size() == 1",
				Message: "give exactly one of valueFrom, configMapKeyRef and secretKeyRef",
			}},
		}},
	}
}

// SharesValues reports whether objects of a namespace may take values from a ConfigMap or a Secret.
func SharesValues(held metav1.Object, namespace string) bool {
	return held.GetLabels()[v1alpha1.ValuesLabel] == v1alpha1.ValuesAllowed && SharesWith(held, namespace)
}

// SharesWith reports whether the owner of an object in another namespace lets the objects of a
// namespace take values from it.
func SharesWith(object metav1.Object, namespace string) bool {
	if object.GetNamespace() == namespace {
		return true
	}
	for name := range strings.SplitSeq(object.GetAnnotations()[v1alpha1.ShareWithAnnotation], ",") {
		if name = strings.TrimSpace(name); name == namespace || name == "*" {
			return true
		}
	}
	return false
}

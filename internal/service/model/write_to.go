package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	cfntemplate "github.com/aws-operator/aws-operator/internal/cfn/template"
)

// WriteToField is the field of the spec that names the ConfigMaps and Secrets to which an object's
// outputs are written. It does not describe the resource.
const WriteToField = "writeTo"

// Limits of spec.writeTo.
const (
	// MaxWriteTo is the number of its entries.
	MaxWriteTo = 8
	// MaxWriteToKeys is the number of keys of an entry.
	MaxWriteToKeys = 64
	// MaxWriteToText is the number of characters of a text.
	MaxWriteToText = 8192
)

// writeToFunctions are the functions that a text of spec.writeTo may call. Authors of objects must not
// be able to exhaust the operator, so nothing here repeats a part of a text, or formats with a width.
var writeToFunctions = []string{
	"and", "contains", "default", "eq", "get", "hasPrefix", "hasSuffix", "lower", "ne", "not", "or", "replace", "set", "trimSuffix",
	"upper",
}

// WriteToText compiles a text of spec.writeTo. Its data are .output, .metadata.name,
// .metadata.namespace, and .roleARNs of the service accounts of spec.grants. Field is the path of the
// text in the object. The error is cfntemplate.Problems at the field, also if the text names an output
// that the kind does not have, or a service account without a grant.
func (m *Model) WriteToText(field, source string, accounts []string) (*Text, error) {
	text, err := parseText(field, source)
	if err != nil {
		return nil, FieldProblems(field, err)
	}
	outputs := make([]string, len(m.Outputs))
	for i, o := range m.Outputs {
		outputs[i] = o.Name
	}
	s := &scope{
		// printText is what ParseText adds to every action.
		functions: append([]string{"printText"}, writeToFunctions...),
		groups:    map[string][]string{"metadata": {"name", "namespace"}, "output": outputs},
	}
	names := ".metadata.name, .metadata.namespace, "
	if len(m.AccessLevels) > 0 {
		s.groups["roleARNs"] = accounts
		names += ".roleARNs.NAME of a service account in spec.grants, "
	}
	problems := s.names(text).problems
	for i, p := range problems {
		switch {
		case p.Suggestion != "":
		case strings.HasPrefix(p.Message, "there is no "):
			problems[i].Message += "; use " + names + "or one of the outputs: .output." + strings.Join(outputs, ", .output.")
		default:
			problems[i].Message += "; use only if, with and the functions " + strings.Join(writeToFunctions, ", ")
		}
	}
	if len(problems) > 0 {
		return nil, FieldProblems(field, problems)
	}
	return text, nil
}

// FieldProblems returns an error of a text as cfntemplate.Problems at the field with the text.
func FieldProblems(field string, err error) error {
	at := cfntemplate.Position{File: field}
	found, ok := errors.AsType[cfntemplate.Problems](err)
	if !ok {
		return cfntemplate.Problems{{Pos: at, Message: err.Error()}}
	}
	problems := slices.Clone(found)
	for i, p := range problems {
		if p.Pos.Line > 0 {
			problems[i].Message = fmt.Sprintf("line %d, column %d: %s", p.Pos.Line, p.Pos.Column, p.Message)
		}
		problems[i].Pos = at
	}
	return problems
}

// writeToSchema is the schema of spec.writeTo.
func writeToSchema() apiextensionsv1.JSONSchemaProps {
	targets, keys, characters := int64(MaxWriteTo), int64(MaxWriteToKeys), int64(MaxWriteToText)
	length, least := int64(253), int64(1)
	list := "map"
	return apiextensionsv1.JSONSchemaProps{
		Type: "array", MaxItems: &targets, XListType: &list, XListMapKeys: []string{"kind", "name"}, Nullable: true,
		Description: "The ConfigMaps and Secrets to write the outputs to, besides those that the kind makes. Removing an entry deletes its object. A change does not update the stack.",
		Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{
			Type: "object", Required: []string{"kind", "name"},
			Properties: map[string]apiextensionsv1.JSONSchemaProps{
				"kind": {
					Type: "string", Enum: []apiextensionsv1.JSON{{Raw: []byte(`"ConfigMap"`)}, {Raw: []byte(`"Secret"`)}},
					Description: "What to write.",
				},
				"name": {
					Type: "string", Pattern: subdomain, MinLength: &least, MaxLength: &length,
					Description: "The name of the ConfigMap or Secret, in the object's namespace. One that exists and that the object did not make is never changed.",
				},
				"data": {
					Type: "object", Nullable: true, MinProperties: &least, MaxProperties: &keys,
					Description: "The values, by key. {{ .output.NAME }} inserts an output; .metadata.name and .metadata.namespace are those of the object; .roleARNs.NAME is the ARN of the role of a service account in spec.grants. Without data, the keys are the names of all outputs.",
					AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{
						Allows: true, Schema: &apiextensionsv1.JSONSchemaProps{Type: "string", MaxLength: &characters},
					},
					// https://kubernetes.io/docs/concepts/configuration/configmap/#configmap-object
					XValidations: apiextensionsv1.ValidationRules{{
						Rule:    "self.all(key, size(key) <= 253 && key.matches('^[-._a-zA-Z0-9]+$') && key != '.' && !key.startsWith('..'))",
						Message: "a key consists of at most 253 letters, digits, hyphens, underscores and dots, and is neither . nor begins with ..",
					}},
				},
			},
		}},
	}
}

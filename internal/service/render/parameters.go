package render

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	cfntemplate "github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/service/model"
)

// parameters returns the known parameters that a user template declares.
func parameters(
	m *model.Model, obj *v1alpha1.Object, data, spec map[string]any, facts Facts, template *cfntemplate.Template,
) (map[string]string, error) {
	version, err := specVersion(spec)
	if err != nil {
		return nil, err
	}
	known := map[string]string{}
	flatten(known, "", spec)
	maps.Copy(known, map[string]string{
		"Namespace": obj.Namespace, "ResourceName": obj.Name, "ClusterName": facts.ClusterName, "ResourceVersion": version,
	})
	declared := map[string]string{}
	for name := range template.Parameters {
		if text, ok := m.Parameters[name]; ok {
			value, err := text.Execute(data)
			if err != nil {
				return nil, fmt.Errorf("find the value of parameter %s: %w", name, err)
			}
			declared[name] = value
			continue
		}
		if value, ok := known[name]; ok {
			declared[name] = value
		}
	}
	return declared, nil
}

// flatten adds every field below prefix to out, in PascalCase; lists are joined by commas.
func flatten(out map[string]string, prefix string, fields map[string]any) {
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		name := prefix + model.PascalName(field)
		switch value := fields[field].(type) {
		case nil:
		case map[string]any:
			flatten(out, name, value)
		case []any:
			items := make([]string, len(value))
			for i, item := range value {
				items[i] = parameterText(item)
			}
			out[name] = strings.Join(items, ",")
		default:
			out[name] = parameterText(value)
		}
	}
}

// parameterText formats a value as a CloudFormation parameter.
func parameterText(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(data)
}

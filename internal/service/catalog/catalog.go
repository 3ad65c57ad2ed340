package catalog

import (
	"embed"
	"fmt"

	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/service/model"
)

//go:embed *.yaml
var files embed.FS

// Definitions returns the built-in ModelDefinitions, sorted by kind.
func Definitions() ([]*v1alpha1.ModelDefinition, error) {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil, fmt.Errorf("list the catalog: %w", err)
	}
	var definitions []*v1alpha1.ModelDefinition
	for _, entry := range entries {
		data, err := files.ReadFile(entry.Name())
		if err != nil {
			return nil, fmt.Errorf("read %s of the catalog: %w", entry.Name(), err)
		}
		definition := &v1alpha1.ModelDefinition{}
		if err := yaml.UnmarshalStrict(data, definition); err != nil {
			return nil, fmt.Errorf("parse %s of the catalog: %w", entry.Name(), err)
		}
		definitions = append(definitions, definition)
	}
	return definitions, nil
}

// Models returns the built-in kinds, compiled.
func Models(registry *schema.Registry) ([]*model.Model, error) {
	definitions, err := Definitions()
	if err != nil {
		return nil, err
	}
	models := make([]*model.Model, len(definitions))
	for i, definition := range definitions {
		if models[i], err = model.Compile(definition.Name, &definition.Spec, registry); err != nil {
			return nil, fmt.Errorf("compile the built-in kind %s: %w", definition.Spec.Kind, err)
		}
	}
	return models, nil
}

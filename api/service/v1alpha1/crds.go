package v1alpha1

import (
	"embed"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

//go:embed crd/*.yaml
var crdFiles embed.FS

// CustomResourceDefinitions returns the CRDs of ModelDefinition, ModelRevision and
// CloudFormationTemplate. Those of modelled kinds are made from their models.
func CustomResourceDefinitions() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	entries, err := crdFiles.ReadDir("crd")
	if err != nil {
		return nil, fmt.Errorf("list embedded CRDs: %w", err)
	}
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, entry := range entries {
		data, err := crdFiles.ReadFile("crd/" + entry.Name())
		if err != nil {
			return nil, fmt.Errorf("read embedded CRD %s: %w", entry.Name(), err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(data, crd); err != nil {
			return nil, fmt.Errorf("parse embedded CRD %s: %w", entry.Name(), err)
		}
		crds = append(crds, crd)
	}
	return slices.Clip(crds), nil
}

package v1alpha1

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

//go:embed crd/*.yaml
var crdFiles embed.FS

// CustomResourceDefinitions returns the CRDs of Cluster, InstanceGroup, Fleet and Release.
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
		nameField(crd.Spec.Versions[0].Schema.OpenAPIV3Schema)
		crds = append(crds, crd)
	}
	return slices.Clip(crds), nil
}

// nameField makes the API server name the field of rules about an object's name. Without it, the
// API server would name the field <nil>. The generator of the files cannot give metadata a schema.
func nameField(root *apiextensionsv1.JSONSchemaProps) {
	metadata := root.Properties["metadata"]
	metadata.Properties = map[string]apiextensionsv1.JSONSchemaProps{"name": {Type: "string"}}
	root.Properties["metadata"] = metadata
	for i := range root.XValidations {
		if strings.Contains(root.XValidations[i].Rule, "self.metadata.name") {
			root.XValidations[i].FieldPath = ".metadata.name"
		}
	}
}

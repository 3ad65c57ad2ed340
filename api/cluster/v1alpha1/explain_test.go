package v1alpha1_test

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// kubectl explain has a text for every field.
func TestEveryFieldIsDescribed(t *testing.T) {
	crds, err := v1alpha1.CustomResourceDefinitions()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds {
		schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
		for _, field := range undescribed(schema, crd.Spec.Names.Kind) {
			t.Errorf("%s has no description", field)
		}
	}
}

// undescribed returns the paths of the fields without a description, except of metadata, which
// Kubernetes describes.
func undescribed(schema *apiextensionsv1.JSONSchemaProps, path string) []string {
	var found []string
	for name := range schema.Properties {
		if name == "metadata" {
			continue
		}
		property := schema.Properties[name]
		field := path + "." + name
		if property.Description == "" {
			found = append(found, field)
		}
		found = append(found, undescribed(&property, field)...)
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		found = append(found, undescribed(schema.Items.Schema, path+"[]")...)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		found = append(found, undescribed(schema.AdditionalProperties.Schema, path+"{}")...)
	}
	return found
}

package v1alpha1_test

import (
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/service/catalog"
)

func TestEveryRuleHasACase(t *testing.T) {
	crds, err := v1alpha1.CustomResourceDefinitions()
	if err != nil {
		t.Fatal(err)
	}
	tested := map[string]bool{}
	for _, c := range slices.Concat(
		clusterRefusals(), networkRefusals(), machineRefusals(), groupRefusals(), releaseRefusals(), fleetRefusals(), nodeSetupRefusals(),
		eksRefusals(), encryptionRefusals(),
	) {
		tested[c.want] = true
	}
	for _, crd := range crds {
		eachRule("", crd.Spec.Versions[0].Schema.OpenAPIV3Schema, func(path, message string) {
			if !tested[message] {
				t.Errorf("%s%s: no case expects %q", crd.Spec.Names.Kind, path, message)
			}
		})
	}
}

// eachRule visits the rules of a schema.
func eachRule(path string, schema *apiextensionsv1.JSONSchemaProps, visit func(path, message string)) {
	for _, rule := range schema.XValidations {
		visit(path, rule.Message)
	}
	for name, property := range schema.Properties {
		eachRule(path+"."+name, &property, visit)
	}
	if schema.Items != nil {
		eachRule(path+"[]", schema.Items.Schema, visit)
	}
	if schema.AdditionalProperties != nil {
		eachRule(path+"{}", schema.AdditionalProperties.Schema, visit)
	}
}

func TestShortNamesAreUnique(t *testing.T) {
	crds, err := v1alpha1.CustomResourceDefinitions()
	if err != nil {
		t.Fatal(err)
	}
	models, err := catalog.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	owner := map[string]string{}
	for _, m := range models {
		for _, name := range m.Spec.ShortNames {
			owner[name] = m.Spec.Kind
		}
	}
	for _, crd := range crds {
		names := append([]string{crd.Spec.Names.Plural, crd.Spec.Names.Singular}, crd.Spec.Names.ShortNames...)
		for _, name := range names {
			if other := owner[name]; other != "" {
				t.Errorf("%s is called %s, as %s is", crd.Name, name, other)
			}
			owner[name] = crd.Name
		}
	}
}

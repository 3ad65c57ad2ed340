package model_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/service/model"
)

// TestEveryResourceTypeIsAKind compiles a definition with only a resource type for all of AWS's
// types: each gets a kind of its own, a structural schema that fits into one object of the API
// server, and the outputs that every resource has.
func TestEveryResourceTypeIsAKind(t *testing.T) {
	registry := schema.Default()
	names := registry.Names()
	failed, largest, largestName, kinds := 0, 0, "", map[string]string{}
	for _, name := range names {
		m, err := model.Compile(name, &v1alpha1.ModelDefinitionSpec{ResourceType: name}, registry)
		if err != nil {
			failed++
			t.Logf("%s: %v", name, err)
			continue
		}
		if other := kinds[m.Kind]; other != "" {
			t.Errorf("%s and %s are the same kind %s by default", name, other, m.Kind)
		}
		kinds[m.Kind] = name
		checkDerivedOutputs(t, registry, name, m)
		data, err := json.Marshal(m.CRD())
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > largest {
			largest, largestName = len(data), name
		}
		if len(data) > 1_000_000 {
			t.Errorf("%s: the CustomResourceDefinition has %d bytes, more than etcd accepts", name, len(data))
		}
	}
	t.Logf("%d of %d types are kinds; the largest is %s with %d bytes", len(names)-failed, len(names), largestName, largest)
	if failed*20 > len(names) {
		t.Errorf("%d of %d types cannot be kinds, more than 1 in 20", failed, len(names))
	}
}

// checkDerivedOutputs checks that a kind publishes the identifier, its parts and the ARN only, and that a
// definition can list everything else: a stack has at most 200 outputs.
func checkDerivedOutputs(t *testing.T, registry *schema.Registry, name string, m *model.Model) {
	t.Helper()
	if len(m.Outputs) == 0 {
		t.Errorf("%s: an object has no output", name)
	}
	resource, _ := registry.Type(name)
	all := model.DerivedOutputNames(resource)
	if len(all) > 200 || len(all) < len(m.Outputs) {
		t.Errorf("%s: %d outputs can be listed", name, len(all))
	}
	kind := name[strings.LastIndex(name, ":")+1:]
	for _, output := range m.Outputs {
		isIdentifier := output.Name == "id" || slices.ContainsFunc(resource.PrimaryIdentifier, func(path string) bool {
			return output.Name == model.FieldName(path)
		})
		isARN := strings.EqualFold(output.Name, "arn") || strings.EqualFold(output.Name, kind+"arn")
		if !isIdentifier && !isARN {
			t.Errorf("%s: publishes %s by default", name, output.Name)
		}
	}
}

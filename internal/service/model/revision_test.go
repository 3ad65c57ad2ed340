package model_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/service/model"
)

// definition returns a ModelDefinition with a spec.
func definition(t *testing.T, name, spec string) *v1alpha1.ModelDefinition {
	t.Helper()
	made := &v1alpha1.ModelDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := yaml.UnmarshalStrict([]byte(spec), &made.Spec); err != nil {
		t.Fatal(err)
	}
	return made
}

func revision(t *testing.T, of *v1alpha1.ModelDefinition) *v1alpha1.ModelRevision {
	t.Helper()
	made, err := model.NewRevision(of)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

const box = `{kind: Box, template: "Resources: {Topic: {Type: AWS::SNS::Topic}}", schema: {type: object, properties: {a: {type: string}, b: {type: integer}}}}`

// TestRevisionsHaveTheNameOfTheirContent tests that a definition that is applied again has the revision that it
// had, and that a revision with other content than its name says is not compiled.
func TestRevisionsHaveTheNameOfTheirContent(t *testing.T) {
	first := revision(t, definition(t, "boxes", box))
	if !strings.HasPrefix(first.Name, "boxes-") || first.Spec.ModelDefinition != "boxes" || first.Spec.Kind != "Box" {
		t.Errorf("the revision is %s of %s with kind %s", first.Name, first.Spec.ModelDefinition, first.Spec.Kind)
	}
	for name, c := range map[string]struct {
		definition *v1alpha1.ModelDefinition
		same       bool
	}{
		"another order of fields": {definition(t, "boxes", `{schema: {properties: {b: {type: integer}, a: {type: string}}, type: object}, kind: Box, template: "Resources: {Topic: {Type: AWS::SNS::Topic}}"}`), true},
		"another rollout":         {definition(t, "boxes", strings.Replace(box, "{kind: Box", "{rollout: {paused: true}, kind: Box", 1)), true},
		"another template":        {definition(t, "boxes", strings.Replace(box, "SNS::Topic", "SQS::Queue", 1)), false},
		"another name":            {definition(t, "crates", box), false},
	} {
		if got := revision(t, c.definition); (got.Name == first.Name) != c.same {
			t.Errorf("%s: the revision is %s, and was %s", name, got.Name, first.Name)
		}
	}
	if _, err := model.CompileRevision(first, schema.Default()); err != nil {
		t.Error(err)
	}
	changed := first.DeepCopy()
	changed.Spec.Definition = []byte(strings.Replace(string(first.Spec.Definition), "SNS::Topic", "SQS::Queue", 1))
	renamed := first.DeepCopy()
	renamed.Spec.ModelDefinition = "crates"
	for name, forged := range map[string]*v1alpha1.ModelRevision{"another template": changed, "another definition": renamed} {
		if _, err := model.CompileRevision(forged, schema.Default()); err == nil || !strings.Contains(err.Error(), "was changed") {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	long := revision(t, definition(t, strings.Repeat("a", 253), box))
	if len(long.Name) > 253 {
		t.Errorf("the name of a revision has %d characters", len(long.Name))
	}
}

// TestFieldsOfOlderRevisionsStay tests that the schema of a kind has the fields that only older revisions have,
// on every level, and otherwise those of the current one.
func TestFieldsOfOlderRevisionsStay(t *testing.T) {
	compiled := func(schemaOf string) *model.Model {
		t.Helper()
		made, err := model.CompileRevision(revision(t, definition(t, "boxes",
			`{kind: Box, template: "Resources: {Topic: {Type: AWS::SNS::Topic}}", schema: `+schemaOf+`}`)), schema.Default())
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	current := compiled(`{type: object, properties: {a: {type: string}, list: {type: array, items: {type: object, properties: {x: {type: string}}}}}}`)
	older := compiled(`{type: object, properties: {a: {type: integer}, removed: {type: string, description: A text.}, list: {type: array, items: {type: object, properties: {z: {type: string}}}}}}`)
	before := current.CRD().Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	spec := current.CRDFor([]*model.Model{older}).Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	if got := spec.Properties["a"].Type; got != "string" {
		t.Errorf("a is a %s", got)
	}
	if got, want := spec.Properties["removed"].Description, "Removed from the definition: only objects of an older revision use it. A text."; got != want {
		t.Errorf("the description of removed is %q, want %q", got, want)
	}
	items := spec.Properties["list"].Items.Schema.Properties
	if items["x"].Type != "string" || items["z"].Type != "string" {
		t.Errorf("the items have %v", items)
	}
	if len(spec.Properties) != len(before.Properties)+1 {
		t.Errorf("the spec has %d fields, and had %d", len(spec.Properties), len(before.Properties))
	}
	if after := current.CRD().Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]; len(after.Properties) != len(before.Properties) ||
		len(after.Properties["list"].Items.Schema.Properties) != 1 {
		t.Error("the current model has changed")
	}
}

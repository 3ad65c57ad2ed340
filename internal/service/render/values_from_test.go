package render_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/service/model"
	"github.com/aws-operator/aws-operator/internal/service/render"
)

// defined compiles a ModelDefinition.
func defined(t *testing.T, spec v1alpha1.ModelDefinitionSpec) *model.Model {
	t.Helper()
	m, err := model.Compile("things", &spec, schema.Default())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// taken renders the stack of an object with one field whose value is that of a Secret.
func taken(t *testing.T, m *model.Model, spec, field, value string, uid types.UID, override *render.Override) (*render.Desired, error) {
	t.Helper()
	obj := &v1alpha1.Object{
		ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: "team"},
		Spec:       fmt.Appendf(nil, `{%s"valuesFrom":[{"field":%q,"secretKeyRef":{"name":"database","key":"password"}}]}`, spec, field),
	}
	sources, err := render.Sources(m, obj)
	if err != nil {
		return nil, err
	}
	changed, secrets, err := render.WithValues(m, obj, []render.Value{{Source: sources[0], Text: value, UID: uid}})
	if err != nil {
		return nil, err
	}
	facts := facts
	facts.Secrets = secrets
	return render.Stack(m, changed, facts, override)
}

// TestSecretsAreParameters tests that a template has a NoEcho parameter where a kind uses a Secret, also
// within a longer text, and that another value changes only the parameter.
func TestSecretsAreParameters(t *testing.T) {
	const own = `
Resources:
  Parameter:
    Type: AWS::SSM::Parameter
    Properties:
      Type: String
      Value: {{ .spec.value }}
      Description: {{ printf "url://%s@host" .spec.value }}
      AllowedPattern: !Sub ["${A}", {A: {{ .spec.value }}}]
`
	for name, c := range map[string]struct {
		definition        v1alpha1.ModelDefinitionSpec
		spec, field, want string
	}{
		"a secret property": {
			v1alpha1.ModelDefinitionSpec{Kind: "Vault", ResourceType: "AWS::SecretsManager::Secret"}, "", "secretString", `"SecretString":{"Ref":"SecretSecretString"}`,
		},
		"an element of a list": {
			v1alpha1.ModelDefinitionSpec{Kind: "Vault", ResourceType: "AWS::SecretsManager::Secret"},
			`"tags":[{"key":"a","value":"b"}],`, "tags[0].value",
			`"Tags":[{"Key":"a","Value":{"Ref":"SecretTags0Value"}}]`,
		},
		"texts of a template": {
			v1alpha1.ModelDefinitionSpec{Kind: "Thing", Template: own},
			"", "value",
			`"Properties":{"AllowedPattern":{"Fn::Sub":["${A}",{"A":{"Ref":"SecretValue"}}]},` +
				`"Description":{"Fn::Join":["",["url://",{"Ref":"SecretValue"},"@host"]]},"Type":"String","Value":{"Ref":"SecretValue"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := defined(t, c.definition)
			first, err := taken(t, m, c.spec, c.field, "hunter2", "u1", nil)
			if err != nil {
				t.Fatal(err)
			}
			text := string(first.Template.CanonicalJSON())
			if !strings.Contains(text, c.want) || !strings.Contains(text, `"NoEcho":true`) {
				t.Errorf("the template has no %s: %s", c.want, text)
			}
			if strings.Contains(text, "hunter2") || strings.Contains(text, "aws-operator-value") {
				t.Errorf("the template has the secret: %s", text)
			}
			second, err := taken(t, m, c.spec, c.field, "hunter3", "u1", nil)
			if err != nil {
				t.Fatal(err)
			}
			if second.Template.Digest() != first.Template.Digest() {
				t.Errorf("another value changes the template to %s", second.Template.CanonicalJSON())
			}
			elsewhere, err := taken(t, m, c.spec, c.field, "hunter2", "u2", nil)
			if err != nil {
				t.Fatal(err)
			}
			for name, value := range first.Parameters {
				if value != "hunter2" || second.Parameters[name] != "hunter3" {
					t.Errorf("parameter %s has %q, then %q", name, value, second.Parameters[name])
				}
				if v := first.Hidden[name]; v == "" || v == second.Hidden[name] || v == elsewhere.Hidden[name] || strings.Contains(v, "hunter") {
					t.Errorf("parameter %s has version %q, then %q, and in another Secret %q", name, v, second.Hidden[name], elsewhere.Hidden[name])
				}
			}
		})
	}
}

// TestSecretsAreRefusedWhereTheyCouldBeRead tests the places in which a kind, or a user's template, may not
// use a secret.
func TestSecretsAreRefusedWhereTheyCouldBeRead(t *testing.T) {
	const resource = "Resources: {A: {Type: 'AWS::SSM::Parameter', Properties: {Type: String, Value: {{ .spec.value }}}}}\n"
	read := "spec.value: the kind writes this field where everyone could read it"
	for name, c := range map[string]struct{ template, override, want string }{
		"an output":            {resource + "Outputs: {Value: {Value: {{ .spec.value }}}}", "", read},
		"metadata":             {"Metadata: {A: {{ .spec.value }}}\n" + resource, "", read},
		"a computed text":      {"Resources: {A: {Type: 'AWS::SSM::Parameter', Properties: {Type: String, Value: {{ .spec.value | upper }}}}}", "", "spec.value: the kind does not use this field as it is"},
		"no use":               {"Resources: {A: {Type: 'AWS::SSM::Parameter', Properties: {Type: String, Value: a}}}", "", "spec.value: the kind does not use this field as it is"},
		"a parameter it shows": {resource, "Parameters: {Value: {Type: String}}\nResources: {A: {Type: 'AWS::SSM::Parameter', Properties: {Type: String, Value: !Ref Value}}}", "spec.value: parameter Value of the template would show the key password of Secret database; declare it with NoEcho: true"},
		"a parameter":          {resource, "Parameters: {Value: {Type: String, NoEcho: true}}\nResources: {A: {Type: 'AWS::SSM::Parameter', Properties: {Type: String, Value: !Ref Value}}}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var override *render.Override
			if c.override != "" {
				override = &render.Override{File: "own.yaml", Template: c.override}
			}
			m := defined(t, v1alpha1.ModelDefinitionSpec{Kind: "Thing", Template: c.template})
			desired, err := taken(t, m, "", "value", "hunter2", "u1", override)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want %q", err, c.want)
			}
			if err == nil && (desired.Parameters["Value"] != "hunter2" || desired.Hidden["Value"] == "") {
				t.Errorf("the parameters are %v, hidden %v", desired.Parameters, desired.Hidden)
			}
		})
	}
}

// TestRedact tests that what AWS says about a failure loses the secret.
func TestRedact(t *testing.T) {
	secrets := []render.Secret{{Text: "hunter2"}, {Text: "a"}}
	if got, want := render.Redact("The value hunter2 of a property is bad", secrets), "The value **** of a property is bad"; got != want {
		t.Errorf("it is %q, want %q", got, want)
	}
}

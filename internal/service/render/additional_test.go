package render_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/service/model"
	"github.com/aws-operator/aws-operator/internal/service/render"
)

// TestMissingValues tests that a missing value is an error, and not an empty text, unless it is
// optional.
func TestMissingValues(t *testing.T) {
	for _, c := range []struct{ reason, text, want string }{
		{"a value", "{{ .output.arn }}", "a"},
		{"a missing value", "{{ .output.url }}", "ConfigMap x needs {{ .output.url }} for its key k, which has no value"},
		{"a missing value in a text", "https://{{ .output.url }}/", "ConfigMap x needs {{ .output.url }} for its key k, which has no value"},
		{"a missing value in a function", "{{ lower .output.url }}", "ConfigMap x needs {{ lower .output.url }} for its key k, which has no value"},
		{"a missing value in a pipeline", `{{ .output.url | replace "a" "b" | upper }}`, `ConfigMap x needs {{ .output.url | replace "a" "b" | upper }} for its key k, which has no value`},
		{"a missing value in printf", `{{ printf "%s:%s" .output.arn .output.url }}`, `ConfigMap x needs {{ printf "%s:%s" .output.arn .output.url }} for its key k, which has no value`},
		{"a missing list", `{{ join "," .spec.list }}`, `ConfigMap x needs {{ join "," .spec.list }} for its key k, which has no value`},
		{"an optional value", `{{ default "" .output.url }}`, ""},
		{"a value on a condition", "{{ with .output.url }}{{ . }}{{ else }}none{{ end }}", "none"},
		{"a Service that is not made", "{{ .services.web }}", "ConfigMap x needs {{ .services.web }} for its key k, which has no value"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			m, err := model.Compile("m", &v1alpha1.ModelDefinitionSpec{
				Kind: "Thing", ResourceType: "AWS::SQS::Queue", AdditionalResources: v1alpha1.ModelAdditionalResources{
					ConfigMaps: []v1alpha1.ModelData{{Name: "x", Data: map[string]string{"k": c.text}}},
				},
			}, schema.Default())
			if err != nil {
				t.Fatal(err)
			}
			configMaps, err := render.ConfigMaps(m, thing(), facts, nil)
			got := fmt.Sprint(err)
			if err == nil {
				got = configMaps[0].Values["k"]
			}
			if got != c.want {
				t.Errorf("it is %q, want %q", got, c.want)
			}
		})
	}
}

func thing() *v1alpha1.Object {
	return &v1alpha1.Object{
		ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "default"},
		Status:     v1alpha1.ObjectStatus{Output: map[string]v1alpha1.Value{"arn": {Text: "a"}}},
	}
}

// TestServicesWithoutValues tests that a Service without an external name is not made, and that one
// with a part of a name is an error.
func TestServicesWithoutValues(t *testing.T) {
	for _, c := range []struct{ reason, external, port, want string }{
		{"a name", "{{ .output.arn }}", "{{ .output.port }}", "[{ x a 0}]"},
		{"no name", "{{ .output.url }}", "80", "[]"},
		{"a part of a name", "{{ .output.url }}.example.com", "80", "Service x needs {{ .output.url }} for its externalName, which has no value"},
		{"a part of a port", "{{ .output.arn }}", "80{{ .output.url }}", "Service x needs {{ .output.url }} for its port, which has no value"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			m, err := model.Compile("m", &v1alpha1.ModelDefinitionSpec{
				Kind: "Thing", ResourceType: "AWS::SQS::Queue", AdditionalResources: v1alpha1.ModelAdditionalResources{
					Services: []v1alpha1.ModelService{{ExternalName: c.external, Port: c.port}},
				},
			}, schema.Default())
			if err != nil {
				t.Fatal(err)
			}
			services, err := render.Services(m, thing(), facts)
			got := fmt.Sprint(services)
			if err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("it is %q, want %q", got, c.want)
			}
		})
	}
}

package model_test

import (
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/service/catalog"
	"github.com/aws-operator/aws-operator/internal/service/model"
)

// FuzzCompile compiles any ModelDefinition without a panic and in bounded time. One that is refused
// gives no model, and one that is checked has a CustomResourceDefinition of its kind.
func FuzzCompile(f *testing.F) {
	definitions, err := catalog.Definitions()
	if err != nil {
		f.Fatal(err)
	}
	for _, definition := range definitions {
		text, err := yaml.Marshal(definition.Spec)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add("{kind: Thing, template: 'Resources: {A: {Type: AWS::SNS::Topic, Properties: {TopicName: {{ printf \"%999d\" .spec.a }}}}}', schema: {type: object}}")
	f.Add("{kind: Thing, template: '{{ define \"a\" }}{{ template \"a\" }}{{ end }}{{ template \"a\" }}', schema: {type: object}}")
	f.Add("{kind: Thing, template: '{{ range $i, $x := .spec.a }}{{ $x }}{{ end }}', schema: {type: object, properties: {a: {type: array, items: {type: string}}}}}")
	f.Add("{kind: Thing, resourceType: 'AWS::SQS::Queue', outputs: [{name: a, value: '{{ .spec.a'}], references: [{name: a, kind: Thing, objectName: '{{ .x }}'}]}")
	f.Fuzz(func(t *testing.T, text string) {
		spec := &v1alpha1.ModelDefinitionSpec{}
		if yaml.UnmarshalStrict([]byte(text), spec) != nil {
			return
		}
		began := time.Now()
		m, err := model.Compile("thing", spec, schema.Default())
		if err != nil {
			if m != nil {
				t.Errorf("it is refused (%v) and gives a model", err)
			}
			return
		}
		if err := m.Check(schema.Default()); err == nil {
			if crd := m.CRD(); crd.Spec.Names.Kind != spec.Kind {
				t.Errorf("the definition of %q has the kind %q", spec.Kind, crd.Spec.Names.Kind)
			}
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("it takes %s", took)
		}
	})
}

// FuzzText compiles and executes any text of a definition without a panic. The result of a text
// without a template is the text.
func FuzzText(f *testing.F) {
	f.Add("{{ .name }}-{{ upper .spec.a | default \"b\" }}")
	f.Add("{{ join \",\" (split .spec.a) }}{{ printf \"%s%d%*d\" .name 1 2 3 }}")
	f.Add("{{ index .spec \"a\" }}{{ slice .name 1 99 }}{{ len .spec }}")
	f.Add("{{ replace \"\" \"x\" .name }}{{ collect \"a\" .spec.list }}")
	f.Fuzz(func(t *testing.T, source string) {
		text, err := model.ParseText("text", source)
		if err != nil {
			return
		}
		data := map[string]any{
			"name": "events", "namespace": "default",
			"spec": map[string]any{"a": "b,c", "list": []any{map[string]any{"a": "d"}, nil, int64(1)}},
		}
		got, err := text.Execute(data)
		if err == nil && got == "" && source != "" && text.Source() != source {
			t.Errorf("%q has the source %q", source, text.Source())
		}
		_, _ = text.ExecuteSet(data)
	})
}

// FuzzWriteToText compiles and executes any text of an object without a panic, in bounded time and to a
// result of bounded size.
func FuzzWriteToText(f *testing.F) {
	m, err := model.Compile("queues", &v1alpha1.ModelDefinitionSpec{ResourceType: "AWS::SQS::Queue"}, schema.Default())
	if err != nil {
		f.Fatal(err)
	}
	m.AccessLevels = []model.AccessLevel{{Name: "Send"}}
	f.Add("{{ .roleARNs.web }}{{ get \"web\" .roleARNs }}{{ get .metadata.name $ }}")
	f.Add("postgres://{{ .output.arn }}:{{ .output.queueUrl | upper }}/{{ .metadata.name }}")
	f.Add("{{ with .output }}{{ default \"a\" .arn }}{{ else }}{{ $.metadata.namespace }}{{ end }}")
	f.Add("{{ range 1000000000 }}a{{ end }}{{ define \"a\" }}{{ template \"a\" }}{{ end }}{{ printf \"%999999d\" 1 }}")
	f.Add("{{ $a := replace \"\" \"aaaaaaaa\" .output.arn }}{{ $a = replace \"a\" $a $a }}{{ $a = replace \"a\" $a $a }}{{ $a }}{{ $a }}")
	f.Fuzz(func(t *testing.T, source string) {
		began := time.Now()
		text, err := m.WriteToText("spec.writeTo[0].data.a", source, []string{"web"})
		if err != nil || len(source) > model.MaxWriteToText {
			return
		}
		got, _ := text.ExecuteSet(map[string]any{
			"output": map[string]any{"arn": "arn:aws:sqs", "queueUrl": "https://sqs"}, "metadata": map[string]any{"name": "a", "namespace": "b"},
			"roleARNs": map[string]any{"web": "arn:aws:iam"},
		})
		if took := time.Since(began); len(got) > 1<<20 || took > 10*time.Second {
			t.Errorf("it has %d bytes and takes %s", len(got), took)
		}
	})
}

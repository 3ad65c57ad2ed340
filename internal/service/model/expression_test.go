package model_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	cfntemplate "github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/service/model"
)

// TestUserTextIsNeverStructure interpolates arbitrary text as a value of a template: the document
// contains exactly that text there, and nothing else changes.
func TestUserTextIsNeverStructure(t *testing.T) {
	template, err := model.ParseStackTemplate("m", "before: 1\nvalue: {{ .v }}\nlist: [{{ .v }}, {{ .v }}]\nafter: 2\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		rendered, err := template.Execute(map[string]any{"v": text})
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := yaml.Unmarshal([]byte(rendered), &got); err != nil {
			t.Fatalf("%v in:\n%s", err, rendered)
		}
		want := map[string]any{"before": 1, "value": text, "list": []any{text, text}, "after": 2}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestMisplacedInterpolation interpolates hostile text inside quotes and plain scalars, where a
// template must not: the result may be garbled or an error, but adds no key.
func TestMisplacedInterpolation(t *testing.T) {
	hostile := "\"'\nevil: true\n#, evil: {x: y}]"
	for _, source := range []string{
		"a: 'x{{ .v }}'\n", "a: \"x{{ .v }}\"\n", "a: x{{ .v }}\n", "a: [x{{ .v }}y]\n", "a: {b: x{{ .v }}}\n", "a: |\n  x {{ .v }}\n",
	} {
		template, err := model.ParseStackTemplate("m", source, nil)
		if err != nil {
			t.Fatal(err)
		}
		rendered, err := template.Execute(map[string]any{"v": hostile})
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := yaml.Unmarshal([]byte(rendered), &got); err != nil {
			continue // refused
		}
		if _, ok := got["evil"]; ok || len(got) != 1 {
			t.Errorf("%q became %v", source, got)
		}
	}
}

func TestTemplateProblems(t *testing.T) {
	for _, c := range []struct{ reason, source, want string }{
		{"an unknown function has a position and a suggestion", "a: 1\nb: {{ spilt .v }}\n", "m:2:1: function \"spilt\" not defined; did you mean split?"},
		{"a missing bracket has a position", "a: {{ .v \n", "m:2:1: unclosed action started at m:1"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			_, err := model.ParseStackTemplate("m", c.source, nil)
			if _, ok := errors.AsType[cfntemplate.Problems](err); !ok {
				t.Fatalf("the error is %v", err)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %q, want %q", err, c.want)
			}
		})
	}
}

func TestUnsetValueIsAProblem(t *testing.T) {
	template, err := model.ParseStackTemplate("m", "a: 1\nb: {{ .spec.missing }}\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = template.Execute(map[string]any{"spec": map[string]any{}})
	if err == nil || !strings.Contains(err.Error(), "m:2:") || !strings.Contains(err.Error(), "not set") {
		t.Errorf("the error is %v, want the line and the unset value", err)
	}
}

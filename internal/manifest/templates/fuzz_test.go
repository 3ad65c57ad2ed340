package templates_test

import (
	"testing"

	"github.com/aws-operator/aws-operator/internal/manifest/templates"
)

// FuzzRender renders any template with any values without a panic. A template that is refused gives
// nothing.
func FuzzRender(f *testing.F) {
	f.Add("name: {{ .name }}\nzones: {{ toYaml .zones | indent 2 }}\n", "name: a\nzones: [b, c]\n", "x.y[1]=2")
	f.Add("{{ include \"s\" . }}", "{}", "a=b,c={d,e}")
	f.Add("{{ index .a 9 }}{{ .b.c.d }}", "a: [1]\nb: &b {c: *b}\n", "a[9999]=x")
	f.Add("a: {{ .a | quote }}\n--- \n{{ range .l }}- {{ . }}\n{{ end }}", "l: [1, .nan, 2026-01-02]\n", "a\\.b=1")
	f.Fuzz(func(t *testing.T, text, file, set string) {
		var values templates.Values
		if values.AddFile("values.yaml", []byte(file)) != nil || values.Set(set) != nil {
			return
		}
		out, err := templates.Render(templates.Input{
			Templates: []templates.File{{Name: "a.yaml", Text: text}}, Snippets: []templates.File{{Name: "s", Text: "s: {{ .a }}\n"}},
			Values: values, FormatYAML: true,
		})
		if err != nil && out != nil {
			t.Errorf("it is refused (%v) and gives %q", err, out)
		}
	})
}

// FuzzTerraform reads any outputs of Terraform without a panic.
func FuzzTerraform(f *testing.F) {
	f.Add(`{"vpc_id":{"sensitive":false,"type":"string","value":"vpc-1"},"ids":{"value":["a","b"]}}`)
	f.Add(`{"a":{"value":null},"b":1}`)
	f.Fuzz(func(t *testing.T, text string) {
		var values templates.Values
		if values.AddTerraform("outputs.json", []byte(text)) != nil {
			return
		}
		_, _ = templates.Render(templates.Input{Templates: []templates.File{{Name: "a", Text: "{{ .vpc_id }}{{ .a }}"}}, Values: values})
	})
}

package templates_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/golden"
	"github.com/aws-operator/aws-operator/internal/manifest/templates"
)

func file(t *testing.T, name string) templates.File {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return templates.File{Name: "testdata/" + name, Text: string(data)}
}

// workflow is what people have who make the network with Terraform: a template, snippets, values
// and outputs.
func workflow(t *testing.T) templates.Input {
	t.Helper()
	in := templates.Input{
		Templates:     []templates.File{file(t, "cluster.tmpl.yaml")},
		Snippets:      []templates.File{file(t, "snippets/policy.json"), file(t, "snippets/group.tpl")},
		FailOnMissing: true,
	}
	for _, name := range []string{"values.yaml", "production.yaml"} {
		if err := in.Values.AddFile(name, []byte(file(t, name).Text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.Values.AddTerraform("outputs.json", []byte(file(t, "outputs.json").Text)); err != nil {
		t.Fatal(err)
	}
	if err := in.Values.Set("groups.nodes.max=9,labels={a,b}"); err != nil {
		t.Fatal(err)
	}
	if err := in.Values.SetString("labels[1]=true"); err != nil {
		t.Fatal(err)
	}
	return in
}

func TestTheWorkflowOfKopsAndTerraform(t *testing.T) {
	in := workflow(t)
	plain, err := templates.Render(in)
	if err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "cluster.yaml", plain)
	in.FormatYAML = true
	formatted, err := templates.Render(in)
	if err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "cluster.formatted.yaml", formatted)
}

const outputs = `{
	"name": {"sensitive": false, "type": "string", "value": "demo"},
	"ids": {"value": ["subnet-1", "subnet-2"]},
	"tags": {"value": {"team": "a", "value": "b"}},
	"zones": {"value": [{"name": "a", "id": "1"}]},
	"count": {"value": 3}
}`

func TestOutputsOfTerraformAreFlatAndByValue(t *testing.T) {
	for template, want := range map[string]string{
		`{{ .name }} {{ .name.value }} {{ $.name.value }}`:                                  strings.Repeat("demo ", 2) + "demo",
		`{{ .name.value | upper | quote }}`:                                                 `"DEMO"`,
		`{{ if eq .name "demo" }}flat{{ end }} {{ if eq .name.value "demo" }}deep{{ end }}`: "flat deep",
		`{{ range .ids }}{{ . }} {{ end }}{{ range .ids.value }}{{ . }} {{ end }}`:          "subnet-1 subnet-2 subnet-1 subnet-2 ",
		`{{ index .ids 0 }} {{ index .ids.value 1 }}`:                                       "subnet-1 subnet-2",
		`{{ (index .zones.value 0).id }} {{ (index .zones 0).name }}`:                       "1 a",
		`{{ .tags.value.team }} {{ .tags.team }}`:                                           "a a",
		`{{ with .name }}{{ .value }}{{ end }} {{ with .tags }}{{ .value.team }}{{ end }}`:  "demo a",
		`{{ $n := .name }}{{ $n.value }} {{ $t := .tags.value }}{{ $t.team }}`:              "demo a",
		`{{ add .count.value 1 }} {{ .count }}`:                                             "4 3",
		`{{ define "x" }}{{ .name.value }}{{ end }}{{ include "x" . | indent 2 }}`:          "  demo",
		`{{ range $i, $id := .ids.value }}{{ $i }}={{ $id }};{{ end }}`:                     "0=subnet-1;1=subnet-2;",
		`{{ toYaml .tags.value | nindent 2 }}`:                                              "\n  team: a\n  value: b",
	} {
		t.Run(template, func(t *testing.T) {
			in := templates.Input{Templates: []templates.File{{Name: "t", Text: template}}, FailOnMissing: true}
			if err := in.Values.AddTerraform("outputs.json", []byte(outputs)); err != nil {
				t.Fatal(err)
			}
			got, err := templates.Render(in)
			if err != nil || string(got) != want {
				t.Errorf("%s makes %q, %v; want %q", template, got, err, want)
			}
		})
	}
}

func TestValuesAreMergedInOrder(t *testing.T) {
	var in templates.Input
	for _, text := range []string{"a: {b: 1, c: [1, 2]}\nd: x", "a: {c: [3]}", `{"a": {"e": true}, "d": {"f": "1.10"}}`, ""} {
		if err := in.Values.AddFile("values", []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	in.Templates = []templates.File{{Name: "t", Text: "{{ .a.b }} {{ .a.c }} {{ .a.e }} {{ .d.f }}"}}
	got, err := templates.Render(in)
	if want := "1 [3] true 1.10"; err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestMistakesSayWhereAndWhatWasMeant(t *testing.T) {
	const values = "vpc: {id: vpc-1, cidr: 10.0.0.0/16}\nnothing: null\nregion: eu-central-1\n"
	for name, test := range map[string]struct{ template, snippet, want string }{
		"a value that is not there":        {template: "a: 1\nb: {{ .regoin }}", want: "t.yaml:2:7: there is no value regoin in {{ .regoin }}; did you mean .region?"},
		"one further down":                 {template: "{{ .vpc.ids }}", want: "there is no value ids in {{ .vpc.ids }}; did you mean .vpc.id?"},
		"one that is elsewhere":            {template: "{{ .cidr }}", want: "did you mean .vpc.cidr?"},
		"one with nothing before it":       {template: "{{ .nothing.at.all }}", want: "its parent"},
		"one of a snippet":                 {template: "x\n{{ include \"s.tpl\" . }}", snippet: "\n\n{{ .reigon }}", want: "dir/s.tpl:3:4: there is no value reigon in {{ .reigon }}; did you mean .region?"},
		"a snippet that is not there":      {template: `{{ include "s.tlp" . }}`, snippet: "x", want: `there is no snippet "s.tlp"; did you mean "s.tpl"?`},
		"a function that is not there":     {template: "\n{{ .region | uper }}", want: "t.yaml:2: there is no function uper; did you mean upper?"},
		"an action that does not end":      {template: "a\n{{ if .region }}", want: "t.yaml:2: unexpected EOF"},
		"a snippet that cannot be parsed":  {snippet: "\n{{ end }}", want: "dir/s.tpl:2: unexpected {{end}}"},
		"snippets that include each other": {template: `{{ include "s.tpl" . }}`, snippet: `{{ include "s.tpl" . }}`, want: "includes itself"},
		"a function that fails":            {template: `{{ fail "no zones" }}`, want: "no zones"},
	} {
		t.Run(name, func(t *testing.T) {
			in := templates.Input{
				Templates:     []templates.File{{Name: "t.yaml", Text: test.template}},
				Snippets:      []templates.File{{Name: "dir/s.tpl", Text: test.snippet}},
				FailOnMissing: true,
			}
			if err := in.Values.AddFile("values.yaml", []byte(values)); err != nil {
				t.Fatal(err)
			}
			_, err := templates.Render(in)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestTextThatIsNoYAMLIsShownWithItsLines(t *testing.T) {
	in := templates.Input{Templates: []templates.File{{Name: "t.yaml", Text: "a: 1\nb:\n  - {{ .x }}\n c: 3\nd: 4\n"}}, FormatYAML: true}
	if err := in.Values.Set("x=1"); err != nil {
		t.Fatal(err)
	}
	_, err := templates.Render(in)
	if err == nil || !strings.Contains(err.Error(), "t.yaml, document 1, line 3: the rendered text cannot be formatted") ||
		!strings.Contains(err.Error(), "     2 | b:\n>    3 |   - 1\n     4 |  c: 3") {
		t.Errorf("got %v", err)
	}
}

func TestMissingValuesStandForNothing(t *testing.T) {
	in := templates.Input{Templates: []templates.File{{Name: "t", Text: `[{{ .a }}] [{{ default "x" .b }}]`}}}
	got, err := templates.Render(in)
	if want := "[] [x]"; err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestFormatKeepsWhatValuesMean(t *testing.T) {
	const text = `
# a comment
b: "yes"
a: [on, "1.10", 1.10, 0x1f, 1e3, ~, "null", 012, "2020-01-01"]
---
anchor: &x {z: 1, y: 2}
merged: {<<: *x, z: 3}
---
script: |
  #!/bin/sh
  true
`
	const want = `a:
  - on
  - "1.10"
  - 1.10
  - 0x1f
  - 1e3
  - null
  - "null"
  - 012
  - "2020-01-01"
b: "yes"
---
anchor:
  "y": 2
  z: 1
merged:
  "y": 2
  z: 3
---
script: |
  #!/bin/sh
  true
`
	in := templates.Input{Templates: []templates.File{{Name: "t", Text: text}}, FormatYAML: true}
	got, err := templates.Render(in)
	if err != nil || string(got) != want {
		t.Errorf("got\n%s%v", got, err)
	}
	in.Templates[0].Text = string(got)
	if again, err := templates.Render(in); err != nil || string(again) != want {
		t.Errorf("formatted again it is\n%s%v", again, err)
	}
}

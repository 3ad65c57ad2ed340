package chartrender_test

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/aws-operator/aws-operator/internal/cluster/addons/chartrender"
	"github.com/aws-operator/aws-operator/internal/patience"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == chartrender.Command {
		os.Exit(chartrender.Main(os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// chart packs files, by their paths in the archive, into a chart.
func chart(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	archive := tar.NewWriter(zipped)
	if files["c/Chart.yaml"] == "" {
		files["c/Chart.yaml"] = "apiVersion: v2\nname: c\nversion: 1.0.0\n"
	}
	for name, content := range files {
		if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(archive, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func template(text string) map[string]string { return map[string]string{"c/templates/t.yaml": text} }

func asked(archive []byte) *chartrender.Chart {
	return &chartrender.Chart{
		Archive: archive, Release: "r", Namespace: "ns", Revision: 1, KubeVersion: "v1.36.3", APIVersions: []string{"v1", "apps/v1"},
	}
}

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config\ndata:\n"

// A chart is its publisher's program: whatever it does, the operator continues and reports what is
// wrong.
func TestHostileChartsAreRefusedWithTheReason(t *testing.T) {
	zeros := strings.Repeat("0", 3<<20)
	bomb := map[string]string{}
	for name := range strings.SplitSeq("abcdefghijklmnop", "") {
		bomb["c/"+name] = zeros
	}
	anchors := configMap + "  a: &a [x,x,x,x,x,x,x,x,x]\n"
	for was, name := 'a', 'b'; name < 'k'; was, name = name, name+1 {
		anchors += "  " + string(name) + ": &" + string(
			name,
		) + " [" + strings.TrimSuffix(strings.Repeat("*"+string(was)+",", 9), ",") + "]\n"
	}
	for name, c := range map[string]struct {
		files   map[string]string
		raw     []byte
		timeout time.Duration
		want    string
	}{
		"a loop without end":        {files: template(`{{ range until 30000 }}{{ range until 30000 }}{{ end }}{{ end }}`), timeout: 3 * time.Second, want: "longer than 3s"},
		"memory without end":        {files: template(`{{ $x := "xxxxxxxx" }}{{ range until 40 }}{{ $x = cat $x $x }}{{ end }}`), want: "megabytes of memory"},
		"output without end":        {files: template(`{{ range until 200000 }}# ` + strings.Repeat("x", 100) + "\n{{ end }}"), want: "more than 8 megabytes"},
		"templates without end":     {files: template(`{{ define "a" }}{{ include "a" . }}{{ end }}{{ include "a" . }}`), want: "nested reference"},
		"the environment":           {files: template(configMap + `  x: {{ env "AWS_SECRET_ACCESS_KEY" }}`), want: `function "env" not defined`},
		"the environment in a text": {files: template(configMap + `  x: {{ expandenv "$HOME" }}`), want: `function "expandenv" not defined`},
		"a zip bomb":                {files: bomb, want: "larger than the maximum size"},
		"a file above the archive":  {files: map[string]string{"c/../../../etc/cron.d/x": "x"}, want: "references parent directory"},
		"an absolute path":          {files: map[string]string{"c//etc/cron.d/x": "x"}, want: "absolute paths"},
		"anchors that multiply":     {files: template(anchors), want: "excessive aliasing"},
		"no YAML":                   {files: template("{"), want: "not valid YAML"},
		"no object":                 {files: template("just: data"), want: "not a Kubernetes object"},
		"a library":                 {files: map[string]string{"c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\ntype: library\n"}, want: "library"},
		"another Kubernetes":        {files: map[string]string{"c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\nkubeVersion: <1.20\n"}, want: "requires Kubernetes <1.20, but the cluster runs v1.36.3"},
		"no archive":                {raw: []byte("hello"), want: "read the archive"},
		"a long complaint":          {files: template(`{{ fail (repeat 5000 "long ") }}`), want: " …"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.raw == nil {
				c.raw = chart(t, c.files)
			}
			limit := cmp.Or(c.timeout, patience.Left(t)) // a busy computer takes longer than the default to use up the memory
			_, err := chartrender.New(chartrender.Options{Timeout: limit}).Render(t.Context(), asked(c.raw))
			refused, ok := errors.AsType[*chartrender.RefusedError](err)
			if !ok || !strings.Contains(refused.Why, c.want) || len(refused.Why) > 2000 {
				t.Errorf("got %.2000v, want a refusal that says %q", err, c.want)
			}
		})
	}
}

// A chart's schema refuses values before anything is installed. It may refer to other schemas, but the process that
// reads it opens neither files nor connections.
func TestValuesAreCheckedAgainstTheSchemaOfTheChart(t *testing.T) {
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	t.Cleanup(server.Close)
	const ofReplicas = `{"properties": {"replicas": {"type": "integer", "maximum": 5}}, "required": ["replicas"]}`
	for name, c := range map[string]struct {
		schema string
		values map[string]any
		want   string
	}{
		"values of the schema": {ofReplicas, map[string]any{"replicas": 2}, ""},
		"another type":         {ofReplicas, map[string]any{"replicas": "two"}, "at '/replicas': got string, want integer"},
		"too large":            {ofReplicas, map[string]any{"replicas": 6}, "at '/replicas': maximum: got 6, want 5"},
		"a missing value":      {ofReplicas, nil, "missing property 'replicas'"},
		"a file":               {`{"$ref": "file:///etc/hostname"}`, nil, "file:///etc/hostname"},
		"a URL":                {`{"$ref": "` + server.URL + `/schema.json"}`, nil, server.URL},
	} {
		t.Run(name, func(t *testing.T) {
			request := asked(chart(t, map[string]string{"c/values.schema.json": c.schema, "c/templates/t.yaml": configMap}))
			request.Values = c.values
			_, err := chartrender.New(chartrender.Options{}).Render(t.Context(), request)
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if refused, ok := errors.AsType[*chartrender.RefusedError](err); !ok || !strings.Contains(refused.Why, c.want) {
				t.Errorf("got %v, want a refusal that says %q", err, c.want)
			}
		})
	}
	if n := requests.Load(); n > 0 {
		t.Errorf("a schema caused %d requests", n)
	}
}

// What a chart might learn, and the operator must not tell.
func TestTemplatesSeeNeitherAClusterNorFilesNorNames(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	text := configMap + `
  lookup: {{ lookup "v1" "Secret" "kube-system" "" | toJson | quote }}
  file: {{ .Files.Get "/etc/passwd" | quote }}
  above: {{ .Files.Get "../../../../etc/passwd" | quote }}
  host: {{ getHostByName "localhost" | quote }}
`
	got, err := chartrender.New(chartrender.Options{}).Render(t.Context(), asked(chart(t, template(text))))
	if err != nil {
		t.Fatal(err)
	}
	want := []chartrender.File{
		{
			Name:    "c/templates/t.yaml",
			Content: "apiVersion: v1\ndata:\n  above: \"\"\n  file: \"\"\n  host: \"\"\n  lookup: '{}'\nkind: ConfigMap\nmetadata:\n  name: config\n",
		},
	}
	if diff := gocmp.Diff(want, got.Manifests); diff != "" {
		t.Errorf("rendered (-want +got):\n%s", diff)
	}
}

func TestAChartIsRenderedAsHelmDoes(t *testing.T) {
	archive := chart(t, map[string]string{
		"c/Chart.yaml":             "apiVersion: v2\nname: c\nversion: 1.0.0\nappVersion: \"7\"\ndescription: d\n",
		"c/values.yaml":            "number: 9007199254740993\nname: none\n",
		"c/crds/x.yaml":            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: xs.example.com}\nspec: {group: example.com, names: {kind: X, plural: xs}, versions: [{name: v1}]}\n",
		"c/templates/_helpers.tpl": `{{ define "h" }}helped{{ end }}`,
		"c/templates/NOTES.txt":    "thank you",
		"c/templates/empty.yaml":   "{{ if false }}x{{ end }}\n",
		"c/templates/a.yaml": `{{ if .Capabilities.APIVersions.Has "example.com/v1/X" }}
# A comment.
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Values.name }}, annotations: {"helm.sh/hook": pre-install}}
data: {text: '{{ "{{ not a template }}" }}', h: {{ include "h" . }}, r: '{{ .Release.Name }}/{{ .Release.Namespace }}/{{ .Release.Revision }}/{{ .Release.IsUpgrade }}'}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec: {replicas: 9007199254740993}
---
{{ end }}`,
	})
	question := asked(archive)
	question.Values = map[string]any{"name": "mine"}
	got, err := chartrender.New(chartrender.Options{}).Render(t.Context(), question)
	if err != nil {
		t.Fatal(err)
	}
	want := &chartrender.Rendered{
		Name: "c", Version: "1.0.0", AppVersion: "7", Description: "d",
		CRDs: got.CRDs,
		Manifests: []chartrender.File{{Name: "c/templates/a.yaml", Content: `apiVersion: v1
data:
  h: helped
  r: r/ns/1/false
  text: '{{ not a template }}'
kind: ConfigMap
metadata:
  annotations:
    helm.sh/hook: pre-install
  name: mine
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: d
spec:
  replicas: 9007199254740993
`}},
	}
	if diff := gocmp.Diff(want, got); diff != "" || len(got.CRDs) != 1 || !strings.Contains(got.CRDs[0].Content, "xs.example.com") {
		t.Errorf("rendered (-want +got):\n%s\nCRDs %v", diff, got.CRDs)
	}
}

func TestPatchesChangeWhatIsRendered(t *testing.T) {
	text := `apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec: {template: {spec: {containers: [{name: a, image: i}, {name: b, image: j}]}}}
---
apiVersion: example.com/v1
kind: Thing
metadata: {name: d}
spec: {list: [1, 2], keep: true, drop: true}
`
	question := asked(chart(t, template(text)))
	question.Patches = []chartrender.Patch{
		{
			Kind:  "Deployment",
			Name:  "d",
			Patch: []byte(`{"spec":{"template":{"spec":{"hostNetwork":true,"containers":[{"name":"b","image":"k"}]}}}}`),
		},
		{Kind: "Thing", Name: "d", Patch: []byte(`{"spec":{"list":[3],"drop":null}}`)},
	}
	got, err := chartrender.New(chartrender.Options{}).Render(t.Context(), question)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"hostNetwork: true", "image: k\n        name: b", "image: i\n        name: a", "list:\n  - 3\n", "keep: true",
	} {
		if !strings.Contains(got.Manifests[0].Content, want) {
			t.Errorf("%q is not in:\n%s", want, got.Manifests[0].Content)
		}
	}
	if strings.Contains(got.Manifests[0].Content, "drop") {
		t.Errorf("a field that the patch removes is in:\n%s", got.Manifests[0].Content)
	}
	question.Patches = []chartrender.Patch{{Kind: "Deployment", Name: "other", Patch: []byte(`{}`)}}
	if _, err := chartrender.New(chartrender.Options{}).Render(t.Context(), question); err == nil ||
		!strings.Contains(err.Error(), "renders no Deployment other") {
		t.Errorf("a patch of nothing gave %v", err)
	}
}

func TestFindAsksTheIndex(t *testing.T) {
	renderer := chartrender.New(chartrender.Options{})
	index := "entries: {c: [{apiVersion: v2, name: c, version: 1.0.0, urls: [c.tgz], digest: abc}, null]}"
	got, err := renderer.Find(t.Context(), &chartrender.Find{Index: []byte(index), Chart: "c", Version: "1.0.0"})
	if want := (&chartrender.Found{URL: "c.tgz", Digest: "abc"}); err != nil || *got != *want {
		t.Errorf("got %v, %v", got, err)
	}
	for name, c := range map[string]struct{ index, want string }{
		"no such version": {strings.Replace(index, "1.0.0", "2.0.0", 1), "has no chart c 1.0.0"},
		"no address":      {strings.Replace(index, "urls: [c.tgz]", "urls: []", 1), "has no URL"},
		"no index":        {"<html>", "parse the repository's index"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := renderer.Find(t.Context(), &chartrender.Find{Index: []byte(c.index), Chart: "c", Version: "1.0.0"}); err == nil ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

package main

import (
	"archive/zip"
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
)

const widget = `{
	"typeName": "Acme::Widgets::Widget", "description": "A widget.", "sourceUrl": "https://example.com",
	"properties": {
		"Name": {"type": "string", "description": "Its name.", "maxLength": 10, "examples": ["a"]},
		"description": {"type": "string", "title": "A property of this name stays."},
		"Arn": {"$ref": "#/definitions/description"}
	},
	"definitions": {"description": {"type": "string", "description": "So does a definition."}},
	"tagging": {"taggable": true, "tagProperty": "/properties/Labels", "permissions": ["a"]},
	"readOnlyProperties": ["/properties/Arn"], "createOnlyProperties": ["/properties/Name"],
	"primaryIdentifier": ["/properties/Arn"], "additionalProperties": false,
	"handlers": {"create": {"permissions": ["a"]}}
}`

func archive(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	writer := zip.NewWriter(&out)
	for name, text := range files {
		file, err := writer.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestFetchStripsAndPacks(t *testing.T) {
	data := archive(t, map[string]string{
		"acme-widgets-widget.json": widget,
		"acme-widgets-part.json":   `{"typeName": "Acme::Widgets::Part", "properties": {}, "primaryIdentifier": []}`,
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(data) }))
	defer server.Close()
	dir := t.TempDir()
	local, fromURL, fromFile := filepath.Join(dir, "in.zip"), filepath.Join(dir, "url.gz"), filepath.Join(dir, "file.gz")
	if err := os.WriteFile(local, data, 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	if err := run(t.Context(), []string{"-url", server.URL, "-out", fromURL}, &log); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), []string{"-zip", local, "-out", fromFile}, &log); err != nil {
		t.Fatal(err)
	}
	packed, err := os.ReadFile(fromURL)
	if err != nil {
		t.Fatal(err)
	}
	again, err := os.ReadFile(fromFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(packed, again) {
		t.Error("the same archive results in different files")
	}
	registry, err := schema.New(packed)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"Acme::Widgets::Part", "Acme::Widgets::Widget"}, registry.Names()); d != "" {
		t.Error(d)
	}
	got, ok := registry.Type("Acme::Widgets::Widget")
	if !ok {
		t.Fatal("the widget is missing")
	}
	want := `{"additionalProperties":false,"createOnlyProperties":["/properties/Name"],"definitions":{"description":{"type":"string"}},` +
		`"primaryIdentifier":["/properties/Arn"],"properties":{"Arn":{"$ref":"#/definitions/description"},"Name":{"maxLength":10,"type":"string"},` +
		`"description":{"type":"string"}},"readOnlyProperties":["/properties/Arn"],"tagging":{"tagProperty":"/properties/Labels","taggable":true},` +
		`"typeName":"Acme::Widgets::Widget"}`
	if d := cmp.Diff(want, string(got.JSON())); d != "" {
		t.Error(d)
	}
	if got.TagProperty != "Labels" || !got.Taggable {
		t.Errorf("tags in %q, taggable %v", got.TagProperty, got.Taggable)
	}
}

func TestFetchReportsWhatChanges(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.zip"), filepath.Join(dir, "out.gz")
	log := &bytes.Buffer{}
	for _, name := range []string{"A::B::Old", "A::B::New"} {
		data := archive(t, map[string]string{"x.json": `{"typeName": "` + name + `", "properties": {}}`})
		if err := os.WriteFile(in, data, 0o600); err != nil {
			t.Fatal(err)
		}
		log.Reset()
		if err := run(t.Context(), []string{"-zip", in, "-out", out}, log); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff("1 resource types\n1 new: A::B::New\n1 removed: A::B::Old\n", log.String()); d != "" {
		t.Error(d)
	}
}

func TestFetchKeepsTheOldFileOnFailure(t *testing.T) {
	refusing := httptest.NewServer(http.NotFoundHandler())
	defer refusing.Close()
	dir := t.TempDir()
	out := filepath.Join(dir, "out.gz")
	if err := os.WriteFile(out, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := func(name string, data []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	for _, c := range []struct {
		reason string
		args   []string
		want   string
	}{
		{"the server has no archive", []string{"-url", refusing.URL}, "answers 404 Not Found"},
		{"the file is not an archive", []string{"-zip", path("none.zip", []byte("x"))}, "open the archive"},
		{"the archive is empty", []string{"-zip", path("empty.zip", archive(t, nil))}, "contains no schemas"},
		{"a schema is broken", []string{"-zip", path("broken.zip", archive(t, map[string]string{"x.json": "{"}))}, "x.json in the archive"},
		{"a schema has no name", []string{"-zip", path("nameless.zip", archive(t, map[string]string{"x.json": "{}"}))}, "it has no typeName"},
		{"a schema is invalid", []string{"-zip", path("odd.zip", archive(t, map[string]string{"x.json": `{"typeName": "A::B::C", "properties": []}`}))}, "schema of A::B::C"},
	} {
		err := run(t.Context(), append(c.args, "-out", out), &bytes.Buffer{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.reason, err, c.want)
		}
	}
	left, err := os.ReadFile(out)
	if err != nil || string(left) != "old" {
		t.Errorf("the old file is %q, %v", left, err)
	}
}

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// write writes files below a temporary folder, which it returns.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, content := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestBrokenLinksAreReported(t *testing.T) {
	for _, c := range []struct{ reason, link, want string }{
		{"a page that exists", "../guide/b.html#here", ""},
		{"an anchor of the same page", "#top", ""},
		{"another host", "https://example.com/nothing", ""},
		{"a file of the repository", repository + "abc/go.mod#L1", ""},
		{"a page that does not exist", "c.html", "no such file"},
		{"a picture that does not exist", "picture.png", "no such file"},
		{"an anchor that does not exist", "../guide/b.html#there", "no such anchor"},
		{"a file that the repository does not have", repository + "abc/deleted.go", "no such file"},
	} {
		site := write(t, map[string]string{
			"guide/a.html": `<h1 id="top">A</h1><a href="` + c.link + `">b</a>`, "guide/b.html": `<h2 id="here">B</h2>`,
		})
		pages, broken, err := check(site, write(t, map[string]string{"go.mod": ""}))
		if err != nil || pages != 2 {
			t.Fatalf("%s: %d pages, %v", c.reason, pages, err)
		}
		if got := strings.Join(broken, "\n"); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.reason, got, c.want)
		}
	}
}

func TestNewestReleaseIsFirst(t *testing.T) {
	folder := write(t, map[string]string{
		"v0.9.0/search.json": "", "v0.10.0/search.json": "", "1a2b3c4/search.json": "", "other/file": "", "versions.json": "",
	})
	versions, err := list(folder)
	if want := []string{"v0.10.0", "v0.9.0", "1a2b3c4"}; err != nil || !slices.Equal(versions, want) {
		t.Errorf("got %v, %v; want %v", versions, err, want)
	}
}

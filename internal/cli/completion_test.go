package cli

import (
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/cli/exit"
)

func TestReleasesAreCompleted(t *testing.T) {
	workspace(t)
	_, builtin, _ := run("get", "release", "v1.36.4", "-o", "yaml")
	put(t, "own.yml", strings.Replace(builtin, "name: v1.36.4", "name: v1.36.4-acme.1", 1))
	if code, out, errOut := run("replace", "-f", "own.yml"); code != exit.Done {
		t.Fatal(out, errOut)
	}
	for _, words := range [][]string{
		{"upgrade", "cluster", "demo", "--release", "v1.36"},
		{"create", "cluster", "new", "--release", "v1.36"},
		{"upgrade", "cluster", "--release=v1.36"},
	} {
		code, out, _ := run(append([]string{"__complete"}, words...)...)
		if code != exit.Done || !strings.Contains(out, "v1.36.4\nv1.36.4-acme.1\n") || strings.Contains(out, "v1.35") ||
			!strings.HasSuffix(out, ":4\n") {
			t.Errorf("%v: %d, %s", words, code, out)
		}
	}
	_, out, _ := run("__complete", "upgrade", "cluster", "demo", "--state=ftp://x", "--release", "v1.36")
	if !strings.Contains(out, "v1.36.4\n") {
		t.Errorf("without a state, the built-in Releases are missing: %s", out)
	}
}

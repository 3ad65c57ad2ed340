package kubebuild_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aws-operator/aws-operator/internal/local/kubebuild"
)

const program = "package main\n\nfunc main() { println(\"one\") }\n"

func TestBuildsOnceUntilTheSourcesChange(t *testing.T) {
	root := repository(t)
	if said := ensure(t, root); !strings.Contains(said, "built in") {
		t.Errorf("the first build said %q, want it to say that it built", said)
	}
	if said := ensure(t, root); said != "" {
		t.Errorf("with nothing changed it said %q, want silence", said)
	}
	write(t, filepath.Join(root, "kube", "main.go"), strings.Replace(program, "one", "two", 1))
	ensure(t, root)
	out, err := exec.CommandContext(t.Context(), filepath.Join(root, "bin", "kube")).CombinedOutput()
	if err != nil || string(out) != "two\n" {
		t.Errorf("after an edit the binary says %q (%v), want the edit's", out, err)
	}
}

func TestOnlyOneOfManyProcessesBuilds(t *testing.T) {
	root := repository(t)
	var all sync.WaitGroup
	said := make([]string, 4)
	for i := range said {
		all.Go(func() { said[i] = ensure(t, root) })
	}
	all.Wait()
	if built := strings.Count(strings.Join(said, ""), "built in"); built != 1 {
		t.Errorf("%d of %d built it, want one:\n%s", built, len(said), strings.Join(said, "---\n"))
	}
}

func TestFailedBuildPrintsCompilerErrors(t *testing.T) {
	root := repository(t)
	write(t, filepath.Join(root, "kube", "main.go"), "package main\n\nfunc main() { undefinedThing() }\n")
	_, err := kubebuild.Ensure(t.Context(), kubebuild.Options{Root: root})
	if err == nil || !strings.Contains(err.Error(), "undefinedThing") {
		t.Errorf("got %v, want the compiler's words", err)
	}
}

func TestBuildOutsideTheRepositoryReportsTheRemedy(t *testing.T) {
	t.Chdir(t.TempDir())
	_, err := kubebuild.Ensure(t.Context(), kubebuild.Options{})
	if !errors.Is(err, kubebuild.ErrNoSources) || !strings.Contains(err.Error(), "KUBEBUILDER_ASSETS") {
		t.Errorf("got %v, want ErrNoSources with the way out", err)
	}
}

func repository(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	write(t, filepath.Join(root, "go.mod"), "module github.com/aws-operator/aws-operator\n")
	write(t, filepath.Join(root, "kube", "go.mod"), "module example.com/kube\n\ngo 1.26\n")
	write(t, filepath.Join(root, "kube", "go.sum"), "")
	write(t, filepath.Join(root, "kube", "main.go"), program)
	return root
}

func ensure(t *testing.T, root string) string {
	t.Helper()
	var said bytes.Buffer
	if _, err := kubebuild.Ensure(t.Context(), kubebuild.Options{Root: root, Progress: &said}); err != nil {
		t.Error(err)
	}
	return said.String()
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

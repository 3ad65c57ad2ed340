package gitops_test

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/rhysd/actionlint"
)

// TestPipelinesAreValid checks the example of a workflow with actionlint.
func TestPipelinesAreValid(t *testing.T) {
	linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	problems, err := linter.LintFile(filepath.Join("..", "..", "examples", "pipelines", "github.yaml"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		t.Error(problem)
	}
}

package environment

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/aws-operator/aws-operator/examples"
)

// QuickStart returns the folder of an environment that has the manifests of the quick start.
func QuickStart(dir string) string { return filepath.Join(dir, quickStartDir) }

// writeExamples writes the manifests of the quick start, for users who have only the binary.
func (e *Environment) writeExamples(context.Context) (string, error) {
	if err := os.CopyFS(string(e.folder), examples.QuickStart); err != nil {
		return "", fmt.Errorf("write the examples: %w", err)
	}
	return QuickStart(string(e.folder)), nil
}

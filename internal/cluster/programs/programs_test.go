package programs_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/programs"
)

// The uploaded program has the hash that its key contains, although nodeup is built again while the
// operator runs.
func TestUploadedProgramHasTheHashInUserData(t *testing.T) {
	for name, c := range map[string]struct {
		rebuild func(path string) error
		changed bool
	}{
		"replaced by a build": {func(path string) error {
			return errors.Join(os.Remove(path), os.WriteFile(path, []byte("new and longer"), 0o600))
		}, false},
		"deleted":     {os.Remove, false},
		"overwritten": {func(path string) error { return os.WriteFile(path, []byte("new"), 0o600) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "nodeup-linux-arm64")
			if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
			folder := programs.In(filepath.Dir(path))
			before, err := folder.Find(v1alpha1.ARM64)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.rebuild(path); err != nil {
				t.Fatal(err)
			}
			after, err := folder.Find(v1alpha1.ARM64)
			if err != nil || after.Hash != before.Hash {
				t.Errorf("the hash was %s and is %s, %v", before.Hash, after.Hash, err)
			}
			body, err := after.Open()
			if c.changed {
				if changed, ok := errors.AsType[programs.ChangedError](err); !ok {
					t.Errorf("got %v, want an error that says %q", err, changed)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			content, err := io.ReadAll(body)
			if err != nil || string(content) != "old" {
				t.Errorf("read %q, %v", content, err)
			}
		})
	}
}

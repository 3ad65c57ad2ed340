package nodebuild_test

import (
	"debug/elf"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/aws-operator/aws-operator/internal/local/kubebuild"
	"github.com/aws-operator/aws-operator/internal/local/nodebuild"
)

func TestProgramsAreStatic(t *testing.T) {
	programs, err := nodebuild.Ensure(t.Context(), nodebuild.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Dir(programs.Nodeup) != programs.NodeupDir || filepath.Base(programs.Nodeup) != "nodeup-linux-"+runtime.GOARCH {
		t.Errorf("got %+v", programs)
	}
	for _, path := range []string{programs.Nodeup, programs.Machine} {
		file, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		libraries, err := file.ImportedLibraries()
		if err != nil || len(libraries) > 0 {
			t.Errorf("%s needs %v, %v: machines may not have it", path, libraries, err)
		}
		_ = file.Close()
		// The machine image's kubelet is hashed at each boot.
		if info, err := os.Stat(path); err != nil || info.Size() > 40<<20 {
			t.Errorf("%s: %v, or more than 40 MB", path, err)
		}
	}
}

func TestMissingSourcesAreReported(t *testing.T) {
	t.Chdir(t.TempDir())
	if _, err := nodebuild.Ensure(t.Context(), nodebuild.Options{}); !errors.Is(err, kubebuild.ErrNoSources) {
		t.Errorf("got %v, want ErrNoSources", err)
	}
}

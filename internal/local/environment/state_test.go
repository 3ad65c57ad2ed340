package environment_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/aws-operator/aws-operator/internal/local/environment"
)

// An environment that ends removes its lock and its folder while others read its state.
func TestStateOfAFolderThatDisappears(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "local")
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "lock"), nil, 0o600), os.RemoveAll(dir))
			select {
			case <-stop:
				stopped <- err
				return
			default:
			}
			if err != nil {
				stopped <- err
				return
			}
		}
	}()
	for range 5000 {
		if _, err := environment.Read(dir); !errors.Is(err, environment.ErrNotRunning) {
			t.Errorf("got %v, want ErrNotRunning", err)
			break
		}
	}
	close(stop)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("reading left the folder: %v", err)
	}
}

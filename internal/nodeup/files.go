package nodeup

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
)

// nodeup's own files.
const (
	stateFolder   = "/var/lib/nodeup"
	bundleFile    = stateFolder + "/bundle.json"
	kubeadmFile   = stateFolder + "/kubeadm.yaml"
	doneFile      = stateFolder + "/done"
	extraFile     = stateFolder + "/extra-user-data.sh"
	extraDoneFile = stateFolder + "/extra-user-data.done"
	unitsDoneFile = stateFolder + "/extra-units.done"
	unpackedInto  = stateFolder + "/artifacts"
	unitFolder    = bundle.UnitFolder
)

// files are the files of the machine below a root.
type files struct{ root string }

// path returns the real path of a file.
func (f files) path(name string) string { return filepath.Join("/", f.root, name) }

// read returns a file's content.
func (f files) read(name string) ([]byte, error) {
	content, err := os.ReadFile(f.path(name))
	if err != nil {
		return nil, fmt.Errorf("read a file: %w", err)
	}
	return content, nil
}

// exists reports whether a file exists.
func (f files) exists(name string) bool {
	_, err := os.Stat(f.path(name))
	return err == nil
}

// write writes a file unless it has the content already, and reports whether it did. The write is
// atomic, also on a power failure.
func (f files) write(name string, content []byte, mode os.FileMode) (changed bool, err error) {
	path := f.path(name)
	if info, err := os.Stat(path); err == nil && info.Mode().Perm() == mode {
		if now, err := os.ReadFile(path); err == nil && bytes.Equal(now, content) { //nolint:gosec // The bundle names it.
			return false, nil
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // System folders are readable by all users.
		return false, fmt.Errorf("make a folder: %w", err)
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), ".nodeup-*")
	if err != nil {
		return false, fmt.Errorf("write a file: %w", err)
	}
	defer os.Remove(temporary.Name()) //nolint:errcheck // It has been renamed.
	if _, err := temporary.Write(content); err != nil {
		temporary.Close() //nolint:errcheck,gosec // Writing has failed.
		return false, fmt.Errorf("write %s: %w", name, err)
	}
	return true, put(temporary, path, mode)
}

// put closes a temporary file and renames it.
func put(temporary *os.File, path string, mode os.FileMode) error {
	err := temporary.Chmod(mode)
	if err == nil {
		err = temporary.Sync()
	}
	if closeErr := temporary.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// remove removes files that may not exist.
func (f files) remove(names ...string) error {
	for _, name := range names {
		if err := os.Remove(f.path(name)); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("remove a file: %w", err)
		}
	}
	return nil
}

// parseMode parses a mode of a bundle.
func parseMode(mode string) (os.FileMode, error) {
	const octal, bits = 8, 12
	parsed, err := strconv.ParseUint(mode, octal, bits)
	if err != nil {
		return 0, permanent("the bundle has a file of mode %q", mode)
	}
	return os.FileMode(parsed), nil
}

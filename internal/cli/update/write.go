package update

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/aws-operator/aws-operator/internal/terraform"
)

// written is what writing a configuration has done.
type written struct {
	// changes are lines for people, one a file.
	changes   []string
	unchanged int
}

func (w *written) say(what, file string) { w.changes = append(w.changes, what+" "+file) }

// write makes the folder hold the configuration of the cluster. It errs before it changes anything where a file of somebody
// else's is in the way. Each file is there wholly or not at all, also when it is interrupted; the same command goes on.
func write(dir, cluster string, c *terraform.Configuration, programs programFiles) (*written, error) {
	for _, file := range slices.Sorted(maps.Keys(c.Files)) {
		if err := mayOverwrite(filepath.Join(dir, file), cluster); err != nil {
			return nil, err
		}
	}
	// What is the cluster's and no longer part of it is found before anything is written, and removed afterwards.
	stale, err := findStale(dir, cluster, c)
	if err != nil {
		return nil, err
	}
	w := &written{}
	for _, p := range c.Programs {
		if err := w.program(programs[p.Architecture], filepath.Join(dir, p.Path)); err != nil {
			return nil, err
		}
	}
	for _, file := range slices.Sorted(maps.Keys(c.Files)) {
		if err := w.file(filepath.Join(dir, file), c.Files[file]); err != nil {
			return nil, err
		}
	}
	for _, file := range stale {
		if err := os.Remove(file); err != nil {
			return nil, fmt.Errorf("remove what is no longer part of the cluster: %w", err)
		}
		w.say("removed", file)
	}
	return w, nil
}

// mayOverwrite errs where a *.tf file is not the cluster's. What is in the folder of data is.
func mayOverwrite(file, cluster string) error {
	if filepath.Ext(file) != ".tf" {
		return nil
	}
	contents, err := os.ReadFile(file) //nolint:gosec // the folder is the person's own
	switch owner, ok := terraform.IsWritten(contents); {
	case errors.Is(err, fs.ErrNotExist), err == nil && ok && owner == cluster:
		return nil
	case err != nil:
		return fmt.Errorf("look at what is there: %w", err)
	case ok:
		return fmt.Errorf("%s is of cluster %s; name another folder with --out", file, owner)
	}
	return fmt.Errorf("%s was not written by aws-operator, and would be overwritten; move it, or name another folder with --out", file)
}

// findStale returns the files that are the cluster's and not part of the configuration.
func findStale(dir, cluster string, c *terraform.Configuration) ([]string, error) {
	wanted := map[string]bool{}
	for file := range c.Files {
		wanted[filepath.Join(dir, file)] = true
	}
	for _, p := range c.Programs {
		wanted[filepath.Join(dir, p.Path)] = true
	}
	there, err := filepath.Glob(filepath.Join(dir, "*.tf"))
	if err != nil {
		return nil, fmt.Errorf("look at what is there: %w", err)
	}
	var stale []string
	for _, file := range there {
		if !wanted[file] && mayOverwrite(file, cluster) == nil {
			stale = append(stale, file)
		}
	}
	entries, err := os.ReadDir(filepath.Join(dir, c.Folder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look at what is there: %w", err)
	}
	for _, entry := range entries {
		if file := filepath.Join(dir, c.Folder, entry.Name()); !wanted[file] && !entry.IsDir() {
			stale = append(stale, file)
		}
	}
	return stale, nil
}

// file writes a file unless it is there.
func (w *written) file(file string, contents []byte) error {
	before, err := os.ReadFile(file) //nolint:gosec // the folder is the person's own
	switch {
	case err == nil && bytes.Equal(before, contents):
		w.unchanged++
		return nil
	case err == nil:
		w.say("changed", file)
	default:
		w.say("created", file)
	}
	return replace(file, bytes.NewReader(contents))
}

// program copies nodeup unless it is there: its hash is in its name.
func (w *written) program(from, to string) error {
	source, err := os.Open(from) //nolint:gosec // the folder is the person's own
	if err != nil {
		return fmt.Errorf("read nodeup: %w", err)
	}
	defer func() { _ = source.Close() }() // It was only read.
	if _, err := os.Stat(to); err == nil {
		w.unchanged++
		return nil
	}
	w.say("created", to)
	return replace(to, source)
}

// replace writes a file in the place of what is there.
func replace(file string, contents io.Reader) error {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("make the folder for the configuration: %w", err)
	}
	partial, err := os.CreateTemp(dir, ".aws-operator-*")
	if err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	defer func() { _ = os.Remove(partial.Name()) }() // It is gone already if all went well.
	_, err = io.Copy(partial, contents)
	err = errors.Join(err, partial.Chmod(0o644), partial.Close()) //nolint:gosec // others who work on the configuration read it
	if err == nil {
		err = os.Rename(partial.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	return nil
}

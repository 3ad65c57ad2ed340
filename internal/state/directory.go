package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/internal/local/filelock"
)

// directory keeps files in a folder.
type directory struct{ root string }

const (
	// Other users may read files that are not secret, as those in Git.
	folderMode = 0o755
	fileMode   = 0o644
	// Only the owner may read secrets.
	secretFolderMode = 0o700
)

func (d *directory) where(name string) string { return filepath.Join(d.root, filepath.FromSlash(name)) }

func (d *directory) clusters(context.Context) ([]string, error) {
	entries, err := os.ReadDir(d.root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, d.explain("read", err)
	}
	var names []string
	for _, entry := range entries {
		if _, err := os.Stat(d.where(entry.Name() + "/" + fileCluster)); err == nil {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

func (d *directory) list(_ context.Context, folder string) ([]string, error) {
	var names []string
	err := filepath.WalkDir(d.where(folder), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(d.root, path)
		if err == nil && !strings.HasPrefix(entry.Name(), ".") {
			names = append(names, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, d.explain("read", err)
	}
	slices.Sort(names)
	return names, nil
}

func (d *directory) read(_ context.Context, name string) ([]byte, error) {
	data, err := os.ReadFile(d.where(name))
	if err != nil {
		return nil, d.explain("read", err)
	}
	return data, nil
}

// write replaces a file atomically: it writes the new content to a temporary file in the same
// folder and renames it.
func (d *directory) write(_ context.Context, name string, data []byte) error {
	path := d.where(name)
	mode, dirMode := fs.FileMode(fileMode), fs.FileMode(folderMode)
	if isSecret(name) {
		mode, dirMode = 0o600, secretFolderMode
	}
	if err := d.makeFolder(filepath.Dir(path), dirMode, isSecret(name)); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return d.explain("write", err)
	}
	_, err = file.Write(data)
	err = errors.Join(err, file.Chmod(mode), file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name())
		return d.explain("write", err)
	}
	return nil
}

// makeFolder creates a folder. In folders of secrets, it adds a .gitignore for all files.
func (d *directory) makeFolder(path string, mode fs.FileMode, secret bool) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), folderMode); err != nil {
		return d.explain("write", err)
	}
	if err := os.Mkdir(path, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return d.explain("write", err)
	}
	if !secret {
		return nil
	}
	const ignore = "# Keys are not for Git.\n*\n!.gitignore\n"
	if err := os.WriteFile(filepath.Join(path, ".gitignore"), []byte(ignore), 0o600); err != nil {
		return d.explain("write", err)
	}
	return nil
}

func (d *directory) remove(_ context.Context, name string) error {
	if err := os.Remove(d.where(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return d.explain("remove", err)
	}
	return nil
}

// removeEmpty removes the empty folders of a cluster.
func (d *directory) removeEmpty(cluster string) error {
	root := d.where(cluster)
	var folders []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			folders = append(folders, path)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return d.explain("read", err)
	}
	for _, folder := range slices.Backward(folders) { // the inner ones first
		entries, err := os.ReadDir(folder)
		if err != nil {
			return d.explain("read", err)
		}
		if len(entries) == 1 && entries[0].Name() == ".gitignore" && filepath.Base(folder) == folderSecrets {
			_ = os.Remove(filepath.Join(folder, ".gitignore"))
			entries = nil
		}
		if len(entries) == 0 {
			_ = os.Remove(folder) // fails if another client has added a file in the meantime
		}
	}
	return nil
}

// lock locks the file. The lock ends with the process, so the content of the file is meaningless if
// its owner has exited.
func (d *directory) lock(_ context.Context, cluster string, h Holder) (func() error, error) {
	name := cluster + "/" + fileLock
	path := d.where(name)
	if err := d.makeFolder(filepath.Dir(path), folderMode, false); err != nil {
		return nil, err
	}
	held, err := filelock.Try(path)
	if errors.Is(err, filelock.ErrHeld) {
		locked := &LockedError{
			Cluster: cluster,
			Remedy:  "wait until it is done, or end that process: this releases the lock, and the next command continues",
		}
		data, _ := os.ReadFile(path) //nolint:gosec // The state's own file. Without it, the holder is unknown.
		_ = yaml.Unmarshal(data, &locked.Holder)
		return nil, locked
	}
	if err != nil {
		_ = os.Remove(filepath.Dir(path)) // an empty folder was created for the lock
		return nil, d.explain("lock", err)
	}
	text, err := yaml.Marshal(h)
	if err == nil {
		err = os.WriteFile(path, text, fileMode)
	}
	unlock := func() error {
		err := os.Remove(path)
		held.Release()
		return errors.Join(err, d.removeEmpty(cluster))
	}
	if err != nil {
		return nil, errors.Join(d.explain("lock", err), unlock())
	}
	return unlock, nil
}

// explain adds the action, the file and a remedy to an error.
func (d *directory) explain(verb string, err error) error {
	path := d.root
	if of, ok := errors.AsType[*fs.PathError](err); ok {
		path = of.Path
	}
	if of, ok := errors.AsType[*os.LinkError](err); ok {
		path = of.New
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("no permission to %s %s: ask its owner, or name another state with --state (%w)", verb, path, fs.ErrPermission)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s does not exist (%w)", path, fs.ErrNotExist)
	}
	return fmt.Errorf("%s the state: %w", verb, err)
}

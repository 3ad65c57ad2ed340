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

// written is the result of writing a configuration.
type written struct {
	// changes are lines to print, one per file.
	changes   []string
	unchanged int
}

func (w *written) say(what, file string) { w.changes = append(w.changes, what+" "+file) }

// write writes the configuration of the cluster to the folder. It returns an error, before it
// changes anything, if it would overwrite a file that is not the cluster's. It writes each file
// atomically, so after an interruption the same command continues.
func write(dir, cluster string, c *terraform.Configuration, open func(terraform.Program) (io.ReadCloser, error)) (*written, error) {
	for _, file := range slices.Sorted(maps.Keys(c.Files)) {
		if err := mayOverwrite(filepath.Join(dir, file), cluster); err != nil {
			return nil, err
		}
	}
	// Find files of the cluster that are no longer part of it before writing, and remove them
	// afterwards.
	stale, err := findStale(dir, cluster, c)
	if err != nil {
		return nil, err
	}
	if err := keepsKeys(dir, cluster, c); err != nil {
		return nil, err
	}
	w := &written{}
	for _, p := range c.Programs {
		if err := w.program(func() (io.ReadCloser, error) { return open(p) }, filepath.Join(dir, p.Path)); err != nil {
			return nil, err
		}
	}
	if err := w.secrets(dir, c); err != nil {
		return nil, err
	}
	for _, file := range slices.Sorted(maps.Keys(c.Files)) {
		if err := w.file(filepath.Join(dir, file), c.Files[file], forAll); err != nil {
			return nil, err
		}
	}
	for _, file := range stale {
		if err := os.Remove(file); err != nil {
			return nil, fmt.Errorf("remove files that are no longer part of the cluster: %w", err)
		}
		w.say("removed", file)
	}
	return w, nil
}

// mayOverwrite returns an error if a *.tf file is not the cluster's. All files in the data folder
// are.
func mayOverwrite(file, cluster string) error {
	if filepath.Ext(file) != ".tf" {
		return nil
	}
	contents, err := os.ReadFile(file) //nolint:gosec // the folder is the user's own
	switch owner, ok := terraform.IsWritten(contents); {
	case errors.Is(err, fs.ErrNotExist), err == nil && ok && owner == cluster:
		return nil
	case err != nil:
		return fmt.Errorf("read existing files: %w", err)
	case ok:
		return fmt.Errorf("%s belongs to cluster %s; name another folder with --out", file, owner)
	}
	return fmt.Errorf("%s was not written by aws-operator and would be overwritten; move it, or name another folder with --out", file)
}

// findStale returns the cluster's files that are not part of the configuration.
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
		return nil, fmt.Errorf("read existing files: %w", err)
	}
	var stale []string
	for _, file := range there {
		if !wanted[file] && mayOverwrite(file, cluster) == nil {
			stale = append(stale, file)
		}
	}
	entries, err := os.ReadDir(filepath.Join(dir, c.Folder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read existing files: %w", err)
	}
	for _, entry := range entries {
		if file := filepath.Join(dir, c.Folder, entry.Name()); !wanted[file] && !entry.IsDir() {
			stale = append(stale, file)
		}
	}
	return stale, nil
}

// keepsKeys returns an error if the configuration lacks the cluster's keys and the existing one has
// them: Terraform would delete them from the bucket, and slots could no longer boot.
func keepsKeys(dir, cluster string, c *terraform.Configuration) error {
	if len(c.Secrets) > 0 {
		return nil
	}
	there, err := filepath.Glob(filepath.Join(dir, "*.tf"))
	if err != nil {
		return fmt.Errorf("read existing files: %w", err)
	}
	for _, file := range there {
		contents, err := os.ReadFile(file) //nolint:gosec // the folder is the user's own
		if err != nil {
			return fmt.Errorf("read existing files: %w", err)
		}
		if owner, ok := terraform.IsWritten(contents); ok && owner == cluster &&
			bytes.Contains(contents, []byte(`/`+c.SecretsFolder()+`/`)) {
			return fmt.Errorf(
				"in %s, Terraform uploads the keys of the cluster's CAs to its bucket, and without them it would delete them; name the state that has them with --state, and leave out -f",
				file,
			)
		}
	}
	return nil
}

// publishesFromBucket reports whether the existing configuration of the cluster has an issuer whose
// documents are in the cluster's bucket. They stay there, since all tokens of the cluster contain
// their URL.
func publishesFromBucket(dir, cluster string) (bool, error) {
	there, err := filepath.Glob(filepath.Join(dir, "*.tf"))
	if err != nil {
		return false, fmt.Errorf("read existing files: %w", err)
	}
	for _, file := range there {
		contents, err := os.ReadFile(file) //nolint:gosec // the folder is the user's own
		if err != nil {
			return false, fmt.Errorf("read existing files: %w", err)
		}
		if owner, ok := terraform.IsWritten(contents); ok && owner == cluster &&
			bytes.Contains(contents, []byte(`resource "aws_iam_openid_connect_provider"`)) {
			return !hasIssuerBucket(contents), nil
		}
	}
	return false, nil
}

// hasIssuerBucket reports whether a configuration has a separate bucket for the issuer's documents.
func hasIssuerBucket(configuration []byte) bool {
	return bytes.Count(configuration, []byte("\nresource \"aws_s3_bucket\" ")) > 1
}

// secrets writes the secrets, readable by their owner only, and keeps them out of Git. It never
// removes any, since they may be the only copy of a cluster's keys.
func (w *written) secrets(dir string, c *terraform.Configuration) error {
	if len(c.Secrets) == 0 {
		return nil
	}
	folder := filepath.Join(dir, c.SecretsFolder())
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("make the folder for the keys: %w", err)
	}
	if err := w.file(filepath.Join(folder, ".gitignore"), []byte("# The keys of the cluster's CAs.\n*\n"), forAll); err != nil {
		return err
	}
	for _, file := range slices.Sorted(maps.Keys(c.Secrets)) {
		if err := w.file(filepath.Join(dir, file), c.Secrets[file], forOwner); err != nil {
			return err
		}
	}
	return nil
}

// Modes of files.
const (
	forAll   os.FileMode = 0o644 // others who work on the configuration read it
	forOwner os.FileMode = 0o600
)

// file writes a file unless it is up to date.
func (w *written) file(file string, contents []byte, mode os.FileMode) error {
	before, err := os.ReadFile(file) //nolint:gosec // the folder is the user's own
	switch info, statErr := os.Stat(file); {
	case err == nil && statErr == nil && bytes.Equal(before, contents) && (mode == forAll || info.Mode().Perm() == mode):
		w.unchanged++
		return nil
	case err == nil:
		w.say("changed", file)
	default:
		w.say("created", file)
	}
	return put(file, bytes.NewReader(contents), mode)
}

// program copies a program unless it exists: its name contains its hash.
func (w *written) program(open func() (io.ReadCloser, error), to string) error {
	if _, err := os.Stat(to); err == nil {
		w.unchanged++
		return nil
	}
	source, err := open()
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }() // It was only read.
	w.say("created", to)
	return put(to, source, forAll)
}

// put writes a file, and replaces an existing one.
func put(file string, contents io.Reader, mode os.FileMode) error {
	dir, private := filepath.Dir(file), os.FileMode(0o700)
	if mode == forAll {
		private = 0o750
	}
	if err := os.MkdirAll(dir, private); err != nil {
		return fmt.Errorf("make the folder for the configuration: %w", err)
	}
	partial, err := os.CreateTemp(dir, ".aws-operator-*")
	if err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	defer func() { _ = os.Remove(partial.Name()) }() // The rename has removed it on success.
	err = partial.Chmod(mode)                        // before there is anything to read
	if err == nil {
		_, err = io.Copy(partial, contents)
	}
	err = errors.Join(err, partial.Close())
	if err == nil {
		err = os.Rename(partial.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	return nil
}

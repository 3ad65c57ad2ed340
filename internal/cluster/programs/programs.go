// Package programs finds the programs that instances run and that the operator ships: nodeup, and
// the one that restores etcd.
package programs

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// Folder is the folder of the programs. It is safe for concurrent use.
type Folder struct {
	dir string

	mu    sync.Mutex
	known map[v1alpha1.Architecture]File
}

// File is a program for one architecture.
type File struct {
	path string
	// open is the file that Hash was computed of. It stays open, so that it can still be read after
	// another build replaced it.
	open *os.File

	// Hash is the SHA-256 of nodeup, in hex.
	Hash string
}

// ChangedError reports that a program was overwritten while this process was running.
type ChangedError struct{ path string }

// Error says how to use the new program.
func (e ChangedError) Error() string {
	return fmt.Sprintf("%s was overwritten while this process was running; start the process again to use the new file", e.path)
}

// MissingError reports that the operator was installed without a program.
type MissingError struct {
	program      string
	architecture v1alpha1.Architecture
	dir          string
}

// Error names the folder that was searched.
func (e MissingError) Error() string {
	return fmt.Sprintf(
		"there is no %s for %s in %s; put %s-linux-%s there, or name another folder with --nodeup-dir",
		e.program,
		e.architecture,
		e.dir,
		e.program,
		e.architecture,
	)
}

// Beside returns the given folder, or that of this program if none is given, since programs are
// installed together.
func Beside(given string) string {
	if given != "" {
		return given
	}
	program, err := os.Executable()
	if err != nil {
		return "" // MissingError names the missing program.
	}
	return filepath.Dir(program)
}

// In returns the folder of that path.
func In(dir string) *Folder {
	return &Folder{dir: dir, known: map[v1alpha1.Architecture]File{}}
}

// Find returns nodeup for an architecture, with its hash, which is computed once: what instances
// download must be the file whose hash is in their user data, also if nodeup is built again
// meanwhile.
func (n *Folder) Find(architecture v1alpha1.Architecture) (File, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if file, ok := n.known[architecture]; ok {
		return file, nil
	}
	names := []string{"nodeup-linux-" + string(architecture)}
	if string(architecture) == runtime.GOARCH {
		names = append(names, "nodeup")
	}
	for _, name := range names {
		file := File{path: filepath.Join(n.dir, name)}
		open, err := os.Open(file.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return file, fmt.Errorf("read nodeup: %w", err)
		}
		file.open = open
		if file.Hash, err = file.Sum(); err != nil {
			return file, errors.Join(err, open.Close())
		}
		n.known[architecture] = file
		return file, nil
	}
	return File{}, MissingError{program: "nodeup", architecture: architecture, dir: n.dir}
}

// FindRestore returns the program that restores etcd members from a snapshot's data. It is in the
// same folder as nodeup.
func (n *Folder) FindRestore(architecture v1alpha1.Architecture) (File, error) {
	names := []string{"etcd-restore-linux-" + string(architecture)}
	if string(architecture) == runtime.GOARCH {
		names = append(names, "etcd-restore")
	}
	for _, name := range names {
		file := File{path: filepath.Join(n.dir, name)}
		switch _, err := os.Stat(file.path); {
		case err == nil:
			return file, nil
		case !errors.Is(err, fs.ErrNotExist):
			return file, fmt.Errorf("find the program that restores etcd: %w", err)
		}
	}
	return File{}, MissingError{program: "etcd-restore", architecture: architecture, dir: n.dir}
}

// Path returns the path of the program, to run it on this host.
func (f File) Path() string { return f.path }

// Open opens the program to be read. It returns a [ChangedError] if the content is not the one of
// Hash.
func (f File) Open() (io.ReadSeekCloser, error) {
	if f.open == nil {
		file, err := os.Open(f.path)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", f.path, err)
		}
		return file, nil
	}
	now, err := f.Sum()
	if err != nil {
		return nil, err
	}
	if now != f.Hash {
		return nil, ChangedError{path: f.path}
	}
	return f.section()
}

// section reads the open file from its beginning.
func (f File) section() (io.ReadSeekCloser, error) {
	info, err := f.open.Stat()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.path, err)
	}
	return shared{io.NewSectionReader(f.open, 0, info.Size())}, nil
}

// shared reads a file that stays open for others.
type shared struct{ *io.SectionReader }

// Close does nothing.
func (shared) Close() error { return nil }

// Sum computes the SHA-256 of the program, in hex.
func (f File) Sum() (string, error) {
	read := f.section
	if f.open == nil {
		read = f.Open
	}
	file, err := read()
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // It was only read.
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("read %s: %w", f.path, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

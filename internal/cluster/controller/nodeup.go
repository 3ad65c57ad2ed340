package controller

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

// nodeupFiles are the nodeup programs that the operator brings along.
type nodeupFiles struct {
	dir string

	mu    sync.Mutex
	known map[v1alpha1.Architecture]nodeupFile
}

// nodeupFile is nodeup for one architecture.
type nodeupFile struct{ path, hash string }

// missingNodeupError says that the operator was installed without nodeup.
type missingNodeupError struct {
	program      string
	architecture v1alpha1.Architecture
	dir          string
}

// Error says where nodeup was looked for.
func (e missingNodeupError) Error() string {
	return fmt.Sprintf("there is no %s for %s in %s; put %s-linux-%s there, or name another folder with --nodeup-dir", e.program, e.architecture, e.dir, e.program, e.architecture)
}

func newNodeupFiles(dir string) *nodeupFiles {
	return &nodeupFiles{dir: dir, known: map[v1alpha1.Architecture]nodeupFile{}}
}

// find returns nodeup for an architecture, with its hash, which is computed once.
func (n *nodeupFiles) find(architecture v1alpha1.Architecture) (nodeupFile, error) {
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
		file := nodeupFile{path: filepath.Join(n.dir, name)}
		var err error
		if file.hash, err = hashFile(file.path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return file, err
		}
		n.known[architecture] = file
		return file, nil
	}
	return nodeupFile{}, missingNodeupError{program: "nodeup", architecture: architecture, dir: n.dir}
}

// findRestore returns the program that makes members of etcd of a snapshot's data, which is where nodeup is.
func (n *nodeupFiles) findRestore(architecture v1alpha1.Architecture) (nodeupFile, error) {
	names := []string{"etcd-restore-linux-" + string(architecture)}
	if string(architecture) == runtime.GOARCH {
		names = append(names, "etcd-restore")
	}
	for _, name := range names {
		file := nodeupFile{path: filepath.Join(n.dir, name)}
		switch _, err := os.Stat(file.path); {
		case err == nil:
			return file, nil
		case !errors.Is(err, fs.ErrNotExist):
			return file, fmt.Errorf("look for what restores etcd: %w", err)
		}
	}
	return nodeupFile{}, missingNodeupError{program: "etcd-restore", architecture: architecture, dir: n.dir}
}

// nodeupFor returns the hash of the nodeup that a stack's machines boot with. It stays as long as their
// bundle does: a new operator brings a new nodeup, and must not replace every machine by that.
func (o *operator) nodeupFor(status *v1alpha1.StackStatus, bundle string, architecture v1alpha1.Architecture) (string, error) {
	known, err := recall(status)
	if err != nil {
		return "", err
	}
	if known.Nodeup != "" && status.Bundle == bundle {
		return known.Nodeup, nil
	}
	file, err := o.nodeup.find(architecture)
	return file.hash, err
}

func (f nodeupFile) open() (*os.File, error) {
	file, err := os.Open(f.path)
	if err != nil {
		return nil, fmt.Errorf("read nodeup: %w", err)
	}
	return file, nil
}

func hashFile(path string) (string, error) {
	file, err := os.Open(path) //nolint:gosec // the folder is the operator's own flag
	if err != nil {
		return "", fmt.Errorf("read nodeup: %w", err)
	}
	defer func() { _ = file.Close() }() // It was only read.
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("read nodeup: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

package update

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

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/terraform"
)

// programFiles are the files of nodeup by architecture.
type programFiles map[v1alpha1.Architecture]string

// findNodeup finds nodeup for the architectures of the cluster's machines, and gives the input their hashes.
func findNodeup(dir string, in *terraform.Input) (programFiles, error) {
	if dir == "" {
		program, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find this program's folder, where nodeup is: %w", err)
		}
		dir = filepath.Dir(program)
	}
	architectures := []v1alpha1.Architecture{in.Cluster.ControlPlaneArchitecture}
	for _, g := range in.Groups {
		architectures = append(architectures, g.Spec.Architecture)
	}
	in.Nodeup = map[v1alpha1.Architecture]string{}
	found := programFiles{}
	for _, a := range architectures {
		if found[a] != "" {
			continue
		}
		file, hash, err := nodeupFor(dir, a)
		if err != nil {
			return nil, err
		}
		found[a], in.Nodeup[a] = file, hash
	}
	return found, nil
}

// nodeupFor returns the file of nodeup for an architecture, and its hash. For this machine's own the name may be nodeup alone.
func nodeupFor(dir string, architecture v1alpha1.Architecture) (file, hash string, err error) {
	names := []string{"nodeup-linux-" + string(architecture)}
	if string(architecture) == runtime.GOARCH {
		names = append(names, "nodeup")
	}
	for _, name := range names {
		file = filepath.Join(dir, name)
		if hash, err = hashOf(file); !errors.Is(err, fs.ErrNotExist) {
			return file, hash, err
		}
	}
	return "", "", fmt.Errorf("there is no %s in %s; put it there, or name another folder with --nodeup-dir", names[0], dir)
}

func hashOf(path string) (string, error) {
	file, err := os.Open(path) //nolint:gosec // the folder is the person's own
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

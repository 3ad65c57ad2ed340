package kubebuild

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/local/filelock"
)

// KubernetesVersion is the version in kube/go.mod, which the binary reports. kubeadm requires it.
const KubernetesVersion = "v1.36.3"

// Version is one version of Kubernetes that kube/ builds.
type Version struct {
	// Kubernetes is the version that the binary reports, as in the module file.
	Kubernetes string
	// modules is the module file in kube/, without its extension; binary the file's name in bin/.
	modules, binary string
}

// The versions to build: the current one, which local mode runs, and the two previous minor
// versions, from which tests upgrade. Go's module proxy does not have all modules of their latest
// patches.
var (
	Present  = Version{Kubernetes: KubernetesVersion, modules: "go", binary: "kube"}
	Previous = Version{Kubernetes: "v1.35.4", modules: "previous", binary: "kube-previous"}
	Oldest   = Version{Kubernetes: "v1.34.10", modules: "oldest", binary: "kube-oldest"}
)

const modulePath = "github.com/aws-operator/aws-operator"

// ErrNoSources means that the sources of the kube binary do not exist.
var ErrNoSources = errors.New("the sources of the kube binary do not exist")

// Options configure a build.
type Options struct {
	// Version is the version to build. The default is the current one.
	Version Version
	// Root is the root of the repository. By default, it is searched for.
	Root string
	// Progress receives the progress of the build; nil discards it.
	Progress io.Writer
	// Clock measures the build, the real one if nil.
	Clock clock.WithTicker
}

// Ensure returns the path of an up-to-date kube binary and builds it first if there is none. It
// returns ErrNoSources outside the repository, and the compiler's output when the build fails.
func Ensure(ctx context.Context, opts Options) (string, error) {
	b, err := newBuild(opts)
	if err != nil {
		return "", err
	}
	return b.output, b.ensure(ctx)
}

// IsBuilt reports whether Ensure would return at once.
func IsBuilt(ctx context.Context, opts Options) bool {
	b, err := newBuild(opts)
	if err != nil {
		return false
	}
	stamp, err := b.stamp(ctx)
	return err == nil && b.upToDate(stamp)
}

func newBuild(opts Options) (*build, error) {
	if opts.Clock == nil {
		opts.Clock = clock.RealClock{}
	}
	if opts.Progress == nil {
		opts.Progress = io.Discard
	}
	if opts.Root == "" {
		root, err := FindRoot()
		if err != nil {
			return nil, err
		}
		opts.Root = root
	}
	if opts.Version == (Version{}) {
		opts.Version = Present
	}
	return &build{Options: opts, output: filepath.Join(opts.Root, "bin", opts.Version.binary)}, nil
}

// FindRoot returns the root of the repository that contains the working directory or the
// executable. It returns ErrNoSources when neither is in it.
func FindRoot() (string, error) {
	var starts []string
	if wd, err := os.Getwd(); err == nil {
		starts = append(starts, wd)
	}
	if exe, err := os.Executable(); err == nil {
		starts = append(starts, filepath.Dir(exe))
	}
	for _, start := range starts {
		for dir := start; ; dir = filepath.Dir(dir) {
			if isRoot(dir) {
				return dir, nil
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return "", fmt.Errorf(
		"%w: run this inside the repository, or set KUBEBUILDER_ASSETS to a folder with etcd and kube-apiserver", ErrNoSources,
	)
}

func isRoot(dir string) bool {
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod")) //nolint:gosec // looks for the repository upwards
	if err != nil || !bytes.HasPrefix(mod, []byte("module "+modulePath+"\n")) {
		return false
	}
	_, err = os.Stat(filepath.Join(dir, "kube", "main.go"))
	return err == nil
}

// build is one request for an up-to-date binary.
type build struct {
	Options
	output string
}

func (b *build) ensure(ctx context.Context) error {
	stamp, err := b.stamp(ctx)
	if err != nil {
		return err
	}
	if b.upToDate(stamp) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(b.output), 0o750); err != nil {
		return fmt.Errorf("make the folder for the kube binary: %w", err)
	}
	held, err := filelock.Take(ctx, b.output+".lock", b.Clock, func() {
		b.say("kube: another process is building it; waiting for that")
	})
	if err != nil {
		return fmt.Errorf("wait for the build of the kube binary: %w", err)
	}
	defer held.Release()
	if b.upToDate(stamp) {
		return nil
	}
	return b.compile(ctx, stamp)
}

// stamp returns a digest of everything that the binary depends on.
func (b *build) stamp(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "env", "GOVERSION", "GOOS", "GOARCH")
	cmd.Dir = filepath.Join(b.Root, "kube")
	golang, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("ask Go for its version (building the kube binary needs Go): %w", err)
	}
	sum := sha256.New()
	for _, name := range []string{b.Version.modules + ".mod", b.Version.modules + ".sum", "main.go"} {
		data, err := os.ReadFile(filepath.Join(b.Root, "kube", name)) //nolint:gosec // the repository's own files
		if err != nil {
			return "", fmt.Errorf("read the sources of the kube binary: %w", err)
		}
		_, _ = fmt.Fprintf(sum, "%s %d\n", name, len(data))
		sum.Write(data)
	}
	_, _ = fmt.Fprintf(sum, "%s%s", golang, strings.Join(b.flags(), "\n"))
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func (b *build) upToDate(stamp string) bool {
	if _, err := os.Stat(b.output); err != nil {
		return false
	}
	have, err := os.ReadFile(b.output + ".stamp")
	return err == nil && strings.TrimSpace(string(have)) == stamp
}

func (b *build) say(format string, args ...any) {
	_, _ = fmt.Fprintf(b.Progress, format+"\n", args...)
}

// flags are the build's flags except the output. The list of packages to compile must use the same
// ones.
func (b *build) flags() []string { return b.Version.Flags() }

// Modules are the module file and the checksums of this version, below the root of the repository.
func (v Version) Modules() []string {
	return []string{"kube/" + v.modules + ".mod", "kube/" + v.modules + ".sum"}
}

// Flags are the flags of go build for programs of this version, except the output.
func (v Version) Flags() []string {
	const version = "-X k8s.io/component-base/version."
	major, minor, _ := strings.Cut(strings.TrimPrefix(v.Kubernetes, "v"), ".")
	minor, _, _ = strings.Cut(minor, ".")
	flags := []string{
		"-trimpath",
		"-ldflags=-s -w " + version + "gitVersion=" + v.Kubernetes + " " +
			version + "gitMajor=" + major + " " + version + "gitMinor=" + minor,
	}
	if v.modules != Present.modules {
		flags = append(flags, "-modfile="+v.modules+".mod")
	}
	return flags
}

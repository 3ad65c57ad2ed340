package nodebuild

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/local/filelock"
	"github.com/aws-operator/aws-operator/internal/local/kubebuild"
)

// Options configure a build.
type Options struct {
	// Root is the root of the repository. By default, it is searched for.
	Root string
	// Progress receives the progress of the build; nil discards it.
	Progress io.Writer
	// WithoutRestore leaves out etcd-restore.
	WithoutRestore bool
	// Clock is the clock, the real one if nil.
	Clock clock.WithTicker
}

// Programs are the programs of machines.
type Programs struct {
	// NodeupDir is the folder of nodeup-linux-amd64 and nodeup-linux-arm64, and of
	// etcd-restore-linux-… likewise; those of this machine's architecture are there
	// for certain.
	NodeupDir string
	// Nodeup is that of this machine's architecture.
	Nodeup string
	// Machine is process 1, node agent and fake programs of simulated machines.
	Machine string
}

func programs(dir string) Programs {
	return Programs{
		NodeupDir: dir, Nodeup: filepath.Join(dir, "nodeup-linux-"+runtime.GOARCH), Machine: filepath.Join(dir, "machine"),
	}
}

// Ensure returns up-to-date programs. It returns kubebuild.ErrNoSources if there are neither
// programs nor sources, and the compiler's output when the build fails.
func Ensure(ctx context.Context, opts Options) (Programs, error) {
	if opts.Progress == nil {
		opts.Progress = io.Discard
	}
	if opts.Clock == nil {
		opts.Clock = clock.RealClock{}
	}
	if opts.Root == "" {
		root, err := kubebuild.FindRoot()
		if err != nil {
			return installed(err)
		}
		opts.Root = root
	}
	p := programs(filepath.Join(opts.Root, "bin"))
	if err := os.MkdirAll(p.NodeupDir, 0o750); err != nil {
		return Programs{}, fmt.Errorf("make the folder for machines' programs: %w", err)
	}
	held, err := filelock.Take(ctx, p.Machine+".lock", opts.Clock, func() {
		_, _ = fmt.Fprintln(opts.Progress, "nodeup: another process is building it; waiting for that")
	})
	if err != nil {
		return Programs{}, fmt.Errorf("wait for the build of machines' programs: %w", err)
	}
	defer held.Release()
	if _, err := os.Stat(p.Nodeup); err != nil {
		_, _ = fmt.Fprintln(opts.Progress, "nodeup: building the programs of machines; this takes a minute, once")
	}
	err = errors.Join(build(ctx, opts.Root, p.Nodeup, "./cmd/nodeup"), build(ctx, opts.Root, p.Machine, "./cmd/machine"))
	if !opts.WithoutRestore {
		restore := filepath.Join(p.NodeupDir, "etcd-restore-linux-"+runtime.GOARCH)
		err = errors.Join(err, build(ctx, opts.Root, restore, "./cmd/etcd-restore"))
	}
	return p, err
}

// installed finds the programs next to the running binary.
func installed(otherwise error) (Programs, error) {
	self, err := os.Executable()
	if err != nil {
		return Programs{}, otherwise
	}
	p := programs(filepath.Dir(self))
	for _, path := range []string{p.Nodeup, p.Machine} {
		if _, err := os.Stat(path); err != nil {
			return Programs{}, fmt.Errorf("%w; and %s does not exist either", otherwise, path)
		}
	}
	return p, nil
}

// build compiles a program like the Makefile, without cgo, since machines may have no C library.
// The go command does not rebuild up-to-date programs.
func build(ctx context.Context, root, output, source string) error {
	//nolint:gosec // this package's own arguments
	cmd := exec.CommandContext(ctx, "go", "build", "-tags", "grpcnotrace", "-trimpath", "-ldflags=-s -w", "-o", output, source)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+runtime.GOARCH)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w:\n%s", source, err, out)
	}
	return nil
}

package kubebuild

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// compile builds the binary under a temporary name, and then renames it and writes its stamp.
func (b *build) compile(ctx context.Context, stamp string) error {
	b.say("kube: building etcd and Kubernetes %s into %s; this takes a few minutes, once", b.Version.Kubernetes, b.output)
	p := startProgress(b.Progress, b.Clock)
	defer p.stop()
	if err := os.Remove(b.output + ".stamp"); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("kube: remove the old stamp: %w", err)
	}
	total, err := b.countStale(ctx, p)
	if err != nil {
		return err
	}
	p.compiling(total)
	next := b.output + ".next"
	defer func() { _ = os.Remove(next) }()
	args := append([]string{"build", "-v", "-o", next}, b.flags()...)
	if err := b.run(ctx, append(args, "."), io.Discard, p.compiled); err != nil {
		return fmt.Errorf("kube: compile it: %w", err)
	}
	if err := os.Rename(next, b.output); err != nil {
		return fmt.Errorf("kube: move it into place: %w", err)
	}
	if err := os.WriteFile(b.output+".stamp", []byte(stamp+"\n"), 0o600); err != nil {
		return fmt.Errorf("kube: stamp it: %w", err)
	}
	p.stop()
	b.say("kube: built in %s", p.elapsed())
	return nil
}

// countStale returns how many packages the build will compile. It downloads missing modules first.
func (b *build) countStale(ctx context.Context, p *progress) (int, error) {
	var stale bytes.Buffer
	args := append([]string{"list", "-deps", "-f", "{{if .Stale}}{{.ImportPath}}{{end}}"}, b.flags()...)
	if err := b.run(ctx, append(args, "."), &stale, p.downloading); err != nil {
		return 0, fmt.Errorf("kube: list the packages to compile: %w", err)
	}
	return len(strings.Fields(stale.String())), nil
}

// run runs the go command in the kube module and passes each line of its standard error to line. An
// error contains the lines with errors.
func (b *build) run(ctx context.Context, args []string, out io.Writer, line func(string)) error {
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // the arguments are this package's own
	cmd.Dir = filepath.Join(b.Root, "kube")
	cmd.Stdout = out
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return fmt.Errorf("read the output of the go command: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the go command: %w", err)
	}
	var said []string
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		said = append(said, lines.Text())
		line(lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted: %w", ctx.Err())
		}
		return fmt.Errorf("%w:\n%s", err, strings.Join(said[max(0, len(said)-20):], "\n"))
	}
	return nil
}

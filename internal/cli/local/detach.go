package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/aws-operator/aws-operator/internal/local/controlplane"
	"github.com/aws-operator/aws-operator/internal/local/environment"
)

// readyEvery is how often to check whether the background process serves.
const readyEvery = 50 * time.Millisecond

// detach starts this binary again as a background process, and returns once the environment serves.
func detach(ctx context.Context, flags upFlags, out, progress io.Writer) error {
	state, err := environment.Read(flags.dir)
	if err == nil {
		return explain(fmt.Errorf("%w in %s (process %d)", environment.ErrRunning, shown(flags.dir), state.PID), flags.dir)
	}
	if !errors.Is(err, environment.ErrNotRunning) {
		return err
	}
	// Build here, so that the user sees the progress.
	if _, err := controlplane.FindBinaries(ctx, progress); err != nil {
		return err
	}
	child, err := spawn(flags)
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = child.Wait() // its log has the reason
	}()
	said, err := awaitServing(ctx, flags.dir, child.Process, ended)
	_, _ = fmt.Fprint(out, said)
	if err != nil {
		return err
	}
	howToUse(out, shown(flags.dir), flags.noOperator, "it keeps running; stop it with: "+program()+" local down --dir "+flags.dir)
	return nil
}

func spawn(flags upFlags) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this binary, to start it again: %w", err)
	}
	if err := os.MkdirAll(flags.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the environment's folder: %w", err)
	}
	log, err := os.OpenFile(logPath(flags.dir), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make the log: %w", err)
	}
	defer func() { _ = log.Close() }()
	args := []string{
		self,
		"local",
		"up",
		"--detached",
		"--dir",
		flags.dir,
		"--latency",
		flags.latency.String(),
		"--seed",
		strconv.FormatUint(flags.seed, 10),
		"--lag",
		flags.lag.String(),
		"--machines",
		flags.machines,
	}
	if flags.noOperator {
		args = append(args, "--no-operator")
	}
	// In its own session, it outlives this process and its terminal.
	child := &exec.Cmd{Path: self, Args: args, Stdout: log, Stderr: log, SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	if err := child.Start(); err != nil {
		return nil, fmt.Errorf("start the background process: %w", err)
	}
	return child, nil
}

// awaitServing returns the output of the child once it serves. It returns an error when the child
// exits. If ctx ends first, it stops the child.
func awaitServing(ctx context.Context, dir string, child *os.Process, ended <-chan struct{}) (string, error) {
	ticker := time.NewTicker(readyEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ended:
			return "", fmt.Errorf("it did not start:\n%s", readLog(dir))
		case <-ctx.Done():
			_ = child.Signal(syscall.SIGTERM)
			<-ended
			return readLog(dir), ctx.Err()
		case <-ticker.C:
		}
		state, err := environment.Read(dir)
		if err == nil && state.Phase == environment.Serving {
			return readLog(dir), nil
		}
	}
}

func logPath(dir string) string { return filepath.Join(dir, environment.LocalLog) }

func readLog(dir string) string {
	log, err := os.ReadFile(logPath(dir))
	if err != nil {
		return fmt.Sprintf("(its log cannot be read: %v)\n", err)
	}
	return string(log)
}

package environment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/local/process"
)

// stopEvery is how often Down checks whether the environment still exists.
const stopEvery = 50 * time.Millisecond

// Down stops the environment that runs in dir, and returns when it has stopped. If none is running,
// it removes the leftovers of a crash and returns ErrNotRunning. It returns an error when ctx ends
// first.
func Down(ctx context.Context, dir string, clk clock.WithTicker) (State, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return State{}, fmt.Errorf("find the folder %s: %w", dir, err)
	}
	state, err := Read(dir)
	if errors.Is(err, ErrNotRunning) {
		return State{}, clearRemains(folder(dir))
	}
	if err != nil {
		return State{}, err
	}
	if state.PID == 0 {
		return State{}, fmt.Errorf("the environment in %s has not recorded its process yet; try again", dir)
	}
	if err := syscall.Kill(state.PID, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return state, fmt.Errorf("ask process %d to stop: %w", state.PID, err)
	}
	return state, awaitEnd(ctx, dir, state.PID, clk)
}

// awaitEnd returns when the environment has released its folder and its process has exited.
func awaitEnd(ctx context.Context, dir string, pid int, clk clock.WithTicker) error {
	ticker := clk.NewTicker(stopEvery)
	defer ticker.Stop()
	for {
		_, err := Read(dir)
		switch {
		case errors.Is(err, ErrNotRunning):
			if !process.Running(pid) {
				return nil
			}
		case err != nil:
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("process %d does not stop: %w", pid, ctx.Err())
		case <-ticker.C():
		}
	}
}

// clearRemains removes the leftovers of a crash and returns ErrNotRunning.
func clearRemains(f folder) error {
	if !f.has(stateFile) {
		return fmt.Errorf("%w in %s", ErrNotRunning, f)
	}
	if err := errors.Join(f.clear(), os.Remove(f.path(lockFile))); err != nil {
		return fmt.Errorf("remove the files of an earlier run in %s: %w", f, err)
	}
	_ = os.Remove(string(f))
	return fmt.Errorf("%w in %s; removed the files of an earlier run", ErrNotRunning, f)
}

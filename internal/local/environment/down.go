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
)

// stopEvery is how often Down looks whether the environment is gone.
const stopEvery = 50 * time.Millisecond

// Down has the environment that runs in dir stop, and returns when it is gone.
// With none running it removes what a crash left and errs with ErrNotRunning.
// It errs when ctx ends first.
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
		return State{}, fmt.Errorf("what runs in %s has not yet said which process it is; try again", dir)
	}
	if err := syscall.Kill(state.PID, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return state, fmt.Errorf("ask process %d to stop: %w", state.PID, err)
	}
	ticker := clk.NewTicker(stopEvery)
	defer ticker.Stop()
	for {
		if _, err := Read(dir); err != nil {
			if errors.Is(err, ErrNotRunning) {
				return state, nil
			}
			return state, err
		}
		select {
		case <-ctx.Done():
			return state, fmt.Errorf("process %d does not stop: %w", state.PID, ctx.Err())
		case <-ticker.C():
		}
	}
}

// clearRemains removes what a crash left and errs with ErrNotRunning.
func clearRemains(f folder) error {
	if !f.has(stateFile) {
		return fmt.Errorf("%w in %s", ErrNotRunning, f)
	}
	if err := errors.Join(f.clear(), os.Remove(f.path(lockFile))); err != nil {
		return fmt.Errorf("remove what an earlier run left in %s: %w", f, err)
	}
	_ = os.Remove(string(f))
	return fmt.Errorf("%w in %s any more; removed what an earlier run left there", ErrNotRunning, f)
}

// Package filelock lets one process at a time do something. A lock ends with
// the process that holds it, however that ends, so none is ever stale.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"k8s.io/utils/clock"
)

// ErrHeld says that another process, or another part of this one, holds the
// lock.
var ErrHeld = errors.New("the lock is held")

// retryEvery is how often Take tries again.
const retryEvery = 200 * time.Millisecond

// Lock is a lock that this process holds.
type Lock struct{ file *os.File }

// Try takes the lock of the file at path. It returns ErrHeld if it is taken already.
func Try(path string) (*Lock, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the caller chooses the path
	if err != nil {
		return nil, fmt.Errorf("open the lock: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil && stillAt(path, file) {
		return &Lock{file: file}, nil
	}
	_ = file.Close()
	if err == nil {
		return nil, ErrHeld
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, ErrHeld
	}
	return nil, fmt.Errorf("take the lock: %w", err)
}

// stillAt says whether path is still the file: its last holder may have removed
// it after it was opened here, and then it locks nothing any more.
func stillAt(path string, file *os.File) bool {
	opened, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(opened, there)
}

// Take is Try, but waits while the lock is held, and calls waiting once before
// it does. It returns an error when ctx ends first.
func Take(ctx context.Context, path string, clk clock.WithTicker, waiting func()) (*Lock, error) {
	lock, err := Try(path)
	if !errors.Is(err, ErrHeld) {
		return lock, err
	}
	waiting()
	ticker := clk.NewTicker(retryEvery)
	defer ticker.Stop()
	for errors.Is(err, ErrHeld) {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-ticker.C():
		}
		lock, err = Try(path)
	}
	return lock, err
}

// Release gives the lock back.
func (l *Lock) Release() { _ = l.file.Close() }

// Package filelock provides locks between processes. The kernel releases a lock when its process
// exits, so a lock is never stale.
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

// ErrHeld means that another process, or another part of this one, holds the lock.
var ErrHeld = errors.New("the lock is held")

// retryEvery is how often Take retries.
const retryEvery = 200 * time.Millisecond

// Lock is a lock that this process holds.
type Lock struct{ file *os.File }

// Try acquires the lock of the file at path. It returns ErrHeld if the lock is held.
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

// Held reports whether the lock of the file at path is held. Unlike Try, it creates no file: the last
// holder may remove the file, and the folder with it, at any time.
func Held(path string) (bool, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0) //nolint:gosec // the caller chooses the path
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("open the lock: %w", err)
	}
	defer file.Close() //nolint:errcheck // which also releases the lock
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil && !errors.Is(err, syscall.EWOULDBLOCK) {
		return false, fmt.Errorf("take the lock: %w", err)
	}
	return err != nil, nil
}

// stillAt reports whether path is still the open file: the last holder may have removed it after it
// was opened here, and then the lock is meaningless.
func stillAt(path string, file *os.File) bool {
	opened, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(opened, there)
}

// Take is like Try, but waits while the lock is held, and calls waiting once before it waits. It
// returns an error if ctx ends first.
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

// Release releases the lock.
func (l *Lock) Release() { _ = l.file.Close() }

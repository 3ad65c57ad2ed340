package kubebuild

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"k8s.io/utils/clock"
)

// lockEvery is how often a process that waits for the lock tries again.
const lockEvery = 200 * time.Millisecond

// lock takes the lock that the file at path stands for, and says so through
// waiting when another process holds it. The lock ends with the process that
// holds it, so a crash leaves none behind.
func lock(ctx context.Context, path string, clk clock.WithTicker, waiting func()) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock: %w", err)
	}
	ticker := clk.NewTicker(lockEvery)
	defer ticker.Stop()
	for said := false; ; {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			_ = file.Close()
			return nil, fmt.Errorf("take the lock: %w", err)
		}
		if !said {
			waiting()
			said = true
		}
		select {
		case <-ctx.Done():
			_ = file.Close()
			return nil, ctx.Err()
		case <-ticker.C():
		}
	}
}

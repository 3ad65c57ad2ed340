// Package patience bounds the waits of tests. A wait lasts until the deadline of the test run (go
// test -timeout), not some seconds: how many seconds something takes depends on what else the
// machine does. Pass a short -timeout while you work on a test that hangs.
//
// A wait polls a condition, and its failure says what the condition last reported. Tests in a
// testing/synctest bubble have a clock of their own and do not need this package.
package patience

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

const (
	// margin is left at the end of the run, in which tests report what they saw and clean up.
	margin = 20 * time.Second
	// unbounded is how long a wait lasts if the run has no deadline.
	unbounded = time.Hour
	// interval is how often a condition is polled.
	interval = 10 * time.Millisecond
)

var errNotYet = errors.New("it does not hold yet")

// Left returns how long a test may still wait: until the deadline of the run, less a margin for
// cleaning up. It is 1 ms if that time has passed, so that what holds already still passes.
func Left(tb testing.TB) time.Duration {
	tb.Helper()
	run, ok := tb.(interface{ Deadline() (time.Time, bool) })
	if !ok {
		return unbounded
	}
	deadline, ok := run.Deadline()
	if !ok {
		return unbounded
	}
	left := time.Until(deadline)
	return max(left-min(margin, left/4), time.Millisecond)
}

// Context returns a context that ends with the test, or when [Left] has passed.
func Context(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeoutCause(tb.Context(), Left(tb), fmt.Errorf("%s waited until the deadline of the test run", tb.Name()))
	tb.Cleanup(cancel)
	return ctx
}

// Until polls check until it returns nil. It ends the test with what it waited for and check's last
// error if the time of the run is up.
func Until(tb testing.TB, what string, check func() error) {
	tb.Helper()
	deadline := time.NewTimer(Left(tb))
	defer deadline.Stop()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-deadline.C:
			tb.Fatalf("waited until the deadline of the test run for: %s: %v", what, err)
		case <-tb.Context().Done():
			tb.Fatalf("the test ended while it waited for: %s: %v", what, err)
		case <-tick.C:
		}
	}
}

// UntilTrue is [Until] for a condition that has no more to say.
func UntilTrue(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	Until(tb, what, func() error {
		if !holds() {
			return errNotYet
		}
		return nil
	})
}

// Receive returns the next value of a channel. It ends the test if none arrives.
func Receive[T any](tb testing.TB, what string, from <-chan T) T {
	tb.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(Left(tb)):
		tb.Fatalf("waited until the deadline of the test run for: %s", what)
		panic("unreachable")
	}
}

// Package patience provides waits for tests. A wait polls a condition for ten minutes, or until shortly
// before the deadline of the test run (go test -timeout): how long something takes depends on the load of
// the machine, and a test that hangs must leave time for the others. While you debug one, pass a short
// -timeout.
//
// A failed wait reports the condition's last error. Tests in a testing/synctest bubble have their
// own clock and do not need this package.
package patience

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

const (
	// margin is the time before the deadline that is left for tests to report and clean up.
	margin = 20 * time.Second
	// longest is how long a wait for one condition may take.
	longest = 10 * time.Minute
	// unbounded is the duration of a wait if the run has no deadline.
	unbounded = time.Hour
	// interval is how often a condition is polled.
	interval = 10 * time.Millisecond
)

var errNotYet = errors.New("it does not hold yet")

// Left returns how long a test may still wait: until the deadline of the run, less a margin for
// cleaning up. It is 1 ms if that time has passed, so that a condition that already holds passes.
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
// error if that takes too long.
func Until(tb testing.TB, what string, check func() error) {
	tb.Helper()
	patience := min(Left(tb), longest)
	deadline := time.NewTimer(patience)
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
			tb.Fatalf("waited %s for: %s: %v", patience.Round(time.Second), what, err)
		case <-tb.Context().Done():
			tb.Fatalf("the test ended while it waited for: %s: %v", what, err)
		case <-tick.C:
		}
	}
}

// UntilTrue is [Until] for a condition without an error.
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
	patience := min(Left(tb), longest)
	select {
	case value := <-from:
		return value
	case <-time.After(patience):
		tb.Fatalf("waited %s for: %s", patience.Round(time.Second), what)
		panic("unreachable")
	}
}

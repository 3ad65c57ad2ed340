package patience_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/aws-operator/aws-operator/internal/patience"
)

// run is a test run that ends soon, and what its test reported.
type run struct {
	testing.TB

	deadline time.Time
	failed   string
}

func (r *run) Deadline() (time.Time, bool) { return r.deadline, true }

func (r *run) Fatalf(format string, args ...any) {
	r.failed = format
	for _, arg := range args {
		if err, ok := arg.(error); ok {
			r.failed += " " + err.Error()
		}
		if text, ok := arg.(string); ok {
			r.failed += " " + text
		}
	}
	runtime.Goexit()
}

func TestAWaitEndsBeforeTheRunDoes(t *testing.T) {
	r := &run{TB: t, deadline: time.Now().Add(2 * time.Second)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		patience.Until(r, "the cluster to be Ready", func() error { return errors.New("2 nodes are missing") })
	}()
	<-done
	if time.Now().After(r.deadline) {
		t.Error("the wait lasted longer than the run")
	}
	for _, want := range []string{"the cluster to be Ready", "2 nodes are missing"} {
		if !strings.Contains(r.failed, want) {
			t.Errorf("the failure %q does not say %q", r.failed, want)
		}
	}
}

func TestWhatHoldsPassesAfterTheDeadline(t *testing.T) {
	r := &run{TB: t, deadline: time.Now().Add(-time.Second)}
	patience.Until(r, "nothing", func() error { return nil })
	values := make(chan int, 1)
	values <- 1
	if got := patience.Receive(r, "a value", values); got != 1 {
		t.Errorf("received %d", got)
	}
	<-patience.Context(r).Done()
	if err := patience.Context(r).Err(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

func TestATestWithoutDeadlineWaitsLong(t *testing.T) {
	if left := patience.Left(struct{ testing.TB }{t}); left < 10*time.Minute {
		t.Errorf("it waits %s", left)
	}
}

package operator

import (
	"context"
	"runtime"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/patience"
)

func TestUnusedMemoryIsReturned(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	ended := make(chan error)
	go func() { ended <- memoryTrimmer{clock: clock}.Start(ctx) }()

	ballast := make([]byte, 8*worthReturning)
	for i := range ballast {
		ballast[i] = 1 // Untouched memory is not resident yet.
	}
	runtime.KeepAlive(ballast)
	runtime.GC()
	for !clock.HasWaiters() {
		runtime.Gosched()
	}
	deadline := time.After(patience.Left(t))
	for unused() > worthReturning {
		select {
		case <-deadline:
			t.Fatalf("%d bytes are still held that nothing is stored in", unused())
		default:
			clock.Step(trimInterval)
			runtime.Gosched()
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

package operator

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/program"
)

const (
	// thriftInterval is how often to check the memory.
	trimInterval = 20 * time.Second
	// worthReturning is how many unused bytes are worth the work of returning them: of ten thousand
	// idle objects, a tenth.
	worthReturning = 6 << 20
)

// memoryTrimmer returns memory that the heap no longer uses to the operating system. Filling the
// caches and the first reconcile of everything need several times the memory of an operator with
// idle objects, and the Go runtime alone would keep most of it for long.
type memoryTrimmer struct{ clock clock.WithTicker }

// Start returns memory until the context ends.
func (t memoryTrimmer) Start(ctx context.Context) error {
	tick := t.clock.NewTicker(trimInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C():
		}
		if unused() > worthReturning {
			schema.Default().Forget()
			debug.FreeOSMemory()
		}
		program.Return() // Pages in use are read again within a millisecond.
	}
}

// NeedLeaderElection reports false, since a replica that waits to lead also returns memory.
func (t memoryTrimmer) NeedLeaderElection() bool { return false }

// unused returns how many bytes of the process are unused: free spans, and what was allocated since
// the last collection, most of it garbage that an idle operator would keep until it allocates as
// much again.
func unused() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	free := m.HeapIdle - m.HeapReleased
	if marked := live[0].Value.Uint64(); m.HeapAlloc > marked {
		free += m.HeapAlloc - marked
	}
	return free
}

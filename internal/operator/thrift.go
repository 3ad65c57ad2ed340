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
	// thriftInterval is how often memory is looked at.
	thriftInterval = 20 * time.Second
	// worthReturning is how many unused bytes are worth the work of returning them: of ten thousand idle objects, a tenth.
	worthReturning = 6 << 20
)

// thrift gives memory back to the machine that the heap no longer uses. Filling
// the caches and the first look at everything take several times what an
// operator of idle objects needs, and Go alone would keep most of it for long.
type thrift struct{ clock clock.WithTicker }

// Start returns memory until the context ends.
func (t thrift) Start(ctx context.Context) error {
	tick := t.clock.NewTicker(thriftInterval)
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
		program.Return() // What is still in use comes back within a millisecond.
	}
}

// NeedLeaderElection says that whoever waits to lead is thrifty, too.
func (t thrift) NeedLeaderElection() bool { return false }

// unused is how many bytes the process holds that nothing is stored in: free
// spans, and what was allocated since the last collection, most of it garbage
// that an idle operator would keep until it allocates as much again.
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

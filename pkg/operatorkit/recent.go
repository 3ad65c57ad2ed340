package operatorkit

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// recent remembers when objects were written, for one interval. It uses the
// real clock, as the work queue does, whichever clock the conditions use.
type recent struct {
	interval time.Duration

	mu      sync.Mutex
	written map[types.NamespacedName]time.Time
	cleared time.Time
}

// wrote records that an object was written now.
func (r *recent) wrote(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := clock.RealClock{}.Now()
	if r.written == nil {
		r.written = map[types.NamespacedName]time.Time{}
	}
	if now.Sub(r.cleared) > r.interval {
		for old, at := range r.written {
			if now.Sub(at) > r.interval {
				delete(r.written, old)
			}
		}
		r.cleared = now
	}
	r.written[key] = now
}

// wait returns the time that is left of the interval after the object's last
// write, zero or less if the interval is over.
func (r *recent) wait(key types.NamespacedName) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.written[key]
	if !ok {
		return 0
	}
	return r.interval - clock.RealClock{}.Since(at)
}

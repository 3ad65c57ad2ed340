package operatorkit

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// tellEvery is how long what says only how far things are waits after a write.
const tellEvery = time.Second

// recent remembers when objects were written, for a second. Its time is the
// machine's, as that of the queue is, whatever clock the conditions go by.
type recent struct {
	mu      sync.Mutex
	written map[types.NamespacedName]time.Time
	cleared time.Time
}

// wrote notes that an object was written now.
func (r *recent) wrote(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := clock.RealClock{}.Now()
	if r.written == nil {
		r.written = map[types.NamespacedName]time.Time{}
	}
	if now.Sub(r.cleared) > tellEvery {
		for old, at := range r.written {
			if now.Sub(at) > tellEvery {
				delete(r.written, old)
			}
		}
		r.cleared = now
	}
	r.written[key] = now
}

// wait returns how long it is until a second after the object's last write; nothing or less if that is over.
func (r *recent) wait(key types.NamespacedName) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.written[key]
	if !ok {
		return 0
	}
	return tellEvery - clock.RealClock{}.Since(at)
}

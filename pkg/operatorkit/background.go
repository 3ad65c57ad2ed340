package operatorkit

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

const (
	// editWindow is how long after an edit the limit applies.
	editWindow = time.Second
	// editedFor is how long the reconciles of an edited object are exempt from the limit.
	editedFor = 15 * time.Second
	// backgroundRequeue is the delay before an object is requeued that was over the limit.
	backgroundRequeue = 250 * time.Millisecond
	// defaultBackground is the default limit.
	defaultBackground = 2
)

// BackgroundLimiter limits the number of concurrent reconciles that no user is
// waiting for while users edit objects. Queue priorities alone do not keep an
// edit's latency low: the writes of other objects that are already in flight
// still delay it at the API server. Therefore all reconcilers of a process
// should share one BackgroundLimiter.
//
// The limit applies for 1 second after each edit. An edited object is exempt
// for 15 seconds. An object over the limit is requeued after 250 milliseconds.
//
// A nil *BackgroundLimiter limits nothing.
type BackgroundLimiter struct {
	clock clock.PassiveClock
	limit int

	mu       sync.Mutex
	lastEdit time.Time
	edited   map[types.UID]time.Time
	running  int
}

// NewBackgroundLimiter returns a limiter that, while users edit objects, allows
// at most limit concurrent reconciles of other objects. A limit of 0 means 2.
func NewBackgroundLimiter(clk clock.PassiveClock, limit int) *BackgroundLimiter {
	if limit <= 0 {
		limit = defaultBackground
	}
	return &BackgroundLimiter{clock: clk, limit: limit, edited: map[types.UID]time.Time{}}
}

// edit records that a user changed an object.
func (l *BackgroundLimiter) edit(uid types.UID) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lastEdit = l.clock.Now()
	if len(l.edited) >= 1024 {
		for uid, at := range l.edited {
			if l.lastEdit.Sub(at) > editedFor {
				delete(l.edited, uid)
			}
		}
	}
	l.edited[uid] = l.lastEdit
}

// begin asks for permission to reconcile an object. If it is granted, call done at the end.
func (l *BackgroundLimiter) begin(uid types.UID) (done func(), granted bool) {
	if l == nil {
		return func() {}, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	if at, ok := l.edited[uid]; ok {
		if now.Sub(at) <= editedFor {
			return func() {}, true
		}
		delete(l.edited, uid)
	}
	if l.running >= l.limit && now.Sub(l.lastEdit) <= editWindow {
		return nil, false
	}
	l.running++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.running--
	}, true
}

package draining

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/aws-operator/aws-operator/internal/awsevents"
)

// maxNotices bounds the kept notices: those of other owners' instances arrive, too.
const maxNotices = 1000

// notices holds the notices of spot instances whose nodes are not known yet: after a start, they may
// arrive before the nodes are listed and EC2 has identified them.
type notices struct {
	mu   sync.Mutex
	news map[string]awsevents.Event // by instance
}

func newNotices() *notices { return &notices{news: map[string]awsevents.Event{}} }

// keep keeps a notice until it is taken or expires.
func (n *notices) keep(e awsevents.Event, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.expire(now)
	if now.Before(e.Instance.Time.Add(interruption)) && len(n.news) < maxNotices {
		n.news[e.Instance.ID] = e
	}
}

// take returns and removes the notices of instances for which known is true.
func (n *notices) take(known func(instance string) bool, now time.Time) []awsevents.Event {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.expire(now)
	var taken []awsevents.Event
	for _, instance := range slices.Sorted(maps.Keys(n.news)) {
		if known(instance) {
			taken = append(taken, n.news[instance])
			delete(n.news, instance)
		}
	}
	return taken
}

// expire removes the notices of instances that have terminated. The caller holds the lock.
func (n *notices) expire(now time.Time) {
	maps.DeleteFunc(n.news, func(_ string, e awsevents.Event) bool { return !now.Before(e.Instance.Time.Add(interruption)) })
}

package directory

import (
	"sync"
	"time"

	"github.com/aws-operator/aws-operator/internal/awsevents"
)

// Unclaimed holds events about stacks that no object has claimed yet: after a start, events may
// arrive before the first reconcile of their objects.
type Unclaimed struct {
	mu   sync.Mutex
	news map[string]map[string]unclaimedEvent // by stack and instance
}

type unclaimedEvent struct {
	event awsevents.Event
	until time.Time
}

const (
	// unclaimedFor is how long an event is kept, maxUnclaimedStacks for how many stacks.
	unclaimedFor       = 10 * time.Minute
	maxUnclaimedStacks = 1000
)

// NewUnclaimed returns an empty record.
func NewUnclaimed() *Unclaimed {
	return &Unclaimed{news: map[string]map[string]unclaimedEvent{}}
}

// Keep keeps an event about an instance of a stack.
func (n *Unclaimed) Keep(stack string, e awsevents.Event, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.news[stack] == nil {
		if len(n.news) >= maxUnclaimedStacks {
			clear(n.news) // Another client has many groups with similar names.
		}
		n.news[stack] = map[string]unclaimedEvent{}
	}
	n.news[stack][e.Instance.ID] = unclaimedEvent{e, now.Add(unclaimedFor)}
}

// Take returns and removes the events of a stack.
func (n *Unclaimed) Take(stack string, now time.Time) []awsevents.Event {
	n.mu.Lock()
	defer n.mu.Unlock()
	var events []awsevents.Event
	for _, one := range n.news[stack] {
		if now.Before(one.until) {
			events = append(events, one.event)
		}
	}
	delete(n.news, stack)
	return events
}

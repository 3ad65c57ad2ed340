package controller

import (
	"sync"
	"time"
)

// departed remembers which instances were terminated, by events, and of which EC2 was asked.
type departed struct {
	mu    sync.Mutex
	known map[string]bool
	ring  []string
	next  int
	askAt map[string]time.Time
}

// rememberedInstances is how many instances are remembered: a node is looked at soon after its event.
const rememberedInstances = 8192

func newDeparted() *departed {
	return &departed{known: map[string]bool{}, ring: make([]string, rememberedInstances), askAt: map[string]time.Time{}}
}

// add notes that an instance is terminated.
func (d *departed) add(instance string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known[instance] {
		return
	}
	delete(d.known, d.ring[d.next])
	d.ring[d.next] = instance
	d.next = (d.next + 1) % len(d.ring)
	d.known[instance] = true
	delete(d.askAt, instance)
}

func (d *departed) has(instance string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.known[instance]
}

// askIn returns after what time EC2 is to be asked of an instance whose node is not ready since then.
func (d *departed) askIn(instance string, since, now time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	at, ok := d.askAt[instance]
	if !ok {
		at = since.Add(lostAfter)
	}
	return at.Sub(now)
}

// asked notes that EC2 was asked.
func (d *departed) asked(instance string, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.askAt) >= rememberedInstances {
		clear(d.askAt)
	}
	d.askAt[instance] = now.Add(lostAfter)
}

package controller

import (
	"sync"
	"time"
)

// terminations records which instances events reported as terminated, and when to ask EC2 about
// others.
type terminations struct {
	mu    sync.Mutex
	known map[string]bool
	ring  []string
	next  int
	askAt map[string]time.Time
}

// rememberedInstances bounds the record: a node is reconciled soon after its event.
const rememberedInstances = 8192

func newTerminations() *terminations {
	return &terminations{known: map[string]bool{}, ring: make([]string, rememberedInstances), askAt: map[string]time.Time{}}
}

// add records that an instance is terminated.
func (d *terminations) add(instance string) {
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

func (d *terminations) has(instance string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.known[instance]
}

// askIn returns the delay until EC2 is to be asked about an instance whose node has not been Ready
// since a time.
func (d *terminations) askIn(instance string, since, now time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	at, ok := d.askAt[instance]
	if !ok {
		at = since.Add(lostAfter)
	}
	return at.Sub(now)
}

// asked records that EC2 was asked.
func (d *terminations) asked(instance string, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.askAt) >= rememberedInstances {
		clear(d.askAt)
	}
	d.askAt[instance] = now.Add(lostAfter)
}

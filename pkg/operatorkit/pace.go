package operatorkit

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

const (
	// editsLast is for how long after an edit everything else is slowed down.
	editsLast = time.Second
	// editFollows is for how long what follows from an edit is part of it.
	editFollows = 15 * time.Second
	// yieldFor is when an object that was put off is looked at again.
	yieldFor = 250 * time.Millisecond
	// defaultBesideEdits is how many other objects are worked on while people edit.
	defaultBesideEdits = 2
)

// Pace slows down the work that nobody waits for while people edit objects. All
// of a process's reconcilers share one: they share an API server. Priorities
// alone do not do it: an edit that goes first still queues up at the API server
// behind the writes that are under way.
//
// A nil *Pace slows down nothing.
type Pace struct {
	clock clock.PassiveClock
	limit int

	mu       sync.Mutex
	lastEdit time.Time
	edited   map[types.UID]time.Time
	beside   int
}

// NewPace returns a pace. While edits arrive, at most limit other objects are
// worked on at once; 2 if it is 0.
func NewPace(clk clock.PassiveClock, limit int) *Pace {
	if limit <= 0 {
		limit = defaultBesideEdits
	}
	return &Pace{clock: clk, limit: limit, edited: map[types.UID]time.Time{}}
}

// edit notes that a person changed an object.
func (p *Pace) edit(uid types.UID) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lastEdit = p.clock.Now()
	if len(p.edited) >= 1024 {
		for uid, at := range p.edited {
			if p.lastEdit.Sub(at) > editFollows {
				delete(p.edited, uid)
			}
		}
	}
	p.edited[uid] = p.lastEdit
}

// begin asks to work on an object. If it is granted, done is to be called at the end.
func (p *Pace) begin(uid types.UID) (done func(), granted bool) {
	if p == nil {
		return func() {}, true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	if at, ok := p.edited[uid]; ok {
		if now.Sub(at) <= editFollows {
			return func() {}, true
		}
		delete(p.edited, uid)
	}
	if p.beside >= p.limit && now.Sub(p.lastEdit) <= editsLast {
		return nil, false
	}
	p.beside++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.beside--
	}, true
}

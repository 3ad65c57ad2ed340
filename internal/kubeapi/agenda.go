package kubeapi

import (
	"container/heap"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// agenda runs functions at their times, one after another. It uses one goroutine while functions
// are scheduled.
type agenda struct {
	clock clock.Clock

	mu      sync.Mutex
	entries entries
	running bool
	closed  bool
	sooner  chan struct{}
	done    chan struct{}
	wg      sync.WaitGroup
}

type entry struct {
	at time.Time
	do func()
}

func newAgenda(clk clock.Clock) *agenda {
	return &agenda{clock: clk, sooner: make(chan struct{}, 1), done: make(chan struct{})}
}

// at schedules a function; it does nothing after close.
func (a *agenda) at(t time.Time, do func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return
	}
	heap.Push(&a.entries, entry{t, do})
	if !a.running {
		a.running = true
		a.wg.Go(a.run)
		return
	}
	select {
	case a.sooner <- struct{}{}:
	default:
	}
}

func (a *agenda) run() {
	for {
		wait, do, more := a.next()
		switch {
		case !more:
			return
		case do != nil:
			do()
		default:
			timer := a.clock.NewTimer(wait)
			select {
			case <-timer.C():
			case <-a.sooner:
			case <-a.done:
			}
			timer.Stop()
		}
	}
}

// next returns the function that is due, or how long to wait for it.
func (a *agenda) next() (wait time.Duration, do func(), more bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed || len(a.entries) == 0 {
		a.running = false
		return 0, nil, false
	}
	if wait = a.entries[0].at.Sub(a.clock.Now()); wait > 0 {
		return wait, nil, true
	}
	first, _ := heap.Pop(&a.entries).(entry)
	return 0, first.do, true
}

// close drops scheduled functions and returns when none runs.
func (a *agenda) close() {
	a.mu.Lock()
	if !a.closed {
		a.closed = true
		close(a.done)
	}
	a.mu.Unlock()
	a.wg.Wait()
}

// entries are a heap, the earliest first.
type entries []entry

// Len implements heap.Interface, as the others do.
func (e entries) Len() int           { return len(e) }
func (e entries) Less(i, j int) bool { return e[i].at.Before(e[j].at) }
func (e entries) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }

// Push adds an entry at the end.
func (e *entries) Push(x any) { *e = append(*e, x.(entry)) } //nolint:forcetypeassert // only agenda pushes

// Pop takes the last entry.
func (e *entries) Pop() any {
	last := (*e)[len(*e)-1]
	(*e)[len(*e)-1] = entry{}
	*e = (*e)[:len(*e)-1]
	return last
}

package autoscaling

import "sync"

// maxWorkers limits the goroutines that run groups.
const maxWorkers = 8

// queue runs groups that have work, each on one goroutine at a time. Goroutines exist only while
// there is work.
type queue struct {
	mu      sync.Mutex
	waiting []*group
	workers int
	closed  bool
	done    sync.WaitGroup
	run     func(*group)
}

// post enqueues a group. If the group is running, it runs again.
func (q *queue) post(g *group) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed || g.queue.queued:
		return
	case g.queue.running:
		g.queue.again = true
		return
	}
	g.queue.queued = true
	q.waiting = append(q.waiting, g)
	if q.workers < maxWorkers {
		q.workers++
		q.done.Go(q.work)
	}
}

func (q *queue) work() {
	for {
		g := q.next()
		if g == nil {
			return
		}
		q.run(g)
		q.mu.Lock()
		g.queue.running = false
		if g.queue.again && !q.closed {
			g.queue.again, g.queue.queued = false, true
			q.waiting = append(q.waiting, g)
		}
		q.mu.Unlock()
	}
}

// next takes a group from the queue; nil ends the worker.
func (q *queue) next() *group {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 || q.closed {
		q.workers--
		return nil
	}
	g := q.waiting[0]
	q.waiting = q.waiting[1:]
	g.queue.queued, g.queue.running = false, true
	return g
}

// stop lets running groups finish their step and runs no more.
func (q *queue) stop() {
	q.mu.Lock()
	q.closed, q.waiting = true, nil
	q.mu.Unlock()
	q.done.Wait()
}

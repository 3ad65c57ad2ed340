package ec2

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// runner runs background tasks: the tasks of one line in their order, and delayed tasks by the
// clock. After stop it starts no task.
type runner struct {
	clock clock.WithTickerAndDelayedExecution

	mu      sync.Mutex
	wg      sync.WaitGroup
	stopped bool
	timers  map[clock.Timer]struct{}
}

// line is a queue of tasks that run one after another.
type line struct {
	tasks   []func()
	running bool
}

// add appends a task to a line.
func (r *runner) add(l *line, task func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return
	}
	l.tasks = append(l.tasks, task)
	if !l.running {
		l.running = true
		r.wg.Go(func() { r.drain(l) })
	}
}

func (r *runner) drain(l *line) {
	for {
		r.mu.Lock()
		if len(l.tasks) == 0 || r.stopped {
			l.tasks, l.running = nil, false
			r.mu.Unlock()
			return
		}
		task := l.tasks[0]
		l.tasks = l.tasks[1:]
		r.mu.Unlock()
		task()
	}
}

// after appends a task to a line when a duration is over.
func (r *runner) after(d time.Duration, l *line, task func()) {
	if d <= 0 {
		r.add(l, task)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return
	}
	var timer clock.Timer
	timer = r.clock.AfterFunc(d, func() {
		// A stepped clock holds its lock during the callback.
		go func() {
			r.mu.Lock()
			delete(r.timers, timer)
			r.mu.Unlock()
			r.add(l, task)
		}()
	})
	if r.timers == nil {
		r.timers = map[clock.Timer]struct{}{}
	}
	r.timers[timer] = struct{}{}
}

// stop prevents further tasks from starting.
func (r *runner) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	for t := range r.timers {
		t.Stop()
	}
	r.timers = nil
}

// wait returns when the running tasks have ended.
func (r *runner) wait() { r.wg.Wait() }

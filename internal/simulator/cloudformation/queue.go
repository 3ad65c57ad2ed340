package cloudformation

import "sync"

// queue runs stacks that have tasks. One goroutine at a time runs a stack. Goroutines exist only
// while there is work, and there are only a few, because a stack's steps never wait.
type queue struct {
	mu      sync.Mutex
	waiting []*stack
	workers int
}

// maxWorkers limits the goroutines that run stacks.
const maxWorkers = 4

// post adds a task to a stack, and adds the stack to the queue unless it is queued or running.
func (q *queue) post(s *stack, task func()) {
	s.inbox.Lock()
	s.tasks = append(s.tasks, task)
	queued := s.queued
	s.queued = true
	s.inbox.Unlock()
	if queued {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, s)
	if q.workers < maxWorkers {
		q.workers++
		go q.work()
	}
}

func (q *queue) work() {
	for {
		q.mu.Lock()
		if len(q.waiting) == 0 {
			q.workers--
			q.waiting = nil
			q.mu.Unlock()
			return
		}
		s := q.waiting[0]
		q.waiting = q.waiting[1:]
		q.mu.Unlock()
		s.drain()
	}
}

// drain runs the stack's tasks until none are left.
func (s *stack) drain() {
	for {
		s.inbox.Lock()
		tasks := s.tasks
		s.tasks = nil
		if len(tasks) == 0 {
			s.queued = false
			s.inbox.Unlock()
			return
		}
		s.inbox.Unlock()
		for _, task := range tasks {
			s.mu.Lock()
			task()
			s.mu.Unlock()
			s.flush()
		}
	}
}

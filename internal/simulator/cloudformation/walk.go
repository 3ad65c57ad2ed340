package cloudformation

import (
	"maps"
	"slices"
)

// stepState is the state of a step of a walk.
type stepState int

const (
	stepPending stepState = iota
	stepRunning
	stepDone
	stepFailed
)

// step is the work on one resource within a walk.
type step struct {
	id    string
	needs int
	feeds []*step
	state stepState
	token string
	walk  *walk
	run   func(*step)
	// cancelled is called if the walk stops while the step runs.
	cancelled func()
}

// active reports whether the step can still end: it has not finished, was not cancelled, and its
// walk was not abandoned.
func (st *step) active() bool { return st.state == stepRunning && st.walk.stack.walk == st.walk }

// walk visits the resources of a stack in the order of their dependencies, with as much parallelism
// as those allow.
type walk struct {
	stack   *stack
	steps   map[string]*step
	running int
	left    int
	// keepGoing continues with independent steps after one failed, as deletions do. Without it, the
	// walk stops and cancels the running steps.
	keepGoing bool
	stopped   bool
	finished  bool
	failed    []string
	end       func(failed []string)
}

// startWalk replaces the stack's walk. before maps each step to those that must complete before it;
// unknown ones are ignored.
func (s *stack) startWalk(before map[string][]string, run func(*step), keepGoing bool, end func(failed []string)) {
	w := &walk{stack: s, steps: map[string]*step{}, left: len(before), keepGoing: keepGoing, end: end}
	s.walk = w
	for id := range before {
		w.steps[id] = &step{id: id, walk: w, run: run, token: newUUID()}
	}
	for id, needed := range before {
		for _, other := range needed {
			if feeder, ok := w.steps[other]; ok {
				feeder.feeds = append(feeder.feeds, w.steps[id])
				w.steps[id].needs++
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.steps)) {
		if w.steps[id].needs == 0 {
			w.start(w.steps[id])
		}
	}
	if w.left == 0 {
		w.conclude()
	}
}

func (w *walk) start(st *step) {
	st.state = stepRunning
	w.running++
	w.stack.post(func() {
		if st.active() {
			st.run(st)
		}
	})
}

// succeed completes a step and starts those that waited for it.
func (st *step) succeed() {
	if !st.active() {
		return
	}
	w := st.walk
	st.state = stepDone
	w.running--
	w.left--
	if !w.stopped {
		for _, next := range st.feeds {
			next.needs--
			if next.needs == 0 && next.state == stepPending {
				w.start(next)
			}
		}
	}
	w.conclude()
}

// fail fails a step. Unless the walk keeps going, it cancels the running steps.
func (st *step) fail() {
	if !st.active() {
		return
	}
	w := st.walk
	st.state = stepFailed
	w.running--
	w.failed = append(w.failed, st.id)
	if !w.keepGoing {
		w.stop()
	}
	w.conclude()
}

// stop cancels the running steps and starts no more.
func (w *walk) stop() {
	if w.stopped {
		return
	}
	w.stopped = true
	for _, id := range slices.Sorted(maps.Keys(w.steps)) {
		st := w.steps[id]
		if st.state != stepRunning {
			continue
		}
		st.state = stepFailed
		w.running--
		if st.cancelled != nil {
			st.cancelled()
		}
	}
}

func (w *walk) conclude() {
	if w.finished || w.running > 0 || w.stack.walk != w {
		return
	}
	w.finished = true
	w.end(w.failed)
}

// abandon drops the current walk without calling its end: the results of its running steps are
// ignored.
func (s *stack) abandon() { s.walk = nil }

// reversed turns "needs" into "is needed by": the order of deletions.
func reversed(ids []string, dependencies map[string][]string) map[string][]string {
	out := make(map[string][]string, len(ids))
	for _, id := range ids {
		out[id] = nil
	}
	for _, id := range ids {
		for _, needed := range dependencies[id] {
			if _, ok := out[needed]; ok {
				out[needed] = append(out[needed], id)
			}
		}
	}
	return out
}

package kubeapi

import (
	"maps"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
)

// watcher receives changes; a slow one is disconnected and has to start again. The store's lock
// guards its fields.
type watcher struct {
	kind    *kind
	waiting []change
	ended   bool
	// changed signals pending changes. It has room for one signal.
	changed chan struct{}
}

// watch returns a watcher of the changes after a version; 0 starts with the existing objects.
func (s *store) watch(k *kind, since uint64) (*watcher, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	missed, err := s.since(k, since)
	if err != nil {
		return nil, err
	}
	w := &watcher{kind: k, waiting: missed, changed: make(chan struct{}, 1)}
	s.watchers[w] = struct{}{}
	return w, nil
}

// since returns the events of a kind after a version; 0 begins with what there is. The caller holds
// the lock.
func (s *store) since(k *kind, version uint64) ([]change, error) {
	var missed []change
	if version == 0 {
		for _, object := range s.objects[k] {
			missed = append(missed, change{k, watch.Added, object, s.version})
		}
		return missed, nil
	}
	if len(s.past) > 0 && s.past[0].version > version+1 {
		return nil, apierrors.NewResourceExpired("too old resource version: " + strconv.FormatUint(version, 10))
	}
	for _, c := range s.past {
		if c.kind == k && c.version > version {
			missed = append(missed, c)
		}
	}
	return missed, nil
}

// hand gives a watcher a change. The caller holds the lock.
func (s *store) hand(w *watcher, c change) {
	if len(w.waiting) >= patience {
		s.cut(w)
		return
	}
	w.waiting = append(w.waiting, c)
	w.signal()
}

func (w *watcher) signal() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// cut ends a watch. The caller holds the lock.
func (s *store) cut(w *watcher) {
	delete(s.watchers, w)
	w.ended, w.waiting = true, nil
	w.signal()
}

// take returns what has happened since the last call, and false when nothing more will come.
func (s *store) take(w *watcher) (changes []change, open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changes, w.waiting = w.waiting, nil
	return changes, !w.ended
}

func (s *store) unwatch(w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut(w)
}

// close ends all watches.
func (s *store) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range maps.Keys(s.watchers) {
		s.cut(w)
	}
}

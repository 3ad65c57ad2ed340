package cache

import "sync"

// Latest caches a bounded number of values and evicts the oldest. It is safe for concurrent use.
type Latest[K comparable, V any] struct {
	mu    sync.Mutex
	known map[K]V
	order []K // oldest first; may include dropped keys
	most  int
}

// NewLatest returns an empty cache for at most the given number of values.
func NewLatest[K comparable, V any](most int) *Latest[K, V] {
	return &Latest[K, V]{known: map[K]V{}, most: most}
}

// Get returns the value of a key, and whether it has one.
func (l *Latest[K, V]) Get(key K) (V, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	value, ok := l.known[key]
	return value, ok
}

// Keep sets the value of a key.
func (l *Latest[K, V]) Keep(key K, value V) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.known[key]; !ok {
		l.order = append(l.order, key)
	}
	l.known[key] = value
	for len(l.order) > l.most {
		delete(l.known, l.order[0])
		l.order = l.order[1:]
	}
}

// Drop removes a key.
func (l *Latest[K, V]) Drop(key K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.known, key)
}

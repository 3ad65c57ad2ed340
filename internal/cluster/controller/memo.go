package controller

import "sync"

// memo is a map of values by key that is safe for concurrent use.
type memo[K comparable, V any] struct {
	mu    sync.Mutex
	known map[K]V
}

func newMemo[K comparable, V any]() *memo[K, V] { return &memo[K, V]{known: map[K]V{}} }

func (m *memo[K, V]) get(key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	value, ok := m.known[key]
	return value, ok
}

func (m *memo[K, V]) keep(key K, value V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known[key] = value
}

func (m *memo[K, V]) drop(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.known, key)
}

func (m *memo[K, V]) dropAll(which func(K) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key := range m.known {
		if which(key) {
			delete(m.known, key)
		}
	}
}

package controller

import "sync"

// keyedCache is a map of values by key that is safe for concurrent use.
type keyedCache[K comparable, V any] struct {
	mu    sync.Mutex
	known map[K]V
}

func newKeyedCache[K comparable, V any]() *keyedCache[K, V] {
	return &keyedCache[K, V]{known: map[K]V{}}
}

func (m *keyedCache[K, V]) get(key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	value, ok := m.known[key]
	return value, ok
}

func (m *keyedCache[K, V]) keep(key K, value V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known[key] = value
}

func (m *keyedCache[K, V]) drop(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.known, key)
}

func (m *keyedCache[K, V]) dropAll(which func(K) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key := range m.known {
		if which(key) {
			delete(m.known, key)
		}
	}
}

package cache

import "sync"

// Keyed is a map of values by key that is safe for concurrent use.
type Keyed[K comparable, V any] struct {
	mu    sync.Mutex
	known map[K]V
}

// NewKeyed returns an empty cache.
func NewKeyed[K comparable, V any]() *Keyed[K, V] {
	return &Keyed[K, V]{known: map[K]V{}}
}

// Get returns the value of a key, and whether it has one.
func (m *Keyed[K, V]) Get(key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	value, ok := m.known[key]
	return value, ok
}

// Keep sets the value of a key.
func (m *Keyed[K, V]) Keep(key K, value V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known[key] = value
}

// Drop removes a key.
func (m *Keyed[K, V]) Drop(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.known, key)
}

// DropAll removes the keys that which selects.
func (m *Keyed[K, V]) DropAll(which func(K) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key := range m.known {
		if which(key) {
			delete(m.known, key)
		}
	}
}

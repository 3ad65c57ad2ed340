package controller

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// memo remembers, for each object, the inputs with which its stack was last found to be ready. As
// long as they are the same and no event told of the stack, there is nothing to render and nothing
// to ask AWS.
type memo struct {
	mu    sync.Mutex
	ready map[types.UID]uint64
}

func newMemo() *memo { return &memo{ready: map[types.UID]uint64{}} }

// holds reports whether the object's stack was ready with these inputs.
func (m *memo) holds(uid types.UID, inputs uint64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, ok := m.ready[uid]
	return ok && known == inputs
}

// keep records that the stack is ready with these inputs.
func (m *memo) keep(uid types.UID, inputs uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ready[uid] = inputs
}

// drop forgets the object: something happened to its stack.
func (m *memo) drop(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.ready, uid)
}

package stack

import (
	"bytes"
	"compress/flate"
	"container/list"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/aws-operator/aws-operator/internal/cfn/diff"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// memory caches what the engine deployed, compressed, so that comparing needs no GetTemplate. Above
// its limit of bytes it evicts the least recently used entries.
type memory struct {
	mu    sync.Mutex
	limit int
	size  int
	byKey map[memoryKey]*list.Element
	order *list.List // front: most recently used
	pool  sync.Pool  // *flate.Writer: allocating one costs more than compressing
}

// memoryKey separates what is deployed from what a running operation deploys.
type memoryKey struct {
	stackID string
	pending bool
}

type remembered struct {
	key    memoryKey
	digest string
	data   []byte
}

// deployment is the cached content of a stack.
type deployment struct {
	Template   json.RawMessage   `json:"template"`
	Parameters map[string]string `json:"parameters,omitempty"`
	Tags       map[string]string `json:"tags,omitempty"`
}

// overhead is the approximate size of an entry without its data.
const overhead = 400

func newMemory(limit int) *memory {
	return &memory{
		limit: limit, byKey: map[memoryKey]*list.Element{}, order: list.New(),
		pool: sync.Pool{New: func() any {
			w, err := flate.NewWriter(io.Discard, flate.BestSpeed)
			if err != nil {
				return nil
			}
			return w
		}},
	}
}

// put caches a side of a stack.
func (m *memory) put(key memoryKey, digest string, side diff.Side) {
	data, err := m.pack(side)
	if err != nil {
		m.drop(key) // costs only a GetTemplate
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.remove(key)
	m.byKey[key] = m.order.PushFront(&remembered{key: key, digest: digest, data: data})
	m.size += len(data) + overhead
	for m.size > m.limit && m.order.Len() > 0 {
		if last, ok := m.order.Back().Value.(*remembered); ok {
			m.remove(last.key)
		}
	}
}

// get returns the cached side of a stack if it has that digest.
func (m *memory) get(key memoryKey, digest string) (diff.Side, bool) {
	m.mu.Lock()
	element, ok := m.byKey[key]
	var data []byte
	if ok {
		one, isOne := element.Value.(*remembered)
		if ok = isOne && one.digest == digest; ok {
			m.order.MoveToFront(element)
			data = one.data
		}
	}
	m.mu.Unlock()
	if !ok {
		return diff.Side{}, false
	}
	side, err := unpack(data)
	return side, err == nil
}

// has is get without unpacking.
func (m *memory) has(key memoryKey, digest string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	element, ok := m.byKey[key]
	if !ok {
		return false
	}
	one, ok := element.Value.(*remembered)
	return ok && one.digest == digest
}

// commit makes the pending side the deployed side.
func (m *memory) commit(stackID string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	pending, deployed := memoryKey{stackID: stackID, pending: true}, memoryKey{stackID: stackID}
	element, ok := m.byKey[pending]
	if !ok {
		return
	}
	m.remove(deployed)
	if one, isOne := element.Value.(*remembered); isOne {
		delete(m.byKey, pending)
		one.key = deployed
		m.byKey[deployed] = element
	}
}

func (m *memory) drop(key memoryKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.remove(key)
}

// forget removes all entries of a stack.
func (m *memory) forget(stackID string) {
	m.drop(memoryKey{stackID: stackID})
	m.drop(memoryKey{stackID: stackID, pending: true})
}

// remove removes an entry. The caller holds the lock.
func (m *memory) remove(key memoryKey) {
	element, ok := m.byKey[key]
	if !ok {
		return
	}
	delete(m.byKey, key)
	m.order.Remove(element)
	if one, isOne := element.Value.(*remembered); isOne {
		m.size -= len(one.data) + overhead
	}
}

func (m *memory) pack(side diff.Side) ([]byte, error) {
	plain, err := json.Marshal(deployment{Template: side.Template.CanonicalJSON(), Parameters: side.Parameters, Tags: side.Tags})
	if err != nil {
		return nil, fmt.Errorf("cache a template: %w", err)
	}
	writer, ok := m.pool.Get().(*flate.Writer)
	if !ok {
		return nil, fmt.Errorf("cache a template: no compressor")
	}
	defer m.pool.Put(writer)
	var packed bytes.Buffer
	writer.Reset(&packed)
	if _, err := writer.Write(plain); err != nil {
		return nil, fmt.Errorf("cache a template: %w", err)
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("cache a template: %w", err)
	}
	return bytes.Clone(packed.Bytes()), nil
}

func unpack(data []byte) (diff.Side, error) {
	plain, err := io.ReadAll(flate.NewReader(bytes.NewReader(data)))
	if err != nil {
		return diff.Side{}, fmt.Errorf("read a cached template: %w", err)
	}
	var one deployment
	if err := json.Unmarshal(plain, &one); err != nil {
		return diff.Side{}, fmt.Errorf("read a cached template: %w", err)
	}
	parsed, err := template.Parse("deployed template", one.Template)
	if err != nil {
		return diff.Side{}, fmt.Errorf("read a cached template: %w", err)
	}
	return diff.Side{Template: parsed, Parameters: one.Parameters, Tags: one.Tags}, nil
}

package stack

import (
	"fmt"
	"testing"
)

func TestMemoryEvictsLeastRecentlyUsed(t *testing.T) {
	desired := desire(t, 1)
	probe := newMemory(1 << 20)
	probe.put(memoryKey{stackID: "probe"}, "d", desired.side())
	m := newMemory(10 * probe.size)
	for i := range 10 {
		m.put(memoryKey{stackID: fmt.Sprint(i)}, "d", desired.side())
	}
	if _, ok := m.get(memoryKey{stackID: "0"}, "d"); !ok {
		t.Fatal("an entry was lost before the memory was full")
	}
	m.put(memoryKey{stackID: "new"}, "d", desired.side())
	if m.has(memoryKey{stackID: "1"}, "d") || !m.has(memoryKey{stackID: "0"}, "d") {
		t.Error("want the least recently used entry to be evicted")
	}
	if m.size > m.limit {
		t.Errorf("%d bytes are held, want at most %d", m.size, m.limit)
	}
}

func TestMemorySeparatesPendingFromDeployed(t *testing.T) {
	m := newMemory(1 << 20)
	first, second := desire(t, 1), desire(t, 2)
	deployed, pending := memoryKey{stackID: "a"}, memoryKey{stackID: "a", pending: true}
	m.put(deployed, first.Digest(), first.side())
	m.put(pending, second.Digest(), second.side())
	if side, ok := m.get(deployed, first.Digest()); !ok || side.Template.Digest() != first.Template.Digest() {
		t.Error("what is deployed was lost")
	}
	m.commit("a")
	if m.has(deployed, first.Digest()) || !m.has(deployed, second.Digest()) || m.has(pending, second.Digest()) {
		t.Error("the pending side did not become the deployed one")
	}
	m.forget("a")
	if m.size != 0 || m.order.Len() != 0 {
		t.Errorf("%d bytes and %d entries are held, want none", m.size, m.order.Len())
	}
}

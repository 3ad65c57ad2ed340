package cache

import "testing"

func TestCacheEvictsTheOldest(t *testing.T) {
	l := NewLatest[string, int](2)
	for i, key := range []string{"a", "b", "a", "c"} {
		l.Keep(key, i)
	}
	if _, ok := l.Get("a"); ok {
		t.Error("a was the oldest, and the capacity is two")
	}
	if got, ok := l.Get("c"); !ok || got != 3 {
		t.Errorf("c is %d, %t", got, ok)
	}
	l.Drop("c")
	if _, ok := l.Get("c"); ok {
		t.Error("c was dropped")
	}
}

package controller

import (
	"cmp"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// objectKey names an object of any kind of the group.
type objectKey struct {
	Kind string
	types.NamespacedName
}

// directory maps stacks to their owners, and objects to the objects that they reference.
type directory struct {
	mu sync.Mutex
	// stacks maps stack names to their objects.
	stacks map[string]stackOwner
	// names maps an object to the objects that it references; namedBy is the reverse.
	names   map[objectKey][]objectKey
	namedBy map[objectKey]map[objectKey]struct{}
}

type stackOwner struct {
	key objectKey
	uid types.UID
}

func newDirectory() *directory {
	return &directory{
		stacks: map[string]stackOwner{}, names: map[objectKey][]objectKey{}, namedBy: map[objectKey]map[objectKey]struct{}{},
	}
}

// own records the owner of a stack.
func (d *directory) own(stackName string, key objectKey, uid types.UID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stacks[stackName] = stackOwner{key: key, uid: uid}
}

// owner returns the owner of a stack.
func (d *directory) owner(stackName string) (stackOwner, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	owner, ok := d.stacks[stackName]
	return owner, ok
}

// refer replaces the recorded references of key, and reports whether that changed anything.
func (d *directory) refer(key objectKey, targets []objectKey) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if slices.Equal(d.names[key], targets) {
		return false
	}
	for _, old := range d.names[key] {
		delete(d.namedBy[old], key)
		if len(d.namedBy[old]) == 0 {
			delete(d.namedBy, old)
		}
	}
	if len(targets) == 0 {
		delete(d.names, key)
		return true
	}
	d.names[key] = targets
	for _, target := range targets {
		if d.namedBy[target] == nil {
			d.namedBy[target] = map[objectKey]struct{}{}
		}
		d.namedBy[target][key] = struct{}{}
	}
	return true
}

// unrefer removes one recorded reference of key.
func (d *directory) unrefer(key, target objectKey) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.names[key] = slices.DeleteFunc(slices.Clone(d.names[key]), func(one objectKey) bool { return one == target })
	if len(d.names[key]) == 0 {
		delete(d.names, key)
	}
	delete(d.namedBy[target], key)
	if len(d.namedBy[target]) == 0 {
		delete(d.namedBy, target)
	}
}

// dependents returns the objects that reference the target, sorted.
func (d *directory) dependents(target objectKey) []objectKey {
	d.mu.Lock()
	defer d.mu.Unlock()
	var keys []objectKey
	for key := range d.namedBy[target] {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, compareKeys)
	return keys
}

// cycle returns the shortest chain of references from an object to itself, which begins and ends with
// it; nil if there is none.
func (d *directory) cycle(key objectKey) []objectKey {
	d.mu.Lock()
	defer d.mu.Unlock()
	from := map[objectKey]objectKey{}
	for next := []objectKey{key}; len(next) > 0; next = next[1:] {
		for _, target := range d.names[next[0]] {
			if _, seen := from[target]; seen {
				continue
			}
			from[target] = next[0]
			if target == key {
				chain := []objectKey{key}
				for at := next[0]; at != key; at = from[at] {
					chain = append(chain, at)
				}
				chain = append(chain, key)
				slices.Reverse(chain)
				return chain
			}
			next = append(next, target)
		}
	}
	return nil
}

// siblings returns the other objects of key's kind that reference an object that key references
// too.
func (d *directory) siblings(key objectKey) []objectKey {
	d.mu.Lock()
	targets := slices.Clone(d.names[key])
	d.mu.Unlock()
	var keys []objectKey
	for _, target := range targets {
		for _, other := range d.dependents(target) {
			if other != key && other.Kind == key.Kind && !slices.Contains(keys, other) {
				keys = append(keys, other)
			}
		}
	}
	return keys
}

// forget removes a deleted object, unless a new object of its name already replaced it.
func (d *directory) forget(key objectKey, stackName string, uid types.UID) {
	d.mu.Lock()
	owner, owned := d.stacks[stackName]
	if owned && owner.key == key && owner.uid != uid {
		d.mu.Unlock()
		return
	}
	if owner.key == key {
		delete(d.stacks, stackName)
	}
	d.mu.Unlock()
	d.refer(key, nil)
}

func compareKeys(a, b objectKey) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

package controller

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// stackTarget identifies a stack across all accounts and regions.
type stackTarget struct{ account, region, stack string }

// owner is an object that claims a stack.
type owner struct {
	group bool // an InstanceGroup; else a Cluster
	key   types.NamespacedName
	uid   types.UID
}

// directory records which objects claim a stack. Usually one object does. If two have the same
// name, the stack engine decides which one owns it.
type directory struct {
	mu      sync.Mutex
	owners  map[stackTarget][]owner
	targets map[types.UID][]stackTarget
	names   map[string][]owner
	// claimed, if not nil, is called when an object claims another stack.
	claimed func(stack string)
}

func newDirectory() *directory {
	return &directory{owners: map[stackTarget][]owner{}, targets: map[types.UID][]stackTarget{}, names: map[string][]owner{}}
}

// own records that an object claims a stack.
func (d *directory) own(p stackTarget, o owner) {
	if d.add(p, o) && d.claimed != nil {
		d.claimed(p.stack)
	}
}

// add returns false if the object already claims the stack.
func (d *directory) add(p stackTarget, o owner) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if slices.Contains(d.owners[p], o) {
		return false
	}
	d.owners[p] = append(d.owners[p], o)
	d.targets[o.uid] = append(d.targets[o.uid], p)
	if !slices.Contains(d.names[p.stack], o) {
		d.names[p.stack] = append(d.names[p.stack], o)
	}
	return true
}

// named returns the objects that claim a stack of this name in any account and region.
func (d *directory) named(stack string) []owner {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.names[stack])
}

// of returns the objects that claim a stack.
func (d *directory) of(p stackTarget) []owner {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.owners[p])
}

// forget removes a deleted object.
func (d *directory) forget(uid types.UID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	its := func(o owner) bool { return o.uid == uid }
	for _, p := range d.targets[uid] {
		if d.owners[p] = slices.DeleteFunc(d.owners[p], its); len(d.owners[p]) == 0 {
			delete(d.owners, p)
		}
		if d.names[p.stack] = slices.DeleteFunc(d.names[p.stack], its); len(d.names[p.stack]) == 0 {
			delete(d.names, p.stack)
		}
	}
	delete(d.targets, uid)
}

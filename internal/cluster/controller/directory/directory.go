package directory

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Stack identifies a stack across all accounts and regions.
type Stack struct{ Account, Region, Name string }

// Owner is an object that claims a stack.
type Owner struct {
	Group bool // an InstanceGroup; else a Cluster
	Key   types.NamespacedName
	UID   types.UID
}

// Directory records which objects claim a stack. Usually one object does. If two have the same
// name, the stack engine decides which one owns it.
type Directory struct {
	mu      sync.Mutex
	owners  map[Stack][]Owner
	targets map[types.UID][]Stack
	names   map[string][]Owner
	claimed func(stack string)
}

// New returns an empty directory. It calls claimed, if not nil, when an object claims another
// stack.
func New(claimed func(stack string)) *Directory {
	return &Directory{
		claimed: claimed,
		owners:  map[Stack][]Owner{}, targets: map[types.UID][]Stack{}, names: map[string][]Owner{},
	}
}

// Own records that an object claims a stack.
func (d *Directory) Own(p Stack, o Owner) {
	if d.add(p, o) && d.claimed != nil {
		d.claimed(p.Name)
	}
}

// add returns false if the object already claims the stack.
func (d *Directory) add(p Stack, o Owner) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if slices.Contains(d.owners[p], o) {
		return false
	}
	d.owners[p] = append(d.owners[p], o)
	d.targets[o.UID] = append(d.targets[o.UID], p)
	if !slices.Contains(d.names[p.Name], o) {
		d.names[p.Name] = append(d.names[p.Name], o)
	}
	return true
}

// Named returns the objects that claim a stack of this name in any account and region.
func (d *Directory) Named(stack string) []Owner {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.names[stack])
}

// Of returns the objects that claim a stack.
func (d *Directory) Of(p Stack) []Owner {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.owners[p])
}

// Forget removes a deleted object.
func (d *Directory) Forget(uid types.UID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	its := func(o Owner) bool { return o.UID == uid }
	for _, p := range d.targets[uid] {
		if d.owners[p] = slices.DeleteFunc(d.owners[p], its); len(d.owners[p]) == 0 {
			delete(d.owners, p)
		}
		if d.names[p.Name] = slices.DeleteFunc(d.names[p.Name], its); len(d.names[p.Name]) == 0 {
			delete(d.names, p.Name)
		}
	}
	delete(d.targets, uid)
}

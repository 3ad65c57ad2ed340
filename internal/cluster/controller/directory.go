package controller

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// place names a stack among all accounts and regions.
type place struct{ account, region, stack string }

// owner is an object that claims a stack.
type owner struct {
	group bool // an InstanceGroup; else a Cluster
	key   types.NamespacedName
	uid   types.UID
}

// directory knows which objects claim a stack. It is one, unless somebody gave two the same name; then
// the engine says whose it is.
type directory struct {
	mu     sync.Mutex
	owners map[place][]owner
	places map[types.UID][]place
}

func newDirectory() *directory {
	return &directory{owners: map[place][]owner{}, places: map[types.UID][]place{}}
}

// own records that an object claims a stack.
func (d *directory) own(p place, o owner) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if slices.Contains(d.owners[p], o) {
		return
	}
	d.owners[p] = append(d.owners[p], o)
	d.places[o.uid] = append(d.places[o.uid], p)
}

// of returns the objects that claim a stack.
func (d *directory) of(p place) []owner {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.owners[p])
}

// forget removes an object that is gone.
func (d *directory) forget(uid types.UID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range d.places[uid] {
		d.owners[p] = slices.DeleteFunc(d.owners[p], func(o owner) bool { return o.uid == uid })
		if len(d.owners[p]) == 0 {
			delete(d.owners, p)
		}
	}
	delete(d.places, uid)
}

package controller

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// place names a stack among all accounts and regions.
type place struct{ account, region, stack string }

// owner is the object that a stack belongs to.
type owner struct {
	group bool // an InstanceGroup; else a Cluster
	key   types.NamespacedName
	uid   types.UID
}

// directory knows which object a stack belongs to.
type directory struct {
	mu     sync.Mutex
	owners map[place]owner
}

func newDirectory() *directory { return &directory{owners: map[place]owner{}} }

// own records whose stack it is.
func (d *directory) own(p place, o owner) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.owners[p] = o
}

// owner returns whose stack it is.
func (d *directory) owner(p place) (owner, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	found, ok := d.owners[p]
	return found, ok
}

// forget removes an object that is gone.
func (d *directory) forget(uid types.UID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for p, o := range d.owners {
		if o.uid == uid {
			delete(d.owners, p)
		}
	}
}

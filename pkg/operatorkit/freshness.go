package operatorkit

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// freshness remembers the resource version of the reconciler's own last write
// of each object until the cache shows it. Without it a reconcile that follows
// a write at once would see the object as it was before, without what the last
// run recorded in its status, and do things twice.
type freshness struct {
	mu      sync.Mutex
	written map[types.NamespacedName]string
}

// wrote remembers the object's resource version, the answer to a write.
func (f *freshness) wrote(obj client.Object) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.written == nil {
		f.written = map[types.NamespacedName]string{}
	}
	f.written[client.ObjectKeyFromObject(obj)] = obj.GetResourceVersion()
}

// saw reports whether obj, as the cache has it, is at least as new as our last
// write, which is then forgotten. Versions that cannot be compared are no
// reason to wait.
func (f *freshness) saw(obj client.Object) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := client.ObjectKeyFromObject(obj)
	written, ok := f.written[key]
	if !ok {
		return true
	}
	if order, err := resourceversion.CompareResourceVersion(obj.GetResourceVersion(), written); err == nil && order < 0 {
		return false
	}
	delete(f.written, key)
	return true
}

// gone forgets an object that is no more.
func (f *freshness) gone(key types.NamespacedName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.written, key)
}

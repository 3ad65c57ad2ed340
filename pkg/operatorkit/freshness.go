package operatorkit

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// freshness remembers the resource version of the reconciler's last write of
// each object until the cache contains it. A reconcile that reads an older
// version would not see what the last run recorded in the status, and repeat it.
type freshness struct {
	mu      sync.Mutex
	written map[types.NamespacedName]string
}

// wrote remembers the resource version that a write returned.
func (f *freshness) wrote(obj client.Object) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.written == nil {
		f.written = map[types.NamespacedName]string{}
	}
	f.written[client.ObjectKeyFromObject(obj)] = obj.GetResourceVersion()
}

// saw reports whether obj, as the cache has it, is at least as new as the last
// write, which it then forgets. Versions that cannot be compared count as new.
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

// forget removes a deleted object.
func (f *freshness) forget(key types.NamespacedName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.written, key)
}

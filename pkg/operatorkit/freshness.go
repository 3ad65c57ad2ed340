package operatorkit

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// freshness remembers the resource version of the reconciler's last write of
// each object. A reconcile that reads an older version would not see what the last
// run recorded in the status, and repeat it.
type freshness struct {
	mu      sync.Mutex
	written map[types.NamespacedName]written
	// during is the newest version that arrived during a run, whose write may be it.
	during map[types.NamespacedName]client.Object
	// released are the objects whose deletion is done, which the cache may still contain.
	released map[types.NamespacedName]types.UID
}

// written is the reconciler's last write of an object.
type written struct {
	version    string
	generation int64
	at         time.Time
}

// wrote remembers the resource version that a write returned.
func (f *freshness) wrote(obj client.Object) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.written == nil {
		f.written = map[types.NamespacedName]written{}
	}
	f.written[client.ObjectKeyFromObject(obj)] = written{
		obj.GetResourceVersion(), obj.GetGeneration(), time.Now(), //nolint:forbidigo // as the delays of the work queue
	}
}

// saw reports whether obj, as the cache has it, is at least as new as the last
// write. Versions that cannot be compared count as new.
func (f *freshness) saw(obj client.Object) bool {
	order, _, known := f.order(obj)
	return !known || order >= 0
}

// isForeign reports whether another client wrote obj after the last write.
func (f *freshness) isForeign(obj client.Object) bool {
	order, _, known := f.order(obj)
	return !known || order > 0
}

// tooSoon returns how long to wait because another client wrote the status after the last write, which
// was less than foreignRequeue ago.
func (f *freshness) tooSoon(obj client.Object) time.Duration {
	order, last, known := f.order(obj)
	if !known || order <= 0 || obj.GetGeneration() != last.generation {
		return 0
	}
	return foreignRequeue - time.Since(last.at)
}

// arrived remembers a version that arrived during a run.
func (f *freshness) arrived(obj client.Object) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.during == nil {
		f.during = map[types.NamespacedName]client.Object{}
	}
	f.during[client.ObjectKeyFromObject(obj)] = obj
}

// ended forgets the version that arrived during a run, and reports whether another client wrote it.
func (f *freshness) ended(key types.NamespacedName) bool {
	f.mu.Lock()
	obj, ok := f.during[key]
	delete(f.during, key)
	f.mu.Unlock()
	return ok && f.isForeign(obj)
}

// release remembers that the deletion of obj is done.
func (f *freshness) release(obj client.Object) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.released == nil {
		f.released = map[types.NamespacedName]types.UID{}
	}
	f.released[client.ObjectKeyFromObject(obj)] = obj.GetUID()
}

// hold reverts release.
func (f *freshness) hold(obj client.Object) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.released, client.ObjectKeyFromObject(obj))
}

// releasedBy returns the UID of the object whose deletion is done, or "". Call it before the cache is
// read: a deletion that arrives after that read forgets the object.
func (f *freshness) releasedBy(key types.NamespacedName) types.UID {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.released[key]
}

// order compares obj with the last write, if there was one.
func (f *freshness) order(obj client.Object) (order int, last written, known bool) {
	f.mu.Lock()
	last, ok := f.written[client.ObjectKeyFromObject(obj)]
	f.mu.Unlock()
	if !ok {
		return 0, last, false
	}
	order, err := resourceversion.CompareResourceVersion(obj.GetResourceVersion(), last.version)
	return order, last, err == nil
}

// forget removes a deleted object.
func (f *freshness) forget(key types.NamespacedName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.written, key)
	delete(f.during, key)
	delete(f.released, key)
}

package kubeapi

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/google/uuid"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
)

// remembered is how many past events a watch may start from.
const remembered = 256

// buffered is how many events a watcher may lag behind.
const buffered = 128

// errStale is why a write of an old object is refused.
var errStale = errors.New("the object has been modified; please apply your changes to the latest version and try again")

type key struct {
	kind *kind
	name types.NamespacedName
}

// change is one event, of one kind of object.
type change struct {
	kind    *kind
	event   watch.EventType
	object  *unstructured.Unstructured
	version uint64
}

// store keeps objects. What it hands out is shared and not to be changed.
type store struct {
	clock clock.PassiveClock

	mu       sync.Mutex
	version  uint64
	objects  map[key]*unstructured.Unstructured
	past     []change
	watchers map[*watcher]struct{}
}

// watcher is told of changes; a slow one is cut off and starts anew.
type watcher struct {
	kind    *kind
	changes chan change
}

func newStore(clk clock.PassiveClock) *store {
	return &store{clock: clk, objects: map[key]*unstructured.Unstructured{}, watchers: map[*watcher]struct{}{}}
}

func (s *store) get(k *kind, name types.NamespacedName) (*unstructured.Unstructured, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if object := s.objects[key{k, name}]; object != nil {
		return object, nil
	}
	return nil, apierrors.NewNotFound(k.groupResource(), name.Name)
}

// list returns the objects of a kind, in a namespace unless that is empty, by name, and the version they are of.
func (s *store) list(k *kind, namespace string) ([]*unstructured.Unstructured, uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*unstructured.Unstructured
	for at, object := range s.objects {
		if at.kind == k && (namespace == "" || at.name.Namespace == namespace) {
			found = append(found, object)
		}
	}
	slices.SortFunc(found, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return found, s.version
}

func (s *store) create(k *kind, namespace string, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if object.GetName() == "" && object.GetGenerateName() != "" {
		object.SetName(object.GetGenerateName() + utilrand.String(5))
	}
	if object.GetName() == "" {
		return nil, apierrors.NewBadRequest("metadata.name: name or generateName is required")
	}
	object.SetNamespace(namespace)
	at := key{k, types.NamespacedName{Namespace: namespace, Name: object.GetName()}}
	if s.objects[at] != nil {
		return nil, apierrors.NewAlreadyExists(k.groupResource(), object.GetName())
	}
	object.SetUID(types.UID(uuid.NewString()))
	object.SetCreationTimestamp(metav1.NewTime(s.clock.Now()))
	object.SetGeneration(1)
	s.put(at, object, watch.Added)
	return object, nil
}

// update replaces an object by what edit makes of a copy of it. An edited object that is the same is not written.
func (s *store) update(k *kind, name types.NamespacedName, edit func(*unstructured.Unstructured) error) (*unstructured.Unstructured, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := key{k, name}
	old := s.objects[at]
	if old == nil {
		return nil, apierrors.NewNotFound(k.groupResource(), name.Name)
	}
	object := old.DeepCopy()
	if err := edit(object); err != nil {
		return nil, err
	}
	if wanted := object.GetResourceVersion(); wanted != "" && wanted != old.GetResourceVersion() {
		return nil, apierrors.NewConflict(k.groupResource(), name.Name, errStale)
	}
	object.SetUID(old.GetUID())
	object.SetCreationTimestamp(old.GetCreationTimestamp())
	object.SetNamespace(name.Namespace)
	object.SetName(name.Name)
	object.SetDeletionTimestamp(old.GetDeletionTimestamp())
	object.SetResourceVersion(old.GetResourceVersion())
	if old.GetDeletionTimestamp() != nil && len(object.GetFinalizers()) == 0 {
		s.remove(at, object)
		return object, nil
	}
	s.put(at, object, watch.Modified)
	return object, nil
}

// delete removes an object, or marks it while it has finalizers.
func (s *store) delete(k *kind, name types.NamespacedName) (*unstructured.Unstructured, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := key{k, name}
	old := s.objects[at]
	if old == nil {
		return nil, apierrors.NewNotFound(k.groupResource(), name.Name)
	}
	object := old.DeepCopy()
	if len(object.GetFinalizers()) > 0 {
		if object.GetDeletionTimestamp() == nil {
			now := metav1.NewTime(s.clock.Now())
			object.SetDeletionTimestamp(&now)
			s.put(at, object, watch.Modified)
		}
		return object, nil
	}
	s.remove(at, object)
	return object, nil
}

func (s *store) put(at key, object *unstructured.Unstructured, event watch.EventType) {
	s.version++
	object.SetResourceVersion(strconv.FormatUint(s.version, 10))
	object.SetGroupVersionKind(at.kind.groupVersion().WithKind(at.kind.Kind))
	s.objects[at] = object
	s.tell(change{at.kind, event, object, s.version})
}

func (s *store) remove(at key, object *unstructured.Unstructured) {
	s.version++
	object.SetResourceVersion(strconv.FormatUint(s.version, 10))
	delete(s.objects, at)
	s.tell(change{at.kind, watch.Deleted, object, s.version})
}

func (s *store) tell(c change) {
	s.past = append(s.past, c)
	if len(s.past) > 2*remembered {
		s.past = slices.Clone(s.past[len(s.past)-remembered:])
	}
	for w := range s.watchers {
		if w.kind != c.kind {
			continue
		}
		select {
		case w.changes <- c:
		default:
			delete(s.watchers, w)
			close(w.changes)
		}
	}
}

// watch tells of what happens after a version; 0 begins with what there is.
func (s *store) watch(k *kind, since uint64) (*watcher, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	missed, err := s.since(k, since)
	if err != nil {
		return nil, err
	}
	w := &watcher{kind: k, changes: make(chan change, len(missed)+buffered)}
	for _, c := range missed {
		w.changes <- c
	}
	s.watchers[w] = struct{}{}
	return w, nil
}

// since returns the events of a kind after a version; 0 begins with what there is. The caller holds the lock.
func (s *store) since(k *kind, version uint64) ([]change, error) {
	var missed []change
	if version == 0 {
		for at, object := range s.objects {
			if at.kind == k {
				missed = append(missed, change{k, watch.Added, object, s.version})
			}
		}
		return missed, nil
	}
	if len(s.past) > 0 && s.past[0].version > version+1 {
		return nil, apierrors.NewResourceExpired("too old resource version: " + strconv.FormatUint(version, 10))
	}
	for _, c := range s.past {
		if c.kind == k && c.version > version {
			missed = append(missed, c)
		}
	}
	return missed, nil
}

func (s *store) unwatch(w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watchers, w)
}

// close ends all watches.
func (s *store) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range maps.Keys(s.watchers) {
		delete(s.watchers, w)
		close(w.changes)
	}
}

package kubeapi

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
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
const remembered = 1024

// patience is how many events a watcher may lag behind.
const patience = 16384

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

// store keeps objects. Callers must not change the objects that it returns, since they are shared.
//
// To other clients, a write and the reactions of the cluster's controllers are one step: a writer
// releases the lock by [store.release], after the reactions.
type store struct {
	clock clock.PassiveClock
	// note is called for every change, settle before other clients see the changes. Both hold the
	// lock.
	note   func(change)
	settle func()

	mu       sync.Mutex
	version  uint64
	objects  map[*kind]map[types.NamespacedName]*unstructured.Unstructured
	past     []change
	watchers map[*watcher]struct{}
}

func newStore(clk clock.PassiveClock) *store {
	return &store{
		clock: clk, objects: map[*kind]map[types.NamespacedName]*unstructured.Unstructured{}, watchers: map[*watcher]struct{}{},
		note: func(change) {}, settle: func() {},
	}
}

func (s *store) release() {
	s.settle()
	s.mu.Unlock()
}

func (s *store) get(k *kind, name types.NamespacedName) (*unstructured.Unstructured, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.find(k, name)
}

// find is get for those who hold the lock.
func (s *store) find(k *kind, name types.NamespacedName) (*unstructured.Unstructured, error) {
	if object := s.objects[k][name]; object != nil {
		return object, nil
	}
	return nil, apierrors.NewNotFound(k.groupResource(), name.Name)
}

// list returns the objects of a kind, in a namespace unless that is empty, by name, and the version
// they are of.
func (s *store) list(k *kind, namespace string) ([]*unstructured.Unstructured, uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*unstructured.Unstructured
	for name, object := range s.objects[k] {
		if namespace == "" || name.Namespace == namespace {
			found = append(found, object)
		}
	}
	return sorted(found), s.version
}

// sorted sorts objects by namespace and name.
func sorted(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	slices.SortFunc(objects, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return objects
}

func (s *store) create(k *kind, namespace string, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	s.mu.Lock()
	defer s.release()
	return s.add(k, namespace, object)
}

// add is create for those who hold the lock.
func (s *store) add(k *kind, namespace string, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if object.GetName() == "" && object.GetGenerateName() != "" {
		object.SetName(object.GetGenerateName() + utilrand.String(5))
	}
	if object.GetName() == "" {
		return nil, apierrors.NewBadRequest("metadata.name: name or generateName is required")
	}
	object.SetNamespace(namespace)
	at := key{k, types.NamespacedName{Namespace: namespace, Name: object.GetName()}}
	if s.objects[k][at.name] != nil {
		return nil, apierrors.NewAlreadyExists(k.groupResource(), object.GetName())
	}
	object.SetUID(types.UID(uuid.NewString()))
	object.SetCreationTimestamp(metav1.NewTime(s.clock.Now()))
	object.SetDeletionTimestamp(nil)
	object.SetDeletionGracePeriodSeconds(nil)
	object.SetGeneration(1)
	s.put(at, object, watch.Added)
	return object, nil
}

// load is create for an object that was created elsewhere.
func (s *store) load(k *kind, object *unstructured.Unstructured) error {
	s.mu.Lock()
	defer s.release()
	at := key{k, nameOf(object)}
	if s.objects[k][at.name] != nil {
		return apierrors.NewAlreadyExists(k.groupResource(), object.GetName())
	}
	if object.GetUID() == "" {
		object.SetUID(types.UID(uuid.NewString()))
	}
	if object.GetGeneration() == 0 {
		object.SetGeneration(1)
	}
	s.put(at, object, watch.Added)
	return nil
}

// update replaces an object by what edit makes of a copy of it. An edited object that is the same
// is not written.
func (s *store) update(
	k *kind, name types.NamespacedName, edit func(*unstructured.Unstructured) error,
) (*unstructured.Unstructured, error) {
	s.mu.Lock()
	defer s.release()
	return s.edit(k, name, edit)
}

// edit is update for those who hold the lock.
func (s *store) edit(k *kind, name types.NamespacedName, edit func(*unstructured.Unstructured) error) (*unstructured.Unstructured, error) {
	old, err := s.find(k, name)
	if err != nil {
		return nil, err
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
	object.SetDeletionGracePeriodSeconds(old.GetDeletionGracePeriodSeconds())
	object.SetResourceVersion(old.GetResourceVersion())
	object.SetGeneration(old.GetGeneration())
	object.SetGroupVersionKind(k.groupVersion().WithKind(k.Kind))
	if reflect.DeepEqual(old.Object, object.Object) {
		return old, nil
	}
	if !reflect.DeepEqual(old.Object["spec"], object.Object["spec"]) {
		object.SetGeneration(old.GetGeneration() + 1)
	}
	at := key{k, name}
	if old.GetDeletionTimestamp() != nil && len(object.GetFinalizers()) == 0 && graceOf(old) == 0 {
		s.remove(at, object)
		return object, nil
	}
	s.put(at, object, watch.Modified)
	return object, nil
}

// delete removes an object, or marks it while it has finalizers or, as a pod, time to end.
func (s *store) delete(k *kind, name types.NamespacedName, options metav1.DeleteOptions) (*unstructured.Unstructured, error) {
	s.mu.Lock()
	defer s.release()
	return s.drop(k, name, options)
}

// drop is delete for those who hold the lock.
func (s *store) drop(k *kind, name types.NamespacedName, options metav1.DeleteOptions) (*unstructured.Unstructured, error) {
	old, err := s.find(k, name)
	if err != nil {
		return nil, err
	}
	if err := meets(old, options.Preconditions); err != nil {
		return nil, apierrors.NewConflict(k.groupResource(), name.Name, err)
	}
	if len(options.DryRun) > 0 {
		return old, nil
	}
	object, at := old.DeepCopy(), key{k, name}
	if k == podKind && !shorten(object, options, s.clock.Now()) {
		return old, nil
	}
	if graceOf(object) == 0 && len(object.GetFinalizers()) == 0 {
		s.remove(at, object)
		return object, nil
	}
	if object.GetDeletionTimestamp() == nil {
		now := metav1.NewTime(s.clock.Now())
		object.SetDeletionTimestamp(&now)
	}
	s.put(at, object, watch.Modified)
	return object, nil
}

// meets returns an error when an object is not the one that the caller means.
func meets(object *unstructured.Unstructured, wanted *metav1.Preconditions) error {
	switch {
	case wanted == nil:
	case wanted.UID != nil && *wanted.UID != object.GetUID():
		return fmt.Errorf("the UID in the precondition (%s) does not match the UID in record (%s). "+
			"The object might have been deleted and then recreated", *wanted.UID, object.GetUID())
	case wanted.ResourceVersion != nil && *wanted.ResourceVersion != object.GetResourceVersion():
		return fmt.Errorf("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). "+
			"The object might have been modified", *wanted.ResourceVersion, object.GetResourceVersion())
	}
	return nil
}

func (s *store) put(at key, object *unstructured.Unstructured, event watch.EventType) {
	s.version++
	object.SetResourceVersion(strconv.FormatUint(s.version, 10))
	object.SetGroupVersionKind(at.kind.groupVersion().WithKind(at.kind.Kind))
	if s.objects[at.kind] == nil {
		s.objects[at.kind] = map[types.NamespacedName]*unstructured.Unstructured{}
	}
	s.objects[at.kind][at.name] = object
	s.tell(change{at.kind, event, object, s.version})
}

func (s *store) remove(at key, object *unstructured.Unstructured) {
	s.version++
	object.SetResourceVersion(strconv.FormatUint(s.version, 10))
	delete(s.objects[at.kind], at.name)
	s.tell(change{at.kind, watch.Deleted, object, s.version})
}

func (s *store) tell(c change) {
	s.past = append(s.past, c)
	if len(s.past) > 2*remembered {
		s.past = slices.Clone(s.past[len(s.past)-remembered:])
	}
	for w := range s.watchers {
		if w.kind == c.kind {
			s.hand(w, c)
		}
	}
	s.note(c)
}

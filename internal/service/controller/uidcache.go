package controller

import (
	"context"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
)

// uidCache caches one value for each object, by UID.
type uidCache[T any] struct {
	mu    sync.Mutex
	known map[types.UID]T
}

func newUIDCache[T any]() *uidCache[T] { return &uidCache[T]{known: map[types.UID]T{}} }

// get returns the cached value of the object.
func (m *uidCache[T]) get(uid types.UID) (T, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	value, ok := m.known[uid]
	return value, ok
}

// keep caches a value for the object.
func (m *uidCache[T]) keep(uid types.UID, value T) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known[uid] = value
}

// drop removes the object's value.
func (m *uidCache[T]) drop(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.known, uid)
}

// madeList lists what was created for an object, and from which inputs.
type madeList struct {
	// inputs and output are the digests of the inputs.
	inputs uint64
	output string
	items  []madeItem
	// taken are the entries of spec.writeTo whose names are in use.
	taken []*takenError
}

type madeItem struct {
	// kind and wanted are what the model asks for; name is the actual name.
	kind, wanted, name string
	digest             string
	empty              func() client.Object
}

// inPlace reports whether everything that was created for the object, from the same inputs and
// outputs, still exists unchanged. In that case there is nothing to render.
func (k *kind) inPlace(ctx context.Context, obj *v1alpha1.Object, inputs uint64) bool {
	list, ok := k.made.get(obj.UID)
	if !ok || list.inputs != inputs || list.output != obj.Status.OutputDigest || !slices.Equal(list.names(), additionalNames(obj)) {
		return false
	}
	for _, item := range list.items {
		cached := item.empty()
		err := k.service.additional.Get(ctx, client.ObjectKey{Namespace: obj.Namespace, Name: item.name}, cached)
		if err != nil || contentOf(cached) != item.digest || !metav1.IsControlledBy(cached, obj) {
			return false
		}
	}
	return true
}

// record adds what was created to what the status records.
func (l *madeList) record(obj *v1alpha1.Object) {
	if len(l.items) == 0 {
		return
	}
	var all v1alpha1.AdditionalResources
	if obj.Status.AdditionalResources != nil {
		all = *obj.Status.AdditionalResources.DeepCopy()
	}
	groups := map[string]*[]string{"ConfigMap": &all.ConfigMaps, "Secret": &all.Secrets, "Service": &all.Services}
	for _, item := range l.items {
		if group := groups[item.kind]; !slices.Contains(*group, item.name) {
			*group = append(*group, item.name)
		}
	}
	obj.Status.AdditionalResources = &all
}

// names lists the names of what was created, in order of creation.
func (l *madeList) names() []string {
	var names []string
	for _, item := range l.items {
		names = append(names, item.name)
	}
	return names
}

// additionalNames lists the names that the object's status records, in order of creation.
func additionalNames(obj *v1alpha1.Object) []string {
	made := obj.Status.AdditionalResources
	if made == nil {
		return nil
	}
	return slices.Concat(made.Services, made.ConfigMaps, made.Secrets)
}

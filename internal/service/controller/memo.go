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

// memo remembers something of each object, by UID.
type memo[T any] struct {
	mu    sync.Mutex
	known map[types.UID]T
}

func newMemo[T any]() *memo[T] { return &memo[T]{known: map[types.UID]T{}} }

// get returns what is remembered of the object.
func (m *memo[T]) get(uid types.UID) (T, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	value, ok := m.known[uid]
	return value, ok
}

// keep remembers something of the object.
func (m *memo[T]) keep(uid types.UID, value T) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known[uid] = value
}

// drop forgets the object.
func (m *memo[T]) drop(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.known, uid)
}

// madeList is what was made for an object, and from what.
type madeList struct {
	// inputs and output are the digests of what it was made from.
	inputs uint64
	output string
	items  []madeItem
}

type madeItem struct {
	// kind and wanted are what was asked for; name is what it got.
	kind, wanted, name string
	digest             string
	empty              func() client.Object
}

// inPlace reports whether all that was made for the object, from the same inputs and outputs as now,
// is still there as it was made. Then there is nothing to render.
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

// names lists what was made, in the order in which it was.
func (l *madeList) names() []string {
	var names []string
	for _, item := range l.items {
		names = append(names, item.name)
	}
	return names
}

// additionalNames lists what the object says was made for it, in the order in which it is made.
func additionalNames(obj *v1alpha1.Object) []string {
	if obj.AdditionalResources == nil {
		return nil
	}
	return slices.Concat(obj.AdditionalResources.Services, obj.AdditionalResources.ConfigMaps, obj.AdditionalResources.Secrets)
}

package controller

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
)

const (
	// maxInterned limits the number of interned strings; above it, all are dropped.
	maxInterned = 4096
	// maxInternedLength is the length up to which a string is interned: longer ones are unique to
	// an object.
	maxInternedLength = 256
)

// interner interns strings that many objects share, such as namespaces, reasons and messages: each
// object that is read has its own copies.
type interner struct {
	mu    sync.Mutex
	known map[string]string
}

// intern replaces strings with their interned copies.
func intern[S ~string](w *interner, all ...*S) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range all {
		if *one == "" || len(*one) > maxInternedLength {
			continue
		}
		known, ok := w.known[string(*one)]
		if !ok {
			if w.known == nil || len(w.known) >= maxInterned {
				w.known = map[string]string{}
			}
			known = string(*one)
			w.known[known] = known
		}
		*one = S(known)
	}
}

// internMeta interns the metadata that objects of a kind and a namespace share.
func (w *interner) internMeta(meta *metav1.ObjectMeta) {
	intern(w, &meta.Namespace)
	meta.Finalizers = fitting(meta.Finalizers)
	for i := range meta.Finalizers {
		intern(w, &meta.Finalizers[i])
	}
	meta.OwnerReferences = fitting(meta.OwnerReferences)
	for i := range meta.OwnerReferences {
		intern(w, &meta.OwnerReferences[i].APIVersion, &meta.OwnerReferences[i].Kind)
	}
}

// internObject interns the strings of an object of a modeled kind.
func (w *interner) internObject(obj *v1alpha1.Object) {
	intern(w, &obj.APIVersion, &obj.Kind, &obj.Status.ResourceStatus, &obj.Status.ResourceStatusReason)
	obj.Status.Conditions = fitting(obj.Status.Conditions)
	for i := range obj.Status.Conditions {
		condition := &obj.Status.Conditions[i]
		intern(w, &condition.Type, &condition.Reason, &condition.Message)
		intern(w, &condition.Status)
	}
	w.internMeta(&obj.ObjectMeta)
}

// fitting returns the list without spare capacity, which decoded lists have.
func fitting[T any](list []T) []T {
	if len(list) == cap(list) {
		return list
	}
	return append(make([]T, 0, len(list)), list...)
}

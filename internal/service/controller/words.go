package controller

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
)

const (
	// mostWords bounds how many words are known; then they are learned anew.
	mostWords = 4096
	// longestWord is how many bytes a word has at most that is worth to be known: sentences on one object alone are longer.
	longestWord = 256
)

// words knows the words that many objects have in common, namespaces, reasons and sentences, so that all hold the same ones: an
// object that is read has copies of its own.
type words struct {
	mu    sync.Mutex
	known map[string]string
}

// share puts the words that are known in the place of these.
func share[S ~string](w *words, all ...*S) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range all {
		if *one == "" || len(*one) > longestWord {
			continue
		}
		known, ok := w.known[string(*one)]
		if !ok {
			if w.known == nil || len(w.known) >= mostWords {
				w.known = map[string]string{}
			}
			known = string(*one)
			w.known[known] = known
		}
		*one = S(known)
	}
}

// shareMeta does so with what objects of a kind and a namespace have in common.
func (w *words) shareMeta(meta *metav1.ObjectMeta) {
	share(w, &meta.Namespace)
	meta.Finalizers = fitting(meta.Finalizers)
	for i := range meta.Finalizers {
		share(w, &meta.Finalizers[i])
	}
	meta.OwnerReferences = fitting(meta.OwnerReferences)
	for i := range meta.OwnerReferences {
		share(w, &meta.OwnerReferences[i].APIVersion, &meta.OwnerReferences[i].Kind)
	}
}

// shareObject does so with an object of a modelled kind.
func (w *words) shareObject(obj *v1alpha1.Object) {
	share(w, &obj.APIVersion, &obj.Kind, &obj.Status.ResourceStatus, &obj.Status.ResourceStatusReason)
	obj.Status.Conditions = fitting(obj.Status.Conditions)
	for i := range obj.Status.Conditions {
		condition := &obj.Status.Conditions[i]
		share(w, &condition.Type, &condition.Reason, &condition.Message)
		share(w, &condition.Status)
	}
	w.shareMeta(&obj.ObjectMeta)
}

// fitting returns the list without room for more, which one that was read has.
func fitting[T any](list []T) []T {
	if len(list) == cap(list) {
		return list
	}
	return append(make([]T, 0, len(list)), list...)
}

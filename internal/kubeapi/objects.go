package kubeapi

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
)

// Object is an object of a built-in kind.
type Object interface {
	runtime.Object
	metav1.Object
}

// Put creates an object, or replaces all of it, for fakes of cluster components in the server's own
// process. It returns an error for kinds that are not served.
func (s *Server) Put(object Object) error {
	k, content, err := convert(object)
	if err != nil {
		return err
	}
	_, err = s.store.update(
		k,
		types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()},
		func(old *unstructured.Unstructured) error {
			old.Object = content.Object
			return nil
		},
	)
	if apierrors.IsNotFound(err) {
		_, err = s.store.create(k, object.GetNamespace(), content)
	}
	return err
}

// Load stores an object of any served kind unchanged: with its UID, generation, times and status.
// It returns an error if an object of its name exists.
func (s *Server) Load(object *unstructured.Unstructured) error {
	gvk := object.GroupVersionKind()
	for _, k := range s.kinds.all() {
		if k.Kind == gvk.Kind && k.groupVersion() == gvk.GroupVersion() {
			return s.store.load(k, object.DeepCopy())
		}
	}
	return fmt.Errorf("%s is not served", gvk)
}

// Get fills object by its namespace and name. The error is NotFound when there is none.
func (s *Server) Get(object Object) error {
	k, _, err := convert(object)
	if err != nil {
		return err
	}
	found, err := s.store.get(k, types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()})
	if err != nil {
		return err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, object); err != nil {
		return fmt.Errorf("read %s %s: %w", k.Kind, object.GetName(), err)
	}
	return nil
}

// Delete removes an object, a pod at once; one that is not there is no error.
func (s *Server) Delete(object Object) error {
	k, _, err := convert(object)
	if err != nil {
		return err
	}
	_, err = s.store.delete(
		k,
		types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()},
		metav1.DeleteOptions{GracePeriodSeconds: new(int64)},
	)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func convert(object Object) (*kind, *unstructured.Unstructured, error) {
	known, _, err := scheme.Scheme.ObjectKinds(object)
	if err != nil {
		return nil, nil, fmt.Errorf("find the kind of %T: %w", object, err)
	}
	for _, k := range builtin {
		if k.Kind != known[0].Kind || k.groupVersion() != known[0].GroupVersion() {
			continue
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return nil, nil, fmt.Errorf("convert %s %s: %w", k.Kind, object.GetName(), err)
		}
		return k, &unstructured.Unstructured{Object: content}, nil
	}
	return nil, nil, fmt.Errorf("%s is not served", known[0])
}

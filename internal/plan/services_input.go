package plan

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	servicev1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/manifest"
	"github.com/aws-operator/aws-operator/internal/service/kinds"
	"github.com/aws-operator/aws-operator/internal/state"
)

// ReadServices returns the services of the manifests, with their status in the management cluster
// if the state is one. Without manifests, it returns all services of the management cluster; other
// states have none. The error is yamltree.Problems, with all problems of all manifests, if the API
// server would refuse them.
func ReadServices(ctx context.Context, set *manifest.Set, from *state.State) (Services, error) {
	all := len(set.Manifests) == 0
	if len(manifest.Objects[*servicev1alpha1.Object](set)) == 0 && (!all || from.Kubernetes() == nil) {
		return Services{}, new(kinds.Set).Admit(ctx, set.Manifests)
	}
	known, err := kinds.BuiltIn()
	if err != nil {
		return Services{}, err
	}
	m := management{api: from.Kubernetes(), namespace: from.Namespace()}
	if err := m.define(ctx, known); err != nil {
		return Services{}, err
	}
	for _, one := range set.Manifests {
		if template, ok := one.Object.(*servicev1alpha1.CloudFormationTemplate); ok {
			template.Namespace = cmp.Or(template.Namespace, m.namespace)
		}
	}
	if err := known.Admit(ctx, set.Manifests); err != nil {
		return Services{}, err
	}
	there, err := m.objects(ctx, known)
	if err != nil {
		return Services{}, err
	}
	if all {
		return Services{Objects: there, Kinds: known}, nil
	}
	of := Services{Kinds: known, manifests: map[string]*manifest.Manifest{}}
	planned := map[string]*servicev1alpha1.Object{}
	for i := range set.Manifests {
		object, ok := set.Manifests[i].Object.(*servicev1alpha1.Object)
		if !ok {
			continue
		}
		object.Namespace = cmp.Or(object.Namespace, m.namespace)
		next := object.DeepCopy()
		of.Objects = append(of.Objects, next)
		planned[keyOf(object)], of.manifests[keyOf(object)] = next, &set.Manifests[i]
	}
	for _, object := range there {
		if next := planned[keyOf(object)]; next != nil {
			next.Status, next.Output, next.DeletionTimestamp = object.Status, object.Output, object.DeletionTimestamp
			continue
		}
		of.Others = append(of.Others, object)
	}
	return of, nil
}

func keyOf(o *servicev1alpha1.Object) string { return o.Kind + "/" + o.Namespace + "/" + o.Name }

// management is a management cluster, or none.
type management struct {
	api       client.Reader
	namespace string
}

// define adds the kinds and templates of the management cluster.
func (m management) define(ctx context.Context, known *kinds.Set) error {
	definitions, err := list[servicev1alpha1.ModelDefinition](ctx, m, "ModelDefinition")
	if err != nil {
		return err
	}
	for _, definition := range definitions {
		if err := known.Define(definition); err != nil {
			return fmt.Errorf("ModelDefinition %s of the management cluster: %w", definition.Name, err)
		}
	}
	templates, err := list[servicev1alpha1.CloudFormationTemplate](ctx, m, "CloudFormationTemplate")
	if err != nil {
		return err
	}
	for _, template := range templates {
		if err := known.Define(template); err != nil {
			return err
		}
	}
	return nil
}

// objects returns all existing objects of services.
func (m management) objects(ctx context.Context, known *kinds.Set) ([]*servicev1alpha1.Object, error) {
	var all []*servicev1alpha1.Object
	for _, kind := range known.Models() {
		found, err := list[servicev1alpha1.Object](ctx, m, kind.Kind)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// list returns the objects of a kind; none without a management cluster, or if that does not serve
// the kind. The kinds have no Go types, so list reads unstructured objects.
func list[T any](ctx context.Context, m management, kind string) ([]*T, error) {
	if m.api == nil {
		return nil, nil
	}
	found := &unstructured.UnstructuredList{}
	found.SetGroupVersionKind(servicev1alpha1.GroupVersion.WithKind(kind + "List"))
	options := []client.ListOption{client.InNamespace(m.namespace)}
	if kind == "ModelDefinition" || kind == "CloudFormationTemplate" { // The former are cluster-scoped, and the latter are used across namespaces.
		options = nil
	}
	switch err := m.api.List(ctx, found, options...); {
	case meta.IsNoMatchError(err) || apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("cannot list objects of kind %s in the management cluster: %w", kind, err)
	}
	objects := make([]*T, len(found.Items))
	for i := range found.Items {
		text, err := found.Items[i].MarshalJSON()
		if err == nil {
			objects[i] = new(T)
			err = json.Unmarshal(text, objects[i])
		}
		if err != nil {
			return nil, fmt.Errorf("read %s %s: %w", kind, found.Items[i].GetName(), err)
		}
	}
	return objects, nil
}

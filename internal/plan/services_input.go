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
	"github.com/aws-operator/aws-operator/internal/admit"
	"github.com/aws-operator/aws-operator/internal/manifest"
	"github.com/aws-operator/aws-operator/internal/service/kinds"
	"github.com/aws-operator/aws-operator/internal/state"
)

// ReadServices returns the services of the manifests, with their status in the management cluster
// if the state is one. Without manifests, it returns all services of the management cluster; other
// states have none. It returns an error if the definition of a kind is invalid, or if the
// management cluster does not respond.
func ReadServices(ctx context.Context, set *manifest.Set, from *state.State) (Services, error) {
	all := len(set.Manifests) == 0
	wanted := manifest.Objects[*servicev1alpha1.Object](set)
	if len(wanted) == 0 && (!all || from.Kubernetes() == nil) {
		return Services{}, nil
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
		if err := known.Define(one.Object); err != nil {
			return Services{}, fmt.Errorf("%s: %w", one.File, err)
		}
	}
	there, err := m.objects(ctx, known)
	if err != nil {
		return Services{}, err
	}
	if all {
		return Services{Objects: there, Kinds: known}, nil
	}
	of := Services{Kinds: known}
	planned := map[string]*servicev1alpha1.Object{}
	admission := rules{known: known, of: map[string]*admit.Definition{}}
	for _, object := range wanted {
		if err := admission.check(ctx, object); err != nil {
			return Services{}, err
		}
		object.Namespace = cmp.Or(object.Namespace, m.namespace)
		next := object.DeepCopy()
		of.Objects = append(of.Objects, next)
		planned[keyOf(object)] = next
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

// rules are the rules of the kinds, each read for the first object of the kind.
type rules struct {
	known *kinds.Set
	of    map[string]*admit.Definition
}

// check returns an error for an object that the API server would reject.
func (r *rules) check(ctx context.Context, object *servicev1alpha1.Object) error {
	if r.of[object.Kind] == nil {
		kind, err := r.known.Model(object.Kind)
		if err != nil {
			return fmt.Errorf("%s %s: %w", object.Kind, object.Name, err)
		}
		if r.of[object.Kind], err = admit.Define(kind.CRD()); err != nil {
			return err
		}
	}
	return r.of[object.Kind].Check(ctx, object)
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

package plan

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	identityv1alpha1 "github.com/aws-operator/aws-operator/api/identity/v1alpha1"
	servicev1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/identity"
	"github.com/aws-operator/aws-operator/internal/manifest"
	"github.com/aws-operator/aws-operator/internal/service/kinds"
	"github.com/aws-operator/aws-operator/internal/service/model"
	servicerender "github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/internal/state"
)

// ReadServices returns the services of the manifests, with their status in the management cluster
// if the state is one, and those of the management cluster whose ModelDefinitions the manifests have.
// Without manifests, it returns all services of the management cluster; other states have none. The error is
// yamltree.Problems, with all problems of all manifests, if the API server would refuse them.
func ReadServices(ctx context.Context, set *manifest.Set, from *state.State) (Services, error) {
	all, changed := len(set.Manifests) == 0, map[string]*servicev1alpha1.ModelDefinition{}
	for _, definition := range manifest.Objects[*servicev1alpha1.ModelDefinition](set) {
		changed[definition.Spec.ObjectKind()] = definition
	}
	if len(manifest.Objects[*servicev1alpha1.Object](set)) == 0 && (!all && len(changed) == 0 || from.Kubernetes() == nil) {
		return Services{}, new(kinds.Set).Admit(ctx, set.Manifests)
	}
	m := management{api: from.Kubernetes(), namespace: from.Namespace()}
	known, err := m.kinds(ctx)
	if err != nil {
		return Services{}, err
	}
	before := known
	if len(changed) > 0 {
		if before, err = m.kinds(ctx); err != nil {
			return Services{}, err
		}
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
	of := Services{
		Kinds: known, manifests: map[string]*manifest.Manifest{}, held: m.held(set), api: m.api, before: before,
		was: map[string]*servicev1alpha1.Object{}, changed: changed,
	}
	for _, object := range there {
		of.was[keyOf(object)] = object
	}
	if all {
		of.Objects = there
	} else {
		of.choose(set, m.namespace, there)
	}
	return of, nil
}

// choose plans the objects of the manifests, and those that are there of the kinds that the manifests change.
func (s *Services) choose(set *manifest.Set, namespace string, there []*servicev1alpha1.Object) {
	planned := map[string]*servicev1alpha1.Object{}
	for i := range set.Manifests {
		object, ok := set.Manifests[i].Object.(*servicev1alpha1.Object)
		if !ok {
			continue
		}
		object.Namespace = cmp.Or(object.Namespace, namespace)
		next := object.DeepCopy()
		s.Objects = append(s.Objects, next)
		planned[keyOf(object)], s.manifests[keyOf(object)] = next, &set.Manifests[i]
	}
	for _, object := range there {
		if next := planned[keyOf(object)]; next != nil {
			next.Status, next.DeletionTimestamp = object.Status, object.DeletionTimestamp
			continue
		}
		if s.changed[object.Kind] != nil {
			s.Objects = append(s.Objects, object)
			continue
		}
		s.Others = append(s.Others, object)
	}
}

func keyOf(o *servicev1alpha1.Object) string { return o.Kind + "/" + o.Namespace + "/" + o.Name }

// management is a management cluster, or none.
type management struct {
	api       client.Reader
	namespace string
}

// held returns the ConfigMaps and Secrets in manifests.
func (m management) held(set *manifest.Set) map[string]*values {
	found := map[string]*values{}
	for _, object := range manifest.Objects[*unstructured.Unstructured](set) {
		if kind := object.GetKind(); object.GetAPIVersion() == "v1" && (kind == "ConfigMap" || kind == "Secret") {
			object = object.DeepCopy()
			object.SetNamespace(cmp.Or(object.GetNamespace(), m.namespace))
			found[heldKey(kind, object.GetNamespace(), object.GetName())] = valuesOf(object)
		}
	}
	return found
}

func heldKey(kind, namespace, name string) string { return kind + "/" + namespace + "/" + name }

// valuesOf reads the values of a ConfigMap or a Secret. It omits what has no right form, as if it did not
// exist.
func valuesOf(object *unstructured.Unstructured) *values {
	found := &values{values: map[string]string{}, of: object}
	given, _, _ := unstructured.NestedMap(object.Object, "data")
	for key, value := range given {
		text, ok := value.(string)
		if object.GetKind() == "Secret" {
			decoded, err := base64.StdEncoding.DecodeString(text)
			text, ok = string(decoded), ok && err == nil
		}
		if ok {
			found.values[key] = text
		}
	}
	if object.GetKind() == "Secret" {
		plain, _, _ := unstructured.NestedStringMap(object.Object, "stringData")
		maps.Copy(found.values, plain)
	}
	return found
}

// data returns the values of a ConfigMap or a Secret, nil if none can be read.
func (s *Services) data(ctx context.Context, from servicerender.Source) (*values, error) {
	if held := s.held[heldKey(from.Kind, from.Namespace, from.Name)]; held != nil {
		return held, nil
	}
	object, err := s.read(ctx, from.NamespacedName, corev1.SchemeGroupVersion.WithKind(from.Kind))
	if err != nil || object == nil {
		return nil, err
	}
	return valuesOf(object), nil
}

// tags returns the tags of an object's stack: those of its annotation, and, with a management cluster, of
// its namespace and its AWSIdentity, as far as the user may read these.
func (s *Services) tags(ctx context.Context, object *servicev1alpha1.Object) (map[string]string, error) {
	wish := identity.WishOf(object)
	namespace, err := s.read(ctx, client.ObjectKey{Name: object.Namespace}, corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err != nil {
		return nil, err
	}
	if namespace == nil {
		return identity.Tags(nil, nil, wish.Tags) //nolint:wrapcheck // a sentence for the user
	}
	var used *unstructured.Unstructured
	if name := identity.NameFor(namespace, wish); name != "" {
		if used, err = s.read(ctx, client.ObjectKey{Name: name}, identityv1alpha1.GroupVersion.WithKind("AWSIdentity")); err != nil {
			return nil, err
		}
	}
	var theirs map[string]string
	if used != nil {
		theirs, _, _ = unstructured.NestedStringMap(used.Object, "spec", "tags")
	}
	return identity.Tags(theirs, namespace, wish.Tags) //nolint:wrapcheck // a sentence for the user
}

// read reads an object of the management cluster. It returns nil if there is no such cluster or object, or
// if the user may not read it.
func (s *Services) read(
	ctx context.Context, key client.ObjectKey, kind runtimeschema.GroupVersionKind,
) (*unstructured.Unstructured, error) {
	if s.api == nil {
		return nil, nil //nolint:nilnil // as documented
	}
	id := kind.String() + " " + key.String()
	if found, known := s.seen[id]; known {
		return found, nil
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	switch err := s.api.Get(ctx, key, object); {
	case apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || meta.IsNoMatchError(err):
		object = nil
	case err != nil:
		return nil, fmt.Errorf("read %s %s of the management cluster: %w", kind.Kind, key.Name, err)
	}
	if s.seen == nil {
		s.seen = map[string]*unstructured.Unstructured{}
	}
	s.seen[id] = object
	return object, nil
}

// modelOf returns the model of an object: that of its kind in a set, or of the revision that its annotation names,
// nil if the revision cannot be read.
func (s *Services) modelOf(ctx context.Context, set *kinds.Set, object *servicev1alpha1.Object) (*model.Model, error) {
	name := object.Annotations[servicev1alpha1.RevisionAnnotation]
	if name == "" {
		return set.Model(object.Kind) //nolint:wrapcheck // a sentence for the user
	}
	if found, known := s.revisions[name]; known {
		return found, nil
	}
	found, err := s.readRevision(ctx, name, object.Kind)
	if err != nil {
		return nil, err
	}
	if s.revisions == nil {
		s.revisions = map[string]*model.Model{}
	}
	s.revisions[name] = found
	return found, nil
}

// readRevision returns the model of a revision of the management cluster; nil if there is none of the kind with
// the content that its name says.
func (s *Services) readRevision(ctx context.Context, name, kind string) (*model.Model, error) {
	there, err := s.read(ctx, client.ObjectKey{Name: name}, servicev1alpha1.GroupVersion.WithKind("ModelRevision"))
	if err != nil || there == nil {
		return nil, err
	}
	text, err := there.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("read ModelRevision %s: %w", name, err)
	}
	revision := &servicev1alpha1.ModelRevision{}
	if err := json.Unmarshal(text, revision); err != nil {
		return nil, fmt.Errorf("read ModelRevision %s: %w", name, err)
	}
	found, err := model.CompileRevision(revision, schema.Default())
	if err != nil || found.Kind != kind {
		return nil, nil //nolint:nilerr,nilnil // as documented
	}
	return found, nil
}

// kinds returns the built-in kinds, and the kinds and templates of the management cluster.
func (m management) kinds(ctx context.Context) (*kinds.Set, error) {
	known, err := kinds.BuiltIn()
	if err != nil {
		return nil, err
	}
	return known, m.define(ctx, known)
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

package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/service/render"
)

// content is the content of a ConfigMap, Secret or Service.
type content struct {
	kind string
	// empty returns an empty object, fill sets its content, and digest is the content's digest.
	empty  func() client.Object
	fill   func(client.Object)
	digest string
	// field is the entry of spec.writeTo whose name must be used; empty if another name may be.
	field string
}

func configMapContent(values map[string]string) content {
	return content{
		kind: "ConfigMap", digest: dataDigest(values, 0),
		empty: func() client.Object { return &corev1.ConfigMap{} },
		fill: func(obj client.Object) {
			if c, ok := obj.(*corev1.ConfigMap); ok {
				c.Data, c.BinaryData = values, nil
			}
		},
	}
}

func secretContent(values map[string]string) content {
	data := make(map[string][]byte, len(values))
	for key, value := range values {
		data[key] = []byte(value)
	}
	return content{
		kind: "Secret", digest: secretDigest(data),
		empty: func() client.Object { return &corev1.Secret{} },
		fill: func(obj client.Object) {
			if s, ok := obj.(*corev1.Secret); ok {
				s.Data, s.StringData = data, nil
			}
		},
	}
}

func serviceContent(want render.Service) content {
	spec := corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: want.ExternalName}
	if want.Port != 0 {
		spec.Ports = []corev1.ServicePort{{Port: want.Port, Protocol: corev1.ProtocolTCP}}
	}
	return content{
		kind: "Service", digest: serviceDigest(&corev1.Service{Spec: spec}),
		empty: func() client.Object { return &corev1.Service{} },
		fill: func(obj client.Object) {
			if s, ok := obj.(*corev1.Service); ok {
				s.Spec.Type, s.Spec.ExternalName, s.Spec.Ports = spec.Type, spec.ExternalName, spec.Ports
			}
		},
	}
}

// ensureAdditional creates or updates one ConfigMap, Secret or Service and returns its name: the
// wanted one, or the wanted one with a hash if the wanted name belongs to another owner and the user
// did not choose it.
func (k *kind) ensureAdditional(ctx context.Context, obj *v1alpha1.Object, name string, want content, list *madeList) (string, error) {
	taken := func(item madeItem) bool { return item.kind == want.kind && (item.wanted == name || item.name == name) }
	if slices.ContainsFunc(list.items, taken) {
		if want.field != "" {
			return "", &takenError{kind: want.kind, name: name, field: want.field, own: true}
		}
		return "", &invalidError{fmt.Errorf("two objects of kind %s would have the name %s; rename one of them", want.kind, name)}
	}
	got, err := k.placeAdditional(ctx, obj, name, want)
	if err == nil {
		list.items = append(list.items, madeItem{kind: want.kind, wanted: name, name: got, digest: want.digest, empty: want.empty})
	}
	return got, err
}

func (k *kind) placeAdditional(ctx context.Context, obj *v1alpha1.Object, name string, want content) (string, error) {
	second := render.WithHash(name, maxNameOf(want), k.name, obj.Namespace, obj.Name)
	candidates := []string{name, second}
	if want.field != "" {
		candidates = candidates[:1]
	}
	for _, candidate := range slices.Backward(candidates) {
		cached := want.empty()
		err := k.service.additional.Get(ctx, client.ObjectKey{Namespace: obj.Namespace, Name: candidate}, cached)
		if err == nil && metav1.IsControlledBy(cached, obj) {
			if cached.GetAnnotations()[contentDigest] == want.digest {
				return candidate, nil
			}
			_, err = k.takeOrCreate(ctx, obj, candidate, want)
			return candidate, err
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return "", fmt.Errorf("read %s %s: %w", want.kind, candidate, err)
		}
	}
	for _, candidate := range candidates {
		ours, err := k.takeOrCreate(ctx, obj, candidate, want)
		if err != nil || ours {
			return candidate, err
		}
	}
	return "", &takenError{kind: want.kind, name: name, other: second, field: want.field}
}

// maxNameOf returns the maximum length of such an object's name.
func maxNameOf(c content) int {
	if c.kind == "Service" {
		return 63
	}
	return 253
}

// takeOrCreate creates the object, or updates an existing one that belongs to this owner, and
// reports whether it belongs to it. It does not touch the objects of other owners.
func (k *kind) takeOrCreate(ctx context.Context, obj *v1alpha1.Object, name string, want content) (bool, error) {
	direct := k.service.direct
	fresh := want.empty()
	fresh.SetName(name)
	fresh.SetNamespace(obj.Namespace)
	k.mark(obj, fresh)
	want.fill(fresh)
	err := direct.Create(ctx, fresh, client.FieldOwner(fieldOwner))
	if err == nil || !apierrors.IsAlreadyExists(err) {
		return err == nil, explainCreate(want.kind, name, err)
	}
	existing := want.empty()
	if err := direct.Get(ctx, client.ObjectKey{Namespace: obj.Namespace, Name: name}, existing); err != nil {
		return false, fmt.Errorf("read %s %s: %w", want.kind, name, err)
	}
	if !metav1.IsControlledBy(existing, obj) {
		return false, nil
	}
	held, ok := existing.DeepCopyObject().(client.Object)
	labelled := existing.GetLabels()[v1alpha1.KindLabel] == k.name // without the label the object is not watched
	if _, err := digestOnly(held); ok && err == nil && contentOf(held) == want.digest && labelled {
		return true, nil // the cache is outdated
	}
	k.mark(obj, existing)
	want.fill(existing)
	if err := direct.Update(ctx, existing, client.FieldOwner(fieldOwner)); err != nil {
		return false, fmt.Errorf("update %s %s: %w", want.kind, name, err)
	}
	return true, nil
}

func explainCreate(kind, name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("create %s %s: %w", kind, name, err)
}

// mark sets the labels and the owner reference of what is made for an object.
func (k *kind) mark(obj *v1alpha1.Object, made client.Object) {
	labels := made.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[v1alpha1.KindLabel] = k.name
	labels[v1alpha1.NameLabel] = labelValue(obj.Name)
	made.SetLabels(labels)
	made.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(obj, k.manager.gvk)})
}

// labelValue truncates a name to the length of a label value.
func labelValue(name string) string {
	const most = 63
	if len(name) > most {
		name = name[:most]
	}
	return strings.TrimRight(name, "-.")
}

// removeOwned deletes an object by name if the owner controls it.
func (s *service) removeOwned(ctx context.Context, owner *v1alpha1.Object, name string, made client.Object) error {
	err := s.direct.Get(ctx, client.ObjectKey{Namespace: owner.Namespace, Name: name}, made)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %T %s: %w", made, name, err)
	}
	if !metav1.IsControlledBy(made, owner) {
		return nil
	}
	uid := made.GetUID()
	err = s.direct.Delete(ctx, made, client.Preconditions{UID: &uid})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete %T %s: %w", made, name, err)
	}
	return nil
}

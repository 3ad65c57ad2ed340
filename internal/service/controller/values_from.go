package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/service/model"
	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// kindConfigMap and kindSecret are the kinds of objects with values that are no kinds of this API group.
const (
	kindConfigMap = "ConfigMap"
	kindSecret    = "Secret"
)

// sourceCacheOptions select the ConfigMaps and Secrets from which objects may take values.
func sourceCacheOptions(namespaces []string) cache.Options {
	by := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{v1alpha1.ValuesLabel: v1alpha1.ValuesAllowed}), Transform: slim}
	return cache.Options{
		ByObject:          map[client.Object]cache.ByObject{&corev1.ConfigMap{}: by, &corev1.Secret{}: by},
		DefaultNamespaces: inNamespaces(namespaces),
	}
}

// watchSources enqueues the objects that take a value from a ConfigMap or a Secret when it appears,
// changes, or disappears.
func (s *service) watchSources(ctx context.Context) error {
	for kindName, obj := range map[string]client.Object{kindConfigMap: &corev1.ConfigMap{}, kindSecret: &corev1.Secret{}} {
		informer, err := s.sources.GetInformer(ctx, obj, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watch the %ss with values: %w", kindName, err)
		}
		enqueue := func(obj any) {
			if unknown, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
				obj = unknown.Obj
			}
			if source, ok := obj.(client.Object); ok {
				s.enqueue(s.directory.dependents(objectKey{Kind: kindName, NamespacedName: client.ObjectKeyFromObject(source)})...)
			}
		}
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: enqueue, UpdateFunc: func(_, obj any) { enqueue(obj) }, DeleteFunc: enqueue,
		}); err != nil {
			return fmt.Errorf("watch the %ss with values: %w", kindName, err)
		}
	}
	return nil
}

// withValues returns an object with the values that spec.valuesFrom names in its spec, and those among
// them that are secret. Missing, if not nil, describes a value that does not exist yet.
func (k *kind) withValues(ctx context.Context, obj *v1alpha1.Object) (*v1alpha1.Object, []render.Secret, *missing, error) {
	sources, err := render.Sources(k.modelOf(obj), obj)
	if err != nil || len(sources) == 0 {
		return obj, nil, nil, err //nolint:wrapcheck // of the same module, and a sentence for the user
	}
	values := make([]render.Value, len(sources))
	for i := range sources {
		var lack *missing
		if values[i], lack, err = k.service.value(ctx, obj.Namespace, &sources[i]); err != nil || lack != nil {
			return obj, nil, lack, err
		}
	}
	changed, secrets, err := render.WithValues(k.modelOf(obj), obj, values)
	return changed, secrets, nil, err //nolint:wrapcheck // of the same module, and a sentence for the user
}

// value reads a value for an object of a namespace.
func (s *service) value(ctx context.Context, namespace string, from *render.Source) (render.Value, *missing, error) {
	value := render.Value{Source: *from}
	if !s.watches(from.Namespace) {
		return value, s.noSource(namespace, from), nil
	}
	var held client.Object
	var err error
	var found bool
	switch from.Kind {
	case kindConfigMap:
		configMap := &corev1.ConfigMap{}
		err = s.sources.Get(ctx, from.NamespacedName, configMap)
		held = configMap
		value.Text, found = configMap.Data[from.Key]
	case kindSecret:
		secret := &corev1.Secret{}
		err = s.sources.Get(ctx, from.NamespacedName, secret)
		held = secret
		var data []byte
		data, found = secret.Data[from.Key]
		value.Text, value.UID = string(data), secret.UID
	default:
		return s.output(ctx, namespace, from)
	}
	switch {
	case apierrors.IsNotFound(err) || err == nil && !model.SharesWith(held, namespace):
		return value, s.noSource(namespace, from), nil
	case err != nil:
		return value, nil, fmt.Errorf("read %s %s: %w", from.Kind, from.NamespacedName, err)
	case !found:
		return value, notFound(from), nil
	}
	return value, nil, nil
}

// output reads an output of another object. It reveals nothing of one in another namespace whose
// owner has not consented.
func (s *service) output(ctx context.Context, namespace string, from *render.Source) (render.Value, *missing, error) {
	value := render.Value{Source: *from}
	if other := s.served(from.Kind); other != nil && from.Namespace != namespace {
		there := &v1alpha1.Object{}
		err := other.manager.cache.Get(ctx, from.NamespacedName, there)
		if apierrors.IsNotFound(err) || err == nil && !model.SharesWith(there, namespace) {
			return value, s.noSource(namespace, from), nil
		}
		if err != nil {
			return value, nil, fmt.Errorf("read %s %s: %w", from.Kind, from.NamespacedName, err)
		}
	}
	target, lack, err := s.find(ctx, from.Kind, from.NamespacedName)
	if lack != nil {
		lack.message = from.From + ": " + strings.ToLower(lack.message[:1]) + lack.message[1:]
	}
	if err != nil || lack != nil {
		return value, lack, err
	}
	output, found := target.Status.Output[from.Key]
	if !found {
		return value, notFound(from), nil
	}
	value.Text = output.Text
	return value, nil, nil
}

// notFound says that a source has no such key or output.
func notFound(from *render.Source) *missing {
	return &missing{"ValueNotFound", fmt.Sprintf("%s: %s %s of namespace %s has no %s; correct the name, or add it.",
		from.From, from.Kind, from.Name, from.Namespace, keyOf(from)), 0}
}

// keyOf names the key or the output in messages.
func keyOf(from *render.Source) string {
	if from.OfData() {
		return "key " + from.Key
	}
	return "output " + from.Key
}

// watches reports whether the operator watches a namespace.
func (s *service) watches(namespace string) bool {
	return len(s.options.WatchNamespaces) == 0 || slices.Contains(s.options.WatchNamespaces, namespace)
}

// noSource says that a source does not exist, or that it is not shared: who may not read another
// namespace must not learn which.
func (s *service) noSource(namespace string, from *render.Source) *missing {
	label := fmt.Sprintf("the label %s=%s", v1alpha1.ValuesLabel, v1alpha1.ValuesAllowed)
	share := fmt.Sprintf("the annotation %s with %s in it", v1alpha1.ShareWithAnnotation, namespace)
	switch {
	case !s.watches(from.Namespace):
		return &missing{"SourceNotFound", fmt.Sprintf("%s: the operator does not watch namespace %s; name an object of another one.",
			from.From, from.Namespace), 0}
	case from.OfData() && from.Namespace == namespace:
		share = label
	case from.OfData():
		share = label + " and " + share
	}
	return &missing{"SourceNotFound", fmt.Sprintf("%s: there is no %s %s in namespace %s with %s; create it, or add what is missing.",
		from.From, from.Kind, from.Name, from.Namespace, share), 0}
}

// invalidValues is the outcome for an object whose values cannot be used, if err says so.
func invalidValues(err error) (operatorkit.Outcome, bool) {
	if problems, ok := errors.AsType[template.Problems](err); ok {
		return operatorkit.Stall("InvalidValue", sentence("A value of spec.valuesFrom cannot be used", problems)), true
	}
	return refused(err)
}

// Package objects reads and watches all objects of the operator in a management cluster, whatever their
// kinds, with the permissions of the user's kubeconfig or of another user.
package objects

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"

	clusterv1alpha1 "github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	identityv1alpha1 "github.com/aws-operator/aws-operator/api/identity/v1alpha1"
	servicev1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/state"
)

const (
	// pageSize is how many objects a request lists.
	pageSize = 500
	// calm is how long changes are collected before they are shown.
	calm = 200 * time.Millisecond
	// newKinds is how often a watch looks for kinds that ModelDefinitions added.
	newKinds = 10 * time.Second
	// hiddenRounds is how many of these intervals pass until a watch asks again for kinds that the user may not list:
	// the request of each of some hundred kinds would load the API server.
	hiddenRounds = 6
)

// groups are the API groups of the objects.
var groups = []schema.GroupVersion{clusterv1alpha1.GroupVersion, servicev1alpha1.GroupVersion, identityv1alpha1.GroupVersion}

// Source is the objects of the operator in a management cluster.
type Source struct {
	discovery discovery.DiscoveryInterface
	objects   dynamic.Interface
	// namespace limits the objects; empty means all namespaces.
	namespace string
}

// Connect connects to the cluster of the current kubeconfig. An empty namespace is that of its context.
func Connect(namespace string, everywhere bool) (*Source, error) {
	config, current, err := state.Kubeconfig()
	if err != nil {
		return nil, err
	}
	namespace = cmp.Or(namespace, current)
	if everywhere {
		namespace = ""
	}
	s, err := New(config, namespace)
	if err != nil {
		return nil, fmt.Errorf("use the kubeconfig: %w", err)
	}
	return s, nil
}

// New returns the objects of a namespace, or of all if it is empty, with the permissions of a configuration.
func New(config *rest.Config, namespace string) (*Source, error) {
	kinds, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for the kinds: %w", err)
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for the objects: %w", err)
	}
	return &Source{discovery: kinds, objects: objects, namespace: namespace}, nil
}

// User returns the name of the user whose permissions the source has, as the API server knows it. The error is
// Unauthorized if the API server does not accept the user's credentials. Every authenticated user may ask:
// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#self-subject-review
func (s *Source) User(ctx context.Context) (string, error) {
	review := &unstructured.Unstructured{}
	review.SetGroupVersionKind(authenticationv1.SchemeGroupVersion.WithKind("SelfSubjectReview"))
	review, err := s.objects.Resource(authenticationv1.SchemeGroupVersion.WithResource("selfsubjectreviews")).
		Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("ask the management cluster for the user: %w", err)
	}
	name, _, err := unstructured.NestedString(review.Object, "status", "userInfo", "username")
	if err != nil {
		return "", fmt.Errorf("read the name of the user: %w", err)
	}
	return name, nil
}

// Everywhere reports whether the objects are those of all namespaces.
func (s *Source) Everywhere() bool { return s.namespace == "" }

// String names where the objects are.
func (s *Source) String() string {
	if s.namespace == "" {
		return "any namespace of the management cluster"
	}
	return "namespace " + s.namespace + " of the management cluster"
}

// kind is a kind of objects with a status.
type kind struct {
	schema.GroupVersionResource

	namespace string // of its objects, if they are in one
}

// kinds returns the kinds of the operator whose objects have a status, clusters first.
func (s *Source) kinds() ([]kind, error) {
	var found []kind
	for _, group := range groups {
		list, err := s.discovery.ServerResourcesForGroupVersion(group.String())
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("ask the management cluster for its kinds: %w", err)
		}
		slices.SortFunc(list.APIResources, func(a, b metav1.APIResource) int { return cmp.Compare(a.Kind, b.Kind) })
		for i := range list.APIResources {
			resource := &list.APIResources[i]
			if !slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == resource.Name+"/status" }) {
				continue
			}
			k := kind{GroupVersionResource: group.WithResource(resource.Name)}
			if resource.Namespaced {
				k.namespace = s.namespace
			}
			found = append(found, k)
		}
	}
	if len(found) == 0 {
		return nil, errNoKinds
	}
	return found, nil
}

var errNoKinds = errors.New(
	"the cluster of the kubeconfig has no kinds of the operator: install the operator there, or select another context",
)

func (s *Source) in(k kind) dynamic.ResourceInterface {
	if k.namespace == "" {
		return s.objects.Resource(k.GroupVersionResource)
	}
	return s.objects.Resource(k.GroupVersionResource).Namespace(k.namespace)
}

// Of returns the API of a kind of the operator, in a namespace if it has one.
func (s *Source) Of(apiVersion, kind, namespace string) (dynamic.ResourceInterface, error) {
	resource, namespaced, err := Find(s.discovery, kind, func(group schema.GroupVersion, r *metav1.APIResource) bool {
		return group.String() == apiVersion && r.Kind == kind
	})
	if err != nil {
		return nil, err
	}
	if namespaced {
		return s.objects.Resource(resource).Namespace(namespace), nil
	}
	return s.objects.Resource(resource), nil
}

var errNoKind = errors.New("the cluster of the kubeconfig has no such kind of the operator")

// Find returns the first kind of the operator that matches. Its error names the kind as the user calls it.
func Find(
	kinds discovery.DiscoveryInterface, called string, matches func(schema.GroupVersion, *metav1.APIResource) bool,
) (resource schema.GroupVersionResource, namespaced bool, err error) {
	for _, group := range groups {
		list, err := kinds.ServerResourcesForGroupVersion(group.String())
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return resource, false, fmt.Errorf("ask the management cluster for its kinds: %w", err)
		}
		for i := range list.APIResources {
			if r := &list.APIResources[i]; !strings.Contains(r.Name, "/") && matches(group, r) {
				return group.WithResource(r.Name), r.Namespaced, nil
			}
		}
	}
	return resource, false, fmt.Errorf("%w: %s", errNoKind, called)
}

// maxEvents limits the Events of one object.
const maxEvents = 200

// Events returns the Events about an object, newest first. Those of an object without a namespace are in
// the namespace default.
func (s *Source) Events(ctx context.Context, object *unstructured.Unstructured) ([]corev1.Event, error) {
	list, err := s.objects.Resource(corev1.SchemeGroupVersion.WithResource("events")).
		Namespace(cmp.Or(object.GetNamespace(), metav1.NamespaceDefault)).
		List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.uid=" + string(object.GetUID()), Limit: maxEvents})
	if err != nil {
		return nil, fmt.Errorf("list the Events: %w", err)
	}
	events := make([]corev1.Event, len(list.Items))
	for i := range list.Items {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, &events[i]); err != nil {
			return nil, fmt.Errorf("read an Event: %w", err)
		}
	}
	slices.SortStableFunc(events, func(a, b corev1.Event) int { return LastSeen(&b).Compare(LastSeen(&a)) })
	return events, nil
}

// LastSeen returns the time of the last occurrence of an Event. Which field has it depends on the client
// that wrote the Event.
func LastSeen(event *corev1.Event) time.Time {
	switch {
	case event.Series != nil:
		return event.Series.LastObservedTime.Time
	case !event.LastTimestamp.IsZero():
		return event.LastTimestamp.Time
	case !event.EventTime.IsZero():
		return event.EventTime.Time
	default:
		return event.CreationTimestamp.Time
	}
}

// List reads the objects of all kinds. Hidden are the kinds that the user may not list.
func (s *Source) List(ctx context.Context) (all []unstructured.Unstructured, hidden []string, err error) {
	kinds, err := s.kinds()
	if err != nil {
		return nil, nil, err
	}
	for _, k := range kinds {
		options := metav1.ListOptions{Limit: pageSize}
		for {
			page, err := s.in(k).List(ctx, options)
			if apierrors.IsForbidden(err) {
				hidden = append(hidden, k.Resource)
				break
			}
			if apierrors.IsNotFound(err) { // The kind was just deleted.
				break
			}
			if err != nil {
				return nil, nil, fmt.Errorf("list the %s: %w", k.Resource, err)
			}
			all = append(all, page.Items...)
			if options.Continue = page.GetContinue(); options.Continue == "" {
				break
			}
		}
	}
	order(all)
	return all, hidden, nil
}

// order sorts objects by group, kind, namespace and name. Clusters come first, and identities last.
func order(objects []unstructured.Unstructured) {
	slices.SortStableFunc(objects, func(a, b unstructured.Unstructured) int {
		return cmp.Or(
			cmp.Compare(rank(a), rank(b)), cmp.Compare(a.GetKind(), b.GetKind()),
			cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()),
		)
	})
}

func rank(object unstructured.Unstructured) int {
	return slices.Index(groups, object.GroupVersionKind().GroupVersion())
}

// Watch calls show with the objects of all kinds, now and after every change, until the context
// ends, and with the kinds that the user may not list. Kinds that are added meanwhile are included, and objects that
// the user may no longer list are not. The error is Unauthorized soon after the user's credentials expired.
// The objects must not be changed.
func (s *Source) Watch(ctx context.Context, show func(all []unstructured.Unstructured, hidden []string)) error {
	w := &watch{Source: s, informers: map[kind]informer{}, changed: make(chan struct{}, 1)}
	defer w.running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ticker := time.NewTicker(newKinds)
	defer ticker.Stop()
	for {
		if err := w.add(ctx); err != nil {
			return err
		}
	showing:
		for ctx.Err() == nil {
			show(w.read())
			select {
			case <-ctx.Done():
			case <-ticker.C:
				break showing
			case <-w.changed:
				select { // Several changes become one update.
				case <-ctx.Done():
				case <-time.After(calm):
				}
			}
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// watch holds an informer for each kind.
type watch struct {
	*Source

	informers map[kind]informer
	hidden    []kind
	rounds    int // how often kinds were added
	changed   chan struct{}
	running   sync.WaitGroup
}

// informer holds the objects of a kind. It is lost when the user may no longer list them.
type informer struct {
	cache.SharedIndexInformer

	lost *atomic.Bool
}

// add starts to watch the kinds that are not watched yet, and waits until their objects are known.
func (w *watch) add(ctx context.Context) error {
	kinds, err := w.kinds()
	if err != nil {
		return err
	}
	w.hidden = slices.DeleteFunc(w.hidden, func(h kind) bool { return !slices.Contains(kinds, h) })
	again := w.rounds%hiddenRounds == 0
	w.rounds++
	for _, k := range kinds {
		wasHidden := slices.Contains(w.hidden, k)
		if _, watched := w.informers[k]; watched || wasHidden && !again {
			continue
		}
		w.hidden = slices.DeleteFunc(w.hidden, func(h kind) bool { return h == k })
		// An informer would retry forever, and its cache would never be complete.
		switch _, err := w.in(k).List(ctx, metav1.ListOptions{Limit: 1}); {
		case apierrors.IsForbidden(err):
			w.hidden = append(w.hidden, k)
		case apierrors.IsNotFound(err):
		case err != nil:
			return fmt.Errorf("list the %s: %w", k.Resource, err)
		default:
			if err := w.start(ctx, k); err != nil {
				return fmt.Errorf("watch the %s: %w", k.Resource, err)
			}
		}
	}
	return nil
}

// start starts the informer of a kind, and waits until its objects are known.
func (w *watch) start(ctx context.Context, k kind) error {
	notify := func() {
		select {
		case w.changed <- struct{}{}:
		default:
		}
	}
	ctx, end := context.WithCancel(ctx)
	started := informer{lost: &atomic.Bool{}, SharedIndexInformer: dynamicinformer.NewFilteredDynamicInformer(
		w.objects, k.GroupVersionResource, k.namespace, 0, cache.Indexers{}, nil,
	).Informer()}
	_, handled := started.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { notify() }, UpdateFunc: func(any, any) { notify() }, DeleteFunc: func(any) { notify() },
	})
	if err := errors.Join(
		handled, started.SetTransform(ctrlcache.TransformStripManagedFields()),
		started.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
			if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
				started.lost.Store(true)
				end()
				notify()
				return
			}
			cache.DefaultWatchErrorHandler(ctx, r, err)
		}),
	); err != nil {
		end()
		return err
	}
	w.running.Go(func() { started.RunWithContext(ctx) })
	cache.WaitForCacheSync(ctx.Done(), started.HasSynced)
	w.informers[k] = started
	return nil
}

// read returns the objects that the informers have read, and the kinds that the user may not list.
func (w *watch) read() (all []unstructured.Unstructured, hidden []string) {
	for k, informer := range w.informers {
		if informer.lost.Load() {
			delete(w.informers, k)
			w.hidden = append(w.hidden, k)
			continue
		}
		for _, object := range informer.GetStore().List() {
			if u, ok := object.(*unstructured.Unstructured); ok {
				all = append(all, *u)
			}
		}
	}
	order(all)
	for _, k := range w.hidden {
		hidden = append(hidden, k.Resource)
	}
	slices.Sort(hidden)
	return all, hidden
}

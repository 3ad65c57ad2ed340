package controller

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/service/model"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// kindManager is the manager for the controller of one kind, with that kind's scheme, cache and
// client.
type kindManager struct {
	manager.Manager

	gvk    schema.GroupVersionKind
	scheme *runtime.Scheme
	mapper meta.RESTMapper
	cache  cache.Cache
	client client.Client
	live   client.Reader
}

// newKindManager creates a kind's scheme, cache and client. The cache is not started.
func newKindManager(mgr manager.Manager, m *model.Model, namespaces []string, shard operatorkit.Shard) (*kindManager, error) {
	k := &kindManager{Manager: mgr, gvk: v1alpha1.GroupVersion.WithKind(m.Kind), scheme: runtime.NewScheme()}
	if err := v1alpha1.AddObjectToScheme(k.scheme, m.Kind); err != nil {
		return nil, fmt.Errorf("create the scheme of %s: %w", m.Kind, err)
	}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{v1alpha1.GroupVersion})
	// The list kind has no resource of its own, but caches of several namespaces look it up.
	list := v1alpha1.GroupVersion.WithKind(m.Kind + "List")
	mapper.AddSpecific(
		list, v1alpha1.GroupVersion.WithResource(m.Plural), v1alpha1.GroupVersion.WithResource(m.Kind), meta.RESTScopeNamespace,
	)
	mapper.AddSpecific(
		k.gvk, v1alpha1.GroupVersion.WithResource(m.Plural), v1alpha1.GroupVersion.WithResource(m.Kind), meta.RESTScopeNamespace,
	)
	k.mapper = mapper

	var err error
	k.cache, err = cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: k.scheme, Mapper: k.mapper,
		DefaultTransform: slimFor(shard), DefaultNamespaces: inNamespaces(namespaces),
	})
	if err != nil {
		return nil, fmt.Errorf("create the cache of %s: %w", m.Kind, err)
	}
	k.client, err = client.New(mgr.GetConfig(), client.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: k.scheme, Mapper: k.mapper, Cache: &client.CacheOptions{Reader: k.cache},
	})
	if err != nil {
		return nil, fmt.Errorf("create the client of %s: %w", m.Kind, err)
	}
	k.live, err = client.New(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: k.scheme, Mapper: k.mapper})
	if err != nil {
		return nil, fmt.Errorf("create the client of %s: %w", m.Kind, err)
	}
	return k, nil
}

// GetScheme returns the kind's scheme.
func (k *kindManager) GetScheme() *runtime.Scheme { return k.scheme }

// GetCache returns the kind's cache.
func (k *kindManager) GetCache() cache.Cache { return k.cache }

// GetClient returns the kind's client.
func (k *kindManager) GetClient() client.Client { return k.client }

// GetAPIReader returns a client of the kind without the cache.
func (k *kindManager) GetAPIReader() client.Reader { return k.live }

// GetRESTMapper returns the kind's mapper.
func (k *kindManager) GetRESTMapper() meta.RESTMapper { return k.mapper }

// GetEventRecorder returns a recorder that sets an object's kind, which is empty in objects read
// from the API server.
func (k *kindManager) GetEventRecorder(name string) events.EventRecorder {
	return kindRecorder{EventRecorder: k.Manager.GetEventRecorder(name), gvk: k.gvk}
}

type kindRecorder struct {
	events.EventRecorder

	gvk schema.GroupVersionKind
}

// Eventf records an Event about an object of the kind.
func (r kindRecorder) Eventf(regarding, related runtime.Object, eventtype, reason, action, note string, args ...any) {
	if obj, ok := regarding.(*v1alpha1.Object); ok && obj.Kind == "" {
		named := *obj
		named.SetGroupVersionKind(r.gvk)
		regarding = &named
	}
	r.EventRecorder.Eventf(regarding, related, eventtype, reason, action, note, args...)
}

// start runs the kind's cache until the context ends, and waits until the cache has synced.
func (k *kindManager) start(ctx context.Context, failed func(error)) error {
	go func() {
		if err := k.cache.Start(ctx); err != nil && ctx.Err() == nil {
			failed(err)
		}
	}()
	if !k.cache.WaitForCacheSync(ctx) {
		return fmt.Errorf("the cache of %s did not sync: %w", k.gvk.Kind, context.Cause(ctx))
	}
	return nil
}

package clusterapi

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// version is the version of CAPI's objects that the contract v1beta2 belongs to. CAPI serves it since
// v1.11.
var version = schema.GroupVersion{Group: v1alpha1.ClusterAPIGroup, Version: "v1beta2"}

// CAPI's kinds.
const (
	kindCluster     = "Cluster"
	kindMachinePool = "MachinePool"
)

const (
	// lookInterval is how often the API server is asked whether it serves CAPI's kinds, while it does not.
	lookInterval = 15 * time.Second
	// retryInterval is when the API server is asked again after a failure.
	retryInterval = time.Second
	// startTimeout is how long the controllers wait for CAPI's objects when the manager starts. Objects
	// that CAPI owns are paused afterwards until they are read, and all others are reconciled.
	startTimeout = 10 * time.Second
)

// state is what is known of CAPI's objects.
type state int32

const (
	// unknown means that CAPI's objects may exist, and are not read yet.
	unknown state = iota
	// absent means that the API server does not serve CAPI's kinds.
	absent
	// synced means that the cache has CAPI's objects.
	synced
)

// Options configure [Objects]. Config and Enqueue are required.
type Options struct {
	Config     *rest.Config
	HTTPClient *http.Client
	Scheme     *runtime.Scheme
	Mapper     meta.RESTMapper
	// Namespaces limits what is watched; empty means all.
	Namespaces map[string]cache.Config
	// Clock is the real clock by default.
	Clock  clock.Clock
	Logger logr.Logger
	// EnqueueCluster and EnqueueGroup are called with the key of a Cluster or InstanceGroup when an
	// object of CAPI that refers to it changes.
	EnqueueCluster, EnqueueGroup func(types.NamespacedName)
	// GroupsOf returns the keys of the InstanceGroups of a Cluster, which pause with it.
	GroupsOf func(context.Context, types.NamespacedName) []types.NamespacedName
}

// Objects are CAPI's Clusters and MachinePools. A nil value is that of an operator that does not work
// with CAPI: no object has an owner. It is a runnable of a manager.
type Objects struct {
	options Options
	state   atomic.Int32
	cache   atomic.Pointer[cache.Cache]
	// known is closed when the state is known for the first time.
	known     chan struct{}
	closeOnce sync.Once
}

// New returns objects of which none is known until they are started.
func New(options Options) *Objects {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	return &Objects{options: options, known: make(chan struct{})}
}

// GetCache makes a manager start the watch with its caches, and its controllers when CAPI's objects are
// read, so that a start pauses no object for a moment. The cache has no other use.
func (o *Objects) GetCache() cache.Cache { return started{objects: o} }

// started is a cache of which only WaitForCacheSync may be called.
type started struct {
	cache.Cache
	objects *Objects
}

// WaitForCacheSync waits until CAPI's objects are read, for a limited time. It reports success in any
// case, because only objects that CAPI owns need them.
func (s started) WaitForCacheSync(ctx context.Context) bool {
	timer := s.objects.options.Clock.NewTimer(startTimeout)
	defer timer.Stop()
	select {
	case <-s.objects.known:
	case <-timer.C():
	case <-ctx.Done():
	}
	return true
}

// set sets what is known of CAPI's objects.
func (o *Objects) set(to state) {
	o.state.Store(int32(to))
	if to != unknown {
		o.closeOnce.Do(func() { close(o.known) })
	}
}

// Start watches CAPI's objects until ctx ends. While CAPI is not installed, it asks for its kinds every
// 15 seconds.
func (o *Objects) Start(ctx context.Context) error {
	for {
		served, again := o.served()
		if served {
			return o.watch(ctx)
		}
		timer := o.options.Clock.NewTimer(again)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		}
	}
}

// served asks the API server whether it serves CAPI's kinds, and returns when to ask again if not. An
// error leaves the state as it is.
func (o *Objects) served() (served bool, again time.Duration) {
	client, err := discovery.NewDiscoveryClientForConfigAndClient(o.options.Config, o.httpClient())
	if err != nil {
		o.options.Logger.Error(err, "create a client of the API server's kinds")
		return false, lookInterval
	}
	list, err := client.ServerResourcesForGroupVersion(version.String())
	if err != nil && !apierrors.IsNotFound(err) {
		o.options.Logger.Error(err, "look for the kinds of Cluster API; retrying", "version", version)
		return false, retryInterval
	}
	found := map[string]bool{}
	if err == nil {
		for i := range list.APIResources {
			found[list.APIResources[i].Kind] = true
		}
	}
	if !found[kindCluster] || !found[kindMachinePool] {
		o.set(absent)
		return false, lookInterval
	}
	o.set(unknown)
	return true, 0
}

func (o *Objects) httpClient() *http.Client {
	if o.options.HTTPClient != nil {
		return o.options.HTTPClient
	}
	return http.DefaultClient
}

// watch runs a cache of CAPI's objects.
func (o *Objects) watch(ctx context.Context) error {
	objects, err := cache.New(o.options.Config, cache.Options{
		HTTPClient: o.options.HTTPClient, Scheme: o.options.Scheme, Mapper: o.options.Mapper,
		DefaultNamespaces: o.options.Namespaces, DefaultTransform: cache.TransformStripManagedFields(),
	})
	if err != nil {
		return fmt.Errorf("create the cache of Cluster API's objects: %w", err)
	}
	for kind, changed := range map[string]func(context.Context, *unstructured.Unstructured){
		kindCluster: o.clusterChanged, kindMachinePool: o.poolChanged,
	} {
		informer, err := objects.GetInformer(ctx, empty(kind), cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watch the %ss of Cluster API: %w", kind, err)
		}
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { with(ctx, obj, changed) },
			UpdateFunc: func(_, obj any) { with(ctx, obj, changed) },
			DeleteFunc: func(obj any) { with(ctx, obj, changed) },
		})
		if err != nil {
			return fmt.Errorf("watch the %ss of Cluster API: %w", kind, err)
		}
	}
	go func() {
		if objects.WaitForCacheSync(ctx) {
			o.cache.Store(&objects)
			o.set(synced)
			o.options.Logger.Info("Cluster API drives Clusters and InstanceGroups that its objects own")
		}
	}()
	if err := objects.Start(ctx); err != nil {
		return fmt.Errorf("watch Cluster API's objects: %w", err)
	}
	return nil
}

// with calls changed for an object of an informer's event.
func with(ctx context.Context, obj any, changed func(context.Context, *unstructured.Unstructured)) {
	if deleted, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = deleted.Obj
	}
	if one, ok := obj.(*unstructured.Unstructured); ok {
		changed(ctx, one)
	}
}

// clusterChanged enqueues the Cluster that a Cluster of CAPI refers to, and its groups.
func (o *Objects) clusterChanged(ctx context.Context, owner *unstructured.Unstructured) {
	for _, field := range []string{"infrastructureRef", "controlPlaneRef"} {
		name := refersTo(owner, kindCluster, "spec", field)
		if name == "" {
			continue
		}
		key := types.NamespacedName{Namespace: owner.GetNamespace(), Name: name}
		o.options.EnqueueCluster(key)
		for _, group := range o.options.GroupsOf(ctx, key) {
			o.options.EnqueueGroup(group)
		}
		return
	}
}

// poolChanged enqueues the InstanceGroup that a MachinePool refers to.
func (o *Objects) poolChanged(_ context.Context, pool *unstructured.Unstructured) {
	if name := refersTo(pool, kindInstanceGroup, "spec", "template", "spec", "infrastructureRef"); name != "" {
		o.options.EnqueueGroup(types.NamespacedName{Namespace: pool.GetNamespace(), Name: name})
	}
}

// empty returns an object of one of CAPI's kinds.
func empty(kind string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(version.WithKind(kind))
	return obj
}

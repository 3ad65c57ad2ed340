package fleets

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

const (
	// finalizer is on every Fleet.
	finalizer = v1alpha1.Group + "/fleet"
	// debounce is how long changes of Clusters are collected before their Fleet is reconciled.
	debounce = 250 * time.Millisecond
	// concurrent is how many Fleets are reconciled at once.
	concurrent = 2
)

// Options configure the controller. Direct is required.
type Options struct {
	// Direct writes Clusters.
	Direct client.Client
	// Shard is the part of the Fleets that this process reconciles.
	Shard operatorkit.Shard
	// Namespaces limits the controller to these namespaces; empty means all.
	Namespaces map[string]cache.Config
	// Metrics, if not nil, counts and times reconciles.
	Metrics *operatorkit.Metrics
	// Clock is the clock of soak times and deadlines.
	Clock clock.Clock
	// BackgroundLimiter, if not nil, delays background reconciles while users edit.
	BackgroundLimiter *operatorkit.BackgroundLimiter
}

// controller reconciles Fleets.
type controller struct {
	options  Options
	fleets   client.Reader
	clusters cache.Cache
	recorder events.EventRecorder
	delayed  delayed

	mu sync.Mutex
	// watching is whether the cache of Clusters has been started.
	watching bool
	known    map[types.UID]*memory
}

// Setup adds the controller of Fleets to the manager.
func Setup(mgr ctrl.Manager, options Options) error {
	c := &controller{
		options: options, fleets: mgr.GetClient(), recorder: mgr.GetEventRecorder("fleet"), known: map[types.UID]*memory{},
	}
	var err error
	if c.clusters, err = newCache(mgr, options.Namespaces); err != nil {
		return err
	}
	if err := mgr.Add(c.clusters); err != nil {
		return fmt.Errorf("add the cache of the Fleets' Clusters: %w", err)
	}
	reconciler, err := operatorkit.NewReconciler(operatorkit.Options[*v1alpha1.Fleet]{
		Client: mgr.GetClient(), Finalizer: finalizer, PausedAnnotation: v1alpha1.PausedAnnotation,
		Pipelines: operatorkit.NewPipeline[*v1alpha1.Fleet](rollOutStep{c}),
		Owns:      c.owns, DeferStatusWrite: isProgress,
		Metrics: options.Metrics, Clock: options.Clock, MaxConcurrentReconciles: concurrent,
		BackgroundLimiter: options.BackgroundLimiter,
	})
	if err != nil {
		return fmt.Errorf("create the controller of Fleets: %w", err)
	}
	if err := reconciler.SetupWithManager(mgr, source.Func(c.delayed.start)); err != nil {
		return fmt.Errorf("add the controller of Fleets: %w", err)
	}
	return nil
}

// owns reports whether this process reconciles the Fleet of that name.
func (c *controller) owns(key types.NamespacedName) bool { return c.options.Shard.Has(key.String()) }

// isProgress reports whether only counts changed, so that nothing that is done next depends on the write.
func isProgress(before, after *v1alpha1.Fleet) bool {
	was, is := &before.Status, &after.Status
	if was.Revision != is.Revision || was.Wave != is.Wave || len(was.Updating) != len(is.Updating) || len(was.Waves) != len(is.Waves) ||
		was.Clusters.Failed != is.Clusters.Failed {
		return false
	}
	for i := range is.Updating {
		if was.Updating[i].UID != is.Updating[i].UID || was.Updating[i].Held != is.Updating[i].Held {
			return false
		}
	}
	for i := range is.Waves {
		if was.Waves[i].Name != is.Waves[i].Name || (was.Waves[i].Completed == nil) != (is.Waves[i].Completed == nil) {
			return false
		}
	}
	return true
}

// delayed enqueues Fleets after a delay, once for all changes meanwhile.
type delayed struct {
	mu    sync.Mutex
	queue queue
}

// queue is the part of a controller's queue that enqueues with a delay.
type queue interface {
	AddAfter(item reconcile.Request, duration time.Duration)
}

// start keeps the controller's queue. It is a source without events of its own.
func (d *delayed) start(_ context.Context, q queueOfController) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queue = q
	return nil
}

func (d *delayed) enqueue(key types.NamespacedName) {
	d.mu.Lock()
	q := d.queue
	d.mu.Unlock()
	if q != nil {
		q.AddAfter(reconcile.Request{NamespacedName: key}, debounce)
	}
}

package operatorkit

import (
	"context"
	"errors"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Priorities in the work queue. A user waits for the effect of an edit, and an
// enqueued object is usually about to become ready, so both overtake new
// objects. After a start, the objects that were ready come last, and the others
// in turn with new ones.
const (
	priorityEdit     = 100
	priorityEnqueued = 50
	priorityNormal   = 0
	priorityStart    = handler.LowPriority
)

// SetupWithManager adds a controller to the manager. The controller watches the
// reconciler's kind and the given sources, such as [Owned].
func (r *Reconciler[T]) SetupWithManager(mgr manager.Manager, sources ...source.Source) error {
	c, err := controller.New(r.options.Name, mgr, r.controllerOptions())
	if err != nil {
		return fmt.Errorf("make controller %s: %w", r.options.Name, err)
	}
	return r.watch(c, mgr, sources)
}

// Run runs a controller until the context ends, and then removes the kind from
// the manager's cache. Use it instead of SetupWithManager for kinds that are
// added and removed while the manager runs. Call it only on the leader.
func (r *Reconciler[T]) Run(ctx context.Context, mgr manager.Manager, sources ...source.Source) error {
	options := r.controllerOptions()
	options.DefaultFromConfig(mgr.GetControllerOptions())
	options.SkipNameValidation = new(true)
	c, err := controller.NewUnmanaged(r.options.Name, options)
	if err != nil {
		return fmt.Errorf("make controller %s: %w", r.options.Name, err)
	}
	if err := r.watch(c, mgr, sources); err != nil {
		return err
	}
	err = c.Start(ctx)
	return errors.Join(err, mgr.GetCache().RemoveInformer(context.WithoutCancel(ctx), r.options.New()))
}

// Enqueue requests a reconcile of an object because of an external event, for
// example a message from a queue. It overtakes new objects, but not edits. It
// does nothing before the controller runs, which reconciles all objects when it
// starts, and nothing for an object that another process owns, unless the
// reconciler follows it.
func (r *Reconciler[T]) Enqueue(key types.NamespacedName) {
	if q := r.queue.Load(); q != nil && r.concerns(key) {
		enqueue(*q, priorityEnqueued, reconcile.Request{NamespacedName: key})
	}
}

// priorityOf returns the priority of an object that is new to this process.
func priorityOf[T client.Object](e event.TypedCreateEvent[T]) int {
	if e.IsInInitialList && isReady(e.Object) {
		return priorityStart
	}
	return priorityNormal
}

// isReady reports whether the last reconcile of an object completed, and no user
// has edited it since.
func isReady(obj client.Object) bool {
	ready := FindCondition(obj, ConditionReady)
	return ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == obj.GetGeneration() && !isDeleting(obj)
}

// Owned returns a source that enqueues the controlling owner, of the owner's
// kind, when an object of the owned object's kind is created, changed or deleted.
func Owned[O client.Object](mgr manager.Manager, owned O, owner client.Object) source.Source {
	return source.Kind(mgr.GetCache(), owned, handler.TypedEnqueueRequestForOwner[O](
		mgr.GetScheme(), mgr.GetRESTMapper(), owner, handler.OnlyControllerOwner(),
	))
}

func (r *Reconciler[T]) controllerOptions() controller.Options {
	return controller.Options{
		Reconciler:              r,
		MaxConcurrentReconciles: r.options.MaxConcurrentReconciles,
		RateLimiter:             r.options.RateLimiter,
		NewQueue:                newQueue,
	}
}

func (r *Reconciler[T]) watch(c controller.Controller, mgr manager.Manager, sources []source.Source) error {
	if r.options.Recorder == nil {
		r.options.Recorder = mgr.GetEventRecorder(r.options.Name)
	}
	keepQueue := source.Func(func(_ context.Context, q queue) error {
		r.queue.Store(&q)
		return nil
	})
	r.live = mgr.GetAPIReader()
	objects := source.Kind(mgr.GetCache(), r.options.New(), r.changes())
	for _, s := range append([]source.Source{keepQueue, objects}, sources...) {
		if err := c.Watch(s); err != nil {
			return fmt.Errorf("watch for controller %s: %w", r.options.Name, err)
		}
	}
	return nil
}

// changes enqueues an object when a user may have changed it, and not when the
// reconciler itself wrote its status. At the end of a run, the reconciler knows who
// wrote what arrived during it.
func (r *Reconciler[T]) changes() handler.TypedEventHandler[T, reconcile.Request] {
	return handler.TypedFuncs[T, reconcile.Request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[T], q queue) {
			if !r.concerns(client.ObjectKeyFromObject(e.Object)) {
				return
			}
			enqueue(q, priorityOf(e), requestFor(e.Object))
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[T], q queue) {
			key := client.ObjectKeyFromObject(e.ObjectNew)
			if !r.owns(key) {
				r.Enqueue(key)
				return
			}
			current := r.fresh.saw(e.ObjectNew)
			_, busy := r.running.Load(key)
			switch {
			case e.ObjectOld.GetResourceVersion() == e.ObjectNew.GetResourceVersion():
				enqueue(q, priorityStart, requestFor(e.ObjectNew))
			case isEdit(e.ObjectOld, e.ObjectNew):
				// A reconcile may write fields outside the status; that is not a user's edit.
				if current && !busy {
					r.options.BackgroundLimiter.edit(e.ObjectNew.GetUID())
				}
				enqueue(q, priorityEdit, requestFor(e.ObjectNew))
			case busy:
				r.fresh.arrived(e.ObjectNew)
				if _, busy := r.running.Load(key); !busy && r.fresh.ended(key) {
					enqueue(q, priorityNormal, requestFor(e.ObjectNew))
				}
			case r.fresh.isForeign(e.ObjectNew):
				enqueue(q, priorityNormal, requestFor(e.ObjectNew))
			}
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[T], q queue) {
			key := client.ObjectKeyFromObject(e.Object)
			r.fresh.forget(key)
			if !r.owns(key) {
				r.Enqueue(key)
				return
			}
			if r.isLost(e) {
				r.lost.add(copyOf(e.Object))
				enqueue(q, priorityEnqueued, requestFor(e.Object))
			}
		},
	}
}

// concerns reports whether the reconciler does anything for the object of that name.
func (r *Reconciler[T]) concerns(key types.NamespacedName) bool {
	return r.owns(key) || r.options.Follow != nil
}

// isEdit reports whether anything but the status and the managed part of the
// metadata changed. For kinds without a generation every change counts as an edit.
func isEdit(old, changed client.Object) bool {
	return old.GetGeneration() != changed.GetGeneration() || changed.GetGeneration() == 0 ||
		isDeleting(old) != isDeleting(changed) ||
		!maps.Equal(old.GetAnnotations(), changed.GetAnnotations()) ||
		!maps.Equal(old.GetLabels(), changed.GetLabels())
}

func enqueue(q queue, priority int, req reconcile.Request) {
	if pq, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		pq.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, req)
		return
	}
	q.Add(req)
}

func requestFor(obj client.Object) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(obj)}
}

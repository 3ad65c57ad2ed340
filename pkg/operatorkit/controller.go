package operatorkit

import (
	"context"
	"errors"
	"fmt"
	"maps"

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

// Priorities in the queue: someone waits for an edit to have an effect, and an
// object that was woken is nearly there, so both overtake a crowd of new
// objects, and those overtake the look at everything after a start.
const (
	priorityEdit   = 100
	priorityWake   = 50
	priorityNormal = 0
	priorityStart  = handler.LowPriority
)

// SetupWithManager makes the controller and gives it to the manager. It
// watches the objects themselves; further sources, such as Owned, are given
// by the caller.
func (r *Reconciler[T]) SetupWithManager(mgr manager.Manager, sources ...source.Source) error {
	c, err := controller.New(r.options.Name, mgr, r.controllerOptions())
	if err != nil {
		return fmt.Errorf("make controller %s: %w", r.options.Name, err)
	}
	return r.watch(c, mgr, sources)
}

// Run runs the controller until the context ends, for kinds that come and go
// while the manager runs; it then removes the kind from the manager's cache.
// It is to be called only on the leader.
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

// Wake reconciles an object soon, because something outside told that there is
// news about it. Before the controller runs it does nothing: at its start the
// controller looks at every object anyway.
func (r *Reconciler[T]) Wake(key types.NamespacedName) {
	if q := r.queue.Load(); q != nil {
		enqueue(*q, priorityWake, reconcile.Request{NamespacedName: key})
	}
}

// Owned is a source that reconciles the controlling owner, of kind owner, of an
// object of kind owned whenever that changes or goes.
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
		UsePriorityQueue:        new(true),
	}
}

func (r *Reconciler[T]) watch(c controller.Controller, mgr manager.Manager, sources []source.Source) error {
	if r.options.Recorder == nil {
		r.options.Recorder = mgr.GetEventRecorder(r.options.Name)
	}
	queueForWake := source.Func(func(_ context.Context, q queue) error {
		r.queue.Store(&q)
		return nil
	})
	objects := source.Kind(mgr.GetCache(), r.options.New(), r.changes())
	for _, s := range append([]source.Source{queueForWake, objects}, sources...) {
		if err := c.Watch(s); err != nil {
			return fmt.Errorf("watch for controller %s: %w", r.options.Name, err)
		}
	}
	return nil
}

// changes enqueues an object when a person may have changed it, and not when
// only its status did, which is the reconciler's own doing.
func (r *Reconciler[T]) changes() handler.TypedEventHandler[T, reconcile.Request] {
	return handler.TypedFuncs[T, reconcile.Request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[T], q queue) {
			priority := priorityNormal
			if e.IsInInitialList {
				priority = priorityStart
			}
			enqueue(q, priority, requestFor(e.Object))
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[T], q queue) {
			current := r.fresh.saw(e.ObjectNew)
			switch {
			case e.ObjectOld.GetResourceVersion() == e.ObjectNew.GetResourceVersion():
				enqueue(q, priorityStart, requestFor(e.ObjectNew))
			case isEdit(e.ObjectOld, e.ObjectNew):
				// What a run itself writes outside the status is no edit of a person's.
				if _, busy := r.running.Load(requestFor(e.ObjectNew).NamespacedName); current && !busy {
					r.options.Pace.edit(e.ObjectNew.GetUID())
				}
				enqueue(q, priorityEdit, requestFor(e.ObjectNew))
			}
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[T], _ queue) {
			r.fresh.gone(client.ObjectKeyFromObject(e.Object))
		},
	}
}

// isEdit reports whether anything but the status and the managed part of the
// metadata changed. Kinds without a generation give no hint, so there every
// change is taken for an edit.
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

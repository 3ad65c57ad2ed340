package operatorkit

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// lostRequeue is when the deletion of a lost object continues if its outcome says
// no time: such an object has no conditions that a user could react to.
const lostRequeue = time.Minute

// lost are the objects that the API server removed although they had the finalizer.
//
// A deletion that begins before the finalizer is added may end after it, and then
// ignores it: https://github.com/kubernetes/kubernetes/issues/77988. The run that
// added it may already have had effects, which nothing else would delete.
type lost[T client.Object] struct {
	mu      sync.Mutex
	objects map[types.NamespacedName]T
}

func (l *lost[T]) add(obj T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.objects == nil {
		l.objects = map[types.NamespacedName]T{}
	}
	l.objects[client.ObjectKeyFromObject(obj)] = obj
}

func (l *lost[T]) find(key types.NamespacedName) (obj T, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	obj, ok = l.objects[key]
	return obj, ok
}

func (l *lost[T]) drop(key types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.objects, key)
}

// isLost reports whether an object was removed although it had the finalizer. An
// object that was deleted in the regular way, or whose finalizer a user removed to
// leave what it has, has a time of deletion or no finalizer.
func (r *Reconciler[T]) isLost(e event.TypedDeleteEvent[T]) bool {
	return !e.DeleteStateUnknown && !isDeleting(e.Object) && controllerutil.ContainsFinalizer(e.Object, r.options.Finalizer)
}

// deleteLost runs the deletion of a lost object. Its status exists only in memory.
func (r *Reconciler[T]) deleteLost(ctx context.Context, obj T) (string, reconcile.Result, error) {
	key := client.ObjectKeyFromObject(obj)
	live := r.options.New()
	err := r.live.Get(ctx, key, live)
	switch {
	case err == nil && live.GetUID() == obj.GetUID(): // It left the cache for another reason.
		r.lost.drop(key)
		return OutcomeStale, reconcile.Result{RequeueAfter: cacheRequeue}, nil
	case err != nil && !apierrors.IsNotFound(err):
		return afterIO("", err)
	}
	replaced := err == nil
	if !isDeleting(obj) {
		log.FromContext(ctx).Info("The object was removed while its finalizer was added. What exists for it is deleted.", "uid", obj.GetUID())
		obj.SetDeletionTimestamp(new(metav1.NewTime(r.options.Clock.Now())))
	}
	pipeline, err := r.options.Pipelines.PipelineFor(obj)
	if err != nil {
		return afterIO("", err)
	}
	outcome := pipeline.run(ctx, obj, r.options.Clock, func(step string, o Outcome, took time.Duration) {
		r.options.Metrics.step(r.kind, step, o.Kind(), took)
	})
	switch {
	case outcome.IsDone():
		r.lost.drop(key)
		return OutcomeDeleted, reconcile.Result{RequeueAfter: cacheRequeue}, nil // There may be a new object of the same name.
	case outcome.Kind() == KindFail:
		return outcome.Kind().String(), reconcile.Result{}, outcome.Err()
	case outcome.Kind() == KindStall && replaced:
		// A user can react to the conditions of the new object, which finds what is left.
		log.FromContext(ctx).Info("The deletion ends, because a new object has the name: "+outcome.Message(), "reason", outcome.Reason())
		r.lost.drop(key)
		return outcome.Kind().String(), reconcile.Result{RequeueAfter: cacheRequeue}, nil
	case outcome.After() > 0:
		return outcome.Kind().String(), reconcile.Result{RequeueAfter: outcome.After()}, nil
	}
	log.FromContext(ctx).Info(outcome.Message(), "reason", outcome.Reason())
	return outcome.Kind().String(), reconcile.Result{RequeueAfter: lostRequeue}, nil
}

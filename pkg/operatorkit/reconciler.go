package operatorkit

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// lookAgainSoon is how long to leave the cache to catch up with a write.
	lookAgainSoon = 10 * time.Millisecond
	// writeTimeout bounds the writes that end a run, which go on after the
	// process was told to stop.
	writeTimeout = 10 * time.Second
	// maxNote is what an Event allows its note to hold, in bytes.
	maxNote = 1000
)

// Options configure a Reconciler. Client, Pipelines and Finalizer are required.
type Options[T client.Object] struct {
	// Client reads objects from the manager's cache and writes them.
	Client client.Client
	// Pipelines picks what runs for an object: a Pipeline or a Router.
	Pipelines Selector[T]
	// Finalizer, for example "example.com/operator", is put on an object before
	// the first step runs and removed when every step is done deleting.
	Finalizer string
	// New makes an empty object. Only *unstructured.Unstructured needs it, to
	// know its kind.
	New func() T
	// PausedAnnotation is the annotation that pauses an object: then nothing is
	// done, not even deletion. Every value but "false" (or "0", "f", …) pauses.
	// Empty: there is none.
	PausedAnnotation string
	// Paused is another way to pause an object, for example by a field of its spec.
	Paused func(obj T) bool
	// Writer writes what a run changed; by default NewStatusWriter.
	Writer Writer[T]
	// Recorder records an Event whenever the object's Synced condition gets
	// another status, reason or message. Nil: no Events.
	Recorder events.EventRecorder
	// Metrics, if not nil, counts and times what happens.
	Metrics *Metrics
	// Clock is the clock of the conditions and metrics; by default the real one.
	Clock clock.PassiveClock
	// Name names the controller in logs and metrics; by default the kind in lower case.
	Name string
	// MaxConcurrentReconciles is how many objects are worked on at once; by default 16.
	MaxConcurrentReconciles int
	// RateLimiter says how long to wait after a failure; by default 250 ms,
	// doubled after every further one, up to 5 minutes.
	RateLimiter workqueue.TypedRateLimiter[reconcile.Request]
}

// Reconciler runs the pipeline of one kind of object. It is a reconcile.Reconciler.
type Reconciler[T client.Object] struct {
	Options[T]
	kind  string
	fresh freshness
	queue atomic.Pointer[queue]
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// NewReconciler makes a reconciler. It errs when an option is missing, when T
// has no conditions (see Conditioned) and when T is not in the client's scheme.
func NewReconciler[T client.Object](o Options[T]) (*Reconciler[T], error) {
	switch {
	case o.Client == nil:
		return nil, errors.New("a reconciler needs a Client")
	case o.Pipelines == nil:
		return nil, errors.New("a reconciler needs Pipelines")
	case o.Finalizer == "":
		return nil, errors.New("a reconciler needs a Finalizer")
	}
	if o.New == nil {
		o.New = newObject[T]
	}
	if !supportsConditions(o.New()) {
		return nil, fmt.Errorf("%T has no GetConditions and SetConditions", o.New())
	}
	gvk, err := apiutil.GVKForObject(o.New(), o.Client.Scheme())
	if err != nil {
		return nil, fmt.Errorf("find the kind of %T: %w", o.New(), err)
	}
	if o.Writer == nil {
		o.Writer = NewStatusWriter[T](o.Client)
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.MaxConcurrentReconciles <= 0 {
		o.MaxConcurrentReconciles = 16
	}
	if o.RateLimiter == nil {
		o.RateLimiter = workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](250*time.Millisecond, 5*time.Minute)
	}
	if o.Name == "" {
		o.Name = controllerName(gvk)
	}
	return &Reconciler[T]{Options: o, kind: gvk.Kind}, nil
}

// newObject makes an empty T, which is a pointer to a struct.
func newObject[T client.Object]() T {
	return reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T)
}

// Reconcile looks at one object and brings it one run further.
func (r *Reconciler[T]) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	start := r.Clock.Now()
	outcome, result, err := r.reconcile(ctx, req.NamespacedName)
	r.Metrics.reconcile(r.kind, outcome, r.Clock.Since(start))
	return result, err
}

// reconcile returns, beside what the queue wants to know, its outcome's word for the metrics.
func (r *Reconciler[T]) reconcile(ctx context.Context, key types.NamespacedName) (string, reconcile.Result, error) {
	obj := r.New()
	if err := r.Client.Get(ctx, key, obj); err != nil {
		r.fresh.gone(key)
		return "gone", reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !r.fresh.saw(obj) {
		return "behind", reconcile.Result{RequeueAfter: lookAgainSoon}, nil
	}
	if isDeleting(obj) && !controllerutil.ContainsFinalizer(obj, r.Finalizer) {
		return "gone", reconcile.Result{}, nil
	}
	if r.isPaused(obj) {
		err := r.conclude(ctx, copyOf(obj), obj, r.pausedVerdict())
		return r.answer("paused", reconcile.Result{}, err)
	}
	pipeline, err := r.Pipelines.PipelineFor(obj)
	if err != nil {
		stall := Stall(ReasonUnknownRelease, sentence(err.Error()))
		return r.answer(stall.Kind().String(), reconcile.Result{}, r.conclude(ctx, copyOf(obj), obj, verdictOf(stall)))
	}
	if err := r.addFinalizer(ctx, obj); err != nil {
		return r.answer("fail", reconcile.Result{}, err)
	}
	return r.runPipeline(ctx, pipeline, obj)
}

func (r *Reconciler[T]) runPipeline(ctx context.Context, pipeline *Pipeline[T], obj T) (string, reconcile.Result, error) {
	before := copyOf(obj)
	outcome := pipeline.run(ctx, obj, r.Clock, func(step string, o Outcome, took time.Duration) {
		r.Metrics.step(r.kind, step, o.Kind(), took)
	})
	if outcome.IsDone() && isDeleting(obj) {
		return r.answer("done", reconcile.Result{}, r.removeFinalizer(ctx, before))
	}
	if err := r.conclude(ctx, before, obj, verdictOf(outcome)); err != nil {
		return r.answer("fail", reconcile.Result{}, errors.Join(err, outcome.Err()))
	}
	result := reconcile.Result{RequeueAfter: outcome.After(), Priority: new(priorityNormal)}
	switch outcome.Kind() {
	case KindStall:
		result.RequeueAfter = 0
	case KindFail:
		return "fail", reconcile.Result{}, outcome.Err()
	default:
	}
	return outcome.Kind().String(), result, nil
}

// answer turns a conflict into a quiet second look, and the disappearance of
// the object into success.
func (r *Reconciler[T]) answer(outcome string, result reconcile.Result, err error) (string, reconcile.Result, error) {
	switch {
	case err == nil:
		return outcome, result, nil
	case apierrors.IsNotFound(err):
		return "gone", reconcile.Result{}, nil
	case apierrors.IsConflict(err):
		return "conflict", reconcile.Result{RequeueAfter: lookAgainSoon}, nil
	default:
		return "fail", reconcile.Result{}, err
	}
}

// conclude puts the verdict into the object, writes the object if that or the
// steps changed something, and records an Event if the verdict is a new one.
// What the steps recorded is worth writing also when the process is being
// stopped, so the write outlives ctx.
func (r *Reconciler[T]) conclude(ctx context.Context, before, after T, v verdict) error {
	v.write(after, metav1.NewTime(r.Clock.Now()))
	if equality.Semantic.DeepEqual(before, after) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	was, is := FindCondition(before, ConditionSynced), FindCondition(after, ConditionSynced).DeepCopy()
	if err := r.Writer.Write(ctx, before, after); err != nil {
		return err
	}
	r.fresh.wrote(after)
	r.Metrics.wrote(r.kind, "status")
	if was == nil || was.Status != is.Status || was.Reason != is.Reason || was.Message != is.Message {
		r.announce(ctx, after, v)
	}
	return nil
}

func (r *Reconciler[T]) announce(ctx context.Context, obj T, v verdict) {
	log.FromContext(ctx).Info(v.message, "reason", v.reason)
	if r.Recorder == nil {
		return
	}
	eventType, action := corev1.EventTypeNormal, "Reconcile"
	if !v.paused && (v.kind == KindStall || v.kind == KindFail) {
		eventType = corev1.EventTypeWarning
	}
	if isDeleting(obj) {
		action = "Delete"
	}
	r.Recorder.Eventf(obj, nil, eventType, v.reason, action, "%s", cut(v.message, maxNote))
}

func (r *Reconciler[T]) addFinalizer(ctx context.Context, obj T) error {
	before := copyOf(obj)
	if !controllerutil.AddFinalizer(obj, r.Finalizer) {
		return nil
	}
	return r.patchFinalizers(ctx, before, obj)
}

func (r *Reconciler[T]) removeFinalizer(ctx context.Context, before T) error {
	after := copyOf(before)
	controllerutil.RemoveFinalizer(after, r.Finalizer)
	return r.patchFinalizers(ctx, before, after)
}

func (r *Reconciler[T]) patchFinalizers(ctx context.Context, before, after T) error {
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, after, patch); err != nil {
		return fmt.Errorf("write finalizers: %w", err)
	}
	r.fresh.wrote(after)
	r.Metrics.wrote(r.kind, "finalizer")
	return nil
}

func (r *Reconciler[T]) isPaused(obj T) bool {
	if value, ok := obj.GetAnnotations()[r.PausedAnnotation]; ok {
		if on, err := strconv.ParseBool(value); on || err != nil {
			return true
		}
	}
	return r.Paused != nil && r.Paused(obj)
}

func (r *Reconciler[T]) pausedVerdict() verdict {
	message := "Nothing is done for this object, not even deletion, until it is no longer paused."
	if r.PausedAnnotation != "" {
		message = fmt.Sprintf("Nothing is done for this object, not even deletion, until it is no longer paused (annotation %s).", r.PausedAnnotation)
	}
	return verdict{paused: true, reason: ReasonPaused, message: message}
}

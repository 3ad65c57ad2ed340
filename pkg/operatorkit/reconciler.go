package operatorkit

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

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
	// WhilePaused, if not nil, is called at each look at a paused object and does what must go on even then. It changes nothing in the
	// object, and returns after what time to look again, 0 if not by itself.
	WhilePaused func(ctx context.Context, obj T) time.Duration
	// Writer writes what a run changed; by default NewStatusWriter.
	Writer Writer[T]
	// Recorder records an Event whenever the object's Synced condition gets
	// another status, reason or message: a Warning for a failure or a stall. By
	// default the manager's recorder.
	Recorder events.EventRecorder
	// Later, if not nil, reports whether all that changed in an object says only
	// how far things are, so that it may be written a moment later. It need not look at
	// the conditions that the kit writes. When an
	// object says such a thing within a second of its last write, the write waits
	// until that second is over, and may then say what has happened meanwhile too.
	Later func(before, after T) bool
	// Metrics, if not nil, counts and times what happens.
	Metrics *Metrics
	// Clock is the clock of the conditions and metrics; by default the real one.
	Clock clock.PassiveClock
	// Name names the controller in logs and metrics; by default the kind in lower case.
	Name string
	// MaxConcurrentReconciles is how many objects are worked on at once; by default 8.
	MaxConcurrentReconciles int
	// Pace, if not nil, slows this reconciler down while people edit objects of
	// any that shares it.
	Pace *Pace
	// RateLimiter says how long to wait after a failure; by default 250 ms,
	// doubled after every further one, up to 5 minutes.
	RateLimiter workqueue.TypedRateLimiter[reconcile.Request]
}

// Reconciler runs the pipeline of one kind of object. It is a reconcile.Reconciler.
type Reconciler[T client.Object] struct {
	options Options[T]
	kind    string
	fresh   freshness
	recent  recent
	queue   atomic.Pointer[queue]
	// running has the keys of the objects that are worked on.
	running sync.Map
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
		o.MaxConcurrentReconciles = defaultWorkers
	}
	if o.RateLimiter == nil {
		o.RateLimiter = workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](250*time.Millisecond, 5*time.Minute)
	}
	if o.Name == "" {
		o.Name = strings.ToLower(gvk.Kind)
	}
	return &Reconciler[T]{options: o, kind: gvk.Kind}, nil
}

// newObject makes an empty T, which is a pointer to a struct.
func newObject[T client.Object]() T {
	return reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T)
}

// defaultWorkers is enough to keep an API server busy; with twice as many,
// requests only queue up in front of it, and edits behind them.
const defaultWorkers = 8

// Reconcile looks at one object and brings it one run further.
func (r *Reconciler[T]) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	start := r.options.Clock.Now()
	r.running.Store(req.NamespacedName, struct{}{})
	defer r.running.Delete(req.NamespacedName)
	outcome, result, err := r.reconcile(ctx, req.NamespacedName)
	r.options.Metrics.reconcile(r.kind, outcome, r.options.Clock.Since(start))
	return result, err
}

// reconcile returns, beside what the queue wants to know, its outcome's word
// for the metrics.
func (r *Reconciler[T]) reconcile(ctx context.Context, key types.NamespacedName) (string, reconcile.Result, error) {
	obj := r.options.New()
	if err := r.options.Client.Get(ctx, key, obj); err != nil {
		return afterIO("", err)
	}
	if !r.fresh.saw(obj) {
		return "behind", reconcile.Result{RequeueAfter: lookAgainSoon}, nil
	}
	if isDeleting(obj) && !controllerutil.ContainsFinalizer(obj, r.options.Finalizer) {
		return "gone", reconcile.Result{}, nil
	}
	done, granted := r.options.Pace.begin(obj.GetUID())
	if !granted {
		return "yielded", reconcile.Result{RequeueAfter: yieldFor, Priority: new(priorityNormal)}, nil
	}
	defer done()
	if r.isPaused(obj) {
		return r.pause(ctx, obj)
	}
	pipeline, err := r.options.Pipelines.PipelineFor(obj)
	if err != nil {
		stall := Stall(ReasonUnknownRelease, sentence(err.Error()))
		return afterIO(stall.Kind().String(), r.conclude(ctx, copyOf(obj), obj, verdictOf(stall)))
	}
	if err := r.addFinalizer(ctx, obj); err != nil {
		return afterIO("", err)
	}
	return r.runPipeline(ctx, pipeline, obj)
}

func (r *Reconciler[T]) runPipeline(ctx context.Context, pipeline *Pipeline[T], obj T) (string, reconcile.Result, error) {
	before := copyOf(obj)
	outcome := pipeline.run(ctx, obj, r.options.Clock, func(step string, o Outcome, took time.Duration) {
		r.options.Metrics.step(r.kind, step, o.Kind(), took)
	})
	word := outcome.Kind().String()
	var err error
	switch {
	case outcome.IsDone() && isDeleting(obj):
		return afterIO(word, r.removeFinalizer(ctx, before))
	case outcome.Kind() == KindFail && ctx.Err() != nil:
		// The process is being stopped: no news about the object.
		err = r.save(ctx, before, obj, verdict{})
	default:
		v := verdictOf(outcome)
		v.write(obj, metav1.NewTime(r.options.Clock.Now()))
		if same(before, obj) {
			break
		}
		if wait := r.waits(before, obj); wait > 0 {
			if sooner := outcome.After(); sooner > 0 {
				wait = min(wait, sooner)
			}
			return word, reconcile.Result{RequeueAfter: wait, Priority: new(priorityNormal)}, nil
		}
		err = r.write(ctx, before, obj, v)
	}
	if err != nil {
		return afterIO(word, err)
	}
	switch outcome.Kind() {
	case KindStall:
		return word, reconcile.Result{RequeueAfter: outcome.After()}, nil
	case KindFail:
		return word, reconcile.Result{}, outcome.Err()
	default:
		return word, reconcile.Result{RequeueAfter: outcome.After(), Priority: new(priorityNormal)}, nil
	}
}

// afterIO answers the queue when a run ends with a read or write of the object.
// It turns a conflict into a quiet second look, and the disappearance of the
// object into success.
func afterIO(word string, err error) (string, reconcile.Result, error) {
	switch {
	case err == nil:
		return word, reconcile.Result{}, nil
	case apierrors.IsNotFound(err):
		return "gone", reconcile.Result{}, nil
	case apierrors.IsConflict(err):
		return "conflict", reconcile.Result{RequeueAfter: lookAgainSoon}, nil
	default:
		return KindFail.String(), reconcile.Result{}, err
	}
}

// conclude puts the verdict into the object and saves it.
func (r *Reconciler[T]) conclude(ctx context.Context, before, after T, v verdict) error {
	v.write(after, metav1.NewTime(r.options.Clock.Now()))
	return r.save(ctx, before, after, v)
}

// save writes the object if it changed.
func (r *Reconciler[T]) save(ctx context.Context, before, after T, v verdict) error {
	if same(before, after) {
		return nil
	}
	return r.write(ctx, before, after, v)
}

// same reports whether the objects say the same, with Kubernetes' notion of equal times and quantities. Most are equal to the letter,
// and that is found out in a fraction of the time.
func same(a, b client.Object) bool {
	return reflect.DeepEqual(a, b) || equality.Semantic.DeepEqual(a, b)
}

// write writes an object that changed, and records an Event if the Synced
// condition, which holds the last run's verdict, says something new. What the
// steps recorded is worth writing also when the process is being stopped, so
// the write outlives ctx.
func (r *Reconciler[T]) write(ctx context.Context, before, after T, v verdict) error {
	news := newVerdict(before, after)
	writeCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	if err := r.options.Writer.Write(writeCtx, before, after); err != nil {
		return err
	}
	r.fresh.wrote(after)
	r.options.Metrics.wrote(r.kind, "status")
	if r.options.Later != nil {
		r.recent.wrote(client.ObjectKeyFromObject(after))
	}
	if news != nil {
		log.FromContext(ctx).Info(news.Message, "reason", news.Reason)
		if !v.quiet || isTurn(before, after) {
			r.announce(after, news)
		}
	}
	return nil
}

// newVerdict returns the Synced condition of after if it says something new,
// compared with that of before, and nil otherwise.
func newVerdict(before, after client.Object) *metav1.Condition {
	was, is := FindCondition(before, ConditionSynced), FindCondition(after, ConditionSynced)
	if is == nil || was != nil && was.Status == is.Status && was.Reason == is.Reason && was.Message == is.Message {
		return nil
	}
	return is.DeepCopy()
}

// isTurn reports whether an object was ready or in trouble before and is not after.
func isTurn(before, after client.Object) bool {
	return says(before, ConditionReady, metav1.ConditionTrue) && !says(after, ConditionReady, metav1.ConditionTrue) ||
		says(before, ConditionSynced, metav1.ConditionFalse) && !says(after, ConditionSynced, metav1.ConditionFalse)
}

func says(obj client.Object, conditionType string, status metav1.ConditionStatus) bool {
	condition := FindCondition(obj, conditionType)
	return condition != nil && condition.Status == status
}

// waits returns how long what a run found is to wait before it is written, 0 if it is not.
func (r *Reconciler[T]) waits(before, after T) time.Duration {
	if r.options.Later == nil || isDeleting(after) {
		return 0
	}
	wait := r.recent.wait(client.ObjectKeyFromObject(after))
	if wait <= 0 {
		return 0
	}
	for _, kind := range []string{ConditionReady, ConditionSynced, ConditionStalled, ConditionReconciling} {
		was, now := FindCondition(before, kind), FindCondition(after, kind)
		if (was == nil) != (now == nil) || was != nil && (was.Status != now.Status || was.ObservedGeneration != now.ObservedGeneration) {
			return 0
		}
	}
	if !r.options.Later(before, after) {
		return 0
	}
	return wait
}

func (r *Reconciler[T]) announce(obj T, news *metav1.Condition) {
	if r.options.Recorder == nil {
		return
	}
	eventType, action := corev1.EventTypeNormal, "Reconcile"
	if news.Status == metav1.ConditionFalse {
		eventType = corev1.EventTypeWarning
	}
	if isDeleting(obj) {
		action = "Delete"
	}
	r.options.Recorder.Eventf(obj, nil, eventType, news.Reason, action, "%s", cut(news.Message, maxNote))
}

func (r *Reconciler[T]) addFinalizer(ctx context.Context, obj T) error {
	if controllerutil.ContainsFinalizer(obj, r.options.Finalizer) {
		return nil
	}
	before := copyOf(obj)
	controllerutil.AddFinalizer(obj, r.options.Finalizer)
	return r.patchFinalizers(ctx, before, obj)
}

func (r *Reconciler[T]) removeFinalizer(ctx context.Context, before T) error {
	after := copyOf(before)
	controllerutil.RemoveFinalizer(after, r.options.Finalizer)
	return r.patchFinalizers(ctx, before, after)
}

func (r *Reconciler[T]) patchFinalizers(ctx context.Context, before, after T) error {
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.options.Client.Patch(ctx, after, patch); err != nil {
		return fmt.Errorf("write finalizers: %w", err)
	}
	if len(after.GetFinalizers()) > 0 { // without any, a deleted object is gone
		r.fresh.wrote(after)
	}
	r.options.Metrics.wrote(r.kind, "finalizer")
	return nil
}

// IsMarkedPaused reports whether an object's annotation pauses it: by any value but one that says false, since whoever writes it means it.
func IsMarkedPaused(obj client.Object, annotation string) bool {
	value, ok := obj.GetAnnotations()[annotation]
	paused, err := strconv.ParseBool(value)
	return ok && (paused || err != nil)
}

func (r *Reconciler[T]) isPaused(obj T) bool {
	return IsMarkedPaused(obj, r.options.PausedAnnotation) ||
		r.options.Paused != nil && r.options.Paused(obj)
}

// pause says that the object is paused, and does what goes on nevertheless.
func (r *Reconciler[T]) pause(ctx context.Context, obj T) (string, reconcile.Result, error) {
	var after time.Duration
	if r.options.WhilePaused != nil {
		after = r.options.WhilePaused(ctx, copyOf(obj))
	}
	word, result, err := afterIO("paused", r.conclude(ctx, copyOf(obj), obj, r.pausedVerdict()))
	if err == nil && after > 0 {
		result.RequeueAfter = after
	}
	return word, result, err
}

func (r *Reconciler[T]) pausedVerdict() verdict {
	message := "Nothing is done for this object, not even deletion, until it is no longer paused."
	if r.options.PausedAnnotation != "" {
		message = fmt.Sprintf("Nothing is done for this object, not even deletion, until it is no longer paused (annotation %s).", r.options.PausedAnnotation)
	}
	return verdict{paused: true, reason: ReasonPaused, message: message}
}

// sentence makes an error's text one: a capital letter and a full stop.
func sentence(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[size:] + "."
}

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
	// cacheRequeue is the delay after which the cache probably contains a write.
	cacheRequeue = 10 * time.Millisecond
	// foreignRequeue is the minimum time between a write and a reconcile because of another client's
	// write, unless it is an edit. Two operators, as there are while one does not know yet that it
	// lost its lease, would otherwise react to each other's writes without a pause.
	foreignRequeue = time.Second
	// writeTimeout limits the writes at the end of a run, which continue while the
	// process stops.
	writeTimeout = 10 * time.Second
	// maxNote is the maximum length of an Event's note, in bytes.
	maxNote = 1000

	// The default concurrency keeps an API server busy. With twice as many
	// workers, requests queue in front of it, and edits behind them.
	defaultConcurrency         = 8
	defaultStatusWriteInterval = time.Second
	defaultRetryDelay          = 250 * time.Millisecond
	maxRetryDelay              = 5 * time.Minute
)

// Options configure a Reconciler. Client, Pipelines and Finalizer are required;
// the zero value of every other option is its documented default.
type Options[T client.Object] struct {
	// Client reads objects from the manager's cache and writes them.
	Client client.Client
	// Pipelines picks the steps for an object: a Pipeline or a Router.
	Pipelines Selector[T]
	// Finalizer, for example "example.com/operator", is added to an object before
	// the first step runs, and removed when every step is done deleting.
	Finalizer string
	// Admit is called for an object before the finalizer is added. It may change
	// annotations and labels, which are written together with the finalizer. Unless
	// its outcome is done, no step runs and the object gets no finalizer, so that
	// its deletion needs nothing from the operator. Default: every object is admitted.
	Admit func(ctx context.Context, obj T) Outcome
	// New returns an empty object. It is required only for
	// *unstructured.Unstructured, to set the kind. Default: a zero T.
	New func() T
	// Owns reports whether this process reconciles the object of that name. Several
	// processes can share the objects of a kind if each object has one owner. Default:
	// it reconciles all objects.
	Owns func(key types.NamespacedName) bool
	// Follow is called when an object changes that another process owns, for what
	// this process must know about it. It must not change the object. Exists is false
	// once the object no longer exists; obj is empty then. It returns the time after which to
	// call it again, zero for the next change. Default: such objects are ignored.
	Follow func(ctx context.Context, key types.NamespacedName, obj T, exists bool) (time.Duration, error)
	// PausedAnnotation is the annotation that pauses an object: no step runs, not
	// even for its deletion. Every value except "false" (or "0", "f", …) pauses.
	// Default: no annotation.
	PausedAnnotation string
	// Paused pauses further objects, for example by a field of their spec.
	// Default: none.
	Paused func(obj T) bool
	// ExplainPause returns the message of the Synced condition of a paused object, "" for
	// the default, which names PausedAnnotation. Default: always that.
	ExplainPause func(obj T) string
	// ReconcilePaused is called at each reconcile of a paused object, for work that
	// must continue during a pause. It receives a copy, so its changes are not
	// written. It returns the time after which to requeue the object, zero for
	// never. Default: nothing continues.
	ReconcilePaused func(ctx context.Context, obj T) time.Duration
	// Summarize is called at the end of each run, also of a paused object, after the
	// reconciler set the conditions. It may change the status, for example fields that
	// other programs read in place of the conditions. It must depend only on the object
	// and on caches. Default: nothing.
	Summarize func(obj T)
	// Writer writes the changes of a run. Default: NewStatusWriter.
	Writer Writer[T]
	// Recorder records an Event whenever the status, reason or message of the
	// Synced condition changes: a Warning if Synced is False. Default: the
	// manager's recorder.
	Recorder events.EventRecorder
	// DeferStatusWrite reports whether the changes between before and after are only
	// progress, such as a counter, that may be written later. Such a change is
	// written at most once per StatusWriteInterval and object; several become one
	// write. The function can ignore the conditions that the reconciler writes: a
	// change of their status or observed generation, and every change of an object
	// that is being deleted, is written at once. Default: every change is written at
	// once.
	DeferStatusWrite func(before, after T) bool
	// StatusWriteInterval is the minimum time between an object's last write and a
	// write that DeferStatusWrite defers. Default: 1 second.
	StatusWriteInterval time.Duration
	// Metrics counts and times steps, reconciles and writes. Default: no metrics.
	Metrics *Metrics
	// Clock is the clock of conditions and metrics. Default: the real clock.
	Clock clock.PassiveClock
	// Name names the controller in logs and metrics. Default: the kind in lower case.
	Name string
	// MaxConcurrentReconciles is the number of objects that are reconciled at the
	// same time. Default: 8.
	MaxConcurrentReconciles int
	// BackgroundLimiter limits concurrent reconciles while users edit objects of any
	// reconciler that shares it. Default: no limit.
	BackgroundLimiter *BackgroundLimiter
	// RateLimiter returns the delay after a failure. Default: 250 milliseconds,
	// doubled after each further failure of the object, up to 5 minutes.
	RateLimiter workqueue.TypedRateLimiter[reconcile.Request]
}

// Reconciler runs the pipelines of one kind of object. It is a reconcile.Reconciler.
type Reconciler[T client.Object] struct {
	options Options[T]
	kind    string
	fresh   freshness
	lost    lost[T]
	recent  recent
	queue   atomic.Pointer[queue]
	// live reads from the API server.
	live client.Reader
	// running contains the keys of the objects that are being reconciled.
	running sync.Map
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// NewReconciler returns a reconciler. It returns an error if a required option is
// missing, if T has no conditions (see Conditioned), or if T is not in the
// client's scheme.
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
		o.MaxConcurrentReconciles = defaultConcurrency
	}
	if o.StatusWriteInterval <= 0 {
		o.StatusWriteInterval = defaultStatusWriteInterval
	}
	if o.RateLimiter == nil {
		o.RateLimiter = workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](defaultRetryDelay, maxRetryDelay)
	}
	if o.Name == "" {
		o.Name = strings.ToLower(gvk.Kind)
	}
	return &Reconciler[T]{options: o, kind: gvk.Kind, recent: recent{interval: o.StatusWriteInterval}}, nil
}

// newObject returns an empty T, which is a pointer to a struct.
func newObject[T client.Object]() T {
	return reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T)
}

// Reconcile runs the pipeline of one object once and writes the result.
func (r *Reconciler[T]) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	start := r.options.Clock.Now()
	r.running.Store(req.NamespacedName, struct{}{})
	defer func() {
		r.running.Delete(req.NamespacedName)
		if r.fresh.ended(req.NamespacedName) {
			r.Enqueue(req.NamespacedName)
		}
	}()
	ctx, span := startReconcile(ctx, r.kind, req.NamespacedName)
	outcome, result, err := r.reconcile(ctx, req.NamespacedName)
	endReconcile(span, outcome, err)
	r.options.Metrics.reconcile(r.kind, outcome, r.options.Clock.Since(start), span)
	return result, err
}

// reconcile returns the outcome for the metrics in addition to the result for the queue.
func (r *Reconciler[T]) reconcile(ctx context.Context, key types.NamespacedName) (string, reconcile.Result, error) {
	if !r.owns(key) {
		return r.follow(ctx, key)
	}
	if obj, ok := r.lost.find(key); ok {
		return r.deleteLost(ctx, obj)
	}
	released := r.fresh.releasedBy(key)
	obj := r.options.New()
	if err := r.options.Client.Get(ctx, key, obj); err != nil {
		if apierrors.IsNotFound(err) {
			r.fresh.forget(key)
		}
		return afterIO("", err)
	}
	if !r.fresh.saw(obj) {
		return OutcomeStale, reconcile.Result{RequeueAfter: cacheRequeue}, nil
	}
	if wait := r.fresh.tooSoon(obj); wait > 0 {
		return OutcomeStale, reconcile.Result{RequeueAfter: wait}, nil
	}
	if isDeleting(obj) && (released != "" && obj.GetUID() == released || !controllerutil.ContainsFinalizer(obj, r.options.Finalizer)) {
		return OutcomeDeleted, reconcile.Result{}, nil
	}
	done, granted := r.options.BackgroundLimiter.begin(obj.GetUID())
	if !granted {
		return OutcomeLimited, reconcile.Result{RequeueAfter: backgroundRequeue, Priority: new(priorityNormal)}, nil
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
	if controllerutil.ContainsFinalizer(obj, r.options.Finalizer) {
		return r.runPipeline(ctx, pipeline, obj)
	}
	before := copyOf(obj)
	if outcome := r.admit(ctx, obj); !outcome.IsDone() {
		return r.finish(ctx, before, copyOf(before), outcome)
	}
	if err := r.addFinalizer(ctx, before, obj); err != nil {
		return afterIO("", err)
	}
	return r.runPipeline(ctx, pipeline, obj)
}

// owns reports whether this process reconciles the object of that name.
func (r *Reconciler[T]) owns(key types.NamespacedName) bool {
	return r.options.Owns == nil || r.options.Owns(key)
}

// follow calls Options.Follow for an object that another process owns.
func (r *Reconciler[T]) follow(ctx context.Context, key types.NamespacedName) (string, reconcile.Result, error) {
	if r.options.Follow == nil {
		return OutcomeFollowed, reconcile.Result{}, nil
	}
	obj := r.options.New()
	err := r.options.Client.Get(ctx, key, obj)
	if client.IgnoreNotFound(err) != nil {
		return afterIO("", err)
	}
	after, err := r.options.Follow(ctx, key, obj, err == nil)
	if err != nil {
		return KindFail.String(), reconcile.Result{}, err
	}
	return OutcomeFollowed, reconcile.Result{RequeueAfter: after}, nil
}

// admit calls Options.Admit.
func (r *Reconciler[T]) admit(ctx context.Context, obj T) Outcome {
	if r.options.Admit == nil {
		return Done()
	}
	return r.options.Admit(ctx, obj)
}

func (r *Reconciler[T]) runPipeline(ctx context.Context, pipeline *Pipeline[T], obj T) (string, reconcile.Result, error) {
	before := copyOf(obj)
	outcome := pipeline.run(ctx, obj, r.options.Clock, func(step string, o Outcome, took time.Duration) {
		r.options.Metrics.step(r.kind, step, o.Kind(), took)
	})
	if outcome.IsDone() && isDeleting(obj) {
		return afterIO(outcome.Kind().String(), r.removeFinalizer(ctx, before))
	}
	return r.finish(ctx, before, obj, outcome)
}

// finish writes the outcome of a run into the object's conditions and returns the
// result for the queue.
func (r *Reconciler[T]) finish(ctx context.Context, before, obj T, outcome Outcome) (string, reconcile.Result, error) {
	word := outcome.Kind().String()
	var err error
	switch {
	case outcome.Kind() == KindFail && ctx.Err() != nil:
		// The process is stopping, so the failure says nothing about the object.
		err = r.save(ctx, before, obj, verdict{})
	default:
		v := verdictOf(outcome)
		r.judge(obj, v)
		if same(before, obj) {
			break
		}
		if wait := r.deferral(before, obj); wait > 0 {
			return word, reconcile.Result{RequeueAfter: soonest(wait, outcome.After()), Priority: new(priorityNormal)}, nil
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

// afterIO returns the result of a run that ends with a read or write of the
// object. A conflict requeues the object without an error. A missing object is a
// success, since it was deleted.
func afterIO(word string, err error) (string, reconcile.Result, error) {
	switch {
	case err == nil:
		return word, reconcile.Result{}, nil
	case apierrors.IsNotFound(err):
		return OutcomeDeleted, reconcile.Result{}, nil
	case apierrors.IsConflict(err):
		return OutcomeConflict, reconcile.Result{RequeueAfter: cacheRequeue}, nil
	default:
		return KindFail.String(), reconcile.Result{}, err
	}
}

// conclude sets the object's conditions and saves it.
func (r *Reconciler[T]) conclude(ctx context.Context, before, after T, v verdict) error {
	r.judge(after, v)
	return r.save(ctx, before, after, v)
}

// judge sets the object's conditions and what is summarized from them.
func (r *Reconciler[T]) judge(obj T, v verdict) {
	v.write(obj, metav1.NewTime(r.options.Clock.Now()))
	if r.options.Summarize != nil {
		r.options.Summarize(obj)
	}
}

// save writes the object if it changed.
func (r *Reconciler[T]) save(ctx context.Context, before, after T, v verdict) error {
	if same(before, after) {
		return nil
	}
	return r.write(ctx, before, after, v)
}

// same reports whether the objects are equal, with Kubernetes' equality of times
// and quantities. reflect.DeepEqual is much faster and almost always suffices.
func same(a, b client.Object) bool {
	return reflect.DeepEqual(a, b) || equality.Semantic.DeepEqual(a, b)
}

// write writes an object that changed, and records an Event if the Synced
// condition, the result of the last run, changed. The write does not end with
// ctx: when the process stops, the results of the steps must not be lost.
func (r *Reconciler[T]) write(ctx context.Context, before, after T, v verdict) error {
	synced := changedSynced(before, after)
	writeCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	if err := r.options.Writer.Write(writeCtx, before, after); err != nil {
		return err
	}
	r.fresh.wrote(after)
	r.options.Metrics.wrote(r.kind, "status")
	if r.options.DeferStatusWrite != nil {
		r.recent.wrote(client.ObjectKeyFromObject(after))
	}
	if synced != nil {
		log.FromContext(ctx).Info(synced.Message, "reason", synced.Reason)
		if !v.noEvent || isRecoveryOrRegression(before, after) {
			r.recordEvent(after, synced)
		}
	}
	return nil
}

// changedSynced returns the Synced condition of after if it differs from that of
// before, and nil otherwise.
func changedSynced(before, after client.Object) *metav1.Condition {
	was, is := FindCondition(before, ConditionSynced), FindCondition(after, ConditionSynced)
	if is == nil || was != nil && was.Status == is.Status && was.Reason == is.Reason && was.Message == is.Message {
		return nil
	}
	return is.DeepCopy()
}

// isRecoveryOrRegression reports whether an object is no longer Ready, or no
// longer has Synced False.
func isRecoveryOrRegression(before, after client.Object) bool {
	return has(before, ConditionReady, metav1.ConditionTrue) && !has(after, ConditionReady, metav1.ConditionTrue) ||
		has(before, ConditionSynced, metav1.ConditionFalse) && !has(after, ConditionSynced, metav1.ConditionFalse)
}

func has(obj client.Object, conditionType string, status metav1.ConditionStatus) bool {
	condition := FindCondition(obj, conditionType)
	return condition != nil && condition.Status == status
}

// deferral returns how long to defer the write of a run's changes, zero to write now.
func (r *Reconciler[T]) deferral(before, after T) time.Duration {
	if r.options.DeferStatusWrite == nil || isDeleting(after) {
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
	if !r.options.DeferStatusWrite(before, after) {
		return 0
	}
	return wait
}

func (r *Reconciler[T]) recordEvent(obj T, synced *metav1.Condition) {
	if r.options.Recorder == nil {
		return
	}
	eventType, action := corev1.EventTypeNormal, "Reconcile"
	if synced.Status == metav1.ConditionFalse {
		eventType = corev1.EventTypeWarning
	}
	if isDeleting(obj) {
		action = "Delete"
	}
	r.options.Recorder.Eventf(obj, nil, eventType, synced.Reason, action, "%s", cut(synced.Message, maxNote))
}

func (r *Reconciler[T]) addFinalizer(ctx context.Context, before, obj T) error {
	controllerutil.AddFinalizer(obj, r.options.Finalizer)
	return r.patchFinalizers(ctx, before, obj)
}

func (r *Reconciler[T]) removeFinalizer(ctx context.Context, before T) error {
	after := copyOf(before)
	controllerutil.RemoveFinalizer(after, r.options.Finalizer)
	r.fresh.release(before) // before the watch reports it
	err := r.patchFinalizers(ctx, before, after)
	if client.IgnoreNotFound(err) != nil {
		r.fresh.hold(before)
	}
	return err
}

func (r *Reconciler[T]) patchFinalizers(ctx context.Context, before, after T) error {
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.options.Client.Patch(ctx, after, patch); err != nil {
		return fmt.Errorf("write finalizers: %w", err)
	}
	if len(after.GetFinalizers()) > 0 { // Without finalizers a deleted object no longer exists.
		r.fresh.wrote(after)
	}
	r.options.Metrics.wrote(r.kind, "finalizer")
	return nil
}

// HasPausedAnnotation reports whether the annotation pauses an object: it exists,
// and its value is not false in the sense of strconv.ParseBool.
func HasPausedAnnotation(obj client.Object, annotation string) bool {
	value, ok := obj.GetAnnotations()[annotation]
	paused, err := strconv.ParseBool(value)
	return ok && (paused || err != nil)
}

func (r *Reconciler[T]) isPaused(obj T) bool {
	return HasPausedAnnotation(obj, r.options.PausedAnnotation) ||
		r.options.Paused != nil && r.options.Paused(obj)
}

// pause calls ReconcilePaused and sets the conditions of a paused object.
func (r *Reconciler[T]) pause(ctx context.Context, obj T) (string, reconcile.Result, error) {
	var after time.Duration
	if r.options.ReconcilePaused != nil {
		after = r.options.ReconcilePaused(ctx, copyOf(obj))
	}
	word, result, err := afterIO(OutcomePaused, r.conclude(ctx, copyOf(obj), obj, r.pausedVerdict(obj)))
	if err == nil && after > 0 {
		result.RequeueAfter = after
	}
	return word, result, err
}

func (r *Reconciler[T]) pausedVerdict(obj T) verdict {
	if r.options.ExplainPause != nil {
		if message := r.options.ExplainPause(obj); message != "" {
			return verdict{paused: true, reason: ReasonPaused, message: message}
		}
	}
	message := "The object is paused: the operator does not reconcile or delete it until it is resumed."
	if r.options.PausedAnnotation != "" {
		message = fmt.Sprintf(
			"The object is paused: the operator does not reconcile or delete it until the annotation %s is removed, or is \"false\".",
			r.options.PausedAnnotation,
		)
	}
	return verdict{paused: true, reason: ReasonPaused, message: message}
}

// sentence turns an error's text into a sentence: a capital letter and a period.
func sentence(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[size:] + "."
}

// Package operatorkit is a framework for Kubernetes operators. It provides what
// all operators share: finalizers, conditions, Events, retries, pauses, metrics
// and the order of work. You write only the steps. It is built on
// controller-runtime, takes objects and steps as input, and writes the objects'
// status. It must never depend on a particular kind of object or cloud.
//
// # Steps
//
// A [Step] manages one concern of one kind of object: a stack, a certificate, a
// DNS record. Its methods EnsureCreated and EnsureDeleted are called at every
// reconcile. Each observes what exists, starts at most what is missing, and
// returns an [Outcome]:
//
//   - [Done]: nothing is left to do.
//   - [Wait]: in progress; requeue the object after a while.
//   - [Stall]: a user must act; do nothing until the object changes.
//   - [Fail]: an error that may be transient; retry with backoff. A panic in a
//     step is a Fail too.
//
// A step never waits or sleeps, and never writes its object: it changes the
// object's status in memory, and the reconciler writes it. [NewStep] makes a step
// from two functions.
//
// # Pipelines
//
// A [Pipeline] is an ordered list of steps. It runs them first to last for a live
// object, and last to first for one that is being deleted. It stops at the first
// step that is not done, because later steps may depend on it. [All] groups steps
// that do not depend on each other: it runs all of them and aggregates their
// outcomes. [Sequence] is an ordered list within All. A [Router] picks among
// several pipelines by the object's release.
//
// # Reconcile
//
// A [Reconciler] runs these steps for each object:
//
//   - Skip the object if it is paused (Options.PausedAnnotation).
//   - Pick its pipeline, and stall the object if there is none.
//   - Add the finalizer, before the first effect.
//   - Run the pipeline.
//   - Translate the outcome into conditions.
//   - Write the status once, if anything changed, and record an Event if the
//     outcome changed (see [Outcome.WithoutEvent] and Options.DeferStatusWrite).
//   - When the object is being deleted and all steps are done, remove the
//     finalizer instead.
//
// The write fails if another client changed the object in between; then the
// object is requeued without an Event. A reconciler never acts on a cache that is
// older than its own last write, so a step can rely on what it recorded in the
// status in the last run.
//
// # Conditions
//
// The reconciler writes four conditions, each with a reason, a message and the
// observed generation. All other conditions belong to steps ([SetCondition]). The
// conditions follow kstatus: Stalled and Reconciling are True or absent.
//
//	             Ready              Synced    Stalled    Reconciling
//	Done         True               True      -          -
//	Wait         False              True      -          True
//	  degraded   False              False     -          True
//	Stall        False              False     True       -
//	Fail         False/unchanged    False     -          True
//	paused       unchanged          Unknown   unchanged  -
//
// Ready means that everything the current generation asks for exists. Synced is
// the result of the last run. A failure says nothing about what exists, so an
// object that is Ready at the current generation stays Ready. Ready is Unknown
// only for an object that was created paused.
//
// # Triggers
//
// An object is reconciled after a change of its generation, labels or
// annotations, after its deletion, after the time given to Wait or RequeueAfter,
// after the delay of a failure, after a change of an owned object ([Owned]), after
// [Reconciler.Enqueue], and at a restart or resync. A change of only the status
// does not trigger a reconcile. The queue orders edits before enqueued objects,
// those before new objects, and those before the initial list at a start. A
// [BackgroundLimiter] also limits concurrency while users edit objects.
//
// # Other parts
//
// [EnsureCRDs] applies the operator's CRDs and waits until the API server serves
// them. [NewMetrics] counts and times steps, reconciles and writes.
// [Reconciler.Run] is for kinds that are added and removed at run time.
//
// The package's example is a complete operator. README.md is a reference by
// example, and docs/tutorial.md builds an operator from an empty folder.
package operatorkit

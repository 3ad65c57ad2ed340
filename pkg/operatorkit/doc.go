// Package operatorkit is what is left of an operator when everything is taken
// out that all operators do alike. It stands on controller-runtime and knows
// no kind of object and no cloud.
//
// # Steps
//
// The author of an operator writes steps. A [Step] looks after one concern of
// one kind of object: a stack, a certificate, a DNS record. It has two
// methods, EnsureCreated and EnsureDeleted, which are called again and again;
// each looks at what exists, starts at most what is missing and says at once
// how it stands:
//
//   - [Done]: nothing left to do.
//   - [Wait]: not yet; look again after a while.
//   - [Stall]: a person must act; do nothing until the object changes.
//   - [Fail]: an error that may pass; try again with growing delays. A panic
//     in a step is one of these.
//
// A step never waits or sleeps, and never writes its object: it changes the
// object's status in memory and leaves the rest to the kit. [NewStep] makes a
// step of two functions.
//
// # Pipelines
//
// A [Pipeline] is an ordered list of steps. For a live object it runs them
// first to last, for a deleted one last to first. A step that is not done ends
// the run, since the steps behind it may need what it makes. Where the
// behaviour depends on an object's release, a [Router] picks among several
// pipelines by ranges of semantic versions.
//
// # One reconcile
//
// A [Reconciler] ties it together. Each time it looks at an object it
//
//   - leaves it alone if it is paused (see Options.PausedAnnotation),
//   - picks the pipeline, and stalls the object if there is none,
//   - puts its finalizer on it, before the first effect,
//   - runs the steps,
//   - turns their outcome into conditions,
//   - writes the status once, if anything changed, and records an Event, if
//     the outcome is a new one (what only says how far things are makes none,
//     and may be written a moment later; see [Outcome.Quietly] and Options.Later),
//   - or removes the finalizer, when all steps are done deleting.
//
// The write is a JSON merge patch that fails if someone else wrote in between;
// then the object is looked at again, quietly. A reconciler does not act on a
// cache that lags behind its own last write, so a step may rely on what it
// recorded in the status in the last run.
//
// Kinds that show results outside their status use [NewFieldsWriter].
//
// # Conditions
//
// The kit writes four conditions, always with a reason, a sentence and the
// generation that they speak of; the object's other conditions belong to its
// steps ([SetCondition]). They follow kstatus: Stalled and Reconciling are
// True or absent.
//
//	            Ready              Synced    Stalled   Reconciling
//	Done        True               True      -         -
//	Wait        False              True      -         True
//	  troubled  False              False     -         True
//	Stall       False              False     True      -
//	Fail        False, or as is    False     -         True
//	paused      as is              Unknown   as is     -
//
// Ready means that everything the current generation asks for is in place.
// Synced tells how the last run went. A failed look says nothing about what
// exists, so what was Ready for the current generation stays so. Pausing an
// object makes nothing unready; Ready is Unknown only for an object that was
// paused from birth.
//
// # What makes it look
//
// A change of an object's generation, labels or annotations, its deletion, the
// time given to Wait, a failure's delay, a change of an owned object ([Owned]),
// news from outside ([Reconciler.Wake]), a restart and the cache's resync. A
// change of the status alone, which is the kit's own doing, does not. Edits
// come before news, news before new objects, and those before the look at
// everything that follows a start; and while edits arrive, a Pace holds the rest back. Eight objects are worked on at once,
// unless told otherwise.
//
// # Around it
//
// [EnsureCRDs] makes sure that the API server serves the operator's kinds.
// [NewMetrics] counts and times steps, reconciles and writes. [Reconciler.Run]
// is for kinds that come and go while the operator runs.
//
// The package's example is a whole operator.
package operatorkit

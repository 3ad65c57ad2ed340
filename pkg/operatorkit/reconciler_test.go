package operatorkit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

type outcomeFunc = operatorkit.StepFunc[*Widget]

func TestStepsRunInOrderAndDeleteInReverse(t *testing.T) {
	w, seen := newSuite(t), &callLog{}
	guard := operatorkit.NewStep("guard", func(ctx context.Context, widget *Widget) operatorkit.Outcome {
		if !controllerutil.ContainsFinalizer(w.get(widget.Name), finalizer) {
			seen.note("an effect before the finalizer")
		}
		return operatorkit.Done()
	}, nil)
	w.operate(operatorkit.Options[*Widget]{Pipelines: operatorkit.NewPipeline(guard, seen.step("a"), seen.step("b"), seen.step("c"))})

	w.create("one")
	widget := w.waitFor("one", "Ready", metav1.ConditionTrue, operatorkit.ReasonReady)
	if widget.Status.ObservedGeneration != widget.Generation {
		t.Errorf("observed generation %d, want %d", widget.Status.ObservedGeneration, widget.Generation)
	}
	if diff := cmp.Diff([]string{"+a", "+b", "+c"}, seen.read()); diff != "" {
		t.Errorf("creation runs the steps first to last, once (-want +got):\n%s", diff)
	}
	w.delete("one")
	w.waitDeleted("one")
	if diff := cmp.Diff([]string{"+a", "+b", "+c", "-c", "-b", "-a"}, seen.read()); diff != "" {
		t.Errorf("deletion runs the steps last to first, once (-want +got):\n%s", diff)
	}
}

func TestDeletedObjectRemainsUntilEveryStepIsDone(t *testing.T) {
	w := newSuite(t)
	var deleted atomic.Bool
	r := w.operate(operatorkit.Options[*Widget]{Pipelines: operatorkit.NewPipeline(operatorkit.NewStep("stack", nil,
		func(context.Context, *Widget) operatorkit.Outcome {
			if !deleted.Load() {
				return operatorkit.Wait(0, "Deleting", "The stack is being deleted.")
			}
			return operatorkit.Done()
		}))})
	widget := w.create("one")
	w.waitFor("one", "Ready", metav1.ConditionTrue, operatorkit.ReasonReady)
	w.delete("one")
	w.waitFor("one", "Ready", metav1.ConditionFalse, "Deleting")
	deleted.Store(true)
	r.Enqueue(client.ObjectKeyFromObject(widget))
	w.waitDeleted("one")
}

func TestPipelineStopsAtTheFirstStepThatIsNotDone(t *testing.T) {
	w, seen := newSuite(t), &callLog{}
	var ready atomic.Bool
	r := w.operate(operatorkit.Options[*Widget]{Pipelines: operatorkit.NewPipeline(
		operatorkit.NewStep("stack", func(context.Context, *Widget) operatorkit.Outcome {
			if !ready.Load() {
				return operatorkit.Wait(0, "StackInProgress", "The stack is being created.")
			}
			return operatorkit.Done().Explain("StackComplete", "The stack is complete.")
		}, nil), seen.step("config"),
	)})
	widget := w.create("one")
	waiting := w.waitFor("one", "Ready", metav1.ConditionFalse, "StackInProgress")
	if c := operatorkit.FindCondition(waiting, operatorkit.ConditionSynced); c == nil || c.Status != metav1.ConditionTrue {
		t.Errorf("a Wait that is not degraded must have Synced True: %+v", c)
	}
	if got := seen.read(); len(got) != 0 {
		t.Errorf("steps after the waiting one ran: %v", got)
	}
	ready.Store(true)
	r.Enqueue(client.ObjectKeyFromObject(widget))
	w.waitFor("one", "Ready", metav1.ConditionTrue, "StackComplete")
}

func TestWaitRequeuesTheObject(t *testing.T) {
	w := newSuite(t)
	var runs atomic.Int64
	w.operate(operatorkit.Options[*Widget]{Pipelines: operatorkit.NewPipeline(
		operatorkit.NewStep("stack", func(context.Context, *Widget) operatorkit.Outcome {
			if runs.Add(1) < 3 {
				return operatorkit.Wait(time.Millisecond, "StackInProgress", "The stack is being created.")
			}
			return operatorkit.Done()
		}, nil),
	)})
	w.create("one")
	w.waitFor("one", "Ready", metav1.ConditionTrue, operatorkit.ReasonReady)
}

func TestStallWithRequeueAfterIsRequeued(t *testing.T) {
	w := newSuite(t)
	var runs atomic.Int64
	w.operate(operatorkit.Options[*Widget]{Pipelines: operatorkit.NewPipeline(
		operatorkit.NewStep("check", func(context.Context, *Widget) operatorkit.Outcome {
			runs.Add(1)
			return operatorkit.Stall("SizeMissing", "Set spec.size.").RequeueAfter(10 * time.Millisecond)
		}, nil),
	)})
	w.create("one")
	w.waitFor("one", operatorkit.ConditionStalled, metav1.ConditionTrue, "SizeMissing")
	w.eventually("further runs", func() bool { return runs.Load() > 2 }, func() any { return runs.Load() })
}

func TestStalledObjectIsReconciledOnlyAfterAnEdit(t *testing.T) {
	w := newSuite(t)
	var runs atomic.Int64
	w.operate(operatorkit.Options[*Widget]{Pipelines: operatorkit.NewPipeline(
		operatorkit.NewStep("check", func(_ context.Context, widget *Widget) operatorkit.Outcome {
			runs.Add(1)
			if widget.Spec.Size == 0 {
				return operatorkit.Stall("SizeMissing", "Set spec.size.")
			}
			return operatorkit.Done()
		}, nil),
	)})
	w.create("one")
	widget := w.waitFor("one", operatorkit.ConditionStalled, metav1.ConditionTrue, "SizeMissing")
	if c := operatorkit.FindCondition(widget, operatorkit.ConditionReconciling); c != nil {
		t.Errorf("a stalled object must not have Reconciling: %+v", c)
	}
	// Other objects do not cause reconciles of the stalled one.
	w.create("two")
	w.waitFor("two", operatorkit.ConditionStalled, metav1.ConditionTrue, "SizeMissing")
	if got := runs.Load(); got != 2 {
		t.Errorf("%d runs for two stalled objects, want 2", got)
	}
	w.edit("one", func(widget *Widget) { widget.Spec.Size = 1 })
	widget = w.waitFor("one", operatorkit.ConditionReady, metav1.ConditionTrue, operatorkit.ReasonReady)
	if c := operatorkit.FindCondition(widget, operatorkit.ConditionStalled); c != nil {
		t.Errorf("Stalled should be removed: %+v", c)
	}
	w.eventually("two Events", func() bool { return len(w.events("one")) == 2 }, func() any { return w.events("one") })
	want := []string{"Warning SizeMissing Set spec.size.", "Normal Ready All resources of this object are up to date."}
	if diff := cmp.Diff(want, w.events("one")); diff != "" {
		t.Errorf("one Event per change (-want +got):\n%s", diff)
	}
}

func TestWaitWithoutEventRecordsNoEvent(t *testing.T) {
	w := newSuite(t)
	var ready atomic.Int64
	controller := w.operate(operatorkit.Options[*Widget]{Pipelines: operatorkit.NewPipeline(
		operatorkit.NewStep("count", func(context.Context, *Widget) operatorkit.Outcome {
			if n := ready.Load(); n < 3 {
				return operatorkit.Wait(0, "PartsMissing", fmt.Sprintf("%d of 3 parts are ready.", n)).WithoutEvent()
			}
			return operatorkit.Done()
		}, nil),
	)})
	w.create("one")
	key := client.ObjectKeyFromObject(w.get("one"))
	says := func(message string) {
		t.Helper()
		w.eventually(message, func() bool {
			c := operatorkit.FindCondition(w.get("one"), operatorkit.ConditionReady)
			return c != nil && c.Message == message
		}, func() any { return w.get("one").Status })
	}
	move := func(n int64) {
		ready.Store(n)
		controller.Enqueue(key)
	}
	says("0 of 3 parts are ready.")
	move(2)
	says("2 of 3 parts are ready.")
	move(3)
	w.waitFor("one", operatorkit.ConditionReady, metav1.ConditionTrue, operatorkit.ReasonReady)
	move(1) // The object is no longer Ready, so there is an Event.
	says("1 of 3 parts are ready.")
	w.eventually("two Events", func() bool { return len(w.events("one")) == 2 }, func() any { return w.events("one") })
	want := []string{"Normal Ready All resources of this object are up to date.", "Normal PartsMissing 1 of 3 parts are ready."}
	if diff := cmp.Diff(want, w.events("one")); diff != "" {
		t.Errorf("Events only when Ready changes (-want +got):\n%s", diff)
	}
}

// countingWriter counts the writes of the status.
type countingWriter struct {
	operatorkit.Writer[*Widget]

	writes atomic.Int64
}

func (w *countingWriter) Write(ctx context.Context, before, after *Widget) error {
	w.writes.Add(1)
	return w.Writer.Write(ctx, before, after) //nolint:wrapcheck // It only delegates.
}

func TestDeferredStatusWritesAreCombined(t *testing.T) {
	w := newSuite(t)
	const parts = 50
	var runs atomic.Int64
	writer := &countingWriter{Writer: operatorkit.NewStatusWriter[*Widget](w.mgr.GetClient())}
	w.operate(operatorkit.Options[*Widget]{
		Writer: writer, DeferStatusWrite: func(_, _ *Widget) bool { return true },
		Pipelines: operatorkit.NewPipeline(operatorkit.NewStep("count", func(_ context.Context, widget *Widget) operatorkit.Outcome {
			widget.Status.Made = min(runs.Add(1), parts)
			return operatorkit.Wait(time.Millisecond, "PartsMissing", fmt.Sprintf("%d parts are ready.", widget.Status.Made)).WithoutEvent()
		}, nil)),
	})
	w.create("one")
	w.eventually(
		"all parts are reported", func() bool { return w.get("one").Status.Made == parts }, func() any { return w.get("one").Status },
	)
	if writes := writer.writes.Load(); writes >= parts {
		t.Errorf("%d writes for %d parts, want fewer", writes, parts)
	}
}

func TestFailureIsRetried(t *testing.T) {
	cases := map[string]struct {
		failure       outcomeFunc
		reason, words string
	}{
		"a plain error is reported with its step": {
			failure: func(context.Context, *Widget) operatorkit.Outcome {
				return operatorkit.Fail(errors.New("the line is busy"))
			},
			reason: operatorkit.ReasonFailed, words: `Step "call" failed and will be retried: the line is busy.`,
		},
		"an explained error is reported as explained": {
			failure: func(context.Context, *Widget) operatorkit.Outcome {
				return operatorkit.Fail(errors.New("RequestID: 1234")).Explain("Busy", "The line is busy. The call will be retried.")
			},
			reason: "Busy", words: "The line is busy. The call will be retried.",
		},
		"NotFound of another object": {
			failure: func(context.Context, *Widget) operatorkit.Outcome {
				return operatorkit.Fail(apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, "key"))
			},
			reason: operatorkit.ReasonFailed, words: `Step "call" failed and will be retried: secrets "key" not found.`,
		},
		"a panic is reported with its step": {
			failure: func(context.Context, *Widget) operatorkit.Outcome { panic("nil map") },
			reason:  operatorkit.ReasonFailed, words: `Step "call" failed and will be retried: panic: nil map.`,
		},
		"an uninitialized outcome": {
			failure: func(context.Context, *Widget) operatorkit.Outcome { return operatorkit.Outcome{} },
			reason:  operatorkit.ReasonFailed, words: `Step "call" failed and will be retried: the step returned no outcome.`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newSuite(t)
			var recovered atomic.Bool
			w.operate(operatorkit.Options[*Widget]{Pipelines: operatorkit.NewPipeline(
				operatorkit.NewStep("call", func(ctx context.Context, widget *Widget) operatorkit.Outcome {
					if recovered.Load() {
						return operatorkit.Done()
					}
					return tc.failure(ctx, widget)
				}, nil),
			)})
			w.create("one")
			widget := w.waitFor("one", operatorkit.ConditionSynced, metav1.ConditionFalse, tc.reason)
			if got := operatorkit.FindCondition(widget, operatorkit.ConditionReady).Message; got != tc.words {
				t.Errorf("message %q, want %q", got, tc.words)
			}
			recovered.Store(true)
			w.waitFor("one", operatorkit.ConditionReady, metav1.ConditionTrue, operatorkit.ReasonReady)
		})
	}
}

func TestObjectThatIsNotAdmittedHasNoFinalizer(t *testing.T) {
	w, seen := newSuite(t), &callLog{}
	const noted = "example.com/noted"
	w.operate(operatorkit.Options[*Widget]{
		Pipelines: operatorkit.NewPipeline(seen.step("a")),
		Admit: func(_ context.Context, widget *Widget) operatorkit.Outcome {
			if widget.Annotations["admit"] == "" {
				return operatorkit.Stall("NotAdmitted", "Annotate it.")
			}
			widget.Annotations[noted] = "yes"
			return operatorkit.Done()
		},
	})
	w.create("one")
	widget := w.waitFor("one", operatorkit.ConditionStalled, metav1.ConditionTrue, "NotAdmitted")
	if len(widget.Finalizers) > 0 {
		t.Errorf("it has the finalizers %v", widget.Finalizers)
	}
	w.delete("one") // needs nothing from the operator
	w.waitDeleted("one")
	if ran := seen.read(); len(ran) > 0 {
		t.Errorf("these steps ran: %v", ran)
	}

	w.create("two")
	w.waitFor("two", operatorkit.ConditionStalled, metav1.ConditionTrue, "NotAdmitted")
	w.edit("two", func(widget *Widget) { widget.Annotations = map[string]string{"admit": "yes"} })
	widget = w.waitFor("two", "Ready", metav1.ConditionTrue, operatorkit.ReasonReady)
	if widget.Annotations[noted] != "yes" || len(widget.Finalizers) != 1 {
		t.Errorf("it has the annotations %v and the finalizers %v", widget.Annotations, widget.Finalizers)
	}
	w.delete("two")
	w.waitDeleted("two")
	if ran := seen.read(); ran[0] != "+a" || ran[len(ran)-1] != "-a" {
		t.Errorf("the steps of an admitted object ran as %v", ran)
	}
}

func TestPausedObjectIsNeitherReconciledNorDeleted(t *testing.T) {
	w, seen := newSuite(t), &callLog{}
	w.operate(operatorkit.Options[*Widget]{Pipelines: operatorkit.NewPipeline(seen.step("a"))})
	w.create("one")
	w.waitFor("one", "Ready", metav1.ConditionTrue, operatorkit.ReasonReady)
	w.edit("one", func(widget *Widget) { widget.Annotations = map[string]string{paused: "true"} })
	widget := w.waitFor("one", operatorkit.ConditionSynced, metav1.ConditionUnknown, operatorkit.ReasonPaused)
	if c := operatorkit.FindCondition(widget, operatorkit.ConditionReady); c.Status != metav1.ConditionTrue {
		t.Errorf("a pause must not change Ready: %+v", c)
	}
	w.delete("one")
	w.waitFor("one", operatorkit.ConditionSynced, metav1.ConditionUnknown, operatorkit.ReasonPaused)
	if diff := cmp.Diff([]string{"+a"}, seen.read()); diff != "" {
		t.Errorf("no step may run during a pause (-want +got):\n%s", diff)
	}
	w.edit("one", func(widget *Widget) { widget.Annotations = map[string]string{paused: "false"} })
	w.waitDeleted("one")
}

func TestFieldOfTheSpecPausesAnObject(t *testing.T) {
	w, seen := newSuite(t), &callLog{}
	w.operate(operatorkit.Options[*Widget]{
		Pipelines: operatorkit.NewPipeline(seen.step("a")),
		Paused:    func(widget *Widget) bool { return widget.Spec.Size == 0 },
	})
	w.create("one")
	widget := w.waitFor("one", operatorkit.ConditionReady, metav1.ConditionUnknown, operatorkit.ReasonPaused)
	if controllerutil.ContainsFinalizer(widget, finalizer) || len(seen.read()) != 0 {
		t.Errorf("an object that was created paused was changed: %v, %v", widget.Finalizers, seen.read())
	}
	w.edit("one", func(widget *Widget) { widget.Spec.Size = 1 })
	w.waitFor("one", operatorkit.ConditionReady, metav1.ConditionTrue, operatorkit.ReasonReady)
}

// TestSummaryFollowsTheConditions tests that Summarize sees the conditions of the run, also of a pause.
func TestSummaryFollowsTheConditions(t *testing.T) {
	w, seen := newSuite(t), &callLog{}
	w.operate(operatorkit.Options[*Widget]{
		Pipelines:    operatorkit.NewPipeline(seen.step("a")),
		Paused:       func(widget *Widget) bool { return widget.Spec.Size == 0 },
		ExplainPause: func(widget *Widget) string { return "Widgets of size 0 are paused." },
		Summarize: func(widget *Widget) {
			synced := operatorkit.FindCondition(widget, operatorkit.ConditionSynced)
			operatorkit.SetCondition(widget, metav1.Condition{Type: "Summary", Status: synced.Status, Reason: synced.Reason, Message: synced.Message})
		},
	})
	w.create("one")
	widget := w.waitFor("one", "Summary", metav1.ConditionUnknown, operatorkit.ReasonPaused)
	if got := operatorkit.FindCondition(widget, "Summary").Message; got != "Widgets of size 0 are paused." {
		t.Errorf("message %q", got)
	}
	w.edit("one", func(widget *Widget) { widget.Spec.Size = 1 })
	w.waitFor("one", "Summary", metav1.ConditionTrue, operatorkit.ReasonReady)
}

func TestReconcilePausedRunsDuringAPause(t *testing.T) {
	w, seen := newSuite(t), &callLog{}
	var runs atomic.Int32
	repeated := make(chan struct{})
	w.operate(operatorkit.Options[*Widget]{
		Pipelines: operatorkit.NewPipeline(seen.step("a")),
		Paused:    func(*Widget) bool { return true },
		ReconcilePaused: func(_ context.Context, widget *Widget) time.Duration {
			widget.Spec.Size = 7 // It is not written.
			if runs.Add(1) == 3 {
				close(repeated)
			}
			return time.Millisecond
		},
	})
	w.create("one")
	widget := w.waitFor("one", operatorkit.ConditionSynced, metav1.ConditionUnknown, operatorkit.ReasonPaused)
	select {
	case <-repeated:
	case <-time.After(patience):
		t.Fatalf("ReconcilePaused ran %d times, want 3", runs.Load())
	}
	if widget.Spec.Size == 7 || len(seen.read()) != 0 {
		t.Errorf("the pause was not respected: %+v, %v", widget.Spec, seen.read())
	}
}

func TestReconcileWithoutChangesWritesNothing(t *testing.T) {
	w, seen := newSuite(t), &callLog{}
	registry := prometheus.NewRegistry()
	metrics, err := operatorkit.NewMetrics("test", registry)
	if err != nil {
		t.Fatal(err)
	}
	r := w.operate(operatorkit.Options[*Widget]{Pipelines: operatorkit.NewPipeline(seen.step("a")), Metrics: metrics})
	widget := w.create("one")
	before := w.waitFor("one", "Ready", metav1.ConditionTrue, operatorkit.ReasonReady)
	r.Enqueue(client.ObjectKeyFromObject(widget))
	w.eventually("a second run", func() bool { return len(seen.read()) == 2 }, func() any { return seen.read() })
	w.delete("one")
	w.eventually("deletion", func() bool { return slices.Contains(seen.read(), "-a") }, func() any { return seen.read() })
	w.waitDeleted("one")
	if before.Generation != 1 {
		t.Errorf("the operator changed the spec: generation %d", before.Generation)
	}
	want := `
# HELP test_reconcile_writes_total Writes of reconciled objects to the API server.
# TYPE test_reconcile_writes_total counter
test_reconcile_writes_total{kind="Widget",what="finalizer"} 2
test_reconcile_writes_total{kind="Widget",what="status"} 1
`
	w.eventually("all writes are counted", func() bool {
		return testutil.GatherAndCompare(registry, strings.NewReader(want), "test_reconcile_writes_total") == nil
	}, func() any {
		return testutil.GatherAndCompare(registry, strings.NewReader(want), "test_reconcile_writes_total")
	})
	if n, err := testutil.GatherAndCount(registry, "test_step_duration_seconds"); err != nil || n != 1 {
		t.Errorf("%d series of step durations, %v; want 1: kind Widget, step a, done", n, err)
	}
}

func TestConflictIsRetriedWithoutAnEvent(t *testing.T) {
	w := newSuite(t)
	var edited atomic.Bool
	registry := prometheus.NewRegistry()
	metrics, err := operatorkit.NewMetrics("test", registry)
	if err != nil {
		t.Fatal(err)
	}
	w.operate(operatorkit.Options[*Widget]{Metrics: metrics, Pipelines: operatorkit.NewPipeline(
		operatorkit.NewStep("a", func(_ context.Context, widget *Widget) operatorkit.Outcome {
			if !edited.Swap(true) {
				other := w.get(widget.Name)
				other.Status.Made = 6
				if err := w.c.Status().Update(t.Context(), other); err != nil {
					t.Error(err)
				}
			}
			widget.Status.Made++
			return operatorkit.Done()
		}, nil),
	)})
	w.create("one")
	widget := w.waitFor("one", "Ready", metav1.ConditionTrue, operatorkit.ReasonReady)
	if widget.Status.Made != 7 {
		t.Errorf("made %d, want 7 after the concurrent write", widget.Status.Made)
	}
	w.eventually("the Event of readiness", func() bool { return len(w.events("one")) > 0 }, func() any { return nil })
	if diff := cmp.Diff([]string{"Normal Ready All resources of this object are up to date."}, w.events("one")); diff != "" {
		t.Errorf("a conflict must not record an Event (-want +got):\n%s", diff)
	}
}

func TestFailureKeepsReadyOfTheSameGeneration(t *testing.T) {
	w := newSuite(t)
	var failing atomic.Bool
	r := w.operate(operatorkit.Options[*Widget]{Pipelines: operatorkit.NewPipeline(
		operatorkit.NewStep("check", func(context.Context, *Widget) operatorkit.Outcome {
			if failing.Load() {
				return operatorkit.Fail(errors.New("the line is busy"))
			}
			return operatorkit.Done()
		}, nil),
	)})
	widget := w.create("one")
	w.waitFor("one", "Ready", metav1.ConditionTrue, operatorkit.ReasonReady)
	failing.Store(true)
	r.Enqueue(client.ObjectKeyFromObject(widget))
	widget = w.waitFor("one", operatorkit.ConditionSynced, metav1.ConditionFalse, operatorkit.ReasonFailed)
	if c := operatorkit.FindCondition(widget, operatorkit.ConditionReady); c.Status != metav1.ConditionTrue {
		t.Errorf("a failure must not change Ready: %+v", c)
	}
	w.edit("one", func(widget *Widget) { widget.Spec.Size = 1 })
	w.waitFor("one", operatorkit.ConditionReady, metav1.ConditionFalse, operatorkit.ReasonFailed)
}

func TestEditOvertakesABacklogOfNewObjects(t *testing.T) {
	const crowd = 20
	w, seen := newSuite(t), &callLog{}
	var block atomic.Pointer[chan struct{}]
	w.operate(operatorkit.Options[*Widget]{MaxConcurrentReconciles: 1, Pipelines: operatorkit.NewPipeline(
		operatorkit.NewStep("a", func(_ context.Context, widget *Widget) operatorkit.Outcome {
			seen.note(widget.Name)
			if gate := block.Load(); gate != nil {
				<-*gate
			}
			return operatorkit.Done()
		}, nil),
	)})
	w.create("idle")
	w.waitFor("idle", "Ready", metav1.ConditionTrue, operatorkit.ReasonReady)

	gate := make(chan struct{})
	block.Store(&gate)
	for i := range crowd {
		w.create(fmt.Sprintf("new-%d", i))
	}
	w.edit("idle", func(widget *Widget) { widget.Spec.Size = 1 })
	w.eventually("the cache contains the edit", func() bool {
		cached := &Widget{}
		err := w.mgr.GetCache().Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "idle"}, cached)
		return err == nil && cached.Spec.Size == 1
	}, func() any { return nil })
	close(gate)
	w.eventually("all are done", func() bool { return len(seen.read()) >= crowd+2 }, func() any { return seen.read() })
	order := seen.read()[1:]
	if at := slices.Index(order, "idle"); at > crowd/2 {
		t.Errorf("the edit was number %d of %v", at, order)
	}
}

func TestUnknownReleaseStallsTheObject(t *testing.T) {
	w, seen := newSuite(t), &callLog{}
	router, err := operatorkit.NewRouter(func(widget *Widget) string { return widget.Spec.Release },
		operatorkit.Route[*Widget]{Releases: ">=1.0.0 <2.0.0-0", Pipeline: operatorkit.NewPipeline(seen.step("one"))},
		operatorkit.Route[*Widget]{Releases: "^2", Pipeline: operatorkit.NewPipeline(seen.step("two"))})
	if err != nil {
		t.Fatal(err)
	}
	w.operate(operatorkit.Options[*Widget]{Pipelines: router})
	w.create("one")
	w.edit("one", func(widget *Widget) { widget.Spec.Release = "3.0.0" })
	widget := w.waitFor("one", operatorkit.ConditionStalled, metav1.ConditionTrue, operatorkit.ReasonUnknownRelease)
	want := `This operator does not support release "3.0.0"; supported releases are ">=1.0.0 <2.0.0-0", "^2".`
	if got := operatorkit.FindCondition(widget, operatorkit.ConditionStalled).Message; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
	w.edit("one", func(widget *Widget) { widget.Spec.Release = "2.1.0" })
	w.waitFor("one", operatorkit.ConditionReady, metav1.ConditionTrue, operatorkit.ReasonReady)
	if diff := cmp.Diff([]string{"+two"}, seen.read()); diff != "" {
		t.Errorf("the wrong pipeline ran (-want +got):\n%s", diff)
	}
}

// The canceled call must not be reported as a failure of the object.
func TestStatusIsWrittenWhenTheProcessStops(t *testing.T) {
	w := newSuite(t)
	ctx, stop := context.WithCancel(t.Context())
	r, err := operatorkit.NewReconciler(operatorkit.Options[*Widget]{
		Client: w.c, Finalizer: finalizer,
		Pipelines: operatorkit.NewPipeline(operatorkit.NewStep("call", func(ctx context.Context, widget *Widget) operatorkit.Outcome {
			widget.Status.Made = 1
			stop()
			return operatorkit.Fail(ctx.Err())
		}, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	widget := w.create("one")
	if _, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(widget)}); !errors.Is(
		err, context.Canceled,
	) {
		t.Errorf("got %v, want the cancellation", err)
	}
	widget = w.get("one")
	if widget.Status.Made != 1 || len(widget.Status.Conditions) != 0 {
		t.Errorf("status %+v, want Made and no conditions", widget.Status)
	}
}

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

func TestLivesAndDiesInOrder(t *testing.T) {
	w, seen := newSuite(t), &diary{}
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
		t.Errorf("creating, steps run first to last and once (-want +got):\n%s", diff)
	}
	w.delete("one")
	w.waitGone("one")
	if diff := cmp.Diff([]string{"+a", "+b", "+c", "-c", "-b", "-a"}, seen.read()); diff != "" {
		t.Errorf("deleting, steps run last to first and once (-want +got):\n%s", diff)
	}
}

func TestDeletionKeepsTheObjectUntilEveryStepIsDone(t *testing.T) {
	w := newSuite(t)
	var mayGo atomic.Bool
	r := w.operate(operatorkit.Options[*Widget]{Pipelines: operatorkit.NewPipeline(operatorkit.NewStep("stack", nil,
		func(context.Context, *Widget) operatorkit.Outcome {
			if !mayGo.Load() {
				return operatorkit.Wait(0, "Deleting", "The stack is being deleted.")
			}
			return operatorkit.Done()
		}))})
	widget := w.create("one")
	w.waitFor("one", "Ready", metav1.ConditionTrue, operatorkit.ReasonReady)
	w.delete("one")
	w.waitFor("one", "Ready", metav1.ConditionFalse, "Deleting")
	mayGo.Store(true)
	r.Wake(client.ObjectKeyFromObject(widget))
	w.waitGone("one")
}

func TestStepThatIsNotDoneEndsTheRun(t *testing.T) {
	w, seen := newSuite(t), &diary{}
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
		t.Errorf("waiting is no trouble, so Synced should be True: %+v", c)
	}
	if got := seen.read(); len(got) != 0 {
		t.Errorf("steps after the waiting one ran: %v", got)
	}
	ready.Store(true)
	r.Wake(client.ObjectKeyFromObject(widget))
	w.waitFor("one", "Ready", metav1.ConditionTrue, "StackComplete")
}

func TestWaitLooksAgainByItself(t *testing.T) {
	w := newSuite(t)
	var looks atomic.Int64
	w.operate(operatorkit.Options[*Widget]{Pipelines: operatorkit.NewPipeline(
		operatorkit.NewStep("stack", func(context.Context, *Widget) operatorkit.Outcome {
			if looks.Add(1) < 3 {
				return operatorkit.Wait(time.Millisecond, "StackInProgress", "The stack is being created.")
			}
			return operatorkit.Done()
		}, nil),
	)})
	w.create("one")
	w.waitFor("one", "Ready", metav1.ConditionTrue, operatorkit.ReasonReady)
}

// A stalled object may have other things to be looked after.
func TestStallLooksAgainIfAsked(t *testing.T) {
	w := newSuite(t)
	var looks atomic.Int64
	w.operate(operatorkit.Options[*Widget]{Pipelines: operatorkit.NewPipeline(
		operatorkit.NewStep("check", func(context.Context, *Widget) operatorkit.Outcome {
			looks.Add(1)
			return operatorkit.Stall("SizeMissing", "Set spec.size.").LookAgain(10 * time.Millisecond)
		}, nil),
	)})
	w.create("one")
	w.waitFor("one", operatorkit.ConditionStalled, metav1.ConditionTrue, "SizeMissing")
	w.eventually("further looks", func() bool { return looks.Load() > 2 }, func() any { return looks.Load() })
}

func TestStallWaitsForAPerson(t *testing.T) {
	w := newSuite(t)
	var looks atomic.Int64
	w.operate(operatorkit.Options[*Widget]{Pipelines: operatorkit.NewPipeline(
		operatorkit.NewStep("check", func(_ context.Context, widget *Widget) operatorkit.Outcome {
			looks.Add(1)
			if widget.Spec.Size == 0 {
				return operatorkit.Stall("SizeMissing", "Set spec.size.")
			}
			return operatorkit.Done()
		}, nil),
	)})
	w.create("one")
	widget := w.waitFor("one", operatorkit.ConditionStalled, metav1.ConditionTrue, "SizeMissing")
	if c := operatorkit.FindCondition(widget, operatorkit.ConditionReconciling); c != nil {
		t.Errorf("a stalled object is not being reconciled: %+v", c)
	}
	// Other objects come and go; the stalled one is left alone.
	w.create("two")
	w.waitFor("two", operatorkit.ConditionStalled, metav1.ConditionTrue, "SizeMissing")
	if got := looks.Load(); got != 2 {
		t.Errorf("%d looks at two stalled objects, want 2", got)
	}
	w.edit("one", func(widget *Widget) { widget.Spec.Size = 1 })
	widget = w.waitFor("one", operatorkit.ConditionReady, metav1.ConditionTrue, operatorkit.ReasonReady)
	if c := operatorkit.FindCondition(widget, operatorkit.ConditionStalled); c != nil {
		t.Errorf("Stalled should be gone: %+v", c)
	}
	w.eventually("two Events", func() bool { return len(w.events("one")) == 2 }, func() any { return w.events("one") })
	want := []string{"Warning SizeMissing Set spec.size.", "Normal Ready Everything this object asks for is in place."}
	if diff := cmp.Diff(want, w.events("one")); diff != "" {
		t.Errorf("one Event for every change (-want +got):\n%s", diff)
	}
}

func TestQuietWaitsAreToldByTheConditionsAlone(t *testing.T) {
	w := newSuite(t)
	var ready atomic.Int64
	controller := w.operate(operatorkit.Options[*Widget]{Pipelines: operatorkit.NewPipeline(
		operatorkit.NewStep("count", func(context.Context, *Widget) operatorkit.Outcome {
			if n := ready.Load(); n < 3 {
				return operatorkit.Wait(0, "PartsMissing", fmt.Sprintf("%d of 3 parts are ready.", n)).Quietly()
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
		controller.Wake(key)
	}
	says("0 of 3 parts are ready.")
	move(2)
	says("2 of 3 parts are ready.")
	move(3)
	w.waitFor("one", operatorkit.ConditionReady, metav1.ConditionTrue, operatorkit.ReasonReady)
	move(1) // What was ready and is no more is news.
	says("1 of 3 parts are ready.")
	w.eventually("two Events", func() bool { return len(w.events("one")) == 2 }, func() any { return w.events("one") })
	want := []string{"Normal Ready Everything this object asks for is in place.", "Normal PartsMissing 1 of 3 parts are ready."}
	if diff := cmp.Diff(want, w.events("one")); diff != "" {
		t.Errorf("Events of what turned only (-want +got):\n%s", diff)
	}
}

// countingWriter counts the writes of a status.
type countingWriter struct {
	operatorkit.Writer[*Widget]

	writes atomic.Int64
}

func (w *countingWriter) Write(ctx context.Context, before, after *Widget) error {
	w.writes.Add(1)
	return w.Writer.Write(ctx, before, after) //nolint:wrapcheck // It stands for the writer.
}

func TestWhatOnlySaysHowFarThingsAreIsWrittenLater(t *testing.T) {
	w := newSuite(t)
	const parts = 50
	var looks atomic.Int64
	writer := &countingWriter{Writer: operatorkit.NewStatusWriter[*Widget](w.mgr.GetClient())}
	w.operate(operatorkit.Options[*Widget]{
		Writer: writer, Later: func(_, _ *Widget) bool { return true },
		Pipelines: operatorkit.NewPipeline(operatorkit.NewStep("count", func(_ context.Context, widget *Widget) operatorkit.Outcome {
			widget.Status.Made = min(looks.Add(1), parts)
			return operatorkit.Wait(time.Millisecond, "PartsMissing", fmt.Sprintf("%d parts are ready.", widget.Status.Made)).Quietly()
		}, nil)),
	})
	w.create("one")
	w.eventually("all parts to be told", func() bool { return w.get("one").Status.Made == parts }, func() any { return w.get("one").Status })
	if writes := writer.writes.Load(); writes >= parts {
		t.Errorf("%d writes told of %d parts, want fewer", writes, parts)
	}
}

func TestFailureIsTriedAgain(t *testing.T) {
	cases := map[string]struct {
		trouble       outcomeFunc
		reason, words string
	}{
		"a plain error is told as it is": {
			trouble: func(context.Context, *Widget) operatorkit.Outcome {
				return operatorkit.Fail(errors.New("the line is busy"))
			},
			reason: operatorkit.ReasonFailed, words: `Step "call" failed and will be tried again: the line is busy.`,
		},
		"an explained error is told as explained": {
			trouble: func(context.Context, *Widget) operatorkit.Outcome {
				return operatorkit.Fail(errors.New("RequestID: 1234")).Explain("Busy", "The line is busy; it is tried again.")
			},
			reason: "Busy", words: "The line is busy; it is tried again.",
		},
		"a missing thing is not the object itself": {
			trouble: func(context.Context, *Widget) operatorkit.Outcome {
				return operatorkit.Fail(apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, "key"))
			},
			reason: operatorkit.ReasonFailed, words: `Step "call" failed and will be tried again: secrets "key" not found.`,
		},
		"a panic is a failure of its step": {
			trouble: func(context.Context, *Widget) operatorkit.Outcome { panic("nil map") },
			reason:  operatorkit.ReasonFailed, words: `Step "call" failed and will be tried again: panic: nil map.`,
		},
		"an outcome that nobody filled in is no success": {
			trouble: func(context.Context, *Widget) operatorkit.Outcome { return operatorkit.Outcome{} },
			reason:  operatorkit.ReasonFailed, words: `Step "call" failed and will be tried again: the step returned no outcome.`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newSuite(t)
			var well atomic.Bool
			w.operate(operatorkit.Options[*Widget]{Pipelines: operatorkit.NewPipeline(
				operatorkit.NewStep("call", func(ctx context.Context, widget *Widget) operatorkit.Outcome {
					if well.Load() {
						return operatorkit.Done()
					}
					return tc.trouble(ctx, widget)
				}, nil),
			)})
			w.create("one")
			widget := w.waitFor("one", operatorkit.ConditionSynced, metav1.ConditionFalse, tc.reason)
			if got := operatorkit.FindCondition(widget, operatorkit.ConditionReady).Message; got != tc.words {
				t.Errorf("message %q, want %q", got, tc.words)
			}
			well.Store(true)
			w.waitFor("one", operatorkit.ConditionReady, metav1.ConditionTrue, operatorkit.ReasonReady)
		})
	}
}

func TestPauseStopsEverything(t *testing.T) {
	w, seen := newSuite(t), &diary{}
	w.operate(operatorkit.Options[*Widget]{Pipelines: operatorkit.NewPipeline(seen.step("a"))})
	w.create("one")
	w.waitFor("one", "Ready", metav1.ConditionTrue, operatorkit.ReasonReady)
	w.edit("one", func(widget *Widget) { widget.Annotations = map[string]string{paused: "true"} })
	widget := w.waitFor("one", operatorkit.ConditionSynced, metav1.ConditionUnknown, operatorkit.ReasonPaused)
	if c := operatorkit.FindCondition(widget, operatorkit.ConditionReady); c.Status != metav1.ConditionTrue {
		t.Errorf("pausing makes nothing unready: %+v", c)
	}
	w.delete("one")
	w.waitFor("one", operatorkit.ConditionSynced, metav1.ConditionUnknown, operatorkit.ReasonPaused)
	if diff := cmp.Diff([]string{"+a"}, seen.read()); diff != "" {
		t.Errorf("something was done while paused (-want +got):\n%s", diff)
	}
	w.edit("one", func(widget *Widget) { widget.Annotations = map[string]string{paused: "false"} })
	w.waitGone("one")
}

func TestPauseByTheObjectsOwnField(t *testing.T) {
	w, seen := newSuite(t), &diary{}
	w.operate(operatorkit.Options[*Widget]{
		Pipelines: operatorkit.NewPipeline(seen.step("a")),
		Paused:    func(widget *Widget) bool { return widget.Spec.Size == 0 },
	})
	w.create("one")
	widget := w.waitFor("one", operatorkit.ConditionReady, metav1.ConditionUnknown, operatorkit.ReasonPaused)
	if controllerutil.ContainsFinalizer(widget, finalizer) || len(seen.read()) != 0 {
		t.Errorf("an object paused from birth was touched: %v, %v", widget.Finalizers, seen.read())
	}
	w.edit("one", func(widget *Widget) { widget.Spec.Size = 1 })
	w.waitFor("one", operatorkit.ConditionReady, metav1.ConditionTrue, operatorkit.ReasonReady)
}

func TestWhatGoesOnWhilePaused(t *testing.T) {
	w, seen := newSuite(t), &diary{}
	var looks atomic.Int32
	again := make(chan struct{})
	w.operate(operatorkit.Options[*Widget]{
		Pipelines: operatorkit.NewPipeline(seen.step("a")),
		Paused:    func(*Widget) bool { return true },
		WhilePaused: func(_ context.Context, widget *Widget) time.Duration {
			widget.Spec.Size = 7 // of no effect
			if looks.Add(1) == 3 {
				close(again)
			}
			return time.Millisecond
		},
	})
	w.create("one")
	widget := w.waitFor("one", operatorkit.ConditionSynced, metav1.ConditionUnknown, operatorkit.ReasonPaused)
	select {
	case <-again:
	case <-time.After(10 * time.Second):
		t.Fatalf("it was looked at %d times", looks.Load())
	}
	if widget.Spec.Size == 7 || len(seen.read()) != 0 {
		t.Errorf("more was done: %+v, %v", widget.Spec, seen.read())
	}
}

func TestNothingChangedWritesNothing(t *testing.T) {
	w, seen := newSuite(t), &diary{}
	registry := prometheus.NewRegistry()
	metrics, err := operatorkit.NewMetrics("test", registry)
	if err != nil {
		t.Fatal(err)
	}
	r := w.operate(operatorkit.Options[*Widget]{Pipelines: operatorkit.NewPipeline(seen.step("a")), Metrics: metrics})
	widget := w.create("one")
	before := w.waitFor("one", "Ready", metav1.ConditionTrue, operatorkit.ReasonReady)
	r.Wake(client.ObjectKeyFromObject(widget))
	w.eventually("a second run", func() bool { return len(seen.read()) == 2 }, func() any { return seen.read() })
	w.delete("one")
	w.eventually("deletion", func() bool { return slices.Contains(seen.read(), "-a") }, func() any { return seen.read() })
	w.waitGone("one")
	if before.Generation != 1 {
		t.Errorf("the operator changed the spec: generation %d", before.Generation)
	}
	want := `
# HELP test_reconcile_writes_total Writes of reconciled objects to the API server.
# TYPE test_reconcile_writes_total counter
test_reconcile_writes_total{kind="Widget",what="finalizer"} 2
test_reconcile_writes_total{kind="Widget",what="status"} 1
`
	w.eventually("the writes of a whole life are counted", func() bool {
		return testutil.GatherAndCompare(registry, strings.NewReader(want), "test_reconcile_writes_total") == nil
	}, func() any {
		return testutil.GatherAndCompare(registry, strings.NewReader(want), "test_reconcile_writes_total")
	})
	if n, err := testutil.GatherAndCount(registry, "test_step_duration_seconds"); err != nil || n != 1 {
		t.Errorf("%d series of step durations, %v; want 1: kind Widget, step a, done", n, err)
	}
}

func TestConflictIsLookedAtAgainQuietly(t *testing.T) {
	w := newSuite(t)
	var meddled atomic.Bool
	registry := prometheus.NewRegistry()
	metrics, err := operatorkit.NewMetrics("test", registry)
	if err != nil {
		t.Fatal(err)
	}
	w.operate(operatorkit.Options[*Widget]{Metrics: metrics, Pipelines: operatorkit.NewPipeline(
		operatorkit.NewStep("a", func(_ context.Context, widget *Widget) operatorkit.Outcome {
			if !meddled.Swap(true) {
				w.edit(widget.Name, func(widget *Widget) { widget.Spec.Size = 7 })
			}
			widget.Status.Made = widget.Spec.Size
			return operatorkit.Done()
		}, nil),
	)})
	w.create("one")
	widget := w.waitFor("one", "Ready", metav1.ConditionTrue, operatorkit.ReasonReady)
	if widget.Status.Made != 7 {
		t.Errorf("made %d, want the 7 that was asked for meanwhile", widget.Status.Made)
	}
	w.eventually("the Event of readiness", func() bool { return len(w.events("one")) > 0 }, func() any { return nil })
	if diff := cmp.Diff([]string{"Normal Ready Everything this object asks for is in place."}, w.events("one")); diff != "" {
		t.Errorf("a conflict is no news (-want +got):\n%s", diff)
	}
}

// A run that follows a write at once must see what that write recorded.
func TestEveryRunSeesWhatTheLastOneRecorded(t *testing.T) {
	w, seen := newSuite(t), &diary{}
	var r *operatorkit.Reconciler[*Widget]
	started := make(chan struct{})
	r = w.operate(operatorkit.Options[*Widget]{Pipelines: operatorkit.NewPipeline(
		operatorkit.NewStep("count", func(_ context.Context, widget *Widget) operatorkit.Outcome {
			<-started
			if widget.Status.Made == 20 {
				return operatorkit.Done()
			}
			widget.Status.Made++
			seen.note(fmt.Sprint(widget.Status.Made))
			r.Wake(client.ObjectKeyFromObject(widget))
			return operatorkit.Wait(0, "Counting", "Not there yet.")
		}, nil),
	)})
	close(started)
	w.create("one")
	w.waitFor("one", "Ready", metav1.ConditionTrue, operatorkit.ReasonReady)
	var want []string
	for i := range 20 {
		want = append(want, fmt.Sprint(i+1))
	}
	if diff := cmp.Diff(want, seen.read()); diff != "" {
		t.Errorf("something was done twice (-want +got):\n%s", diff)
	}
}

func TestReadyStaysThroughAFailedLook(t *testing.T) {
	w := newSuite(t)
	var ill atomic.Bool
	r := w.operate(operatorkit.Options[*Widget]{Pipelines: operatorkit.NewPipeline(
		operatorkit.NewStep("look", func(context.Context, *Widget) operatorkit.Outcome {
			if ill.Load() {
				return operatorkit.Fail(errors.New("the line is busy"))
			}
			return operatorkit.Done()
		}, nil),
	)})
	widget := w.create("one")
	w.waitFor("one", "Ready", metav1.ConditionTrue, operatorkit.ReasonReady)
	ill.Store(true)
	r.Wake(client.ObjectKeyFromObject(widget))
	widget = w.waitFor("one", operatorkit.ConditionSynced, metav1.ConditionFalse, operatorkit.ReasonFailed)
	if c := operatorkit.FindCondition(widget, operatorkit.ConditionReady); c.Status != metav1.ConditionTrue {
		t.Errorf("what was ready still is: %+v", c)
	}
	w.edit("one", func(widget *Widget) { widget.Spec.Size = 1 })
	w.waitFor("one", operatorkit.ConditionReady, metav1.ConditionFalse, operatorkit.ReasonFailed)
}

func TestEditOvertakesABacklog(t *testing.T) {
	const crowd = 20
	w, seen := newSuite(t), &diary{}
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
	w.eventually("the cache shows the edit", func() bool {
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

func TestUnknownReleaseStalls(t *testing.T) {
	w, seen := newSuite(t), &diary{}
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
	want := `Release "3.0.0" is not one this operator knows; known are ">=1.0.0 <2.0.0-0", "^2".`
	if got := operatorkit.FindCondition(widget, operatorkit.ConditionStalled).Message; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
	w.edit("one", func(widget *Widget) { widget.Spec.Release = "2.1.0" })
	w.waitFor("one", operatorkit.ConditionReady, metav1.ConditionTrue, operatorkit.ReasonReady)
	if diff := cmp.Diff([]string{"+two"}, seen.read()); diff != "" {
		t.Errorf("the wrong pipeline ran (-want +got):\n%s", diff)
	}
}

// What a step recorded is written although the process is being stopped, and
// the cancelled call is not told as a failure of the object.
func TestStopKeepsWhatTheStepsRecorded(t *testing.T) {
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
	if _, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(widget)}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the cancellation", err)
	}
	widget = w.get("one")
	if widget.Status.Made != 1 || len(widget.Status.Conditions) != 0 {
		t.Errorf("status %+v, want what was made and no verdict", widget.Status)
	}
}

package operatorkit

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"
)

type object = *unstructured.Unstructured

func TestPipelineCombinesTheOutcomesOfItsSteps(t *testing.T) {
	says := func(o Outcome) Step[object] {
		return NewStep("s", func(context.Context, object) Outcome { return o }, nil)
	}
	wait := Wait(time.Minute, "InProgress", "It is being created.")
	cases := map[string]struct {
		steps []Step[object]
		want  string
		after time.Duration
	}{
		"no steps": {want: "done: : "},
		"the last explanation wins": {
			steps: []Step[object]{says(Done().Explain("A", "a")), says(Done().Explain("B", "b")), says(Done())},
			want:  "done: B: b",
		},
		"the shortest requeue time wins": {
			steps: []Step[object]{says(Done().RequeueAfter(time.Hour)), says(Done().RequeueAfter(time.Minute)), says(Done())},
			want:  "done: : ",
			after: time.Minute,
		},
		"the step that is not done determines the outcome": {
			steps: []Step[object]{says(Done().Explain("A", "a").RequeueAfter(time.Second)), says(wait), says(Stall("No", "no"))},
			want:  wait.String(),
			after: time.Second,
		},
		"a failure contains the name of its step": {
			steps: []Step[object]{says(Fail(errors.New("busy")))},
			want:  `fail: step "s": busy`,
		},
		"a wait without a reason":          {steps: []Step[object]{says(Wait(0, "", "m"))}, want: "wait: Waiting: m"},
		"a stall without a reason":         {steps: []Step[object]{says(Stall("", "m"))}, want: "stall: Stalled: m"},
		"a step without functions is done": {steps: []Step[object]{NewStep[object]("s", nil, nil)}, want: "done: : "},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := NewPipeline(tc.steps...).run(t.Context(), atGeneration(1), clocktesting.NewFakePassiveClock(firstRun.Time),
				func(string, Outcome, time.Duration) {})
			if got.String() != tc.want || got.After() != tc.after {
				t.Errorf("got %v after %v, want %v after %v", got, got.After(), tc.want, tc.after)
			}
		})
	}
}

func TestPipelineObservesEveryStepThatRan(t *testing.T) {
	clk := clocktesting.NewFakePassiveClock(firstRun.Time)
	takes := func(name string, d time.Duration, o Outcome) Step[object] {
		return NewStep(name, func(context.Context, object) Outcome { clk.SetTime(clk.Now().Add(d)); return o }, nil)
	}
	var got []string
	NewPipeline(takes("a", time.Second, Done()), takes("b", time.Minute, Fail(errors.New("busy"))), takes("c", time.Hour, Done())).
		run(t.Context(), atGeneration(1), clk, func(step string, o Outcome, took time.Duration) {
			got = append(got, step+" "+o.Kind().String()+" "+took.String())
		})
	if diff := cmp.Diff([]string{"a done 1s", "b fail 1m0s"}, got); diff != "" {
		t.Errorf("observed (-want +got):\n%s", diff)
	}
}

func TestAllRunsEveryStepAndSequenceStops(t *testing.T) {
	clk := clocktesting.NewFakePassiveClock(firstRun.Time)
	returns := func(name string, o Outcome) Step[object] {
		return NewStep(name, func(context.Context, object) Outcome { return o }, func(context.Context, object) Outcome { return o })
	}
	steps := NewPipeline(
		returns("a", Done()),
		All(
			Sequence(returns("b", Wait(time.Minute, "B", "b.")), returns("never", Done())),
			returns("c", Fail(errors.New("busy"))),
			NewStep("d", func(context.Context, object) Outcome { panic("nil map") }, nil),
			returns("e", Stall("E", "e.")),
		),
		returns("never", Done()),
	)
	var ran []string
	got := steps.run(
		t.Context(), atGeneration(1), clk, func(step string, o Outcome, _ time.Duration) { ran = append(ran, step+" "+o.Kind().String()) },
	)
	if diff := cmp.Diff([]string{"a done", "b wait", "c fail", "d fail", "e stall"}, ran); diff != "" {
		t.Errorf("observed steps (-want +got):\n%s", diff)
	}
	want := `Step "c" failed and will be retried: busy. Step "d" failed and will be retried: panic: nil map. b. e.`
	if got.Kind() != KindFail || got.Message() != want {
		t.Errorf("got %v with message %q, want %q", got, got.Message(), want)
	}

	deleted := atGeneration(1)
	deleted.SetDeletionTimestamp(&firstRun)
	ran = nil
	NewPipeline(returns("a", Done()), All(returns("b", Wait(0, "B", "b.")), returns("c", Done())), returns("d", Done())).
		run(t.Context(), deleted, clk, func(step string, o Outcome, _ time.Duration) { ran = append(ran, step+" "+o.Kind().String()) })
	if diff := cmp.Diff([]string{"d done", "c done", "b wait"}, ran); diff != "" {
		t.Errorf("deletion runs the steps in reverse (-want +got):\n%s", diff)
	}
}

func TestAllIsAStepOutsideAPipeline(t *testing.T) {
	step := All(NewStep("a", func(context.Context, object) Outcome { return Wait(0, "A", "a.") }, nil), NewStep[object]("b", nil, nil))
	if got := step.EnsureCreated(t.Context(), atGeneration(1)); got.Message() != "a." || step.Name() != "a,b" {
		t.Errorf("got %v from %s", got, step.Name())
	}
	if got := step.EnsureDeleted(t.Context(), atGeneration(1)); !got.IsDone() {
		t.Errorf("got %v, want done", got)
	}
}

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

func TestPipelineSumsItsStepsUp(t *testing.T) {
	says := func(o Outcome) Step[object] {
		return NewStep("s", func(context.Context, object) Outcome { return o }, nil)
	}
	wait := Wait(time.Minute, "InProgress", "It is being made.")
	cases := map[string]struct {
		steps []Step[object]
		want  string
		after time.Duration
	}{
		"no steps are done":              {want: "done: : "},
		"the last explanation wins":      {steps: []Step[object]{says(Done().Explain("A", "a")), says(Done().Explain("B", "b")), says(Done())}, want: "done: B: b"},
		"the soonest second look wins":   {steps: []Step[object]{says(Done().LookAgain(time.Hour)), says(Done().LookAgain(time.Minute)), says(Done())}, want: "done: : ", after: time.Minute},
		"what is not done is the whole":  {steps: []Step[object]{says(Done().Explain("A", "a").LookAgain(time.Second)), says(wait), says(Stall("No", "no"))}, want: wait.String(), after: time.Second},
		"a failure names its step":       {steps: []Step[object]{says(Fail(errors.New("busy")))}, want: `fail: step "s": busy`},
		"an unexplained wait has a word": {steps: []Step[object]{says(Wait(0, "", "m"))}, want: "wait: Waiting: m"},
		"so has an unexplained stall":    {steps: []Step[object]{says(Stall("", "m"))}, want: "stall: Stalled: m"},
		"functions may be missing":       {steps: []Step[object]{NewStep[object]("s", nil, nil)}, want: "done: : "},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := NewPipeline(tc.steps...).run(t.Context(), atGeneration(1), clocktesting.NewFakePassiveClock(firstLook.Time),
				func(string, Outcome, time.Duration) {})
			if got.String() != tc.want || got.After() != tc.after {
				t.Errorf("got %v after %v, want %v after %v", got, got.After(), tc.want, tc.after)
			}
		})
	}
}

func TestPipelineTimesEveryStepThatRan(t *testing.T) {
	clk := clocktesting.NewFakePassiveClock(firstLook.Time)
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

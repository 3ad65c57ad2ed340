package operatorkit_test

import (
	"errors"
	"testing"
	"time"

	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

func TestAggregateCombinesOutcomes(t *testing.T) {
	wait := func(stack, text string) operatorkit.Outcome {
		return operatorkit.Wait(time.Minute, "CreateInProgress", text).About(operatorkit.Subject{Kind: "Stack", Name: stack})
	}
	busy := errors.New("busy")
	cases := map[string]struct {
		outcomes []operatorkit.Outcome
		want     operatorkit.Outcome
	}{
		"nothing is done": {want: operatorkit.Done()},
		"the last explanation of done outcomes wins": {
			outcomes: []operatorkit.Outcome{
				operatorkit.Done().Explain("A", "a"),
				operatorkit.Done().Explain("B", "b").RequeueAfter(time.Hour),
				operatorkit.Done(),
			},
			want: operatorkit.Done().Explain("B", "b").RequeueAfter(time.Hour),
		},
		"equal messages of several subjects become one": {
			outcomes: []operatorkit.Outcome{
				wait("a", "It is created."),
				operatorkit.Done(),
				wait("b", "It is created."),
				wait("c", "It is deleted."),
			},
			want: operatorkit.Wait(time.Minute, "CreateInProgress", "Stacks a, b: It is created. Stack c: It is deleted."),
		},
		"messages without a subject are joined": {
			outcomes: []operatorkit.Outcome{
				operatorkit.Wait(0, "A", "One."),
				operatorkit.Wait(time.Hour, "B", "Two."),
				operatorkit.Wait(0, "C", "One."),
			},
			want: operatorkit.Wait(time.Hour, "A", "One. Two."),
		},
		"a degraded wait determines the reason": {
			outcomes: []operatorkit.Outcome{wait("a", "It is created."), operatorkit.Wait(time.Second, "QuotaExceeded", "No.").Degraded()},
			want:     operatorkit.Wait(time.Second, "QuotaExceeded", "Stack a: It is created. No.").Degraded(),
		},
		"a wait comes before a stall": {
			outcomes: []operatorkit.Outcome{operatorkit.Stall("CreateFailed", "No."), wait("a", "It is created.")},
			want:     operatorkit.Wait(time.Minute, "CreateInProgress", "Stack a: It is created. No."),
		},
		"a stall keeps the requeue time": {
			outcomes: []operatorkit.Outcome{
				operatorkit.Done().RequeueAfter(time.Hour),
				operatorkit.Stall("A", "One."),
				operatorkit.Stall("B", "Two."),
			},
			want: operatorkit.Stall("A", "One. Two.").RequeueAfter(time.Hour),
		},
		"a failure comes first": {
			outcomes: []operatorkit.Outcome{
				operatorkit.Stall("A", "One."),
				operatorkit.Fail(busy),
				operatorkit.Fail(errors.New("slow")).Explain("Slow", "Two."),
			},
			want: operatorkit.Fail(errors.Join(busy, errors.New("slow"))).
				Explain(operatorkit.ReasonFailed, "Reconciliation failed and will be retried: busy. Two. One."),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := operatorkit.Aggregate(tc.outcomes...)
			if got.String() != tc.want.String() || got.Reason() != tc.want.Reason() || got.Message() != tc.want.Message() ||
				got.IsDegraded() != tc.want.IsDegraded() || got.IsDone() && got.After() != tc.want.After() {
				t.Errorf("got %s (%s: %s) after %s, want %s (%s: %s) after %s", got, got.Reason(), got.Message(), got.After(),
					tc.want, tc.want.Reason(), tc.want.Message(), tc.want.After())
			}
			if got.Kind() != operatorkit.KindFail && got.After() != tc.want.After() {
				t.Errorf("after %s, want %s", got.After(), tc.want.After())
			}
		})
	}
	if got := operatorkit.Aggregate(operatorkit.Done(), operatorkit.Fail(busy)); !errors.Is(got.Err(), busy) {
		t.Errorf("the error is %v, want busy", got.Err())
	}
}

func TestSubjectStartsTheMessage(t *testing.T) {
	o := operatorkit.Wait(0, "InProgress", "It is created.").About(operatorkit.Subject{Kind: "Policy", Name: "a"})
	if got := o.Message(); got != "Policy a: It is created." || o.Text() != "It is created." || o.Subject().Name != "a" {
		t.Errorf("message %q, text %q, subject %v", got, o.Text(), o.Subject())
	}
	if got := o.Explain("Other", "Replaced.").Message(); got != "Replaced." {
		t.Errorf("message %q, want Explain to replace the subject too", got)
	}
	other := operatorkit.Wait(0, "InProgress", "It is created.").About(operatorkit.Subject{Kind: "Policy", Name: "b"})
	if got := operatorkit.Aggregate(o, other).Message(); got != "Policies a, b: It is created." {
		t.Errorf("message %q", got)
	}
}

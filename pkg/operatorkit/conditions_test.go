package operatorkit

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var (
	firstLook  = metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	secondLook = metav1.NewTime(time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC))
)

func atGeneration(generation int64) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGeneration(generation)
	return u
}

// summary lists an object's conditions as "Type Status Reason generation day".
func summary(u *unstructured.Unstructured) []string {
	var lines []string
	for _, c := range Conditions(u) {
		lines = append(lines, fmt.Sprintf("%s %s %s %d day%d", c.Type, c.Status, c.Reason, c.ObservedGeneration, c.LastTransitionTime.UTC().Day()))
	}
	return lines
}

func TestVerdictsBecomeConditions(t *testing.T) {
	done, wait := verdictOf(Done()), verdictOf(Wait(0, "InProgress", "It is being made."))
	stall, fail := verdictOf(Stall("Bad", "Mend it.")), verdictOf(Fail(errors.New("busy")))
	pausedV := verdict{paused: true, reason: ReasonPaused, message: "Paused."}
	cases := map[string]struct {
		first, then verdict
		edited      bool // the second look is at the next generation
		want        []string
	}{
		"done is ready": {first: wait, then: done, want: []string{
			"Ready True Ready 1 day2", "Synced True Ready 1 day1",
		}},
		"done again changes nothing": {first: done, then: done, want: []string{
			"Ready True Ready 1 day1", "Synced True Ready 1 day1",
		}},
		"waiting is not ready, but no trouble": {first: done, then: wait, want: []string{
			"Ready False InProgress 1 day2", "Synced True InProgress 1 day1", "Reconciling True InProgress 1 day2",
		}},
		"waiting because of trouble is not synced": {first: done, then: verdictOf(Wait(0, "CreateFailed", "It is tried again.").Troubled()), want: []string{
			"Ready False CreateFailed 1 day2", "Synced False CreateFailed 1 day2", "Reconciling True CreateFailed 1 day2",
		}},
		"stalled is not being reconciled": {first: wait, then: stall, want: []string{
			"Ready False Bad 1 day1", "Synced False Bad 1 day2", "Stalled True Bad 1 day2",
		}},
		"waiting is not stalled": {first: stall, then: wait, want: []string{
			"Ready False InProgress 1 day1", "Synced True InProgress 1 day2", "Reconciling True InProgress 1 day2",
		}},
		"a failed look keeps what was ready": {first: done, then: fail, want: []string{
			"Ready True Ready 1 day1", "Synced False Failed 1 day2", "Reconciling True Failed 1 day2",
		}},
		"but not for another generation": {first: done, then: fail, edited: true, want: []string{
			"Ready False Failed 2 day2", "Synced False Failed 2 day2", "Reconciling True Failed 2 day2",
		}},
		"a failed look makes nothing ready": {first: wait, then: fail, want: []string{
			"Ready False Failed 1 day1", "Synced False Failed 1 day2", "Reconciling True Failed 1 day1",
		}},
		"a failure after a stall is not stalled": {first: stall, then: fail, want: []string{
			"Ready False Failed 1 day1", "Synced False Failed 1 day1", "Reconciling True Failed 1 day2",
		}},
		"a pause keeps what was ready": {first: done, then: pausedV, edited: true, want: []string{
			"Ready True Ready 1 day1", "Synced Unknown Paused 2 day2",
		}},
		"a pause ends the work": {first: wait, then: pausedV, want: []string{
			"Ready False InProgress 1 day1", "Synced Unknown Paused 1 day2",
		}},
		"a pause heals no stall": {first: stall, then: pausedV, want: []string{
			"Ready False Bad 1 day1", "Synced Unknown Paused 1 day2", "Stalled True Bad 1 day1",
		}},
		"paused from birth nothing is known": {first: pausedV, then: pausedV, want: []string{
			"Ready Unknown Paused 1 day1", "Synced Unknown Paused 1 day1",
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			u := atGeneration(1)
			tc.first.write(u, firstLook)
			if tc.edited {
				u.SetGeneration(2)
			}
			tc.then.write(u, secondLook)
			if diff := cmp.Diff(tc.want, summary(u)); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestVerdictLeavesTheStepsConditionsAlone(t *testing.T) {
	u := atGeneration(3)
	SetCondition(u, metav1.Condition{Type: "Drifted", Status: metav1.ConditionTrue, Reason: "Edited", Message: "Someone edited it."})
	SetCondition(u, metav1.Condition{Type: "Other", Status: metav1.ConditionTrue, Reason: "Edited", LastTransitionTime: firstLook})
	RemoveCondition(u, "Drifted")
	verdictOf(Done()).write(u, secondLook)
	want := []string{"Other True Edited 3 day1", "Ready True Ready 3 day2", "Synced True Ready 3 day2"}
	if diff := cmp.Diff(want, summary(u)); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
}

func TestPauseObservesNothing(t *testing.T) {
	u := atGeneration(1)
	verdictOf(Done()).write(u, firstLook)
	u.SetGeneration(2)
	verdict{paused: true, reason: ReasonPaused}.write(u, secondLook)
	if got, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration"); got != 1 {
		t.Errorf("observed generation %d, want 1: the edit was not acted upon", got)
	}
}

func TestConditionsOfUnstructuredSkipWhatIsNone(t *testing.T) {
	u := atGeneration(1)
	u.Object["status"] = map[string]any{"conditions": []any{
		"a word", map[string]any{"type": "Ready", "status": "True", "observedGeneration": "one"}, map[string]any{"type": "Good", "status": "True"},
	}}
	if got := Conditions(u); len(got) != 1 || got[0].Type != "Good" {
		t.Errorf("conditions %+v, want only Good", got)
	}
}

func TestCutKeepsWholeRunes(t *testing.T) {
	cases := map[string]struct {
		in   string
		size int
		want string
	}{
		"short enough":             {in: "abc", size: 3, want: "abc"},
		"too long":                 {in: "abcdef", size: 5, want: "ab…"},
		"never in the middle of ö": {in: "aöö", size: 4, want: "a…"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := cut(tc.in, tc.size); got != tc.want || !utf8.ValidString(got) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	if got := cut(strings.Repeat("ö", maxMessage), maxMessage); len(got) > maxMessage {
		t.Errorf("%d bytes", len(got))
	}
}

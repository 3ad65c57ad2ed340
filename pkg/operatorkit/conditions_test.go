package operatorkit

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

var (
	firstRun  = metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	secondRun = metav1.NewTime(time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC))
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
		lines = append(
			lines, fmt.Sprintf("%s %s %s %d day%d", c.Type, c.Status, c.Reason, c.ObservedGeneration, c.LastTransitionTime.UTC().Day()),
		)
	}
	return lines
}

func TestOutcomesDetermineConditions(t *testing.T) {
	done, wait := verdictOf(Done()), verdictOf(Wait(0, "InProgress", "It is being created."))
	stall, fail := verdictOf(Stall("Bad", "Fix it.")), verdictOf(Fail(errors.New("busy")))
	pausedV := verdict{paused: true, reason: ReasonPaused, message: "Paused."}
	cases := map[string]struct {
		first, then verdict
		edited      bool // The second run is at the next generation.
		want        []string
	}{
		"done is ready": {first: wait, then: done, want: []string{
			"Ready True Ready 1 day2", "Synced True Ready 1 day1",
		}},
		"done again changes nothing": {first: done, then: done, want: []string{
			"Ready True Ready 1 day1", "Synced True Ready 1 day1",
		}},
		"a wait is not ready, but synced": {first: done, then: wait, want: []string{
			"Ready False InProgress 1 day2", "Synced True InProgress 1 day1", "Reconciling True InProgress 1 day2",
		}},
		"a degraded wait is not synced": {
			first: done,
			then:  verdictOf(Wait(0, "CreateFailed", "It will be retried.").Degraded()),
			want: []string{
				"Ready False CreateFailed 1 day2", "Synced False CreateFailed 1 day2", "Reconciling True CreateFailed 1 day2",
			},
		},
		"a stall is not reconciling": {first: wait, then: stall, want: []string{
			"Ready False Bad 1 day1", "Synced False Bad 1 day2", "Stalled True Bad 1 day2",
		}},
		"a wait after a stall is not stalled": {first: stall, then: wait, want: []string{
			"Ready False InProgress 1 day1", "Synced True InProgress 1 day2", "Reconciling True InProgress 1 day2",
		}},
		"a failure keeps Ready": {first: done, then: fail, want: []string{
			"Ready True Ready 1 day1", "Synced False Failed 1 day2", "Reconciling True Failed 1 day2",
		}},
		"a failure at another generation is not ready": {first: done, then: fail, edited: true, want: []string{
			"Ready False Failed 2 day2", "Synced False Failed 2 day2", "Reconciling True Failed 2 day2",
		}},
		"a failure after a wait is not ready": {first: wait, then: fail, want: []string{
			"Ready False Failed 1 day1", "Synced False Failed 1 day2", "Reconciling True Failed 1 day1",
		}},
		"a failure after a stall is not stalled": {first: stall, then: fail, want: []string{
			"Ready False Failed 1 day1", "Synced False Failed 1 day1", "Reconciling True Failed 1 day2",
		}},
		"a pause keeps Ready": {first: done, then: pausedV, edited: true, want: []string{
			"Ready True Ready 1 day1", "Synced Unknown Paused 2 day2",
		}},
		"a pause removes Reconciling": {first: wait, then: pausedV, want: []string{
			"Ready False InProgress 1 day1", "Synced Unknown Paused 1 day2",
		}},
		"a pause keeps Stalled": {first: stall, then: pausedV, want: []string{
			"Ready False Bad 1 day1", "Synced Unknown Paused 1 day2", "Stalled True Bad 1 day1",
		}},
		"an object created paused is unknown": {first: pausedV, then: pausedV, want: []string{
			"Ready Unknown Paused 1 day1", "Synced Unknown Paused 1 day1",
		}},
	}
	written := map[string]any{}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			u := atGeneration(1)
			written[name] = u.Object
			tc.first.write(u, firstRun)
			if tc.edited {
				u.SetGeneration(2)
			}
			tc.then.write(u, secondRun)
			if diff := cmp.Diff(tc.want, summary(u)); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
		})
	}
	checkConditionsFile(t, written)
}

var update = flag.Bool("update", false, "rewrite testdata/conditions.yaml")

// checkConditionsFile compares objects with testdata/conditions.yaml, which the tests of GitOps tools read.
func checkConditionsFile(t *testing.T, objects map[string]any) {
	t.Helper()
	const file = "testdata/conditions.yaml"
	got, err := yaml.Marshal(objects)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs; run with -update to accept (-want +got):\n%s", file, diff)
	}
}

func TestReconcilerKeepsTheConditionsOfSteps(t *testing.T) {
	u := atGeneration(3)
	SetCondition(u, metav1.Condition{Type: "Drifted", Status: metav1.ConditionTrue, Reason: "Edited", Message: "A user edited it."})
	SetCondition(u, metav1.Condition{Type: "Other", Status: metav1.ConditionTrue, Reason: "Edited", LastTransitionTime: firstRun})
	RemoveCondition(u, "Drifted")
	verdictOf(Done()).write(u, secondRun)
	want := []string{"Other True Edited 3 day1", "Ready True Ready 3 day2", "Synced True Ready 3 day2"}
	if diff := cmp.Diff(want, summary(u)); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
}

func TestPauseDoesNotObserveAGeneration(t *testing.T) {
	u := atGeneration(1)
	verdictOf(Done()).write(u, firstRun)
	u.SetGeneration(2)
	verdict{paused: true, reason: ReasonPaused}.write(u, secondRun)
	if got, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration"); got != 1 {
		t.Errorf("observed generation %d, want 1: the edit was not reconciled", got)
	}
}

func TestInvalidConditionsOfUnstructuredAreSkipped(t *testing.T) {
	u := atGeneration(1)
	u.Object["status"] = map[string]any{"conditions": []any{
		"a string",
		map[string]any{"type": "Ready", "status": "True", "observedGeneration": "one"},
		map[string]any{"type": "Good", "status": "True"},
	}}
	if got := Conditions(u); len(got) != 1 || got[0].Type != "Good" {
		t.Errorf("conditions %+v, want only Good", got)
	}
}

func TestCutKeepsRunesWhole(t *testing.T) {
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

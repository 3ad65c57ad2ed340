package controller_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
)

// newDriftSuite is newCountedSuite with checks before updates, and practically none on schedule.
func newDriftSuite(t *testing.T) *suite {
	t.Helper()
	w := prepareSuite(t, simulator.Options{Lag: simulator.NoLag}, render.Limits{})
	w.drift = 100_000 * time.Hour
	w.startOperator()
	return w
}

// updated waits until the queue's stack was updated once more, and returns the calls.
func (w *suite) updated(calls func() map[string]int) map[string]int {
	w.t.Helper()
	w.eventually("the stack is updated", func() error {
		if calls()["UpdateStack"] == 0 {
			obj, err := w.get("SQSQueue", "jobs")
			return errors.Join(err, fmt.Errorf("status %v", show(obj.Object["status"])))
		}
		return nil
	})
	w.ready("SQSQueue", "jobs")
	return calls()
}

// event waits for an Event about an object that contains a text.
func (w *suite) event(name, reason, text string) {
	w.t.Helper()
	w.eventually("an Event says "+reason, func() error {
		notes := w.driftEvents(name, reason)
		for _, note := range notes {
			if strings.Contains(note, text) {
				return nil
			}
		}
		return fmt.Errorf("Events %q, want %q", notes, text)
	})
}

// TestDriftIsCheckedBeforeAnUpdate changes a queue by hand, and then the object.
func TestDriftIsCheckedBeforeAnUpdate(t *testing.T) {
	w := newDriftSuite(t)
	set, is := w.jobs("{kind: SQSQueue, metadata: {name: jobs}, spec: {visibilityTimeout: 30}}")
	calls := w.count()
	w.change("SQSQueue", "jobs", `{"spec":{"visibilityTimeout":40}}`)
	if made := w.updated(calls); made["DetectStackDrift"] != 0 {
		t.Errorf("calls %v just after the creation", made)
	}
	w.clock.step(2 * time.Hour)
	calls = w.count()
	w.change("SQSQueue", "jobs", `{"spec":{"visibilityTimeout":40,"delaySeconds":1}}`)
	made := w.updated(calls)
	if polls := made["DescribeStackDriftDetectionStatus"]; polls == 0 || made["DetectStackDrift"] != 1 || made["UpdateStack"] != 1 ||
		made["DescribeStacks"] != 1 || len(made) != 4 {
		t.Errorf("calls %v of an update after a check", made)
	}
	w.clock.step(2 * time.Hour)
	set("60")
	calls = w.count()
	w.change("SQSQueue", "jobs", `{"spec":{"visibilityTimeout":50}}`)
	if made = w.updated(calls); made["DetectStackDrift"] == 0 || made["DescribeStackResourceDrifts"] == 0 {
		t.Errorf("calls %v", made)
	}
	is("50")
	w.event("jobs", "Drifted", "VisibilityTimeout is 60 and should be 40")
	w.event("jobs", "UpdateOfDriftedStack", "The update overwrites Queue/VisibilityTimeout (60 in AWS).")
}

// TestUpdateIsNotHeldByItsDriftCheck lets checks fail, take too long, or be off: the update goes on, and
// an Event says why it was not checked.
func TestUpdateIsNotHeldByItsDriftCheck(t *testing.T) {
	for _, c := range []struct {
		name, annotations string
		interval          time.Duration
		fault             *fault.Rule
		slow              bool
		want              string // in the Event, or none
		detections        int
	}{
		{
			name: "denied", interval: 100_000 * time.Hour, want: "cloudformation:DetectStackDrift", detections: 1,
			fault: &fault.Rule{Service: "cloudformation", Operation: "DetectStackDrift", Deny: true},
		},
		{
			name: "the resource cannot be read", interval: 100_000 * time.Hour, want: "not today", detections: 1,
			fault: &fault.Rule{
				Service: "cloudformation", Operation: "Read", ResourceType: "AWS::SQS::Queue", Code: "AccessDenied", Message: "not today",
			},
		},
		{
			name: "slow", interval: 100_000 * time.Hour, want: "has not ended the drift detection within 60 seconds", slow: true, detections: 1,
			fault: &fault.Rule{Service: "cloudformation", Operation: "Read", ResourceType: "AWS::SQS::Queue", Latency: 10 * time.Second, Times: 1},
		},
		{name: "ignored", interval: 100_000 * time.Hour, annotations: v1alpha1.DriftPolicyAnnotation + ": Ignore"},
		{name: "only on request"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := prepareSuite(t, simulator.Options{Lag: simulator.NoLag}, render.Limits{})
			w.drift = c.interval
			w.startOperator()
			_, is := w.jobs("{kind: SQSQueue, metadata: {name: jobs, annotations: {" + c.annotations + "}}, spec: {visibilityTimeout: 30}}")
			w.clock.step(2 * time.Hour)
			if c.fault != nil {
				w.sim.Faults().Add(*c.fault)
			}
			calls := w.count()
			w.change("SQSQueue", "jobs", `{"spec":{"visibilityTimeout":50}}`)
			if c.slow {
				w.condition("SQSQueue", "jobs", "Ready", "False", "CheckingDrift")
				w.clock.step(2 * time.Minute)
			}
			if made := w.updated(calls); made["UpdateStack"] != 1 || made["DetectStackDrift"] < c.detections || c.detections == 0 && made["DetectStackDrift"] != 0 {
				t.Errorf("calls %v", made)
			}
			is("50")
			if c.want != "" {
				w.event("jobs", "UpdateUnchecked", c.want)
			}
			if notes := w.driftEvents("jobs", "UpdateUnchecked"); c.want == "" && len(notes) > 0 {
				t.Errorf("Events %q", notes)
			}
		})
	}
}

// TestDriftIsCheckedBeforeAProposal: a user who approves a change knows what it overwrites.
func TestDriftIsCheckedBeforeAProposal(t *testing.T) {
	w := newDriftSuite(t)
	set, is := w.jobs("{kind: SQSQueue, metadata: {name: jobs}, spec: {visibilityTimeout: 30, updatePolicy: Manual}}")
	w.clock.step(2 * time.Hour)
	set("60")
	w.change("SQSQueue", "jobs", `{"spec":{"visibilityTimeout":50}}`)
	w.condition("SQSQueue", "jobs", "Ready", "False", stack.ReasonApprovalNeeded)
	w.event("jobs", "UpdateOfDriftedStack", "The update overwrites Queue/VisibilityTimeout (60 in AWS).")
	obj, err := w.get("SQSQueue", "jobs")
	if err != nil {
		t.Fatal(err)
	}
	if found := findCondition(obj, v1alpha1.ConditionDrifted); found == nil || found.Reason != "Drifted" {
		t.Errorf("the condition is %+v", found)
	}
	is("60")
}

// TestDriftIsRevertedAfterAnUpdate: the update goes first, and the rest of the drift is reverted.
func TestDriftIsRevertedAfterAnUpdate(t *testing.T) {
	w := newDriftSuite(t)
	set, is := w.jobs("{kind: SQSQueue, metadata: {name: jobs}, spec: {visibilityTimeout: 30, delaySeconds: 3}}")
	w.revert("SQSQueue", "jobs")
	w.clock.step(2 * time.Hour)
	set("60")
	w.change("SQSQueue", "jobs", `{"spec":{"delaySeconds":5}}`)
	w.event("jobs", "UpdateOfDriftedStack", "The update may overwrite Queue/VisibilityTimeout (60 in AWS), of which the template's value stays the same")
	w.event("jobs", "UpdateOfDriftedStack", "The operator reverts the remaining drift after the update.")
	is("30")
	w.condition("SQSQueue", "jobs", "Drifted", "False", "InSync")
}

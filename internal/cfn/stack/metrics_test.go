package stack

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// newTimed returns a script whose engines time operations, and a function that returns how many ended
// and how long they took together.
func newTimed(t *testing.T) (*script, func() map[string]string) {
	t.Helper()
	s, registry := newScript(t), prometheus.NewRegistry()
	var err error
	if s.metrics, err = NewMetrics(registry); err != nil {
		t.Fatal(err)
	}
	return s, func() map[string]string {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]string{}
		for _, family := range families {
			for _, metric := range family.GetMetric() {
				labels, seen := metric.GetLabel(), metric.GetHistogram()
				found[labels[0].GetValue()+" "+labels[1].GetValue()] = fmt.Sprintf("%d in %vs", seen.GetSampleCount(), seen.GetSampleSum())
			}
		}
		return found
	}
}

// endAfter ends the running operation after a time, and returns the event.
func (s *script) endAfter(took time.Duration, status types.StackStatus, reason string) Event {
	s.step(took)
	event := s.end(status, reason)
	event.Time = s.clock.Now()
	return event
}

func TestOperationsAreTimed(t *testing.T) {
	s, took := newTimed(t)
	e := s.engine()
	record := ensured(t, s, e, desire(t, 1), Record{}, InProgress, "CreateStack").Record
	e.Observe(s.endAfter(75*time.Second, types.StackStatusCreateComplete, ""))
	s.step(time.Hour) // the object was paused: the time of the event counts
	record = ensured(t, s, e, desire(t, 1), record, Ready, "DescribeStacks").Record

	record = ensured(t, s, e, desire(t, 2), record, InProgress, "UpdateStack").Record
	e.Observe(s.endAfter(20*time.Second, types.StackStatusUpdateComplete, ""))
	record = ensured(t, s, e, desire(t, 2), record, Ready, "DescribeStacks").Record
	record = ensured(t, s, e, desire(t, 2), record, Ready).Record // nothing ends twice

	record = ensured(t, s, e, desire(t, 3), record, InProgress, "UpdateStack").Record
	e.Observe(s.endAfter(30*time.Second, types.StackStatusUpdateRollbackComplete, "no"))
	record = ensured(t, s, e, desire(t, 3), record, Stalled, "DescribeStacks", "DescribeStackEvents").Record

	record = deletedBy(t, s, e, record, DeleteOptions{}, InProgress, "DeleteStack").Record
	e.Observe(s.endAfter(40*time.Second, types.StackStatusDeleteFailed, "in use"))
	record = deletedBy(t, s, e, record, DeleteOptions{}, Waiting, "DescribeStacks", "ListStackResources").Record
	s.step(time.Minute)
	record = deletedBy(t, s, e, record, DeleteOptions{}, InProgress, "ListStackResources", "DeleteStack").Record
	e.Observe(s.endAfter(50*time.Second, types.StackStatusDeleteComplete, ""))
	deletedBy(t, s, e, record, DeleteOptions{}, Gone, "DescribeStacks")

	want := map[string]string{
		"create done": "1 in 75s", "update done": "1 in 20s", "update failed": "1 in 30s", "delete failed": "1 in 40s", "delete done": "1 in 50s",
	}
	if diff := cmp.Diff(want, took()); diff != "" {
		t.Errorf("durations (-want +got):\n%s", diff)
	}
}

// The continuation of a rollback is not an update.
func TestContinuedRollbackIsNotTimed(t *testing.T) {
	s, took := newTimed(t)
	e, record := made(t, s)
	record = ensured(t, s, e, desire(t, 2), record, InProgress, "UpdateStack").Record
	e.Observe(s.endAfter(time.Minute, types.StackStatusUpdateRollbackFailed, "no such queue"))
	record = ensured(t, s, e, desire(t, 2), record, InProgress, "DescribeStacks", "DescribeStackEvents", "ContinueUpdateRollback").Record
	e.Observe(s.endAfter(time.Minute, types.StackStatusUpdateRollbackComplete, ""))
	ensured(t, s, e, desire(t, 2), record, Stalled, "DescribeStacks", "DescribeStackEvents")
	if diff := cmp.Diff(map[string]string{"create done": "1 in 0s", "update failed": "1 in 60s"}, took()); diff != "" {
		t.Errorf("durations (-want +got):\n%s", diff)
	}
}

// A new engine knows from the record when an operation began, and from an event or a recent poll when
// it ended.
func TestOperationsAreTimedAcrossARestart(t *testing.T) {
	for name, c := range map[string]struct {
		lost  bool          // the record of the first engine, so that the second one sends the operation again
		ends  time.Duration // when the operation ends after that
		event bool          // arrives
		later time.Duration // when the object is reconciled after that
		want  map[string]string
	}{
		"the event arrives after the restart": {false, 75 * time.Second, true, time.Hour, map[string]string{"create done": "1 in 75s"}},
		"a poll finds the end":                {false, 150 * time.Second, false, 0, map[string]string{"create done": "1 in 150s"}},
		"the end is long ago":                 {false, 75 * time.Second, false, time.Hour, map[string]string{}},
		"the record is lost":                  {true, 30 * time.Second, true, 0, map[string]string{"create done": "1 in 90s"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, took := newTimed(t)
			record := ensured(t, s, s.engine(), desire(t, 1), Record{}, InProgress, "CreateStack").Record
			e := s.engine()
			if c.lost {
				s.step(time.Minute)
				record = ensured(t, s, e, desire(t, 1), Record{}, InProgress, "CreateStack").Record // with the same token
			}
			if event := s.endAfter(c.ends, types.StackStatusCreateComplete, ""); c.event {
				e.Observe(event)
			}
			s.step(c.later)
			ensured(t, s, e, desire(t, 1), record, Ready, "DescribeStacks")
			if diff := cmp.Diff(c.want, took()); diff != "" {
				t.Errorf("durations (-want +got):\n%s", diff)
			}
		})
	}
}

// The record does not say when another client's operation began.
func TestOperationsOfOtherClientsAreNotTimed(t *testing.T) {
	s, took := newTimed(t)
	e, record := made(t, s)
	s.step(time.Hour)
	if _, err := s.UpdateStack(t.Context(), &cloudformation.UpdateStackInput{
		StackName: aws.String(record.StackID), TemplateBody: aws.String(string(desire(t, 2).Template.JSON())),
		ClientRequestToken: aws.String("Console-1"), Tags: s.stacks[0].shown.Tags,
	}); err != nil {
		t.Fatal(err)
	}
	desired := desire(t, 1)
	desired.Refresh = true
	record = ensured(t, s, e, desired, record, InProgress, "DescribeStacks").Record
	e.Observe(s.endAfter(time.Minute, types.StackStatusUpdateComplete, ""))
	if _, err := e.Ensure(t.Context(), awsapi.Target{}, desired, record); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"create done": "1 in 0s"}, took()); diff != "" {
		t.Errorf("durations (-want +got):\n%s", diff)
	}
}

func TestOperationOfEachStatus(t *testing.T) {
	for _, status := range Statuses() {
		var want string
		switch status {
		case StatusNone, types.StackStatusReviewInProgress:
			want = ""
		case types.StackStatusCreateInProgress, types.StackStatusCreateComplete, types.StackStatusCreateFailed,
			types.StackStatusRollbackInProgress, types.StackStatusRollbackComplete, types.StackStatusRollbackFailed:
			want = operationCreate
		case types.StackStatusDeleteInProgress, types.StackStatusDeleteComplete, types.StackStatusDeleteFailed:
			want = operationDelete
		case types.StackStatusImportInProgress, types.StackStatusImportComplete, types.StackStatusImportRollbackInProgress,
			types.StackStatusImportRollbackComplete, types.StackStatusImportRollbackFailed:
			want = operationImport
		default:
			want = operationUpdate
		}
		if got := operationOf(status); got != want {
			t.Errorf("%s belongs to %q, want %q", status, got, want)
		}
	}
}

package stack

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

func TestCallsOfALifecycle(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s) // CreateStack, DescribeStacks
	ensured(t, s, e, desire(t, 1), record, Ready)
	record = ensured(t, s, e, desire(t, 2), record, InProgress, "UpdateStack").Record
	ensured(t, s, e, desire(t, 2), record, InProgress)
	e.Observe(s.end(types.StackStatusUpdateComplete, ""))
	result := ensured(t, s, e, desire(t, 2), record, Ready, "DescribeStacks")
	if result.Outputs["body"] == "" {
		t.Error("the outputs were not read")
	}
	record = deletedBy(t, s, e, result.Record, DeleteOptions{}, InProgress, "DeleteStack").Record
	e.Observe(s.end(types.StackStatusDeleteComplete, ""))
	deletedBy(t, s, e, record, DeleteOptions{}, Gone, "DescribeStacks")
}

func TestRestartMakesNoCalls(t *testing.T) {
	s := newScript(t)
	_, record := made(t, s)
	data, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	var persisted Record
	if err := json.Unmarshal(data, &persisted); err != nil {
		t.Fatal(err)
	}
	ensured(t, s, s.engine(), desire(t, 1), persisted, Ready)
}

func TestOutdatedRecordSendsNothingTwice(t *testing.T) {
	s := newScript(t)
	e := s.engine()
	ensured(t, s, e, desire(t, 1), Record{}, InProgress, "CreateStack")
	result := ensured(t, s, e, desire(t, 1), Record{}, InProgress) // the caller's cache lags behind
	if result.Record.StackID == "" {
		t.Error("the newer record was not returned")
	}
}

func TestEditDuringAnOperationIsAppliedAfterIt(t *testing.T) {
	s := newScript(t)
	e := s.engine()
	record := ensured(t, s, e, desire(t, 1), Record{}, InProgress, "CreateStack").Record
	record = ensured(t, s, e, desire(t, 2), record, InProgress).Record
	e.Observe(s.end(types.StackStatusCreateComplete, ""))
	record = ensured(t, s, e, desire(t, 2), record, InProgress, "DescribeStacks", "UpdateStack").Record
	record = ensured(t, s, e, desire(t, 3), record, InProgress).Record
	s.step(time.Second)
	e.Observe(s.end(types.StackStatusUpdateComplete, ""))
	ensured(t, s, e, desire(t, 3), record, InProgress, "DescribeStacks", "UpdateStack")
	if !strings.Contains(s.stacks[0].body, "3") {
		t.Errorf("the last edit was lost: %s", s.stacks[0].body)
	}
}

func TestRepeatedEditIsSentAgain(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	for _, delay := range []int{2, 1, 2, 1} {
		record = ensured(t, s, e, desire(t, delay), record, InProgress, "UpdateStack").Record
		s.step(time.Second)
		e.Observe(s.end(types.StackStatusUpdateComplete, ""))
		record = ensured(t, s, e, desire(t, delay), record, Ready, "DescribeStacks").Record
	}
}

func TestOperationIsPolledAfterAMissedEvent(t *testing.T) {
	s := newScript(t)
	e := s.engine()
	result := ensured(t, s, e, desire(t, 1), Record{}, InProgress, "CreateStack")
	if result.RequeueAfter != defaultPollInterval {
		t.Errorf("requeue after %s, want the poll interval", result.RequeueAfter)
	}
	s.step(defaultPollInterval)
	record := ensured(t, s, e, desire(t, 1), result.Record, InProgress, "DescribeStacks").Record
	ensured(t, s, e, desire(t, 1), record, InProgress)
	s.end(types.StackStatusCreateComplete, "")
	s.step(defaultPollInterval)
	ensured(t, s, e, desire(t, 1), record, Ready, "DescribeStacks")
}

func TestStaleDescribeStacksIsIgnored(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	record = ensured(t, s, e, desire(t, 2), record, InProgress, "UpdateStack").Record
	event := s.end(types.StackStatusUpdateComplete, "")
	event.Token = "" // possibly another client's
	e.Observe(event)
	s.lag = true
	record = ensured(t, s, e, desire(t, 2), record, InProgress, "DescribeStacks").Record
	s.lag = false
	ensured(t, s, e, desire(t, 2), record, Ready, "DescribeStacks")
}

func TestFailingCreationIsRetriedThreeTimes(t *testing.T) {
	s := newScript(t)
	e := s.engine()
	desired := desire(t, 1)
	record := ensured(t, s, e, desired, Record{}, InProgress, "CreateStack").Record
	for range 2 {
		e.Observe(s.end(types.StackStatusRollbackComplete, "jobs already exists"))
		result := ensured(t, s, e, desired, record, Waiting, "DescribeStacks", "DescribeStackEvents")
		if !strings.Contains(result.Message, "jobs already exists.") || !strings.Contains(result.Message, "of 3") {
			t.Errorf("message %q, want the reason and the number of attempts", result.Message)
		}
		ensured(t, s, e, desired, result.Record, Waiting) // too early
		s.step(result.RequeueAfter)
		record = ensured(t, s, e, desired, result.Record, InProgress, "DeleteStack").Record
		e.Observe(s.end(types.StackStatusDeleteComplete, ""))
		record = ensured(t, s, e, desired, record, InProgress, "DescribeStacks", "CreateStack").Record
	}
	e.Observe(s.end(types.StackStatusRollbackComplete, "jobs already exists"))
	result := ensured(t, s, e, desired, record, Stalled, "DescribeStacks", "DescribeStackEvents")
	if want := "Creating the stack failed 3 times. Queue (AWS::SQS::Queue): jobs already exists. To retry, change the object or its annotation aws-operator/retry."; result.Message != want {
		t.Errorf("message %q, want %q", result.Message, want)
	}
	ensured(t, s, e, desired, result.Record, Stalled)
	ensured(t, s, s.engine(), desired, result.Record, Stalled)               // nor after a restart
	ensured(t, s, e, desire(t, 2), result.Record, InProgress, "DeleteStack") // an edit is sent immediately
}

func TestFailedUpdateIsNotSentAgain(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	record = ensured(t, s, e, desire(t, 2), record, InProgress, "UpdateStack").Record
	s.step(time.Second)
	s.stacks[0].body = string(desire(t, 1).Template.JSON())
	e.Observe(s.end(types.StackStatusUpdateRollbackComplete, "DelaySeconds is out of bounds"))
	result := ensured(t, s, e, desire(t, 2), record, Stalled, "DescribeStacks", "DescribeStackEvents")
	if !strings.Contains(result.Message, "DelaySeconds is out of bounds.") {
		t.Errorf("message %q, want the reason", result.Message)
	}
	record = result.Record
	ensured(t, s, e, desire(t, 2), record, Stalled)
	ensured(t, s, s.engine(), desire(t, 2), record, Stalled) // nor after a restart
	ensured(t, s, e, desire(t, 1), record, Ready)            // reverted: it matches what is deployed
	ensured(t, s, e, desire(t, 3), record, InProgress, "UpdateStack")
}

func TestFailedRollbackIsContinued(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	record = ensured(t, s, e, desire(t, 2), record, InProgress, "UpdateStack").Record
	s.step(time.Second)
	e.Observe(s.end(types.StackStatusUpdateRollbackFailed, "no such queue"))
	record = ensured(t, s, e, desire(t, 2), record, InProgress, "DescribeStacks", "DescribeStackEvents", "ContinueUpdateRollback").Record
	s.step(time.Second)
	e.Observe(s.end(types.StackStatusUpdateRollbackFailed, "no such queue"))
	asking := ensured(t, s, e, desire(t, 2), record, Stalled, "DescribeStacks", "DescribeStackEvents", "ListStackResources")
	if asking.Reason != "RollbackNeedsConsent" || !strings.Contains(asking.Message, "Queue") ||
		!strings.Contains(asking.Message, "service-operator.aws/allow: skip") ||
		len(s.stacks[0].skipped) > 0 {
		t.Errorf("skipped %q without consent, %s: %s", s.stacks[0].skipped, asking.Reason, asking.Message)
	}
	skipping := desire(t, 2)
	skipping.Allow.Skip = true
	record = ensured(t, s, e, skipping, asking.Record, InProgress, "ListStackResources", "ContinueUpdateRollback").Record
	if !slices.Equal(s.stacks[0].skipped, []string{"Queue"}) {
		t.Errorf("skipped %q, want the resource that failed", s.stacks[0].skipped)
	}
	s.step(time.Second)
	e.Observe(s.end(types.StackStatusUpdateRollbackFailed, "no such queue"))
	stalled := ensured(t, s, e, desire(t, 2), record, Stalled, "DescribeStacks", "DescribeStackEvents").Record
	ensured(t, s, e, desire(t, 2), stalled, Stalled)
	record = ensured(t, s, e, desire(t, 3), stalled, InProgress, "ContinueUpdateRollback").Record // an edit may be the fix
	s.step(time.Second)
	s.stacks[0].body = string(desire(t, 1).Template.JSON())
	e.Observe(s.end(types.StackStatusUpdateRollbackComplete, ""))
	ensured(t, s, e, desire(t, 3), record, InProgress, "DescribeStacks", "DescribeStackEvents", "UpdateStack")
}

func TestUpdateLeftFailedIsRolledBack(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	record = ensured(t, s, e, desire(t, 2), record, InProgress, "UpdateStack").Record
	s.step(time.Second)
	e.Observe(s.end(types.StackStatusUpdateFailed, "no"))
	record = ensured(t, s, e, desire(t, 2), record, InProgress, "DescribeStacks", "DescribeStackEvents", "RollbackStack").Record
	s.step(time.Second)
	s.stacks[0].body = string(desire(t, 1).Template.JSON())
	e.Observe(s.end(types.StackStatusUpdateRollbackComplete, ""))
	ensured(t, s, e, desire(t, 2), record, Stalled, "DescribeStacks", "DescribeStackEvents")
}

func TestChangeByAnotherClientIsReverted(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	s.stacks[0].body = string(desire(t, 9).Template.JSON())
	s.stacks[0].shown.LastUpdatedTime = new(s.clock.Now())
	e.Observe(Event{StackID: record.StackID, Status: "UPDATE_COMPLETE", Token: "Console-UpdateStack-1"})
	ensured(t, s, e, desire(t, 1), record, InProgress, "DescribeStacks", "GetTemplate", "UpdateStack")
}

func TestSweepFindsChangesWithoutEvents(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	sweep := func() []Event {
		events, err := e.Sweep(t.Context(), awsapi.Target{})
		if err != nil {
			t.Fatal(err)
		}
		return events
	}
	if events := sweep(); len(events) != 0 {
		t.Errorf("events %+v, want none: nothing changed", events)
	}
	s.stacks[0].shown.StackStatus = types.StackStatusDeleteComplete
	events := sweep()
	if len(events) != 1 || events[0].StackID != record.StackID || events[0].StackName != "jobs" {
		t.Fatalf("events %+v, want the deletion of the stack", events)
	}
	ensured(t, s, e, desire(t, 1), record, InProgress, "DescribeStacks", "CreateStack")
	if len(s.stacks) != 2 {
		t.Errorf("%d stacks were created, want a second one that replaces the first", len(s.stacks))
	}
}

// Two objects claim one name. The engine must not use the owner's record for the other object,
// whose deletion would delete the stack.
func TestStackIsNotDeletedByAnotherObjectThatClaimsItsName(t *testing.T) {
	s := newScript(t)
	first, second := desire(t, 1), desire(t, 1)
	first.Salt, second.Salt = "uid-1", "uid-2"
	second.Tags = map[string]string{owner: "default/other"}
	e := s.engine()
	record := ensured(t, s, e, first, Record{}, InProgress, "CreateStack").Record
	refused := ensured(t, s, e, second, Record{}, Stalled, "CreateStack", "DescribeStacks")
	e.Observe(s.end(types.StackStatusCreateComplete, ""))
	ensured(t, s, e, first, record, Ready, "DescribeStacks") // and has not passed its record back
	deletedBy(t, s, e, refused.Record, DeleteOptions{OwnerTags: second.Tags, Salt: second.Salt}, Gone, "DescribeStacks")
	if got := alive(s); !slices.Equal(got, []string{"jobs CREATE_COMPLETE"}) {
		t.Errorf("stacks %q, want the other object's stack kept", got)
	}
	deletedBy(t, s, e, record, DeleteOptions{OwnerTags: first.Tags, Salt: first.Salt}, InProgress, "DeleteStack")
}

func TestForeignStackIsNotTouched(t *testing.T) {
	s := newScript(t)
	made(t, s)
	other := desire(t, 1)
	other.Tags = map[string]string{owner: "default/other"}
	e := s.engine()
	result := ensured(t, s, e, other, Record{}, Stalled, "CreateStack", "DescribeStacks")
	if result.Reason != "StackNameTaken" {
		t.Errorf("reason %s, want the one of a name that is taken", result.Reason)
	}
	deletedBy(t, s, e, result.Record, DeleteOptions{OwnerTags: other.Tags}, Gone, "DescribeStacks")
	if got := alive(s); !slices.Equal(got, []string{"jobs CREATE_COMPLETE"}) {
		t.Errorf("stacks %q, want the other object's stack kept", got)
	}
}

func TestInvalidTemplateIsNotSent(t *testing.T) {
	s := newScript(t)
	bad := desire(t, 1)
	parsed, err := template.Parse(
		"queue.yaml", []byte("Resources:\n  Queue:\n    Type: AWS::SQS::Queue\n    Properties:\n      QueueName: !Ref Name\n"),
	)
	if err != nil {
		t.Fatal(err)
	}
	bad.Template = parsed
	result := ensured(t, s, s.engine(), bad, Record{}, Stalled)
	if !strings.Contains(result.Message, "queue.yaml:5") || result.Reason != "InvalidTemplate" {
		t.Errorf("%s: %s, want the position", result.Reason, result.Message)
	}
}

func TestTemplateTooBigForARequestNeedsABucket(t *testing.T) {
	s := newScript(t)
	big := desire(t, 1)
	big.Template.Resources["Queue"].Metadata = template.FromInterface(map[string]any{"note": strings.Repeat("x", maxTemplateBody)})
	result := ensured(t, s, s.engine(), big, Record{}, Stalled)
	if result.Reason != "TemplateTooBig" || !strings.Contains(result.Message, "bucket") {
		t.Errorf("%s: %s, want what to do", result.Reason, result.Message)
	}
}

func TestDeniedCallIsRetriedLater(t *testing.T) {
	s := newScript(t)
	s.before = func(string) error {
		return refuse(
			"AccessDenied",
			"User: arn:aws:iam::123456789012:user/op is not authorized to perform: cloudformation:CreateStack on resource: *",
		)
	}
	e := s.engine()
	first := ensured(t, s, e, desire(t, 1), Record{}, Waiting, "CreateStack")
	if !strings.Contains(first.Message, "lacks the permission cloudformation:CreateStack") || first.Reason != "AccessDenied" {
		t.Errorf("%s: %s, want the missing permission", first.Reason, first.Message)
	}
	second := ensured(t, s, e, desire(t, 1), first.Record, Waiting, "CreateStack")
	if second.RequeueAfter <= first.RequeueAfter {
		t.Errorf("waits %s after %s, want a growing delay", second.RequeueAfter, first.RequeueAfter)
	}
	s.before = nil
	ensured(t, s, e, desire(t, 1), second.Record, InProgress, "CreateStack")
}

func TestRefusedCreationStalls(t *testing.T) {
	s := newScript(t)
	s.before = func(string) error { return refuse("ValidationError", "Parameters: [Size] must have values") }
	e := s.engine()
	result := ensured(t, s, e, desire(t, 1), Record{}, Stalled, "CreateStack")
	if !strings.Contains(result.Message, "Parameters: [Size] must have values.") {
		t.Errorf("message %q, want AWS's words", result.Message)
	}
	ensured(t, s, e, desire(t, 1), result.Record, Stalled)
	s.before = nil
	ensured(t, s, e, desire(t, 2), result.Record, InProgress, "CreateStack")
}

func TestTransientFailuresAreErrors(t *testing.T) {
	s := newScript(t)
	s.before = func(string) error { return refuse("Throttling", "Rate exceeded") }
	result, err := s.engine().Ensure(t.Context(), awsapi.Target{}, desire(t, 1), Record{})
	var failure *awsapi.Failure
	if !errors.As(err, &failure) || failure.Kind != awsapi.Throttled {
		t.Fatalf("error %v, want that AWS throttles", err)
	}
	if result.State != Waiting || result.Reason != "Throttled" || result.Message == "" {
		t.Errorf("result %+v, want it filled in", result)
	}
}

func TestNoUpdatesIsSuccess(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	s.before = func(operation string) error {
		if operation == "UpdateStack" {
			return refuse("ValidationError", "No updates are to be performed.")
		}
		return nil
	}
	record = ensured(t, s, e, desire(t, 2), record, Ready, "UpdateStack").Record
	ensured(t, s, e, desire(t, 2), record, Ready)
}

func TestTerminationProtection(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	protected := desire(t, 1)
	protected.TerminationProtection = true
	record = ensured(t, s, e, protected, record, Ready, "UpdateTerminationProtection").Record
	ensured(t, s, e, protected, record, Ready)
	deletedBy(t, s, e, record, DeleteOptions{}, Stalled, "DeleteStack")
	deletedBy(t, s, e, record, DeleteOptions{DisableTerminationProtection: true}, InProgress, "UpdateTerminationProtection", "DeleteStack")
}

func TestTerminationProtectionByAnotherClientIsKept(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	s.stacks[0].shown.EnableTerminationProtection = new(true)
	result := deletedBy(t, s, e, record, DeleteOptions{}, Stalled, "DeleteStack")
	if result.Reason != "TerminationProtected" {
		t.Errorf("reason %s, want the one of a protected stack", result.Reason)
	}
	deletedBy(
		t,
		s,
		e,
		result.Record,
		DeleteOptions{DisableTerminationProtection: true},
		InProgress,
		"DeleteStack",
		"UpdateTerminationProtection",
		"DeleteStack",
	)
}

func TestFailedDeletionIsRetriedWithoutLimit(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	record = deletedBy(t, s, e, record, DeleteOptions{}, InProgress, "DeleteStack").Record
	var last time.Duration
	for range 4 {
		s.step(time.Second)
		e.Observe(s.end(types.StackStatusDeleteFailed, "The bucket you tried to delete is not empty"))
		result := deletedBy(t, s, e, record, DeleteOptions{}, Waiting, "DescribeStacks", "ListStackResources")
		if !strings.Contains(result.Message, "Queue (AWS::SQS::Queue): The bucket you tried to delete is not empty.") {
			t.Errorf("message %q, want the resource that failed and why", result.Message)
		}
		if result.RequeueAfter <= last {
			t.Errorf("waits %s after %s, want a growing delay", result.RequeueAfter, last)
		}
		last = result.RequeueAfter
		s.step(last)
		record = deletedBy(
			t, s, e, result.Record, DeleteOptions{Retain: []string{"Queue", "Other"}}, InProgress, "ListStackResources", "DeleteStack",
		).Record
		if !slices.Equal(s.stacks[0].retained, []string{"Queue"}) {
			t.Errorf("retained %q, want only the failed resources that may be retained", s.stacks[0].retained)
		}
	}
	e.Observe(s.end(types.StackStatusDeleteComplete, ""))
	deletedBy(t, s, e, record, DeleteOptions{}, Gone, "DescribeStacks")
}

func TestDeletionWaitsForARunningOperation(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	record = ensured(t, s, e, desire(t, 2), record, InProgress, "UpdateStack").Record
	record = deletedBy(t, s, e, record, DeleteOptions{}, InProgress).Record
	s.step(time.Second)
	e.Observe(s.end(types.StackStatusUpdateComplete, ""))
	deletedBy(t, s, e, record, DeleteOptions{}, InProgress, "DescribeStacks", "DeleteStack")
}

// How long a visit takes depends on the machine; what it allocates does not.
func TestNoOpEnsureIsCheap(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	desired := desire(t, 1)
	ensured(t, s, e, desired, record, Ready)
	allocations := testing.AllocsPerRun(100, func() {
		if _, err := e.Ensure(t.Context(), awsapi.Target{}, desired, record); err != nil {
			t.Fatal(err)
		}
	})
	if allocations > 80 {
		t.Errorf("a visit with nothing to do allocates %v times, want at most 80", allocations)
	}
}

// An answer may be older than the last one that was read, because each comes from another server: here
// it is from before the previous update.
func TestDescribeStacksFromBeforeThePreviousUpdateIsIgnored(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	first := s.stacks[0].shown
	record = ensured(t, s, e, desire(t, 2), record, InProgress, "UpdateStack").Record
	e.Observe(s.end(types.StackStatusUpdateComplete, ""))
	record = ensured(t, s, e, desire(t, 2), record, Ready, "DescribeStacks").Record
	s.step(time.Minute)
	record = ensured(t, s, e, desire(t, 3), record, InProgress, "UpdateStack").Record
	event := s.end(types.StackStatusUpdateComplete, "")
	event.Token = "" // possibly another client's
	e.Observe(event)
	s.lag, s.stacks[0].lagging = true, first
	record = ensured(t, s, e, desire(t, 3), record, InProgress, "DescribeStacks").Record
	s.lag = false
	ensured(t, s, e, desire(t, 3), record, Ready, "DescribeStacks")
}

// CloudFormation's answers may be out of date for longer than the operator waits between two polls.
func TestStaleDescribeStacksIsIgnoredWithShortPolls(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	e.options.PollInterval = time.Second
	record = ensured(t, s, e, desire(t, 2), record, InProgress, "UpdateStack").Record
	event := s.end(types.StackStatusUpdateComplete, "")
	event.Token = ""
	e.Observe(event)
	s.lag = true
	s.step(2 * time.Second)
	record = ensured(t, s, e, desire(t, 2), record, InProgress, "DescribeStacks").Record
	s.lag = false
	s.step(stalePoll)
	ensured(t, s, e, desire(t, 2), record, Ready, "DescribeStacks")
}

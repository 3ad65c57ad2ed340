package stack

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// Tests of what other clients do, or what gets lost, while the engine is working.

// vanishes deletes the newest stack, as another client would.
func vanishes(s *script) Event {
	return Event{StackID: s.end(types.StackStatusDeleteComplete, "").StackID, Status: "DELETE_COMPLETE", Token: "Console-1"}
}

// A stack that replaced a deleted one just before the operator died is deleted with the object.
func TestUnrecordedReplacementOfADeletedStackIsDeleted(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	e.Observe(vanishes(s))
	ensured(t, s, e, desire(t, 1), record, InProgress, "DescribeStacks", "CreateStack") // and dies
	s.end(types.StackStatusCreateComplete, "")
	e = s.engine()
	// The recorded stack is deleted already.
	record = deletedBy(t, s, e, record, DeleteOptions{}, InProgress, "DescribeStacks", "DescribeStacks", "DeleteStack").Record
	e.Observe(s.end(types.StackStatusDeleteComplete, ""))
	deletedBy(t, s, e, record, DeleteOptions{}, Gone, "DescribeStacks")
	if left := alive(s); len(left) != 0 {
		t.Errorf("left over: %q", left)
	}
}

// The same when the operator restarts before the next poll of the recorded deletion is due.
func TestUnrecordedSecondCreationIsDeletedImmediately(t *testing.T) {
	s := newScript(t)
	e := s.engine()
	record := ensured(t, s, e, desire(t, 1), Record{}, InProgress, "CreateStack").Record
	e.Observe(s.end(types.StackStatusRollbackComplete, "no"))
	result := ensured(t, s, e, desire(t, 1), record, Waiting, "DescribeStacks", "DescribeStackEvents")
	s.step(result.RequeueAfter)
	record = ensured(t, s, e, desire(t, 1), result.Record, InProgress, "DeleteStack").Record
	e.Observe(s.end(types.StackStatusDeleteComplete, ""))
	ensured(t, s, e, desire(t, 1), record, InProgress, "DescribeStacks", "CreateStack") // and dies
	s.end(types.StackStatusCreateComplete, "")
	deletedBy(t, s, s.engine(), record, DeleteOptions{}, InProgress, "DescribeStacks", "DescribeStacks", "DeleteStack")
}

// An operator sent an update and died before it recorded that. The next one recognizes the update
// by its token, and does not mistake another client's for it.
func TestUnrecordedUpdateIsResumed(t *testing.T) {
	for name, c := range map[string]struct {
		sent    int
		resumed bool
	}{
		"the desired one":  {2, true},
		"another client's": {3, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t)
			e, record := made(t, s)
			began := s.clock.Now()
			ensured(t, s, e, desire(t, c.sent), record, InProgress, "UpdateStack") // and dies
			s.step(time.Minute)
			s.calls = nil
			result, err := s.engine().Ensure(t.Context(), awsapi.Target{}, desire(t, 2), record)
			if err != nil || result.State != InProgress {
				t.Fatalf("got %+v, %v", result, err)
			}
			if !c.resumed {
				if result.Record.PendingDigest != "" {
					t.Errorf("the record is %+v", result.Record)
				}
				return
			}
			if r := result.Record; r.PendingDigest == "" || r.Token == "" || r.StartedAt == nil || !r.StartedAt.Equal(began) {
				t.Errorf("the record is %+v", r)
			}
			e = s.engine()
			e.Observe(s.end(types.StackStatusUpdateComplete, ""))
			ensured(t, s, e, desire(t, 2), result.Record, Ready, "DescribeStacks")
		})
	}
}

// An operator created a stack and died before it recorded that. The stack was complete before the
// next operator listened, so no event will report it, and the engine must not wait for one.
func TestUnrecordedCompleteCreationIsNotWaitedFor(t *testing.T) {
	for name, report := range map[string]func(e *Engine, end Event){
		"a sweep": func(e *Engine, _ Event) {
			if _, err := e.Sweep(t.Context(), awsapi.Target{}); err != nil {
				t.Fatal(err)
			}
		},
		"an event": func(e *Engine, end Event) { e.Observe(end) },
	} {
		t.Run("reported by "+name, func(t *testing.T) {
			s := newScript(t)
			ensured(t, s, s.engine(), desire(t, 1), Record{}, InProgress, "CreateStack") // and dies
			end := s.end(types.StackStatusCreateComplete, "")
			e := s.engine()
			report(e, end)
			s.calls = nil
			ensured(t, s, e, desire(t, 1), Record{}, Ready, "CreateStack", "DescribeStacks")
		})
	}
}

func TestSweepDoesNotReportReplacedStacks(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	e.Observe(vanishes(s))
	record = ensured(t, s, e, desire(t, 1), record, InProgress, "DescribeStacks", "CreateStack").Record
	e.Observe(s.end(types.StackStatusCreateComplete, ""))
	ensured(t, s, e, desire(t, 1), record, Ready, "DescribeStacks")
	for range 2 {
		events, err := e.Sweep(t.Context(), awsapi.Target{})
		if err != nil || len(events) != 0 {
			t.Errorf("%+v, %v; want nothing: every stack matches its record", events, err)
		}
	}
	if known := len(e.watchlist.stacks); known != 1 {
		t.Errorf("%d stacks are watched, want the existing one", known)
	}
}

func TestUnknownStatusIsWaitedFor(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	one := s.stacks[0]
	one.shown.StackStatus, one.shown.LastUpdatedTime = "MIGRATION_PAUSED", aws.Time(s.clock.Now())
	desired := desire(t, 1)
	desired.Refresh = true
	result := ensured(t, s, e, desired, record, InProgress, "DescribeStacks")
	if result.RequeueAfter != defaultPollInterval {
		t.Errorf("polls again after %s, want %s", result.RequeueAfter, defaultPollInterval)
	}
	s.step(result.RequeueAfter)
	one.shown.StackStatus = types.StackStatusUpdateComplete
	ensured(t, s, e, desire(t, 1), result.Record, Ready, "DescribeStacks", "GetTemplate")
}

// The plan, and the policy's decision, are for what is deployed now.
func TestOvertakenUpdateIsPlannedAgain(t *testing.T) {
	s := newScript(t)
	_, record := made(t, s)
	withTable, err := template.Parse("queue.yaml", []byte(`
Resources:
  Queue:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: jobs
  Table:
    Type: AWS::DynamoDB::Table
    Properties:
      KeySchema: [{AttributeName: id, KeyType: HASH}]
`))
	if err != nil {
		t.Fatal(err)
	}
	s.before = func(operation string) error {
		if operation != "UpdateStack" {
			return nil
		}
		s.before = nil // another client was faster
		s.stacks[0].body = string(withTable.JSON())
		s.stacks[0].shown.LastUpdatedTime, s.stacks[0].shown.StackStatus = aws.Time(s.clock.Now()), types.StackStatusUpdateComplete
		return refuse("ValidationError", "Stack:jobs is in UPDATE_IN_PROGRESS state and can not be updated.")
	}
	result := ensured(
		t, s, s.engine(), desire(t, 2), record, Stalled, "DescribeStacks", "GetTemplate", "UpdateStack", "DescribeStacks", "GetTemplate",
	)
	if result.Reason != reasonRefused {
		t.Errorf("%s: %s, want the policy to guard the table", result.Reason, result.Message)
	}
}

// An update that another client's update followed before the engine read the stack is not what is
// deployed.
func TestUpdateFollowedByAnotherClientsIsNotRecorded(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	record = ensured(t, s, e, desire(t, 2), record, InProgress, "UpdateStack").Record
	e.Observe(s.end(types.StackStatusUpdateComplete, ""))
	s.step(time.Second)
	s.stacks[0].body, s.stacks[0].shown.LastUpdatedTime = string(desire(t, 9).Template.JSON()), aws.Time(s.clock.Now())
	e.Observe(Event{StackID: record.StackID, Status: "UPDATE_COMPLETE", Token: "Console-2"})
	ensured(t, s, e, desire(t, 2), record, InProgress, "DescribeStacks", "GetTemplate", "UpdateStack")
}

// A role that does not exist is not a missing stack.
func TestDeletionWithAMissingRoleIsNotComplete(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	s.before = func(operation string) error {
		if operation == "DeleteStack" {
			return refuse("ValidationError", "Role arn:aws:iam::123456789012:role/deployer does not exist")
		}
		return nil
	}
	deletedBy(t, s, e, record, DeleteOptions{}, Waiting, "DeleteStack")
}

func TestUpdateIsRetriedWithAddedCapabilityOrRole(t *testing.T) {
	for name, given := range map[string]func(*Desired){
		"a capability": func(d *Desired) { d.Capabilities = []string{"CAPABILITY_NAMED_IAM"} },
		"a role":       func(d *Desired) { d.RoleARN = "arn:aws:iam::123456789012:role/deployer" },
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t)
			e := s.engine()
			s.before = func(string) error { return refuse("InsufficientCapabilitiesException", "Requires capabilities") }
			record := ensured(t, s, e, desire(t, 1), Record{}, Stalled, "CreateStack").Record
			ensured(t, s, e, desire(t, 1), record, Stalled)
			s.before = nil
			desired := desire(t, 1)
			given(&desired)
			ensured(t, s, e, desired, record, InProgress, "CreateStack")
		})
	}
}

// Messages of the caller's Clean function are kept; those of the SDK are reworded for the user.
func TestFailedCleanIsReportedWithoutSDKText(t *testing.T) {
	if got := sentenceOf(refuse("AccessDenied", "User: arn:x is not authorized to perform: s3:DeleteObject")); got == "" ||
		len(got) > 200 ||
		got[:4] != "AWS " {
		t.Errorf("%q", got)
	}
}

// A stack is not left behind if the record of its creation is lost, and CloudFormation does not list it by its
// name yet.
func TestJustCreatedStackIsDeletedWithoutItsRecord(t *testing.T) {
	s := newScript(t)
	e := s.engine()
	record := ensured(t, s, e, desire(t, 1), Record{}, InProgress, "CreateStack").Record
	e.Observe(s.end(types.StackStatusCreateComplete, ""))
	record = ensured(t, s, e, desire(t, 1), record, Ready, "DescribeStacks").Record
	ensured(t, s, e, desire(t, 1), record, Ready) // passes the record back
	s.before = func(operation string) error {
		if operation == "DescribeStacks" {
			return refuse("ValidationError", "Stack with id jobs does not exist")
		}
		return nil
	}
	options := DeleteOptions{OwnerTags: desire(t, 1).Tags}
	lost := deletedBy(t, s, e, Record{}, options, InProgress, "DescribeStacks").Record
	s.before = nil
	s.step(consistency)
	deletedBy(t, s, e, lost, options, InProgress, "DescribeStacks", "DeleteStack")
}

// TestReadThatIsBehindAnEventIsRepeated tests that the end of an operation is not missed until the next poll if an
// event reports it before DescribeStacks does. An old or a forged event does not cause calls forever.
func TestReadThatIsBehindAnEventIsRepeated(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	record = ensured(t, s, e, desire(t, 2), record, InProgress, "UpdateStack").Record
	s.step(time.Minute)
	e.Observe(Event{StackID: record.StackID, Status: "UPDATE_COMPLETE", Token: record.Token, Time: s.clock.Now()})
	result := ensured(t, s, e, desire(t, 2), record, InProgress, "DescribeStacks")
	if result.RequeueAfter != stalePoll {
		t.Errorf("the stack is read again after %s", result.RequeueAfter)
	}
	s.step(result.RequeueAfter)
	result = ensured(t, s, e, desire(t, 2), result.Record, InProgress, "DescribeStacks")
	s.end(types.StackStatusUpdateComplete, "")
	s.step(result.RequeueAfter)
	record = ensured(t, s, e, desire(t, 2), result.Record, Ready, "DescribeStacks").Record

	record = ensured(t, s, e, desire(t, 3), record, InProgress, "UpdateStack").Record
	e.Observe(Event{StackID: record.StackID, Status: "UPDATE_COMPLETE", Token: record.Token, Time: s.clock.Now()})
	for range 5 {
		result = ensured(t, s, e, desire(t, 3), record, InProgress, "DescribeStacks")
		record = result.Record
		s.step(result.RequeueAfter)
	}
	result = ensured(t, s, e, desire(t, 3), record, InProgress, "DescribeStacks")
	if result.RequeueAfter < time.Minute {
		t.Errorf("after %s, the stack is still read every %s", 5*stalePoll, result.RequeueAfter)
	}
}

// TestAnswerFromBeforeAnUpdateIsNotItsEnd tests that an answer from before an update is not its end although it has the
// status that an event just reported. The engine would send the update again, with the same token: CloudFormation starts
// nothing then, and the engine would wait for an event that it has had.
func TestAnswerFromBeforeAnUpdateIsNotItsEnd(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	record = ensured(t, s, e, desire(t, 2), record, InProgress, "UpdateStack").Record
	e.Observe(s.end(types.StackStatusUpdateComplete, ""))
	record = ensured(t, s, e, desire(t, 2), record, Ready, "DescribeStacks").Record
	s.step(time.Second)
	record = ensured(t, s, e, desire(t, 3), record, InProgress, "UpdateStack").Record
	e.Observe(s.end(types.StackStatusUpdateComplete, ""))
	s.lag = true
	result := ensured(t, s, e, desire(t, 3), record, InProgress, "DescribeStacks")
	if result.RequeueAfter != stalePoll {
		t.Errorf("the stack is read again after %s", result.RequeueAfter)
	}
	s.lag = false
	s.step(result.RequeueAfter)
	ensured(t, s, e, desire(t, 3), result.Record, Ready, "DescribeStacks")
}

package stack

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// A change that needs approval is handled the same in every status in which a stack can be updated.
func TestDecideWhereChangesNeedApproval(t *testing.T) {
	cases := map[string]struct {
		facts Facts
		want  Action
	}{
		"a change is proposed":                                 {Facts{Review: true}, ActionPropose},
		"what is deployed is read before a change is proposed": {Facts{Review: true, Unknown: true}, ActionInspect},
		"the change set is read":                               {Facts{Review: true, Proposal: ProposalUnread}, ActionRead},
		"a proposal that is shown waits":                       {Facts{Review: true, Proposal: ProposalWaits}, ActionAwait},
		"waiting does not read what is deployed": {
			Facts{Review: true, Proposal: ProposalWaits, Unknown: true},
			ActionAwait,
		},
		"an approved change is executed": {Facts{Review: true, Proposal: ProposalApproved}, ActionExecute},
		"what is deployed is read before the execution, for the policy": {
			Facts{Review: true, Proposal: ProposalApproved, Unknown: true},
			ActionInspect,
		},
		"an outdated change set is withdrawn": {Facts{Review: true, Proposal: ProposalOutdated}, ActionWithdraw},
		"a reverted edit leaves no change set": {
			Facts{Review: true, Matches: true, Proposal: ProposalOutdated},
			ActionWithdraw,
		},
		"a stack that matches needs no approval": {Facts{Review: true, Matches: true}, ActionKeep},
		"what failed is not proposed again":      {Facts{Review: true, Refused: true}, ActionStall},
		"what failed leaves no change set": {
			Facts{Review: true, Refused: true, Proposal: ProposalOutdated},
			ActionWithdraw,
		},
		"a change set is withdrawn when review is disabled": {Facts{Proposal: ProposalOutdated}, ActionWithdraw},
	}
	for _, status := range types.StackStatus("").Values() {
		if !stable(status) {
			continue
		}
		for name, c := range cases {
			t.Run(string(status)+": "+name, func(t *testing.T) {
				if got := Decide(status, Present, c.facts); got != c.want {
					t.Errorf("Decide(%s, %+v) = %s, want %s", status, c.facts, got, c.want)
				}
				if got := Decide(status, Absent, c.facts); got != ActionDelete {
					t.Errorf("a deletion needs no approval, but Decide returns %s", got)
				}
			})
		}
	}
}

// Operations other than the update of an existing stack need no approval: its creation, the end of
// a failed update, and its deletion.
func TestDecideRequiresApprovalOnlyForUpdates(t *testing.T) {
	for _, status := range Statuses() {
		if stable(status) {
			continue
		}
		for _, goal := range []Goal{Present, Absent} {
			without, with := Decide(status, goal, Facts{}), Decide(status, goal, Facts{Review: true})
			if without != with {
				t.Errorf("%s, %s: %s with approval, %s without", status, goal, with, without)
			}
		}
	}
}

// reviewed returns a stack whose changes need approval.
func reviewed(t *testing.T, delaySeconds int, approved ...string) Desired {
	t.Helper()
	d := desire(t, delaySeconds)
	d.Review = &Review{Approved: approved}
	return d
}

// proposed returns the record of a stack with a change that is shown and waits for approval.
func proposed(t *testing.T, s *script, e *Engine, record Record, delaySeconds int) Record {
	t.Helper()
	record = ensured(t, s, e, reviewed(t, delaySeconds), record, InProgress, "CreateChangeSet").Record
	result := ensured(t, s, e, reviewed(t, delaySeconds), record, Proposed, "DescribeChangeSet")
	if result.Reason != ReasonApprovalNeeded || result.Proposal == nil || result.Proposal.Digest != result.Record.Proposal ||
		result.Record.Proposal == "" {
		t.Fatalf("result %+v, want a proposal that needs approval", result)
	}
	return result.Record
}

// shown is reviewed with the proposal that the object's status shows.
func shown(t *testing.T, delaySeconds int, record *Record, approved ...string) Desired {
	t.Helper()
	d := reviewed(t, delaySeconds, approved...)
	d.Review.Shown = record.Proposal
	return d
}

func TestChangeWaitsForApproval(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	before := s.stacks[0].body
	record = proposed(t, s, e, record, 2)
	for range 3 { // also after a restart, waiting costs no call
		ensured(t, s, e, shown(t, 2, &record), record, Proposed)
		e = s.engine()
	}
	if s.stacks[0].body != before || s.stacks[0].shown.StackStatus != types.StackStatusCreateComplete {
		t.Fatal("the stack was changed before the approval")
	}
	waiting := ensured(t, s, e, shown(t, 2, &record, "something else"), record, Proposed)
	if !strings.Contains(waiting.Message, "The annotation aws-operator/approve does not have its digest.") {
		t.Errorf("another digest is not mentioned: %s", waiting.Message)
	}
	record = ensured(
		t,
		s,
		e,
		shown(t, 2, &record, "something else", record.Proposal),
		record,
		InProgress,
		"DescribeStacks",
		"GetTemplate",
		"DescribeChangeSet",
		"ExecuteChangeSet",
	).Record
	s.step(time.Second)
	e.Observe(s.end(types.StackStatusUpdateComplete, ""))
	result := ensured(t, s, e, reviewed(t, 2), record, Ready, "DescribeStacks")
	if result.Record.ChangeSet != "" || result.Record.Proposal != "" || result.Record.Digest == "" {
		t.Errorf("record %+v, want no waiting change", result.Record)
	}
	ensured(t, s, e, reviewed(t, 2), result.Record, Ready)
}

func TestProposalThatIsNotShownIsReadAgain(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	record = proposed(t, s, e, record, 2)
	again := ensured(t, s, e, reviewed(t, 2), record, Proposed, "DescribeChangeSet")
	if again.Proposal == nil || again.Proposal.Digest != record.Proposal {
		t.Errorf("the proposal that is read again is %+v, want the same", again.Proposal)
	}
}

func TestPendingChangeSetIsPolled(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	record = ensured(t, s, e, reviewed(t, 2), record, InProgress, "CreateChangeSet").Record
	s.slow = true
	result := ensured(t, s, e, reviewed(t, 2), record, InProgress, "DescribeChangeSet")
	if result.RequeueAfter <= 0 || result.Proposal != nil {
		t.Errorf("%+v, want another poll soon", result)
	}
	s.slow = false
	ensured(t, s, e, reviewed(t, 2), result.Record, Proposed, "DescribeChangeSet")
}

func TestEditWhileWaitingMakesApprovalStale(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	record = proposed(t, s, e, record, 2)
	former := record.Proposal
	record = ensured(t, s, e, shown(t, 3, &record, former), record, InProgress, "DeleteChangeSet", "CreateChangeSet").Record
	result := ensured(t, s, e, reviewed(t, 3, former), record, Proposed, "DescribeChangeSet")
	if result.Reason != ReasonApprovalStale || result.Record.Proposal == former {
		t.Errorf("%s, digest %s after %s: want another digest, and ApprovalStale", result.Reason, result.Record.Proposal, former)
	}
	if waiting := s.stacks[0].waiting(); len(waiting) != 1 {
		t.Errorf("change sets %q, want the new one only", waiting)
	}
	record = ensured(
		t, s, e, shown(t, 3, &result.Record, result.Record.Proposal), result.Record, InProgress, "DescribeChangeSet", "ExecuteChangeSet",
	).Record
	if s.stacks[0].body != string(desire(t, 3).Template.JSON()) {
		t.Errorf("the stack has %s", s.stacks[0].body)
	}
	_ = record
}

func TestUpdateByAnotherClientMakesApprovalStale(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	record = proposed(t, s, e, record, 2)
	former := record.Proposal
	theirs := s.stacks[0]
	theirs.body, theirs.shown.LastUpdatedTime = string(desire(t, 9).Template.JSON()), aws.Time(s.clock.Now())
	theirs.obsolete()
	e.Observe(Event{StackID: record.StackID, Status: "UPDATE_COMPLETE", Token: "theirs"})
	theirs.shown.StackStatus = types.StackStatusUpdateComplete
	record = ensured(
		t, s, e, shown(t, 2, &record, former), record, InProgress, "DescribeStacks", "DeleteChangeSet", "GetTemplate", "CreateChangeSet",
	).Record
	result := ensured(t, s, e, reviewed(t, 2, former), record, Proposed, "DescribeStacks", "GetTemplate", "DescribeChangeSet")
	if result.Reason != ReasonApprovalStale || result.Record.Proposal == former {
		t.Errorf("%s, digest %s after %s: want another digest", result.Reason, result.Record.Proposal, former)
	}
}

// No event reports an obsolete change set: CloudFormation reports it when it is read before its
// execution.
func TestObsoleteChangeSetIsRecreated(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	record = proposed(t, s, e, record, 2)
	s.stacks[0].obsolete()
	record = ensured(
		t,
		s,
		e,
		shown(t, 2, &record, record.Proposal),
		record,
		InProgress,
		"DescribeChangeSet",
		"DeleteChangeSet",
		"DescribeStacks",
		"CreateChangeSet",
	).Record
	if record.ChangeSet == "" || s.stacks[0].shown.StackStatus != types.StackStatusCreateComplete {
		t.Errorf("record %+v, want another change set and nothing executed", record)
	}
}

func TestDeletedChangeSetIsRecreated(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	record = proposed(t, s, e, record, 2)
	s.stacks[0].sets = nil
	record = ensured(
		t,
		s,
		e,
		shown(t, 2, &record, record.Proposal),
		record,
		InProgress,
		"DescribeChangeSet",
		"DeleteChangeSet",
		"DescribeStacks",
		"CreateChangeSet",
	).Record
	again := ensured(t, s, e, shown(t, 2, &record), record, Proposed, "DescribeChangeSet")
	ensured(t, s, e, shown(t, 2, &again.Record, again.Record.Proposal), again.Record, InProgress, "DescribeChangeSet", "ExecuteChangeSet")
}

func TestChangeSetWithoutChangesMatches(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	s.stacks[0].body = string(desire(t, 2).Template.JSON()) // already deployed, formatted differently
	record = ensured(t, s, e, reviewed(t, 2), record, InProgress, "CreateChangeSet").Record
	record = ensured(t, s, e, reviewed(t, 2), record, Ready, "DescribeChangeSet", "DeleteChangeSet").Record
	ensured(t, s, e, reviewed(t, 2), record, Ready)
	if len(s.stacks[0].sets) > 0 {
		t.Error("a change set is left over")
	}
}

func TestFailedChangeSetStalls(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	record = ensured(t, s, e, reviewed(t, 2), record, InProgress, "CreateChangeSet").Record
	s.stacks[0].sets[0].status, s.stacks[0].sets[0].reason = types.ChangeSetStatusFailed, "Export jobs cannot be deleted as it is in use by other"
	result := ensured(t, s, e, reviewed(t, 2), record, Stalled, "DescribeChangeSet", "DeleteChangeSet")
	if !strings.Contains(result.Message, "Export jobs cannot be deleted as it is in use by other.") {
		t.Errorf("message %q, want CloudFormation's reason", result.Message)
	}
	ensured(t, s, e, reviewed(t, 2), result.Record, Stalled)
}

func TestExecutedChangeSetDoesNotBlockTheNext(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	record = proposed(t, s, e, record, 2)
	record = ensured(t, s, e, shown(t, 2, &record, record.Proposal), record, InProgress, "DescribeChangeSet", "ExecuteChangeSet").Record
	s.step(time.Second)
	e.Observe(s.end(types.StackStatusUpdateComplete, ""))
	record = ensured(t, s, e, reviewed(t, 2), record, Ready, "DescribeStacks").Record
	ensured(t, s, e, reviewed(t, 3), record, InProgress, "CreateChangeSet", "DeleteChangeSet", "CreateChangeSet")
}

func TestFailedApprovedUpdateIsNotProposedAgain(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	record = proposed(t, s, e, record, 2)
	record = ensured(t, s, e, shown(t, 2, &record, record.Proposal), record, InProgress, "DescribeChangeSet", "ExecuteChangeSet").Record
	s.step(time.Second)
	e.Observe(s.end(types.StackStatusUpdateRollbackComplete, "DelaySeconds is out of bounds"))
	result := ensured(t, s, e, reviewed(t, 2), record, Stalled, "DescribeStacks", "DescribeStackEvents")
	ensured(t, s, e, reviewed(t, 3), result.Record, InProgress, "CreateChangeSet", "DeleteChangeSet", "CreateChangeSet")
}

// A change that needs no approval any more is applied and leaves no change set.
func TestDisabledReviewDeletesChangeSet(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	record = proposed(t, s, e, record, 2)
	ensured(t, s, e, desire(t, 2), record, InProgress, "DeleteChangeSet", "UpdateStack")
}

func TestRevertedEditLeavesNoChangeSet(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	record = proposed(t, s, e, record, 2)
	ensured(t, s, e, shown(t, 1, &record), record, Ready, "DeleteChangeSet")
}

func TestDeletionDeletesChangeSet(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	record = proposed(t, s, e, record, 2)
	deletedBy(t, s, e, record, DeleteOptions{}, InProgress, "DeleteChangeSet", "DeleteStack")
}

func TestWithdrawDeletesChangeSet(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	record = proposed(t, s, e, record, 2)
	for range 2 { // the second time, it is deleted already
		if err := e.Withdraw(t.Context(), awsapi.Target{}, Owner{Name: "jobs", Tags: desire(t, 1).Tags}, record); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.stacks[0].sets) > 0 {
		t.Error("a change set is left over")
	}
}

func TestHeldChangeWaitsAfterApproval(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	record = proposed(t, s, e, record, 2)
	held := shown(t, 2, &record, record.Proposal)
	held.Review.Hold = true
	if result := ensured(t, s, e, held, record, Proposed); result.Reason != ReasonApproved {
		t.Errorf("reason %s, want the one of an approved change", result.Reason)
	}
	ensured(t, s, e, shown(t, 2, &record, record.Proposal), record, InProgress, "DescribeChangeSet", "ExecuteChangeSet")
}

func TestPolicyIsCheckedBeforeAProposal(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	renamed := reviewed(t, 1)
	renamed.Template = queueNamed(t, "other")
	if result := ensured(t, s, e, renamed, record, Stalled); result.Reason != reasonRefused {
		t.Errorf("reason %s, want the policy's refusal", result.Reason)
	}
	renamed.Allow.Replace = true
	record = ensured(t, s, e, renamed, record, InProgress, "CreateChangeSet").Record
	record = ensured(t, s, e, renamed, record, Proposed, "DescribeChangeSet").Record
	renamed.Allow.Replace, renamed.Review.Approved = false, []string{record.Proposal}
	if result := ensured(t, s, e, renamed, record, Stalled, "DescribeChangeSet"); result.Reason != reasonRefused {
		t.Errorf("reason %s, want the refusal of a change that the policy allowed when it was proposed", result.Reason)
	}
}

func TestStackPolicyIsSetBeforeTheExecution(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	guarded := reviewed(t, 2)
	guarded.Policy = `{"Statement":[]}`
	record = ensured(t, s, e, guarded, record, InProgress, "CreateChangeSet").Record
	record = ensured(t, s, e, guarded, record, Proposed, "DescribeChangeSet").Record
	guarded.Review.Approved = []string{record.Proposal}
	ensured(t, s, e, guarded, record, InProgress, "DescribeChangeSet", "SetStackPolicy", "ExecuteChangeSet")
	if s.stacks[0].policy != guarded.Policy {
		t.Errorf("the stack policy is %q", s.stacks[0].policy)
	}
}

// The caller prepares what a stack needs before the stack is sent, and not while a change waits.
func TestPrepare(t *testing.T) {
	s := newScript(t)
	e := s.engine()
	var prepared []string
	preparing := func(d Desired, err error) Desired {
		d.Prepare = func(context.Context) error {
			prepared = append(prepared, d.Template.Digest())
			return err
		}
		return d
	}
	result := ensured(t, s, e, preparing(desire(t, 1), refuse("NoSuchBucket", "The specified bucket does not exist")), Record{}, Waiting)
	record := ensured(t, s, e, preparing(desire(t, 1), nil), result.Record, InProgress, "CreateStack").Record
	e.Observe(s.end(types.StackStatusCreateComplete, ""))
	record = ensured(t, s, e, preparing(desire(t, 1), nil), record, Ready, "DescribeStacks").Record
	s.step(time.Minute)
	first := desire(t, 1).Template.Digest()
	if !slices.Equal(prepared, []string{first, first}) {
		t.Fatalf("prepared %q", prepared)
	}
	record = ensured(t, s, e, preparing(reviewed(t, 2), nil), record, InProgress, "CreateChangeSet").Record
	record = ensured(t, s, e, preparing(reviewed(t, 2), nil), record, Proposed, "DescribeChangeSet").Record
	if len(prepared) != 2 {
		t.Error("Prepare was called for a change that waits")
	}
	ensured(t, s, e, preparing(shown(t, 2, &record, record.Proposal), nil), record, InProgress, "DescribeChangeSet", "ExecuteChangeSet")
	if len(prepared) != 3 {
		t.Error("Prepare was not called for the approved change")
	}
}

func TestSignalsAndCancellations(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	ask := func(name string) (waiting, cancelled bool) {
		t.Helper()
		who := Owner{Name: name, Tags: desire(t, 1).Tags}
		if name == "jobs" {
			who.StackID = record.StackID
		}
		waiting, err := e.Signal(t.Context(), awsapi.Target{}, who, "Group", "i-1")
		if err != nil {
			t.Fatal(err)
		}
		if cancelled, err = e.Cancel(t.Context(), awsapi.Target{}, who); err != nil {
			t.Fatal(err)
		}
		return waiting, cancelled
	}
	if waiting, cancelled := ask("jobs"); waiting || cancelled {
		t.Error("a stack without an update waits for a signal, or was cancelled")
	}
	if waiting, cancelled := ask("other"); waiting || cancelled {
		t.Error("a missing stack waits for a signal, or was cancelled")
	}
	ensured(t, s, e, desire(t, 2), record, InProgress, "UpdateStack")
	if waiting, cancelled := ask("jobs"); !waiting || !cancelled {
		t.Error("a stack with a running update does not wait for a signal, or cannot be cancelled")
	}
	s.before = func(string) error {
		return refuse("AccessDenied", "User: x is not authorized to perform: cloudformation:SignalResource")
	}
	var failure *awsapi.Failure
	if _, err := e.Signal(t.Context(), awsapi.Target{}, Owner{Name: "jobs", StackID: record.StackID, Tags: desire(t, 1).Tags}, "Group", "i-1"); !errors.As(
		err, &failure,
	) ||
		failure.Kind != awsapi.Denied {
		t.Errorf("error %v, want it explained", err)
	}
}

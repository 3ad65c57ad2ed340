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

// In every status in which a stack could be updated, a change that needs approval goes the same way.
func TestDecideWhereChangesNeedApproval(t *testing.T) {
	cases := map[string]struct {
		facts Facts
		want  Action
	}{
		"a change is proposed": {Facts{Review: true}, ActionPropose},
		"what is deployed is found out before a change is proposed":       {Facts{Review: true, Unknown: true}, ActionInspect},
		"what CloudFormation would do is read":                            {Facts{Review: true, Proposal: ProposalUnread}, ActionRead},
		"a proposal that is shown waits":                                  {Facts{Review: true, Proposal: ProposalWaits}, ActionAwait},
		"waiting needs no look at what is deployed":                       {Facts{Review: true, Proposal: ProposalWaits, Unknown: true}, ActionAwait},
		"what is approved is carried out":                                 {Facts{Review: true, Proposal: ProposalApproved}, ActionExecute},
		"the policy is asked about what is deployed before the execution": {Facts{Review: true, Proposal: ProposalApproved, Unknown: true}, ActionInspect},
		"what is no longer to be done is withdrawn":                       {Facts{Review: true, Proposal: ProposalOutdated}, ActionWithdraw},
		"an edit that is undone leaves no change set":                     {Facts{Review: true, Matches: true, Proposal: ProposalOutdated}, ActionWithdraw},
		"a stack as desired needs no approval":                            {Facts{Review: true, Matches: true}, ActionKeep},
		"what failed is not proposed again":                               {Facts{Review: true, Refused: true}, ActionStall},
		"what failed leaves no change set":                                {Facts{Review: true, Refused: true, Proposal: ProposalOutdated}, ActionWithdraw},
		"an approval that is not asked for any more leaves no change set": {Facts{Proposal: ProposalOutdated}, ActionWithdraw},
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
					t.Errorf("a deletion waits for nobody, but Decide says %s", got)
				}
			})
		}
	}
}

// What is not an update of a stack in place needs no approval: its creation, what ends a failed update, and its deletion.
func TestDecideAsksForNoApprovalOfWhatIsNoUpdate(t *testing.T) {
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

// proposed returns the record of a stack with a change that waits for approval, and is shown.
func proposed(t *testing.T, s *script, e *Engine, record Record, delaySeconds int) Record {
	t.Helper()
	record = ensured(t, s, e, reviewed(t, delaySeconds), record, InProgress, "CreateChangeSet").Record
	result := ensured(t, s, e, reviewed(t, delaySeconds), record, Proposed, "DescribeChangeSet")
	if result.Reason != ReasonApprovalNeeded || result.Proposal == nil || result.Proposal.Digest != result.Record.Proposal || result.Record.Proposal == "" {
		t.Fatalf("result %+v, want a proposal that needs approval", result)
	}
	return result.Record
}

// shown is reviewed with what the object's status shows.
func shown(t *testing.T, delaySeconds int, record *Record, approved ...string) Desired {
	t.Helper()
	d := reviewed(t, delaySeconds, approved...)
	d.Review.Shown = record.Proposal
	return d
}

func TestAChangeWaitsForApproval(t *testing.T) {
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
	ensured(t, s, e, shown(t, 2, &record, "something else"), record, Proposed)
	record = ensured(t, s, e, shown(t, 2, &record, "something else", record.Proposal), record, InProgress, "DescribeStacks", "GetTemplate", "DescribeChangeSet", "ExecuteChangeSet").Record
	s.step(time.Second)
	e.Observe(s.end(types.StackStatusUpdateComplete, ""))
	result := ensured(t, s, e, reviewed(t, 2), record, Ready, "DescribeStacks")
	if result.Record.ChangeSet != "" || result.Record.Proposal != "" || result.Record.Digest == "" {
		t.Errorf("record %+v, want nothing to wait", result.Record)
	}
	ensured(t, s, e, reviewed(t, 2), result.Record, Ready)
}

func TestAProposalThatIsNotShownIsReadAgain(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	record = proposed(t, s, e, record, 2)
	again := ensured(t, s, e, reviewed(t, 2), record, Proposed, "DescribeChangeSet")
	if again.Proposal == nil || again.Proposal.Digest != record.Proposal {
		t.Errorf("the proposal that is read again is %+v, want the same", again.Proposal)
	}
}

func TestAChangeSetThatIsWorkedOutIsWaitedFor(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	record = ensured(t, s, e, reviewed(t, 2), record, InProgress, "CreateChangeSet").Record
	s.slow = true
	result := ensured(t, s, e, reviewed(t, 2), record, InProgress, "DescribeChangeSet")
	if result.RequeueAfter <= 0 || result.Proposal != nil {
		t.Errorf("%+v, want another look soon", result)
	}
	s.slow = false
	ensured(t, s, e, reviewed(t, 2), result.Record, Proposed, "DescribeChangeSet")
}

func TestAnEditWhileWaitingMakesWhatWasApprovedStale(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	record = proposed(t, s, e, record, 2)
	former := record.Proposal
	record = ensured(t, s, e, shown(t, 3, &record, former), record, InProgress, "DeleteChangeSet", "CreateChangeSet").Record
	result := ensured(t, s, e, reviewed(t, 3, former), record, Proposed, "DescribeChangeSet")
	if result.Reason != ReasonApprovalStale || result.Record.Proposal == former {
		t.Errorf("%s, digest %s after %s: want another digest, and the approval refused as stale", result.Reason, result.Record.Proposal, former)
	}
	if waiting := s.stacks[0].waiting(); len(waiting) != 1 {
		t.Errorf("change sets %q, want the new one only", waiting)
	}
	record = ensured(t, s, e, shown(t, 3, &result.Record, result.Record.Proposal), result.Record, InProgress, "DescribeChangeSet", "ExecuteChangeSet").Record
	if s.stacks[0].body != string(desire(t, 3).Template.JSON()) {
		t.Errorf("the stack has %s", s.stacks[0].body)
	}
	_ = record
}

func TestAnUpdateBySomebodyElseMakesWhatWasApprovedStale(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	record = proposed(t, s, e, record, 2)
	former := record.Proposal
	theirs := s.stacks[0]
	theirs.body, theirs.shown.LastUpdatedTime = string(desire(t, 9).Template.JSON()), aws.Time(s.clock.Now())
	theirs.obsolete()
	e.Observe(Event{StackID: record.StackID, Status: "UPDATE_COMPLETE", Token: "theirs"})
	theirs.shown.StackStatus = types.StackStatusUpdateComplete
	record = ensured(t, s, e, shown(t, 2, &record, former), record, InProgress, "DescribeStacks", "DeleteChangeSet", "GetTemplate", "CreateChangeSet").Record
	result := ensured(t, s, e, reviewed(t, 2, former), record, Proposed, "DescribeStacks", "GetTemplate", "DescribeChangeSet")
	if result.Reason != ReasonApprovalStale || result.Record.Proposal == former {
		t.Errorf("%s, digest %s after %s: want another digest", result.Reason, result.Record.Proposal, former)
	}
}

// No event tells that a change set is obsolete: CloudFormation says so when it is read before its execution.
func TestAnObsoleteChangeSetIsMadeAnew(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	record = proposed(t, s, e, record, 2)
	s.stacks[0].obsolete()
	record = ensured(t, s, e, shown(t, 2, &record, record.Proposal), record, InProgress, "DescribeChangeSet", "DeleteChangeSet", "DescribeStacks", "CreateChangeSet").Record
	if record.ChangeSet == "" || s.stacks[0].shown.StackStatus != types.StackStatusCreateComplete {
		t.Errorf("record %+v, want another change set and nothing executed", record)
	}
}

func TestAChangeSetThatSomebodyDeletedIsMadeAnew(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	record = proposed(t, s, e, record, 2)
	s.stacks[0].sets = nil
	record = ensured(t, s, e, shown(t, 2, &record, record.Proposal), record, InProgress, "DescribeChangeSet", "DeleteChangeSet", "DescribeStacks", "CreateChangeSet").Record
	again := ensured(t, s, e, shown(t, 2, &record), record, Proposed, "DescribeChangeSet")
	ensured(t, s, e, shown(t, 2, &again.Record, again.Record.Proposal), again.Record, InProgress, "DescribeChangeSet", "ExecuteChangeSet")
}

func TestAChangeSetWithoutChangesIsInPlace(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	s.stacks[0].body = string(desire(t, 2).Template.JSON()) // deployed already, by another way of writing it
	record = ensured(t, s, e, reviewed(t, 2), record, InProgress, "CreateChangeSet").Record
	record = ensured(t, s, e, reviewed(t, 2), record, Ready, "DescribeChangeSet", "DeleteChangeSet").Record
	ensured(t, s, e, reviewed(t, 2), record, Ready)
	if len(s.stacks[0].sets) > 0 {
		t.Error("a change set is left over")
	}
}

func TestAChangeSetThatCannotBeMadeStalls(t *testing.T) {
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

func TestAnExecutedChangeSetIsOutOfTheWayOfTheNext(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	record = proposed(t, s, e, record, 2)
	record = ensured(t, s, e, shown(t, 2, &record, record.Proposal), record, InProgress, "DescribeChangeSet", "ExecuteChangeSet").Record
	s.step(time.Second)
	e.Observe(s.end(types.StackStatusUpdateComplete, ""))
	record = ensured(t, s, e, reviewed(t, 2), record, Ready, "DescribeStacks").Record
	ensured(t, s, e, reviewed(t, 3), record, InProgress, "CreateChangeSet", "DeleteChangeSet", "CreateChangeSet")
}

func TestAnApprovedUpdateThatFailsIsNotProposedAgain(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	record = proposed(t, s, e, record, 2)
	record = ensured(t, s, e, shown(t, 2, &record, record.Proposal), record, InProgress, "DescribeChangeSet", "ExecuteChangeSet").Record
	s.step(time.Second)
	e.Observe(s.end(types.StackStatusUpdateRollbackComplete, "DelaySeconds is out of bounds"))
	result := ensured(t, s, e, reviewed(t, 2), record, Stalled, "DescribeStacks", "DescribeStackEvents")
	ensured(t, s, e, reviewed(t, 3), result.Record, InProgress, "CreateChangeSet", "DeleteChangeSet", "CreateChangeSet")
}

// A change that goes on by itself from now on needs no approval and leaves no change set.
func TestWithoutReviewTheChangeSetGoes(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	record = proposed(t, s, e, record, 2)
	ensured(t, s, e, desire(t, 2), record, InProgress, "DeleteChangeSet", "UpdateStack")
}

func TestAnEditThatIsUndoneLeavesNoChangeSet(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	record = proposed(t, s, e, record, 2)
	ensured(t, s, e, shown(t, 1, &record), record, Ready, "DeleteChangeSet")
}

func TestADeletionTakesTheChangeSetAlong(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	record = proposed(t, s, e, record, 2)
	deletedBy(t, s, e, record, DeleteOptions{}, InProgress, "DeleteChangeSet", "DeleteStack")
}

func TestAStackThatIsLeftToItselfKeepsNoChangeSet(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	record = proposed(t, s, e, record, 2)
	for range 2 { // the second time, it is gone
		if err := e.Withdraw(t.Context(), awsapi.Target{}, Owner{Name: "jobs", Tags: desire(t, 1).Tags}, record); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.stacks[0].sets) > 0 {
		t.Error("a change set is left over")
	}
}

func TestAHeldChangeWaitsAlsoWhenItIsApproved(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	record = proposed(t, s, e, record, 2)
	held := shown(t, 2, &record, record.Proposal)
	held.Review.Hold = true
	if result := ensured(t, s, e, held, record, Proposed); result.Reason != ReasonApproved {
		t.Errorf("reason %s, want that it is approved", result.Reason)
	}
	ensured(t, s, e, shown(t, 2, &record, record.Proposal), record, InProgress, "DescribeChangeSet", "ExecuteChangeSet")
}

func TestThePolicyIsAskedBeforeAProposal(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	renamed := reviewed(t, 1)
	renamed.Template = queueNamed(t, "other")
	if result := ensured(t, s, e, renamed, record, Stalled); result.Reason != reasonRefused {
		t.Errorf("reason %s, want that the policy refuses", result.Reason)
	}
	renamed.Allow.Replace = true
	record = ensured(t, s, e, renamed, record, InProgress, "CreateChangeSet").Record
	record = ensured(t, s, e, renamed, record, Proposed, "DescribeChangeSet").Record
	renamed.Allow.Replace, renamed.Review.Approved = false, []string{record.Proposal}
	if result := ensured(t, s, e, renamed, record, Stalled, "DescribeChangeSet"); result.Reason != reasonRefused {
		t.Errorf("reason %s, want that the policy refuses what it allowed when it was proposed", result.Reason)
	}
}

func TestTheStackPolicyGoesBeforeTheExecution(t *testing.T) {
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

// What a stack needs is made before it is sent, and not while a change waits.
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
		t.Error("something was made for a change that waits")
	}
	ensured(t, s, e, preparing(shown(t, 2, &record, record.Proposal), nil), record, InProgress, "DescribeChangeSet", "ExecuteChangeSet")
	if len(prepared) != 3 {
		t.Error("nothing was made for the change that was approved")
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
		t.Error("a stack that is not being updated waits for a signal, or was cancelled")
	}
	if waiting, cancelled := ask("other"); waiting || cancelled {
		t.Error("a stack that is not there waits for a signal, or was cancelled")
	}
	ensured(t, s, e, desire(t, 2), record, InProgress, "UpdateStack")
	if waiting, cancelled := ask("jobs"); !waiting || !cancelled {
		t.Error("a stack that is being updated does not wait for a signal, or cannot be cancelled")
	}
	s.before = func(string) error {
		return refuse("AccessDenied", "User: x is not authorized to perform: cloudformation:SignalResource")
	}
	var failure *awsapi.Failure
	if _, err := e.Signal(t.Context(), awsapi.Target{}, Owner{Name: "jobs", StackID: record.StackID, Tags: desire(t, 1).Tags}, "Group", "i-1"); !errors.As(err, &failure) || failure.Kind != awsapi.Denied {
		t.Errorf("error %v, want it explained", err)
	}
}

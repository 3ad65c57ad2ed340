package stack

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// Each status has its row here too; TestDecideKnowsEveryStatus ensures that none is missing.
func TestDecide(t *testing.T) {
	var (
		nothing   = Facts{}
		matches   = Facts{Matches: true}
		unknown   = Facts{Unknown: true}
		refused   = Facts{Refused: true}
		early     = Facts{Refused: true, Early: true}
		exhausted = Facts{Refused: true, Exhausted: true}
		edited    = Facts{Early: true, Exhausted: true} // another digest failed
		continued = Facts{RollbackAttempts: 1}
		skipped   = Facts{RollbackAttempts: 2}
	)
	cases := []struct {
		name   string
		status types.StackStatus
		goal   Goal
		facts  Facts
		want   Action
	}{
		{"a missing stack is created", "", Present, nothing, ActionCreate},
		{"a creation that CloudFormation refused is not sent again", "", Present, exhausted, ActionStall},
		{"after a failure the next creation is delayed", "", Present, early, ActionRetryLater},
		{"an edit after a failure is sent immediately", "", Present, edited, ActionCreate},
		{"a stack that never existed counts as deleted", "", Absent, nothing, ActionDone},
		{"a stack with an unexecuted first change set is re-created", "REVIEW_IN_PROGRESS", Present, nothing, ActionRecreate},
		{"an empty stack under review is deleted", "REVIEW_IN_PROGRESS", Absent, nothing, ActionDelete},
		{"a running creation is waited for", "CREATE_IN_PROGRESS", Present, nothing, ActionWait},
		{"a running creation ends before the deletion", "CREATE_IN_PROGRESS", Absent, nothing, ActionWait},
		{"a created stack that matches is kept", "CREATE_COMPLETE", Present, matches, ActionKeep},
		{"a created stack is updated when the object is edited", "CREATE_COMPLETE", Present, nothing, ActionUpdate},
		{"what is deployed is read before it is compared", "CREATE_COMPLETE", Present, unknown, ActionInspect},
		{"an update that CloudFormation refused is not sent again", "CREATE_COMPLETE", Present, refused, ActionStall},
		{"drift of a stack that matches is reverted by a change set", "CREATE_COMPLETE", Present, Facts{Matches: true, Revert: true}, ActionPropose},
		{
			"a revert that needs no approval is executed", "UPDATE_COMPLETE", Present,
			Facts{Matches: true, Revert: true, Proposal: ProposalApproved},
			ActionExecute,
		},
		{
			"a revert waits for its approval", "UPDATE_COMPLETE", Present,
			Facts{Matches: true, Revert: true, Review: true, Proposal: ProposalWaits},
			ActionAwait,
		},
		{
			"a revert that is not wanted any more is withdrawn", "UPDATE_COMPLETE", Present,
			Facts{Matches: true, Proposal: ProposalOutdated},
			ActionWithdraw,
		},
		{"a created stack is deleted", "CREATE_COMPLETE", Absent, nothing, ActionDelete},
		{"a partially created stack is re-created", "CREATE_FAILED", Present, nothing, ActionRecreate},
		{"a partially created stack is deleted", "CREATE_FAILED", Absent, nothing, ActionDelete},
		{"a running rollback is waited for", "ROLLBACK_IN_PROGRESS", Present, nothing, ActionWait},
		{"a running rollback ends before the deletion", "ROLLBACK_IN_PROGRESS", Absent, nothing, ActionWait},
		{"a failed creation is retried after its delay", "ROLLBACK_COMPLETE", Present, refused, ActionRecreate},
		{"a failed creation is delayed", "ROLLBACK_COMPLETE", Present, early, ActionRetryLater},
		{"a creation that failed too often stalls", "ROLLBACK_COMPLETE", Present, exhausted, ActionStall},
		{"an edit retries a stalled creation", "ROLLBACK_COMPLETE", Present, edited, ActionRecreate},
		{"the remains of a failed creation are deleted", "ROLLBACK_COMPLETE", Absent, exhausted, ActionDelete},
		{"a creation whose rollback failed is retried", "ROLLBACK_FAILED", Present, refused, ActionRecreate},
		{"a creation whose rollback failed too often stalls", "ROLLBACK_FAILED", Present, exhausted, ActionStall},
		{"the remains of a failed rollback are deleted", "ROLLBACK_FAILED", Absent, nothing, ActionDelete},
		{"a running update is waited for", "UPDATE_IN_PROGRESS", Present, nothing, ActionWait},
		{"a running update ends before the deletion", "UPDATE_IN_PROGRESS", Absent, nothing, ActionWait},
		{"a clean-up is waited for", "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", Present, nothing, ActionWait},
		{"a clean-up ends before the deletion", "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", Absent, nothing, ActionWait},
		{"an updated stack that matches is kept", "UPDATE_COMPLETE", Present, matches, ActionKeep},
		{"an updated stack is updated again", "UPDATE_COMPLETE", Present, nothing, ActionUpdate},
		{"an updated stack that another client changed is read", "UPDATE_COMPLETE", Present, unknown, ActionInspect},
		{"an updated stack is deleted", "UPDATE_COMPLETE", Absent, nothing, ActionDelete},
		{"an update left failed is rolled back", "UPDATE_FAILED", Present, nothing, ActionRollback},
		{"an update that cannot be rolled back stalls", "UPDATE_FAILED", Present, skipped, ActionStall},
		{"an update left failed is rolled back before the deletion", "UPDATE_FAILED", Absent, nothing, ActionRollback},
		{"an update that cannot be rolled back is deleted nevertheless", "UPDATE_FAILED", Absent, skipped, ActionDelete},
		{"a running rollback of an update is waited for", "UPDATE_ROLLBACK_IN_PROGRESS", Present, nothing, ActionWait},
		{"a running rollback of an update ends before the deletion", "UPDATE_ROLLBACK_IN_PROGRESS", Absent, nothing, ActionWait},
		{"a failed rollback is continued", "UPDATE_ROLLBACK_FAILED", Present, nothing, ActionContinue},
		{"a failed rollback asks before it skips resources", "UPDATE_ROLLBACK_FAILED", Present, continued, ActionAskSkip},
		{
			"a failed rollback skips resources with consent",
			"UPDATE_ROLLBACK_FAILED",
			Present,
			Facts{RollbackAttempts: 1, MaySkip: true},
			ActionSkip,
		},
		{"a rollback that fails on all attempts stalls", "UPDATE_ROLLBACK_FAILED", Present, skipped, ActionStall},
		{"a failed rollback is continued before the deletion", "UPDATE_ROLLBACK_FAILED", Absent, nothing, ActionContinue},
		{"nothing is skipped before the deletion", "UPDATE_ROLLBACK_FAILED", Absent, continued, ActionDelete},
		{"a rollback that fails on all attempts does not prevent the deletion", "UPDATE_ROLLBACK_FAILED", Absent, skipped, ActionDelete},
		{"a rollback's clean-up is waited for", "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS", Present, nothing, ActionWait},
		{"a rollback's clean-up ends before the deletion", "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS", Absent, nothing, ActionWait},
		{"the template that failed is not sent again", "UPDATE_ROLLBACK_COMPLETE", Present, refused, ActionStall},
		{"an edit after a failed update is sent", "UPDATE_ROLLBACK_COMPLETE", Present, nothing, ActionUpdate},
		{"reverting an edit after a failed update needs no operation", "UPDATE_ROLLBACK_COMPLETE", Present, matches, ActionKeep},
		{"a rolled back stack that another client changed is read", "UPDATE_ROLLBACK_COMPLETE", Present, unknown, ActionInspect},
		{"a rolled back stack is deleted", "UPDATE_ROLLBACK_COMPLETE", Absent, refused, ActionDelete},
		{"a running import is waited for", "IMPORT_IN_PROGRESS", Present, nothing, ActionWait},
		{"a running import ends before the deletion", "IMPORT_IN_PROGRESS", Absent, nothing, ActionWait},
		{"an imported stack is compared", "IMPORT_COMPLETE", Present, unknown, ActionInspect},
		{"an imported stack is deleted", "IMPORT_COMPLETE", Absent, nothing, ActionDelete},
		{"an import's running rollback is waited for", "IMPORT_ROLLBACK_IN_PROGRESS", Present, nothing, ActionWait},
		{"an import's running rollback ends before the deletion", "IMPORT_ROLLBACK_IN_PROGRESS", Absent, nothing, ActionWait},
		{"an import's failed rollback is continued", "IMPORT_ROLLBACK_FAILED", Present, nothing, ActionContinue},
		{"an import's failed rollback stalls in the end", "IMPORT_ROLLBACK_FAILED", Present, skipped, ActionStall},
		{"an import's failed rollback is continued before the deletion", "IMPORT_ROLLBACK_FAILED", Absent, nothing, ActionContinue},
		{"the import that failed is not sent again", "IMPORT_ROLLBACK_COMPLETE", Present, refused, ActionStall},
		{"a rolled back import is deleted", "IMPORT_ROLLBACK_COMPLETE", Absent, nothing, ActionDelete},
		{"an empty stack imports its resources", "CREATE_COMPLETE", Present, Facts{Import: true}, ActionPropose},
		{"the change set of an import is read", "CREATE_COMPLETE", Present, Facts{Import: true, Proposal: ProposalUnread}, ActionRead},
		{
			"an import that was read is executed without approval", "CREATE_COMPLETE", Present,
			Facts{Import: true, Proposal: ProposalApproved},
			ActionExecute,
		},
		{"what is deployed is read before the import", "CREATE_COMPLETE", Present, Facts{Import: true, Unknown: true}, ActionInspect},
		{"an import that was refused is not sent again", "CREATE_COMPLETE", Present, Facts{Import: true, Refused: true}, ActionStall},
		{"an import that was rolled back is not followed by an update", "IMPORT_ROLLBACK_COMPLETE", Present, Facts{Import: true}, ActionPropose},
		{"a running deletion ends before the creation", "DELETE_IN_PROGRESS", Present, nothing, ActionWait},
		{"a running deletion is waited for", "DELETE_IN_PROGRESS", Absent, nothing, ActionWait},
		{"a failed deletion is retried before the creation", "DELETE_FAILED", Present, nothing, ActionDeleteAgain},
		{"a failed deletion is delayed", "DELETE_FAILED", Absent, early, ActionRetryLater},
		{"a failed deletion is retried without limit", "DELETE_FAILED", Absent, exhausted, ActionDeleteAgain},
		{"a deleted stack is re-created", "DELETE_COMPLETE", Present, nothing, ActionCreate},
		{"a creation that failed too often is not sent after the deletion", "DELETE_COMPLETE", Present, exhausted, ActionStall},
		{"a deletion is complete", "DELETE_COMPLETE", Absent, nothing, ActionDone},
		{"an unknown status is waited for", "THINKING_IN_PROGRESS", Present, nothing, ActionWait},
	}
	covered := map[types.StackStatus]map[Goal]bool{}
	for _, c := range cases {
		if covered[c.status] == nil {
			covered[c.status] = map[Goal]bool{}
		}
		covered[c.status][c.goal] = true
		t.Run(c.name, func(t *testing.T) {
			if got := Decide(c.status, c.goal, c.facts); got != c.want {
				t.Errorf("Decide(%q, %s, %+v) = %s, want %s", c.status, c.goal, c.facts, got, c.want)
			}
		})
	}
	for _, status := range Statuses() {
		for _, goal := range []Goal{Present, Absent} {
			if !covered[status][goal] {
				t.Errorf("no case for status %q when the stack is %s", status, goal)
			}
		}
	}
}

func TestDecideKnowsEveryStatus(t *testing.T) {
	for _, status := range types.StackStatus("").Values() {
		if _, ok := table[status]; !ok {
			t.Errorf("the table has no row for %s", status)
		}
	}
	if have, want := len(Statuses()), len(types.StackStatus("").Values())+1; have != want {
		t.Errorf("the table has %d rows, want one for each of the SDK's statuses and one for no stack: %d", have, want)
	}
}

func TestEveryRunningStatusHasAMessage(t *testing.T) {
	for _, status := range types.StackStatus("").Values() {
		if _, ok := progress[status]; ok != inProgress(status) {
			t.Errorf("%s: in progress is %t, has a message is %t", status, inProgress(status), ok)
		}
	}
}

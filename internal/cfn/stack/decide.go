package stack

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// Goal is whether a stack shall exist.
type Goal string

const (
	// Present means that the stack shall exist.
	Present Goal = "Present"
	// Absent means that the stack is being deleted.
	Absent Goal = "Absent"
)

// Action is the next action for a stack.
type Action string

const (
	// ActionCreate sends CreateStack.
	ActionCreate Action = "Create"
	// ActionInspect reads what is deployed, by DescribeStacks and GetTemplate.
	ActionInspect Action = "Inspect"
	// ActionUpdate compares the templates, checks the policy and sends UpdateStack.
	ActionUpdate Action = "Update"
	// ActionPropose compares the templates, checks the policy and sends CreateChangeSet.
	ActionPropose Action = "Propose"
	// ActionRead reads the change set by DescribeChangeSet.
	ActionRead Action = "ReadProposal"
	// ActionAwait waits for the user's approval.
	ActionAwait Action = "AwaitApproval"
	// ActionExecute checks the policy again and sends ExecuteChangeSet.
	ActionExecute Action = "Execute"
	// ActionWithdraw sends DeleteChangeSet: the change set no longer matches what is desired.
	ActionWithdraw Action = "Withdraw"
	// ActionKeep does nothing: the stack matches what is desired.
	ActionKeep Action = "Keep"
	// ActionWait waits for CloudFormation.
	ActionWait Action = "Wait"
	// ActionRetryLater waits until the next attempt is due.
	ActionRetryLater Action = "RetryLater"
	// ActionRecreate deletes the stack in order to re-create it.
	ActionRecreate Action = "Recreate"
	// ActionContinue sends ContinueUpdateRollback.
	ActionContinue Action = "ContinueRollback"
	// ActionSkip sends ContinueUpdateRollback and skips the resources that failed.
	ActionSkip Action = "SkipResources"
	// ActionAskSkip asks for consent to ActionSkip and names the resources.
	ActionAskSkip Action = "AskToSkipResources"
	// ActionRollback sends RollbackStack, for an update that failed without a rollback.
	ActionRollback Action = "Rollback"
	// ActionDelete sends DeleteStack.
	ActionDelete Action = "Delete"
	// ActionDeleteAgain finds the resources that could not be deleted, cleans and retains what it
	// may, and sends DeleteStack.
	ActionDeleteAgain Action = "DeleteAgain"
	// ActionStall waits for a user to act.
	ActionStall Action = "Stall"
	// ActionDone ends a deletion.
	ActionDone Action = "Done"
)

// touches reports whether an action changes an existing stack or trusts what it contains. Such an
// action needs a proof that the stack is the object's.
func (a Action) touches() bool {
	switch a {
	case ActionUpdate, ActionPropose, ActionRead, ActionExecute, ActionWithdraw, ActionRecreate, ActionContinue, ActionSkip, ActionAskSkip,
		ActionRollback, ActionDelete, ActionDeleteAgain:
		return true
	// Create and Inspect read the stack first, as does Keep before it sets the protection.
	case ActionCreate, ActionInspect, ActionAwait, ActionKeep, ActionWait, ActionRetryLater, ActionStall, ActionDone:
		return false
	default:
		return true
	}
}

// StatusNone is the status of a stack that does not exist.
const StatusNone types.StackStatus = ""

// Facts are the inputs of a decision besides the status.
type Facts struct {
	// Matches is true if the deployed digest is the desired one.
	Matches bool
	// Unknown is true if what is deployed is unknown.
	Unknown bool
	// Refused is true if the desired digest was sent and failed.
	Refused bool
	// Exhausted is true if no attempt to create is left.
	Exhausted bool
	// Early is true if the next attempt is not due yet.
	Early bool
	// RollbackAttempts counts the attempts to finish a failed rollback.
	RollbackAttempts int
	// MaySkip is true if the object's owner consents to a rollback that skips the resources that
	// failed.
	MaySkip bool
	// Review is true if changes wait for approval.
	Review bool
	// Import is true if the next change of the stack imports its resources. It needs no approval.
	Import bool
	// Revert is true if the next change of the stack reverts drift: it has the desired template.
	Revert bool
	// Proposal is the progress of the change towards its approval.
	Proposal ProposalState
}

// rule decides for one status and goal.
type rule func(Facts) Action

// row holds the rules for one status, by goal.
type row struct{ present, absent rule }

// maxRollbackAttempts limits the attempts to continue a failed rollback: one as it is, one that
// skips the resources that failed.
const maxRollbackAttempts = 2

// table has a row for every stack status. The statuses are those of
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/view-stack-events.html
var table = map[types.StackStatus]row{
	StatusNone:                                               {present: create, absent: always(ActionDone)},
	types.StackStatusReviewInProgress:                        {present: always(ActionRecreate), absent: always(ActionDelete)},
	types.StackStatusCreateInProgress:                        {present: always(ActionWait), absent: always(ActionWait)},
	types.StackStatusCreateComplete:                          {present: compare, absent: always(ActionDelete)},
	types.StackStatusCreateFailed:                            {present: recreate, absent: always(ActionDelete)},
	types.StackStatusRollbackInProgress:                      {present: always(ActionWait), absent: always(ActionWait)},
	types.StackStatusRollbackComplete:                        {present: recreate, absent: always(ActionDelete)},
	types.StackStatusRollbackFailed:                          {present: recreate, absent: always(ActionDelete)},
	types.StackStatusUpdateInProgress:                        {present: always(ActionWait), absent: always(ActionWait)},
	types.StackStatusUpdateCompleteCleanupInProgress:         {present: always(ActionWait), absent: always(ActionWait)},
	types.StackStatusUpdateComplete:                          {present: compare, absent: always(ActionDelete)},
	types.StackStatusUpdateFailed:                            {present: rollback(ActionStall), absent: rollback(ActionDelete)},
	types.StackStatusUpdateRollbackInProgress:                {present: always(ActionWait), absent: always(ActionWait)},
	types.StackStatusUpdateRollbackFailed:                    {present: continueRollback, absent: continueOnce},
	types.StackStatusUpdateRollbackComplete:                  {present: compare, absent: always(ActionDelete)},
	types.StackStatusImportInProgress:                        {present: always(ActionWait), absent: always(ActionWait)},
	types.StackStatusImportComplete:                          {present: compare, absent: always(ActionDelete)},
	types.StackStatusImportRollbackInProgress:                {present: always(ActionWait), absent: always(ActionWait)},
	types.StackStatusImportRollbackFailed:                    {present: continueRollback, absent: continueOnce},
	types.StackStatusImportRollbackComplete:                  {present: compare, absent: always(ActionDelete)},
	types.StackStatusDeleteInProgress:                        {present: always(ActionWait), absent: always(ActionWait)},
	types.StackStatusDeleteFailed:                            {present: deleteAgain, absent: deleteAgain},
	types.StackStatusDeleteComplete:                          {present: create, absent: always(ActionDone)},
	types.StackStatusUpdateRollbackCompleteCleanupInProgress: {present: always(ActionWait), absent: always(ActionWait)},
}

// Decide returns the next action for a stack. For a status that the table does not contain, because
// it is new in CloudFormation, it waits.
func Decide(status types.StackStatus, goal Goal, facts Facts) Action {
	found, ok := table[status]
	if !ok {
		return ActionWait
	}
	if goal == Absent {
		return found.absent(facts)
	}
	return found.present(facts)
}

// Statuses returns every status in the table, sorted.
func Statuses() []types.StackStatus {
	return slices.Sorted(maps.Keys(table))
}

func always(action Action) rule {
	return func(Facts) Action { return action }
}

// create creates the stack, unless creating the desired one failed too often.
func create(f Facts) Action {
	return bounded(f, ActionCreate)
}

// recreate deletes a stack whose creation failed, in order to re-create it.
func recreate(f Facts) Action {
	return bounded(f, ActionRecreate)
}

func bounded(f Facts, action Action) Action {
	switch {
	case f.Refused && f.Exhausted:
		return ActionStall
	case f.Refused && f.Early:
		return ActionRetryLater
	default:
		return action
	}
}

// compare updates a stable stack that differs from what is desired. What failed once is not sent
// again. Where changes wait for approval, the update is the execution of an approved change set; an
// import is always the execution of a change set.
func compare(f Facts) Action {
	switch {
	case f.Proposal == ProposalOutdated:
		return ActionWithdraw
	case f.Revert && f.Proposal != ProposalWaits:
		return review(f)
	case f.Matches && !f.Revert:
		return ActionKeep
	case f.Refused && !f.Revert:
		return ActionStall
	case f.Proposal == ProposalWaits:
		return ActionAwait
	case f.Unknown:
		return ActionInspect
	case f.Import, f.Review:
		return review(f)
	default:
		return ActionUpdate
	}
}

// review advances a change towards its approval, and executes it once approved.
func review(f Facts) Action {
	switch f.Proposal {
	case ProposalUnread:
		return ActionRead
	case ProposalApproved:
		return ActionExecute
	case ProposalNone, ProposalOutdated, ProposalWaits:
		return ActionPropose
	default:
		return ActionPropose
	}
}

// continueRollback continues a failed rollback. If that fails and the object's owner consents, the
// next attempt skips the resources that failed: they stay as the failed update left them, while
// CloudFormation considers them rolled back.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-updating-stacks-continueupdaterollback.html
func continueRollback(f Facts) Action {
	switch {
	case f.RollbackAttempts == 0:
		return ActionContinue
	case f.RollbackAttempts >= maxRollbackAttempts:
		return ActionStall
	case f.MaySkip:
		return ActionSkip
	default:
		return ActionAskSkip
	}
}

// continueOnce continues a failed rollback once and then deletes the stack.
func continueOnce(f Facts) Action {
	if f.RollbackAttempts == 0 {
		return ActionContinue
	}
	return ActionDelete
}

// rollback starts the rollback of an update that failed without one. When the attempts are
// exhausted, it returns finally.
func rollback(finally Action) rule {
	return func(f Facts) Action {
		if f.RollbackAttempts < maxRollbackAttempts {
			return ActionRollback
		}
		return finally
	}
}

// deleteAgain retries without limit; the delay between the attempts grows.
func deleteAgain(f Facts) Action {
	if f.Early {
		return ActionRetryLater
	}
	return ActionDeleteAgain
}

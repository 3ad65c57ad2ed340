package stack

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// Goal is what is wanted of a stack.
type Goal string

const (
	// Present means that the stack is wanted.
	Present Goal = "Present"
	// Absent means that the stack is being deleted.
	Absent Goal = "Absent"
)

// Action is what to do next with a stack.
type Action string

const (
	// ActionCreate sends CreateStack.
	ActionCreate Action = "Create"
	// ActionInspect finds out what is deployed, by DescribeStacks and GetTemplate.
	ActionInspect Action = "Inspect"
	// ActionUpdate compares, asks the policy and sends UpdateStack.
	ActionUpdate Action = "Update"
	// ActionPropose compares, asks the policy and sends CreateChangeSet.
	ActionPropose Action = "Propose"
	// ActionRead finds out, by DescribeChangeSet, what CloudFormation would do.
	ActionRead Action = "ReadProposal"
	// ActionAwait waits for a person's approval.
	ActionAwait Action = "AwaitApproval"
	// ActionExecute asks the policy once more and sends ExecuteChangeSet.
	ActionExecute Action = "Execute"
	// ActionWithdraw sends DeleteChangeSet: what is proposed is no longer what is to be done.
	ActionWithdraw Action = "Withdraw"
	// ActionKeep leaves the stack as it is: it is as desired.
	ActionKeep Action = "Keep"
	// ActionWait waits for CloudFormation.
	ActionWait Action = "Wait"
	// ActionRetryLater waits for the time of the next attempt.
	ActionRetryLater Action = "RetryLater"
	// ActionRecreate deletes the stack in order to create it again.
	ActionRecreate Action = "Recreate"
	// ActionContinue sends ContinueUpdateRollback.
	ActionContinue Action = "ContinueRollback"
	// ActionSkip sends ContinueUpdateRollback without the resources that refuse.
	ActionSkip Action = "SkipResources"
	// ActionAskSkip asks for consent to ActionSkip and names the resources.
	ActionAskSkip Action = "AskToSkipResources"
	// ActionRollback sends RollbackStack: an update was left failed, without a rollback.
	ActionRollback Action = "Rollback"
	// ActionDelete sends DeleteStack.
	ActionDelete Action = "Delete"
	// ActionDeleteAgain finds out what refused, cleans and retains what may be, and sends DeleteStack.
	ActionDeleteAgain Action = "DeleteAgain"
	// ActionStall leaves it to a person.
	ActionStall Action = "Stall"
	// ActionDone ends a deletion.
	ActionDone Action = "Done"
)

// touches reports whether an action changes a stack that is there, or has what it says of itself believed.
func (a Action) touches() bool {
	switch a {
	case ActionUpdate, ActionPropose, ActionRead, ActionExecute, ActionWithdraw, ActionRecreate, ActionContinue, ActionSkip, ActionAskSkip,
		ActionRollback, ActionDelete, ActionDeleteAgain:
		return true
	case ActionCreate, ActionInspect, ActionAwait, ActionKeep, ActionWait, ActionRetryLater, ActionStall, ActionDone: // The first two look, as Keep does before it protects.
		return false
	default:
		return true
	}
}

// StatusNone is the status of a stack that does not exist.
const StatusNone types.StackStatus = ""

// Facts are what, besides the status, decides.
type Facts struct {
	// Matches is true when what is deployed is what is desired.
	Matches bool
	// Unknown is true when it is not known what is deployed.
	Unknown bool
	// Refused is true when what is desired has been sent and has failed.
	Refused bool
	// Exhausted is true when no attempt to create is left.
	Exhausted bool
	// Early is true when the time of the next attempt has not come.
	Early bool
	// RollbackAttempts counts what was tried to finish a failed rollback.
	RollbackAttempts int
	// MaySkip is true when the object's owner consents to a rollback without the resources that refuse.
	MaySkip bool
	// Review is true when changes wait for approval.
	Review bool
	// Proposal is how far the approval of a change is.
	Proposal ProposalState
}

// rule decides for one status and goal.
type rule func(Facts) Action

// row is what to do in one status, by goal.
type row struct{ present, absent rule }

// maxRollbackAttempts is how often a failed rollback is continued: once as it is, once without the resources that refuse.
const maxRollbackAttempts = 2

// table has a row for every status of a stack. The statuses are those of
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

// Decide says what to do with a stack in a status. A status that the table does not know, because CloudFormation has a new one,
// is waited out.
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

// Statuses returns every status that the table has a row for, sorted.
func Statuses() []types.StackStatus {
	return slices.Sorted(maps.Keys(table))
}

func always(action Action) rule {
	return func(Facts) Action { return action }
}

// create makes the stack, unless creating what is desired has failed too often.
func create(f Facts) Action {
	return bounded(f, ActionCreate)
}

// recreate removes a stack whose creation failed, in order to make it again.
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

// compare updates a stack that is stable and not as desired; what failed once is not sent again. Where changes wait for approval,
// the update is the execution of an approved change set.
func compare(f Facts) Action {
	switch {
	case f.Proposal == ProposalOutdated:
		return ActionWithdraw
	case f.Matches:
		return ActionKeep
	case f.Refused:
		return ActionStall
	case f.Proposal == ProposalWaits:
		return ActionAwait
	case f.Unknown:
		return ActionInspect
	case f.Review:
		return review(f)
	default:
		return ActionUpdate
	}
}

// review brings a change one step nearer to its approval, and carries it out then.
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

// continueRollback continues a failed rollback, and then without the resources that refuse if the object's owner consents: what is
// skipped stays as the failed update left it, while CloudFormation takes it for rolled back.
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

// continueOnce continues a failed rollback and then deletes the stack as it is.
func continueOnce(f Facts) Action {
	if f.RollbackAttempts == 0 {
		return ActionContinue
	}
	return ActionDelete
}

// rollback starts the rollback of an update that failed without one, and then does as told.
func rollback(finally Action) rule {
	return func(f Facts) Action {
		if f.RollbackAttempts < maxRollbackAttempts {
			return ActionRollback
		}
		return finally
	}
}

// deleteAgain never gives up; the delay between the tries grows.
func deleteAgain(f Facts) Action {
	if f.Early {
		return ActionRetryLater
	}
	return ActionDeleteAgain
}

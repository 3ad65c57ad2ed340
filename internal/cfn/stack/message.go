package stack

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/cfn/cause"
	"github.com/aws-operator/aws-operator/internal/plural"
)

// Reasons of results, for conditions.
const (
	reasonReady        = "StackReady"
	reasonGone         = "StackDeleted"
	reasonInvalid      = "InvalidTemplate"
	reasonTooBig       = "TemplateTooBig"
	reasonUnreadable   = "DeployedTemplateUnreadable"
	reasonNameTaken    = "StackNameTaken"
	reasonSkip         = "RollbackNeedsConsent"
	reasonRefused      = "RefusedByPolicy"
	reasonProtected    = "TerminationProtected"
	reasonNoSnapshot   = "NoSnapshot"
	reasonCreateFailed = "CreateFailed"
	reasonUpdateFailed = "UpdateFailed"
	reasonRollback     = "RollbackFailed"
	reasonDeleteFailed = "DeleteFailed"
	reasonUnsettled    = "Unsettled"
	reasonProposing    = "ProposingChange"
	reasonImportFailed = "ImportFailed"
)

// Reasons of stacks that do not belong to the object, see [ForeignError].
const (
	// reasonNotOwned: the record names a stack that does not belong to the object.
	reasonNotOwned = "StackNotOwned"
	// reasonManagedElsewhere: the stack belongs to another management cluster.
	reasonManagedElsewhere = "ManagedElsewhere"
	// reasonUnmarked: the management cluster of the stack is unknown.
	reasonUnmarked = "ManagementClusterUnknown"
)

// Reasons of results in state [Proposed].
const (
	// ReasonApprovalNeeded: the change is not approved.
	ReasonApprovalNeeded = "ApprovalNeeded"
	// ReasonApprovalStale: the approval is for a change that was superseded.
	ReasonApprovalStale = "ApprovalStale"
	// ReasonApproved: the change is approved, but the caller holds it back.
	ReasonApproved = "Approved"
)

func readyMessage(record *Record) string {
	return fmt.Sprintf("The stack is up to date (%s).", record.Status)
}

func (v *visit) stall(reason, message string) Result {
	return Result{State: Stalled, Reason: reason, Message: message}
}

func (v *visit) wait(reason, message string, after time.Duration) Result {
	return Result{State: Waiting, Reason: reason, Message: message, RequeueAfter: after}
}

// progress describes what CloudFormation is doing.
var progress = map[types.StackStatus]string{
	types.StackStatusCreateInProgress:                        "CloudFormation is creating the stack.",
	types.StackStatusRollbackInProgress:                      "Creating the stack failed; CloudFormation is deleting the resources that it created.",
	types.StackStatusUpdateInProgress:                        "CloudFormation is updating the stack.",
	types.StackStatusUpdateCompleteCleanupInProgress:         "The update is complete; CloudFormation is deleting the replaced resources.",
	types.StackStatusUpdateRollbackInProgress:                "The update failed; CloudFormation is rolling the stack back.",
	types.StackStatusUpdateRollbackCompleteCleanupInProgress: "The stack is rolled back; CloudFormation is deleting the resources that the failed update created.",
	types.StackStatusImportInProgress:                        "CloudFormation is importing resources into the stack.",
	types.StackStatusImportRollbackInProgress:                "The import failed; CloudFormation is rolling the stack back.",
	types.StackStatusDeleteInProgress:                        "CloudFormation is deleting the stack.",
}

func (v *visit) waitForCloudFormation() Result {
	status := v.status()
	message, ok := progress[status]
	switch {
	case !ok:
		message = fmt.Sprintf("The stack is in status %s.", status)
	case status == types.StackStatusDeleteInProgress && v.goal == Present:
		message = strings.TrimSpace("CloudFormation is deleting the stack to re-create it. " + v.record.StatusReason)
	}
	return Result{State: InProgress, Reason: camel(string(status)), Message: message, RequeueAfter: max(minPoll, v.pollIn())}
}

// pollSoon polls soon, because DescribeStacks returned the stack from before the operation.
func (v *visit) pollSoon() Result {
	result := v.waitForCloudFormation()
	result.RequeueAfter = stalePoll
	return result
}

// camel turns CREATE_IN_PROGRESS into CreateInProgress.
func camel(status string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(strings.ToLower(status), "_") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}

// retryLater reports the time of the next attempt and why the last one failed.
func (v *visit) retryLater() Result {
	next := v.record.NextAttempt.UTC().Format("15:04:05 MST")
	after := max(v.record.NextAttempt.Sub(v.now()), time.Millisecond)
	if v.status() == types.StackStatusDeleteFailed {
		return v.wait(cmp.Or(cause.Of(v.record.StatusReason), reasonDeleteFailed), fmt.Sprintf(
			"The stack cannot be deleted (%s, the next at %s). %s", plural.Count(v.record.DeleteAttempts, "attempt"), next, v.record.StatusReason), after)
	}
	return v.wait(cmp.Or(cause.Of(v.record.StatusReason), reasonCreateFailed), fmt.Sprintf(
		"Creating the stack failed (attempt %d of %d, the next at %s). %s",
		v.record.Attempts,
		v.desired.maxAttempts(),
		next,
		v.record.StatusReason,
	), after)
}

// stallFailed reports a permanent failure and what the user can do, or retries slowly.
func (v *visit) stallFailed() Result {
	if result, ok := v.retrySlowly(); ok {
		return result
	}
	reason := v.record.StatusReason
	switch status := v.status(); {
	case v.importing():
		return v.stall(reasonImportFailed, "The resource cannot be adopted. "+reason+" To retry, change the object or its annotation "+RetryAnnotation+".")
	case deleted(status):
		return v.stall(reasonCreateFailed, "CloudFormation refuses to create the stack. "+reason+" To retry, change the object or its annotation "+RetryAnnotation+".")
	case createFailed(status):
		return v.stall(
			reasonCreateFailed,
			fmt.Sprintf("Creating the stack failed %s. %s To retry, change the object or its annotation %s.",
				times(v.record.Attempts), reason, RetryAnnotation),
		)
	case rolledBack(status):
		return v.stall(reasonUpdateFailed, "The update failed and was rolled back. "+reason+" To retry, change the object or its annotation "+RetryAnnotation+".")
	case updateFailed(status):
		return v.stall(reasonRollback, "The update and its rollback failed, also when the failed resources were skipped. "+reason+
			" Fix the stack, then change the object or its annotation "+RetryAnnotation+" to retry.")
	default:
		return v.stall(reasonUpdateFailed, "CloudFormation refuses the update. "+reason+" To retry, change the object or its annotation "+RetryAnnotation+".")
	}
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// Names reports whether an ARN is of a stack with that name.
func Names(id, name string) bool { return nameOf(id) == name }

// nameOf returns the name in a stack's ARN:
// arn:aws:cloudformation:region:account:stack/NAME/unique.
func nameOf(id string) string {
	if parts := strings.Split(id, "/"); len(parts) == 3 {
		return parts[1]
	}
	return id
}

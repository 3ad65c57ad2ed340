package stack

import (
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// The reasons of results, for conditions.
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
	reasonCreateFailed = "CreateFailed"
	reasonUpdateFailed = "UpdateFailed"
	reasonRollback     = "RollbackFailed"
	reasonDeleteFailed = "DeleteFailed"
	reasonUnsettled    = "Unsettled"
	reasonProposing    = "ProposingChange"
)

// The reasons of stacks that are not the object's, see [ForeignError].
const (
	// reasonNotOwned says that the record names a stack that is not the object's.
	reasonNotOwned = "StackNotOwned"
	// reasonManagedElsewhere says that the stack is another management cluster's.
	reasonManagedElsewhere = "ManagedElsewhere"
	// reasonUnmarked says that it is not known of which management cluster the stack is.
	reasonUnmarked = "ManagementClusterUnknown"
)

// The reasons of results in state [Proposed].
const (
	// ReasonApprovalNeeded says that nobody has approved the change.
	ReasonApprovalNeeded = "ApprovalNeeded"
	// ReasonApprovalStale says that what was approved is no longer what would be done.
	ReasonApprovalStale = "ApprovalStale"
	// ReasonApproved says that the change is approved and held back by the caller.
	ReasonApproved = "Approved"
)

func readyMessage(record *Record) string {
	return fmt.Sprintf("The stack is as desired (%s).", record.Status)
}

func (v *visit) stall(reason, message string) Result {
	return Result{State: Stalled, Reason: reason, Message: message}
}

func (v *visit) wait(reason, message string, after time.Duration) Result {
	return Result{State: Waiting, Reason: reason, Message: message, RequeueAfter: after}
}

// progress tells what CloudFormation is doing.
var progress = map[types.StackStatus]string{
	types.StackStatusCreateInProgress:                        "CloudFormation is creating the stack.",
	types.StackStatusRollbackInProgress:                      "Creating the stack failed; CloudFormation is removing what it made.",
	types.StackStatusUpdateInProgress:                        "CloudFormation is updating the stack.",
	types.StackStatusUpdateCompleteCleanupInProgress:         "The update is done; CloudFormation is removing what it replaced.",
	types.StackStatusUpdateRollbackInProgress:                "The update failed; CloudFormation is bringing the stack back to what it was.",
	types.StackStatusUpdateRollbackCompleteCleanupInProgress: "The stack is back to what it was; CloudFormation is removing what the failed update made.",
	types.StackStatusImportInProgress:                        "CloudFormation is importing resources into the stack.",
	types.StackStatusImportRollbackInProgress:                "The import failed; CloudFormation is bringing the stack back to what it was.",
	types.StackStatusDeleteInProgress:                        "CloudFormation is deleting the stack.",
}

func (v *visit) waitForCloudFormation() Result {
	status := v.status()
	message, ok := progress[status]
	switch {
	case !ok:
		message = fmt.Sprintf("CloudFormation has the stack in status %s.", status)
	case status == types.StackStatusDeleteInProgress && v.goal == Present:
		message = strings.TrimSpace("CloudFormation is deleting the stack, to be created anew. " + v.record.StatusReason)
	}
	return Result{State: InProgress, Reason: camel(string(status)), Message: message, RequeueAfter: max(soonestLook, v.pollIn())}
}

// lookAgain waits out a look that showed the stack from before the operation.
func (v *visit) lookAgain() Result {
	result := v.waitForCloudFormation()
	result.RequeueAfter = staleLook
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

// retryLater tells when the next attempt comes and why the last failed.
func (v *visit) retryLater() Result {
	next := v.record.NextAttempt.UTC().Format("15:04:05 MST")
	after := max(v.record.NextAttempt.Sub(v.now()), time.Millisecond)
	if v.status() == types.StackStatusDeleteFailed {
		return v.wait(reasonDeleteFailed, fmt.Sprintf(
			"The stack cannot be deleted (%d tries, the next at %s). %s", v.record.DeleteAttempts, next, v.record.StatusReason), after)
	}
	return v.wait(reasonCreateFailed, fmt.Sprintf(
		"Creating the stack failed (attempt %d of %d, the next at %s). %s", v.record.Attempts, v.desired.maxAttempts(), next, v.record.StatusReason), after)
}

// stallFailed tells what failed for good and what a person can do.
func (v *visit) stallFailed() Result {
	reason := v.record.StatusReason
	switch status := v.status(); {
	case deleted(status):
		return v.stall(reasonCreateFailed, "CloudFormation refuses to create the stack. "+reason+" Change the object to try again.")
	case createFailed(status):
		return v.stall(reasonCreateFailed, fmt.Sprintf("Creating the stack failed %s. %s Change the object to try again.", times(v.record.Attempts), reason))
	case rolledBack(status):
		return v.stall(reasonUpdateFailed, "The update failed and was rolled back. "+reason+" Change the object to try again.")
	case updateFailed(status):
		return v.stall(reasonRollback, "The update failed, and so did its rollback, also without the resources that refuse. "+reason+
			" Repair the stack, or change the object to try again.")
	default:
		return v.stall(reasonUpdateFailed, "CloudFormation refuses the update. "+reason+" Change the object to try again.")
	}
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// Names reports whether a stack's ARN is of a stack of that name.
func Names(id, name string) bool { return nameOf(id) == name }

// nameOf returns the name in a stack's ARN: arn:aws:cloudformation:region:account:stack/NAME/unique.
func nameOf(id string) string {
	if parts := strings.Split(id, "/"); len(parts) == 3 {
		return parts[1]
	}
	return id
}

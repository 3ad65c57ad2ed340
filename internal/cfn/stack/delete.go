package stack

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// delete sends DeleteStack, to delete the stack or to re-create it.
func (v *visit) delete(ctx context.Context, action Action) step {
	if action == ActionRecreate && v.record.FailedDigest != v.digest {
		v.record.Attempts = 0
	}
	if action == ActionDelete && v.deletion.Snapshot {
		if s := v.checkSnapshots(ctx); s.done {
			return s
		}
	}
	return v.sendDelete(ctx, nil)
}

// checkSnapshots ends the visit if a resource would be deleted without the snapshot that CloudFormation can take.
func (v *visit) checkSnapshots(ctx context.Context) step {
	deployed, s := v.template(ctx, "of what a deletion would take snapshots")
	if s.done {
		return s
	}
	var lost []string
	kept := []string{"Snapshot", "Retain", "RetainExceptOnCreate"}
	for _, id := range slices.Sorted(maps.Keys(deployed.Resources)) {
		if r := deployed.Resources[id]; r.SupportsSnapshot() && !slices.Contains(kept, r.DeletionPolicy) {
			lost = append(lost, id)
		}
	}
	if len(lost) == 0 {
		return s
	}
	return end(v.stall(reasonNoSnapshot, fmt.Sprintf(
		"Stack %s would be deleted without a snapshot of %s: its template was deployed before the deletion policy asked for one. "+
			"To delete it without a snapshot, change the policy to delete; to keep the stack, to retain.",
		v.desired.Name, strings.Join(lost, ", "))))
}

func (v *visit) sendDelete(ctx context.Context, retain []string) step {
	if v.record.TerminationProtection && v.mayUnprotect() {
		if s := v.protect(ctx, false); s.done {
			return s
		}
	}
	if s := v.withdraw(ctx); s.done {
		return s
	}
	sent := token("delete", v.record.StackID, v.record.Token, strconv.Itoa(v.record.DeleteAttempts))
	_, err := v.cloudformation().DeleteStack(ctx, &cloudformation.DeleteStackInput{
		StackName: aws.String(v.record.StackID), ClientRequestToken: aws.String(sent), RetainResources: retain,
		RoleARN: optional(v.roleARN()),
	})
	switch {
	case err == nil, awsapi.Code(err) == "TokenAlreadyExistsException":
		v.began(types.StackStatusDeleteInProgress, sent)
		v.record.PendingDigest = ""
		return end(v.waitForCloudFormation())
	case missing(err):
		return v.settleMissing()
	case protected(err):
		return v.deleteProtected(ctx, retain)
	case busy(err):
		return v.refreshOnce(ctx, err)
	default:
		return v.failed(err)
	}
}

// protected reports whether CloudFormation refused to delete a stack because of its termination
// protection:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-protect-stacks.html
func protected(err error) bool {
	return awsapi.Code(err) == "ValidationError" && strings.Contains(awsapi.AWSMessage(err), "TerminationProtection is enabled")
}

// mayUnprotect reports whether the engine may disable termination protection: the caller allows it,
// or the caller set the protection and the stack is being re-created.
func (v *visit) mayUnprotect() bool {
	return v.deletion.DisableTerminationProtection || v.goal == Present && v.desired.TerminationProtection
}

func (v *visit) deleteProtected(ctx context.Context, retain []string) step {
	if !v.mayUnprotect() || v.surprised {
		return end(
			v.stall(
				reasonProtected,
				"Stack "+v.desired.Name+" has termination protection, which the operator did not enable. To delete the stack, disable termination protection.",
			),
		)
	}
	v.surprised = true
	if s := v.protect(ctx, false); s.done {
		return s
	}
	return v.sendDelete(ctx, retain)
}

// settleDeleteFailed updates the record of a stack whose deletion failed, with the resources that
// could not be deleted and why.
func (v *visit) settleDeleteFailed(ctx context.Context, found *live, news bool) step {
	if news {
		failures, err := v.refusing(ctx, types.ResourceStatusDeleteFailed)
		if err != nil {
			v.record.Status = string(types.StackStatusDeleteInProgress) // so that the next read handles the failure again
			return v.failed(err)
		}
		v.record.StatusReason = refusals(failures, found.reason)
		v.record.DeleteAttempts++
		v.tryAfter(v.record.DeleteAttempts)
	}
	v.record.PendingDigest, v.record.Changed = "", found.changed
	return proceed()
}

// refusals describes the resources that failed and why.
func refusals(failures []ResourceFailure, fallback string) string {
	if len(failures) == 0 {
		return CleanReason(fallback)
	}
	sentences := make([]string, 0, len(failures))
	for _, one := range failures {
		sentences = append(sentences, one.String())
	}
	return strings.Join(sentences, " ")
}

// deleteAgain cleans the resources that belong to the caller, retains those that the caller allows,
// and sends DeleteStack again.
func (v *visit) deleteAgain(ctx context.Context) step {
	failures, err := v.refusing(ctx, types.ResourceStatusDeleteFailed)
	if err != nil {
		return v.failed(err)
	}
	var retain []string
	for _, one := range failures {
		if v.deletion.Clean != nil {
			if err := v.deletion.Clean(ctx, one); err != nil && !errors.Is(err, errors.ErrUnsupported) {
				return end(
					v.wait(
						reasonDeleteFailed,
						fmt.Sprintf("Preparing the deletion of %s failed: %s", one.LogicalID, sentenceOf(err)),
						v.engine.delay(v.record.DeleteAttempts),
					),
				)
			}
		}
		if slices.Contains(v.deletion.Retain, one.LogicalID) {
			retain = append(retain, one.LogicalID)
		}
	}
	return v.sendDelete(ctx, retain)
}

// sentenceOf returns an error as a sentence for the user; the SDK's own text of AWS errors is not
// readable.
func sentenceOf(err error) string {
	if awsapi.Code(err) != "" {
		return awsapi.Explain(err).Message
	}
	return awsapi.Sentence(err.Error())
}

// finishDeletion ends a deletion. If the stack was re-created just before the operator died, the
// record may not name it, and deleting the previous, deleted stack succeeds. So unless an event
// reported the end of this deletion, it reads the stack by name.
func (v *visit) finishDeletion(ctx context.Context) step {
	ended := v.before.Deleting && v.followed.Token != "" && v.followed.Token == v.record.Token
	if !ended && v.record.StackID != "" {
		v.record.StackID, v.record.Status = "", string(StatusNone)
		return v.refresh(ctx)
	}
	id := v.before.StackID
	if id != "" {
		v.engine.memory.forget(id)
		v.engine.watchlist.forget(id)
	}
	v.engine.denials.clear(v.key)
	v.record.Status = string(types.StackStatusDeleteComplete)
	return end(Result{State: Gone, Reason: reasonGone, Message: "The stack is deleted."})
}

package stack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// delete sends DeleteStack, for good or in order to create the stack again.
func (v *visit) delete(ctx context.Context, action Action) step {
	if action == ActionRecreate && v.record.FailedDigest != v.digest {
		v.record.Attempts = 0
	}
	return v.sendDelete(ctx, nil)
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
		StackName: aws.String(v.record.StackID), ClientRequestToken: aws.String(sent), RetainResources: retain, RoleARN: optional(v.roleARN()),
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
		return v.lookOnce(ctx, err)
	default:
		return v.failed(err)
	}
}

// protected is true for CloudFormation's refusal to delete a stack with termination protection:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-protect-stacks.html
func protected(err error) bool {
	return awsapi.Code(err) == "ValidationError" && strings.Contains(awsapi.AWSMessage(err), "TerminationProtection is enabled")
}

// mayUnprotect reports whether termination protection may be switched off: the caller says so, or protects the stack itself and has it
// made again.
func (v *visit) mayUnprotect() bool {
	return v.deletion.DisableTerminationProtection || v.goal == Present && v.desired.TerminationProtection
}

func (v *visit) deleteProtected(ctx context.Context, retain []string) step {
	if !v.mayUnprotect() || v.surprised {
		return end(v.stall(reasonProtected, "Somebody switched on termination protection for stack "+v.desired.Name+", so it is not deleted; switch it off if it may go."))
	}
	v.surprised = true
	if s := v.protect(ctx, false); s.done {
		return s
	}
	return v.sendDelete(ctx, retain)
}

// settleDeleteFailed settles the record of a stack that could not be deleted: it says what refuses and why.
func (v *visit) settleDeleteFailed(ctx context.Context, found *live, news bool) step {
	if news {
		failures, err := v.refusing(ctx, types.ResourceStatusDeleteFailed)
		if err != nil {
			v.record.Status = string(types.StackStatusDeleteInProgress) // so that the failure is news once more
			return v.failed(err)
		}
		v.record.StatusReason = refusals(failures, found.reason)
		v.record.DeleteAttempts++
		v.tryAfter(v.record.DeleteAttempts)
	}
	v.record.PendingDigest, v.record.Changed = "", found.changed
	return goOn()
}

// refusals tells which resources refuse and why.
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

// deleteAgain cleans what the caller says is ours to clean, retains what it allows to retain, and deletes once more.
func (v *visit) deleteAgain(ctx context.Context) step {
	failures, err := v.refusing(ctx, types.ResourceStatusDeleteFailed)
	if err != nil {
		return v.failed(err)
	}
	var retain []string
	for _, one := range failures {
		if v.deletion.Clean != nil {
			if err := v.deletion.Clean(ctx, one); err != nil && !errors.Is(err, errors.ErrUnsupported) {
				return end(v.wait(reasonDeleteFailed, fmt.Sprintf("%s could not be cleaned before its deletion: %s", one.LogicalID, told(err)), v.engine.delay(v.record.DeleteAttempts)))
			}
		}
		if slices.Contains(v.deletion.Retain, one.LogicalID) {
			retain = append(retain, one.LogicalID)
		}
	}
	return v.sendDelete(ctx, retain)
}

// told is a failure in words for a person: what the SDK makes of AWS's answers is none.
func told(err error) string {
	if awsapi.Code(err) != "" {
		return awsapi.Explain(err).Message
	}
	return awsapi.Sentence(err.Error())
}

// gone ends a deletion. A stack that was made again just before the operator died may not be recorded, and deleting the one before
// it, which is gone, succeeds. So unless an event says that this deletion ended, the stack is looked for by name.
func (v *visit) gone(ctx context.Context) step {
	ended := v.before.Deleting && v.told.Token != "" && v.told.Token == v.record.Token
	if !ended && v.record.StackID != "" {
		v.record.StackID, v.record.Status = "", string(StatusNone)
		return v.look(ctx)
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

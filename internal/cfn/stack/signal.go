package stack

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// Signal signals to an operation that waits for signals (WaitOnResourceSignals, or a creation
// policy) that an instance of a resource, such as an Auto Scaling group, is ready:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_SignalResource.html
//
// Waiting is false, without an error, if no operation waits for the signal: none runs, none changes
// that resource, or the stack does not exist. Signal returns a [*ForeignError], and signals
// nothing, if the stack is not the owner's; other errors are explained ([awsapi.Failure]).
func (e *Engine) Signal(ctx context.Context, target awsapi.Target, owner Owner, logicalID, instanceID string) (waiting bool, err error) {
	if there, err := e.verify(ctx, target, &owner); err != nil || !there {
		return false, err
	}
	_, err = e.options.Clients.CloudFormation(target).SignalResource(ctx, &cloudformation.SignalResourceInput{
		StackName: aws.String(owner.reference()), LogicalResourceId: aws.String(logicalID), UniqueId: aws.String(instanceID),
		Status: types.ResourceSignalStatusSuccess,
	})
	switch {
	case err == nil:
		return true, nil
	case notWaiting(err), missing(err):
		return false, nil
	default:
		return false, awsapi.Explain(err)
	}
}

// notWaiting reports whether CloudFormation answered that no operation waits for the signal: "Stack
// arn:… is in CREATE_COMPLETE state and cannot be signaled", as in
// https://github.com/aws-cloudformation/aws-cloudformation-templates/issues/34.
func notWaiting(err error) bool {
	message := awsapi.AWSMessage(err)
	return awsapi.Code(err) == "ValidationError" &&
		(strings.Contains(message, "can not be signaled") || strings.Contains(message, "cannot be signaled"))
}

// Cancel cancels a running update of a stack, which rolls it back:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_CancelUpdateStack.html
//
// Cancelled is false, without an error, if there is no update to cancel: none runs, or it is
// already rolling back. Cancel returns a [*ForeignError], and cancels nothing, if the stack is not
// the owner's; other errors are explained ([awsapi.Failure]).
func (e *Engine) Cancel(ctx context.Context, target awsapi.Target, owner Owner) (cancelled bool, err error) {
	if there, err := e.verify(ctx, target, &owner); err != nil || !there {
		return false, err
	}
	_, err = e.options.Clients.CloudFormation(target).
		CancelUpdateStack(ctx, &cloudformation.CancelUpdateStackInput{StackName: aws.String(owner.reference())})
	switch {
	case err == nil:
		return true, nil
	case notCancellable(err), missing(err):
		return false, nil
	default:
		return false, awsapi.Explain(err)
	}
}

// notCancellable reports whether CloudFormation answered that no update runs: "CancelUpdateStack
// cannot be called from current stack status". Only an update in UPDATE_IN_PROGRESS can be
// cancelled, according to the page above.
func notCancellable(err error) bool {
	return awsapi.Code(err) == "ValidationError" && strings.Contains(awsapi.AWSMessage(err), "CancelUpdateStack cannot be called")
}

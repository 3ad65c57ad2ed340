package stack

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// Signal tells an operation that waits for signals (WaitOnResourceSignals, or a creation policy) that an instance of a resource,
// such as an Auto Scaling group, is ready: https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_SignalResource.html
// Waiting is false when nobody waits: no operation runs, or none touches that resource, or the stack is gone; that is no error.
// Errors are explained ([awsapi.Failure]).
// It returns a [*ForeignError], and signals nothing, if the stack is not the owner's.
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

// notWaiting is true for CloudFormation's answer to a signal that comes when nobody waits for it: "Stack arn:… is in CREATE_COMPLETE
// state and cannot be signaled", as in https://github.com/aws-cloudformation/aws-cloudformation-templates/issues/34.
func notWaiting(err error) bool {
	message := awsapi.AWSMessage(err)
	return awsapi.Code(err) == "ValidationError" && (strings.Contains(message, "can not be signaled") || strings.Contains(message, "cannot be signaled"))
}

// Cancel has a running update of a stack go back to what was before:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_CancelUpdateStack.html
// Cancelled is false when there is none to be cancelled: none runs, or it goes back already; that is no error. Errors are explained
// ([awsapi.Failure]).
// It returns a [*ForeignError], and cancels nothing, if the stack is not the owner's.
func (e *Engine) Cancel(ctx context.Context, target awsapi.Target, owner Owner) (cancelled bool, err error) {
	if there, err := e.verify(ctx, target, &owner); err != nil || !there {
		return false, err
	}
	_, err = e.options.Clients.CloudFormation(target).CancelUpdateStack(ctx, &cloudformation.CancelUpdateStackInput{StackName: aws.String(owner.reference())})
	switch {
	case err == nil:
		return true, nil
	case notCancellable(err), missing(err):
		return false, nil
	default:
		return false, awsapi.Explain(err)
	}
}

// notCancellable is true for CloudFormation's answer when no update runs: "CancelUpdateStack cannot be called from current stack
// status". Only an update in UPDATE_IN_PROGRESS can be cancelled, as the page above says.
func notCancellable(err error) bool {
	return awsapi.Code(err) == "ValidationError" && strings.Contains(awsapi.AWSMessage(err), "CancelUpdateStack cannot be called")
}

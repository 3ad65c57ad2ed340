package controller

import (
	"fmt"
	"strings"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// review returns how changes of the object's stack are approved; nil if they need no approval.
func review(obj *v1alpha1.Object, desired *render.Desired) *stack.Review {
	if !desired.Manual {
		return nil
	}
	return approvals(obj)
}

// approvals returns what the object's owner has seen and approved.
func approvals(obj *v1alpha1.Object) *stack.Review {
	review := &stack.Review{Approved: stack.ParseApproved(obj.Annotations[stack.ApproveAnnotation])}
	for _, shown := range obj.Status.PendingChanges {
		review.Shown = shown.Digest
	}
	return review
}

// showPending sets the pending changes in the object's status.
func showPending(obj *v1alpha1.Object, stackName string, result *stack.Result) {
	shown := obj.Status.PendingChanges
	switch {
	case result.Proposal != nil:
		obj.Status.PendingChanges = []v1alpha1.PendingChange{pendingFrom(stackName, result.Proposal)}
	case len(shown) > 0 && shown[0].Digest != result.Record.Proposal:
		obj.Status.PendingChanges = nil
	}
}

func pendingFrom(stackName string, proposal *stack.Proposal) v1alpha1.PendingChange {
	pending := v1alpha1.PendingChange{Stack: stackName, Digest: proposal.Digest, Summary: proposal.Summary()}
	for i := range proposal.Changes {
		change := &proposal.Changes[i]
		pending.Changes = append(pending.Changes, v1alpha1.ResourceChange{
			Resource: change.Resource, Type: change.Type, PhysicalID: change.PhysicalID, Action: change.Action,
			Replacement: change.Replacement, Properties: change.Properties, Warning: change.Warning,
		})
	}
	return pending
}

// awaiting is the outcome while a change waits for approval: what would change, and the command
// that approves it.
func (k *kind) awaiting(obj *v1alpha1.Object, result *stack.Result) operatorkit.Outcome {
	message, digest := result.Message, result.Record.Proposal
	for i := range obj.Status.PendingChanges {
		message += " " + obj.Status.PendingChanges[i].Summary
	}
	return operatorkit.Wait(0, result.Reason, message+" "+k.howToApprove(obj, digest)).Degraded()
}

// howToApprove is the command that approves a change.
func (k *kind) howToApprove(obj *v1alpha1.Object, digest string) string {
	return fmt.Sprintf("To carry it out: kubectl annotate --overwrite -n %s %s.%s/%s %s=%s",
		obj.Namespace, strings.ToLower(k.name), v1alpha1.Group, obj.Name, stack.ApproveAnnotation, digest)
}

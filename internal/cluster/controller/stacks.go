package controller

import (
	"context"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/policy"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
	"github.com/aws-operator/aws-operator/internal/cluster/stacks"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// stackOf returns a stack's entry in the Cluster's status, and adds it if missing.
func stackOf(cluster *v1alpha1.Cluster, name string) *v1alpha1.StackStatus {
	i := slices.IndexFunc(cluster.Status.Stacks, func(s v1alpha1.StackStatus) bool { return s.Name == name })
	if i < 0 {
		cluster.Status.Stacks = append(cluster.Status.Stacks, v1alpha1.StackStatus{Name: name})
		i = len(cluster.Status.Stacks) - 1
	}
	return &cluster.Status.Stacks[i]
}

// knownStack returns a stack's entry in the Cluster's status, nil if it has none.
func knownStack(cluster *v1alpha1.Cluster, name string) *v1alpha1.StackStatus {
	i := slices.IndexFunc(cluster.Status.Stacks, func(s v1alpha1.StackStatus) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &cluster.Status.Stacks[i]
}

// desired converts a rendered stack for the engine.
func desired(obj client.Object, wanted *render.Stack) stack.Desired {
	want := stacks.Desired(wanted)
	want.Salt, want.Allow, want.AdoptFrom = string(obj.GetUID()), allowed(obj), adoptFrom(obj)
	return want
}

// changes reports whether an existing stack would be changed, false for one that is new or in
// progress.
func changes(known *record.Stack, obj client.Object, wanted *render.Stack) bool {
	if known.Digest == "" || known.PendingDigest != "" {
		return false
	}
	stack := desired(obj, wanted)
	return known.Digest != stack.Digest()
}

// ensureOptions holds the options of ensureStack.
type ensureOptions struct {
	// prepare, unless nil, creates what the stack needs just before its creation or change is sent,
	// and may update known. It is not called for a change that waits for approval.
	prepare func(ctx context.Context, known *record.Stack) error
	// refresh makes the engine read the outputs.
	refresh bool
	// hold is why an approved change must still wait; "" if it need not.
	hold string
	// terminated lists the logical IDs of resources that no longer exist, which the change may
	// remove.
	gone []string
}

// ensureStack moves a stack toward its rendered state. It returns the outputs if they were read
// this time.
func (o *operator) ensureStack(
	ctx context.Context, obj client.Object, target awsapi.Target, status *v1alpha1.StackStatus, wanted *render.Stack, how ensureOptions,
) (map[string]string, operatorkit.Outcome) {
	known, err := record.Decode(status)
	if err != nil {
		return nil, operatorkit.Fail(err)
	}
	o.retry(&known)
	want := desired(obj, wanted)
	want.Allow.Gone = how.gone
	if want.Review, err = o.review(ctx, obj, wanted.Name); err != nil {
		return nil, operatorkit.Fail(err)
	}
	if how.hold != "" {
		if want.Review == nil || !changes(&known, obj, wanted) {
			return nil, operatorkit.Wait(outcomes.EventPoll, "OneSlotAtATime", how.hold).About(outcomes.StackSubject(wanted.Name))
		}
		want.Review.Hold = true
	}
	want.Refresh = how.refresh
	if how.prepare != nil {
		want.Prepare = func(ctx context.Context) error { return how.prepare(ctx, &known) }
	}
	inCharge, failed := o.inCharge(), known.FailedDigest
	result, err := o.options.Engine.Ensure(ctx, target, want, known.Record)
	known.Record = result.Record
	if known.FailedDigest != failed && known.FailedDigest != "" {
		known.Away = known.StartedAt != nil && known.StartedAt.Before(inCharge)
	}
	showPending(obj, wanted.Name, &result)
	var outcome operatorkit.Outcome
	switch {
	case err == nil && result.State == stack.Proposed && result.Reason == stack.ReasonApproved:
		outcome = operatorkit.Wait(outcomes.EventPoll, "OneSlotAtATime", how.hold).About(outcomes.StackSubject(wanted.Name))
	case err == nil && result.State == stack.Proposed:
		outcome = waitForApproval(obj, wanted.Name, &result)
	default:
		outcome = o.outcome(wanted.Name, &known, result, err)
	}
	if err := record.Encode(status, known); err != nil {
		return nil, operatorkit.Fail(err)
	}
	return result.Outputs, outcome
}

// deleteStack advances the deletion of a stack. Without a status, it finds the stack by its name
// and its owner's tags.
func (o *operator) deleteStack(
	ctx context.Context, obj client.Object, target awsapi.Target, name string, status *v1alpha1.StackStatus, options stack.DeleteOptions,
) operatorkit.Outcome {
	known, err := record.Decode(status)
	if err != nil {
		return operatorkit.Fail(err)
	}
	options.Salt, options.AdoptFrom = string(obj.GetUID()), adoptFrom(obj)
	result, err := o.options.Engine.Delete(ctx, target, name, known.Record, options)
	known.Record = result.Record
	showPending(obj, name, &result)
	outcome := o.outcome(name, &known, result, err)
	if status != nil {
		if err := record.Encode(status, known); err != nil {
			return operatorkit.Fail(err)
		}
	}
	return outcome
}

// outcome converts the engine's result to a step's outcome.
func (o *operator) outcome(name string, known *record.Stack, result stack.Result, err error) operatorkit.Outcome {
	if err != nil {
		return operatorkit.Fail(err).Explain(result.Reason, result.Message).About(outcomes.StackSubject(name))
	}
	switch result.State {
	case stack.Ready:
		known.Retries, known.RetryAt, known.Away = 0, nil, false
		return operatorkit.Done().RequeueAfter(result.RequeueAfter)
	case stack.Gone:
		return operatorkit.Done()
	case stack.Stalled:
		if result.Foreign { // Independent of the failure in the record.
			return operatorkit.Stall(result.Reason, result.Message)
		}
		return o.stalled(name, known, result)
	case stack.InProgress:
		return operatorkit.Wait(result.RequeueAfter, result.Reason, result.Message).About(outcomes.StackSubject(name))
	case stack.Waiting: // Something failed and will be retried.
		reason, message := result.Reason, result.Message
		if cause := causeOf(known.StatusReason); cause != "" {
			reason = cause
		}
		if reason == causePublic {
			message += " " + publicRemedy
		}
		return operatorkit.Wait(result.RequeueAfter, reason, message).About(outcomes.StackSubject(name)).Degraded()
	default:
		return operatorkit.Wait(time.Minute, "Unknown", "The stack is in an unknown state. Checking again in a minute.").
			About(outcomes.StackSubject(name))
	}
}

// allowed returns the dangerous changes that the object's owner permits.
func allowed(obj client.Object) policy.Allow {
	allow := policy.Allow{Annotation: allowAnnotation}
	for word := range strings.SplitSeq(obj.GetAnnotations()[allowAnnotation], ",") {
		switch strings.TrimSpace(word) {
		case "replace":
			allow.Replace = true
		case "remove":
			allow.Remove = true
		case policy.AllowSkip:
			allow.Skip = true
		}
	}
	return allow
}

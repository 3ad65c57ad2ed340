package controller

import (
	"context"
	"errors"
	"time"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	cfntemplate "github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/identity"
	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// reasonCreating is the engine's reason while CloudFormation creates a stack.
const reasonCreating = "CreateInProgress"

// stackStep converges the object's stack to the spec and copies its outputs.
type stackStep struct{ kind *kind }

// Name returns the step's name.
func (s stackStep) Name() string { return "stack" }

// EnsureCreated converges the stack towards the spec by at most one operation.
func (s stackStep) EnsureCreated(ctx context.Context, obj *v1alpha1.Object) operatorkit.Outcome {
	k := s.kind
	k.service.directory.own(k.stackName(obj), k.key(obj), obj.UID)
	use, outcome := k.useNow(ctx, obj)
	if !outcome.IsDone() {
		return outcome
	}
	in, lack, err := k.inputs(ctx, obj, use)
	if err != nil {
		return operatorkit.Fail(err)
	}
	if lack != nil {
		return operatorkit.Wait(lack.after, lack.reason, lack.message)
	}
	digest, err := in.digest(obj)
	if err != nil {
		return operatorkit.Fail(err)
	}
	untouched := outputDigest(obj.Status.Output) == obj.Status.OutputDigest
	revert := driftToRevert(obj)
	observes, err := render.Observes(obj)
	if err != nil {
		return invalid(err)
	}
	if last, ok := k.ready.get(obj.UID); ok && last == digest && untouched && revert == nil && !observes {
		return operatorkit.Done()
	}
	k.ready.drop(obj.UID)
	if outcome := k.verifyReferences(ctx, obj, in); !outcome.IsDone() {
		return outcome
	}
	if err := render.CheckWriteTo(k.modelOf(obj), obj); err != nil { // before the user waits for the stack
		return invalidWriteTo(err)
	}
	desired, err := render.Stack(k.modelOf(obj), in.object, in.facts, in.override)
	if err != nil {
		return invalid(err)
	}
	if observes {
		return k.observe(ctx, obj, in, desired, digest)
	}
	outcome = s.ensure(ctx, obj, in, desired, revert, !untouched)
	if outcome.IsDone() && revert == nil { // otherwise the engine must be called to end the revert
		if digest, err = in.digest(obj); err != nil {
			return operatorkit.Fail(err)
		}
		k.ready.keep(obj.UID, digest)
	}
	return outcome
}

// invalid reports the problems of a template.
func invalid(err error) operatorkit.Outcome {
	if outcome, ok := refused(err); ok {
		return outcome
	}
	if problems, ok := errors.AsType[cfntemplate.Problems](err); ok {
		return operatorkit.Stall("InvalidTemplate", sentence("The template is invalid", problems))
	}
	return operatorkit.Stall("InvalidTemplate", sentence("The template cannot be rendered", err))
}

// ensure calls the engine and copies its result into the object.
func (s stackStep) ensure(
	ctx context.Context, obj *v1alpha1.Object, in inputs, desired *render.Desired, revert *stack.Revert, refresh bool,
) operatorkit.Outcome {
	k, use := s.kind, in.use
	known, err := record(obj)
	if err != nil {
		return operatorkit.Fail(err)
	}
	wanted := stack.Desired{
		Name: desired.Name, Template: desired.Template, Parameters: desired.Parameters, Hidden: desired.Hidden,
		Tags: desired.Tags, OwnerTags: desired.OwnerTags, Salt: string(obj.UID),
		Capabilities: desired.Capabilities, MaxAttempts: desired.MaxAttempts,
		Allow: allowed(obj), AdoptFrom: adoptFrom(obj), Refresh: refresh, Review: review(obj, desired),
		Revert: revert, DriftCheck: k.driftCheck(obj),
		Retry: obj.Annotations[stack.RetryAnnotation],
	}
	if wanted.Import, err = k.adoption(obj, desired); err != nil {
		return operatorkit.Fail(err)
	}
	if err := use.Limit(&wanted); err != nil {
		return identity.Outcome(err)
	}
	result, err := k.service.options.Engine.Ensure(ctx, use.Target, wanted, known)
	err = redact(&result, err, in.facts.Secrets)
	obj.Status.StackName = desired.Name
	showPending(obj, desired.Name, &result)
	if recordErr := setRecord(obj, result.Record); recordErr != nil {
		return operatorkit.Fail(recordErr)
	}
	if driftErr := k.showDriftCheck(obj, &result); driftErr != nil {
		return operatorkit.Fail(driftErr)
	}
	if result.Outputs != nil {
		output := render.Outputs(k.modelOf(obj), result.Outputs)
		if len(output) == 0 {
			output = nil
		}
		obj.Status.Output, obj.Status.OutputDigest = output, outputDigest(output)
	}
	if err == nil && result.Reverting { // the stack has the desired template, so that the object is ready
		return operatorkit.Done().RequeueAfter(result.RequeueAfter)
	}
	if err == nil && result.State == stack.Proposed {
		return k.awaiting(obj, &result)
	}
	explainMissingAttribute(&result, obj, k.modelOf(obj), desired.Template)
	return outcome(result, err)
}

// redact removes secrets from what AWS says about a stack, which ends in the status, Events and logs.
func redact(result *stack.Result, err error, secrets []render.Secret) error {
	if len(secrets) == 0 {
		return err
	}
	for _, text := range []*string{&result.Message, &result.Record.StatusReason, &result.Record.RevertFailure} {
		*text = render.Redact(*text, secrets)
	}
	if err != nil {
		if shown := render.Redact(err.Error(), secrets); shown != err.Error() {
			return errors.New(shown)
		}
	}
	return err
}

// EnsureDeleted deletes the stack unless the object's deletion policy is to retain it.
func (s stackStep) EnsureDeleted(ctx context.Context, obj *v1alpha1.Object) operatorkit.Outcome {
	k := s.kind
	observes, err := render.Observes(obj)
	if err != nil { // an unknown policy must neither delete the stack nor leave it behind
		return invalid(err)
	}
	if observes {
		return s.leave(ctx, obj)
	}
	policy, err := render.DeletionPolicy(obj)
	if err != nil { // deleting cannot be undone, so an unknown policy must not delete
		return invalid(err)
	}
	if policy == v1alpha1.DeletionPolicyRetain {
		return s.leave(ctx, obj)
	}
	known, err := record(obj)
	if err != nil {
		return operatorkit.Fail(err)
	}
	name := k.stackName(obj)
	k.service.directory.own(name, k.key(obj), obj.UID)
	k.ready.drop(obj.UID)
	use, outcomeOfUse := k.useNow(ctx, obj)
	if !outcomeOfUse.IsDone() {
		return leftBehind(outcomeOfUse)
	}
	result, err := k.service.options.Engine.Delete(ctx, use.Target, name, known, stack.DeleteOptions{
		RoleARN: use.ServiceRole, OwnerTags: render.Tags(k.name, obj, k.service.options.ClusterName),
		Salt: string(obj.UID), AdoptFrom: adoptFrom(obj), Snapshot: policy == v1alpha1.DeletionPolicySnapshot,
	})
	if recordErr := setRecord(obj, result.Record); recordErr != nil {
		return operatorkit.Fail(recordErr)
	}
	showPending(obj, name, &result)
	return outcome(result, err)
}

// leave retains the stack, but withdraws a change that waits for approval, because it could never
// be approved.
func (s stackStep) leave(ctx context.Context, obj *v1alpha1.Object) operatorkit.Outcome {
	k := s.kind
	known, err := record(obj)
	if err != nil {
		return operatorkit.Fail(err)
	}
	use, outcome := k.useNow(ctx, obj)
	if outcome.Kind() == operatorkit.KindStall {
		return operatorkit.Done() // the user leaves the stack, and the operator may not act
	}
	if !outcome.IsDone() {
		return outcome
	}
	err = k.service.options.Engine.Withdraw(ctx, use.Target, stack.Owner{
		Name: k.stackName(obj), Tags: render.Tags(k.name, obj, k.service.options.ClusterName), AdoptFrom: adoptFrom(obj),
	}, known)
	if foreign, ok := errors.AsType[*stack.ForeignError](err); ok {
		return operatorkit.Stall(foreign.Reason, foreign.Message)
	}
	if err != nil {
		return operatorkit.Fail(err)
	}
	return operatorkit.Done()
}

// outcome converts the engine's result.
func outcome(result stack.Result, err error) operatorkit.Outcome {
	if err != nil {
		return operatorkit.Fail(err).Explain(result.Reason, result.Message)
	}
	switch result.State {
	case stack.Ready:
		return operatorkit.Done().RequeueAfter(result.RequeueAfter)
	case stack.Gone:
		return operatorkit.Done()
	case stack.Stalled:
		return operatorkit.Stall(result.Reason, result.Message)
	case stack.InProgress:
		wait := operatorkit.Wait(result.RequeueAfter, result.Reason, result.Message)
		if result.Reason == reasonCreating { // The condition reports it; the Event is that of the result.
			return wait.WithoutEvent()
		}
		return wait
	case stack.Waiting: // an operation failed and is retried
		return operatorkit.Wait(result.RequeueAfter, result.Reason, result.Message).Degraded()
	default:
		return operatorkit.Wait(time.Minute, "Unknown", "The state of the stack is unknown; the operator checks it again in a minute.")
	}
}

package apply

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/cause"
	"github.com/aws-operator/aws-operator/internal/cfn/policy"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/approval"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/owner"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
	"github.com/aws-operator/aws-operator/internal/cluster/stacks"
	"github.com/aws-operator/aws-operator/internal/identity"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// Engine reconciles stacks. *stack.Engine implements it.
type Engine interface {
	Ensure(ctx context.Context, target awsapi.Target, desired stack.Desired, record stack.Record) (stack.Result, error)
	Delete(ctx context.Context, target awsapi.Target, name string, record stack.Record, options stack.DeleteOptions) (stack.Result, error)
}

// Stacks applies stacks with an engine.
type Stacks struct {
	engine Engine
}

// New applies stacks with an engine.
func New(engine Engine) *Stacks { return &Stacks{engine: engine} }

// desired converts a rendered stack for the engine.
func desired(obj client.Object, wanted *render.Stack) stack.Desired {
	want := stacks.Desired(wanted)
	want.Salt, want.Allow, want.AdoptFrom = string(obj.GetUID()), allowed(obj), owner.AdoptFrom(obj)
	want.Retry = obj.GetAnnotations()[stack.RetryAnnotation]
	return want
}

// Changes reports whether an existing stack would be changed, false for one that is new or in
// progress.
func Changes(known *record.Stack, obj client.Object, wanted *render.Stack) bool {
	if known.Digest == "" || known.PendingDigest != "" {
		return false
	}
	stack := desired(obj, wanted)
	return known.Digest != stack.Digest()
}

// Options holds the options of [Stacks.Ensure].
type Options struct {
	// Manual requires a user's approval of changes.
	Manual bool
	// Prepare, unless nil, creates what the stack needs just before its creation or change is sent,
	// and may update known. It is not called for a change that waits for approval.
	Prepare func(ctx context.Context, known *record.Stack) error
	// Resume, unless nil, updates known for a change in progress that was sent at a time, if the
	// record of that was lost.
	Resume func(known *record.Stack, sent time.Time)
	// Refresh makes the engine read the outputs.
	Refresh bool
	// Hold is why an approved change must still wait; "" if it need not.
	Hold string
	// Parts are the parts of the instances' bundle that a change of the stack changes, if known.
	Parts []string
	// Limit, unless nil, makes the stack obey the identity that it is made with, or refuses it.
	Limit func(*stack.Desired) error
	// Gone lists the logical IDs of resources that no longer exist, which the change may remove.
	Gone []string
}

// Ensure moves a stack toward its rendered state. It returns the outputs if they were read this
// time.
func (s *Stacks) Ensure(
	ctx context.Context, obj client.Object, target awsapi.Target, status *v1alpha1.StackStatus, wanted *render.Stack, how Options,
) (map[string]string, operatorkit.Outcome) {
	known, err := record.Decode(status)
	if err != nil {
		return nil, operatorkit.Fail(err)
	}
	want := desired(obj, wanted)
	if how.Limit != nil {
		if err := how.Limit(&want); err != nil {
			return nil, identity.Outcome(err)
		}
	}
	want.Allow.Gone = how.Gone
	want.Review = approval.Review(obj, how.Manual, wanted.Name)
	if how.Hold != "" {
		if want.Review == nil || !Changes(&known, obj, wanted) {
			return nil, operatorkit.Wait(outcomes.EventPoll, "OneSlotAtATime", how.Hold).About(outcomes.StackSubject(wanted.Name))
		}
		want.Review.Hold = true
	}
	want.Refresh = how.Refresh
	prepared := false
	if how.Prepare != nil {
		want.Prepare = func(ctx context.Context) error {
			prepared = true
			return how.Prepare(ctx, &known)
		}
	}
	pending := known.PendingDigest
	result, err := s.engine.Ensure(ctx, target, want, known.Record)
	known.Record = result.Record
	// The engine remembers a change that the status does not contain because it was not written.
	if unrecorded := !prepared && pending == "" && known.PendingDigest == want.Digest() && known.StartedAt != nil; how.Resume != nil &&
		unrecorded {
		how.Resume(&known, *known.StartedAt)
	}
	approval.Show(obj, wanted.Name, &result, how.Parts)
	var outcome operatorkit.Outcome
	switch {
	case err == nil && result.State == stack.Proposed && result.Reason == stack.ReasonApproved:
		outcome = operatorkit.Wait(outcomes.EventPoll, "OneSlotAtATime", how.Hold).About(outcomes.StackSubject(wanted.Name))
	case err == nil && result.State == stack.Proposed:
		outcome = approval.Wait(obj, wanted.Name, &result)
	default:
		outcome = toOutcome(wanted.Name, result, err)
	}
	if err := record.Encode(status, known); err != nil {
		return nil, operatorkit.Fail(err)
	}
	return result.Outputs, outcome
}

// Delete advances the deletion of a stack. Without a status, it finds the stack by its name and its
// owner's tags.
func (s *Stacks) Delete(
	ctx context.Context, obj client.Object, target awsapi.Target, name string, status *v1alpha1.StackStatus, options stack.DeleteOptions,
) operatorkit.Outcome {
	known, err := record.Decode(status)
	if err != nil {
		return operatorkit.Fail(err)
	}
	options.Salt, options.AdoptFrom = string(obj.GetUID()), owner.AdoptFrom(obj)
	result, err := s.engine.Delete(ctx, target, name, known.Record, options)
	known.Record = result.Record
	approval.Show(obj, name, &result, nil)
	outcome := toOutcome(name, result, err)
	if status != nil {
		if err := record.Encode(status, known); err != nil {
			return operatorkit.Fail(err)
		}
	}
	return outcome
}

// publicRemedy explains how to fix a refused public policy.
const publicRemedy = " The documents of the service-account issuer must be public, and the account or its organization blocks public policies of buckets " +
	"(S3 Block Public Access, BlockPublicPolicy). Turn that off for the account, or publish the documents elsewhere and set spec.serviceAccountIssuer.url, " +
	"or remove spec.serviceAccountIssuer."

// toOutcome converts the engine's result to a step's outcome.
func toOutcome(name string, result stack.Result, err error) operatorkit.Outcome {
	if err != nil {
		return operatorkit.Fail(err).Explain(result.Reason, result.Message).About(outcomes.StackSubject(name))
	}
	switch result.State {
	case stack.Ready:
		return operatorkit.Done().RequeueAfter(result.RequeueAfter)
	case stack.Gone:
		return operatorkit.Done()
	case stack.Stalled:
		if result.Foreign { // Independent of the failure in the record.
			return operatorkit.Stall(result.Reason, result.Message)
		}
		return operatorkit.Stall(result.Reason, result.Message).About(outcomes.StackSubject(name))
	case stack.InProgress:
		return operatorkit.Wait(result.RequeueAfter, result.Reason, result.Message).About(outcomes.StackSubject(name))
	case stack.Waiting: // Something failed and will be retried.
		message := result.Message
		if result.Reason == cause.Public {
			message += publicRemedy
		}
		return operatorkit.Wait(result.RequeueAfter, result.Reason, message).About(outcomes.StackSubject(name)).Degraded()
	default:
		return operatorkit.Wait(time.Minute, "Unknown", "The stack is in an unknown state. Checking again in a minute.").
			About(outcomes.StackSubject(name))
	}
}

// allowed returns the dangerous changes that the object's owner permits.
func allowed(obj client.Object) policy.Allow {
	allow := policy.ParseAllow(obj.GetAnnotations()[AllowAnnotation])
	allow.Annotation, allow.Object = AllowAnnotation, obj.GetName()
	return allow
}

// AllowAnnotation lists the dangerous changes that the object's owner permits, for example
// replace,remove.
const AllowAnnotation = v1alpha1.Group + "/allow"

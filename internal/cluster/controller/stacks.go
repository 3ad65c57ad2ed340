package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/policy"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
	"github.com/aws-operator/aws-operator/internal/cluster/stacks"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// remembered is what the status keeps with a stack.
type remembered struct {
	stack.Record

	// Stored is the digest of what is in the bucket; with the base stack only.
	Stored string `json:"stored,omitempty"`
	// Token is the ID of the bootstrap token, TokenRenewal when it is to be replaced; with the base stack only.
	Token        string     `json:"bootstrapToken,omitempty"`
	TokenRenewal *time.Time `json:"bootstrapTokenRenewal,omitempty"`
	// Restored is the snapshot that etcd's volumes were made of, if they were; with the base stack only.
	Restored string `json:"restored,omitempty"`
	// Nodeup is the hash of the nodeup that the stack's machines boot with.
	Nodeup string `json:"nodeup,omitempty"`
	// Machines is what the machines are made from, and were before; with the stacks of instance groups only.
	Machines *history `json:"machines,omitempty"`
	// Retries counts what was tried anew after the engine gave up, RetryAt is when that is next.
	Retries int `json:"retries,omitempty"`
	// Away says that the operator was not there while what failed was under way.
	Away    bool       `json:"away,omitempty"`
	RetryAt *time.Time `json:"retryAt,omitempty"`
}

// recall reads what the status keeps with a stack.
func recall(status *v1alpha1.StackStatus) (remembered, error) {
	var r remembered
	if status == nil {
		return r, nil
	}
	if status.Record != nil && len(status.Record.Raw) > 0 {
		if err := json.Unmarshal(status.Record.Raw, &r); err != nil {
			return r, fmt.Errorf("read what is known of stack %s: %w", status.Name, err)
		}
	}
	r.Status, r.StatusReason = status.Status, status.Reason
	return r, nil
}

// keep writes into the status what is to be remembered of a stack.
func keep(status *v1alpha1.StackStatus, r remembered) error {
	status.Status, status.Reason = r.Status, r.StatusReason
	r.Status, r.StatusReason = "", ""
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write what is known of stack %s: %w", status.Name, err)
	}
	status.Record = nil
	if string(data) != "{}" {
		status.Record = &runtime.RawExtension{Raw: data}
	}
	return nil
}

// stackOf returns what the Cluster's status says of a stack, which it adds if it says nothing.
func stackOf(cluster *v1alpha1.Cluster, name string) *v1alpha1.StackStatus {
	i := slices.IndexFunc(cluster.Status.Stacks, func(s v1alpha1.StackStatus) bool { return s.Name == name })
	if i < 0 {
		cluster.Status.Stacks = append(cluster.Status.Stacks, v1alpha1.StackStatus{Name: name})
		i = len(cluster.Status.Stacks) - 1
	}
	return &cluster.Status.Stacks[i]
}

// knownStack returns what the Cluster's status says of a stack, nil if it says nothing.
func knownStack(cluster *v1alpha1.Cluster, name string) *v1alpha1.StackStatus {
	i := slices.IndexFunc(cluster.Status.Stacks, func(s v1alpha1.StackStatus) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &cluster.Status.Stacks[i]
}

// desired is what was rendered, in the engine's words.
func desired(obj client.Object, wanted *render.Stack) stack.Desired {
	want := stacks.Desired(wanted)
	want.Salt, want.Allow, want.AdoptFrom = string(obj.GetUID()), allowed(obj), adoptFrom(obj)
	return want
}

// changes reports whether a stack that is in place would be changed. One that is new or on its way is not.
func changes(known *remembered, obj client.Object, wanted *render.Stack) bool {
	if known.Digest == "" || known.PendingDigest != "" {
		return false
	}
	stack := desired(obj, wanted)
	return known.Digest != stack.Digest()
}

// manner is how a stack is ensured, besides what it is made of.
type manner struct {
	// prepare, unless it is nil, makes what the stack needs just before a creation or a change is sent, and may note it in known. It
	// is not called for a change that waits for approval.
	prepare func(ctx context.Context, known *remembered) error
	// refresh has the outputs read again.
	refresh bool
	// hold is why a change that needs approval waits also when it is approved; "" if it does not.
	hold string
	// gone are the logical IDs of resources that do not exist any more, which the change may remove.
	gone []string
}

// ensureStack brings a stack one step nearer to what was rendered. It returns the outputs if they were
// read this time.
func (o *operator) ensureStack(
	ctx context.Context, obj client.Object, target awsapi.Target, status *v1alpha1.StackStatus, wanted *render.Stack, how manner,
) (map[string]string, operatorkit.Outcome) {
	known, err := recall(status)
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
			return nil, operatorkit.Wait(awaitAgain, "OneSlotAtATime", how.hold).About(stackSubject(wanted.Name))
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
		outcome = operatorkit.Wait(awaitAgain, "OneSlotAtATime", how.hold).About(stackSubject(wanted.Name))
	case err == nil && result.State == stack.Proposed:
		outcome = awaiting(obj, wanted.Name, &result)
	default:
		outcome = o.outcome(wanted.Name, &known, result, err)
	}
	if err := keep(status, known); err != nil {
		return nil, operatorkit.Fail(err)
	}
	return result.Outputs, outcome
}

// deleteStack brings a stack one step nearer to being gone. Status may be nil: then the stack is looked for by its name and
// owner's tags.
func (o *operator) deleteStack(
	ctx context.Context, obj client.Object, target awsapi.Target, name string, status *v1alpha1.StackStatus, options stack.DeleteOptions,
) operatorkit.Outcome {
	known, err := recall(status)
	if err != nil {
		return operatorkit.Fail(err)
	}
	options.Salt, options.AdoptFrom = string(obj.GetUID()), adoptFrom(obj)
	result, err := o.options.Engine.Delete(ctx, target, name, known.Record, options)
	known.Record = result.Record
	showPending(obj, name, &result)
	outcome := o.outcome(name, &known, result, err)
	if status != nil {
		if err := keep(status, known); err != nil {
			return operatorkit.Fail(err)
		}
	}
	return outcome
}

// outcome says in the kit's words what the engine found.
func (o *operator) outcome(name string, known *remembered, result stack.Result, err error) operatorkit.Outcome {
	if err != nil {
		return operatorkit.Fail(err).Explain(result.Reason, result.Message).About(stackSubject(name))
	}
	switch result.State {
	case stack.Ready:
		known.Retries, known.RetryAt, known.Away = 0, nil, false
		return operatorkit.Done().RequeueAfter(result.RequeueAfter)
	case stack.Gone:
		return operatorkit.Done()
	case stack.Stalled:
		if result.Foreign { // Whatever the record says that failed.
			return operatorkit.Stall(result.Reason, result.Message)
		}
		return o.stalled(name, known, result)
	case stack.InProgress:
		return operatorkit.Wait(result.RequeueAfter, result.Reason, result.Message).About(stackSubject(name))
	case stack.Waiting: // Something went wrong, and is tried again.
		reason, message := result.Reason, result.Message
		if cause := causeOf(known.StatusReason); cause != "" {
			reason = cause
		}
		if reason == causePublic {
			message += " " + publicRemedy
		}
		return operatorkit.Wait(result.RequeueAfter, reason, message).About(stackSubject(name)).Degraded()
	default:
		return operatorkit.Wait(time.Minute, "Unknown", "The stack is in a state that is not known; it is looked at again in a minute.").About(stackSubject(name))
	}
}

// stackSubject is the subject of outcomes about a stack. Their messages start with "Stack <name>: ".
func stackSubject(name string) operatorkit.Subject {
	return operatorkit.Subject{Kind: "Stack", Name: name}
}

// failed says what went wrong with a call of AWS or of an API server.
func failed(err error) operatorkit.Outcome {
	if foreign, ok := errors.AsType[*stack.ForeignError](err); ok {
		return operatorkit.Stall(foreign.Reason, foreign.Message)
	}
	if errors.Is(err, errOutputsCorrected) {
		return operatorkit.Wait(promptly, "OutputsCorrected", capital(errOutputsCorrected.Error())+".").Degraded()
	}
	if awsapi.Code(err) != "" {
		explained := awsapi.Explain(err)
		return operatorkit.Fail(err).Explain(explained.Reason, explained.Message)
	}
	if request, ok := errors.AsType[*url.Error](err); ok {
		host := request.URL
		if at, err := url.Parse(request.URL); err == nil {
			host = at.Host
		}
		return operatorkit.Fail(err).Explain("APIUnreachable", fmt.Sprintf("The Kubernetes API at %s did not answer; it is tried again.", host))
	}
	if errors.Is(err, io.ErrUnexpectedEOF) { // As when the slot that was asked through the load balancer ends, or has just begun.
		return operatorkit.Fail(err).Explain("APIUnreachable", "The cluster's Kubernetes API broke off its answer; it is tried again.")
	}
	return operatorkit.Fail(err)
}

// allowed reads which dangerous changes the object's owner permits.
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

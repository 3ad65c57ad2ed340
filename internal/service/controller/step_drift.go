package controller

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	cfntemplate "github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/driftstatus"
	"github.com/aws-operator/aws-operator/internal/identity"
	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// driftStep checks whether the resources of the object's stack were changed outside of
// CloudFormation. It runs after the steps that make the object ready, so that only stacks that are up
// to date are checked, and it never makes an object wait or fail.
type driftStep struct{ kind *kind }

// Name returns the step's name.
func (s driftStep) Name() string { return "drift" }

// EnsureCreated advances the check by at most one operation.
func (s driftStep) EnsureCreated(ctx context.Context, obj *v1alpha1.Object) operatorkit.Outcome {
	switch policy := driftPolicy(obj); policy {
	case v1alpha1.DriftPolicyReport, v1alpha1.DriftPolicyRevert:
		except, err := stack.ParseDriftExceptions(obj.Annotations[v1alpha1.IgnoreDriftAnnotation])
		if err != nil {
			setDrifted(obj, metav1.ConditionUnknown, driftstatus.ReasonExceptions, fmt.Sprintf("The annotation %s: %s.", v1alpha1.IgnoreDriftAnnotation, err))
			return operatorkit.Done()
		}
		return s.check(ctx, obj, policy, except)
	case v1alpha1.DriftPolicyIgnore:
		obj.Status.Drift = nil
		operatorkit.RemoveCondition(obj, v1alpha1.ConditionDrifted)
		return operatorkit.Done()
	default:
		setDrifted(obj, metav1.ConditionUnknown, driftstatus.ReasonPolicy, fmt.Sprintf(
			"The annotation %s is %q; set it to %s, %s or %s.", v1alpha1.DriftPolicyAnnotation, driftstatus.Clipped(policy),
			v1alpha1.DriftPolicyReport, v1alpha1.DriftPolicyRevert, v1alpha1.DriftPolicyIgnore))
		return operatorkit.Done()
	}
}

// Reasons of the condition Drifted about reverts.
const (
	reasonReverting    = "Reverting"
	reasonRevertWaits  = "RevertNeedsApproval"
	reasonRevertFailed = "NotReverted"
)

// driftPolicy returns the object's policy.
func driftPolicy(obj *v1alpha1.Object) string {
	return driftstatus.Policy(obj.Annotations[v1alpha1.DriftPolicyAnnotation])
}

// driftToRevert returns the drift that the last check found, if the object's policy is to revert it.
// What exactly is reverted, CloudFormation finds out when it creates the change set.
func driftToRevert(obj *v1alpha1.Object) *stack.Revert {
	if driftPolicy(obj) != v1alpha1.DriftPolicyRevert {
		return nil
	}
	except, err := stack.ParseDriftExceptions(obj.Annotations[v1alpha1.IgnoreDriftAnnotation])
	if known := driftRecord(obj); err == nil && known.Reported != "" {
		return &stack.Revert{Drift: known.Reported, Except: except}
	}
	return nil
}

// driftAsked is the text that requests a check.
func driftAsked(obj *v1alpha1.Object) string {
	return driftstatus.Asked(obj.Annotations[v1alpha1.CheckDriftAnnotation], obj.Annotations[v1alpha1.IgnoreDriftAnnotation])
}

// recentDriftCheck is for how long a check of a stack suffices: an update within this time needs no other.
// It is long enough for the edits of one task, and for the steps of a rollout that fails and goes back.
const recentDriftCheck = time.Hour

// driftCheck returns the check before an update of the object's stack; nil if the object's drift is not
// checked, or only on request.
func (k *kind) driftCheck(obj *v1alpha1.Object) *stack.DriftCheck {
	policy := driftPolicy(obj)
	remedy, known := driftRemedy[policy]
	except, err := stack.ParseDriftExceptions(obj.Annotations[v1alpha1.IgnoreDriftAnnotation])
	if !known || err != nil || k.service.options.DriftInterval <= 0 {
		return nil
	}
	return &stack.DriftCheck{
		Request: stack.DriftRequest{Interval: k.service.options.DriftInterval, Asked: driftAsked(obj), Except: except, Remedy: remedy},
		Record:  driftRecord(obj), Recent: recentDriftCheck,
	}
}

// showDriftCheck shows the check before an update, and what the update that was sent does to drift.
func (k *kind) showDriftCheck(obj *v1alpha1.Object, result *stack.Result) error {
	if result.Drift != nil {
		if err := showDrift(obj, result.Drift); err != nil {
			return err
		}
		if drift := result.Drift.Drift; drift != nil && drift.News {
			k.reportDrift(obj, drift)
		}
	}
	if !result.Sent || result.Plan == nil {
		return nil
	}
	if result.Unchecked != "" {
		k.events.Eventf(obj, nil, corev1.EventTypeNormal, reasonUnchecked, "Update", "%s",
			driftstatus.Note("The stack is updated without a check for drift. "+result.Unchecked))
	}
	overwritten := stack.OverwrittenBy(result.Plan, driftstatus.Resources(obj.Status.Drift))
	if text := overwritten.Sentences(); text != "" {
		if driftPolicy(obj) == v1alpha1.DriftPolicyRevert {
			text += " The operator reverts the remaining drift after the update."
		}
		k.events.Eventf(obj, nil, corev1.EventTypeWarning, reasonUpdateOfDrifted, "Update", "%s", driftstatus.Note(text))
	}
	return nil
}

// Reasons of Events about updates.
const (
	reasonUpdateOfDrifted = "UpdateOfDriftedStack"
	reasonUnchecked       = "UpdateUnchecked"
)

// EnsureDeleted does nothing: CloudFormation ends a running detection.
func (s driftStep) EnsureDeleted(context.Context, *v1alpha1.Object) operatorkit.Outcome {
	return operatorkit.Done()
}

func (s driftStep) check(ctx context.Context, obj *v1alpha1.Object, policy string, except []stack.DriftException) operatorkit.Outcome {
	k := s.kind
	use, outcome := k.useNow(ctx, obj)
	if !outcome.IsDone() {
		return operatorkit.Done()
	}
	known, err := record(obj)
	if err != nil {
		return operatorkit.Fail(err)
	}
	result := k.service.options.Engine.Drift(ctx, use.Target, stack.DriftRequest{
		Owner: stack.Owner{
			Name: k.stackName(obj), StackID: known.StackID,
			Tags: render.Tags(k.name, obj, k.service.options.ClusterName), AdoptFrom: adoptFrom(obj),
		},
		Changed: known.Changed, Interval: k.service.options.DriftInterval, Since: obj.CreationTimestamp.Time, Salt: string(obj.UID),
		Asked:  driftAsked(obj),
		Except: except, Remedy: driftRemedy[policy],
		Deployed: func() (*cfntemplate.Template, map[string]string, error) {
			return k.deployed(ctx, obj, use)
		},
	}, driftRecord(obj))
	if err := showDrift(obj, &result); err != nil {
		return operatorkit.Fail(err)
	}
	if result.Drift != nil && result.Drift.News {
		k.reportDrift(obj, result.Drift)
	}
	if driftToRevert(obj) != nil {
		k.showRevert(obj, &known)
		if result.Drift != nil && result.Drift.Status == stack.Drifted { // the stack's step has not seen this drift yet
			return operatorkit.Done().RequeueAfter(soonRevert)
		}
	}
	return operatorkit.Done().RequeueAfter(result.RequeueAfter)
}

// soonRevert is when to reconcile an object whose drift was just found.
const soonRevert = time.Second

// driftRemedy ends the message about drift, by policy.
var driftRemedy = map[string]string{
	v1alpha1.DriftPolicyReport: "Undo the change in AWS, or change the object so that it matches. The operator does not revert it.",
	v1alpha1.DriftPolicyRevert: "The operator reverts it.",
}

// showRevert says in the condition how far the revert is. The differences stay in status.drift.
func (k *kind) showRevert(obj *v1alpha1.Object, known *stack.Record) {
	last := operatorkit.FindCondition(obj, v1alpha1.ConditionDrifted)
	if last == nil || last.Status != metav1.ConditionTrue {
		return
	}
	const where = " The differences are in status.drift."
	switch {
	case known.RevertFailure != "":
		setDrifted(obj, metav1.ConditionTrue, reasonRevertFailed, "The operator does not revert the drift. "+known.RevertFailure+where)
	case known.ChangeSet != "" && known.Proposal != "":
		message := []string{"The revert of the drift waits for approval."}
		for i := range obj.Status.PendingChanges {
			message = append(message, obj.Status.PendingChanges[i].Summary)
		}
		setDrifted(obj, metav1.ConditionTrue, reasonRevertWaits,
			strings.Join(message, " ")+where+" "+k.howToApprove(obj, known.Proposal))
	case known.Reverted != "":
		setDrifted(obj, metav1.ConditionTrue, reasonRevertFailed, "The revert did not resolve the drift: CloudFormation does not revert properties that "+
			"cannot change in place, or another client sets them again. Undo the change in AWS, or change the object."+where)
	default:
		setDrifted(obj, metav1.ConditionTrue, reasonReverting, "The operator reverts the drift."+where)
	}
}

// deployed returns the template and the parameters of the object's stack, which is up to date.
func (k *kind) deployed(ctx context.Context, obj *v1alpha1.Object, use identity.Use) (*cfntemplate.Template, map[string]string, error) {
	in, lack, err := k.inputs(ctx, obj, use)
	if err != nil {
		return nil, nil, err
	}
	if lack != nil {
		return nil, nil, fmt.Errorf("render the template: %s", lack.message)
	}
	desired, err := render.Stack(k.modelOf(obj), in.object, in.facts, in.override)
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // of the same module
	}
	return desired.Template, desired.Parameters, nil
}

// driftRecord returns the engine's record of the checks.
func driftRecord(obj *v1alpha1.Object) stack.DriftRecord {
	r := driftstatus.Record(obj.Status.Drift)
	last := operatorkit.FindCondition(obj, v1alpha1.ConditionDrifted)
	if last != nil && (last.Reason == driftstatus.ReasonPolicy || last.Reason == driftstatus.ReasonExceptions) {
		r.Recheck = true // the user corrected an annotation, and the condition does not say what is known
	}
	return r
}

// showDrift writes the outcome of a check into the object's status.
func showDrift(obj *v1alpha1.Object, result *stack.DriftResult) (err error) {
	before := driftRecord(obj)
	if obj.Status.Drift, err = driftstatus.Keep(obj.Status.Drift, &before, result); err != nil {
		return err //nolint:wrapcheck // of the same module
	}
	if drift := result.Drift; drift != nil {
		setDrifted(obj, driftstatus.Condition(drift.Status), drift.Reason, drift.Message)
	} else if last := operatorkit.FindCondition(obj, v1alpha1.ConditionDrifted); last != nil && last.ObservedGeneration != obj.Generation {
		setDrifted(obj, last.Status, last.Reason, last.Message)
	}
	return nil
}

func setDrifted(obj *v1alpha1.Object, status metav1.ConditionStatus, reason, message string) {
	operatorkit.SetCondition(obj, metav1.Condition{Type: v1alpha1.ConditionDrifted, Status: status, Reason: reason, Message: message})
}

// reportDrift records an Event: the drift is new, differs from the last one, or is resolved.
func (k *kind) reportDrift(obj *v1alpha1.Object, drift *stack.Drift) {
	kind := corev1.EventTypeNormal
	if drift.Status == stack.Drifted {
		kind = corev1.EventTypeWarning
	}
	k.events.Eventf(obj, nil, kind, drift.Reason, "CheckDrift", "%s", drift.Message)
}

package drift

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	servicev1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/conditions"
	"github.com/aws-operator/aws-operator/internal/driftstatus"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// Engine checks stacks for drift. *stack.Engine implements it.
type Engine interface {
	Drift(ctx context.Context, target awsapi.Target, request stack.DriftRequest, record stack.DriftRecord) stack.DriftResult
}

// Options configure checks. All are required.
type Options struct {
	// Engine checks stacks.
	Engine Engine
	// Interval is the time between two checks of a stack; 0 checks only on request.
	Interval time.Duration
	// Recorder records an Event for each drift that is new, and for its end.
	Recorder events.EventRecorder
}

// Checks checks stacks.
type Checks struct {
	options Options
}

// New checks stacks with an engine.
func New(options Options) *Checks { return &Checks{options: options} }

// Stack is a stack that is up to date.
type Stack struct {
	// Owner is the object that the stack must belong to.
	Owner stack.Owner
	// Changed is the stack's last change, from its record.
	Changed string
	// Status is the entry of the stack in the object's status.
	Status *v1alpha1.StackStatus
	// Deployed returns the deployed template and its parameters, which say which values are secret.
	Deployed func() (*template.Template, map[string]string, error)
}

// Ensure advances the check of each stack by at most one operation, and sets the object's condition
// Drifted. The outcome is done even if a check fails: that is what the condition says.
func (c *Checks) Ensure(ctx context.Context, obj client.Object, target awsapi.Target, stacks []Stack) operatorkit.Outcome {
	annotations := obj.GetAnnotations()
	policy := driftstatus.Policy(annotations[v1alpha1.DriftPolicyAnnotation])
	except, err := stack.ParseDriftExceptions(annotations[v1alpha1.IgnoreDriftAnnotation])
	switch {
	case policy == servicev1alpha1.DriftPolicyIgnore:
		for i := range stacks {
			stacks[i].Status.Drift = nil
		}
		operatorkit.RemoveCondition(obj, conditions.Drifted)
		return operatorkit.Done()
	case policy != servicev1alpha1.DriftPolicyReport:
		set(obj, metav1.ConditionUnknown, driftstatus.ReasonPolicy, fmt.Sprintf(
			"The annotation %s is %q; set it to %s or %s. The operator does not revert drift of clusters.", v1alpha1.DriftPolicyAnnotation,
			driftstatus.Clipped(policy), servicev1alpha1.DriftPolicyReport, servicev1alpha1.DriftPolicyIgnore))
		return operatorkit.Done()
	case err != nil:
		set(obj, metav1.ConditionUnknown, driftstatus.ReasonExceptions, fmt.Sprintf("The annotation %s: %s.", v1alpha1.IgnoreDriftAnnotation, err))
		return operatorkit.Done()
	}
	next := time.Duration(0)
	for i := range stacks {
		after, err := c.check(ctx, obj, target, &stacks[i], except)
		if err != nil {
			return operatorkit.Fail(err)
		}
		if after > 0 && (next == 0 || after < next) {
			next = after
		}
	}
	show(obj, stacks)
	return operatorkit.Done().RequeueAfter(next)
}

// check advances the check of one stack, and returns when to do that again, 0 for only on request.
func (c *Checks) check(
	ctx context.Context, obj client.Object, target awsapi.Target, s *Stack, except []stack.DriftException,
) (time.Duration, error) {
	var status *servicev1alpha1.DriftStatus
	if s.Status.Drift != nil {
		status = &s.Status.Drift.DriftStatus
	}
	before, annotations := driftstatus.Record(status), obj.GetAnnotations()
	result := c.options.Engine.Drift(ctx, target, stack.DriftRequest{
		Owner: s.Owner, Changed: s.Changed, Interval: c.options.Interval, Since: obj.GetCreationTimestamp().Time,
		Salt:   string(obj.GetUID()) + " " + s.Status.Name,
		Asked:  driftstatus.Asked(annotations[v1alpha1.CheckDriftAnnotation], annotations[v1alpha1.IgnoreDriftAnnotation]),
		Except: except, Deployed: s.Deployed,
	}, before)
	status, err := driftstatus.Keep(status, &before, &result)
	if err != nil {
		return 0, err //nolint:wrapcheck // of the same module
	}
	if status == nil {
		return result.RequeueAfter, nil
	}
	if s.Status.Drift == nil {
		s.Status.Drift = &v1alpha1.StackDriftStatus{}
	}
	s.Status.Drift.DriftStatus = *status
	if found := result.Drift; found != nil {
		s.Status.Drift.Status, s.Status.Drift.Reason, s.Status.Drift.Message = string(found.Status), found.Reason, found.Message
		if found.News {
			c.report(obj, s.Status)
		}
	}
	return result.RequeueAfter, nil
}

// report records an Event: the drift of a stack is new, differs from the last one, or is resolved.
func (c *Checks) report(obj client.Object, s *v1alpha1.StackStatus) {
	kind := corev1.EventTypeNormal
	if s.Drift.Status == string(stack.Drifted) {
		kind = corev1.EventTypeWarning
	}
	c.options.Recorder.Eventf(obj, nil, kind, s.Drift.Reason, "CheckDrift", "Stack %s: %s", s.Name, s.Drift.Message)
}

// remedy ends the message about drift.
const remedy = "Undo the change in AWS. The operator does not revert it."

// show sets the condition from the results of all stacks.
func show(obj client.Object, stacks []Stack) {
	results := map[stack.DriftStatus][]*v1alpha1.StackStatus{}
	for i := range stacks {
		if found := stacks[i].Status; found.Drift != nil && found.Drift.Status != "" {
			results[stack.DriftStatus(found.Drift.Status)] = append(results[stack.DriftStatus(found.Drift.Status)], found)
		}
	}
	if drifted := results[stack.Drifted]; len(drifted) > 0 {
		set(obj, metav1.ConditionTrue, stack.ReasonDrifted, sentences(drifted)+" "+remedy)
		return
	}
	if unknown := results[stack.DriftUnknown]; len(unknown) > 0 {
		set(obj, metav1.ConditionUnknown, unknown[0].Drift.Reason, sentences(unknown))
		return
	}
	if found := results[stack.InSync]; len(found) > 0 {
		set(obj, metav1.ConditionFalse, stack.ReasonInSync, sentences(found))
		return
	}
	operatorkit.RemoveCondition(obj, conditions.Drifted)
}

// sentences says what the results of stacks are: those with the same result together.
func sentences(of []*v1alpha1.StackStatus) string {
	var messages []string
	names := map[string][]string{}
	for _, s := range of {
		if !slices.Contains(messages, s.Drift.Message) {
			messages = append(messages, s.Drift.Message)
		}
		names[s.Drift.Message] = append(names[s.Drift.Message], s.Name)
	}
	said := make([]string, len(messages))
	for i, message := range messages {
		said[i] = strings.Join(names[message], ", ") + ": " + message
	}
	return strings.Join(said, " ")
}

func set(obj client.Object, status metav1.ConditionStatus, reason, message string) {
	operatorkit.SetCondition(obj, metav1.Condition{Type: conditions.Drifted, Status: status, Reason: reason, Message: message})
}

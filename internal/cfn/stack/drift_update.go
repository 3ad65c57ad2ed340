package stack

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/diff"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// DriftCheck checks a stack for drift before an update of it is sent or proposed. It informs about what
// the update overwrites, and never prevents the update: if the check fails, takes too long, or would
// compete with other calls for the budget, the update goes on without it.
type DriftCheck struct {
	// Request says what to check. The engine sets its Owner, Changed and Deployed.
	Request DriftRequest
	// Record is the record of the stack's checks.
	Record DriftRecord
	// Recent is for how long a check suffices. The creation of a stack counts as one.
	Recent time.Duration
}

const (
	// longestDriftWait limits how long a detection delays an update.
	longestDriftWait = time.Minute
	// updatePollFraction is the part of Options.DriftPoll after which a detection that delays an update is
	// first polled: detections of small stacks take some seconds.
	updatePollFraction = 3
	// reasonCheckingDrift: an update waits for a drift detection.
	reasonCheckingDrift = "CheckingDrift"
)

// checkDrift checks the stack for drift before an update. The caller has called makePlan.
func (v *visit) checkDrift(ctx context.Context) step {
	check := v.desired.DriftCheck
	if check == nil || v.drift != nil || v.plan.Empty() {
		return proceed()
	}
	deployed := v.compared
	request := check.Request
	request.Owner, request.Changed = *v.owner, v.record.Changed
	request.Owner.StackID = v.record.StackID
	request.Deployed = func() (*template.Template, map[string]string, error) {
		return deployed.Template, deployed.Parameters, nil
	}
	d := v.engine.driftVisit(v.target, &request, check.Record)
	d.delaysUpdate = true
	if d.record.Checked == nil && v.created() {
		d.record.Checked = v.record.StartedAt
	}
	drift, unchecked := d.beforeUpdate(ctx, check.Recent)
	v.drift, v.unchecked = &DriftResult{Record: d.record, Drift: drift, RequeueAfter: d.requeue()}, unchecked
	if d.record.DetectionID != "" && unchecked == "" {
		return end(Result{
			State: InProgress, Reason: reasonCheckingDrift, RequeueAfter: d.requeue(),
			Message: "The stack is checked for drift before it is updated.",
		})
	}
	return proceed()
}

// created reports whether the stack's last operation was its creation.
func (v *visit) created() bool {
	return v.record.Status == string(types.StackStatusCreateComplete) || v.record.Status == string(types.StackStatusImportComplete)
}

// beforeUpdate advances the check by at most one operation. The update waits while a detection runs and
// unchecked is empty; unchecked is a sentence that says why the update goes on without a check.
func (v *driftVisit) beforeUpdate(ctx context.Context, recent time.Duration) (drift *Drift, unchecked string) {
	v.distrust()
	switch {
	case v.record.DetectionID != "" && v.record.Changed == v.request.Changed:
		if next := v.now.Add(v.pollDelay(0)); v.record.NextCall != nil && v.record.NextCall.After(next) {
			v.record.NextCall = &next // the schedule polls less often
		}
		if v.record.NextCall == nil || !v.now.Before(*v.record.NextCall) {
			drift = v.poll(ctx)
		}
		if v.record.DetectionID != "" && v.now.Sub(*v.record.StartedAt) >= longestDriftWait {
			drift = &Drift{Status: DriftUnknown, Reason: ReasonDetectionFailed, Message: fmt.Sprintf(
				"CloudFormation has not ended the drift detection within %.0f seconds.", longestDriftWait.Seconds())}
		}
	case v.record.Checked != nil && v.now.Sub(*v.record.Checked) < recent:
		return nil, ""
	case v.engine.options.Clients.Waiting(v.target, "cloudformation") > 0:
		return nil, "Calls of CloudFormation wait for the operator's call budget, and checks before updates use only the rest of it."
	default:
		drift = v.start(ctx)
	}
	if drift != nil && drift.Status == DriftUnknown {
		return drift, drift.Message
	}
	return drift, ""
}

// Overwritten says what an update does to properties that have drifted.
type Overwritten struct {
	// Set are the properties that the update sets, Stay those that it leaves as they are. Open are other
	// properties of resources that the update changes: an update of a resource passes all its properties to
	// AWS, and it depends on the type whether those that are the same in both templates are set again.
	// https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-test-contract.html
	Set, Open, Stay []string
}

// OverwrittenBy compares a planned update with the drift of the stack.
func OverwrittenBy(plan *diff.Plan, drifted []DriftedResource) Overwritten {
	var o Overwritten
	for i := range drifted {
		r := &drifted[i]
		change := plan.Change(r.Resource)
		if r.Deleted {
			o.add(change, false, r.Resource+" (deleted in AWS)")
		}
		for _, p := range r.Properties {
			o.add(change, change != nil && sets(change, p.Path), fmt.Sprintf("%s/%s (%s)", r.Resource, p.Path, p.inAWS()))
		}
	}
	return o
}

func (o *Overwritten) add(change *diff.Change, set bool, name string) {
	switch {
	case set || change != nil && (change.Action == diff.Replace || change.Action == diff.Remove):
		o.Set = append(o.Set, name)
	case change != nil:
		o.Open = append(o.Open, name)
	default:
		o.Stay = append(o.Stay, name)
	}
}

// sets reports whether a change sets a property, a part of it, or one that contains it.
func sets(change *diff.Change, path string) bool {
	return slices.ContainsFunc(change.Properties, func(p diff.PropertyChange) bool { return overlap(p.Path, path) })
}

// inAWS says what the property is in AWS.
func (p *DriftedProperty) inAWS() string {
	if types.DifferenceType(p.Difference) == types.DifferenceTypeRemove {
		return "removed in AWS"
	}
	return p.Actual + " in AWS"
}

// Sentences describes what the update does, "" without drift.
func (o *Overwritten) Sentences() string {
	var said []string
	for _, group := range []struct {
		sentence string
		names    []string
	}{
		{"The update overwrites %s.", o.Set},
		{"It may overwrite %s, of which the template's value stays the same: that depends on the resource type.", o.Open},
		{"It leaves %s unchanged.", o.Stay},
	} {
		if len(group.names) > 0 {
			said = append(said, fmt.Sprintf(group.sentence, listed(group.names)))
		}
	}
	text := strings.Join(said, " ")
	if rest, ok := strings.CutPrefix(text, "It "); ok {
		text = "The update " + rest
	}
	return text
}

// driftVisit returns a visit of a stack's drift check.
func (e *Engine) driftVisit(target awsapi.Target, request *DriftRequest, record DriftRecord) *driftVisit {
	return &driftVisit{engine: e, target: target, request: request, record: record, now: e.options.Clock.Now().UTC()}
}

package stack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// DriftRequest says which stack to check for drift, and when.
type DriftRequest struct {
	// Owner is the object that the stack must belong to.
	Owner Owner
	// Changed is Record.Changed of the stack. A result that was computed before a change of the stack
	// does not count.
	Changed string
	// Deployed returns the deployed template and its parameters. They say which values are secret:
	// if it returns an error, all are.
	Deployed func() (*template.Template, map[string]string, error)
	// Interval is the time between two checks; 0 checks only on request.
	Interval time.Duration
	// Since is the time from which on the stack is checked, such as the object's creation.
	Since time.Time
	// Salt spreads the checks of many stacks over the interval.
	Salt string
	// Asked is a text that a user changes to request a check.
	Asked string
	// Except are properties and resources whose drift does not count.
	Except []DriftException
	// Remedy says what to do about drift, or what happens to it.
	Remedy string
}

// DriftRecord is the engine's state of a stack's drift checks. The caller persists it with the object
// and passes it to the next call. As for [Record], a client that may write the object's status can
// write anything there.
type DriftRecord struct {
	// DetectionID is the ID of the running detection, StartedAt its start.
	DetectionID string     `json:"detectionID,omitempty"`
	StartedAt   *time.Time `json:"startedAt,omitempty"`
	// NextCall is the earliest time of the next call. Polls counts those of the running detection, and
	// Attempts the calls of the check that failed.
	NextCall *time.Time `json:"nextCall,omitempty"`
	Polls    int        `json:"polls,omitempty"`
	Attempts int        `json:"attempts,omitempty"`
	// Recheck is true if a check is due whatever the schedule is.
	Recheck bool `json:"recheck,omitempty"`
	// Changed is the stack's last change when the detection started.
	Changed string `json:"changed,omitempty"`
	// Concluded is the end of the last check, with or without a result, or when a later change of the stack
	// was noticed. Checked is the end of the last check.
	Concluded *time.Time `json:"concluded,omitempty"`
	Checked   *time.Time `json:"checked,omitempty"`
	// Asked is the digest of the last DriftRequest.Asked that was followed.
	Asked string `json:"asked,omitempty"`
	// Reported is the digest of the drift that was last reported; empty if there was none.
	Reported string `json:"reported,omitempty"`
}

// Equal reports whether two records say the same.
func (r *DriftRecord) Equal(other *DriftRecord) bool {
	a, b := *r, *other
	same := sameTime(a.StartedAt, b.StartedAt) && sameTime(a.NextCall, b.NextCall) && sameTime(a.Concluded, b.Concluded) &&
		sameTime(a.Checked, b.Checked)
	a.StartedAt, a.NextCall, a.Concluded, a.Checked = nil, nil, nil, nil
	b.StartedAt, b.NextCall, b.Concluded, b.Checked = nil, nil, nil, nil
	return same && a == b
}

// DriftStatus is the result of a check.
type DriftStatus string

const (
	// Drifted means that a resource differs from the template.
	Drifted DriftStatus = "Drifted"
	// InSync means that no resource differs from the template.
	InSync DriftStatus = "InSync"
	// DriftUnknown means that there is no result.
	DriftUnknown DriftStatus = "Unknown"
)

// Drift is the outcome of a check.
type Drift struct {
	// Status is the result, Reason a CamelCase word for a condition, Message a sentence for the user.
	Status          DriftStatus
	Reason, Message string
	// Resources are the resources that differ; Omitted is the number of further ones.
	Resources []DriftedResource
	Omitted   int
	// News is true if the drift differs from the one that was last reported.
	News bool
}

// DriftResult is the outcome of one Engine.Drift.
type DriftResult struct {
	// Record must be persisted.
	Record DriftRecord
	// Drift is nil if nothing new is known.
	Drift *Drift
	// RequeueAfter is when to call again; 0 means only on a request.
	RequeueAfter time.Duration
}

// Reasons of results of drift checks.
const (
	// ReasonDrifted: a resource differs from the template.
	ReasonDrifted = "Drifted"
	// ReasonInSync: no resource differs.
	ReasonInSync = "InSync"
	// ReasonNotChecked: no check has ended yet.
	ReasonNotChecked = "NotChecked"
	// ReasonStackChanged: the stack has changed since the last check.
	ReasonStackChanged = "StackChanged"
	// ReasonDetectionFailed: CloudFormation could not read a resource, or does not end the detection.
	ReasonDetectionFailed = "DetectionFailed"
)

const (
	// defaultDriftPoll is the delay before the first poll of a detection. A detection takes from some
	// seconds to minutes, depending on the number of resources:
	// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DetectStackDrift.html
	defaultDriftPoll = 15 * time.Second
	// longestDetection is after how long a detection is given up.
	longestDetection = time.Hour
	// maxDriftAttempts limits the calls of one check that may fail: then it ends without a result, and
	// the next one is that of the schedule.
	maxDriftAttempts = 5
	// maxDoublings limits the growth of the delay between two polls.
	maxDoublings = 3
	// maxDriftPages limits the calls that read one result.
	maxDriftPages = 5
)

// driftVisit is one Drift of one stack.
type driftVisit struct {
	engine  *Engine
	target  awsapi.Target
	request *DriftRequest
	record  DriftRecord
	now     time.Time
	// delaysUpdate is true if an update waits for the check: it is polled sooner, and ends with its first
	// failure.
	delaysUpdate bool
}

// Drift advances the drift check of a stack that is up to date by at most one operation. It never
// waits for CloudFormation: a detection runs in CloudFormation, and its ID in the record survives a
// restart. A check costs two calls if nothing drifted (DetectStackDrift and
// DescribeStackDriftDetectionStatus), and one more for each 100 resources that did
// (DescribeStackResourceDrifts). Without a check that is due it makes no call.
//
// Failures never are the caller's: they are retried, and then are the result of the check.
func (e *Engine) Drift(ctx context.Context, target awsapi.Target, request DriftRequest, record DriftRecord) DriftResult {
	e.inCharge()
	v := e.driftVisit(target, &request, record)
	v.distrust()
	drift := v.outdated()
	if v.record.NextCall == nil || !v.now.Before(*v.record.NextCall) {
		switch {
		case v.record.DetectionID != "":
			drift = firstOf(v.poll(ctx), drift)
		case v.due():
			drift = firstOf(v.start(ctx), drift)
		}
	}
	return DriftResult{Record: v.record, Drift: drift, RequeueAfter: v.requeue()}
}

func firstOf(drift, otherwise *Drift) *Drift {
	if drift != nil {
		return drift
	}
	return otherwise
}

// distrust removes times from the record that the engine never writes: they would postpone checks.
func (v *driftVisit) distrust() {
	if v.record.NextCall != nil && v.record.NextCall.Sub(v.now) > v.longestDelay() {
		v.record.NextCall = nil
	}
	if v.record.Concluded != nil && v.record.Concluded.After(v.now) {
		v.record.Concluded = nil
	}
	if v.record.Checked != nil && v.record.Checked.After(v.now) {
		v.record.Checked = nil
	}
	if v.record.StartedAt == nil || v.record.StartedAt.After(v.now) {
		v.record.DetectionID, v.record.StartedAt = "", nil
	}
	v.record.Attempts, v.record.Polls = max(0, min(v.record.Attempts, maxDriftAttempts)), max(0, min(v.record.Polls, maxDoublings))
}

// outdated returns the result of a stack that was never checked, or that changed since. A change may
// have resolved the drift that was reported, so it is checked again; other stacks wait for their turn.
func (v *driftVisit) outdated() *Drift {
	switch {
	case v.record.DetectionID != "":
		return nil
	case v.record.Changed == "":
		if v.record.Concluded != nil || v.request.Interval <= 0 && v.request.Asked == "" {
			return nil
		}
		return &Drift{Status: DriftUnknown, Reason: ReasonNotChecked, Message: "The stack has not been checked for drift yet."}
	case v.record.Changed != v.request.Changed:
		v.record.Changed, v.record.Concluded = v.request.Changed, new(v.now)
		v.record.Recheck = v.record.Recheck || v.record.Reported != ""
		return &Drift{
			Status: DriftUnknown, Reason: ReasonStackChanged,
			Message: "The stack has changed since it was last checked for drift. The next check is on schedule, or on request.",
		}
	default:
		return nil
	}
}

// asked is the digest of what the user asks for. The text itself may be long.
func (v *driftVisit) asked() string { return shortDigest("asked " + v.request.Asked) }

// due reports whether a check is due now.
func (v *driftVisit) due() bool {
	at := v.dueAt()
	return !at.IsZero() && !v.now.Before(at)
}

// dueAt returns the time of the next check, zero if none is planned. Checks on schedule are at fixed
// times that depend on the salt, so that those of many objects spread, also after a restart and for
// objects that are new to the schedule.
func (v *driftVisit) dueAt() time.Time {
	switch {
	case v.record.Recheck, v.request.Asked != "" && v.record.Asked != v.asked():
		return v.now
	case v.request.Interval <= 0:
		return time.Time{}
	case v.record.Concluded != nil:
		return v.slotAfter(*v.record.Concluded)
	}
	since := v.engine.inCharge()
	if v.request.Since.After(since) && !v.request.Since.After(v.now) {
		since = v.request.Since
	}
	return v.slotAfter(since)
}

// slotAfter returns the first time after t that the schedule has for the stack.
func (v *driftVisit) slotAfter(t time.Time) time.Time {
	h := fnv.New64a()
	_, _ = h.Write([]byte(v.request.Salt)) // a hash never returns an error
	interval := v.request.Interval.Nanoseconds()
	offset := int64(h.Sum64() % uint64(interval)) //nolint:gosec // both are smaller than the interval
	passed := (t.UnixNano()-offset)/interval + 1
	return time.Unix(0, passed*interval+offset).UTC()
}

// requeue returns how long to wait for the next call.
func (v *driftVisit) requeue() time.Duration {
	var at time.Time
	if v.record.DetectionID == "" {
		if at = v.dueAt(); at.IsZero() {
			return 0
		}
	}
	if v.record.NextCall != nil && v.record.NextCall.After(at) {
		at = *v.record.NextCall
	}
	return max(minPoll, at.Sub(v.now))
}

func (v *driftVisit) cloudformation() awsapi.CloudFormation {
	return v.engine.options.Clients.CloudFormation(v.target)
}

// start starts a detection of the object's own stack.
func (v *driftVisit) start(ctx context.Context) *Drift {
	if v.request.Owner.StackID == "" {
		return v.failed(nil)
	}
	if there, err := v.engine.verify(ctx, v.target, &v.request.Owner); err != nil || !there {
		return v.failed(err)
	}
	why := "a drift check is due"
	if v.delaysUpdate {
		why = "the stack is about to be updated"
	}
	ctx = awsapi.WithReason(ctx, why)
	out, err := v.cloudformation().DetectStackDrift(ctx, &cloudformation.DetectStackDriftInput{
		StackName: aws.String(v.request.Owner.StackID),
	})
	if err != nil {
		return v.failed(err)
	}
	v.record.DetectionID, v.record.StartedAt = aws.ToString(out.StackDriftDetectionId), new(v.now)
	v.record.Changed, v.record.Polls = v.request.Changed, 0
	v.postpone(0)
	return nil
}

// poll reads the status of the running detection, and its result.
func (v *driftVisit) poll(ctx context.Context) *Drift {
	if foreign := v.engine.misnamed(v.target, &v.request.Owner); foreign != nil {
		return v.failed(foreign)
	}
	out, err := v.cloudformation().DescribeStackDriftDetectionStatus(ctx, &cloudformation.DescribeStackDriftDetectionStatusInput{
		StackDriftDetectionId: aws.String(v.record.DetectionID),
	})
	switch {
	case awsapi.Code(err) == "ValidationError":
		return v.again() // CloudFormation has dropped the result, or the ID never was one
	case err != nil:
		return v.failed(err)
	case aws.ToString(out.StackId) != v.request.Owner.StackID, v.record.Changed != v.request.Changed:
		// It is the detection of another stack, which only a forged record names, or the result is older
		// than the last change of the stack.
		return v.again()
	case out.DetectionStatus == types.StackDriftDetectionStatusDetectionInProgress:
		if v.now.Sub(*v.record.StartedAt) > longestDetection {
			return v.conclude(&Drift{
				Status: DriftUnknown, Reason: ReasonDetectionFailed, Message: "CloudFormation has not ended the drift detection within an hour.",
			})
		}
		v.record.Polls = min(v.record.Polls+1, maxDoublings)
		v.postpone(v.record.Polls)
		return nil
	case out.DetectionStatus == types.StackDriftDetectionStatusDetectionComplete && out.StackDriftStatus == types.StackDriftStatusInSync:
		return v.conclude(v.inSync())
	default:
		return v.read(ctx, out)
	}
}

func (v *driftVisit) inSync() *Drift {
	return &Drift{
		Status: InSync, Reason: ReasonInSync,
		Message: "CloudFormation found no difference between the stack's resources and the properties that the template sets.",
	}
}

// read reads the resources that differ. A detection that failed for some resources has results for
// the others.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-stack-drift.html#drift-status-codes
func (v *driftVisit) read(ctx context.Context, detection *cloudformation.DescribeStackDriftDetectionStatusOutput) *Drift {
	there, err := v.engine.verify(ctx, v.target, &v.request.Owner)
	if err != nil || !there {
		return v.failed(err)
	}
	input := &cloudformation.DescribeStackResourceDriftsInput{
		StackName: aws.String(v.request.Owner.StackID),
		StackResourceDriftStatusFilters: []types.StackResourceDriftStatus{
			types.StackResourceDriftStatusModified, types.StackResourceDriftStatusDeleted,
		},
	}
	var found []types.StackResourceDrift
	more := false
	for range maxDriftPages {
		out, err := v.cloudformation().DescribeStackResourceDrifts(ctx, input)
		if err != nil {
			return v.failed(err)
		}
		found = append(found, out.StackResourceDrifts...)
		input.NextToken = out.NextToken
		if more = out.NextToken != nil; !more {
			break
		}
	}
	all := len(found)
	if deployed, _, err := v.request.Deployed(); err == nil {
		found = scaledIn(deployed).unscaled(found)
	}
	expected := all - len(found)
	excepted := len(found)
	found = unexcepted(found, v.request.Except)
	excepted -= len(found)
	failed := detection.DetectionStatus == types.StackDriftDetectionStatusDetectionFailed
	switch {
	case len(found) > 0:
		report := v.engine.reportDrift(v.request, found)
		return v.conclude(report.drift(failed, more, v.request.Remedy))
	case failed || detection.StackDriftStatus == types.StackDriftStatusUnknown:
		return v.conclude(&Drift{
			Status: DriftUnknown, Reason: ReasonDetectionFailed,
			Message: "CloudFormation could not check every resource for drift: " + clip(CleanReason(aws.ToString(detection.DetectionStatusReason)), maxSummary),
		})
	case excepted > 0:
		drift := v.inSync()
		drift.Message = "CloudFormation found no difference besides the excepted properties."
		return v.conclude(drift)
	case expected > 0:
		drift := v.inSync()
		drift.Message = "CloudFormation found no difference besides capacities that Application Auto Scaling sets."
		return v.conclude(drift)
	case detection.StackDriftStatus == types.StackDriftStatusDrifted:
		return v.again() // another detection replaced the results meanwhile
	default:
		return v.conclude(&Drift{Status: DriftUnknown, Reason: ReasonNotChecked, Message: "CloudFormation did not check the stack for drift."})
	}
}

// conclude ends a check.
func (v *driftVisit) conclude(drift *Drift) *Drift {
	v.record = DriftRecord{
		Concluded: new(v.now), Checked: new(v.now), Asked: v.asked(), Changed: v.request.Changed, Reported: v.record.Reported,
	}
	if drift.Status != DriftUnknown {
		reported := ""
		if drift.Status == Drifted {
			reported = shortDigest(fmt.Sprintf("%v %d", drift.Resources, drift.Omitted))
		}
		drift.News = v.record.Reported != reported
		v.record.Reported = reported
	}
	return drift
}

// again starts the check again later, without the running detection.
func (v *driftVisit) again() *Drift {
	v.record.DetectionID, v.record.StartedAt = "", nil
	if v.delaysUpdate || v.record.Attempts >= maxDriftAttempts {
		return v.conclude(&Drift{
			Status: DriftUnknown, Reason: ReasonDetectionFailed, Message: "The results of the drift detections were lost. The next check is on schedule.",
		})
	}
	v.record.Recheck = true
	v.postpone(v.record.Attempts)
	v.record.Attempts++
	return nil
}

// failed retries a check whose call failed, and ends it if that does not help.
func (v *driftVisit) failed(err error) *Drift {
	drift, retry := unknownDrift(err)
	if !retry || v.delaysUpdate || v.record.Attempts >= maxDriftAttempts {
		return v.conclude(drift)
	}
	v.postpone(v.record.Attempts)
	v.record.Attempts++
	return nil
}

// unknownDrift is the result of a check whose call failed; no error means that there is no stack.
// Retry is true if the call may succeed later: a ValidationError says that the stack has the wrong
// status, or that another client's detection runs. It also does if this operator was killed before
// it could persist the ID of its own: "You can only run a single drift detection operation on a
// given stack at the same time".
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/detect-drift-stack.html
func unknownDrift(err error) (drift *Drift, retry bool) {
	if err == nil {
		return &Drift{Status: DriftUnknown, Reason: ReasonNotChecked, Message: "There is no stack to check for drift."}, false
	}
	if foreign, ok := errors.AsType[*ForeignError](err); ok {
		return &Drift{Status: DriftUnknown, Reason: foreign.Reason, Message: foreign.Message}, false
	}
	failure := awsapi.Explain(err)
	return &Drift{
		Status: DriftUnknown, Reason: failure.Reason, Message: "The stack could not be checked for drift. " + failure.Message,
	}, failure.Transient() || failure.Code == "ValidationError"
}

// longestDelay limits the delay of the next call.
func (v *driftVisit) longestDelay() time.Duration {
	return max(v.engine.options.MaxRetryDelay, v.engine.options.DriftPoll<<maxDoublings)
}

// postpone postpones the next call: by the poll delay, doubled a number of times.
func (v *driftVisit) postpone(doublings int) {
	v.record.NextCall = new(v.now.Add(v.pollDelay(doublings)))
}

func (v *driftVisit) pollDelay(doublings int) time.Duration {
	poll := v.engine.options.DriftPoll
	if v.delaysUpdate {
		poll /= updatePollFraction
	}
	return min(poll<<doublings, v.longestDelay())
}

func shortDigest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

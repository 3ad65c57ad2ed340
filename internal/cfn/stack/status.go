package stack

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// live is a stack as DescribeStacks returns it.
type live struct {
	id, name   string
	status     types.StackStatus
	reason     string
	changed    string
	outputs    map[string]string
	parameters map[string]string
	tags       map[string]string
	roleARN    string
	protected  bool
	updatedAt  *time.Time
}

func liveFrom(s *types.Stack) *live {
	l := &live{
		id: aws.ToString(s.StackId), name: aws.ToString(s.StackName), status: s.StackStatus, reason: aws.ToString(s.StackStatusReason),
		changed: changeMark(s), protected: aws.ToBool(s.EnableTerminationProtection), roleARN: aws.ToString(s.RoleARN),
		updatedAt: s.LastUpdatedTime, outputs: map[string]string{}, parameters: map[string]string{}, tags: map[string]string{},
	}
	for _, output := range s.Outputs {
		l.outputs[aws.ToString(output.OutputKey)] = aws.ToString(output.OutputValue)
	}
	for _, parameter := range s.Parameters {
		l.parameters[aws.ToString(parameter.ParameterKey)] = aws.ToString(parameter.ParameterValue)
	}
	for _, tag := range s.Tags {
		if !strings.HasPrefix(aws.ToString(tag.Key), "aws:") {
			l.tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
		}
	}
	return l
}

// Prefixes of change marks.
const (
	createdMark = "created "
	updatedMark = "updated "
)

// changeMark returns a text that differs after every change of a stack.
func changeMark(s *types.Stack) string {
	if s.LastUpdatedTime != nil {
		return updatedMark + s.LastUpdatedTime.UTC().Format(time.RFC3339Nano)
	}
	return createdMark + aws.ToTime(s.CreationTime).UTC().Format(time.RFC3339Nano)
}

func (l *live) carries(tags map[string]string) bool {
	for key, value := range tags {
		if l.tags[key] != value {
			return false
		}
	}
	return true
}

// inProgress reports whether CloudFormation is working on the stack. An unknown status counts as in
// progress, so that the engine waits. REVIEW_IN_PROGRESS does not: it lasts until a client executes
// a change set.
func inProgress(status types.StackStatus) bool {
	if _, ok := table[status]; !ok {
		return true
	}
	return strings.HasSuffix(string(status), "_IN_PROGRESS") && status != types.StackStatusReviewInProgress
}

// stable reports whether no operation runs or is left unfinished; the last one may have been rolled
// back.
func stable(status types.StackStatus) bool {
	return applied(status) || rolledBack(status)
}

// applied reports whether the last operation succeeded.
func applied(status types.StackStatus) bool {
	switch status {
	case types.StackStatusCreateComplete, types.StackStatusUpdateComplete, types.StackStatusImportComplete:
		return true
	default:
		return false
	}
}

// rolledBack reports whether the last update failed and was rolled back.
func rolledBack(status types.StackStatus) bool {
	return status == types.StackStatusUpdateRollbackComplete || status == types.StackStatusImportRollbackComplete
}

// updateFailed reports whether the last update failed and its rollback did not finish.
func updateFailed(status types.StackStatus) bool {
	switch status {
	case types.StackStatusUpdateFailed, types.StackStatusUpdateRollbackFailed, types.StackStatusImportRollbackFailed:
		return true
	default:
		return false
	}
}

// createFailed reports whether the stack must be replaced by a new one because its creation failed.
func createFailed(status types.StackStatus) bool {
	switch status {
	case types.StackStatusCreateFailed, types.StackStatusRollbackComplete, types.StackStatusRollbackFailed:
		return true
	default:
		return false
	}
}

// deleted reports whether no stack exists.
func deleted(status types.StackStatus) bool {
	return status == StatusNone || status == types.StackStatusDeleteComplete
}

// refresh reads the stack from CloudFormation and updates the record.
func (v *visit) refresh(ctx context.Context) step {
	mark, before := v.engine.watchlist.mark(), v.record
	v.followed, _ = v.engine.watchlist.changed(&v.record)
	name := v.record.StackID
	if name == "" {
		name = v.desired.Name
	}
	found, err := v.engine.describer.describe(ctx, v.target, name, v.record.Status == string(types.StackStatusDeleteInProgress))
	if err != nil {
		return v.failed(err)
	}
	v.refreshed, v.found = true, found
	if found == nil {
		s := v.settleMissing()
		if !s.done {
			v.measure(&before)
		}
		return s
	}
	if !deleted(found.status) {
		moved, foreign := v.engine.judge(found, v.owner)
		if foreign != nil {
			return v.notOurs(found, foreign)
		}
		v.moved = moved
		v.engine.watchlist.own(found.id, v.key.place, v.owner.digest())
	}
	s := v.settle(ctx, found)
	if !s.done { // otherwise the engine must read the stack again for the same reason
		v.measure(&before)
		v.engine.watchlist.observed(found.id, v.key.place, sight{string(found.status), found.changed}, mark)
	}
	return s
}

// notOurs handles a stack that does not belong to the object. An object that is being deleted and
// has no stack in its record has nothing to delete, except if the stack is its own but lacks the
// tag of the management cluster, which operators before version 1.2 did not set.
func (v *visit) notOurs(found *live, foreign *ForeignError) step {
	if v.goal == Absent && v.record.StackID == "" && foreign.Reason != reasonUnmarked {
		v.found = nil
		return proceed() // the status stays "none", which ends the deletion
	}
	v.foreign = true
	if v.record.StackID == "" && foreign.Reason == reasonNotOwned {
		foreign = nameTaken(found)
	}
	return end(foreign.result(v.record))
}

// settleMissing updates the record of a stack that does not exist.
func (v *visit) settleMissing() step {
	if v.record.Status == string(types.StackStatusCreateInProgress) && v.youngerThan(consistency) {
		return end(v.pollSoon())
	}
	if v.record.StackID != "" {
		v.engine.memory.forget(v.record.StackID)
		v.engine.watchlist.forget(v.record.StackID)
	}
	v.record.Status = string(StatusNone)
	if v.record.StackID != "" {
		v.record.Status = string(types.StackStatusDeleteComplete)
	}
	v.record.Digest, v.record.PendingDigest, v.record.Changed = "", "", ""
	v.record.ChangeSet, v.record.ProposedFrom, v.record.Proposal = "", "", "" // CloudFormation deleted them with the stack
	return proceed()
}

// youngerThan reports whether the last operation was sent less than age ago.
func (v *visit) youngerThan(age time.Duration) bool {
	return v.record.StartedAt != nil && v.now().Sub(*v.record.StartedAt) < age
}

// changedBefore reports whether a change mark is of an earlier change than another one. An answer of
// DescribeStacks may be from before an operation that an earlier answer included.
func changedBefore(mark, other string) bool {
	one, err1 := timeOf(mark)
	two, err2 := timeOf(other)
	return err1 == nil && err2 == nil && one.Before(two)
}

func timeOf(mark string) (time.Time, error) {
	return time.Parse(time.RFC3339Nano, strings.TrimPrefix(strings.TrimPrefix(mark, createdMark), updatedMark))
}

// stale reports whether DescribeStacks still returned the stack from before the operation that was
// just sent: it is eventually consistent.
func (v *visit) stale(found *live) bool {
	if !inProgress(v.status()) || inProgress(found.status) || v.record.StartedAt == nil {
		return false
	}
	updating := v.record.PendingDigest != "" && v.status() == types.StackStatusUpdateInProgress
	if updating && found.changed == v.record.Changed {
		// The status may be the one that an event just reported, because the previous update ended with it, too.
		return v.youngerThan(max(consistency, v.engine.options.PollInterval))
	}
	if hint, _ := v.engine.watchlist.changed(&v.record); hint.Token != "" && hint.Token == v.record.Token &&
		hint.Status == string(found.status) {
		return false // an event reported that the operation ended with this status
	}
	if changedBefore(found.changed, v.record.Changed) {
		return v.youngerThan(consistency)
	}
	return !updating && string(found.status) == v.record.PreviousStatus && v.youngerThan(consistency)
}

// behind reports whether DescribeStacks returned an operation in progress whose end an event has just
// reported. Without a limit, a forged event would cause calls forever.
func (v *visit) behind(found *live) bool {
	e := &v.followed
	age := v.now().Sub(e.Time)
	return inProgress(found.status) && e.Token != "" && e.Token == v.record.Token && !inProgress(types.StackStatus(e.Status)) &&
		age >= -consistency && age < consistency
}

// settle updates the record from the stack that was read.
func (v *visit) settle(ctx context.Context, found *live) step {
	if v.stale(found) || v.behind(found) {
		return end(v.pollSoon())
	}
	old := v.record
	v.record.StackID, v.record.Status = found.id, string(found.status)
	v.record.TerminationProtection = found.protected
	news := old.Status != v.record.Status || old.Changed != found.changed
	switch {
	case inProgress(found.status):
		now := v.now().UTC()
		v.record.LookedAt = &now
		return v.resume(ctx, found) // Changed stays as before the operation, which is how stale detects an outdated answer
	case applied(found.status):
		v.settleApplied(found, old)
	case rolledBack(found.status), updateFailed(found.status):
		return v.settleUpdateFailed(ctx, found, old, news)
	case createFailed(found.status):
		return v.settleCreateFailed(ctx, found, news)
	case found.status == types.StackStatusDeleteFailed:
		return v.settleDeleteFailed(ctx, found, news)
	case deleted(found.status):
		v.engine.memory.forget(found.id)
		v.record.Digest, v.record.PendingDigest, v.record.OutputsDigest = "", "", ""
		v.record.ChangeSet, v.record.ProposedFrom, v.record.Proposal = "", "", ""
	}
	v.record.Changed = found.changed
	return proceed()
}

// resume records an update in progress that the engine sent, and whose record was lost because the
// process was killed. Its token proves that: CloudFormation reports it with each event.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_StackEvent.html
func (v *visit) resume(ctx context.Context, found *live) step {
	if v.goal != Present || v.record.PendingDigest != "" || v.record.Digest == v.digest || found.updatedAt == nil ||
		!strings.HasPrefix(string(found.status), "UPDATE_") {
		return proceed()
	}
	v.record.StartedAt = new(found.updatedAt.UTC())
	out, err := v.cloudformation().DescribeStackEvents(ctx, &cloudformation.DescribeStackEventsInput{StackName: aws.String(found.id)})
	if err != nil {
		return v.failed(err)
	}
	sent := v.updateToken(v.record.Changed)
	if len(out.StackEvents) == 0 || aws.ToString(out.StackEvents[0].ClientRequestToken) != sent {
		return proceed()
	}
	v.record.PendingDigest, v.record.StatusReason, v.record.Token = v.digest, "", sent
	v.engine.memory.put(memoryKey{stackID: found.id, pending: true}, v.digest, v.desired.side())
	return proceed()
}

// settleApplied updates the record of a stack whose last operation succeeded.
func (v *visit) settleApplied(found *live, old Record) {
	// The stack of a repeated CreateStack may have been updated since. Then what is deployed is
	// unknown.
	overtaken := old.Status == string(types.StackStatusCreateInProgress) && !strings.HasPrefix(found.changed, createdMark)
	// The same holds if the last event belongs to another client's operation.
	overtaken = overtaken || (v.followed.Token != "" && v.followed.Token != old.Token && v.followed.Status == string(found.status))
	switch {
	case old.PendingDigest != "" && found.changed != old.Changed && !overtaken:
		v.record.Digest = old.PendingDigest
		v.engine.memory.commit(found.id)
		v.record.Attempts, v.record.RollbackAttempts, v.record.RollbackFor = 0, 0, ""
		v.record.FailedDigest, v.record.StatusReason, v.record.NextAttempt = "", "", nil
	case found.changed != old.Changed || old.PendingDigest != "":
		// Another client changed the stack, or it never received our change.
		v.record.Digest = ""
		v.engine.memory.forget(found.id)
	}
	v.record.PendingDigest, v.record.Reverting = "", false
	v.record.Changed = found.changed
	if v.moved {
		v.record.Digest = "" // the next update tags the stack with this management cluster
	}
	v.readOutputs(found)
}

func (v *visit) readOutputs(found *live) {
	v.outputs = found.outputs
	v.record.OutputsDigest = digestMap(found.outputs)
}

// settleUpdateFailed updates the record of a stack whose last update failed.
func (v *visit) settleUpdateFailed(ctx context.Context, found *live, old Record, news bool) step {
	v.readOutputs(found)
	if !news && old.StatusReason != "" {
		return proceed()
	}
	failure, err := v.rootFailure(ctx, found)
	if err != nil {
		v.record = old
		return v.failed(err)
	}
	v.record.StatusReason = failure.sentence
	switch {
	case old.Reverting: // the stack has the desired template as before
		v.record.RevertFailure, v.record.Reverting = "The revert failed, and the resources are as before. "+failure.sentence, false
	case old.PendingDigest != "":
		v.fails(old.PendingDigest)
	case failure.tokens[v.updateToken(old.Changed)], v.desired.Import != nil && failure.tokens[v.importToken(old.Changed)]:
		v.fails(v.digest) // this operator sent it before a restart that lost the record of it
	case found.changed != old.Changed && !v.continued(old):
		v.record.Digest = "" // another client's update failed
	}
	v.engine.memory.drop(memoryKey{stackID: found.id, pending: true})
	v.record.PendingDigest = ""
	v.record.Changed = found.changed
	return proceed()
}

// continued reports whether the operation that ended continued the rollback of the engine's own
// update.
func (v *visit) continued(old Record) bool {
	return old.Status == string(types.StackStatusUpdateRollbackInProgress) && old.FailedDigest != ""
}

// settleCreateFailed updates the record of a stack whose creation failed.
func (v *visit) settleCreateFailed(ctx context.Context, found *live, news bool) step {
	if news {
		failure, err := v.rootFailure(ctx, found)
		if err != nil {
			v.record.Status = string(types.StackStatusCreateInProgress) // so that the next read handles the failure again
			return v.failed(err)
		}
		v.record.StatusReason = failure.sentence
		v.fails(cmp.Or(v.record.PendingDigest, v.digest))
		v.record.Attempts++
		v.tryAfter(v.record.Attempts)
	}
	v.engine.memory.forget(found.id)
	v.record.Digest, v.record.PendingDigest, v.record.Changed = "", "", found.changed
	return proceed()
}

func (v *visit) tryAfter(attempts int) {
	next := v.now().UTC().Add(v.engine.delay(attempts))
	v.record.NextAttempt = &next
}

// failed ends a visit at a failed call. The caller retries transient errors; the engine delays the
// others.
func (v *visit) failed(err error) step {
	failure := awsapi.Explain(err)
	if failure.Transient() {
		return step{done: true, err: failure, result: Result{State: Waiting, Reason: failure.Reason, Message: failure.Message}}
	}
	return end(v.wait(failure.Reason, failure.Message, v.engine.delay(v.engine.denials.add(v.key))))
}

package stack

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// live is a stack as DescribeStacks shows it.
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
}

func liveFrom(s *types.Stack) *live {
	l := &live{
		id: aws.ToString(s.StackId), name: aws.ToString(s.StackName), status: s.StackStatus, reason: aws.ToString(s.StackStatusReason),
		changed: changeMark(s), protected: aws.ToBool(s.EnableTerminationProtection), roleARN: aws.ToString(s.RoleARN),
		outputs: map[string]string{}, parameters: map[string]string{}, tags: map[string]string{},
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

// What change marks begin with.
const (
	createdMark = "created "
	updatedMark = "updated "
)

// changeMark is a text that differs after every change of a stack.
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

// inProgress is true while CloudFormation is at work, and in a status that is new to the table: it is waited out as well.
// REVIEW_IN_PROGRESS is not: it waits for somebody to execute a change set.
func inProgress(status types.StackStatus) bool {
	if _, ok := table[status]; !ok {
		return true
	}
	return strings.HasSuffix(string(status), "_IN_PROGRESS") && status != types.StackStatusReviewInProgress
}

// stable is true when the stack stands as it was applied last, rolled back or not.
func stable(status types.StackStatus) bool {
	return applied(status) || rolledBack(status)
}

// applied is true when the last operation succeeded.
func applied(status types.StackStatus) bool {
	switch status {
	case types.StackStatusCreateComplete, types.StackStatusUpdateComplete, types.StackStatusImportComplete:
		return true
	default:
		return false
	}
}

// rolledBack is true when the last update failed and the stack is as before.
func rolledBack(status types.StackStatus) bool {
	return status == types.StackStatusUpdateRollbackComplete || status == types.StackStatusImportRollbackComplete
}

// updateFailed is true when the last update failed and its rollback did not end.
func updateFailed(status types.StackStatus) bool {
	switch status {
	case types.StackStatusUpdateFailed, types.StackStatusUpdateRollbackFailed, types.StackStatusImportRollbackFailed:
		return true
	default:
		return false
	}
}

// createFailed is true when a new stack is to be made in the place of this one.
func createFailed(status types.StackStatus) bool {
	switch status {
	case types.StackStatusCreateFailed, types.StackStatusRollbackComplete, types.StackStatusRollbackFailed:
		return true
	default:
		return false
	}
}

// deleted is true when nothing is there.
func deleted(status types.StackStatus) bool {
	return status == StatusNone || status == types.StackStatusDeleteComplete
}

// look asks CloudFormation about the stack and settles the record by the answer.
func (v *visit) look(ctx context.Context) step {
	mark := v.engine.watchlist.mark()
	v.told, _ = v.engine.watchlist.changed(&v.record)
	name := v.record.StackID
	if name == "" {
		name = v.desired.Name
	}
	found, err := v.engine.describer.describe(ctx, v.target, name, v.record.Status == string(types.StackStatusDeleteInProgress))
	if err != nil {
		return v.failed(err)
	}
	v.looked, v.found = true, found
	if found == nil {
		return v.settleMissing()
	}
	if !deleted(found.status) {
		moved, foreign := v.engine.judge(found, v.owner)
		if foreign != nil {
			return v.notOurs(found, foreign)
		}
		v.moved = moved
		v.engine.watchlist.own(found.id, v.target, v.owner.digest())
	}
	s := v.settle(ctx, found)
	if !s.done { // else the look did not end, and what called for it calls for another
		v.engine.watchlist.looked(found.id, v.target, sight{string(found.status), found.changed}, mark)
	}
	return s
}

// notOurs ends a visit of a stack that is not the object's. An object that is being deleted and has no record of a stack has none,
// unless the stack is its own but for the management cluster, which an operator before version 1.2 did not note.
func (v *visit) notOurs(found *live, foreign *ForeignError) step {
	if v.goal == Absent && v.record.StackID == "" && foreign.Reason != reasonUnmarked {
		v.found = nil
		return goOn() // its status stays "none": done
	}
	v.foreign = true
	if v.record.StackID == "" && foreign.Reason == reasonNotOwned {
		foreign = nameTaken(found)
	}
	return end(foreign.result(v.record))
}

// settleMissing settles the record when there is no stack.
func (v *visit) settleMissing() step {
	if v.record.Status == string(types.StackStatusCreateInProgress) && v.youngerThan(consistency) {
		return end(v.lookAgain())
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
	v.record.ChangeSet, v.record.ProposedFrom, v.record.Proposal = "", "", "" // they went with the stack
	return goOn()
}

// youngerThan is true when the last operation was sent less than so long ago.
func (v *visit) youngerThan(age time.Duration) bool {
	return v.record.StartedAt != nil && v.now().Sub(*v.record.StartedAt) < age
}

// stale is true when the look shows the stack as it was before the operation that was just sent: DescribeStacks may lag behind.
func (v *visit) stale(found *live) bool {
	if !inProgress(v.status()) || inProgress(found.status) || v.record.StartedAt == nil {
		return false
	}
	if hint, _ := v.engine.watchlist.changed(&v.record); hint.Token != "" && hint.Token == v.record.Token && hint.Status == string(found.status) {
		return false // an event says that the operation ended so
	}
	if v.record.PendingDigest != "" && v.status() == types.StackStatusUpdateInProgress {
		return found.changed == v.record.Changed && v.youngerThan(v.engine.options.PollInterval)
	}
	return string(found.status) == v.record.PreviousStatus && v.youngerThan(consistency)
}

// settle brings the record in line with what was found.
func (v *visit) settle(ctx context.Context, found *live) step {
	if v.stale(found) {
		return end(v.lookAgain())
	}
	old := v.record
	v.record.StackID, v.record.Status = found.id, string(found.status)
	v.record.TerminationProtection = found.protected
	news := old.Status != v.record.Status || old.Changed != found.changed
	switch {
	case inProgress(found.status):
		now := v.now().UTC()
		v.record.LookedAt = &now
		return goOn() // Changed stays as it was before the operation: that is how a stale look is known
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
	return goOn()
}

// settleApplied settles the record of a stack whose last operation succeeded.
func (v *visit) settleApplied(found *live, old Record) {
	// The answer to a creation sent again may be a stack that was updated since: then it is not known what is deployed.
	overtaken := old.Status == string(types.StackStatusCreateInProgress) && !strings.HasPrefix(found.changed, createdMark)
	// So it is when the last event tells of somebody else's operation.
	overtaken = overtaken || (v.told.Token != "" && v.told.Token != old.Token && v.told.Status == string(found.status))
	switch {
	case old.PendingDigest != "" && found.changed != old.Changed && !overtaken:
		v.record.Digest = old.PendingDigest
		v.engine.memory.commit(found.id)
		v.record.Attempts, v.record.RollbackAttempts, v.record.RollbackFor = 0, 0, ""
		v.record.FailedDigest, v.record.StatusReason, v.record.NextAttempt = "", "", nil
	case found.changed != old.Changed || old.PendingDigest != "":
		// Somebody else changed the stack, or it never received our change.
		v.record.Digest = ""
		v.engine.memory.forget(found.id)
	}
	v.record.PendingDigest = ""
	v.record.Changed = found.changed
	if v.moved {
		v.record.Digest = "" // an update marks the stack as this management cluster's
	}
	v.readOutputs(found)
}

func (v *visit) readOutputs(found *live) {
	v.outputs = found.outputs
	v.record.OutputsDigest = digestMap(found.outputs)
}

// settleUpdateFailed settles the record of a stack whose last update failed.
func (v *visit) settleUpdateFailed(ctx context.Context, found *live, old Record, news bool) step {
	v.readOutputs(found)
	if !news && old.StatusReason != "" {
		return goOn()
	}
	failure, err := v.rootFailure(ctx, found)
	if err != nil {
		v.record = old
		return v.failed(err)
	}
	v.record.StatusReason = failure.sentence
	switch {
	case old.PendingDigest != "":
		v.record.FailedDigest = old.PendingDigest
	case failure.tokens[v.updateToken(old.Changed)]:
		v.record.FailedDigest = v.digest // sent by us before a restart that lost the record of it
	case found.changed != old.Changed && !v.continued(old):
		v.record.Digest = "" // somebody else's update failed
	}
	v.engine.memory.drop(memoryKey{stackID: found.id, pending: true})
	v.record.PendingDigest = ""
	v.record.Changed = found.changed
	return goOn()
}

// continued is true when the operation that ended continued the rollback of our update.
func (v *visit) continued(old Record) bool {
	return old.Status == string(types.StackStatusUpdateRollbackInProgress) && old.FailedDigest != ""
}

// settleCreateFailed settles the record of a stack that could not be created.
func (v *visit) settleCreateFailed(ctx context.Context, found *live, news bool) step {
	if news {
		failure, err := v.rootFailure(ctx, found)
		if err != nil {
			v.record.Status = string(types.StackStatusCreateInProgress) // so that the failure is news once more
			return v.failed(err)
		}
		v.record.StatusReason = failure.sentence
		v.record.FailedDigest = v.record.PendingDigest
		if v.record.FailedDigest == "" {
			v.record.FailedDigest = v.digest
		}
		v.record.Attempts++
		v.tryAfter(v.record.Attempts)
	}
	v.engine.memory.forget(found.id)
	v.record.Digest, v.record.PendingDigest, v.record.Changed = "", "", found.changed
	return goOn()
}

func (v *visit) tryAfter(attempts int) {
	next := v.now().UTC().Add(v.engine.delay(attempts))
	v.record.NextAttempt = &next
}

// failed ends a visit at a failed call: transient failures are the caller's to retry, the others wait here.
func (v *visit) failed(err error) step {
	failure := awsapi.Explain(err)
	if failure.Transient() {
		return step{done: true, err: failure, result: Result{State: Waiting, Reason: failure.Reason, Message: failure.Message}}
	}
	return end(v.wait(failure.Reason, failure.Message, v.engine.delay(v.engine.denials.add(v.key))))
}

package stack

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/go-logr/logr"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/diff"
)

// visit is one Ensure or Delete of one stack: its inputs, what it read, and the record that it
// updates.
type visit struct {
	engine   *Engine
	target   awsapi.Target
	key      stackKey
	caller   claimant
	owner    *Owner
	goal     Goal
	desired  Desired
	digest   string
	deletion DeleteOptions

	before Record // as passed in
	record Record // as returned

	refreshed     bool
	foreign       bool              // the stack does not belong to the object
	moved         bool              // the stack comes from another management cluster, and the object allows to adopt it
	surprised     bool              // a call was refused because the stack's state was unexpected
	createInstead bool              // the resource to import does not exist, and may be created
	followed      Event             // the event that triggered the last read, if any
	found         *live             // the stack as last read; nil if none exists
	deployed      *diff.Side        // as read by inspect
	compared      *diff.Side        // what the plan compares with what is desired
	outputs       map[string]string // nil unless read
	plan          *diff.Plan
	proposal      *Proposal    // nil unless read
	drift         *DriftResult // nil unless the stack was checked for drift before an update
	unchecked     string       // why the update goes on without a check
	sent          bool         // an update was sent or proposed
	alike         bool         // the proposal changes nothing of imported resources, and needs no approval
}

// step is the outcome of one action: a result, or nothing if the visit continues.
type step struct {
	done   bool
	result Result
	err    error
}

// proceed lets the visit decide on the next action.
func proceed() step { return step{} }

func end(result Result) step { return step{done: true, result: result} }

func (v *visit) cloudformation() awsapi.CloudFormation {
	return v.engine.options.Clients.CloudFormation(v.target)
}

func (v *visit) now() time.Time { return v.engine.options.Clock.Now() }

// run reads the stack if it may have changed, and then executes what Decide returns until there is
// a result.
func (v *visit) run(ctx context.Context) (Result, error) {
	if v.needsRefresh() {
		if s := v.refresh(ctx); s.done {
			return s.result, s.err
		}
	}
	for range maxSteps {
		action := Decide(v.status(), v.goal, v.facts())
		if action.touches() && !v.trusted() {
			if s := v.refresh(ctx); s.done { // the record names the stack to act on, but does not prove that it is the object's
				return s.result, s.err
			}
			continue
		}
		logr.FromContextOrDiscard(ctx).V(1).Info("Decided what to do with a stack", "stackName", v.key.name, "target", v.target.String(),
			"action", action, "status", v.status(), "goal", v.goal)
		s := v.act(awsapi.WithReason(ctx, v.reason(action)), action)
		if s.done {
			return s.result, s.err
		}
	}
	return v.wait(reasonUnsettled, "The stack keeps changing; the operator reads it again shortly.", v.engine.options.RetryDelay), nil
}

// trusted reports whether the stack in the record is verified as the object's, in this visit or
// earlier by this process.
func (v *visit) trusted() bool {
	return v.refreshed || v.engine.watchlist.ownedBy(v.record.StackID, v.owner.digest())
}

// act executes one action.
func (v *visit) act(ctx context.Context, action Action) step {
	switch action {
	case ActionCreate:
		return v.create(ctx)
	case ActionInspect:
		return v.inspect(ctx)
	case ActionUpdate:
		return v.update(ctx)
	case ActionKeep:
		return v.keep(ctx)
	case ActionPropose:
		return v.propose(ctx)
	case ActionRead:
		return v.read(ctx)
	case ActionAwait:
		return end(v.awaitApproval())
	case ActionExecute:
		return v.execute(ctx)
	case ActionWithdraw:
		return v.withdraw(ctx)
	case ActionRecreate, ActionDelete:
		return v.delete(ctx, action)
	case ActionDeleteAgain:
		return v.deleteAgain(ctx)
	case ActionContinue, ActionSkip, ActionRollback:
		return v.rollback(ctx, action)
	case ActionAskSkip:
		return v.askSkip(ctx)
	case ActionWait:
		return end(v.waitForCloudFormation())
	case ActionRetryLater:
		return end(v.retryLater())
	case ActionDone:
		return v.finishDeletion(ctx)
	case ActionStall:
		return end(v.stallFailed())
	default:
		return end(v.stallFailed())
	}
}

// reason says why an action is taken, for the log of its effects.
func (v *visit) reason(action Action) string {
	why, status := "", v.status()
	switch action {
	case ActionCreate:
		return "no stack exists"
	case ActionUpdate, ActionPropose, ActionExecute:
		why = "the object differs from what is deployed"
		if v.reverting() {
			why = "the stack has drifted"
		}
	case ActionWithdraw:
		why = "the proposed change is outdated"
	case ActionRecreate:
		why = "the creation failed"
	case ActionContinue, ActionSkip, ActionRollback:
		why = "an update failed and was not rolled back"
	case ActionDelete:
		why = "the object is deleted"
	case ActionDeleteAgain:
		why = "the deletion failed"
	default:
		return string(action)
	}
	return fmt.Sprintf("%s (stack status %s)", why, status)
}

func (v *visit) status() types.StackStatus { return types.StackStatus(v.record.Status) }

func (v *visit) facts() Facts {
	facts := Facts{
		Matches:          v.record.Digest == v.digest,
		Refused:          v.record.FailedDigest == v.digest,
		Exhausted:        v.record.Attempts >= v.desired.maxAttempts(),
		Early:            v.record.NextAttempt != nil && v.now().Before(*v.record.NextAttempt),
		RollbackAttempts: v.record.RollbackAttempts,
		MaySkip:          v.desired.Allow.Skip,
		Review:           v.review() != nil,
		Import:           v.importing(),
		Revert:           v.reverting(),
		Proposal:         v.proposalState(),
	}
	facts.Unknown = !facts.Matches && v.deployed == nil && !v.remembers()
	if v.goal == Present && v.record.RollbackFor != v.digest {
		facts.RollbackAttempts = 0 // the object changed since; that may have been the remedy
	}
	return facts
}

// remembers reports whether the engine has cached what is deployed.
func (v *visit) remembers() bool {
	return v.record.Digest != "" && v.engine.memory.has(memoryKey{stackID: v.record.StackID}, v.record.Digest)
}

// needsRefresh reports whether to read the stack from CloudFormation before deciding.
func (v *visit) needsRefresh() bool {
	status := v.status()
	if v.record.StackID == "" {
		return v.goal == Absent || v.desired.Refresh
	}
	if v.goal == Absent && !v.before.Deleting && status == types.StackStatusDeleteInProgress {
		return true // the stack was being replaced: its successor may exist without a record
	}
	if _, changed := v.engine.watchlist.changed(&v.record); changed || v.desired.Refresh || status == StatusNone {
		return true
	}
	if inProgress(status) {
		return v.pollIn() <= 0
	}
	return v.goal == Present && stable(status) && v.record.OutputsDigest == "" && v.record.Digest == v.digest
}

// pollIn is how long to wait before polling a running operation without an event.
func (v *visit) pollIn() time.Duration {
	if v.record.LookedAt != nil {
		return v.record.LookedAt.Add(v.engine.options.PollInterval).Sub(v.now())
	}
	if v.record.StartedAt != nil {
		return v.record.StartedAt.Add(v.engine.options.PollInterval).Sub(v.now())
	}
	return 0
}

// began records that an operation was sent.
func (v *visit) began(status types.StackStatus, token string) {
	now := v.now().UTC()
	v.record.PreviousStatus = v.record.Status
	v.record.Status = string(status)
	v.record.StartedAt = &now
	v.record.LookedAt = nil
	v.record.NextAttempt = nil
	v.record.Token = token
	v.engine.watchlist.began(v.record.StackID)
	v.engine.denials.clear(v.key)
}

// finish puts the record and what was read into the result, and keeps the record until the caller
// passes it back.
func (v *visit) finish(result Result) Result {
	if !sameRecord(v.before, v.record) {
		v.record.Revision = v.before.Revision + 1
		if result.State == Gone {
			v.engine.journal.forget(v.key, v.caller)
		} else {
			v.engine.journal.keep(v.key, v.caller, v.record)
		}
	}
	if v.before.StackID != "" && v.before.StackID != v.record.StackID {
		v.engine.watchlist.forget(v.before.StackID) // another stack replaced it; a sweep would report it as deleted forever
	}
	if result.State != Gone && !v.foreign {
		v.engine.watchlist.recorded(v.key.place, &v.record)
	}
	result.Record = v.record
	result.Outputs = maps.Clone(v.outputs)
	result.Plan = v.plan
	result.Drift, result.Sent, result.Unchecked = v.drift, v.sent, v.unchecked
	if v.record.Proposal != "" {
		result.Proposal = v.proposal
	}
	return result
}

func sameRecord(a, b Record) bool {
	same := sameTime(a.StartedAt, b.StartedAt) && sameTime(a.NextAttempt, b.NextAttempt) && sameTime(a.LookedAt, b.LookedAt) &&
		sameTime(a.RetryAt, b.RetryAt) && sameTime(a.RevertedAt, b.RevertedAt)
	a.StartedAt, a.NextAttempt, a.LookedAt, a.RetryAt, a.RevertedAt = nil, nil, nil, nil, nil
	b.StartedAt, b.NextAttempt, b.LookedAt, b.RetryAt, b.RevertedAt = nil, nil, nil, nil, nil
	return same && a == b
}

func sameTime(a, b *time.Time) bool {
	return (a == nil) == (b == nil) && aws.ToTime(a).Equal(aws.ToTime(b))
}

// delay grows with the number of attempts.
func (e *Engine) delay(attempts int) time.Duration {
	delay := e.options.RetryDelay
	for range max(0, attempts-1) {
		delay *= 2
		if delay >= e.options.MaxRetryDelay {
			return e.options.MaxRetryDelay
		}
	}
	return min(delay, e.options.MaxRetryDelay)
}

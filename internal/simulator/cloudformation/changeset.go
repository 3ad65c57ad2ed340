package cloudformation

import (
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// changeSet is a plan that can be executed.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-updating-stacks-changesets.html
type changeSet struct {
	id, name, description string
	kind                  types.ChangeSetType
	created               time.Time
	status                types.ChangeSetStatus
	reason                string
	execution             types.ExecutionStatus
	revision              *revision
	changes               []types.ResourceChange
	imports               []types.ResourceToImport
	onFailure             types.OnStackFailure
	roleARN               string
	rollback              *types.RollbackConfiguration
	reversal              *reversal // nil unless it is drift-aware
}

const noChangesReason = "The submitted information didn't contain changes. Submit different information to create a change set."

// compute computes the changes, as CloudFormation does after the call returns.
func (s *stack) compute(cs *changeSet) {
	switch {
	case cs.kind == types.ChangeSetTypeImport:
		changes, err := s.computeImport(cs)
		if err != nil {
			cs.fail(messageOf(err))
			return
		}
		cs.changes = changes
		cs.status, cs.execution = types.ChangeSetStatusCreateComplete, types.ExecutionStatusAvailable
	case cs.reversal != nil:
		cs.status = types.ChangeSetStatusCreateInProgress
		s.readAll(cs, slices.Sorted(maps.Keys(s.members)))
	default:
		s.computeUpdate(cs)
	}
}

func (cs *changeSet) fail(reason string) {
	cs.status, cs.reason, cs.execution = types.ChangeSetStatusFailed, reason, types.ExecutionStatusUnavailable
}

// computeUpdate computes the changes of a creation or an update.
func (s *stack) computeUpdate(cs *changeSet) {
	changes, outputs, err := s.plan(cs.revision, cs.reversal)
	if err != nil {
		cs.fail(messageOf(err))
		return
	}
	if _, err := s.imports(cs.revision); err != nil {
		cs.fail(messageOf(err))
		return
	}
	cs.changes = changes
	if len(changes) == 0 && cs.kind != types.ChangeSetTypeCreate {
		sameElse := s.revision != nil && sameTags(s.revision.tags, cs.revision.tags) &&
			slices.Equal(s.revision.notificationARNs, cs.revision.notificationARNs)
		if !outputs && sameElse {
			cs.fail(noChangesReason)
			return
		}
	}
	cs.status, cs.execution = types.ChangeSetStatusCreateComplete, types.ExecutionStatusAvailable
}

// changeSet returns a change set by name or ID.
func (s *stack) changeSet(nameOrID string) *changeSet {
	for _, cs := range s.changeSets {
		if cs.name == nameOrID || cs.id == nameOrID {
			return cs
		}
	}
	return nil
}

// execute starts the operation of a change set.
func (s *stack) execute(cs *changeSet, disableRollback *bool, retainExceptOnCreate bool) error {
	if cs.execution != types.ExecutionStatusAvailable {
		return wire.Errorf("InvalidChangeSetStatus", "ChangeSet [%s] cannot be executed in its current status of [%s]", cs.id, cs.status)
	}
	if err := s.checkExecutable(cs); err != nil {
		return err
	}
	cs.execution = types.ExecutionStatusExecuteInProgress
	s.changeSets = []*changeSet{cs}
	s.settings.changeSetID = cs.id
	s.settings.disableRollback = aws.ToBool(disableRollback) || cs.onFailure == types.OnStackFailureDoNothing
	s.settings.retainExceptOnCreate = retainExceptOnCreate
	if cs.roleARN != "" {
		s.settings.roleARN = cs.roleARN
	}
	s.ended = func(ok bool, _ string) {
		cs.execution = types.ExecutionStatusExecuteComplete
		if !ok {
			cs.execution = types.ExecutionStatusExecuteFailed
		}
	}
	switch cs.kind {
	case types.ChangeSetTypeCreate:
		s.settings.onFailure = types.OnFailure(cs.onFailure)
		s.revision = cs.revision
		s.beginCreate()
	case types.ChangeSetTypeImport:
		s.beginImport(cs)
	default:
		if cs.reversal != nil {
			s.reverting = cs.reversal.members
		}
		s.beginUpdate(cs.revision)
	}
	return nil
}

func (s *stack) checkExecutable(cs *changeSet) error {
	if cs.kind == types.ChangeSetTypeCreate || s.status == types.StackStatusReviewInProgress {
		if s.status != types.StackStatusReviewInProgress {
			return invalid("Stack:%s is in %s state and can not be created.", s.id, s.status)
		}
		return nil
	}
	if !updatable(s.status) {
		return invalid("Stack:%s is in %s state and can not be updated.", s.id, s.status)
	}
	return nil
}

package cloudformation

import (
	"context"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

// updateFailed rolls the update back, unless rollback is disabled.
func (s *stack) updateFailed(reason string) {
	if s.settings.disableRollback {
		s.setStatus(types.StackStatusUpdateFailed, reason)
		s.operationEnded(false, reason)
		return
	}
	s.beginRollback(reason)
}

// cancelUpdate stops the running update and rolls it back.
func (s *stack) cancelUpdate() {
	if w := s.walk; w != nil {
		w.end = func([]string) {} // the rollback below takes over
		w.stop()
	}
	s.settings.disableRollback = false
	s.beginRollback("User Initiated")
}

// beginRollback starts the rollback to the stable revision.
func (s *stack) beginRollback(reason string) {
	s.abandon()
	if s.stable == nil {
		s.rollbackCreate(reason)
		return
	}
	s.setStatus(types.StackStatusUpdateRollbackInProgress, reason)
	s.post(func() { s.rollbackUpdate(nil, reason) })
}

// rollbackUpdate restores every member that the update touched, except the skipped ones, which it
// treats as restored.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-updating-stacks-continueupdaterollback.html
func (s *stack) rollbackUpdate(skip map[string]bool, cause string) {
	if s.status != types.StackStatusUpdateRollbackInProgress {
		return
	}
	order := map[string][]string{}
	for id, before := range s.undo {
		if before != nil {
			order[id] = s.stable.dependencies[id]
		}
	}
	s.startWalk(order, func(st *step) { s.restore(st, skip[st.id]) }, true, func(failed []string) {
		if len(failed) > 0 {
			text := failureText("update", failed)
			s.setStatus(types.StackStatusUpdateRollbackFailed, text)
			s.operationEnded(false, text)
			return
		}
		s.rolledBack(cause)
	})
}

func (s *stack) rolledBack(cause string) {
	abandoned := s.revision
	s.revision = s.stable
	s.leftovers = slices.DeleteFunc(s.leftovers, func(m *member) bool {
		now := s.members[m.id]
		return now != nil && now.physicalID == m.physicalID && !now.gone
	})
	for id, m := range s.members {
		if r := s.stable.template.Resources[id]; r != nil {
			m.definition = r
		}
	}
	_ = s.checkImports() // the imports were valid when the revision was created
	// A stack whose outputs cannot be evaluated keeps its current outputs.
	_ = s.publishOutputs(s.stable)
	s.undo = nil
	active := s.stable.activeIDs()
	s.setStatus(types.StackStatusUpdateRollbackCompleteCleanupInProgress, "")
	s.post(func() {
		if s.status != types.StackStatusUpdateRollbackCompleteCleanupInProgress {
			return
		}
		ended := s.ended
		if ended != nil {
			s.ended = func(bool, string) { ended(false, cause) }
		}
		s.cleanUp(active, abandoned, types.StackStatusUpdateRollbackComplete, "")
	})
}

// restore restores one member to its state before the update.
func (s *stack) restore(st *step, skip bool) {
	before, now := s.undo[st.id], s.members[st.id]
	if now == nil {
		now = &member{id: before.id, kind: before.kind}
	}
	next := *before
	next.status, next.reason, next.signals, next.actual, next.kept = now.status, now.reason, nil, nil, nil
	s.members[st.id] = &next
	if skip {
		delete(s.undo, st.id)
		s.setMember(&next, types.ResourceStatusUpdateComplete, "")
		st.succeed()
		return
	}
	s.setMember(&next, types.ResourceStatusUpdateInProgress, "")
	if now.physicalID != before.physicalID || before.gone {
		if now.physicalID != "" {
			s.leftovers = append(s.leftovers, now)
		}
		s.restored(st, &next)
		return
	}
	if own, ok := s.own(next.kind); ok {
		own.restore(st, &next, now, func(reason string) { s.restoreFailed(st, now, reason) })
		return
	}
	if untouched(before, now) {
		s.restored(st, &next)
		return
	}
	s.restoreInPlace(st, before, now, &next)
}

// restoreInPlace restores the former properties of a resource, and rolls the instances of a group
// back.
func (s *stack) restoreInPlace(st *step, before, now, next *member) {
	st.cancelled = func() {}
	fail := func(reason string) { s.restoreFailed(st, now, reason) }
	plan, err := s.resize(st, next, s.stable, now.properties, before.target())
	if err != nil {
		fail(err.Error())
		return
	}
	out := s.restoreCall(st, before, now, next, plan.properties)
	stabilize := func() {
		s.stabilize(st, next, s.updateRequest(st, next, now.properties), func(err error) {
			if err != nil {
				fail(handlerText(err, st.token))
				return
			}
			s.restored(st, next)
		})
	}
	s.after(out.latency, func() {
		switch {
		case !st.active():
		case out.err != nil:
			fail(handlerText(out.err, st.token))
		default:
			s.rollOut(st, next, s.updateRequest(st, next, now.properties), plan, func(reason string) {
				if reason != "" {
					fail(reason)
					return
				}
				stabilize()
			})
		}
	})
}

// untouched reports whether the update failed before it changed a resource, because its properties
// were invalid.
func untouched(before, now *member) bool {
	return len(changedPaths(now.properties, before.target())) == 0 && maps.Equal(now.tags, before.tags) &&
		now.status == types.ResourceStatusUpdateFailed && now.reason != cancelText(types.ResourceStatusUpdateFailed)
}

// restoreCall updates the resource with its former properties.
func (s *stack) restoreCall(st *step, before, now, next *member, properties map[string]any) outcome {
	r := s.request(next, st.token)
	r.Properties, r.Previous, r.Tags = properties, now.properties, before.tags
	out := s.call(OpUpdate, next, r, func(ctx context.Context, p resource.Provider, r resource.Request) (resource.Result, error) {
		return p.Update(ctx, r)
	})
	if out.err == nil && out.Attributes != nil {
		next.attributes = out.Attributes
	}
	return out
}

func (s *stack) restored(st *step, m *member) {
	delete(s.undo, st.id)
	s.setMember(m, types.ResourceStatusUpdateComplete, "")
	st.succeed()
}

// restoreFailed keeps the member in its state after the update, for the next attempt.
func (s *stack) restoreFailed(st *step, now *member, reason string) {
	if !st.active() {
		return
	}
	s.members[st.id] = now
	s.setMember(now, types.ResourceStatusUpdateFailed, reason)
	st.fail()
}

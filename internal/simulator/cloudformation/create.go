package cloudformation

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation/simulated"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

// beginCreate starts the creation of the stack's revision.
func (s *stack) beginCreate() {
	s.setStatus(types.StackStatusCreateInProgress, "User Initiated")
	s.post(s.create)
}

func (s *stack) create() {
	if s.status != types.StackStatusCreateInProgress {
		return
	}
	if minutes := s.settings.timeoutMinutes; minutes > 0 {
		s.after(time.Duration(minutes)*time.Minute, s.createTimedOut)
	}
	if err := s.checkImports(); err != nil {
		s.createFailed(err.Error() + ". ")
		return
	}
	s.startWalk(s.revision.before(), s.createStep, false, func(failed []string) {
		if len(failed) > 0 {
			s.createFailed(failureText("create", s.failedIDs(types.ResourceStatusCreateFailed)))
			return
		}
		s.createDone()
	})
}

func (s *stack) createTimedOut() {
	if s.status != types.StackStatusCreateInProgress || s.walk == nil {
		return
	}
	w := s.walk
	w.end = func([]string) { s.createFailed("Stack creation time exceeded the specified timeout. ") }
	w.stop()
	w.conclude()
}

func (s *stack) createDone() {
	if err := s.publishOutputs(s.revision); err != nil {
		s.createFailed(err.Error() + ". ")
		return
	}
	s.stable, s.undo = s.revision, nil
	s.setStatus(types.StackStatusCreateComplete, "")
	s.operationEnded(true, "")
}

// failureText returns the status reason of a stack for failed resources. Like AWS's, it ends in a
// space.
func failureText(verb string, ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return "The following resource(s) failed to " + verb + ": [" + strings.Join(ids, ", ") + "]. "
}

func (s *stack) failedIDs(status types.ResourceStatus) []string {
	var out []string
	for _, id := range slices.Sorted(maps.Keys(s.members)) {
		if s.members[id].status == status {
			out = append(out, id)
		}
	}
	return out
}

// createStep creates one resource.
func (s *stack) createStep(st *step) {
	m := &member{id: st.id, kind: s.revision.template.Resources[st.id].Type, definition: s.revision.template.Resources[st.id]}
	s.members[st.id] = m
	s.make(st, m, types.ResourceStatusCreateInProgress, types.ResourceStatusCreateComplete, types.ResourceStatusCreateFailed)
}

// make creates the physical resource of a member. A replacing update does the same with other
// statuses.
func (s *stack) make(st *step, m *member, running, complete, failed types.ResourceStatus) {
	if running == types.ResourceStatusCreateInProgress {
		s.setMember(m, running, "")
	}
	st.cancelled = func() { s.setMember(m, failed, cancelText(failed)) }
	fail := func(reason string) {
		s.setMember(m, failed, reason)
		st.fail()
	}
	properties, err := s.properties(s.scope(s.revision), m.definition)
	if err != nil {
		fail(err.Error())
		return
	}
	m.properties, m.printed = properties, ""
	if text := s.validate(m, properties); text != "" {
		fail(text)
		return
	}
	if own, ok := s.own(m.kind); ok {
		own.create(st, m, running, complete, fail)
		return
	}
	m.initiated = s.engine.now()
	r := s.request(m, st.token)
	r.Properties, r.Tags = properties, s.tagsFor(s.revision, m.id)
	out := s.call(OpCreate, m, r, func(ctx context.Context, p resource.Provider, r resource.Request) (resource.Result, error) {
		return p.Create(ctx, r)
	})
	m.physicalID, m.attributes = out.PhysicalID, out.Attributes
	if !st.active() {
		return
	}
	if out.err != nil {
		s.after(out.latency, func() {
			if st.active() {
				fail(handlerText(out.err, st.token))
			}
		})
		return
	}
	m.tags = r.Tags
	s.setMember(m, running, "Resource creation Initiated")
	r.PhysicalID = m.physicalID
	s.after(out.latency, func() {
		s.stabilize(st, m, r, func(err error) {
			switch {
			case !st.active():
			case err != nil:
				fail(handlerText(err, st.token))
			default:
				s.finish(m, r)
				s.awaitSignals(st, m, complete, failed)
			}
		})
	})
}

// finish sets the attributes that are known only now that a resource is stable.
func (s *stack) finish(m *member, r resource.Request) {
	finisher, ok := s.engine.Provider(m.kind).(resource.Finisher)
	if !ok {
		return
	}
	var attributes map[string]any
	var err error
	s.outside(func() { attributes, err = finisher.Attributes(s.background(), r) })
	if err == nil {
		m.attributes = attributes
	}
}

func cancelText(failed types.ResourceStatus) string {
	if failed == types.ResourceStatusCreateFailed {
		return "Resource creation cancelled"
	}
	return "Resource update cancelled"
}

// validate returns a resource handler's message about invalid properties.
func (s *stack) validate(m *member, properties map[string]any) string {
	t, ok := s.engine.registry.Type(m.kind)
	if !ok {
		return ""
	}
	problems := simulated.Validate(t, properties)
	if len(problems) == 0 {
		return ""
	}
	return "Properties validation failed for resource " + m.id + " with message: [" + strings.Join(problems, ", ") + "]"
}

// createFailed starts the action that OnFailure and DisableRollback specify.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_CreateStack.html
func (s *stack) createFailed(reason string) {
	switch {
	case s.settings.onFailure == types.OnFailureDelete:
		s.setStatus(types.StackStatusDeleteInProgress, reason+"Delete requested by user.")
		s.deleting = &deletion{onFailure: true}
		s.post(s.deleteAll)
	case s.settings.disableRollback:
		s.setStatus(types.StackStatusCreateFailed, reason)
		s.operationEnded(false, reason)
	default:
		s.rollbackCreate(reason + "Rollback requested by user.")
	}
}

// rollbackCreate deletes the resources of a failed creation.
func (s *stack) rollbackCreate(reason string) {
	s.setStatus(types.StackStatusRollbackInProgress, reason)
	s.post(func() {
		if s.status != types.StackStatusRollbackInProgress {
			return
		}
		s.startWalk(s.teardownOrder(), s.rollbackDeleteStep, true, func(failed []string) {
			if len(failed) > 0 {
				text := failureText("delete", failed)
				s.setStatus(types.StackStatusRollbackFailed, text)
				s.operationEnded(false, text)
				return
			}
			s.setStatus(types.StackStatusRollbackComplete, "")
			s.operationEnded(false, reason)
		})
	})
}

// operationEnded notifies the parent of a nested stack.
func (s *stack) operationEnded(ok bool, reason string) {
	s.abandon()
	s.settings.policyDuringUpdate, s.reverting = "", nil
	if ended := s.ended; ended != nil {
		s.ended = nil
		ended(ok, reason)
	}
}

package cloudformation

import (
	"context"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

// deletion holds the options of a stack's deletion.
type deletion struct {
	// retain lists the resources to retain.
	retain map[string]bool
	// force retains resources that cannot be deleted.
	force bool
	// onFailure says that the deletion follows a failed creation.
	onFailure bool
}

// beginDelete starts the deletion and interrupts any running operation.
func (s *stack) beginDelete(d *deletion) {
	s.abandon()
	s.deleting = d
	s.setStatus(types.StackStatusDeleteInProgress, "User Initiated")
	s.post(s.deleteAll)
}

// teardownOrder maps every member to those that must be deleted before it.
func (s *stack) teardownOrder() map[string][]string {
	dependencies := map[string][]string{}
	if s.revision != nil { // a stack in review has no revision
		dependencies = s.revision.dependencies
	}
	return reversed(slices.Collect(maps.Keys(s.members)), dependencies)
}

func (s *stack) deleteAll() {
	if s.status != types.StackStatusDeleteInProgress {
		return
	}
	s.startWalk(s.teardownOrder(), s.deleteStep, true, func(failed []string) {
		failed = append(failed, s.deleteLeftovers()...)
		if len(failed) > 0 {
			text := failureText("delete", failed)
			s.setStatus(types.StackStatusDeleteFailed, text)
			s.operationEnded(false, text)
			return
		}
		now := s.engine.now()
		s.deleted = &now
		s.space.forget(s)
		s.setStatus(types.StackStatusDeleteComplete, "")
		s.operationEnded(true, "")
	})
}

// deleteLeftovers retries the deletions that failed in clean-ups of former updates.
func (s *stack) deleteLeftovers() []string {
	var failed []string
	for _, m := range s.leftovers {
		r := s.request(m, newUUID())
		r.Properties = m.properties
		out := s.call(OpDelete, m, r, deleteWith)
		if out.err != nil && !isNotFound(out.err) {
			failed = append(failed, m.id)
		}
	}
	if len(failed) == 0 {
		s.leftovers = nil
	}
	return failed
}

func deleteWith(ctx context.Context, p resource.Provider, r resource.Request) (resource.Result, error) {
	return resource.Result{}, p.Delete(ctx, r)
}

// deleteStep deletes one member when the stack is deleted.
func (s *stack) deleteStep(st *step) {
	m := s.members[st.id]
	policy := ""
	if m.definition != nil {
		policy = m.definition.DeletionPolicy
	}
	keep := policy == "Retain" || policy == "RetainExceptOnCreate" && !s.deleting.onFailure || s.deleting.retain[m.id]
	s.remove(st, m, removalOf(policy, keep))
}

// rollbackDeleteStep deletes one member of a failed creation.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-deletionpolicy.html
func (s *stack) rollbackDeleteStep(st *step) {
	m := s.members[st.id]
	policy := ""
	if m.definition != nil {
		policy = m.definition.DeletionPolicy
	}
	s.remove(st, m, removalOf(policy, policy == "Retain" && !s.settings.retainExceptOnCreate))
}

// removal says what to do with the physical resource of a removed member.
type removal int

const (
	removalDelete removal = iota
	removalSnapshot
	removalKeep
)

func removalOf(policy string, keep bool) removal {
	switch {
	case keep:
		return removalKeep
	case policy == "Snapshot":
		return removalSnapshot
	}
	return removalDelete
}

// remove deletes a member's physical resource, after a snapshot if its policy asks for one, or
// skips it if it is to be kept.
func (s *stack) remove(st *step, m *member, f removal) {
	switch {
	case m.status == types.ResourceStatusDeleteComplete || m.status == types.ResourceStatusDeleteSkipped:
		st.succeed()
		return
	case m.physicalID == "":
		s.setMember(m, types.ResourceStatusDeleteComplete, "")
		st.succeed()
		return
	case f == removalKeep:
		s.setMember(m, types.ResourceStatusDeleteSkipped, "")
		st.succeed()
		return
	}
	s.setMember(m, types.ResourceStatusDeleteInProgress, "")
	if own, ok := s.own(m.kind); ok {
		own.remove(m, func(reason string) { s.removed(st, m, reason) })
		return
	}
	r := s.request(m, st.token)
	r.Properties = m.properties
	if f == removalSnapshot {
		if err := s.snapshot(m, r); err != nil {
			s.removed(st, m, handlerText(err, st.token))
			return
		}
	}
	out := s.call(OpDelete, m, r, deleteWith)
	s.after(out.latency, func() {
		if out.err != nil {
			s.removed(st, m, deletionReason(out.err, st.token))
			return
		}
		s.stabilize(st, m, r, func(err error) { s.removed(st, m, deletionReason(err, st.token)) })
	})
}

// deletionReason returns why a resource was not deleted, or "" if it no longer exists.
func deletionReason(err error, token string) string {
	if err == nil || isNotFound(err) {
		return ""
	}
	return handlerText(err, token)
}

func (s *stack) removed(st *step, m *member, reason string) {
	if !st.active() {
		return
	}
	if reason == "" {
		s.setMember(m, types.ResourceStatusDeleteComplete, "")
		st.succeed()
		return
	}
	if s.deleting != nil && s.deleting.force {
		s.setMember(m, types.ResourceStatusDeleteSkipped, reason)
		st.succeed()
		return
	}
	s.setMember(m, types.ResourceStatusDeleteFailed, reason)
	st.fail()
}

package cloudformation

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

// replacementText is the event of a resource that is about to be replaced.
const replacementText = "Requested update requires the creation of a new physical resource; hence creating one."

// beginUpdate starts the update to another revision.
func (s *stack) beginUpdate(rev *revision) {
	now := s.engine.now()
	s.updated = &now
	s.revision = rev
	for _, cs := range s.changeSets { // https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_ChangeSetSummary.html
		if cs.execution == types.ExecutionStatusAvailable {
			cs.execution = types.ExecutionStatusObsolete
		}
	}
	if s.undo == nil {
		s.undo = map[string]*member{}
	}
	s.setStatus(types.StackStatusUpdateInProgress, "User Initiated")
	s.post(s.update)
}

func (s *stack) update() {
	if s.status != types.StackStatusUpdateInProgress {
		return
	}
	if err := s.checkImports(); err != nil {
		s.updateFailed(err.Error() + ". ")
		return
	}
	if s.deniedRemovals() {
		s.updateFailed(failureText("update", s.failedIDs(types.ResourceStatusUpdateFailed)))
		return
	}
	s.startWalk(s.revision.before(), s.updateStep, false, func(failed []string) {
		if len(failed) > 0 {
			s.updateFailed(failureText("create", s.failedIDs(types.ResourceStatusCreateFailed)) +
				failureText("update", s.failedIDs(types.ResourceStatusUpdateFailed)))
			return
		}
		s.updateDone()
	})
}

func (s *stack) updateDone() {
	if err := s.publishOutputs(s.revision); err != nil {
		s.updateFailed(err.Error() + ". ")
		return
	}
	active := s.revision.activeIDs()
	old := s.stable
	s.stable, s.undo = s.revision, nil
	s.setStatus(types.StackStatusUpdateCompleteCleanupInProgress, "")
	s.post(func() {
		if s.status != types.StackStatusUpdateCompleteCleanupInProgress {
			return
		}
		s.cleanUp(active, old, types.StackStatusUpdateComplete,
			"Update successful. One or more resources could not be deleted.")
	})
}

// cleanUp deletes what the stack no longer contains: members that are not active and physical
// resources that were replaced. Failures do not fail the stack.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-updating-stacks-update-behaviors.html
func (s *stack) cleanUp(active map[string]bool, old *revision, complete types.StackStatus, failureReason string) {
	removed := map[string]*member{}
	ids := []string{}
	for id, m := range s.members {
		if !active[id] {
			removed[id] = m
			ids = append(ids, id)
		}
	}
	dependencies := map[string][]string{}
	if old != nil {
		dependencies = old.dependencies
	}
	order := reversed(ids, dependencies)
	for i, m := range s.leftovers {
		key := m.id + "/" + string(rune('0'+i%10)) + m.physicalID
		removed[key] = m
		order[key] = nil
	}
	s.leftovers = nil
	s.startWalk(order, func(st *step) { s.cleanUpStep(st, removed[st.id]) }, true, func(failed []string) {
		reason := ""
		for id, m := range removed {
			delete(s.members, id)
			if s.members[m.id] == m {
				delete(s.members, m.id)
			}
			if m.status == types.ResourceStatusDeleteFailed {
				reason = failureReason
				s.leftovers = append(s.leftovers, m)
			}
		}
		s.setStatus(complete, reason)
		s.operationEnded(complete == types.StackStatusUpdateComplete, s.reason)
	})
}

func (s *stack) cleanUpStep(st *step, m *member) {
	policy, keep := "", false
	if m.definition != nil {
		policy = m.definition.DeletionPolicy
		if strings.Contains(st.id, "/") {
			policy = m.definition.UpdateReplacePolicy
		}
		keep = policy == "Retain" || policy == "RetainExceptOnCreate" && s.status == types.StackStatusUpdateCompleteCleanupInProgress
	}
	s.remove(st, m, removalOf(policy, keep))
}

// updateStep updates one resource to the new revision: it creates it, leaves it unchanged, updates
// it in place or replaces it.
func (s *stack) updateStep(st *step) {
	definition := s.revision.template.Resources[st.id]
	old := s.members[st.id]
	if old != nil && s.reverting[st.id].deleted() {
		gone := *old
		gone.gone = true
		s.members[st.id] = &gone
	}
	if old == nil || old.physicalID == "" || s.reverting[st.id].deleted() {
		s.remember(st.id)
		s.createStep(st)
		return
	}
	old = s.asActual(old)
	properties, err := s.properties(s.scope(s.revision), definition)
	if err != nil {
		s.updateRefused(st, old, err.Error())
		return
	}
	if old.status == types.ResourceStatusCreateFailed {
		s.remember(st.id)
		s.leftovers = append(s.leftovers, old)
		s.createStep(st)
		return
	}
	tags := s.tagsFor(s.revision, st.id)
	changed := changedPaths(old.properties, properties)
	sameTags := !s.tagsReach(old.kind) || maps.Equal(tags, old.tags)
	_, own := s.own(old.kind)
	if old.kind != stackType && len(changed) == 0 && (own || sameTags) {
		next := *old
		next.definition = definition
		if s.reverting[st.id] != nil { // the template has the actual values now
			next.properties, next.printed = properties, ""
		}
		s.members[st.id] = &next
		st.succeed()
		return
	}
	replaces := s.replaces(old.kind, changed) || s.replacesGroup(definition, changed)
	action := "Update:Modify"
	if replaces {
		action = "Update:Replace"
	}
	if reason := s.denied(action, old); reason != "" {
		s.updateRefused(st, old, reason)
		return
	}
	s.remember(st.id)
	next := *old
	next.definition, next.signals, next.drift, next.childBefore, next.gone = definition, nil, nil, nil, false
	s.members[st.id] = &next
	if replaces {
		s.replace(st, old, &next, properties)
		return
	}
	s.change(st, old, &next, properties, tags)
}

// updateRefused fails a member before anything was done to it.
func (s *stack) updateRefused(st *step, m *member, reason string) {
	s.remember(st.id)
	next := *m
	s.members[st.id] = &next
	s.setMember(&next, types.ResourceStatusUpdateInProgress, "")
	s.setMember(&next, types.ResourceStatusUpdateFailed, reason)
	st.fail()
}

// remember records the state of a member in the stable revision.
func (s *stack) remember(id string) {
	if _, ok := s.undo[id]; !ok {
		s.undo[id] = s.members[id]
	}
}

// tagsReach reports whether resources of a type get other tags of the stack: not those whose tags are
// create-only, which no change of the stack's tags replaces.
// https://github.com/aws-cloudformation/cloudformation-coverage-roadmap/issues/1734
func (s *stack) tagsReach(kind string) bool {
	if kind == stackType {
		return true
	}
	t, ok := s.engine.registry.Type(kind)
	return ok && t.Taggable && t.TagProperty != "" && !t.IsCreateOnly([]string{t.TagProperty})
}

// replaces reports whether one of the changed paths is create-only.
func (s *stack) replaces(kind string, changed [][]string) bool {
	t, ok := s.engine.registry.Type(kind)
	return ok && slices.ContainsFunc(changed, t.IsCreateOnly)
}

// replace creates a new physical resource. The old one is deleted when the update has succeeded.
func (s *stack) replace(st *step, old, m *member, properties map[string]any) {
	if name := s.customName(old, properties); name != "" {
		s.setMember(m, types.ResourceStatusUpdateInProgress, replacementText)
		s.setMember(
			m,
			types.ResourceStatusUpdateFailed,
			"CloudFormation cannot update a stack when a custom-named resource requires replacing. Rename "+name+" and update the stack again.",
		)
		st.fail()
		return
	}
	s.setMember(m, types.ResourceStatusUpdateInProgress, replacementText)
	m.physicalID, m.attributes = "", nil
	s.make(st, m, types.ResourceStatusUpdateInProgress, types.ResourceStatusUpdateComplete, types.ResourceStatusUpdateFailed)
	if m.physicalID != "" {
		s.leftovers = append(s.leftovers, old)
	}
}

// customName returns the explicit name of a resource that must be replaced, if the name does not
// change.
func (s *stack) customName(old *member, properties map[string]any) string {
	parts := strings.Split(old.kind, "::")
	kind := parts[len(parts)-1]
	for _, property := range []string{kind + "Name", "Name", kind + "Identifier"} {
		before, had := old.properties[property].(string)
		after, has := properties[property].(string)
		if had && has && before == after && s.replaces(old.kind, [][]string{{property}}) {
			return after
		}
	}
	return ""
}

// change updates a member in place.
func (s *stack) change(st *step, old, m *member, properties map[string]any, tags map[string]string) {
	s.setMember(m, types.ResourceStatusUpdateInProgress, "")
	fail := func(reason string) {
		s.setMember(m, types.ResourceStatusUpdateFailed, reason)
		st.fail()
	}
	st.cancelled = func() {
		s.setMember(m, types.ResourceStatusUpdateFailed, cancelText(types.ResourceStatusUpdateFailed))
	}
	if text := s.validate(m, properties); text != "" {
		fail(text)
		return
	}
	if own, ok := s.own(m.kind); ok {
		m.properties, m.printed = properties, ""
		own.update(st, m, old, fail)
		return
	}
	plan, err := s.resize(st, m, s.revision, old.properties, properties)
	if err != nil {
		if st.active() {
			fail(err.Error())
		}
		return
	}
	out := s.modify(m, st.token, old.properties, m.keeping(plan.properties), tags)
	if out.err == nil {
		m.properties = properties
	}
	if !st.active() {
		return
	}
	s.after(out.latency, func() {
		switch {
		case !st.active():
		case s.replacesInstead(out.err, old, properties):
			s.replace(st, old, m, properties)
		case out.err != nil:
			fail(handlerText(out.err, st.token))
		default:
			s.rollOut(st, m, s.updateRequest(st, m, old.properties), plan, func(reason string) {
				if reason != "" {
					fail(reason)
					return
				}
				s.stabilize(st, m, s.updateRequest(st, m, old.properties), func(err error) { s.changed(st, m, err, fail) })
			})
		}
	})
}

// changed completes an update in place.
func (s *stack) changed(st *step, m *member, err error, fail func(string)) {
	switch {
	case !st.active():
	case err != nil:
		fail(handlerText(err, st.token))
	default:
		s.setMember(m, types.ResourceStatusUpdateComplete, "")
		st.succeed()
	}
}

// updateRequest returns the request to a provider about an updated member.
func (s *stack) updateRequest(st *step, m *member, before map[string]any) resource.Request {
	r := s.request(m, st.token)
	r.Properties, r.Previous, r.Tags = m.properties, before, m.tags
	return r
}

// replacesInstead reports whether an update that its provider rejected becomes a replacement. About
// conditionalCreateOnlyProperties
// https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-schema.html
// says: "When updating this property for a resource in a CloudFormation stack, the resource will be
// replaced if it cannot be updated".
func (s *stack) replacesInstead(err error, old *member, properties map[string]any) bool {
	refusal, ok := errors.AsType[*resource.Error](err)
	if !ok || refusal.Code != resource.NotUpdatable {
		return false
	}
	t, ok := s.engine.registry.Type(old.kind)
	return ok && slices.ContainsFunc(changedPaths(old.properties, properties), t.IsConditionalCreateOnly)
}

// modify calls the provider's Update and stores its result.
func (s *stack) modify(m *member, token string, before, properties map[string]any, tags map[string]string) outcome {
	r := s.request(m, token)
	r.Properties, r.Previous, r.Tags = properties, before, tags
	out := s.call(OpUpdate, m, r, func(ctx context.Context, p resource.Provider, r resource.Request) (resource.Result, error) {
		return p.Update(ctx, r)
	})
	if out.err == nil {
		m.properties, m.printed, m.tags = properties, "", tags
		if out.PhysicalID != "" {
			m.physicalID = out.PhysicalID
		}
		if out.Attributes != nil {
			m.attributes = out.Attributes
		}
	}
	return out
}

// changedPaths returns the shortest paths at which two property trees differ. List items are named
// by index.
func changedPaths(before, after any) [][]string {
	var out [][]string
	diffValues(before, after, nil, &out)
	return out
}

func diffValues(before, after any, path []string, out *[][]string) {
	b, beforeMap := before.(map[string]any)
	a, afterMap := after.(map[string]any)
	if beforeMap && afterMap {
		keys := map[string]bool{}
		for k := range b {
			keys[k] = true
		}
		for k := range a {
			keys[k] = true
		}
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			diffValues(b[k], a[k], append(slices.Clone(path), k), out)
		}
		return
	}
	if !reflect.DeepEqual(before, after) {
		*out = append(*out, path)
	}
}

// sameNode compares the values of two template nodes.
func sameNode(a, b *template.Node) bool {
	if a == nil || b == nil {
		return a == b
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}

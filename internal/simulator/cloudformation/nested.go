package cloudformation

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation/eval"
	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation/simulated"
	"github.com/aws-operator/aws-operator/internal/simulator/property"
)

// Nested stacks:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-cloudformation-stack.html

// nestedInput converts the properties of a nested stack to a stack's input.
func (s *stack) nestedInput(m *member) input {
	in := input{
		templateURL:  textProperty(m.properties, "TemplateURL"),
		capabilities: s.revision.capabilities,
		tags:         s.revision.tags,
		parameters:   map[string]eval.Given{},
		nested:       true,
	}
	parameters, _ := m.properties["Parameters"].(map[string]any)
	for name, v := range parameters {
		in.parameters[name] = eval.Given{Value: joined(v)}
	}
	topics, _ := m.properties["NotificationARNs"].([]any)
	for _, topic := range topics {
		in.notificationARNs = append(in.notificationARNs, joined(topic))
	}
	tags, _ := m.properties["Tags"].([]any)
	for _, t := range tags {
		if tag, ok := t.(map[string]any); ok {
			in.tags = append(slices.Clone(in.tags), types.Tag{
				Key: aws.String(textProperty(tag, "Key")), Value: aws.String(textProperty(tag, "Value")),
			})
		}
	}
	return in
}

func textProperty(properties map[string]any, name string) string {
	text, _ := property.Text(properties[name])
	return text
}

func joined(v any) string {
	if items, ok := v.([]any); ok {
		parts := make([]string, len(items))
		for i, item := range items {
			parts[i], _ = property.Text(item)
		}
		return strings.Join(parts, ",")
	}
	text, _ := property.Text(v)
	return text
}

func (s *stack) createNested(st *step, m *member, running, complete types.ResourceStatus, fail func(string)) {
	child := s.engine.newStack(s.space, simulated.NestedName(s.name, m.id))
	child.parent, child.parentID, child.endpoint = s, m.id, s.endpoint
	child.principal, child.accessKey = s.principal, s.accessKey
	child.settings.roleARN = s.settings.roleARN
	child.settings.disableRollback = true
	rev, err := s.engine.revise(s.background(), child, s.nestedInput(m), nil)
	if err != nil {
		fail(messageOf(err))
		return
	}
	child.revision = rev
	child.ended = s.childEnded(func(ok bool, reason string) {
		if !st.active() {
			return
		}
		if !ok {
			fail("Embedded stack " + child.id + " was not successfully created: " + reason)
			return
		}
		m.attributes = child.outputAttributes()
		s.setMember(m, complete, "")
		st.succeed()
	})
	s.space.add(child)
	m.physicalID = child.id
	m.tags = s.tagsFor(s.revision, m.id)
	s.setMember(m, running, "Resource creation Initiated")
	s.outside(func() {
		child.mu.Lock()
		defer child.mu.Unlock()
		child.beginCreate()
	})
}

// childEnded returns a function that posts the end of a child's operation to the parent's queue.
// The function is called with the child's lock held.
func (s *stack) childEnded(then func(ok bool, reason string)) func(bool, string) {
	return func(ok bool, reason string) { s.post(func() { then(ok, reason) }) }
}

// outputAttributes returns the child's outputs in the form that Fn::GetAtt of the parent reads.
func (s *stack) outputAttributes() map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]any{}
	for _, o := range s.outputs {
		out["Outputs."+aws.ToString(o.OutputKey)] = aws.ToString(o.OutputValue)
	}
	return out
}

func (s *stack) updateNested(st *step, m, _ *member, fail func(string)) {
	in := s.nestedInput(m)
	m.tags = s.tagsFor(s.revision, m.id)
	revise := func(child *stack) (*revision, error) {
		m.childBefore = child.revision
		return s.engine.revise(s.background(), child, in, child.revision)
	}
	s.moveNested(st, m, revise, func(reason string) {
		if reason != "" {
			fail("Embedded stack " + m.physicalID + " was not successfully updated: " + reason)
			return
		}
		s.setMember(m, types.ResourceStatusUpdateComplete, "")
		st.succeed()
	})
}

// moveNested updates the child of a member to the revision that revise returns, and calls then with
// the reason of a failure.
func (s *stack) moveNested(st *step, m *member, revise func(*stack) (*revision, error), then func(reason string)) {
	child := s.space.find(m.physicalID)
	if child == nil {
		then("Stack with id " + m.physicalID + " does not exist")
		return
	}
	reason, finished := "", true
	s.outside(func() {
		child.mu.Lock()
		defer child.mu.Unlock()
		rev, err := revise(child)
		switch {
		case err != nil:
			reason = messageOf(err)
		case !updatable(child.status):
			reason = "Stack:" + child.id + " is in " + string(child.status) + " state and can not be updated."
		case !child.noChange(rev):
			finished = false
			child.settings.disableRollback = false
			child.ended = s.childEnded(func(ok bool, why string) { s.nestedMoved(st, m, child, ok, why, then) })
			child.beginUpdate(rev)
		}
	})
	if finished {
		then(reason)
	}
}

func (s *stack) nestedMoved(st *step, m *member, child *stack, ok bool, why string, then func(reason string)) {
	switch {
	case !st.active():
	case ok:
		m.attributes = child.outputAttributes()
		then("")
	default:
		then(why)
	}
}

// restoreNested restores a child when its parent rolls back: it cancels a running update, and
// reverts one that succeeded.
func (s *stack) restoreNested(st *step, m, now *member, fail func(string)) {
	child := s.space.find(m.physicalID)
	before := now.childBefore
	if child == nil || before == nil {
		s.restored(st, m)
		return
	}
	busy := false
	s.outside(func() {
		child.mu.Lock()
		defer child.mu.Unlock()
		busy = strings.HasSuffix(string(child.status), "_IN_PROGRESS")
		if !busy {
			return
		}
		child.ended = s.childEnded(func(bool, string) {
			if st.active() {
				s.restoreNested(st, m, now, fail)
			}
		})
		if child.status == types.StackStatusUpdateInProgress {
			child.cancelUpdate()
		}
	})
	if busy {
		return
	}
	s.moveNested(st, m, func(*stack) (*revision, error) { return before, nil }, func(reason string) {
		if reason != "" {
			fail("Embedded stack " + child.id + " was not successfully updated: " + reason)
			return
		}
		s.restored(st, m)
	})
}

func (s *stack) removeNested(m *member, done func(string)) {
	child := s.space.find(m.physicalID)
	if child == nil {
		done("")
		return
	}
	s.outside(func() {
		child.mu.Lock()
		defer child.mu.Unlock()
		if !child.live() {
			s.post(func() { done("") })
			return
		}
		child.ended = s.childEnded(func(ok bool, reason string) {
			if ok {
				done("")
				return
			}
			done("Embedded stack " + child.id + " was not successfully deleted: " + reason)
		})
		child.beginDelete(&deletion{})
	})
}

// root returns the outermost stack.
func (s *stack) root() *stack {
	for s.parent != nil {
		s = s.parent
	}
	return s
}

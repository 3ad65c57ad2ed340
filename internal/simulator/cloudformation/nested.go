package cloudformation

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation/eval"
	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation/simulated"
)

// Nested stacks:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-cloudformation-stack.html

// nestedInput is what the properties of a nested stack ask for.
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
	text, _ := eval.Scalar(properties[name])
	return text
}

func joined(v any) string {
	if items, ok := v.([]any); ok {
		parts := make([]string, len(items))
		for i, item := range items {
			parts[i], _ = eval.Scalar(item)
		}
		return strings.Join(parts, ",")
	}
	text, _ := eval.Scalar(v)
	return text
}

func (s *stack) createNested(st *step, m *member, running, complete types.ResourceStatus, fail func(string)) {
	child := s.engine.newStack(s.space, simulated.GeneratedName(s.name, m.id))
	child.parent, child.parentID, child.endpoint, child.principal = s, m.id, s.endpoint, s.principal
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

// childEnded brings the end of a child's operation into the parent's queue. It
// is called with the child's lock held.
func (s *stack) childEnded(then func(ok bool, reason string)) func(bool, string) {
	return func(ok bool, reason string) { s.post(func() { then(ok, reason) }) }
}

// outputAttributes are the child's outputs as Fn::GetAtt of the parent sees them.
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
	s.moveNested(st, m, s.nestedInput(m), func(ok bool, child *stack, reason string) {
		if !ok {
			fail("Embedded stack " + child.id + " was not successfully updated: " + reason)
			return
		}
		s.setMember(m, types.ResourceStatusUpdateComplete, "")
		st.succeed()
	})
	m.tags = s.tagsFor(s.revision, m.id)
}

// moveNested updates the child of a member.
func (s *stack) moveNested(st *step, m *member, in input, then func(ok bool, child *stack, reason string)) {
	child := s.space.find(m.physicalID)
	if child == nil {
		child = &stack{id: m.physicalID}
		then(false, child, "Stack with id "+m.physicalID+" does not exist")
		return
	}
	var problem error
	unchanged := false
	s.outside(func() {
		child.mu.Lock()
		defer child.mu.Unlock()
		rev, err := s.engine.revise(s.background(), child, in, child.revision)
		if err != nil {
			problem = err
			return
		}
		if child.noChange(rev) {
			unchanged = true
			return
		}
		child.settings.disableRollback = false
		child.ended = s.childEnded(func(ok bool, reason string) {
			if !st.active() {
				return
			}
			if ok {
				m.attributes = child.outputAttributes()
			}
			then(ok, child, reason)
		})
		child.beginUpdate(rev)
	})
	if problem != nil {
		then(false, child, messageOf(problem))
	} else if unchanged {
		then(true, child, "")
	}
}

func (s *stack) restoreNested(st *step, m, now *member, fail func(string)) {
	if now.status == types.ResourceStatusUpdateFailed && now.reason != cancelText(types.ResourceStatusUpdateFailed) {
		s.restored(st, m) // the child rolled back itself
		return
	}
	was := s.revision
	s.revision = s.stable
	in := s.nestedInput(m)
	s.revision = was
	s.moveNested(st, m, in, func(ok bool, child *stack, reason string) {
		if !ok {
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

// root is the outermost stack.
func (s *stack) root() *stack {
	for s.parent != nil {
		s = s.parent
	}
	return s
}

// children are the nested stacks of a stack, by logical ID.
func (s *stack) children() map[string]string {
	out := map[string]string{}
	for _, id := range slices.Sorted(maps.Keys(s.members)) {
		if m := s.members[id]; m.kind == stackType && m.physicalID != "" {
			out[id] = m.physicalID
		}
	}
	return out
}

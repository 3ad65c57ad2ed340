package cloudformation

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation/simulated"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

// computeImport computes the changes of an import: every resource to import must have its required
// properties in the template, exist, and belong to no stack. CloudFormation reads a resource before
// it searches for the stack that has it.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/import-resources-manually.html
func (s *stack) computeImport(cs *changeSet) ([]types.ResourceChange, error) {
	p := &planner{s: s, rev: cs.revision, moved: map[string]bool{}, touched: map[string]bool{}}
	for _, r := range cs.imports {
		p.moved[aws.ToString(r.LogicalResourceId)] = true
	}
	var changes []types.ResourceChange
	for _, r := range cs.imports {
		m := s.imported(cs.revision, r)
		properties, err := s.properties(p.scope(), m.definition)
		if err != nil {
			return nil, err
		}
		if t, ok := s.engine.registry.Type(m.kind); ok {
			for _, name := range t.Required {
				if properties[name] == nil {
					return nil, invalid("Properties validation failed for resource %s with message: [#: required key [%s] not found]", m.id, name)
				}
			}
		}
		live, err := s.readForImport(m, newUUID()).unpack()
		if err != nil {
			return nil, err
		}
		if owner := s.ownerOf(m, live); owner != "" {
			return nil, inStack(m.physicalID, owner)
		}
		changes = append(changes, types.ResourceChange{
			Action: types.ChangeActionImport, LogicalResourceId: r.LogicalResourceId, ResourceType: aws.String(m.kind),
			PhysicalResourceId: aws.String(m.physicalID), Scope: []types.ResourceAttribute{}, Details: []types.ResourceChangeDetail{},
		})
	}
	slices.SortFunc(changes, func(a, b types.ResourceChange) int {
		return strings.Compare(*a.LogicalResourceId, *b.LogicalResourceId)
	})
	return changes, nil
}

func inStack(physicalID, stackID string) error {
	return invalid("%s already exists in stack %s", physicalID, stackID)
}

// imported returns the member that a resource to import becomes.
func (s *stack) imported(rev *revision, r types.ResourceToImport) *member {
	id := aws.ToString(r.LogicalResourceId)
	definition := rev.template.Resources[id]
	m := &member{id: id, kind: definition.Type, definition: definition}
	if t, ok := s.engine.registry.Type(m.kind); ok {
		m.physicalID = joinedIdentifier(t, r.ResourceIdentifier)
	}
	return m
}

func joinedIdentifier(t *schema.Type, values map[string]string) string {
	parts := make([]string, len(t.PrimaryIdentifier))
	for i, path := range t.PrimaryIdentifier {
		parts[i] = values[path]
	}
	return strings.Join(parts, "|")
}

// readForImport reads a resource that is not in the stack.
func (s *stack) readForImport(m *member, token string) outcome {
	r := s.request(m, token)
	return s.call(OpRead, m, r, func(ctx context.Context, p resource.Provider, r resource.Request) (resource.Result, error) {
		live, err := p.Read(ctx, r)
		return resource.Result{Attributes: live}, err
	})
}

// unpack returns what was read.
func (o outcome) unpack() (map[string]any, error) { return o.Attributes, o.err }

// ownerOf returns the ID of the stack that has a resource, "" if none has it. It looks for the
// physical ID, or for the ARN: one queue may have several URLs.
func (s *stack) ownerOf(m *member, live map[string]any) (owner string) {
	has := func(other *stack) bool {
		for _, held := range other.members {
			arn, _ := held.attributes["Arn"].(string)
			same := held.physicalID == m.physicalID || arn != "" && arn == live["Arn"]
			if held != m && held.kind == m.kind && held.physicalID != "" && same && held.status != types.ResourceStatusDeleteComplete {
				return true
			}
		}
		return false
	}
	if has(s) {
		return s.id
	}
	s.outside(func() {
		for _, other := range s.space.live() {
			if other == s {
				continue
			}
			other.mu.Lock()
			found := other.live() && has(other)
			other.mu.Unlock()
			if found {
				owner = other.id
				return
			}
		}
	})
	return owner
}

// beginImport imports existing resources into the stack.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/import-resources.html
func (s *stack) beginImport(cs *changeSet) {
	now := s.engine.now()
	s.updated = &now
	if s.revision == nil {
		s.revision = cs.revision
	}
	s.setStatus(types.StackStatusImportInProgress, "User Initiated")
	s.post(func() { s.importAll(cs) })
}

func (s *stack) importAll(cs *changeSet) {
	if s.status != types.StackStatusImportInProgress {
		return
	}
	before, old := maps.Clone(s.members), s.revision
	s.revision = cs.revision
	wanted := map[string]types.ResourceToImport{}
	order := map[string][]string{}
	for _, r := range cs.imports {
		id := aws.ToString(r.LogicalResourceId)
		wanted[id] = r
		order[id] = cs.revision.dependencies[id]
	}
	s.startWalk(order, func(st *step) { s.importStep(st, wanted[st.id]) }, false, func(failed []string) {
		if len(failed) == 0 {
			if err := s.publishOutputs(s.revision); err == nil {
				s.stable = s.revision
				s.setStatus(types.StackStatusImportComplete, "")
				s.operationEnded(true, "")
				return
			}
		}
		reason := failureText("import", failed)
		s.setStatus(types.StackStatusImportRollbackInProgress, reason)
		s.post(func() { s.rollbackImport(wanted, before, old, reason) })
	})
}

// rollbackImport removes the resources from the stack again; they stay as they are.
func (s *stack) rollbackImport(
	wanted map[string]types.ResourceToImport, before map[string]*member, old *revision, reason string,
) {
	if s.status != types.StackStatusImportRollbackInProgress {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(wanted)) {
		if m := s.members[id]; m != nil {
			s.setMember(m, types.ResourceStatusImportRollbackInProgress, "")
			s.setMember(m, types.ResourceStatusImportRollbackComplete, "")
		}
	}
	s.members, s.revision = before, old
	s.setStatus(types.StackStatusImportRollbackComplete, "")
	s.operationEnded(false, reason)
}

// importStep reads one existing resource and adds it to the stack. Whether it exists and belongs to
// no stack is checked again, since it may have changed after the change set was created.
func (s *stack) importStep(st *step, r types.ResourceToImport) {
	m := s.imported(s.revision, r)
	s.members[st.id] = m
	s.setMember(m, types.ResourceStatusImportInProgress, "Resource import started.")
	fail := func(reason string) {
		s.setMember(m, types.ResourceStatusImportFailed, reason)
		st.fail()
	}
	properties, err := s.properties(s.scope(s.revision), m.definition)
	if err != nil {
		fail(err.Error())
		return
	}
	if text := s.validate(m, properties); text != "" {
		fail(text)
		return
	}
	m.properties, m.printed = properties, ""
	out := s.readForImport(m, st.token)
	owner := ""
	if out.err == nil {
		owner = s.ownerOf(m, out.Attributes)
	}
	s.after(out.latency, func() {
		switch {
		case !st.active():
		case out.err != nil:
			fail(handlerText(out.err, st.token))
		case owner != "":
			fail(inStack(m.physicalID, owner).Error())
		default:
			// The tags of the stack reach the resource with its next update.
			m.attributes = out.Attributes
			if ref, ok := simulated.Ref(m.kind, out.Attributes); ok {
				m.physicalID = ref
			}
			s.setMember(m, types.ResourceStatusImportComplete, "Resource import completed.")
			st.succeed()
		}
	})
}

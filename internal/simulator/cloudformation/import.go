package cloudformation

import (
	"context"
	"maps"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

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
		reason := "The following resource(s) failed to import: " + "[" + strings.Join(failed, ", ") + "]. "
		s.setStatus(types.StackStatusImportRollbackInProgress, reason)
		s.members, s.revision = before, old
		s.setStatus(types.StackStatusImportRollbackComplete, "")
		s.operationEnded(false, reason)
	})
}

// importStep reads one existing resource and adds it to the stack.
func (s *stack) importStep(st *step, r types.ResourceToImport) {
	definition := s.revision.template.Resources[st.id]
	m := &member{id: st.id, kind: definition.Type, definition: definition, physicalID: s.identifierOf(r, definition.Type)}
	s.members[st.id] = m
	s.setMember(m, types.ResourceStatusImportInProgress, "Resource import started.")
	properties, err := s.properties(s.scope(s.revision), definition)
	if err != nil {
		s.setMember(m, types.ResourceStatusImportFailed, err.Error())
		st.fail()
		return
	}
	m.properties, m.printed = properties, ""
	req := s.request(m, st.token)
	req.Properties = properties
	out := s.call(OpRead, m, req, func(ctx context.Context, p resource.Provider, r resource.Request) (resource.Result, error) {
		live, err := p.Read(ctx, r)
		return resource.Result{Attributes: live}, err
	})
	s.after(out.latency, func() {
		if !st.active() {
			return
		}
		if out.err != nil {
			s.setMember(m, types.ResourceStatusImportFailed, handlerText(out.err, st.token))
			st.fail()
			return
		}
		m.attributes, m.tags = out.Attributes, s.tagsFor(s.revision, m.id)
		s.setMember(m, types.ResourceStatusImportComplete, "Resource import completed.")
		s.setMember(m, types.ResourceStatusUpdateInProgress, "Apply stack-level tags to imported resource if applicable.")
		s.setMember(m, types.ResourceStatusUpdateComplete, "")
		st.succeed()
	})
}

// identifierOf joins the parts of an import's identifier in the order of the schema.
func (s *stack) identifierOf(r types.ResourceToImport, kind string) string {
	t, ok := s.engine.registry.Type(kind)
	if !ok || len(t.PrimaryIdentifier) != len(r.ResourceIdentifier) {
		return importedID(r)
	}
	return joinedIdentifier(t, r.ResourceIdentifier)
}

func joinedIdentifier(t *schema.Type, values map[string]string) string {
	parts := make([]string, len(t.PrimaryIdentifier))
	for i, path := range t.PrimaryIdentifier {
		parts[i] = values[path]
	}
	return strings.Join(parts, "|")
}

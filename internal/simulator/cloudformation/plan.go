package cloudformation

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation/eval"
	"github.com/aws-operator/aws-operator/internal/simulator/property"
)

// planner computes what a revision would change, without changing anything.
type planner struct {
	s   *stack
	rev *revision
	// moved are the resources whose Ref is unknown before execution; touched are those whose
	// attributes are unknown.
	moved, touched map[string]bool
	changes        []types.ResourceChange
	// reversal has the actual state for a drift-aware change set; nil for others.
	reversal *reversal
}

// plan returns the changes of a revision, ordered by logical ID, and whether outputs would change.
// With a reversal, the changes are those of the actual state.
func (s *stack) plan(rev *revision, actual *reversal) (changes []types.ResourceChange, outputs bool, err error) {
	p := &planner{s: s, rev: rev, moved: map[string]bool{}, touched: map[string]bool{}, reversal: actual}
	for _, id := range inOrder(rev.before()) {
		if err := p.visit(id); err != nil {
			return nil, false, err
		}
	}
	active := rev.activeIDs()
	for id, m := range s.members {
		if !active[id] && m.physicalID != "" && m.status != types.ResourceStatusDeleteComplete {
			p.changes = append(p.changes, types.ResourceChange{
				Action: types.ChangeActionRemove, LogicalResourceId: aws.String(id),
				PhysicalResourceId: aws.String(m.physicalID), ResourceType: aws.String(m.kind), PolicyAction: removalPolicy(m),
				BeforeContext: aws.String(compact(map[string]any{"Properties": m.properties})),
			})
		}
	}
	slices.SortFunc(p.changes, func(a, b types.ResourceChange) int {
		return strings.Compare(*a.LogicalResourceId, *b.LogicalResourceId)
	})
	return p.changes, p.outputsChange(), nil
}

func removalPolicy(m *member) types.PolicyAction {
	if m.definition != nil {
		switch m.definition.DeletionPolicy {
		case "Retain", "RetainExceptOnCreate":
			return types.PolicyActionRetain
		case "Snapshot":
			return types.PolicyActionSnapshot
		}
	}
	return types.PolicyActionDelete
}

// inOrder sorts IDs so that each comes after its dependencies.
func inOrder(before map[string][]string) []string {
	var out []string
	done := map[string]bool{}
	var visit func(string)
	visit = func(id string) {
		if done[id] {
			return
		}
		done[id] = true
		for _, needed := range before[id] {
			if _, ok := before[needed]; ok {
				visit(needed)
			}
		}
		out = append(out, id)
	}
	for _, id := range slices.Sorted(maps.Keys(before)) {
		visit(id)
	}
	return out
}

// scope returns the stack's scope with the values that only execution determines unknown.
func (p *planner) scope() *eval.Scope {
	sc := p.s.scope(p.rev)
	ref, att := sc.Ref, sc.GetAtt
	sc.Ref = func(id string) (any, error) {
		if p.moved[id] {
			return eval.Unknown{Resource: id}, nil
		}
		return ref(id)
	}
	sc.GetAtt = func(id, attribute string) (any, error) {
		if p.moved[id] || p.touched[id] {
			return eval.Unknown{Resource: id, Attribute: attribute}, nil
		}
		return att(id, attribute)
	}
	return sc
}

func (p *planner) visit(id string) error {
	definition := p.rev.template.Resources[id]
	m := p.s.members[id]
	found := p.actual(id)
	if m == nil || m.physicalID == "" || m.status == types.ResourceStatusDeleteComplete || found.deleted() {
		p.moved[id] = true
		properties, err := p.s.properties(p.scope(), definition)
		if err != nil {
			return err
		}
		change := types.ResourceChange{
			Action: types.ChangeActionAdd, LogicalResourceId: aws.String(id), ResourceType: aws.String(definition.Type),
			AfterContext: aws.String(contextOf(properties)),
		}
		found.show(m, &change)
		p.changes = append(p.changes, change)
		return nil
	}
	properties, err := p.s.properties(p.scope(), definition)
	if err != nil {
		return err
	}
	before := found.before(m)
	details := found.annotate(m, properties, p.propertyDetails(m, definition, before, properties))
	details = append(details, p.attributeDetails(m, definition)...)
	if len(details) == 0 {
		return nil
	}
	change := types.ResourceChange{
		Action: types.ChangeActionModify, LogicalResourceId: aws.String(id), PhysicalResourceId: aws.String(m.physicalID),
		ResourceType: aws.String(m.kind), Details: details, Replacement: replacementOf(details), Scope: scopeOf(details),
		BeforeContext: aws.String(compact(map[string]any{"Properties": before})), AfterContext: aws.String(contextOf(properties)),
	}
	found.show(m, &change)
	if change.Replacement == types.ReplacementTrue {
		change.PolicyAction = types.PolicyActionReplaceAndDelete
		if definition.UpdateReplacePolicy == "Retain" {
			change.PolicyAction = types.PolicyActionReplaceAndRetain
		}
	}
	p.moved[id] = change.Replacement != types.ReplacementFalse && change.Action != types.ChangeActionSyncWithActual
	p.touched[id] = change.Action != types.ChangeActionSyncWithActual
	p.changes = append(p.changes, change)
	return nil
}

// afterApply is AWS's placeholder for a value that only execution determines.
const afterApply = "{{changeSet:KNOWN_AFTER_APPLY}}"

func contextOf(properties map[string]any) string {
	return compact(map[string]any{"Properties": shown(properties)})
}

func shown(v any) any {
	switch v := v.(type) {
	case eval.Unknown:
		return afterApply
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, item := range v {
			out[k] = shown(item)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = shown(item)
		}
		return out
	}
	return v
}

func replacementOf(details []types.ResourceChangeDetail) types.Replacement {
	out := types.ReplacementFalse
	for _, d := range details {
		switch {
		case d.Target.RequiresRecreation == types.RequiresRecreationAlways && d.Evaluation == types.EvaluationTypeStatic:
			return types.ReplacementTrue
		case d.Target.RequiresRecreation != types.RequiresRecreationNever && d.Target.RequiresRecreation != "":
			out = types.ReplacementConditional
		}
	}
	return out
}

func scopeOf(details []types.ResourceChangeDetail) []types.ResourceAttribute {
	var out []types.ResourceAttribute
	for _, d := range details {
		if !slices.Contains(out, d.Target.Attribute) {
			out = append(out, d.Target.Attribute)
		}
	}
	return out
}

// propertyDetails returns the changed properties, the causes of the changes and what they require.
func (p *planner) propertyDetails(
	m *member, definition *template.Resource, now, properties map[string]any,
) []types.ResourceChangeDetail {
	t, _ := p.s.engine.registry.Type(m.kind)
	var out []types.ResourceChangeDetail
	for _, path := range changedPaths(now, properties) {
		before, after := at(now, path), at(properties, path)
		d := types.ResourceChangeDetail{
			Evaluation: types.EvaluationTypeStatic, ChangeSource: types.ChangeSourceDirectModification,
			Target: &types.ResourceTargetDefinition{
				Attribute: types.ResourceAttributeProperties, Name: aws.String(path[0]),
				Path:                aws.String("/Properties/" + strings.Join(path, "/")),
				RequiresRecreation:  recreation(t, path),
				AttributeChangeType: changeType(before, after),
				BeforeValue:         valueText(before), AfterValue: valueText(after),
			},
		}
		p.explain(&d, m, definition, path[0], after)
		out = append(out, d)
	}
	return out
}

func at(v any, path []string) any {
	for _, part := range path {
		object, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = object[part]
	}
	return v
}

func recreation(t *schema.Type, path []string) types.RequiresRecreation {
	switch {
	case t == nil:
		return types.RequiresRecreationNever
	case t.IsCreateOnly(path):
		return types.RequiresRecreationAlways
	case slices.Contains(t.ConditionalCreateOnly, strings.Join(path, "/")):
		return types.RequiresRecreationConditionally
	}
	return types.RequiresRecreationNever
}

func changeType(before, after any) types.AttributeChangeType {
	switch {
	case before == nil:
		return types.AttributeChangeTypeAdd
	case after == nil:
		return types.AttributeChangeTypeRemove
	}
	return types.AttributeChangeTypeModify
}

func valueText(v any) *string {
	if v == nil {
		return nil
	}
	if _, unknown := v.(eval.Unknown); unknown {
		return aws.String(afterApply)
	}
	if text, ok := property.Text(v); ok {
		return aws.String(text)
	}
	return aws.String(compact(shown(v)))
}

// explain sets the cause of a change: the template, a parameter, or another resource.
func (p *planner) explain(d *types.ResourceChangeDetail, m *member, definition *template.Resource, property string, after any) {
	if u, unknown := eval.Contains(after); unknown {
		d.Evaluation = types.EvaluationTypeDynamic
		d.ChangeSource, d.CausingEntity = types.ChangeSourceResourceReference, aws.String(u.Resource)
		if u.Attribute != "" {
			d.ChangeSource, d.CausingEntity = types.ChangeSourceResourceAttribute, aws.String(u.Resource+"."+u.Attribute)
		}
		return
	}
	now := definition.Properties.Get(property)
	if now == nil || m.definition == nil || !sameNode(now, m.definition.Properties.Get(property)) || p.s.revision == nil {
		return
	}
	for _, ref := range now.References() {
		before, was := p.s.revision.parameters[ref.Target]
		value, is := p.rev.parameters[ref.Target]
		if was && is && !reflect.DeepEqual(before.Value, value.Value) {
			d.ChangeSource, d.CausingEntity = types.ChangeSourceParameterReference, aws.String(ref.Target)
			return
		}
	}
}

// attributeDetails returns the changes of attributes other than properties.
func (p *planner) attributeDetails(m *member, definition *template.Resource) []types.ResourceChangeDetail {
	var out []types.ResourceChangeDetail
	add := func(attribute types.ResourceAttribute) {
		out = append(out, types.ResourceChangeDetail{
			Evaluation: types.EvaluationTypeStatic, ChangeSource: types.ChangeSourceDirectModification,
			Target: &types.ResourceTargetDefinition{Attribute: attribute, RequiresRecreation: types.RequiresRecreationNever},
		})
	}
	if p.s.tagsReach(m.kind) && m.tags != nil && !maps.Equal(m.tags, p.s.tagsFor(p.rev, m.id)) {
		add(types.ResourceAttributeTags)
	}
	old := m.definition
	if old == nil {
		return out
	}
	for _, attribute := range []struct {
		name types.ResourceAttribute
		same bool
	}{
		{types.ResourceAttributeMetadata, sameNode(old.Metadata, definition.Metadata)},
		{types.ResourceAttributeCreationPolicy, sameNode(old.CreationPolicy, definition.CreationPolicy)},
		{types.ResourceAttributeUpdatePolicy, sameNode(old.UpdatePolicy, definition.UpdatePolicy)},
		{types.ResourceAttributeDeletionPolicy, old.DeletionPolicy == definition.DeletionPolicy},
		{types.ResourceAttributeUpdateReplacePolicy, old.UpdateReplacePolicy == definition.UpdateReplacePolicy},
	} {
		if !attribute.same {
			add(attribute.name)
		}
	}
	return out
}

// outputsChange compares the outputs as far as they are known.
func (p *planner) outputsChange() bool {
	sc := p.scope()
	wanted := map[string]string{}
	for name, o := range p.rev.template.Outputs {
		if !sc.Active(o.Condition) {
			continue
		}
		v, err := sc.Value(o.Value)
		if err != nil {
			return true
		}
		text, _ := property.Text(v)
		if o.ExportName != nil {
			exportName, err := sc.Value(o.ExportName)
			if err != nil {
				return true
			}
			asText, _ := property.Text(exportName)
			text += "\x00" + asText
		}
		wanted[name] = text
	}
	have := map[string]string{}
	for _, o := range p.s.outputs {
		text := aws.ToString(o.OutputValue)
		if o.ExportName != nil {
			text += "\x00" + *o.ExportName
		}
		have[aws.ToString(o.OutputKey)] = text
	}
	return !maps.Equal(wanted, have)
}

// noChange reports whether a revision would change nothing.
func (s *stack) noChange(rev *revision) bool {
	if s.undo != nil || s.stable == nil {
		return false
	}
	if !sameTags(s.revision.tags, rev.tags) || !slices.Equal(s.revision.notificationARNs, rev.notificationARNs) {
		return false
	}
	changes, outputs, err := s.plan(rev, nil)
	return err == nil && len(changes) == 0 && !outputs && !s.nestedMayChange(rev)
}

// nestedMayChange reports whether the stack has nested stacks: their templates are at URLs, so
// CloudFormation always updates them.
func (s *stack) nestedMayChange(rev *revision) bool {
	for _, r := range rev.template.Resources {
		if r.Type == stackType {
			return true
		}
	}
	return false
}

func sameTags(a, b []types.Tag) bool {
	flat := func(tags []types.Tag) map[string]string {
		out := map[string]string{}
		for _, t := range tags {
			out[aws.ToString(t.Key)] = aws.ToString(t.Value)
		}
		return out
	}
	return maps.Equal(flat(a), flat(b))
}

// page returns one page of a list. The token is the position of the next page.
func page[T any](items []T, token *string, size int) (part []T, next *string, err error) {
	start := 0
	if token != nil {
		n, convErr := strconv.Atoi(*token)
		if convErr != nil || n < 0 || n > len(items) {
			return nil, nil, invalid("NextToken is invalid")
		}
		start = n
	}
	end := min(start+size, len(items))
	if end < len(items) {
		next = aws.String(strconv.Itoa(end))
	}
	return items[start:end], next, nil
}

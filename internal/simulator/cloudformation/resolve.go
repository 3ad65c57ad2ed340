package cloudformation

import (
	"context"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation/eval"
	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation/simulated"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// scope returns a scope that evaluates a revision against the current resources.
func (s *stack) scope(rev *revision) *eval.Scope {
	sc := s.staticScope(rev)
	sc.Ref = func(id string) (any, error) {
		m := s.members[id]
		if m == nil || m.physicalID == "" {
			return nil, eval.Errorf(
				"Template format error: Unresolved resource dependencies [%s] in the Resources block of the template", id,
			)
		}
		return m.physicalID, nil
	}
	sc.GetAtt = func(id, attribute string) (any, error) { return s.attribute(id, attribute) }
	return sc
}

// staticScope returns a scope that evaluates what does not depend on resources.
func (s *stack) staticScope(rev *revision) *eval.Scope {
	values := make(map[string]any, len(rev.parameters))
	for name, v := range rev.parameters {
		values[name] = v.Value
	}
	topics := make([]any, 0, len(rev.notificationARNs))
	for _, topic := range rev.notificationARNs {
		topics = append(topics, topic)
	}
	return &eval.Scope{
		Template:   rev.template,
		Parameters: values,
		Conditions: rev.conditions,
		Pseudo: map[string]any{
			"AWS::AccountId": s.space.Account, "AWS::Region": s.space.Region, "AWS::Partition": s.engine.partition(),
			"AWS::StackId": s.id, "AWS::StackName": s.name, "AWS::URLSuffix": "amazonaws.com", "AWS::NotificationARNs": topics,
		},
		Import: func(name string) (any, error) { return s.space.importValue(name) },
		Zones:  zones,
		Resolve: func(reference string) (string, error) {
			return s.engine.resolveReference(s.background(), s.space.Target, reference)
		},
	}
}

// zones returns the availability zones of a region.
func zones(region string) []string {
	return []string{region + "a", region + "b", region + "c"}
}

// attribute returns an attribute of a resource, and AWS's error if the resource does not have it:
// https://github.com/awsdocs/aws-cloudformation-user-guide/issues/1048
// https://github.com/aws-cloudformation/cloudformation-coverage-roadmap/issues/1920
func (s *stack) attribute(id, name string) (any, error) {
	m := s.members[id]
	if m == nil {
		return nil, eval.Errorf("Template error: instance of Fn::GetAtt references undefined resource %s", id)
	}
	if v, ok := m.attributes[name]; ok {
		return v, nil
	}
	var value any = m.attributes
	for part := range strings.SplitSeq(name, ".") {
		object, ok := value.(map[string]any)
		if !ok {
			value = nil
			break
		}
		value = object[part]
	}
	if value != nil {
		return value, nil
	}
	return nil, eval.Errorf("Attribute '%s' does not exist", name)
}

// resolveReference resolves a dynamic reference "service:key:version".
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/dynamic-references.html
func (e *Engine) resolveReference(ctx context.Context, p wire.Target, reference string) (string, error) {
	service, rest, _ := strings.Cut(reference, ":")
	if service != "ssm" || e.options.SSMParameter == nil {
		return "", eval.Errorf("Dynamic reference {{resolve:%s}} is not supported: the simulator resolves ssm only", reference)
	}
	v, err := e.options.SSMParameter(ctx, p.Account, p.Region, rest)
	if err != nil {
		return "", eval.Errorf("Parameters: [ssm:%s] cannot be found.", rest)
	}
	return v, nil
}

// properties evaluates a resource's properties and converts them to the schema's types.
func (s *stack) properties(sc *eval.Scope, definition *template.Resource) (map[string]any, error) {
	v, err := sc.Value(definition.Properties)
	if err != nil {
		return nil, err
	}
	properties, _ := v.(map[string]any)
	if properties == nil {
		properties = map[string]any{}
	}
	if t, ok := s.engine.registry.Type(definition.Type); ok {
		return simulated.Coerce(t, properties), nil
	}
	return properties, nil
}

// activeIDs returns the resources of a revision whose condition holds.
func (rev *revision) activeIDs() map[string]bool {
	out := make(map[string]bool, len(rev.template.Resources))
	for id, r := range rev.template.Resources {
		if r.Condition == "" || rev.conditions[r.Condition] {
			out[id] = true
		}
	}
	return out
}

// before returns the dependencies of the active resources.
func (rev *revision) before() map[string][]string {
	out := map[string][]string{}
	for id := range rev.activeIDs() {
		out[id] = rev.dependencies[id]
	}
	return out
}

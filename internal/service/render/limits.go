package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/dynamic"
	cfntemplate "github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/grant"
	"github.com/aws-operator/aws-operator/internal/service/model"
)

// Limits bound what an object may have the operator do with its permissions in AWS: the author of an object has none of
// their own. The zero value allows nothing beyond what models do. Where a person acts with their own credentials there
// are no limits.
type Limits struct {
	// TemplateTypes are the resource types that templates of users may have, each a name or a beginning with * at the
	// end. Empty refuses every such template.
	TemplateTypes []string
	// TemplateNamespaces are the namespaces whose templates objects of all namespaces may use. Others use their own only.
	TemplateNamespaces []string
	// Foreign are the resources that were not made in a namespace and that its objects may name.
	Foreign []grant.Grant
	// OwnPrefix begins the names of the operator's own resources, which no grant includes.
	OwnPrefix string
}

// guarded begin types that no general pattern allows. They make permissions, run what the author brings, or read what is not in the
// template: a pattern must begin with at least as much.
var guarded = []string{"AWS::IAM::", "AWS::CloudFormation::", "AWS::SSM::Parameter::", "Custom::"}

// attached end types that act on resources of others, named by ARN or URL; only their own name allows them.
var attached = []string{"Policy", "Permission", "::MODULE", "AWS::SNS::Subscription"}

// allowsType reports whether a type of a user's template is allowed.
func (l *Limits) allowsType(name string) bool {
	return slices.ContainsFunc(l.TemplateTypes, func(pattern string) bool {
		if pattern == name {
			return true
		}
		if !grant.Matches(pattern, name) || slices.ContainsFunc(attached, func(end string) bool { return strings.HasSuffix(name, end) }) {
			return false
		}
		return !slices.ContainsFunc(guarded, func(beginning string) bool {
			return strings.HasPrefix(name, beginning) && !strings.HasPrefix(pattern, beginning)
		})
	})
}

// allowsNamespace reports whether objects of a namespace may use templates of another.
func (l *Limits) allowsNamespace(namespace, templates string) bool {
	return namespace == templates || slices.Contains(l.TemplateNamespaces, templates)
}

// RefusedError says that an object asks for more than its author may have the operator do.
type RefusedError struct {
	// Reason is one CamelCase word for a condition.
	Reason string
	// Message is a sentence that names the field or resource and the remedy.
	Message string
}

// Error returns the message.
func (e *RefusedError) Error() string { return e.Message }

// AllowsTemplates returns a *RefusedError unless objects of a namespace may use templates of users from another, or the same, one.
// No limits allow everything.
func (l *Limits) AllowsTemplates(namespace, templates string) error {
	switch {
	case l == nil:
		return nil
	case len(l.TemplateTypes) == 0:
		return &RefusedError{"UserTemplatesOff", "The operator makes no stacks from CloudFormationTemplates: " +
			"they act with its permissions. An administrator allows resource types by --user-templates-allowed-types; or leave out spec.cloudFormationTemplateName."}
	case !l.allowsNamespace(namespace, templates):
		return &RefusedError{"TemplateNotShared", fmt.Sprintf("Objects of namespace %s may not use the CloudFormationTemplates of namespace %s; "+
			"use one of your own namespace, or have an administrator add %[2]s to --user-templates-namespaces.", namespace, templates)}
	}
	return nil
}

// CheckTemplate returns a *RefusedError unless a user's template has only what is allowed. No limits allow everything.
func (l *Limits) CheckTemplate(t *cfntemplate.Template) error {
	if l == nil {
		return nil
	}
	var refused cfntemplate.Problems
	refuse := func(pos cfntemplate.Position, format string, args ...any) {
		if pos.File == "" {
			pos.File = t.File
		}
		refused = append(refused, cfntemplate.Problem{Pos: pos, Message: fmt.Sprintf(format, args...)})
	}
	for _, name := range slices.Sorted(maps.Keys(t.Resources)) {
		if r := t.Resources[name]; !l.allowsType(r.Type) {
			refuse(r.Pos, "resource %s is of type %s, which is not allowed; remove it, or have an administrator add %[2]s to --user-templates-allowed-types", name, r.Type)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Parameters)) {
		if p := t.Parameters[name]; strings.Contains(p.Type, "AWS::SSM::Parameter::") && !l.allowsType(p.Type) {
			refuse(p.Pos, "parameter %s is of type %s, which reads Systems Manager with the operator's permissions; make it a String, "+
				"or have an administrator add %[2]s to --user-templates-allowed-types", name, p.Type)
		}
	}
	for _, name := range t.Transforms {
		if !slices.Contains(l.TemplateTypes, name) {
			refuse(cfntemplate.Position{}, "transform %s is not allowed, since it makes resources that the template does not show; remove it, "+
				"or have an administrator add %[1]s to --user-templates-allowed-types", name)
		}
	}
	for section := range t.Macros {
		refuse(cfntemplate.Position{}, "a macro in section %q is not allowed, since it makes resources that the template does not show; write them out", section)
	}
	refuseFunctions(t, refuse)
	refused = append(refused, dynamic.Pieces(t)...)
	if len(refused) == 0 {
		return nil
	}
	return &RefusedError{"TemplateNotAllowed", "The operator makes no stack from this template: " + refused.Sentence()}
}

// refuseFunctions refuses the functions that read other stacks or put in what the template does not show.
func refuseFunctions(t *cfntemplate.Template, refuse func(pos cfntemplate.Position, format string, args ...any)) {
	t.Node().Walk(func(n *cfntemplate.Node) bool {
		if n.Kind == cfntemplate.Intrinsic && n.Func == "Fn::ImportValue" {
			refuse(n.Pos, "Fn::ImportValue reads outputs of stacks that are not this object's; write the value into the spec")
		}
		if n.Kind == cfntemplate.Intrinsic && n.Func == "Fn::Transform" || n.Kind == cfntemplate.Map && slices.ContainsFunc(n.Fields, isTransform) {
			refuse(n.Pos, "Fn::Transform is not allowed, since it puts in what the template does not show; write it out")
		}
		return true
	})
}

func isTransform(f cfntemplate.Field) bool { return f.Key == "Fn::Transform" }

// checkSpec returns a *RefusedError if a value of the spec is, or may become, a dynamic reference of CloudFormation.
func (l *Limits) checkSpec(m *model.Model, spec map[string]any) error {
	if l == nil {
		return nil
	}
	allowed := make([]string, len(m.DynamicReferences))
	for i, field := range m.DynamicReferences {
		allowed[i] = "spec." + field
	}
	found := dynamic.Values("spec", spec, allowed)
	if len(found) == 0 {
		return nil
	}
	if f := found[0]; f.Function != "" {
		return &RefusedError{"FunctionNotAllowed", fmt.Sprintf("%s calls a function of CloudFormation, which a spec may not; write the value itself.", f.Field)}
	}
	return &RefusedError{"DynamicReferenceNotAllowed", fmt.Sprintf("%s holds a dynamic reference ({{resolve:…}}), or a piece of one, "+
		"which would read secrets with the operator's permissions; write the value itself. An administrator allows a field by dynamicReferences of its ModelDefinition.", found[0].Field)}
}

// checkRendered returns a *RefusedError if what a model's template made of a spec has a dynamic reference that the model does not write.
func (l *Limits) checkRendered(m *model.Model, desired *Desired) error {
	if l == nil || len(m.DynamicReferences) > 0 || dynamic.In(m.Template.Source()) {
		return nil
	}
	problems := dynamic.Complete(desired.Template)
	for _, name := range slices.Sorted(maps.Keys(desired.Parameters)) {
		if dynamic.In(desired.Parameters[name]) {
			problems = append(problems, cfntemplate.Problem{Message: "parameter " + name + " has a dynamic reference ({{resolve:…}})"})
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return &RefusedError{"DynamicReferenceNotAllowed", "The spec becomes a template that would read secrets with the operator's permissions: " + problems.Sentence()}
}

// foreign returns the AWS resources that an object names and its namespace did not make, or a *RefusedError.
func (l *Limits) foreign(m *model.Model, namespace string, data map[string]any) ([]Foreign, error) {
	var found []Foreign
	for _, f := range m.Foreign {
		arn, err := f.ARN.Execute(data)
		if err != nil {
			return nil, fmt.Errorf("find the resource of %s: %w", f.Field, err)
		}
		if arn = strings.TrimSpace(arn); arn == "" {
			continue
		}
		switch name := arn[strings.LastIndex(arn, ":")+1:]; {
		case l == nil:
		case l.OwnPrefix != "" && strings.HasPrefix(name, l.OwnPrefix):
			return nil, &RefusedError{"OperatorsOwn", fmt.Sprintf("%s names %s, which is the operator's own; name another resource.", f.Field, arn)}
		case !grant.Allows(l.Foreign, namespace, arn):
			return nil, &RefusedError{"ForeignResource", fmt.Sprintf("%s names %s, which no object of namespace %s made; name an object of the namespace, "+
				"or have an administrator start the operator with --allow-foreign=%[3]s=%[2]s.", f.Field, arn, namespace)}
		}
		found = append(found, Foreign{Name: f.Name, ARN: arn})
	}
	return found, nil
}

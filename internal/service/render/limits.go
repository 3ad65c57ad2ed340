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

// Limits restrict what an object may make the operator do with its permissions in AWS, because the
// author of an object has none. The zero value allows nothing beyond what models do. Users who act
// with their own credentials have no limits.
type Limits struct {
	// TemplateTypes are the resource types that user templates may contain, each a name or a prefix
	// followed by *. Empty refuses every user template.
	TemplateTypes []string
	// TemplateNamespaces are the namespaces whose templates all objects may use. Other templates
	// may be used only in their own namespace.
	TemplateNamespaces []string
	// Foreign are the resources that objects of a namespace may reference although it did not
	// create them.
	Foreign []grant.Grant
	// Adoption are the resources that objects of a namespace may adopt: each a type, a slash and a
	// primary identifier.
	Adoption []grant.Grant
	// OwnPrefix is the prefix of the names of the operator's own resources, which no grant
	// includes.
	OwnPrefix string
}

// guarded are prefixes of types that no general pattern allows, because they grant permissions, run
// the author's code, or read what is not in the template. A pattern must contain at least the whole
// prefix.
var guarded = []string{"AWS::IAM::", "AWS::CloudFormation::", "AWS::SSM::Parameter::", "Custom::"}

// attached are suffixes of types that change resources of others, named by ARN or URL; only their
// exact name allows them.
var attached = []string{"Policy", "Permission", "::MODULE", "AWS::SNS::Subscription"}

// allowsType reports whether user templates may contain a type.
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

// allowsNamespace reports whether objects of a namespace may use templates of another namespace.
func (l *Limits) allowsNamespace(namespace, templates string) bool {
	return namespace == templates || slices.Contains(l.TemplateNamespaces, templates)
}

// RefusedError means that an object exceeds the limits.
type RefusedError struct {
	// Reason is a CamelCase word for a condition.
	Reason string
	// Message is a sentence that names the field or resource and what to do.
	Message string
}

// Error returns the message.
func (e *RefusedError) Error() string { return e.Message }

// AllowsTemplates returns a *RefusedError unless objects of a namespace may use the user templates
// of a namespace. Nil limits allow everything.
func (l *Limits) AllowsTemplates(namespace, templates string) error {
	switch {
	case l == nil:
		return nil
	case len(l.TemplateTypes) == 0:
		return &RefusedError{"UserTemplatesOff", "The operator does not create stacks from CloudFormationTemplates, " +
			"because they act with its permissions. Remove spec.cloudFormationTemplateName, or have an administrator allow resource types by --user-templates-allowed-types."}
	case !l.allowsNamespace(namespace, templates):
		return &RefusedError{
			"TemplateNotShared",
			fmt.Sprintf("spec.cloudFormationTemplateNamespace: objects of namespace %s may not use the CloudFormationTemplates of namespace %s; "+
				"use one of their own namespace, or have an administrator add %[2]s to --user-templates-namespaces.", namespace, templates),
		}
	}
	return nil
}

// CheckTemplate returns a *RefusedError if a user template contains what is not allowed. Nil limits
// allow everything.
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
			refuse(
				r.Pos,
				"resource %s is of type %s, which is not allowed; remove it, or have an administrator add %[2]s to --user-templates-allowed-types",
				name,
				r.Type,
			)
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
			refuse(
				cfntemplate.Position{},
				"transform %s is not allowed, because it creates resources that are not in the template; remove it, "+
					"or have an administrator add %[1]s to --user-templates-allowed-types",
				name,
			)
		}
	}
	for section := range t.Macros {
		refuse(
			cfntemplate.Position{},
			"a macro in section %q is not allowed, because it creates resources that are not in the template; write them out",
			section,
		)
	}
	refuseFunctions(t, refuse)
	refused = append(refused, dynamic.Pieces(t)...)
	if len(refused) == 0 {
		return nil
	}
	return &RefusedError{"TemplateNotAllowed", "The operator does not create a stack from this template: " + refused.Sentence()}
}

// refuseFunctions refuses functions that read other stacks or insert what is not in the template.
func refuseFunctions(t *cfntemplate.Template, refuse func(pos cfntemplate.Position, format string, args ...any)) {
	t.Node().Walk(func(n *cfntemplate.Node) bool {
		if n.Kind == cfntemplate.Intrinsic && n.Func == "Fn::ImportValue" {
			refuse(n.Pos, "Fn::ImportValue reads outputs of stacks of other owners; write the value into the spec")
		}
		if n.Kind == cfntemplate.Intrinsic && n.Func == "Fn::Transform" ||
			n.Kind == cfntemplate.Map && slices.ContainsFunc(n.Fields, isTransform) {
			refuse(n.Pos, "Fn::Transform is not allowed, because it inserts what is not in the template; write it out")
		}
		return true
	})
}

func isTransform(f cfntemplate.Field) bool { return f.Key == "Fn::Transform" }

// checkSpec returns a *RefusedError if a value of the spec is, or may become, a dynamic reference
// of CloudFormation.
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
		return &RefusedError{
			"FunctionNotAllowed",
			fmt.Sprintf("%s calls a function of CloudFormation, which is not allowed in a spec; write the value itself.", f.Field),
		}
	}
	return &RefusedError{"DynamicReferenceNotAllowed", fmt.Sprintf("%s holds a dynamic reference ({{resolve:…}}), or a piece of one, "+
		"which would read secrets with the operator's permissions; write the value itself if it is no secret, or have an administrator add the field to dynamicReferences of the ModelDefinition.", found[0].Field)}
}

// checkRendered returns a *RefusedError if the rendered template has a dynamic reference that the
// model does not contain.
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
	return &RefusedError{
		"DynamicReferenceNotAllowed",
		"The spec renders to a template that would read secrets with the operator's permissions: " + problems.Sentence(),
	}
}

// checkSecrets returns a *RefusedError if the template of a model contains a secret as plain text:
// every reader of the stack could read it.
func checkSecrets(m *model.Model, t *cfntemplate.Template) error {
	secrets := m.PlainSecrets(t)
	if len(secrets) == 0 {
		return nil
	}
	const remedy = "Take it from a Secret by spec.valuesFrom, or store it in Secrets Manager, and write a dynamic reference, such as {{resolve:secretsmanager:NAME:SecretString:KEY}}."
	s := secrets[0]
	if s.Field == "" {
		return &RefusedError{"PlainTextSecret", fmt.Sprintf("Property %s of resource %s is a secret, which the stack's template would contain "+
			"as plain text. %s The ModelDefinition %s must allow a dynamic reference by its field in spec.dynamicReferences.", s.Property, s.Resource, remedy, m.Name)}
	}
	message := fmt.Sprintf("spec.%s is a secret, which the stack's template would contain as plain text. %s", s.Field, remedy)
	if field, _, _ := strings.Cut(s.Field, "["); !slices.Contains(m.DynamicReferences, field) {
		message += fmt.Sprintf(" An administrator must allow a dynamic reference by %s in spec.dynamicReferences of the ModelDefinition %s.", field, m.Name)
	}
	return &RefusedError{"PlainTextSecret", message}
}

// foreign returns the AWS resources that an object references and its namespace did not create, or
// a *RefusedError.
func (l *Limits) foreign(m *model.Model, namespace string, data map[string]any) ([]Foreign, error) {
	var found []Foreign
	for _, f := range m.Foreign {
		text, err := f.ARN.Execute(data)
		if err != nil {
			return nil, fmt.Errorf("find the resource of %s: %w", f.Field, err)
		}
		for arn := range strings.FieldsSeq(text) {
			if err := l.checkForeign(f.Field, namespace, arn); err != nil {
				return nil, err
			}
			found = append(found, Foreign{Name: f.Name, ARN: arn})
		}
	}
	return found, nil
}

// checkForeign returns a *RefusedError unless objects of a namespace may reference a resource.
func (l *Limits) checkForeign(field, namespace, arn string) error {
	switch name := arn[strings.LastIndex(arn, ":")+1:]; {
	case l == nil:
	case l.OwnPrefix != "" && strings.HasPrefix(name, l.OwnPrefix):
		return &RefusedError{
			"OperatorsOwn",
			fmt.Sprintf("%s names %s, which belongs to the operator; name another resource.", field, arn),
		}
	case !grant.Allows(l.Foreign, namespace, arn):
		return &RefusedError{
			"ForeignResource",
			fmt.Sprintf("%s names %s, which no object of namespace %s created; name an object of the namespace, "+
				"or have an administrator start the operator with --allow-foreign=%[3]s=%[2]s.", field, arn, namespace),
		}
	}
	return nil
}

package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	cfntemplate "github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/lazyregexp"
)

// GrantsField is the field of the spec that grants access to service accounts. Only kinds with
// access levels have it.
const GrantsField = "grants"

// ObjectGrantsField is the field of the spec that grants access to objects with a role of their own.
// Only kinds with access levels have it.
const ObjectGrantsField = "objectGrants"

// AccessLevel is what a service account, or an object with a role, may do with the resources of an object's stack.
type AccessLevel struct {
	// Name is the value of access in the spec, Description its description for kubectl explain.
	Name, Description string
	// Statements are the permissions.
	Statements []AccessStatement
}

// AccessStatement allows actions on resources of the stack.
type AccessStatement struct {
	// Actions are IAM actions.
	Actions []string
	// Resources render the expressions of the resources' ARNs, or nothing.
	Resources []*Text
}

// AccessLevel returns the level of a name, or nil.
func (m *Model) AccessLevel(name string) *AccessLevel {
	for i := range m.AccessLevels {
		if m.AccessLevels[i].Name == name {
			return &m.AccessLevels[i]
		}
	}
	return nil
}

// AccessNames returns the names of the levels.
func (m *Model) AccessNames() []string {
	names := make([]string, len(m.AccessLevels))
	for i := range m.AccessLevels {
		names[i] = m.AccessLevels[i].Name
	}
	return names
}

// actionPattern is that of an IAM action without a wildcard. A wildcard would grant actions that AWS
// adds later.
var actionPattern = lazyregexp.New(`^[a-z0-9-]+:[A-Za-z][A-Za-z0-9]*$`)

// compileAccess compiles the access levels. The API server checks the same, but definitions are also
// read from files.
func (m *Model) compileAccess(spec *v1alpha1.ModelDefinitionSpec) error {
	for i, given := range spec.AccessLevels {
		at := fmt.Sprintf("spec.accessLevels[%d]", i)
		level := AccessLevel{Name: given.Name, Description: strings.TrimSpace(given.Description)}
		switch {
		case given.Name == "":
			return problem(m.Name, at+".name", "give the level a name, such as ReadWrite")
		case m.AccessLevel(given.Name) != nil:
			return problem(m.Name, at+".name", "there are two levels named "+given.Name+"; rename one of them")
		case len(given.Statements) == 0:
			return problem(m.Name, at+".statements", "the level allows nothing; add a statement, or remove the level")
		}
		for j := range given.Statements {
			statement, err := m.compileStatement(fmt.Sprintf("%s.statements[%d]", at, j), &given.Statements[j])
			if err != nil {
				return err
			}
			level.Statements = append(level.Statements, statement)
		}
		m.AccessLevels = append(m.AccessLevels, level)
	}
	return nil
}

func (m *Model) compileStatement(at string, given *v1alpha1.ModelAccessStatement) (AccessStatement, error) {
	statement := AccessStatement{Actions: slices.Sorted(slices.Values(given.Actions))}
	switch {
	case len(given.Actions) == 0:
		return statement, problem(m.Name, at+".actions", "the statement allows nothing; add an action, such as sqs:SendMessage")
	case len(given.Resources) == 0:
		return statement, problem(m.Name, at+".resources", "the statement is for no resource; add one, such as {Fn::GetAtt: [Queue, Arn]}")
	}
	for _, action := range given.Actions {
		if !actionPattern.MatchString(action) {
			return statement, problem(m.Name, at+".actions", fmt.Sprintf(
				"%q is not an IAM action without wildcards; write one such as sqs:SendMessage", action))
		}
	}
	for i, source := range given.Resources {
		compiled, err := ParseStackTemplate(fmt.Sprintf("%s.%s.resources[%d]", m.Name, at, i), source, nil)
		if err != nil {
			return statement, err
		}
		statement.Resources = append(statement.Resources, compiled)
	}
	return statement, nil
}

// Resource renders the expression of a resource; nil if it renders nothing. The error is
// cfntemplate.Problems unless the expression is one of a resource in the stack: a text, or a
// function without a reference to a resource of the template, could name any resource in AWS.
func Resource(text *Text, data map[string]any, t *cfntemplate.Template) (*cfntemplate.Node, error) {
	rendered, err := text.Execute(data)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(rendered) == "" {
		return nil, nil //nolint:nilnil // the object has no such resource
	}
	file := text.tmpl.Name()
	node, err := cfntemplate.ParseNode(file, []byte(rendered))
	if err != nil {
		return nil, fmt.Errorf("parse %s: %w", file, err)
	}
	refuse := func(format string, args ...any) error {
		return cfntemplate.Problems{{Pos: cfntemplate.Position{File: file}, Message: fmt.Sprintf(format, args...)}}
	}
	if node.Kind == cfntemplate.List || node.Kind == cfntemplate.Map {
		return nil, refuse("%s must be one expression, such as {Fn::GetAtt: [Queue, Arn]}; write one entry of resources for each", strings.TrimSpace(rendered))
	}
	var names []string
	found := false
	for _, reference := range node.References() {
		if t.Resources[reference.Target] != nil {
			found = true
			continue
		}
		if !strings.HasPrefix(reference.Target, "AWS::") {
			names = append(names, reference.Target)
		}
	}
	switch {
	case len(names) > 0:
		return nil, refuse("the template has no resource %s; name one of its resources", names[0])
	case !found:
		return nil, refuse("%s names no resource of the template; write an expression such as {Fn::GetAtt: [Queue, Arn]}", strings.TrimSpace(rendered))
	}
	return node, nil
}

// checkAccess checks that every resource of the access levels is an expression over the stack's
// resources, for at least one sample.
func (m *Model) checkAccess(registry *schema.Registry) cfntemplate.Problems {
	if len(m.AccessLevels) == 0 {
		return nil
	}
	var problems cfntemplate.Problems
	samples := m.sampleData()
	for _, level := range m.AccessLevels {
		for _, statement := range level.Statements {
			for _, resource := range statement.Resources {
				if err := m.checkResource(registry, resource, samples); err != nil {
					problems = append(problems, asProblems(m.Name, err)...)
				}
			}
		}
	}
	return problems
}

// checkResource returns the first error of a resource, unless a sample has none. A sample for which
// the template cannot be rendered says nothing.
func (m *Model) checkResource(registry *schema.Registry, resource *Text, samples []map[string]any) error {
	var first error
	for _, data := range samples {
		text, err := m.Template.Execute(data)
		if err != nil {
			continue
		}
		t, err := cfntemplate.Parse(m.Name, []byte(text))
		if err != nil {
			continue
		}
		node, err := Resource(resource, data, t)
		if err == nil && node != nil {
			err = hasAttributes(registry, node, t)
		}
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// hasAttributes checks the attributes of a resource's expression as they are checked in a template.
func hasAttributes(registry *schema.Registry, node *cfntemplate.Node, t *cfntemplate.Template) error {
	if registry == nil {
		return nil
	}
	trial := *t
	trial.Outputs = map[string]*cfntemplate.Output{"Resource": {Name: "Resource", Value: node}}
	for _, p := range registry.Validate(&trial) {
		if strings.HasPrefix(p.Path, "Outputs/") {
			p.Pos = node.Pos
			return cfntemplate.Problems{p}
		}
	}
	return nil
}

func asProblems(name string, err error) cfntemplate.Problems {
	if problems, ok := errors.AsType[cfntemplate.Problems](err); ok {
		return problems
	}
	return problem(name, "spec.accessLevels", err.Error())
}

// subdomain is the pattern of the names of most objects, see
// https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-subdomain-names.
const subdomain = `^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`

// grantsSchemas are the schemas of spec.grants and spec.objectGrants.
func (m *Model) grantsSchemas() map[string]apiextensionsv1.JSONSchemaProps {
	const most = 32
	items, length, kindLength, least := int64(most), int64(253), int64(maxKind), int64(1)
	access := apiextensionsv1.JSONSchemaProps{Type: "string", Description: "What may be done with the resource."}
	for _, level := range m.AccessLevels {
		raw, _ := json.Marshal(level.Name) // a string can be encoded
		access.Enum = append(access.Enum, apiextensionsv1.JSON{Raw: raw})
		if level.Description != "" {
			access.Description += " " + level.Name + ": " + level.Description
		}
	}
	grants := func(description string, keys map[string]apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
		list, names := "map", slices.Sorted(maps.Keys(keys))
		keys["access"] = access
		return apiextensionsv1.JSONSchemaProps{
			Type: "array", MaxItems: &items, XListType: &list, XListMapKeys: names, Nullable: true, Description: description,
			Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{
				Type: "object", Required: append(slices.Clone(names), "access"), Properties: keys,
			}},
		}
	}
	name := func(description string) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "string", Pattern: subdomain, MinLength: &least, MaxLength: &length, Description: description}
	}
	return map[string]apiextensionsv1.JSONSchemaProps{
		GrantsField: grants("The service accounts that may use the resource. Each gets a role with the permissions for exactly this resource, and its pods assume the role. Removing a grant takes the permissions away.",
			map[string]apiextensionsv1.JSONSchemaProps{
				"serviceAccount": name("The name of a service account in the object's namespace. It need not exist yet."),
			}),
		ObjectGrantsField: grants("The objects of the namespace that may use the resource, such as Lambdas: the operator adds the permissions for exactly this resource to their roles. Removing a grant takes the permissions away.",
			map[string]apiextensionsv1.JSONSchemaProps{
				"kind": {Type: "string", Pattern: "^[A-Z][A-Za-z0-9]*$", MaxLength: &kindLength, Description: "The kind of the object, whose objects have roles: Lambda, StepFunction, or a kind of a ModelDefinition with an executionRole."},
				"name": name("The name of the object. It need not exist yet."),
			}),
	}
}

// grantStatusSchema is the schema of status.grants.
func grantStatusSchema() apiextensionsv1.JSONSchemaProps {
	text := func(description string) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "string", Description: description}
	}
	return apiextensionsv1.JSONSchemaProps{
		Type: "array", XListType: atomic(),
		Description: "The service accounts and objects to which the object grants access, or granted it until what was made for that is deleted.",
		Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{
			Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
				"serviceAccount": text("The name of the service account."),
				"kind":           text("The kind of the object that has access, in place of a service account."),
				"name":           text("The name of that object."),
				"roleARN":        text("The ARN of the role."),
				"message":        text("Why the service account or object does not have the access yet; empty if it has it."),
			},
		}},
	}
}

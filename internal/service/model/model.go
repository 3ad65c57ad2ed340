package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/admit"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	cfntemplate "github.com/aws-operator/aws-operator/internal/cfn/template"
)

// Model is a compiled ModelDefinition.
type Model struct {
	// Name is the ModelDefinition's name, for messages about the template.
	Name string
	// Kind, Plural and ShortNames are the names of the kind.
	Kind, Plural string
	// ShortNames are the short names for kubectl.
	ShortNames []string
	// Description is the kind's description for kubectl explain.
	Description string
	// ResourceType is the CloudFormation type of the kind, empty for several.
	ResourceType string
	// Schema is the structural schema of the spec, without the fields that every kind has.
	Schema *apiextensionsv1.JSONSchemaProps
	// Validations are rules for the object as a whole.
	Validations []v1alpha1.ModelValidation
	// Template renders the CloudFormation template.
	Template *Text
	// Outputs are the fields of an object's output.
	Outputs []Output
	// Parameters are additional parameters for templates that users set instead of the kind's own.
	Parameters map[string]*Text
	// References are the objects that must be ready before the stack is created.
	References []Reference
	// ConfigMaps and Secrets are created from the outputs.
	ConfigMaps, Secrets []Data
	// Services are created from the outputs.
	Services []Service
	// Capabilities are the IAM capabilities to acknowledge.
	Capabilities []string
	// DynamicReferences are the fields of the spec, as dotted paths, that may contain dynamic
	// references.
	DynamicReferences []string
	// Foreign are values that name AWS resources that the namespace did not create.
	Foreign []Foreign
	// AccessLevels are what objects may grant to service accounts, and to objects with a role.
	AccessLevels []AccessLevel
	// ExecutionRole is the service that may assume the role of an object; empty if objects have none.
	ExecutionRole string
	// RoleSource renders the ARN of the resource for which that service assumes the role; nil for any. RoleOnlyIf
	// renders nothing for objects without the role; nil if all have it.
	RoleSource, RoleOnlyIf *Text
	// RoleOfAnyAccount means that the service need not name the account of that resource.
	RoleOfAnyAccount bool

	// ownTemplate means that the definition contains the template.
	ownTemplate bool
	// fields converts the spec of a derived kind; nil without a resource type.
	fields   *shape
	registry *schema.Registry
	// rules are those by which the API server checks objects of the kind.
	rules func() (*admit.Definition, error)
}

// Output is one field of an object's output.
type Output struct {
	// Name is the field, From the template's output.
	Name, From string
	// Description is the field's description for kubectl explain.
	Description string
	// Number means that the value is written without quotes.
	Number bool
	// Integer means that the value is an integer.
	Integer bool
}

// Reference is a reference to another object.
type Reference struct {
	// Name is its name in templates, Kind its kind.
	Name, Kind string
	// ObjectName renders the object's name, or nothing if there is no such reference.
	ObjectName *Text
	// PhysicalID is the output that must be the physical ID of a resource in the object's stack, or
	// empty.
	PhysicalID string
	// ResourceType is the type of that resource; empty for any.
	ResourceType string
}

// Foreign names AWS resources that the object's namespace did not create.
type Foreign struct {
	// Name is the name of its sharers in templates, Field the field in messages.
	Name, Field string
	// ARN renders the ARNs of the resource or resources, or nothing if no resource is named.
	ARN *Text
}

// Data describes a ConfigMap or Secret.
type Data struct {
	// Name renders the name.
	Name *Text
	// Values renders the values, by key.
	Values map[string]*Text
}

// Service describes a Service of type ExternalName.
type Service struct {
	// ID is the Service's name in expressions; may be empty.
	ID string
	// Name renders the name, ExternalName the DNS name, and Port a number or nothing.
	Name, ExternalName, Port *Text
}

// maxKind is the length of the longest kind: its list has four more characters, and a kind at most 63.
const maxKind = 59

// Compile parses a definition and completes it from the registry of resource types. The error is
// cfntemplate.Problems if the definition cannot be used. [Model.Check] finds further mistakes.
func Compile(name string, spec *v1alpha1.ModelDefinitionSpec, registry *schema.Registry) (*Model, error) {
	m := &Model{
		Name: name, Kind: spec.ObjectKind(), Plural: spec.Plural, ShortNames: spec.ShortNames,
		Description: strings.TrimSpace(spec.Description), ResourceType: spec.ResourceType, Capabilities: spec.Capabilities,
		Validations: spec.Validations, DynamicReferences: spec.DynamicReferences, registry: registry,
	}
	if m.Plural == "" {
		m.Plural = plural(m.Kind)
	}
	if spec.ResourceType == "" && spec.Template == "" {
		return nil, problem(name, "spec", "give resourceType, template, or both")
	}
	resource, err := resourceType(name, spec.ResourceType, registry)
	if err != nil {
		return nil, err
	}
	if spec.Kind == "" && len(m.Kind) > maxKind { // the API server checks a given kind
		return nil, problem(name, "spec.kind", fmt.Sprintf("the default %s is longer than %d characters; give a kind", m.Kind, maxKind))
	}
	if m.fields, err = m.compileSchema(spec, resource); err != nil {
		return nil, err
	}
	if err := errors.Join(
		m.compileParameters(spec), m.compileReferences(spec), m.compileAdditional(&spec.AdditionalResources), m.compileAccess(spec),
		m.compileRole(spec.ExecutionRole),
	); err != nil {
		return nil, flatten(err)
	}
	if err := m.compileTemplate(spec, resource); err != nil {
		return nil, err
	}
	if err := m.checkStructural(); err != nil {
		return nil, err
	}
	m.rules = sync.OnceValues(func() (*admit.Definition, error) { return admit.Define(m.CRD()) })
	return m, nil
}

// Admits returns an *admit.RefusedError if the API server would refuse to create an object of the kind.
func (m *Model) Admits(obj *v1alpha1.Object) error {
	rules, err := m.rules()
	if err != nil {
		return err
	}
	return rules.Check(obj)
}

// resourceType returns the definition's type, or nil if it names none.
func resourceType(name, typeName string, registry *schema.Registry) (*schema.Type, error) {
	if typeName == "" {
		return nil, nil //nolint:nilnil // the definition has a template instead
	}
	resource, ok := registry.Type(typeName)
	if !ok {
		p := problem(name, "spec.resourceType", "CloudFormation has no resource type "+typeName)
		p[0].Suggestion = registry.Suggest(typeName)
		return nil, p
	}
	return resource, nil
}

// compileSchema uses the definition's schema or derives one.
func (m *Model) compileSchema(spec *v1alpha1.ModelDefinitionSpec, resource *schema.Type) (*shape, error) {
	var fields *shape
	if resource != nil {
		derivedSchema, s, err := derive(resource)
		if err != nil {
			return nil, problem(m.Name, "spec.resourceType", err.Error())
		}
		m.Schema, fields = derivedSchema, s
		if fields == nil { // a type without properties
			fields = &shape{}
		}
	}
	if len(spec.Schema) > 0 {
		given := &apiextensionsv1.JSONSchemaProps{}
		if err := json.Unmarshal(spec.Schema, given); err != nil {
			return nil, problem(m.Name, "spec.schema", "the schema cannot be decoded: "+err.Error())
		}
		if given.Type == "" {
			given.Type = "object"
		}
		m.Schema = given
	}
	if m.Schema == nil {
		m.Schema = freeObject()
	}
	return fields, nil
}

// compileTemplate uses the definition's template and outputs or derives them.
func (m *Model) compileTemplate(spec *v1alpha1.ModelDefinitionSpec, resource *schema.Type) error {
	text, outputs := spec.Template, spec.Outputs
	m.ownTemplate = text != ""
	if text == "" {
		all := deriveOutputs(resource)
		d := deriveTemplate(resource, all, m.selectOutputs(outputs, all))
		text = d.template
		if len(outputs) == 0 {
			outputs = d.outputs
		}
		if missing := missingOutputs(outputs, d.outputs); missing != "" {
			p := problem(m.Name, "spec.outputs", fmt.Sprintf("%s has no attribute for output %s", resource.Name, missing))
			p[0].Suggestion = nearest(missing, outputNames(all))
			return p
		}
	}
	var properties func(any) (map[string]any, error)
	if m.fields != nil {
		properties = func(value any) (map[string]any, error) {
			given, ok := value.(map[string]any)
			if !ok {
				return nil, fmt.Errorf("properties wants the spec, not %T", value)
			}
			return m.fields.propertiesOf(given), nil
		}
	}
	compiled, err := ParseStackTemplate(m.Name+".spec.template", text, properties)
	if err != nil {
		return err
	}
	m.Template = compiled
	if m.ownTemplate && len(outputs) == 0 {
		if outputs, err = m.deriveFromTemplate(); err != nil {
			return err
		}
	}
	for _, o := range outputs {
		m.Outputs = append(m.Outputs, Output{
			Name: o.Name, From: outputSource(o), Description: o.Description,
			Number: o.Type == v1alpha1.OutputInteger || o.Type == v1alpha1.OutputNumber, Integer: o.Type == v1alpha1.OutputInteger,
		})
	}
	return nil
}

// sharedFields are the spec fields that are not properties of the resource.
var sharedFields = []string{"rollbackCount", "cloudFormationTemplateName", "cloudFormationTemplateNamespace", "updatePolicy", WriteToField, ValuesFromField}

// propertiesOf converts a derived spec to properties, without the fields that every kind has.
func (s *shape) propertiesOf(spec map[string]any) map[string]any {
	own := maps.Clone(spec)
	for _, name := range append([]string{GrantsField, ObjectGrantsField}, sharedFields...) {
		if _, ok := s.fields[name]; !ok {
			delete(own, name)
		}
	}
	properties, ok := s.properties(own).(map[string]any)
	if !ok || properties == nil {
		return map[string]any{}
	}
	return properties
}

// outputSource returns the template's output for an output.
func outputSource(o v1alpha1.ModelOutput) string {
	if o.From != "" {
		return o.From
	}
	return PascalName(o.Name)
}

// missingOutputs returns the first wanted output that is not given.
func missingOutputs(wanted, given []v1alpha1.ModelOutput) string {
	for _, o := range wanted {
		if !slices.ContainsFunc(given, func(g v1alpha1.ModelOutput) bool { return g.From == outputSource(o) }) {
			return o.Name
		}
	}
	return ""
}

func outputNames(outputs []derivedOutput) []string {
	names := make([]string, len(outputs))
	for i, o := range outputs {
		names[i] = o.Name
	}
	return names
}

// text compiles a text template in a field of the definition.
func (m *Model) text(path, source string) (*Text, error) {
	return ParseText(m.Name+"."+path, source)
}

func (m *Model) compileParameters(spec *v1alpha1.ModelDefinitionSpec) error {
	m.Parameters = map[string]*Text{}
	for _, name := range slices.Sorted(maps.Keys(spec.Parameters)) {
		compiled, err := m.text("spec.parameters."+name, spec.Parameters[name])
		if err != nil {
			return err
		}
		m.Parameters[name] = compiled
	}
	return nil
}

func (m *Model) compileReferences(spec *v1alpha1.ModelDefinitionSpec) error {
	for _, r := range spec.References {
		compiled, err := m.text("spec.references."+r.Name, r.ObjectName)
		if err != nil {
			return err
		}
		m.References = append(m.References, Reference{
			Name: r.Name, Kind: r.Kind, ObjectName: compiled, PhysicalID: r.PhysicalID, ResourceType: r.ResourceType,
		})
	}
	for _, f := range spec.Foreign {
		compiled, err := m.text("spec.foreign."+f.Name, f.ARN)
		if err != nil {
			return err
		}
		m.Foreign = append(m.Foreign, Foreign{Name: f.Name, Field: f.Field, ARN: compiled})
	}
	return nil
}

func (m *Model) compileRole(role *v1alpha1.ModelExecutionRole) error {
	if role == nil {
		return nil
	}
	m.ExecutionRole, m.RoleOfAnyAccount = role.Service, role.SourceAccount == "Any"
	for _, t := range []struct {
		field, source string
		to            **Text
	}{{"sourceARN", role.SourceARN, &m.RoleSource}, {"onlyIf", role.OnlyIf, &m.RoleOnlyIf}} {
		if t.source == "" {
			continue
		}
		compiled, err := m.text("spec.executionRole."+t.field, t.source)
		if err != nil {
			return err
		}
		*t.to = compiled
	}
	return nil
}

func (m *Model) compileAdditional(additional *v1alpha1.ModelAdditionalResources) error {
	var err error
	if m.ConfigMaps, err = m.compileData("configMaps", additional.ConfigMaps); err != nil {
		return err
	}
	if m.Secrets, err = m.compileData("secrets", additional.Secrets); err != nil {
		return err
	}
	for i, s := range additional.Services {
		at := fmt.Sprintf("spec.additionalResources.services[%d].", i)
		name, nameErr := m.text(at+"name", orName(s.Name))
		external, externalErr := m.text(at+"externalName", s.ExternalName)
		port, portErr := m.text(at+"port", s.Port)
		if err := errors.Join(nameErr, externalErr, portErr); err != nil {
			return err
		}
		m.Services = append(m.Services, Service{ID: s.ID, Name: name, ExternalName: external, Port: port})
	}
	return nil
}

func (m *Model) compileData(field string, data []v1alpha1.ModelData) ([]Data, error) {
	var out []Data
	for i, d := range data {
		at := fmt.Sprintf("spec.additionalResources.%s[%d].", field, i)
		name, err := m.text(at+"name", orName(d.Name))
		if err != nil {
			return nil, err
		}
		one := Data{Name: name, Values: map[string]*Text{}}
		for _, key := range slices.Sorted(maps.Keys(d.Data)) {
			value, err := m.text(at+"data."+key, d.Data[key])
			if err != nil {
				return nil, err
			}
			one.Values[key] = value
		}
		out = append(out, one)
	}
	return out, nil
}

// orName defaults to the object's name if a definition gives none.
func orName(name string) string {
	if name == "" {
		return "{{ .name }}"
	}
	return name
}

// problem is one problem of a definition.
func problem(name, path, message string) cfntemplate.Problems {
	return cfntemplate.Problems{{Pos: cfntemplate.Position{File: name}, Path: path, Message: path + ": " + message}}
}

// flatten collects the problems of joined errors.
func flatten(err error) error {
	var all cfntemplate.Problems
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return err
	}
	for _, one := range joined.Unwrap() {
		var problems cfntemplate.Problems
		if !errors.As(one, &problems) {
			return err
		}
		all = append(all, problems...)
	}
	return all
}

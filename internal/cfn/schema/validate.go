package schema

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// Validate validates a template against the resource schemas: types and properties exist and have
// valid values, required properties are set, and Fn::GetAtt names existing attributes. Intrinsics
// are validated by the type of their results. Scalars are converted as in CloudFormation: "5" is a
// valid number, and true a valid string. What only AWS knows is accepted.
func (r *Registry) Validate(t *template.Template) template.Problems {
	v := &validator{registry: r, t: t, types: map[string]*Type{}}
	for _, id := range slices.Sorted(maps.Keys(t.Resources)) {
		if known, ok := r.Type(t.Resources[id].Type); ok {
			v.types[id] = known
		}
	}
	for _, id := range slices.Sorted(maps.Keys(t.Resources)) {
		v.resource(t.Resources[id])
	}
	for _, name := range slices.Sorted(maps.Keys(t.Outputs)) {
		output := t.Outputs[name]
		v.attributes(output.Value, "Outputs/"+name+"/Value")
		v.outputValue(output)
	}
	template.SortProblems(v.problems)
	return v.problems
}

// validator collects problems.
type validator struct {
	registry *Registry
	t        *template.Template
	types    map[string]*Type
	problems template.Problems
}

func (v *validator) problem(pos template.Position, path, message, suggestion string) {
	v.problems = append(v.problems, template.Problem{Pos: pos, Path: path, Message: message, Suggestion: suggestion})
}

// IsCustom reports whether only a custom resource's provider can validate the properties of a type.
func IsCustom(name string) bool {
	return strings.HasPrefix(name, "Custom::") || name == "AWS::CloudFormation::CustomResource"
}

func (v *validator) resource(r *template.Resource) {
	path := "Resources/" + r.LogicalID
	for _, part := range []*template.Node{r.Properties, r.Metadata, r.CreationPolicy, r.UpdatePolicy} {
		v.attributes(part, path)
	}
	switch {
	case IsCustom(r.Type):
		v.customResource(r, path)
		return
	case r.Type == "" || v.types[r.LogicalID] == nil:
		v.unknownType(r, path)
		return
	}
	c := &check{v: v, resource: r, t: v.types[r.LogicalID]}
	properties := r.Properties
	if properties == nil {
		properties = &template.Node{Kind: template.Map, Pos: r.Pos}
	}
	if properties.Kind == template.Map {
		c.object(properties, c.t.Root, nil)
		v.problems = append(v.problems, c.problems...)
	}
}

func (v *validator) customResource(r *template.Resource, path string) {
	if r.Properties.Get("ServiceToken") == nil {
		v.problem(r.Pos, path, r.Type+" requires property ServiceToken", "")
	}
}

// unknownType reports types that have AWS's prefix but are not in the schemas. Other namespaces
// contain private and third-party types that only the account knows.
func (v *validator) unknownType(r *template.Resource, path string) {
	if r.Type == "" || r.Type == "AWS::CDK::Metadata" {
		return
	}
	if strings.HasPrefix(r.Type, "AWS::Serverless::") && slices.ContainsFunc(v.t.Transforms, isServerless) {
		return
	}
	suggestion := v.registry.Suggest(r.Type)
	private := strings.Count(r.Type, "::") >= 2 && !strings.HasPrefix(r.Type, "AWS::")
	if private && suggestion == "" {
		return
	}
	v.problem(r.Pos, path+"/Type", "there is no resource type "+r.Type, suggestion)
}

func isServerless(name string) bool { return strings.HasPrefix(name, "AWS::Serverless") }

// attributes validates the attributes that Fn::GetAtt and Fn::Sub name in n and below.
func (v *validator) attributes(n *template.Node, path string) {
	for _, ref := range n.References() {
		if ref.Attribute == "" || v.types[ref.Target] == nil {
			continue
		}
		if t := v.types[ref.Target]; !t.hasAttribute(ref.Attribute) {
			v.problem(ref.Pos, path, t.Name+" has no attribute "+ref.Attribute,
				template.Closest(ref.Attribute, slices.Concat(t.Attributes(), t.Root.Names())))
		}
	}
}

// hasAttribute reports whether Fn::GetAtt may name the attribute. It may if the schemas do not
// define the attributes: for the outputs of a nested stack, the data of a custom resource, and
// modules.
func (t *Type) hasAttribute(name string) bool {
	if len(t.Root.Properties) == 0 || t.Name == "AWS::CloudFormation::Stack" && strings.HasPrefix(name, "Outputs.") || IsCustom(t.Name) {
		return true
	}
	_, ok := t.Attribute(name)
	return ok
}

// outputValue checks that an output is a string: CloudFormation refuses lists and maps.
func (v *validator) outputValue(output *template.Output) {
	if output.Value == nil {
		return
	}
	path := "Outputs/" + output.Name + "/Value"
	for _, result := range v.results(output.Value) {
		if result.node == nil && result.types.only("array") || result.node != nil && !result.node.IsScalar() {
			v.problem(output.Value.Pos, path, "output "+output.Name+" must be a string, not a list or a map", "")
			return
		}
	}
}

package model

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
)

// maxNodes limits the size of a derived schema. A CustomResourceDefinition must fit into one etcd
// value (1.5 MB), and every schema costs the API server memory. Schemas that exceed the limit by
// inlining definitions are cut at a smaller depth, and are free-form below.
const maxNodes = 4000

// field is one property of a resource type in the spec of a derived kind.
type field struct {
	// property is CloudFormation's name.
	property string
	// shape is the shape of the property's value.
	shape *shape
}

// shape converts a value of a derived spec to a value of a template: it renames the fields of
// objects with known properties, and copies everything else.
type shape struct {
	// fields of an object, by their name in the spec; nil for other values.
	fields map[string]field
	// items of a list, or values of a map.
	items *shape
}

// deriver converts the schema of one resource type to a structural schema.
type deriver struct {
	resource *schema.Type
	readOnly map[string]bool
	maxDepth int
	nodes    int
}

// derive returns the schema of the spec of a resource type, and the conversion of its fields to
// properties.
func derive(resource *schema.Type) (*apiextensionsv1.JSONSchemaProps, *shape, error) {
	readOnly := map[string]bool{}
	for _, path := range resource.ReadOnly {
		readOnly[path] = true
	}
	for depth := 24; depth > 0; depth-- {
		d := &deriver{resource: resource, readOnly: readOnly, maxDepth: depth}
		props, s := d.object(resource.Root, "", nil)
		if d.nodes > maxNodes {
			continue
		}
		props.Description = describeSpec(resource)
		return props, s, nil
	}
	return nil, nil, fmt.Errorf("the schema of %s has more than %d properties", resource.Name, maxNodes)
}

// value derives the schema at path. Seen lists the definitions being inlined, outermost first.
func (d *deriver) value(p *schema.Property, path string, seen []string) (*apiextensionsv1.JSONSchemaProps, *shape) {
	d.nodes++
	if p == nil {
		return freeForm(), nil
	}
	if p.Ref != "" {
		if slices.Contains(seen, p.Ref) {
			return freeForm(), nil
		}
		seen = append(slices.Clip(seen), p.Ref)
		p = d.resource.Resolve(p)
		if p == nil {
			return freeForm(), nil
		}
	}
	switch kind := valueType(p); kind {
	case "object":
		if len(seen)+strings.Count(path, "/") > d.maxDepth {
			return freeObject(), nil
		}
		return d.object(p, path, seen)
	case "array":
		items, itemShape := d.value(p.Items, path+"/*", seen)
		out := &apiextensionsv1.JSONSchemaProps{
			Type:     "array",
			Items:    &apiextensionsv1.JSONSchemaPropsOrArray{Schema: items},
			MinItems: int64Pointer(p.MinItems),
			MaxItems: int64Pointer(p.MaxItems),
		}
		return out, listShape(itemShape)
	case "string", "integer", "number", "boolean":
		return scalar(p, kind), nil
	case "int-or-string":
		return &apiextensionsv1.JSONSchemaProps{XIntOrString: true}, nil
	default:
		return freeForm(), nil
	}
}

// object derives the schema of an object: one with known properties, a map, or a free-form object.
func (d *deriver) object(p *schema.Property, path string, seen []string) (*apiextensionsv1.JSONSchemaProps, *shape) {
	properties, required := d.properties(p)
	if len(properties) == 0 {
		return d.mapObject(p, path, seen)
	}
	names := fieldNames(properties, path == "")
	out := &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{}}
	s := &shape{fields: map[string]field{}}
	for _, property := range slices.Sorted(maps.Keys(properties)) {
		at := strings.TrimPrefix(path+"/"+property, "/")
		if d.readOnly[at] {
			continue
		}
		child, childShape := d.value(properties[property], at, seen)
		child.Description = d.describe(at)
		if d.resource.IsSecret(strings.Split(at, "/")) {
			// The limits are those of the secret, and the value is a dynamic reference.
			child.MinLength, child.MaxLength, child.Pattern = nil, nil, ""
		}
		out.Properties[names[property]] = *child
		s.fields[names[property]] = field{property: property, shape: childShape}
		if slices.Contains(required, property) {
			out.Required = append(out.Required, names[property])
		}
	}
	slices.Sort(out.Required)
	if len(out.Properties) == 0 {
		return freeObject(), nil
	}
	if p.AdditionalProperties != nil || len(p.PatternProperties) > 0 {
		out.XPreserveUnknownFields = truePointer()
	}
	return out, s
}

// mapObject derives a map of uniform values if the schema defines one, else a free-form object.
func (d *deriver) mapObject(p *schema.Property, path string, seen []string) (*apiextensionsv1.JSONSchemaProps, *shape) {
	values := p.AdditionalProperties
	if values == nil && len(p.PatternProperties) == 1 {
		for _, only := range p.PatternProperties {
			values = only
		}
	}
	if values == nil {
		return freeObject(), nil
	}
	child, childShape := d.value(values, path+"/*", seen)
	return &apiextensionsv1.JSONSchemaProps{
		Type:                 "object",
		AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: child},
	}, listShape(childShape)
}

// properties collects an object's own properties and those of its combinations. CloudFormation
// checks which alternative of a combination applies: a structural schema cannot express it.
func (d *deriver) properties(p *schema.Property) (map[string]*schema.Property, []string) {
	all := maps.Clone(p.Properties)
	if all == nil {
		all = map[string]*schema.Property{}
	}
	required := slices.Clone(p.Required)
	for _, group := range [][]*schema.Property{p.OneOf, p.AnyOf, p.AllOf} {
		for _, alternative := range group {
			if alternative.Ref != "" {
				alternative = d.resource.Resolve(alternative)
			}
			if alternative == nil {
				continue
			}
			for name, property := range alternative.Properties {
				if _, ok := all[name]; !ok {
					all[name] = property
				}
			}
		}
	}
	if p == d.resource.Root {
		required = append(required, d.resource.Required...)
	}
	return all, required
}

// describeSpec returns the description of a derived spec. It names AWS's page about the properties.
func describeSpec(resource *schema.Type) string {
	text := "The desired state: the properties of " + resource.Name + ", for example KMSKeyId as kmsKeyId."
	service, isAWS := strings.CutPrefix(resource.Name, "AWS::")
	if !isAWS {
		return text
	}
	page := strings.ToLower(strings.ReplaceAll(service, "::", "-"))
	return text + " See https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-" + page + ".html."
}

// describe returns the description of a derived field for kubectl explain. The schemas contain no
// descriptions, so it has only what they say about a property; it is empty if that is nothing.
func (d *deriver) describe(path string) string {
	var facts []string
	segments := strings.Split(path, "/")
	if d.resource.IsCreateOnly(segments) {
		facts = append(facts, "Changing it replaces the resource.")
	}
	if slices.Contains(d.resource.WriteOnly, path) {
		facts = append(facts, "AWS does not return it.")
	}
	if d.resource.IsSecret(segments) {
		facts = append(facts, "It is a secret: plain text is refused. Take it from a Secret by valuesFrom, or write a dynamic reference, such as "+
			"{{resolve:secretsmanager:NAME:SecretString:KEY}}, which spec.dynamicReferences of the ModelDefinition must allow for the field.")
	}
	return strings.Join(facts, " ")
}

// fieldNames returns the field name of every property. Properties whose field names would collide
// keep their own names. So do properties of a spec that would collide with a field that every spec
// has (AWS::Batch::ComputeEnvironment's UpdatePolicy).
func fieldNames(properties map[string]*schema.Property, ofSpec bool) map[string]string {
	count := map[string]int{}
	if ofSpec {
		for _, name := range sharedFields {
			count[name]++
		}
	}
	for property := range properties {
		count[FieldName(property)]++
	}
	names := map[string]string{}
	for property := range properties {
		names[property] = FieldName(property)
		if count[names[property]] > 1 {
			names[property] = property
		}
	}
	return names
}

// valueType returns the only type that a structural schema can express for the property, or "".
func valueType(p *schema.Property) string {
	switch {
	case len(p.Types) == 1:
		return p.Types[0]
	case len(p.Types) == 2 && slices.Contains(p.Types, "integer") && slices.Contains(p.Types, "string"):
		return "int-or-string"
	case len(p.Types) > 1:
		return ""
	case len(p.Properties) > 0:
		return "object"
	case p.Items != nil:
		return "array"
	}
	return combinedType(p)
}

// combinedType returns the type that all alternatives of a combination share.
func combinedType(p *schema.Property) string {
	found := ""
	for _, group := range [][]*schema.Property{p.OneOf, p.AnyOf, p.AllOf} {
		for _, alternative := range group {
			if len(alternative.Types) != 1 || found != "" && found != alternative.Types[0] {
				return ""
			}
			found = alternative.Types[0]
		}
	}
	if found == "array" {
		return ""
	}
	if found == "" && allStrings(p.Enum) && len(p.Enum) > 0 {
		return "string"
	}
	return found
}

// scalar derives the schema of a string, number or boolean with the limits that an API server can
// check. AWS checks patterns that Go cannot parse.
func scalar(p *schema.Property, kind string) *apiextensionsv1.JSONSchemaProps {
	out := &apiextensionsv1.JSONSchemaProps{Type: kind}
	switch kind {
	case "string":
		out.MinLength, out.MaxLength = int64Pointer(p.MinLength), int64Pointer(p.MaxLength)
		if _, err := regexp.Compile(p.Pattern); err == nil {
			out.Pattern = p.Pattern
		}
		if allStrings(p.Enum) {
			out.Enum = enum(p.Enum)
		}
	case "integer", "number":
		out.Minimum, out.Maximum = p.Minimum, p.Maximum
		if kind == "integer" {
			out.Format, out.Minimum, out.Maximum = "int64", bound(p.Minimum), bound(p.Maximum)
		}
	}
	return out
}

// bound drops a limit of integers that a float64 cannot represent exactly.
func bound(limit *float64) *float64 {
	const exact = 1 << 53
	if limit == nil || *limit > exact || *limit < -exact {
		return nil
	}
	return limit
}

func allStrings(values []any) bool {
	return !slices.ContainsFunc(values, func(value any) bool { _, ok := value.(string); return !ok })
}

// enum returns the distinct values as JSON.
func enum(values []any) []apiextensionsv1.JSON {
	var out []apiextensionsv1.JSON
	seen := map[string]bool{}
	for _, value := range values {
		text, ok := value.(string)
		if !ok || seen[text] {
			continue
		}
		seen[text] = true
		out = append(out, apiextensionsv1.JSON{Raw: jsonString(text)})
	}
	return out
}

func freeForm() *apiextensionsv1.JSONSchemaProps {
	return &apiextensionsv1.JSONSchemaProps{XPreserveUnknownFields: truePointer()}
}

func freeObject() *apiextensionsv1.JSONSchemaProps {
	return &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: truePointer()}
}

func listShape(items *shape) *shape {
	if items == nil {
		return nil
	}
	return &shape{items: items}
}

// properties converts a derived spec to CloudFormation's names. It copies what the shape does not
// know.
func (s *shape) properties(value any) any {
	if s == nil {
		return value
	}
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, child := range v {
			switch known, ok := s.fields[name]; {
			case ok:
				out[known.property] = known.shape.properties(child)
			case s.items != nil:
				out[name] = s.items.properties(child)
			default:
				out[name] = child
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, child := range v {
			out[i] = s.items.properties(child)
		}
		return out
	default:
		return value
	}
}

func int64Pointer(n *int) *int64 {
	if n == nil {
		return nil
	}
	out := int64(*n)
	return &out
}

func truePointer() *bool {
	yes := true
	return &yes
}

package model

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
)

// resourceID is the logical ID of the only resource of a derived template.
const resourceID = "Resource"

// derived is the template and outputs that a definition gets from its resource type.
type derived struct {
	template string
	outputs  []v1alpha1.ModelOutput
}

// deriveTemplate returns a template with one resource, which gets all properties in the spec, and
// the outputs: Ref as the resource's identifier, and the attributes that AWS sets.
//
// If an optional property names the resource, its default is the object's name, as in every
// built-in kind.
func deriveTemplate(resource *schema.Type, outputs []v1alpha1.ModelOutput) derived {
	var b strings.Builder
	fmt.Fprintf(&b, "Resources:\n  %s:\n    Type: %s\n", resourceID, resource.Name)
	if name := nameProperty(resource); name != "" {
		fmt.Fprintf(&b, "    Properties: {{ properties .spec | named %q .name }}\n", name)
	} else {
		b.WriteString("    Properties: {{ properties .spec }}\n")
	}
	all := deriveOutputs(resource)
	var kept []v1alpha1.ModelOutput
	var lines strings.Builder
	for _, out := range all {
		if len(outputs) > 0 && !wants(outputs, out.ModelOutput) {
			continue
		}
		kept = append(kept, out.ModelOutput)
		fmt.Fprintf(&lines, "  %s: {Value: %s}\n", out.From, out.value)
	}
	if lines.Len() > 0 {
		b.WriteString("Outputs:\n")
		b.WriteString(lines.String())
	}
	return derived{template: b.String(), outputs: kept}
}

// wants reports whether a definition's own outputs use a derived one.
func wants(outputs []v1alpha1.ModelOutput, out v1alpha1.ModelOutput) bool {
	return slices.ContainsFunc(outputs, func(o v1alpha1.ModelOutput) bool { return outputSource(o) == out.From })
}

// derivedOutput is an output and the expression of its value.
type derivedOutput struct {
	v1alpha1.ModelOutput

	value string
}

// maxOutputs is CloudFormation's limit, see
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html.
const maxOutputs = 200

// deriveOutputs lists the outputs of a derived kind. The identifier is Ref, unless it is an
// attribute: for some older types Ref differs from the schema's identifier.
func deriveOutputs(resource *schema.Type) []derivedOutput {
	identifier := "id"
	if len(resource.PrimaryIdentifier) == 1 && !strings.Contains(resource.PrimaryIdentifier[0], "/") {
		identifier = FieldName(resource.PrimaryIdentifier[0])
	}
	var out []derivedOutput
	if identifier == "id" || !slices.Contains(resource.ReadOnly, resource.PrimaryIdentifier[0]) {
		out = append(out, derivedOutput{
			ModelOutput: v1alpha1.ModelOutput{
				Name: identifier, From: PascalName(identifier), Type: v1alpha1.OutputString,
				Description: "The identifier of the resource (CloudFormation's Ref of " + resource.Name + ").",
			},
			value: fmt.Sprintf("{Ref: %s}", resourceID),
		})
	}
	paths := slices.Sorted(slices.Values(resource.ReadOnly))
	for _, path := range paths {
		attribute, kind := readOnlyAttribute(resource, path)
		name := outputName(path)
		taken := slices.ContainsFunc(out, func(o derivedOutput) bool { return o.From == PascalName(name) })
		if attribute == "" || taken || len(out) == maxOutputs {
			continue
		}
		value := fmt.Sprintf("{Fn::GetAtt: [%s, %s]}", resourceID, attribute)
		if kind == "array" {
			value = fmt.Sprintf("{Fn::Join: [\",\", %s]}", value)
		}
		out = append(out, derivedOutput{
			ModelOutput: v1alpha1.ModelOutput{
				Name: name, From: PascalName(name), Type: outputType(kind),
				Description: "Attribute " + attribute + " of " + resource.Name + ".",
			},
			value: value,
		})
	}
	return out
}

// readOnlyAttribute returns the name by which Fn::GetAtt reads a read-only property and its type,
// or nothing if it cannot be an output: only scalars and lists of strings can. It omits properties
// inside objects that users set, because AWS often sets them only if the user does, and an output
// that cannot be read fails the stack.
func readOnlyAttribute(resource *schema.Type, path string) (attribute, kind string) {
	segments := strings.Split(path, "/")
	if slices.Contains(segments, "*") || len(segments) > 1 && !parentReadOnly(resource, segments[:len(segments)-1]) {
		return "", ""
	}
	p := resource.Root
	for _, segment := range segments {
		if p = resource.Resolve(p); p == nil {
			return "", ""
		}
		p = p.Properties[segment]
	}
	if p = resource.Resolve(p); p == nil {
		return "", ""
	}
	switch kind = valueType(p); kind {
	case "string", "integer", "number", "boolean":
	case "array":
		if p.Items == nil || valueType(resource.Resolve(p.Items)) != "string" {
			return "", ""
		}
	default:
		return "", ""
	}
	attribute = strings.Join(segments, ".")
	if !slices.Contains(resource.Attributes(), attribute) {
		return "", ""
	}
	return attribute, kind
}

// parentReadOnly reports whether AWS sets every property of the object at path.
func parentReadOnly(resource *schema.Type, segments []string) bool {
	p := resource.Root
	for _, segment := range segments {
		if p = resource.Resolve(p); p == nil {
			return false
		}
		p = p.Properties[segment]
	}
	if p = resource.Resolve(p); p == nil || len(p.Properties) == 0 {
		return false
	}
	for name := range p.Properties {
		if !slices.Contains(resource.ReadOnly, strings.Join(append(slices.Clone(segments), name), "/")) {
			return false
		}
	}
	return true
}

// outputName converts a path to a field name: Endpoint/Address becomes endpointAddress.
func outputName(path string) string {
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		segments[i] = strings.Map(alphanumeric, segment)
	}
	return FieldName(segments[0]) + strings.Join(segments[1:], "")
}

func alphanumeric(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
		return r
	}
	return -1
}

func outputType(kind string) v1alpha1.OutputType {
	switch kind {
	case "integer":
		return v1alpha1.OutputInteger
	case "number":
		return v1alpha1.OutputNumber
	default:
		return v1alpha1.OutputString
	}
}

// nameProperty returns the property with the resource's name if the object may set it: an optional
// string that identifies the resource, repeats its type's name (QueueName of AWS::SQS::Queue), or
// is called Name and is immutable.
func nameProperty(resource *schema.Type) string {
	short := resource.Name[strings.LastIndex(resource.Name, ":")+1:]
	for _, name := range slices.Sorted(maps.Keys(resource.Root.Properties)) {
		p := resource.Root.Properties[name]
		identifies := slices.Equal(resource.PrimaryIdentifier, []string{name}) &&
			(strings.HasSuffix(name, "Name") || name == short+"Identifier" || name == short+"Id")
		named := name == short+"Name" || name == "Name" && slices.Contains(resource.CreateOnly, name)
		if !identifies && !named {
			continue
		}
		p = resource.Resolve(p)
		free := !slices.Contains(resource.ReadOnly, name) && !slices.Contains(resource.Required, name)
		if free && p != nil && valueType(p) == "string" && len(p.Enum) == 0 {
			return name
		}
	}
	return ""
}

// named sets a property to a name unless it is set.
func named(property string, name any, properties map[string]any) map[string]any {
	if value, ok := properties[property]; !ok || value == nil || value == "" {
		properties[property] = name
	}
	return properties
}

func jsonString(s string) []byte {
	data, err := json.Marshal(s)
	if err != nil {
		return []byte(`""`)
	}
	return data
}

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
// the outputs that wanted selects.
//
// If an optional property names the resource, its default is the object's name, as in every
// built-in kind.
func deriveTemplate(resource *schema.Type, all []derivedOutput, wanted func(derivedOutput) bool) derived {
	var b strings.Builder
	fmt.Fprintf(&b, "Resources:\n  %s:\n    Type: %s\n", resourceID, resource.Name)
	if name := nameProperty(resource); name != "" {
		fmt.Fprintf(&b, "    Properties: {{ properties .spec | named %q .name }}\n", name)
	} else {
		b.WriteString("    Properties: {{ properties .spec }}\n")
	}
	var kept []v1alpha1.ModelOutput
	var lines strings.Builder
	for _, out := range all {
		if !wanted(out) {
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

// selectOutputs returns which of the derived outputs a kind publishes: those that the definition
// lists, or else the identifier with its parts, the ARN, and those that the definition's texts use.
//
// A resource may lack any other attribute, because AWS sets some only if a feature is on, and an
// output that reads a missing attribute fails the stack. For example, only clustered groups have
// ConfigurationEndPoint:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-elasticache-replicationgroup.html
func (m *Model) selectOutputs(listed []v1alpha1.ModelOutput, all []derivedOutput) func(derivedOutput) bool {
	if len(listed) > 0 {
		return func(out derivedOutput) bool {
			return slices.ContainsFunc(listed, func(o v1alpha1.ModelOutput) bool { return outputSource(o) == out.From })
		}
	}
	used := m.usedOutputs(outputNames(all))
	return func(out derivedOutput) bool { return out.always || slices.Contains(used, out.Name) }
}

// derivedOutput is an output and the expression of its value.
type derivedOutput struct {
	v1alpha1.ModelOutput

	value string
	// always means that every resource of the type has the value: the identifier, or its parts, and the ARN.
	always bool
}

// deriveOutputs lists the outputs that a derived kind can have. The identifier is Ref, unless it is
// an attribute: for some older types Ref differs from the schema's identifier.
func deriveOutputs(resource *schema.Type) []derivedOutput {
	identifier := ""
	if len(resource.PrimaryIdentifier) == 1 && !strings.Contains(resource.PrimaryIdentifier[0], "/") {
		identifier = resource.PrimaryIdentifier[0]
	}
	var out []derivedOutput
	// Types whose identifier is Id return it by Ref, and older ones, such as
	// AWS::CloudFormation::WaitConditionHandle, by nothing else.
	if attribute, _ := readOnlyAttribute(resource, identifier); attribute == "" || identifier == "Id" {
		out = append(out, derivedIdentifier(resource, identifier))
	}
	for _, path := range slices.Sorted(slices.Values(resource.ReadOnly)) {
		attribute, kind := readOnlyAttribute(resource, path)
		name := outputName(path)
		taken := slices.ContainsFunc(out, func(o derivedOutput) bool { return o.From == PascalName(name) })
		if attribute == "" || taken {
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
			value: value, always: slices.Contains(resource.PrimaryIdentifier, path) || isARN(resource, path),
		})
	}
	return out
}

// derivedIdentifier is the output of Ref. Its name is that of the identifier, or id if this has
// several parts.
func derivedIdentifier(resource *schema.Type, identifier string) derivedOutput {
	name := "id"
	if identifier != "" {
		name = FieldName(identifier)
	}
	return derivedOutput{
		ModelOutput: v1alpha1.ModelOutput{
			Name: name, From: PascalName(name), Type: v1alpha1.OutputString,
			Description: "The identifier of the resource (CloudFormation's Ref of " + resource.Name + ").",
		},
		value: fmt.Sprintf("{Ref: %s}", resourceID), always: true,
	}
}

// isARN reports whether an attribute is the ARN of the resource itself, by its name: Arn, or
// DBInstanceArn of AWS::RDS::DBInstance.
func isARN(resource *schema.Type, attribute string) bool {
	rest := strings.TrimPrefix(attribute, shortName(resource.Name))
	return rest == "Arn" || rest == "ARN"
}

// shortName returns the last part of a resource type: Queue of AWS::SQS::Queue.
func shortName(resourceType string) string {
	return resourceType[strings.LastIndex(resourceType, ":")+1:]
}

// readOnlyAttribute returns the name by which Fn::GetAtt reads a read-only property and its type,
// or nothing if it cannot be an output: only scalars and lists of strings can.
func readOnlyAttribute(resource *schema.Type, path string) (attribute, kind string) {
	segments := strings.Split(path, "/")
	if slices.Contains(segments, "*") {
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
	short := shortName(resource.Name)
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

package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Type is one resource type. Types are shared: do not modify them.
//
// Paths such as those in CreateOnly are separated by slashes, without the leading /properties; "*"
// stands for any element of an array or a map.
type Type struct {
	// Name is the type's name, such as "AWS::SQS::Queue".
	Name string
	// Root describes the resource's properties as an object.
	Root *Property
	// Definitions are the named schemas that $ref may refer to.
	Definitions map[string]*Property
	// CreateOnly lists the properties whose change replaces the resource.
	CreateOnly []string
	// ConditionalCreateOnly lists the properties whose change may replace the resource.
	ConditionalCreateOnly []string
	// ReadOnly lists the properties that AWS sets.
	ReadOnly []string
	// WriteOnly lists the properties that AWS does not return.
	WriteOnly []string
	// Deprecated lists the deprecated properties.
	Deprecated []string
	// PrimaryIdentifier lists the properties that identify the resource.
	PrimaryIdentifier []string
	// AdditionalIdentifiers lists further sets of properties that identify it.
	AdditionalIdentifiers [][]string
	// Required lists the required top-level properties.
	Required []string
	// Taggable says whether the resource can be tagged.
	Taggable bool
	// TagProperty is the top-level property that holds the tags, empty if there is none.
	TagProperty string
	// Raw is the schema as AWS publishes it, without descriptions.
	Raw json.RawMessage
}

// document is a resource schema besides what a Property contains, according to
// https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-schema.html.
type document struct {
	Definitions                     map[string]*Property `json:"definitions"`
	CreateOnlyProperties            []string             `json:"createOnlyProperties"`
	ConditionalCreateOnlyProperties []string             `json:"conditionalCreateOnlyProperties"`
	ReadOnlyProperties              []string             `json:"readOnlyProperties"`
	WriteOnlyProperties             []string             `json:"writeOnlyProperties"`
	DeprecatedProperties            []string             `json:"deprecatedProperties"`
	PrimaryIdentifier               []string             `json:"primaryIdentifier"`
	AdditionalIdentifiers           [][]string           `json:"additionalIdentifiers"`
	Taggable                        *bool                `json:"taggable"`
	Tagging                         *struct {
		Taggable    *bool  `json:"taggable"`
		TagProperty string `json:"tagProperty"`
	} `json:"tagging"`
}

// ParseType parses a resource schema. The caller must not modify raw afterwards.
func ParseType(name string, raw []byte) (*Type, error) {
	var doc document
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, fmt.Errorf("schema of %s: %w", name, err)
	}
	root := &Property{}
	if err := json.Unmarshal(raw, root); err != nil {
		return nil, fmt.Errorf("schema of %s: %w", name, err)
	}
	root.Types = []string{"object"}
	t := &Type{
		Name: name, Root: root, Definitions: doc.Definitions, Raw: raw, Required: root.Required,
		CreateOnly: paths(doc.CreateOnlyProperties), ConditionalCreateOnly: paths(doc.ConditionalCreateOnlyProperties),
		ReadOnly: paths(doc.ReadOnlyProperties), WriteOnly: paths(doc.WriteOnlyProperties), Deprecated: paths(doc.DeprecatedProperties),
		PrimaryIdentifier: paths(doc.PrimaryIdentifier),
	}
	for _, set := range doc.AdditionalIdentifiers {
		t.AdditionalIdentifiers = append(t.AdditionalIdentifiers, paths(set))
	}
	if newer, ok := newerIdentifiers[name]; ok {
		t.PrimaryIdentifier, t.ReadOnly = newer, slices.DeleteFunc(t.ReadOnly, func(path string) bool { return path == "Id" })
	}
	t.ConditionalCreateOnly = append(t.ConditionalCreateOnly, documentedReplacements[name]...)
	t.tags(doc)
	return t, nil
}

// newerIdentifiers are primary identifiers of types that had none but their Ref when the schemas were collected.
var newerIdentifiers = map[string][]string{
	// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-apigatewayv2-stage.html
	"AWS::ApiGatewayV2::Stage": {"ApiId", "StageName"},
}

// documentedReplacements are properties whose change may replace a resource according to AWS's
// documentation, although the schema does not say so.
var documentedReplacements = map[string][]string{
	// "Replacement if you edit an existing AttributeDefinition":
	// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-dynamodb-table.html#cfn-dynamodb-table-attributedefinitions
	"AWS::DynamoDB::Table":       {"AttributeDefinitions/*/AttributeType"},
	"AWS::DynamoDB::GlobalTable": {"AttributeDefinitions/*/AttributeType"},
}

// ReplacesExisting reports whether every change of an existing value of a property in
// ConditionalCreateOnly replaces the resource.
func (t *Type) ReplacesExisting() bool { return documentedReplacements[t.Name] != nil }

// IdentifierText returns a primary identifier as Cloud Control API takes it: its values, separated by |.
// https://docs.aws.amazon.com/cloudcontrolapi/latest/userguide/resource-identifier.html
func (t *Type) IdentifierText(by map[string]string) string {
	values := make([]string, len(t.PrimaryIdentifier))
	for i, name := range t.PrimaryIdentifier {
		values[i] = by[name]
	}
	return strings.Join(values, "|")
}

// customNames are the properties with the names of resources that AWS identifies by a URL or an ARN
// made of the name, by type. "If you specify a name, you cannot perform updates that require
// replacement of this resource":
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-sqs-queue.html
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-sns-topic.html
// "This name must be unique per region per account":
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-elasticloadbalancingv2-loadbalancer.html
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-elasticloadbalancingv2-targetgroup.html
var customNames = map[string]string{
	"AWS::SQS::Queue": "QueueName", "AWS::SNS::Topic": "TopicName",
	"AWS::ElasticLoadBalancingV2::LoadBalancer": "Name", "AWS::ElasticLoadBalancingV2::TargetGroup": "Name",
}

// CustomName returns the property by which templates name a resource of the type, if no two
// resources can have the same name; "" if there is none. Other types, such as those with revisions,
// let a replacement have the name of the resource that it replaces.
func (t *Type) CustomName() string {
	if len(t.PrimaryIdentifier) == 1 {
		name := t.PrimaryIdentifier[0]
		if slices.Contains(t.CreateOnly, name) && !slices.Contains(t.ReadOnly, name) {
			return name
		}
	}
	return customNames[t.Name]
}

// tagProperties are the names of properties for tags, most likely first.
var tagProperties = []string{
	"Tags", "AccessPointTags", "BackupPlanTags", "BackupVaultTags", "BotAliasTags", "BotTags", "FileSystemTags",
	"FrameworkTags", "HealthCheckTags", "HostedZoneTags", "IdentityPoolTags", "PipelineTags", "ReportPlanTags",
	"TieringConfigurationTags", "UserPoolTags",
}

func (t *Type) tags(doc document) {
	if doc.Tagging != nil {
		t.TagProperty = strings.TrimPrefix(doc.Tagging.TagProperty, "/properties/")
	}
	for _, name := range tagProperties {
		if t.TagProperty == "" && t.Root.Properties[name] != nil && !slices.Contains(t.ReadOnly, name) {
			t.TagProperty = name
		}
	}
	switch {
	case doc.Tagging != nil && doc.Tagging.Taggable != nil:
		t.Taggable = *doc.Tagging.Taggable
	case doc.Taggable != nil && !*doc.Taggable:
		t.Taggable = false
	default:
		t.Taggable = t.TagProperty != ""
	}
}

func paths(pointers []string) []string {
	if len(pointers) == 0 {
		return nil
	}
	short := make([]string, len(pointers))
	for i, pointer := range pointers {
		short[i] = strings.TrimPrefix(strings.TrimPrefix(pointer, "/properties/"), "/")
	}
	return short
}

// JSON returns the schema as AWS publishes it, without descriptions.
func (t *Type) JSON() []byte { return slices.Clone(t.Raw) }

// IsCreateOnly reports whether a change of the property at path replaces the resource; path
// contains the index of an array element. Changes within a create-only property count, and so do
// changes of a property that contains one.
func (t *Type) IsCreateOnly(path []string) bool { return touches(t.CreateOnly, path, true) }

// IsConditionalCreateOnly reports in the same way whether a change at path may replace the
// resource.
func (t *Type) IsConditionalCreateOnly(path []string) bool {
	return touches(t.ConditionalCreateOnly, path, true)
}

// IsReadOnly reports whether only AWS sets the property at path.
func (t *Type) IsReadOnly(path []string) bool {
	return touches(t.ReadOnly, path, false) && !touches(t.CreateOnly, path, false) &&
		!touches(t.WriteOnly, path, false) && (len(path) != 1 || !slices.Contains(t.Required, path[0]))
}

// IsWriteOnly reports whether AWS does not return the property at path, because it is, or is within,
// a write-only property.
func (t *Type) IsWriteOnly(path []string) bool {
	return slices.ContainsFunc(t.WriteOnly, func(pointer string) bool {
		rest, ok := Below(strings.Split(pointer, "/"), path)
		return ok && len(rest) == 0
	})
}

// touches reports whether one of the pointers is at or above path, or, with below, at or below it.
func touches(pointers, path []string, below bool) bool {
	for _, pointer := range pointers {
		if pointerMatches(strings.Split(pointer, "/"), path, below) {
			return true
		}
	}
	return false
}

func pointerMatches(pointer, path []string, below bool) bool {
	rest, ok := Below(pointer, path)
	return ok && (len(rest) == 0 || below)
}

// Below returns the part of a pointer below path, in which array elements are indexes, and whether
// one is a prefix of the other.
func Below(pointer, path []string) (rest []string, ok bool) {
	for len(pointer) > 0 && len(path) > 0 {
		_, err := strconv.Atoi(path[0])
		switch {
		case pointer[0] == "*" || pointer[0] == path[0]:
			pointer, path = pointer[1:], path[1:]
		case err == nil:
			// Some schemas omit the * for array elements.
			path = path[1:]
		default:
			return nil, false
		}
	}
	return pointer, true
}

// Attributes lists the names for Fn::GetAtt, sorted: the properties that AWS sets, nested ones
// joined by dots. For many types CloudFormation returns other properties too; [Type.Attribute]
// accepts these.
func (t *Type) Attributes() []string {
	names := make([]string, 0, len(t.ReadOnly))
	for _, path := range t.ReadOnly {
		if !strings.Contains(path, "*") {
			names = append(names, strings.ReplaceAll(path, "/", "."))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Attribute returns the schema of an attribute for Fn::GetAtt, such as "Endpoint.Address".
func (t *Type) Attribute(name string) (*Property, bool) {
	current := t.Root
	for part := range strings.SplitSeq(name, ".") {
		next := t.Child(current, part)
		if next == nil {
			return nil, false
		}
		current = next
	}
	return t.Resolve(current), true
}

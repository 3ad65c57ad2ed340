package template

// Template is a parsed CloudFormation template.
type Template struct {
	// File is the name that was passed to Parse.
	File string
	// FormatVersion is AWSTemplateFormatVersion, empty if absent.
	FormatVersion string
	// Description is the template's description.
	Description string
	// Transforms are the macros that process the template, in order.
	Transforms []string
	// Metadata is the Metadata section, nil if absent.
	Metadata *Node
	// Parameters by name.
	Parameters map[string]*Parameter
	// Mappings is the Mappings section, nil if absent.
	Mappings *Node
	// Conditions by name.
	Conditions map[string]*Node
	// Rules is the Rules section, nil if absent.
	Rules *Node
	// Hooks is the Hooks section, nil if absent.
	Hooks *Node
	// Globals is the Globals section of a serverless template, nil if absent.
	Globals *Node
	// Resources by logical id.
	Resources map[string]*Resource
	// Outputs by name.
	Outputs map[string]*Output
	// Macros are the members of a section that CloudFormation replaces before it reads the section:
	// Fn::Transform and Fn::ForEach, by section name. The key "" contains those at the top level.
	Macros map[string][]Field
}

// Resource is one member of the Resources section.
type Resource struct {
	// LogicalID is the resource's name in the template.
	LogicalID string
	// Type is the type's name, such as "AWS::SQS::Queue".
	Type string
	// Properties is a Map, nil if absent.
	Properties *Node
	// DependsOn lists the resources to create first, sorted.
	DependsOn []string
	// Condition names the condition under which the resource exists.
	Condition string
	// DeletionPolicy is Delete, Retain, RetainExceptOnCreate, Snapshot or empty.
	DeletionPolicy string
	// UpdateReplacePolicy is Delete, Retain, Snapshot or empty.
	UpdateReplacePolicy string
	// CreationPolicy is nil if absent.
	CreationPolicy *Node
	// UpdatePolicy is nil if absent.
	UpdatePolicy *Node
	// Metadata is nil if absent.
	Metadata *Node
	// Pos is the position of the logical ID.
	Pos Position
}

// Parameter is one member of the Parameters section.
type Parameter struct {
	// Name of the parameter.
	Name string
	// Type is the type's name, such as "String" or "List<AWS::EC2::Subnet::Id>".
	Type string
	// Default is a scalar, nil if the parameter is required.
	Default *Node
	// AllowedValues, if any, are the only accepted values.
	AllowedValues []string
	// AllowedPattern is a regular expression that the whole value must match.
	AllowedPattern string
	// ConstraintDescription explains the constraints to a user who violates one.
	ConstraintDescription string
	// Description of the parameter.
	Description string
	// MinLength of a String, nil if unlimited.
	MinLength *int
	// MaxLength of a String, nil if unlimited.
	MaxLength *int
	// MinValue of a Number, nil if unlimited.
	MinValue *float64
	// MaxValue of a Number, nil if unlimited.
	MaxValue *float64
	// NoEcho hides the value from users who describe the stack.
	NoEcho bool
	// Pos is the position of the name.
	Pos Position
}

// Output is one member of the Outputs section.
type Output struct {
	// Name of the output.
	Name string
	// Description of the output.
	Description string
	// Value of the output.
	Value *Node
	// ExportName is the name of its export, nil if it is not exported.
	ExportName *Node
	// Condition names the condition under which the output exists.
	Condition string
	// Pos is the position of the name.
	Pos Position
}

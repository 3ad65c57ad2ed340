package schema

import "encoding/json"

// Type is one resource type.
type Type struct {
	// Name is as in "AWS::SQS::Queue".
	Name string
	// Root describes the resource's properties as an object.
	Root *Property
	// Definitions are the named schemas that $ref may point to.
	Definitions map[string]*Property
	// CreateOnly lists the properties whose change replaces the resource, as
	// slash separated paths without /properties, "*" standing for any element.
	CreateOnly []string
	// ConditionalCreateOnly lists those whose change may replace it.
	ConditionalCreateOnly []string
	// ReadOnly lists those that AWS sets.
	ReadOnly []string
	// WriteOnly lists those that AWS does not give back.
	WriteOnly []string
	// Deprecated lists those that should not be used any more.
	Deprecated []string
	// PrimaryIdentifier lists those that identify the resource.
	PrimaryIdentifier []string
	// AdditionalIdentifiers lists further sets that identify it.
	AdditionalIdentifiers [][]string
	// Required lists the top-level properties that must be given.
	Required []string
	// Taggable says whether the resource can be tagged.
	Taggable bool
	// TagProperty is the top-level property that holds the tags, empty if there is none.
	TagProperty string
	// Raw is the schema as AWS publishes it, without descriptions.
	Raw json.RawMessage
}

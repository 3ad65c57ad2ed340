package schema

// Property is a JSON schema node.
type Property struct {
	// Types are the JSON types allowed, empty for any.
	Types []string
	// Ref is the target of a $ref, as in "#/definitions/Tag"; see [Type.Resolve].
	Ref string
	// Properties of an object, by name.
	Properties map[string]*Property
	// PatternProperties of an object, by regular expression.
	PatternProperties map[string]*Property
	// Closed says that no property but the named ones is allowed
	// (additionalProperties: false).
	Closed bool
	// AdditionalProperties describes properties that are not named, nil if anything goes.
	AdditionalProperties *Property
	// Required names of an object.
	Required []string
	// Items describes the elements of an array.
	Items *Property
	// PrefixItems describes the first elements of an array one by one.
	PrefixItems []*Property
	// Enum lists the values allowed.
	Enum []any
	// EnumCaseInsensitive lists the values allowed in any case.
	EnumCaseInsensitive []any
	// Const is the one value allowed.
	Const any
	// Default is the value AWS assumes.
	Default any
	// Pattern is a regular expression in JavaScript's syntax.
	Pattern string
	// Format hints at the meaning of a string.
	Format string
	// Minimum of a number.
	Minimum *float64
	// Maximum of a number.
	Maximum *float64
	// ExclusiveMinimum of a number.
	ExclusiveMinimum *float64
	// ExclusiveMaximum of a number.
	ExclusiveMaximum *float64
	// MultipleOf of a number.
	MultipleOf *float64
	// MinLength of a string.
	MinLength *int
	// MaxLength of a string.
	MaxLength *int
	// MinItems of an array.
	MinItems *int
	// MaxItems of an array.
	MaxItems *int
	// MinProperties of an object.
	MinProperties *int
	// MaxProperties of an object.
	MaxProperties *int
	// UniqueItems says that an array's elements must differ.
	UniqueItems bool
	// Unordered says that the order of an array does not matter (insertionOrder: false).
	Unordered bool
	// OneOf, AnyOf and AllOf are combinations.
	OneOf, AnyOf, AllOf []*Property
	// If and Then are a conditional schema.
	If, Then *Property
	// RequiredXor names properties of which exactly one must be given.
	RequiredXor []string
	// RequiredOr names properties of which at least one must be given.
	RequiredOr []string
	// DependentRequired names what a property needs beside it.
	DependentRequired map[string][]string
	// DependentExcluded names what a property cannot stand beside.
	DependentExcluded map[string][]string
}

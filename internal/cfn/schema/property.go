package schema

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Property is a JSON schema node, with the keywords that resource schemas use. Properties are
// shared: do not modify them.
type Property struct {
	// Types are the allowed JSON types, empty for any.
	Types []string
	// Ref is the target of a $ref, such as "#/definitions/Tag"; see [Type.Resolve].
	Ref string
	// Properties of an object, by name.
	Properties map[string]*Property
	// PatternProperties of an object, by regular expression.
	PatternProperties map[string]*Property
	// Closed means that only the named properties are allowed (additionalProperties: false).
	Closed bool
	// AdditionalProperties describes properties that are not named, nil if all are allowed.
	AdditionalProperties *Property
	// Required names of an object.
	Required []string
	// Items describes the elements of an array.
	Items *Property
	// PrefixItems describes the first elements of an array one by one.
	PrefixItems []*Property
	// Enum lists the allowed values.
	Enum []any
	// EnumCaseInsensitive lists the allowed values, in any case.
	EnumCaseInsensitive []any
	// Const is the only allowed value.
	Const any
	// Default is the value that AWS assumes.
	Default any
	// Pattern is a regular expression in JavaScript's syntax; see [Property.Regexp].
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
	// UniqueItems means that an array's elements must differ.
	UniqueItems bool
	// UniqueKeys names the properties of an array's elements that together identify an element.
	UniqueKeys []string
	// Unordered means that the order of an array does not matter (insertionOrder: false).
	Unordered bool
	// OneOf are schemas of which exactly one must match.
	OneOf []*Property
	// AnyOf are schemas of which at least one must match.
	AnyOf []*Property
	// AllOf are schemas that must all match.
	AllOf []*Property
	// If is the condition of Then.
	If *Property
	// Then must match if If does.
	Then *Property
	// RequiredXor names properties of which exactly one must be set.
	RequiredXor []string
	// RequiredOr names properties of which at least one must be set.
	RequiredOr []string
	// DependentRequired names the properties that a property requires.
	DependentRequired map[string][]string
	// DependentExcluded names the properties that a property excludes.
	DependentExcluded map[string][]string

	// beside means that a $ref has other keywords that count.
	beside bool
}

// keywords is a Property in JSON.
type keywords struct {
	Type                 json.RawMessage      `json:"type"`
	Ref                  string               `json:"$ref"`
	Properties           map[string]*Property `json:"properties"`
	PatternProperties    map[string]*Property `json:"patternProperties"`
	AdditionalProperties json.RawMessage      `json:"additionalProperties"`
	Required             []string             `json:"required"`
	Items                json.RawMessage      `json:"items"`
	PrefixItems          []*Property          `json:"prefixItems"`
	Enum                 []any                `json:"enum"`
	EnumCaseInsensitive  []any                `json:"enumCaseInsensitive"`
	Const                any                  `json:"const"`
	Default              any                  `json:"default"`
	Pattern              string               `json:"pattern"`
	Format               string               `json:"format"`
	Minimum              *float64             `json:"minimum"`
	Maximum              *float64             `json:"maximum"`
	ExclusiveMinimum     *float64             `json:"exclusiveMinimum"`
	ExclusiveMaximum     *float64             `json:"exclusiveMaximum"`
	MultipleOf           *float64             `json:"multipleOf"`
	MinLength            *float64             `json:"minLength"`
	MaxLength            *float64             `json:"maxLength"`
	MinItems             *float64             `json:"minItems"`
	MaxItems             *float64             `json:"maxItems"`
	MinProperties        *float64             `json:"minProperties"`
	MaxProperties        *float64             `json:"maxProperties"`
	UniqueItems          bool                 `json:"uniqueItems"`
	UniqueKeys           []string             `json:"uniqueKeys"`
	InsertionOrder       *bool                `json:"insertionOrder"`
	OneOf                []*Property          `json:"oneOf"`
	AnyOf                []*Property          `json:"anyOf"`
	AllOf                []*Property          `json:"allOf"`
	If                   *Property            `json:"if"`
	Then                 *Property            `json:"then"`
	RequiredXor          []string             `json:"requiredXor"`
	RequiredOr           []string             `json:"requiredOr"`
	DependentRequired    map[string][]string  `json:"dependentRequired"`
	DependentExcluded    map[string][]string  `json:"dependentExcluded"`
	Dependencies         map[string]any       `json:"dependencies"`
}

// UnmarshalJSON decodes a JSON schema node.
func (p *Property) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] != '{' {
		// true and false are schemas too: anything, and nothing.
		*p = Property{Closed: string(data) == "false"}
		return nil
	}
	var k keywords
	if err := json.Unmarshal(data, &k); err != nil {
		return err
	}
	*p = Property{
		Ref: k.Ref, Properties: k.Properties, PatternProperties: k.PatternProperties, Required: k.Required,
		PrefixItems: k.PrefixItems, Enum: k.Enum, EnumCaseInsensitive: k.EnumCaseInsensitive, Const: k.Const,
		Default: k.Default, Pattern: k.Pattern, Format: k.Format, Minimum: k.Minimum, Maximum: k.Maximum,
		ExclusiveMinimum: k.ExclusiveMinimum, ExclusiveMaximum: k.ExclusiveMaximum, MultipleOf: k.MultipleOf,
		MinLength: whole(k.MinLength), MaxLength: whole(k.MaxLength), MinItems: whole(k.MinItems), MaxItems: whole(k.MaxItems),
		MinProperties: whole(k.MinProperties), MaxProperties: whole(k.MaxProperties), UniqueItems: k.UniqueItems, UniqueKeys: k.UniqueKeys,
		Unordered: k.InsertionOrder != nil && !*k.InsertionOrder, OneOf: k.OneOf, AnyOf: k.AnyOf, AllOf: k.AllOf,
		If: k.If, Then: k.Then, RequiredXor: k.RequiredXor, RequiredOr: k.RequiredOr,
		DependentRequired: k.DependentRequired, DependentExcluded: k.DependentExcluded,
	}
	p.dependencies(k.Dependencies)
	p.beside = p.Ref != "" && (len(k.Type) > 0 || bytes.Count(data, []byte(`":`)) > 1)
	return p.variants(k)
}

// variants decodes the keywords that have more than one form.
func (p *Property) variants(k keywords) error {
	if len(k.Type) > 0 {
		if k.Type[0] == '"' {
			k.Type = slices.Concat([]byte("["), k.Type, []byte("]"))
		}
		if err := json.Unmarshal(k.Type, &p.Types); err != nil {
			return err
		}
	}
	switch extra := string(k.AdditionalProperties); extra {
	case "", "true":
	case "false":
		p.Closed = true
	default:
		if err := json.Unmarshal(k.AdditionalProperties, &p.AdditionalProperties); err != nil {
			return err
		}
	}
	switch {
	case len(k.Items) == 0:
		return nil
	case k.Items[0] == '[':
		return json.Unmarshal(k.Items, &p.PrefixItems)
	default:
		return json.Unmarshal(k.Items, &p.Items)
	}
}

// dependencies decodes the older form of dependentRequired.
func (p *Property) dependencies(older map[string]any) {
	for name, needs := range older {
		list, ok := needs.([]any)
		if !ok {
			continue
		}
		if p.DependentRequired == nil {
			p.DependentRequired = map[string][]string{}
		}
		for _, need := range list {
			if text, ok := need.(string); ok {
				p.DependentRequired[name] = append(p.DependentRequired[name], text)
			}
		}
	}
}

func whole(number *float64) *int {
	if number == nil {
		return nil
	}
	n := int(*number)
	return &n
}

// Names returns the names of an object's properties, sorted.
func (p *Property) Names() []string { return slices.Sorted(maps.Keys(p.Properties)) }

// Allows reports whether the JSON type is among those allowed.
func (p *Property) Allows(jsonType string) bool {
	return len(p.Types) == 0 || slices.Contains(p.Types, jsonType) || jsonType == "integer" && slices.Contains(p.Types, "number")
}

// patterns caches compiled expressions; a nil value is one that Go cannot compile.
var patterns sync.Map

// Regexp returns the compiled Pattern, nil if there is none or if it uses features that Go lacks,
// such as lookahead.
func (p *Property) Regexp() *regexp.Regexp { return compile(p.Pattern) }

// unicodeEscape is JavaScript's escape of a character by its number.
var unicodeEscape = regexp.MustCompile(`\\u([0-9A-Fa-f]{4})`)

func compile(pattern string) *regexp.Regexp {
	if pattern == "" {
		return nil
	}
	if known, ok := patterns.Load(pattern); ok {
		expression, _ := known.(*regexp.Regexp)
		return expression
	}
	expression, err := regexp.Compile(unicodeEscape.ReplaceAllString(pattern, `\x{$1}`))
	if err != nil {
		expression = nil
	}
	patterns.Store(pattern, expression)
	return expression
}

// definition returns the name of the definition that a $ref refers to.
func definition(ref string) (section, name string) {
	section, name, _ = strings.Cut(strings.TrimPrefix(ref, "#/"), "/")
	return section, strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
}

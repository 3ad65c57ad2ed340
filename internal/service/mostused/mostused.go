package mostused

import (
	_ "embed" // for the list
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

//go:embed types.yaml
var list []byte

// List is the list of types.
type List struct {
	// Sources are the collections of templates that were counted.
	Sources []Source `json:"sources"`
	// Types are the most used types, by the number of templates.
	Types []Type `json:"types"`
	// Needed are other types that examples need.
	Needed []Type `json:"needed"`
}

// Source is a Git repository with templates.
type Source struct {
	// Repository is its address, Commit the commit that was counted.
	Repository string `json:"repository"`
	Commit     string `json:"commit"`
}

// Type is a CloudFormation type with an example.
type Type struct {
	// Name is the name of the type.
	Name string `json:"type"`
	// Templates is the number of templates with a resource of the type.
	Templates int `json:"templates"`
	// Needs are types whose examples must exist before this one, besides those in the spec.
	Needs []string `json:"needs"`
	// Publish are the attributes that the kind publishes. The default is what a derived kind publishes.
	Publish []string `json:"publish"`
	// Definition are further fields of the kind's ModelDefinition that the type needs.
	Definition map[string]any `json:"definition"`
	// Spec is the spec of an object of the kind that is derived from the type. ${TYPE.OUTPUT} in a text is an
	// output of the example of another type, and ${another TYPE.OUTPUT} of the second resource of that type.
	Spec map[string]any `json:"spec"`
	// Another has the fields of the spec that a second resource of the type cannot share.
	Another map[string]any `json:"another"`
	// ByHand has properties of the resource that another client makes, in place of those that valuesFrom sets.
	ByHand map[string]any `json:"byHand"`
	// Outputs are regular expressions for the values that AWS documents for the identifier and the ARN, by output.
	Outputs map[string]string `json:"outputs"`
	// Missing are attributes that the type has and the example has not: Fn::GetAtt of these fails.
	Missing []string `json:"missing"`
	// Change is a change in place, nil if there is none.
	Change *Change `json:"change"`
	// Refused says which steps AWS refuses for the type, and why.
	Refused Refused `json:"refused"`
}

// Change is a change of a property that the example's spec has.
type Change struct {
	// Property is its path, separated by slashes.
	Property string `json:"property"`
	// To is the new value.
	To any `json:"to"`
}

// Refused are the steps that AWS refuses, with the reasons. A step without a reason works.
type Refused struct {
	// Update is a change in place, Drift the detection of drift, and Adopt the import of a resource.
	Update string `json:"update"`
	Drift  string `json:"drift"`
	Adopt  string `json:"adopt"`
}

// Load returns the list.
func Load() (*List, error) {
	all := &List{}
	if err := yaml.UnmarshalStrict(list, all); err != nil {
		return nil, fmt.Errorf("the list of the most used types: %w", err)
	}
	return all, nil
}

// Kind returns the name of the kind of the example.
func (t *Type) Kind() string {
	return "Used" + strings.ReplaceAll(strings.TrimPrefix(t.Name, "AWS::"), "::", "")
}

// Example returns the name of the example.
func (t *Type) Example() string {
	return strings.ToLower(t.Name[strings.LastIndexByte(t.Name, ':')+1:])
}

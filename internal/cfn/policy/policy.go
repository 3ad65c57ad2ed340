package policy

import "github.com/aws-operator/aws-operator/internal/cfn/diff"

// AllowAnnotation is the annotation by which a person consents to what is
// refused otherwise. Its value is a comma-separated list of AllowReplace and
// AllowRemove.
const AllowAnnotation = "service-operator.aws/allow"

// The values of AllowAnnotation.
const (
	// AllowReplace consents to the replacement of stateful resources.
	AllowReplace = "replace"
	// AllowRemove consents to the removal of stateful resources.
	AllowRemove = "remove"
)

// Allow is what a person consented to.
type Allow struct {
	// Replace consents to the replacement of stateful resources.
	Replace bool
	// Remove consents to the removal of stateful resources.
	Remove bool
}

// Refusal is one change that may not be carried out.
type Refusal struct {
	// LogicalID of the resource.
	LogicalID string `json:"logicalID"`
	// Reason in one CamelCase word.
	Reason string `json:"reason"`
	// Message is a sentence that says what would happen and how to allow it.
	Message string `json:"message"`
}

// Check returns what in the plan may not be carried out.
func Check(p *diff.Plan, allow Allow) []Refusal { return nil }

// ParseAllow reads the value of AllowAnnotation.
func ParseAllow(value string) (Allow, error) { return Allow{}, nil }

package diff

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// Live compares the properties of a resource that exists, as JSON, with those that a stack gives it:
// what the stack would change of the resource if it had it. Properties that the resource alone has have
// no new value. It returns false if the properties cannot be read as a template's, for example because a
// value is like a function.
func Live(properties, logicalID string, desired Side, registry *schema.Registry) ([]PropertyChange, bool) {
	r := desired.Template.Resources[logicalID]
	text, err := json.Marshal(map[string]any{"Resources": map[string]any{
		logicalID: map[string]any{"Type": r.Type, "Properties": json.RawMessage(properties)},
	}})
	if err != nil {
		return nil, false
	}
	live, err := template.Parse(r.Type, text)
	if err != nil {
		return nil, false
	}
	wanted := *desired.Template
	wanted.Resources = map[string]*template.Resource{logicalID: r}
	change := Compare(Side{Template: live}, Side{Template: &wanted, Parameters: desired.Parameters}, registry).Change(logicalID)
	if change == nil {
		return nil, true
	}
	return slices.DeleteFunc(change.Properties, func(p PropertyChange) bool {
		return strings.HasPrefix(p.Path, ".") || p.New != nil && p.New.IsNoValue()
	}), true
}

// Sets returns the changes that set a property: a stack that takes a resource over changes no property
// of which its template says nothing.
func Sets(changes []PropertyChange) []PropertyChange {
	return slices.DeleteFunc(slices.Clone(changes), func(p PropertyChange) bool { return p.New == nil })
}

package diff

import (
	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// Side is one of the two states compared.
type Side struct {
	// Template of the stack, nil if there is no stack.
	Template *template.Template
	// Parameters of the stack, by name. Missing ones have their defaults.
	Parameters map[string]string
	// Tags of the stack.
	Tags map[string]string
}

// Action is what happens to a resource.
type Action string

// Actions.
const (
	// Add creates a resource.
	Add Action = "Add"
	// Update changes a resource in place.
	Update Action = "Update"
	// Replace creates a new resource and removes the old one.
	Replace Action = "Replace"
	// MayReplace is Update or Replace: only AWS knows.
	MayReplace Action = "MayReplace"
	// Remove removes a resource.
	Remove Action = "Remove"
)

// Plan is what would change, sorted by logical ID.
type Plan struct {
	// Changes by resource, sorted by logical ID.
	Changes []Change `json:"changes,omitempty"`
	// TagsChanged means that the stack's tags change, and with them those of every resource.
	TagsChanged bool `json:"tagsChanged,omitempty"`
	// OutputsChanged means that outputs are added, removed or redefined.
	OutputsChanged bool `json:"outputsChanged,omitempty"`
	// Outputs names the changed outputs, sorted.
	Outputs []string `json:"outputs,omitempty"`
	// ParametersChanged names the parameters that are added, removed or have another value, sorted.
	ParametersChanged []string `json:"parametersChanged,omitempty"`
	// SectionsChanged names other sections of the template that change,
	// such as Description and Metadata.
	SectionsChanged []string `json:"sectionsChanged,omitempty"`
}

// Change is what happens to one resource and why.
type Change struct {
	// LogicalID of the resource.
	LogicalID string `json:"logicalID"`
	// Type of the resource.
	Type string `json:"type"`
	// OldType is set when the type itself changes, which CloudFormation refuses.
	OldType string `json:"oldType,omitempty"`
	// Action is what happens to it.
	Action Action `json:"action"`
	// Properties that change, sorted by path.
	Properties []PropertyChange `json:"properties,omitempty"`
	// Stateful means that the resource contains data that is lost with it.
	Stateful bool `json:"stateful,omitempty"`
	// OldResource is what happens to the old resource when it is removed or replaced: "Delete",
	// "Retain" or "Snapshot", according to its DeletionPolicy or UpdateReplacePolicy. It is empty
	// for other actions.
	OldResource string `json:"oldResource,omitempty"`
	// FixedName is the name that the template gives the resource, if the resource must be replaced
	// and the name stays, which CloudFormation refuses. NameProperty is the property that has it.
	FixedName    string `json:"fixedName,omitempty"`
	NameProperty string `json:"nameProperty,omitempty"`
}

// PropertyChange is one changed property.
type PropertyChange struct {
	// Path is separated by slashes, such as "KeySchema/0/AttributeName"; the path of a resource
	// attribute begins with a dot, such as ".Metadata".
	Path string `json:"path"`
	// Old is the previous value, nil if there was none.
	Old *template.Node `json:"old,omitempty"`
	// New is the new value, nil if there is none.
	New *template.Node `json:"new,omitempty"`
	// ForcesReplacement means that the change replaces the resource.
	ForcesReplacement bool `json:"forcesReplacement,omitempty"`
	// MayReplace means that the change may replace the resource.
	MayReplace bool `json:"mayReplace,omitempty"`
	// Cause is the logical ID of the replaced resource that this property refers to, if that is the
	// only reason of the change.
	Cause string `json:"cause,omitempty"`
}

// Empty reports whether nothing would change.
func (p *Plan) Empty() bool {
	return p == nil || len(p.Changes) == 0 && !p.TagsChanged && !p.OutputsChanged &&
		len(p.ParametersChanged) == 0 && len(p.SectionsChanged) == 0
}

// Count returns the number of resources with an action.
func (p *Plan) Count(action Action) int {
	count := 0
	for i := range p.Changes {
		if p.Changes[i].Action == action {
			count++
		}
	}
	return count
}

// Change returns the change of a resource, or nil.
func (p *Plan) Change(logicalID string) *Change {
	for i := range p.Changes {
		if p.Changes[i].LogicalID == logicalID {
			return &p.Changes[i]
		}
	}
	return nil
}

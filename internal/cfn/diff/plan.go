package diff

import (
	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// Side is one of the two states compared.
type Side struct {
	// Template of the stack, nil if there is no stack.
	Template *template.Template
	// Parameters of the stack, by name. Those not given have their defaults.
	Parameters map[string]string
	// Tags of the stack.
	Tags map[string]string
}

// Action is what happens to a resource.
type Action string

// The actions.
const (
	// Add makes a resource.
	Add Action = "Add"
	// Update changes a resource in place.
	Update Action = "Update"
	// Replace makes a new resource and removes the old one.
	Replace Action = "Replace"
	// MayReplace is Update or Replace: only AWS can tell.
	MayReplace Action = "MayReplace"
	// Remove removes a resource.
	Remove Action = "Remove"
)

// Plan is what would change, in order of logical id.
type Plan struct {
	// Changes by resource, sorted by logical id.
	Changes []Change `json:"changes,omitempty"`
	// TagsChanged says that the stack's tags change, and with them those of every resource.
	TagsChanged bool `json:"tagsChanged,omitempty"`
	// OutputsChanged says that outputs are new, gone or defined otherwise.
	OutputsChanged bool `json:"outputsChanged,omitempty"`
	// Outputs names these, sorted.
	Outputs []string `json:"outputs,omitempty"`
	// ParametersChanged names the parameters that are new, gone or have another
	// value, sorted.
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
	// Properties that change, in order of path.
	Properties []PropertyChange `json:"properties,omitempty"`
	// Stateful says that the resource holds data which is lost with it.
	Stateful bool `json:"stateful,omitempty"`
	// OldResource is what becomes of the old resource when it is removed or
	// replaced: "Delete", "Retain" or "Snapshot", by its DeletionPolicy or
	// UpdateReplacePolicy. It is empty for other actions.
	OldResource string `json:"oldResource,omitempty"`
}

// PropertyChange is one changed property.
type PropertyChange struct {
	// Path is slash separated, such as "KeySchema/0/AttributeName"; that of a
	// resource attribute begins with a dot, such as ".Metadata".
	Path string `json:"path"`
	// Old is the value before, nil if there was none.
	Old *template.Node `json:"old,omitempty"`
	// New is the value after, nil if there is none.
	New *template.Node `json:"new,omitempty"`
	// ForcesReplacement says that the change replaces the resource.
	ForcesReplacement bool `json:"forcesReplacement,omitempty"`
	// MayReplace says that the change may replace the resource.
	MayReplace bool `json:"mayReplace,omitempty"`
	// Cause is the logical id of the replaced resource that this property
	// refers to, if it changes only for that.
	Cause string `json:"cause,omitempty"`
}

// Empty reports whether nothing would change.
func (p *Plan) Empty() bool {
	return p == nil || len(p.Changes) == 0 && !p.TagsChanged && !p.OutputsChanged &&
		len(p.ParametersChanged) == 0 && len(p.SectionsChanged) == 0
}

// Count returns how many resources an action happens to.
func (p *Plan) Count(action Action) int {
	count := 0
	for i := range p.Changes {
		if p.Changes[i].Action == action {
			count++
		}
	}
	return count
}

// Change returns the change of a resource, nil if it has none.
func (p *Plan) Change(logicalID string) *Change {
	for i := range p.Changes {
		if p.Changes[i].LogicalID == logicalID {
			return &p.Changes[i]
		}
	}
	return nil
}

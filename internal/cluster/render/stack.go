package render

import (
	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// Stack is a stack as the cluster asks for it.
type Stack struct {
	// Name is the stack's.
	Name string
	// Template is what it is made from.
	Template *template.Template
	// Parameters are the values of the template's parameters.
	Parameters map[string]string
	// Tags are put on the stack and, by CloudFormation, on what is in it.
	Tags map[string]string
	// OwnerTags are the names of the tags that tell whose stack it is.
	OwnerTags []string
	// Capabilities that CloudFormation is told are understood.
	Capabilities []string
	// TerminationProtection guards the stack against being deleted by others.
	TerminationProtection bool
	// Policy is the stack policy as JSON, empty for none.
	Policy string
}

// Base renders the stack of what a cluster's machines share and what outlives them.
func Base(c *model.Cluster) (*Stack, error) {
	return base(c)
}

// Slot renders the stack of one slot of the control plane. The base stack's
// outputs are what it stands on; it errs when one that it needs is not there.
func Slot(c *model.Cluster, slot int, base map[string]string, userData string) (*Stack, error) {
	return slotStack(c, slot, base, userData)
}

// Group renders the stack of an instance group. The base stack's outputs are
// what it stands on; it errs when one that it needs is not there.
func Group(c *model.Cluster, g *model.Group, base map[string]string, userData string) (*Stack, error) {
	return groupStack(c, g, base, userData)
}

// ownerTags tell whose stack one is.
func ownerTags(more ...string) []string {
	return append([]string{model.TagCluster, model.TagNamespace, model.TagOperator}, more...)
}

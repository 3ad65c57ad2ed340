package render

import (
	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// Stack is a rendered stack.
type Stack struct {
	// Name is the stack's.
	Name string
	// Template is what it is made from.
	Template *template.Template
	// Parameters are the values of the template's parameters.
	Parameters map[string]string
	// Hidden replaces, in digests, the values of parameters that are secrets.
	Hidden map[string]string
	// Tags are put on the stack and, by CloudFormation, on what is in it.
	Tags map[string]string
	// OwnerTags are the names of the tags that identify the stack's owner.
	OwnerTags []string
	// Capabilities are the IAM capabilities to acknowledge when creating the stack.
	Capabilities []string
	// TerminationProtection protects the stack against deletion by other clients.
	TerminationProtection bool
	// Policy is the stack policy as JSON, empty for none.
	Policy string
}

// Base renders the stack of the resources that a cluster's instances share or that outlive them.
func Base(c *model.Cluster) (*Stack, error) {
	return base(c)
}

// Slot renders the stack of a control-plane slot. It returns an error if the base stack's outputs
// lack one that it needs.
func Slot(c *model.Cluster, slot int, base map[string]string, userData string) (*Stack, error) {
	return slotStack(c, slot, base, userData)
}

// Group renders the stack of an instance group. User data is not for managed node groups. It returns
// an error if the base stack's outputs lack one that it needs.
func Group(c *model.Cluster, g *model.Group, base map[string]string, userData string) (*Stack, error) {
	switch {
	case c.EKS() == nil:
	case model.IsSelfManaged(&g.Spec):
		return selfManagedStack(c, g, base, userData)
	default:
		return nodeGroupStack(c, g, base)
	}
	return groupStack(c, g, base, userData)
}

// ownerTags returns the names of the tags that identify a stack's owner.
func ownerTags(more ...string) []string {
	return append([]string{model.TagCluster, model.TagNamespace, model.TagOperator}, more...)
}

package stacks

import (
	"fmt"
	"maps"
	"slices"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap"
	"github.com/aws-operator/aws-operator/internal/cluster/eksboot"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
)

// Made is a desired stack of instances.
type Made struct {
	// Stack is the rendered stack.
	Stack *render.Stack
	// Bundle is what the instances boot with. It must be in the bucket first. It is nil in clusters of EKS,
	// which have no bucket.
	Bundle *bootstrap.Bundle
	// NodeClass is the spec of the EC2NodeClass of a group whose nodes Karpenter creates, nil for others.
	NodeClass map[string]any
	// Machines is the record of the instances.
	Machines record.Machines
}

// Nodeup returns the hash of the available nodeup for an architecture, or an error if there is
// none.
type Nodeup func(v1alpha1.Architecture) (string, error)

// BundleError reports that a bundle cannot be created.
type BundleError struct{ Err error }

// Error returns the message.
func (e *BundleError) Error() string { return "the bundle cannot be created: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *BundleError) Unwrap() error { return e.Err }

// TemplateError reports that a stack cannot be rendered.
type TemplateError struct{ Err error }

// Error returns the message.
func (e *TemplateError) Error() string { return "the stack cannot be rendered: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *TemplateError) Unwrap() error { return e.Err }

// Slot returns the stack of a slot. Outputs are the base stack's; known is the record of the slot's
// existing stack, empty if it has none. It returns a [BundleError], a [TemplateError], or the error
// of find.
func Slot(c *model.Cluster, slot int, outputs map[string]string, known *record.Stack, find Nodeup) (*Made, error) {
	as := *c // Other goroutines read it.
	as.Spec.ControlPlane.Roll = roll(known, c.Spec.ControlPlane.Roll)
	boots, err := bootstrap.ControlPlane(&as, slot, outputs)
	if err != nil {
		return nil, &BundleError{err}
	}
	made := &Made{Bundle: boots, Machines: record.Machines{
		Bundle: boots.Hash(), Release: c.Release.Name, Version: c.Release.Spec.Kubernetes, Roll: as.Spec.ControlPlane.Roll,
		DiskTags: c.Slots[slot].DiskTags, Parts: boots.Parts(),
	}}
	return made, made.finish(c, c.ControlPlaneArchitecture, known, find, func(userData string) (*render.Stack, error) {
		as.Slots = slices.Clone(c.Slots)
		as.Slots[slot].DiskTags = made.Machines.DiskTags
		return render.Slot(&as, slot, outputs, userData)
	})
}

// Group returns the stack of an instance group. Outputs are the base stack's; caCertificate is the
// cluster CA's in PEM; known is the record of the group's existing stack, empty if it has none. It
// returns a [BundleError], a [TemplateError], or the error of find.
func Group(
	c *model.Cluster, g *model.Group, outputs map[string]string, caCertificate []byte, known *record.Stack, find Nodeup,
) (*Made, error) {
	as := *g
	as.Spec.Roll = roll(known, g.Spec.Roll)
	switch {
	case c.EKS() == nil:
	case model.IsSelfManaged(&as.Spec):
		return selfManaged(c, &as, outputs, known)
	default:
		return nodeGroup(c, &as, outputs, known)
	}
	boots, err := bootstrap.Worker(c, &as, outputs, caCertificate)
	if err != nil {
		return nil, &BundleError{err}
	}
	made := &Made{Bundle: boots, Machines: machinesOf(&as, c.Release)}
	made.Machines.Bundle, made.Machines.Parts = boots.Hash(), boots.Parts()
	return made, made.finish(c, g.Spec.Architecture, known, find, func(userData string) (*render.Stack, error) {
		as.DiskTags = made.Machines.DiskTags
		if model.IsManagedByKarpenter(&as.Spec) {
			var err error
			if made.NodeClass, err = render.NodeClass(c, &as, outputs, userData); err != nil {
				return nil, err
			}
		}
		return render.Group(c, &as, outputs, userData)
	})
}

// nodeGroup returns the stack of an instance group that EKS manages.
func nodeGroup(c *model.Cluster, g *model.Group, outputs map[string]string, known *record.Stack) (*Made, error) {
	made := &Made{Machines: machinesOf(g, c.Release)}
	return made, made.render(known, func() (*render.Stack, error) {
		g.DiskTags = made.Machines.DiskTags
		return render.Group(c, g, outputs, "")
	})
}

// selfManaged returns the stack of a self-managed group of EKS. The hash of its bundle is that of what its user data
// has, since it has no bundle.
func selfManaged(c *model.Cluster, g *model.Group, outputs map[string]string, known *record.Stack) (*Made, error) {
	boot, err := eksboot.Of(c, g, outputs)
	if err != nil {
		return nil, &TemplateError{err}
	}
	made := &Made{Machines: machinesOf(g, c.Release)}
	made.Machines.Bundle = boot.Hash
	return made, made.render(known, func() (*render.Stack, error) {
		g.DiskTags = made.Machines.DiskTags
		return render.Group(c, g, outputs, boot.UserData)
	})
}

// finish chooses nodeup and renders the stack.
func (m *Made) finish(
	c *model.Cluster, architecture v1alpha1.Architecture, known *record.Stack, find Nodeup,
	rendered func(userData string) (*render.Stack, error),
) error {
	var err error
	if m.Machines.Nodeup, err = nodeup(known, m.Machines.Bundle, architecture, find); err != nil {
		return err
	}
	userData, err := bootstrap.UserData(bootstrap.UserDataInput{
		Region: c.Region, DNSSuffix: c.DNSSuffix, Bucket: c.Bucket,
		Architecture: string(architecture), NodeupSHA256: m.Machines.Nodeup, BundleSHA256: m.Machines.Bundle,
		Signed: c.Features.SignedBootRequest,
	})
	if err != nil {
		return &TemplateError{fmt.Errorf("create user data: %w", err)}
	}
	return m.render(known, func() (*render.Stack, error) { return rendered(userData) })
}

// render renders the stack. If only the tags of disks would change, they stay the same, since a
// change of only those would replace every instance.
func (m *Made) render(known *record.Stack, rendered func() (*render.Stack, error)) error {
	var err error
	if m.Stack, err = rendered(); err != nil {
		return &TemplateError{err}
	}
	m.Machines.Shape = m.Stack.Shape()
	if tags := diskTags(known, m.Machines.Shape); tags != nil && !maps.Equal(tags, m.Machines.DiskTags) {
		m.Machines.DiskTags = tags
		if m.Stack, err = rendered(); err != nil {
			return &TemplateError{err}
		}
	}
	want := Desired(m.Stack)
	m.Machines.Stack = want.Digest()
	return nil
}

// Desired converts a rendered stack for the stack engine, without the object's own options: salt,
// consent, approval.
func Desired(rendered *render.Stack) stack.Desired {
	return stack.Desired{
		Name: rendered.Name, Template: rendered.Template, Parameters: rendered.Parameters, Hidden: rendered.Hidden, Tags: rendered.Tags,
		OwnerTags:    rendered.OwnerTags,
		Capabilities: rendered.Capabilities, TerminationProtection: rendered.TerminationProtection, Policy: rendered.Policy,
	}
}

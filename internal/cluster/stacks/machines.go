package stacks

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// Machines is what the instances of a stack are made from. It is part of the record in the status.
type Machines struct {
	// Stack is the digest of their stack.
	Stack string `json:"stack,omitempty"`
	// Bundle and Nodeup are the hashes of what they boot with.
	Bundle string `json:"bundle,omitempty"`
	Nodeup string `json:"nodeup,omitempty"`
	// Shape is the digest of everything that replaces them when it changes, except DiskTags, the
	// tags of their disks: a change of only those waits until the instances are replaced for
	// another reason.
	Shape    string            `json:"shape,omitempty"`
	DiskTags map[string]string `json:"diskTags,omitempty"`
	// Release is the name of the Release that they are made with, Version its Kubernetes version.
	Release string `json:"release,omitempty"`
	Version string `json:"version,omitempty"`
	// Roll is the text whose change replaced them on request.
	Roll string `json:"roll,omitempty"`
	// Pause and Ready are how long a node must have been Ready to be signaled, and how long it may
	// take to become so.
	Pause metav1.Duration `json:"pause,omitzero"`
	Ready metav1.Duration `json:"ready,omitzero"`
	// Engine is the engine that replaces them.
	Engine v1alpha1.RollingEngine `json:"engine,omitempty"`
	// Autoscaled reports whether the cluster autoscaler manages them.
	Autoscaled bool `json:"autoscaled,omitempty"`
}

// Differs reports whether instances must be replaced to match others.
func (m *Machines) Differs(other *Machines) bool {
	return m.Shape != other.Shape || !maps.Equal(m.DiskTags, other.DiskTags)
}

// machinesOf describes the machines of a group's stack.
func machinesOf(shape *model.Group, release *v1alpha1.Release) Machines {
	return Machines{
		Roll: shape.Spec.Roll, DiskTags: shape.DiskTags, Release: release.Name, Version: release.Spec.Kubernetes,
		Engine: shape.Rolling.Engine,
		Pause:  metav1.Duration{Duration: shape.Rolling.Pause}, Ready: metav1.Duration{Duration: shape.Rolling.ReadyTimeout},
		Autoscaled: len(shape.AutoscalerTags) > 0,
	}
}

// Past is the history of a stack's instances.
type Past struct {
	// Now is the shape of the existing ones, Next that of a change in progress; nil if there are
	// none.
	Now  *Machines `json:"now,omitempty"`
	Next *Machines `json:"next,omitempty"`
	// Stored and Nodeup are the hashes of the last bundle and nodeup stored in the bucket.
	Stored string `json:"-"`
	Nodeup string `json:"-"`
}

// roll returns the text of the last request to replace instances: the current one or, if there is
// none, the previous one, so that removing the text replaces nothing.
func (p *Past) roll(asked string) string {
	for _, one := range []*Machines{p.Next, p.Now} {
		if asked == "" && one != nil {
			asked = one.Roll
		}
	}
	return asked
}

// diskTags returns the current or future tags of disks of instances with a shape; nil if there are
// no such instances.
func (p *Past) diskTags(shape string) map[string]string {
	for _, one := range []*Machines{p.Next, p.Now} {
		if one != nil && one.Shape == shape {
			return one.DiskTags
		}
	}
	return nil
}

// nodeup returns the hash of the nodeup that instances boot with. It stays the same as long as
// their bundle does: a new operator ships a new nodeup, which must not replace all instances.
func (p *Past) nodeup(bundle string, architecture v1alpha1.Architecture, find Nodeup) (string, error) {
	for _, one := range []*Machines{p.Next, p.Now} {
		if one != nil && one.Bundle == bundle && isHash(one.Nodeup) {
			return one.Nodeup, nil
		}
	}
	if isHash(p.Nodeup) && p.Stored == bundle {
		return p.Nodeup, nil
	}
	return find(architecture)
}

// isHash reports whether a text is a SHA-256 in hexadecimal digits. Values from a status become
// part of a script that instances run.
func isHash(text string) bool {
	decoded, err := hex.DecodeString(text)
	return err == nil && len(decoded) == sha256.Size
}

// Known is the part of a stack's record that affects how it is rendered.
type Known struct {
	stack.Record

	// Machines is the history of the stack's instances; empty for the base stack.
	Machines Past
}

// Recall decodes a stack's record; a nil status has none.
func Recall(status *v1alpha1.StackStatus) (Known, error) {
	var known Known
	if status == nil {
		return known, nil
	}
	if status.Record != nil && len(status.Record.Raw) > 0 {
		read := struct {
			*stack.Record

			Nodeup   string `json:"nodeup"`
			Machines *Past  `json:"machines"`
		}{Record: &known.Record, Machines: &known.Machines}
		if err := json.Unmarshal(status.Record.Raw, &read); err != nil {
			return known, fmt.Errorf("decode the record of stack %s: %w", status.Name, err)
		}
		known.Machines.Nodeup = read.Nodeup
	}
	known.Machines.Stored = status.Bundle
	known.Status, known.StatusReason = status.Status, status.Reason
	return known, nil
}

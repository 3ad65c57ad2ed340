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

// Machines is what the machines of a stack are made from. It is part of what the status remembers.
type Machines struct {
	// Stack is the digest of the stack that makes them.
	Stack string `json:"stack,omitempty"`
	// Bundle and Nodeup are the hashes of what they boot with.
	Bundle string `json:"bundle,omitempty"`
	Nodeup string `json:"nodeup,omitempty"`
	// Shape is the digest of all for which they are replaced, but for DiskTags, the tags of their disks: a change of those alone
	// waits until the machines are replaced for another reason.
	Shape    string            `json:"shape,omitempty"`
	DiskTags map[string]string `json:"diskTags,omitempty"`
	// Release is the name of the Release that they are made with, Version its Kubernetes version.
	Release string `json:"release,omitempty"`
	Version string `json:"version,omitempty"`
	// Roll is the text by a change of which they were replaced on request.
	Roll string `json:"roll,omitempty"`
	// Pause and Ready are how long a node must have been ready to be signalled, and how long it may take to become so.
	Pause metav1.Duration `json:"pause,omitzero"`
	Ready metav1.Duration `json:"ready,omitzero"`
	// Engine is who replaces them by the ones that follow.
	Engine v1alpha1.RollingEngine `json:"engine,omitempty"`
	// Autoscaled is whether the cluster autoscaler is to scale them.
	Autoscaled bool `json:"autoscaled,omitempty"`
}

// Differs reports whether machines must be replaced to be as others.
func (m *Machines) Differs(other *Machines) bool {
	return m.Shape != other.Shape || !maps.Equal(m.DiskTags, other.DiskTags)
}

// machinesOf describes the machines of a group's stack.
func machinesOf(shape *model.Group, release *v1alpha1.Release) Machines {
	return Machines{
		Roll: shape.Spec.Roll, DiskTags: shape.DiskTags, Release: release.Name, Version: release.Spec.Kubernetes, Engine: shape.Rolling.Engine,
		Pause: metav1.Duration{Duration: shape.Rolling.Pause}, Ready: metav1.Duration{Duration: shape.Rolling.ReadyTimeout},
		Autoscaled: len(shape.AutoscalerTags) > 0,
	}
}

// Past is what the machines of a stack are made from.
type Past struct {
	// Now is of those that stand, Next of those that a change under way makes; nil if there are none.
	Now  *Machines `json:"now,omitempty"`
	Next *Machines `json:"next,omitempty"`
	// Stored and Nodeup are the hashes of the bundle and the nodeup that were put into the bucket last.
	Stored string `json:"-"`
	Nodeup string `json:"-"`
}

// roll returns the text by which machines were asked to be replaced: what is asked for now, or, when nothing is, what was before, so
// that nothing is replaced because somebody tidies up.
func (p *Past) roll(asked string) string {
	for _, one := range []*Machines{p.Next, p.Now} {
		if asked == "" && one != nil {
			asked = one.Roll
		}
	}
	return asked
}

// diskTags returns the tags that disks of machines of a shape have, or will have soon; nil if there are none of that shape.
func (p *Past) diskTags(shape string) map[string]string {
	for _, one := range []*Machines{p.Next, p.Now} {
		if one != nil && one.Shape == shape {
			return one.DiskTags
		}
	}
	return nil
}

// nodeup returns the hash of the nodeup that machines boot with. It stays as long as their bundle does: a new operator brings a new
// nodeup, and must not replace every machine by that.
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

// isHash reports whether a text is a SHA-256 in hexadecimal digits. What a status remembers becomes part of a script that machines run.
func isHash(text string) bool {
	decoded, err := hex.DecodeString(text)
	return err == nil && len(decoded) == sha256.Size
}

// Known is what a status remembers of a stack, as far as it matters to how it is rendered.
type Known struct {
	stack.Record

	// Machines are the stack's; none with the base stack.
	Machines Past
}

// Recall reads what a status remembers of a stack; nil remembers nothing.
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
			return known, fmt.Errorf("read what is known of stack %s: %w", status.Name, err)
		}
		known.Machines.Nodeup = read.Nodeup
	}
	known.Machines.Stored = status.Bundle
	known.Status, known.StatusReason = status.Status, status.Reason
	return known, nil
}

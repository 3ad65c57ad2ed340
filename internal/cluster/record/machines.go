package record

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// Machines is what the instances of a stack are made from.
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
	// Parts are digests of the parts of their bundle, by name. They only explain a change.
	Parts map[string]string `json:"parts,omitempty"`
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

// Boot is what instances boot with: the hashes of their bundle and of nodeup.
type Boot struct {
	Bundle string `json:"bundle,omitempty"`
	Nodeup string `json:"nodeup,omitempty"`
}

// IsPlanned reports whether the next change is to boot instances as wanted.
func (r *Stack) IsPlanned(wanted *Machines) bool {
	return r.Planned != nil && *r.Planned == Boot{Bundle: wanted.Bundle, Nodeup: wanted.Nodeup}
}

// Plan reports whether the record says what instances boot with, and says so from now on. If it did not, the
// caller must write the status before the change is sent.
func (r *Stack) Plan(wanted *Machines) bool {
	if r.IsPlanned(wanted) {
		return true
	}
	boot := Boot{Bundle: wanted.Bundle, Nodeup: wanted.Nodeup}
	if h := r.Machines; h != nil {
		for _, one := range []*Machines{h.Next, h.Now} {
			if one != nil && one.Bundle == boot.Bundle && one.Nodeup == boot.Nodeup {
				return true
			}
		}
	}
	r.Planned = &boot
	return false
}

// Differs reports whether instances must be replaced to match others.
func (m *Machines) Differs(other *Machines) bool {
	return m.Shape != other.Shape || !maps.Equal(m.DiskTags, other.DiskTags)
}

// Changed returns the names of the parts of the bundle that differ between instances and their
// successors, sorted; none if the parts of one of them were not recorded.
func (m *Machines) Changed(next *Machines) []string {
	if m == nil || len(m.Parts) == 0 || len(next.Parts) == 0 {
		return nil
	}
	differ := map[string]bool{}
	for name, digest := range m.Parts {
		differ[name] = next.Parts[name] != digest
	}
	for name, digest := range next.Parts {
		differ[name] = m.Parts[name] != digest
	}
	maps.DeleteFunc(differ, func(_ string, differs bool) bool { return !differs })
	return slices.Sorted(maps.Keys(differ))
}

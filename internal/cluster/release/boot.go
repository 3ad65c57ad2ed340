package release

import (
	"fmt"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// Unbootable returns why no instance of an architecture can become a node with a Release: its
// artifacts that have no file for the architecture, or a file without a SHA-256, which nodeup
// refuses. It returns nil if instances can boot. A Release without artifacts relies on the machine
// image.
func Unbootable(r *v1alpha1.Release, architecture v1alpha1.Architecture) []string {
	var reasons []string
	for i := range r.Spec.Artifacts {
		a := &r.Spec.Artifacts[i]
		source, ok := a.Sources[architecture]
		switch {
		case !ok:
			reasons = append(reasons, fmt.Sprintf("spec.artifacts[%d] (%s) has no source for %s", i, a.Name, architecture))
		case source.SHA256 == "" && source.Unverified != "":
			reasons = append(
				reasons, fmt.Sprintf("spec.artifacts[%d] (%s) has no sha256 for %s: %s", i, a.Name, architecture, source.Unverified),
			)
		case source.SHA256 == "":
			reasons = append(reasons, fmt.Sprintf("spec.artifacts[%d] (%s) has no sha256 for %s", i, a.Name, architecture))
		}
	}
	return reasons
}

// Bootable reports whether instances of each architecture that the Release has an image for can
// boot.
func Bootable(r *v1alpha1.Release) bool {
	for architecture := range r.Spec.Images {
		if len(Unbootable(r, architecture)) > 0 {
			return false
		}
	}
	return true
}

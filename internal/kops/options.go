package kops

import (
	"slices"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// Options are what a translation needs besides the manifests.
type Options struct {
	// Strict makes every note an error.
	Strict bool
	// Release names the Release that translated clusters run; the one nearest to the manifest's
	// kubernetesVersion when empty.
	Release string
	// Releases are those to choose from; the built-in ones when empty.
	Releases []*v1alpha1.Release
	// Name is what the translated cluster is called; the first label of its name in kops when
	// empty. It can be given for one cluster only.
	Name string
}

// AnnotationName holds the name that a translated Cluster has in kops, so that another cluster of
// kops does not take its place unseen.
const AnnotationName = v1alpha1.Group + "/kops-name"

// Groups are the API groups of kops, as they were and as they are.
var Groups = []string{"kops", "kops.k8s.io"}

// IsGroup reports whether an API group is kops'.
func IsGroup(group string) bool { return slices.Contains(Groups, group) }

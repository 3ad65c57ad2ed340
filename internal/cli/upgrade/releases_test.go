package upgrade

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/state"
)

// Which releases a cluster can move to: the newest is taken unless another is named, and what
// Kubernetes does not bear is refused.
func TestPossibleReleases(t *testing.T) {
	t.Parallel()
	named := func(name, kubernetes string, state v1alpha1.ReleaseState) *v1alpha1.Release {
		return &v1alpha1.Release{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       v1alpha1.ReleaseSpec{Kubernetes: kubernetes, State: state},
		}
	}
	all := []*v1alpha1.Release{
		named("a", "v1.34.2", v1alpha1.ReleaseActive), named("b", "v1.34.9", v1alpha1.ReleaseActive),
		named("c", "v1.35.1", v1alpha1.ReleaseActive),
		named("old", "v1.35.0", v1alpha1.ReleaseDeprecated), named("d", "v1.36.0", v1alpha1.ReleaseActive),
	}
	for name, c := range map[string]struct {
		of, version, wanted string
		next, to, refusal   string
	}{
		"patches and the next minor version, no deprecated ones": {of: "a", version: "v1.34.2", next: "c, b", to: "c"},
		"one that is named":          {of: "a", version: "v1.34.2", wanted: "b", next: "c, b", to: "b"},
		"two minor versions at once": {of: "a", version: "v1.34.2", wanted: "d", next: "c, b", refusal: "one minor version at a time"},
		"back":                       {of: "c", version: "v1.35.1", wanted: "b", next: "d", refusal: "Kubernetes does not support downgrades of a minor version"},
		"the newest":                 {of: "d", version: "v1.36.0"},
		"one that runs already":      {of: "d", version: "v1.36.0", wanted: "d", to: "d"},
		"one that there is not":      {of: "a", version: "v1.34.2", wanted: "z", next: "c, b", refusal: `there is no Release "z"; known Releases: a, b, c, d, old, v1.34.11`},
		"a cluster that was never made is of its release": {of: "c", next: "d", to: "d"},
		"a move that was begun goes on":                   {of: "c", version: "v1.34.9", wanted: "c", next: "", to: "c"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "demo"}, Spec: v1alpha1.ClusterSpec{Release: c.of}}
			cluster.Status.Version = c.version
			of := &state.Objects{Cluster: cluster}
			next, err := nextOf(of, all)
			if err != nil || strings.Join(release.Names(next), ", ") != c.next {
				t.Errorf("it can move to %q, not %q: %v", strings.Join(release.Names(next), ", "), c.next, err)
			}
			to, err := choose(of, next, all, c.wanted)
			switch {
			case c.refusal != "" && (err == nil || !strings.Contains(err.Error(), c.refusal)):
				t.Errorf("it is refused with %v, not with %q", err, c.refusal)
			case c.refusal == "" && err != nil:
				t.Error(err)
			case c.to == "" && to != nil, c.to != "" && (to == nil || to.Name != c.to):
				t.Errorf("it moves to %v, not %q", to, c.to)
			}
		})
	}
}

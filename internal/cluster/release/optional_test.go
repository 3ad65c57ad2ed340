package release_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
)

// A cluster that names Calico gets it with its CRDs, and not Cilium. While it has one of the two, it
// cannot change to the other.
func TestCalicoReplacesCilium(t *testing.T) {
	all := []v1alpha1.ReleaseAddon{
		{Name: "cilium"},
		{Name: "metrics-server"},
		{Name: "calico-crds", Optional: true, PartOf: "calico"},
		{Name: "calico", Optional: true, Replaces: "cilium"},
	}
	with := func(names ...string) (installed []v1alpha1.AddonStatus) {
		for _, name := range names {
			installed = append(installed, v1alpha1.AddonStatus{Name: name})
		}
		return installed
	}
	for name, one := range map[string]struct {
		own           []v1alpha1.Addon
		installed     []v1alpha1.AddonStatus
		gets          []string
		before, after string
	}{
		"a cluster that names nothing":      {gets: []string{"cilium", "metrics-server"}},
		"a new cluster with Calico":         {own: []v1alpha1.Addon{{Name: "calico"}}, gets: []string{"metrics-server", "calico-crds", "calico"}},
		"one that disables it":              {own: []v1alpha1.Addon{{Name: "calico", Disabled: true}}, gets: []string{"cilium", "metrics-server"}},
		"one with a chart of its own":       {own: []v1alpha1.Addon{{Name: "calico", Chart: "calico"}}, gets: []string{"cilium", "metrics-server"}},
		"one that configures only the CRDs": {own: []v1alpha1.Addon{{Name: "calico-crds"}}, gets: []string{"cilium", "metrics-server", "calico-crds"}},
		"a cluster that has Cilium": {
			own: []v1alpha1.Addon{{Name: "calico"}}, installed: with("cilium"),
			gets: []string{"metrics-server", "calico-crds", "calico"}, before: "cilium", after: "calico",
		},
		"a cluster that has Calico and keeps it": {
			own: []v1alpha1.Addon{{Name: "calico"}}, installed: with("calico-crds", "calico"),
			gets: []string{"metrics-server", "calico-crds", "calico"},
		},
		"a cluster that has Calico and no longer names it": {
			installed: with("calico-crds", "calico"), gets: []string{"cilium", "metrics-server"}, before: "calico", after: "cilium",
		},
		"one that has a network of its own instead": {
			own: []v1alpha1.Addon{{Name: "cilium", Disabled: true}}, installed: with("calico-crds", "calico"), gets: []string{"cilium", "metrics-server"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := release.Replacement(all, one.own, one.installed)
			if before != one.before || after != one.after {
				t.Errorf("%q would replace %q, want %q and %q", after, before, one.after, one.before)
			}
			var gets []string
			for _, a := range release.LeaveOut(append([]v1alpha1.ReleaseAddon{}, all...), one.own) {
				gets = append(gets, a.Name)
			}
			if diff := cmp.Diff(one.gets, gets); diff != "" {
				t.Errorf("it gets other addons (-want +got):\n%s", diff)
			}
		})
	}
}

package controller

import (
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/models"
)

func TestGroupsFollowTheReleaseOfTheControlPlane(t *testing.T) {
	for name, one := range map[string]struct{ wanted, runs, groups, says string }{
		"a cluster that is being created":    {"v2", "", "v2", ""},
		"a cluster that is up":               {"v2", "v2", "v2", ""},
		"a control plane that is upgrading":  {"v2", "v1", "v1", "Nodes stay at release v1 until the whole control plane runs v2."},
		"a control plane that is going back": {"v1", "v2", "v2", "Nodes stay at release v2 until the whole control plane runs v1."},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := &v1alpha1.Cluster{Spec: v1alpha1.ClusterSpec{Release: one.wanted}, Status: v1alpha1.ClusterStatus{Release: one.runs}}
			if got := models.AsRun(cluster).Spec.Release; got != one.groups {
				t.Errorf("groups use %s", got)
			}
			if got := heldBack(cluster); got != one.says || cluster.Spec.Release != one.wanted {
				t.Errorf("got %q for release %s", got, strings.TrimSpace(cluster.Spec.Release))
			}
		})
	}
}

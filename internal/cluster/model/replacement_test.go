package model_test

import (
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

func TestTheNetworkOfPodsStays(t *testing.T) {
	const refused = "spec.addons: pods run with addon cilium, and would lose their network if calico replaced it; create another cluster"
	for installed, want := range map[string]string{"": "", "metrics-server": "", "calico": "", "cilium": refused} {
		in := input(t, newVPC, "spec: {release: v1.36.4, addons: [{name: calico}]}")
		if installed != "" {
			in.Cluster.Status.Addons = []v1alpha1.AddonStatus{{Name: installed}}
		}
		_, err := model.Resolve(in)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("with %q installed: got %v, want %q", installed, err, want)
		}
	}
}

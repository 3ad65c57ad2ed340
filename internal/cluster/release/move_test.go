package release_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
)

func TestUpgradesThatKubernetesDoesNotBear(t *testing.T) {
	known := []string{"v1.35.2", "v1.36.3", "v1.36.4", "v1.37.0"}
	for sentence, c := range map[string]struct {
		release  string // that runs
		runs     string // versions of the control plane
		etcd     string
		kubelets map[string]string
		to       string // name and etcd of the Release
		want     string // part of the refusal, empty for none
	}{
		"a new cluster runs nothing":                       {to: "v1.37.0"},
		"one minor version up":                             {release: "v1.35.2", runs: "v1.35.2", to: "v1.36.3"},
		"two minor versions up":                            {release: "v1.35.2", runs: "v1.35.2", to: "v1.37.0", want: "Set spec.release to one of v1.36 first: v1.36.3, v1.36.4."},
		"a patch up":                                       {release: "v1.36.3", runs: "v1.36.3", to: "v1.36.4"},
		"a patch down":                                     {release: "v1.36.4", runs: "v1.36.4", to: "v1.36.3"},
		"a minor version down":                             {release: "v1.36.3", runs: "v1.36.3", to: "v1.35.2", want: "set spec.release back to v1.36.3"},
		"another build of the same version":                {release: "v1.36.3", runs: "v1.36.3", to: "v1.36.3-acme.1"},
		"back to where it came from, half way":             {release: "v1.35.2", runs: "v1.35.2 v1.36.3", to: "v1.35.2"},
		"to another release of the former minor, half way": {release: "v1.35.2", runs: "v1.36.3 v1.35.2", to: "v1.35.9", want: "does not support downgrades of a minor version"},
		"to another patch, half way":                       {release: "v1.35.2", runs: "v1.36.3 v1.35.2", to: "v1.36.4"},
		"to the next minor version, half way":              {release: "v1.35.2", runs: "v1.36.3 v1.35.2", to: "v1.37.0", want: "one minor version at a time"},
		"nodes three minor versions behind":                {release: "v1.35.2", runs: "v1.35.2", to: "v1.36.3", kubelets: map[string]string{"old": "v1.33.1"}},
		"nodes four minor versions behind": {
			release: "v1.35.2", runs: "v1.35.2", to: "v1.36.3",
			kubelets: map[string]string{"old": "v1.32.1", "new": "v1.35.2"}, want: "first: instance group old (v1.32.1).",
		},
		"etcd a minor version down":  {release: "v1.36.3", runs: "v1.36.3", etcd: "3.6.8", to: "v1.36.4 3.5.21-0", want: "etcd upgrades one minor version"},
		"etcd a minor version up":    {release: "v1.36.3", runs: "v1.36.3", etcd: "3.5.21", to: "v1.36.4 3.6.8-0"},
		"etcd two minor versions up": {release: "v1.36.3", runs: "v1.36.3", etcd: "3.5.21", to: "v1.36.4 3.7.0-0", want: "etcd 3.7.0"},
	} {
		name, etcd, _ := strings.Cut(c.to, " ")
		kubernetes, _, _ := strings.Cut(name, "-")
		to := &v1alpha1.Release{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       v1alpha1.ReleaseSpec{Kubernetes: kubernetes, Components: map[string]string{"etcd": etcd}},
		}
		running := release.Running{Release: c.release}
		for one := range strings.FieldsSeq(c.runs) {
			running.AddControlPlane(one)
		}
		if c.etcd != "" {
			running.Etcd = version.MustParseGeneric(c.etcd)
		}
		for of, one := range c.kubelets {
			running.AddGroup(of, one)
		}
		if got := running.Refusal(to, known); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", sentence, got, c.want)
		}
	}
}

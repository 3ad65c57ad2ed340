package plan_test

import (
	"testing"

	"github.com/aws-operator/aws-operator/internal/operator"
	"github.com/aws-operator/aws-operator/internal/plan"
)

// A plan refuses what the operator would refuse, in its words, before anything is written.
func TestMovesThatTheOperatorRefusesAreNotPlanned(t *testing.T) {
	for name, c := range map[string]struct{ runs, wanted, want string }{
		"two minor versions at once": {
			"v1.34.11", "v1.36.3",
			"cluster minimal: Release v1.36.3 has Kubernetes v1.36.3, but v1.34.11 is running: Kubernetes upgrades one minor version at a time. Set spec.release to one of v1.35 first: v1.35.8",
		},
		"back": {
			"v1.36.3", "v1.35.8",
			"cluster minimal: Release v1.35.8 has Kubernetes v1.35.8, but v1.36.3 is running: Kubernetes does not support downgrades of a minor version. To keep the running version, set spec.release back to v1.36.3",
		},
		"a release that is not there": {
			"v1.36.3", "v1.99.0",
			`cluster minimal: there is no Release "v1.99.0"; known Releases: v1.34.11, v1.35.8, v1.36.3, v1.36.4; name one of these, or give its manifest with -f`,
		},
		"one minor version":              {"v1.35.8", "v1.36.3", ""},
		"a cluster that was never there": {"", "v1.34.11", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := clustersOf(example(t, "minimal-public.yaml"))[0]
			cluster.Spec.Release, cluster.Status.Release, cluster.Status.Version = c.wanted, c.runs, c.runs
			_, err := plan.Of(
				t.Context(),
				plan.Input{Cluster: cluster},
				plan.Options{Operator: operator.DefaultClusterName, AccountID: account, NodeupDir: nodeupFolder(t)},
			)
			if got := message(err); got != c.want {
				t.Errorf("it says %q, want %q", got, c.want)
			}
		})
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

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
			"cluster minimal: Release v1.36.3 is of Kubernetes v1.36.3, and v1.34.11 runs: Kubernetes moves one minor version at a time. Set spec.release to one of v1.35 first: v1.35.8",
		},
		"back": {
			"v1.36.3", "v1.35.8",
			"cluster minimal: Release v1.35.8 is of Kubernetes v1.35.8, and v1.36.3 runs: Kubernetes does not go back a minor version. To stay as it is, set spec.release back to v1.36.3",
		},
		"a release that is not there": {
			"v1.36.3", "v1.99.0",
			`cluster minimal: there is no Release "v1.99.0"; there are v1.34.11, v1.35.8, v1.36.3, v1.36.4; name one of these, or give its manifest with -f`,
		},
		"one minor version":              {"v1.35.8", "v1.36.3", ""},
		"a cluster that was never there": {"", "v1.34.11", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := clustersOf(example(t, "minimal-public.yaml"))[0]
			cluster.Spec.Release, cluster.Status.Release, cluster.Status.Version = c.wanted, c.runs, c.runs
			_, err := plan.Of(t.Context(), plan.Input{Cluster: cluster}, plan.Options{Operator: operator.DefaultClusterName, AccountID: account, NodeupDir: nodeupFolder(t)})
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

package trial

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/cli/exit"
	"github.com/aws-operator/aws-operator/internal/operator"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/permissions"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
	"github.com/aws-operator/aws-operator/test/policies"
)

// update rewrites the table that the permissions reference shows.
var update = flag.Bool("update", false, "rewrite testdata/mutations.json")

// The policies that the command iam policy prints for a trial are sufficient for all tiers. Without any one of their
// statements, a request is denied.
func TestTrialRunsWithTheLeastPolicies(t *testing.T) {
	const user = "ada"
	requests := policies.NewRecorder(user)
	w, hourFlags := newMachines(t, nil, func(o *simulator.Options) {
		o.IAM, o.Decided, o.Latency = access.Enforce, requests.Add, slowUpdates
	})
	w.holdDrained()
	choice := permissions.Choice{
		Partition: "aws", Suffix: "amazonaws.com", Region: region, Account: account, Operator: operator.DefaultClusterName,
	}
	Permissions(&choice)
	documents, err := choice.Documents()
	if err != nil {
		t.Fatal(err)
	}
	root := simulatortest.Root(w.observer, account, region)
	var arns []string
	for _, d := range documents {
		arns = append(arns, simulatortest.Policy(t, root, d.Name, string(d.JSON())))
	}
	key := simulatortest.User(t, root, user, arns...)
	t.Setenv("AWS_ACCESS_KEY_ID", key.AccessKeyID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", key.SecretAccessKey)

	for _, flags := range [][]string{hourFlags, {"--tier", "cents", "--yes"}, {"--tier", "free", "--yes"}} {
		tier := flags[1]
		out, errOut, code := w.run(patience.Context(t), flags...)
		found := results(out)
		for _, id := range tiers[tier].rows {
			if found[id] != string(held) {
				t.Errorf("%s: %q", id, found[id])
			}
		}
		if code != exit.Done || !w.empty() || strings.Contains(out, "lacks the permission") {
			t.Errorf("tier %s: exit code %d, stacks %v\n%s\n%s", tier, code, w.stacks(), errOut, out)
		}
	}
	noticed := requests.Check(t, documents, func(sid string) bool {
		// A trial neither detects drift nor uses an existing VPC or Karpenter.
		return !slices.Contains([]string{"DriftDetections", "ExistingNetworks", "KarpenterLeftovers"}, sid)
	}, nil)
	policies.CheckTable(t, "testdata/mutations.json", noticed, *update)
}

package permissions_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/aws-operator/aws-operator/internal/permissions"
	"github.com/aws-operator/aws-operator/internal/simulator/iampolicy"
	"github.com/aws-operator/aws-operator/test/policies"
)

// update rewrites the table that the permissions reference shows.
var update = flag.Bool("update", false, "rewrite testdata/mutations.json")

// forRoles are the statements for the roles of service accounts and functions.
var forRoles = []string{"CloudFormationGrants", "PassRoles", "PodIdentities", "PassPodRoles"}

// unnoticed are the statements without which no request of the test is denied, and why they stay.
var unnoticed = map[string]string{
	"Consoles":                 "nothing: the test has no instance that does not become a node",
	"KarpenterLeftovers":       "nothing: the test has no instances of Karpenter; TestKarpenter deletes a cluster that has some",
	"CloudFormationCloudwatch": "nothing: the simulator has no alarms, which Application Auto Scaling makes with the caller's permissions",
	"CloudFormationWafv2":      "nothing: the simulator has no web ACLs, which CloudFront reads with the caller's permissions",
}

// check checks that documents, and those in config/iam, allow every request; and that without any
// one of their statements, a request is denied.
func check(t *testing.T, requests *policies.Recorder, documents []permissions.Document) {
	t.Helper()
	if request := requests.Denied(shipped(t)); request != nil {
		t.Errorf("the policies in config/iam deny %s on %s", request.Action, request.Resource)
	}
	noticed := requests.Check(t, documents, func(sid string) bool { return !slices.Contains(forRoles, sid) }, unnoticed)
	// The permissions for clusters include those for the roles. An operator without clusters needs them.
	for _, sid := range forRoles {
		if request := requests.DeniedWithout(t, chosen(t, func(c *permissions.Choice) { c.Clusters = false }), sid); request != nil {
			noticed[sid] = request.Action
		} else {
			t.Errorf("without the statement %s, nothing is denied: remove it", sid)
		}
	}
	policies.CheckTable(t, "testdata/mutations.json", noticed, *update)
}

// shipped parses the documents in config/iam for modeled kinds and clusters.
func shipped(t *testing.T) (parsed []*iampolicy.Policy) {
	t.Helper()
	for _, pattern := range []string{"operator-*.json", "cloudformation-*.json"} {
		files, err := filepath.Glob(filepath.Join("../../config/iam", pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			parsed = append(parsed, policies.Parse(t, file, data))
		}
	}
	return parsed
}

package image

import (
	"testing"

	"github.com/aws-operator/aws-operator/internal/cli/exit"
	"github.com/aws-operator/aws-operator/internal/operator"
	"github.com/aws-operator/aws-operator/internal/permissions"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
	"github.com/aws-operator/aws-operator/test/policies"
)

// The policy that iam policy --terminal prints is sufficient for the commands. Without any one of its
// statements for them, a request is denied.
func TestCommandsRunWithTheLeastPolicies(t *testing.T) {
	const user = "ada"
	requests := policies.NewRecorder(user)
	s := newSuiteWith(t, simulator.NoLag, func(o *simulator.Options) { o.IAM, o.Decided = access.Enforce, requests.Add })
	choice := permissions.Choice{
		Partition: "aws", Suffix: "amazonaws.com", Region: region, Account: accountID, Operator: operator.DefaultClusterName, Terminal: true,
	}
	documents, err := choice.Documents()
	if err != nil {
		t.Fatal(err)
	}
	root := simulatortest.Root(s.endpoint, accountID, region)
	var arns []string
	for _, d := range documents {
		arns = append(arns, simulatortest.Policy(t, root, d.Name, string(d.JSON())))
	}
	key := simulatortest.User(t, root, user, arns...)
	t.Setenv("AWS_ACCESS_KEY_ID", key.AccessKeyID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", key.SecretAccessKey)

	id := s.create()
	if out, errOut, code := s.run("list", "-o", "name"); code != exit.Done || out != id+"\n" {
		t.Errorf("list: exit code %d, standard error %q:\n%s", code, errOut, out)
	}
	if _, errOut, code := s.run("delete", id, "--yes"); code != exit.Done {
		t.Errorf("delete: exit code %d, standard error %q", code, errOut)
	}
	own := map[string]bool{"Images": true, "ImageTags": true, "ImageParameters": true, "DeleteImages": true}
	requests.Check(t, documents, func(sid string) bool { return own[sid] }, nil)
}

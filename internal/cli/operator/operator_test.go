package operator_test

import (
	"testing"

	"github.com/aws-operator/aws-operator/internal/cli/operator"
)

// TestFlagsOfTheAWSServiceOperator tests that its deployments keep their flags.
func TestFlagsOfTheAWSServiceOperator(t *testing.T) {
	cmd := operator.Command()
	err := cmd.ParseFlags([]string{
		"--cluster-name=shop", "--region=eu-west-1", "--account-id=123456789012", "--bucket=templates", "--k8s-namespace=team",
		"--loglevel=Info",
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"cluster-name": "shop", "aws-region": "eu-west-1", "aws-account-id": "123456789012", "template-bucket": "templates",
		"watch-namespace": "[team]", "log-level": "Info",
	} {
		if got := cmd.Flags().Lookup(name).Value.String(); got != want {
			t.Errorf("--%s is %q, want %q", name, got, want)
		}
	}
}

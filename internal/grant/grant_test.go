package grant_test

import (
	"testing"

	"github.com/aws-operator/aws-operator/internal/grant"
)

func TestGrants(t *testing.T) {
	grants, err := grant.Parse([]string{"team=arn:aws:sqs:eu-west-1:1:team-*", "*=arn:aws:sqs:eu-west-1:1:all"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		namespace, arn string
		want           bool
	}{
		{"team", "arn:aws:sqs:eu-west-1:1:team-a", true},
		{"team", "arn:aws:sqs:eu-west-1:1:theirs", false},
		{"other", "arn:aws:sqs:eu-west-1:1:team-a", false},
		{"other", "arn:aws:sqs:eu-west-1:1:all", true},
		{"other", "arn:aws:sqs:eu-west-1:1:all-of-them", false},
	} {
		if got := grant.Allows(grants, c.namespace, c.arn); got != c.want {
			t.Errorf("%s may name %s: %t", c.namespace, c.arn, got)
		}
	}
	for _, bad := range []string{"team", "=arn:aws:x", "team=*", "team=arn:*:sqs", "team=queue"} {
		if _, err := grant.Parse([]string{bad}); err == nil {
			t.Errorf("%q is taken for a grant", bad)
		}
	}
}

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

func TestAdoptionsNameTheWholeType(t *testing.T) {
	grants, err := grant.ParseAdoptions([]string{"team=AWS::DynamoDB::Table/team-*", "*=AWS::S3::Bucket/shared"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		namespace, resource string
		want                bool
	}{
		{"team", "AWS::DynamoDB::Table/team-orders", true},
		{"team", "AWS::DynamoDB::Table/orders", false},
		{"team", "AWS::DynamoDB::GlobalTable/team-orders", false},
		{"other", "AWS::DynamoDB::Table/team-orders", false},
		{"other", "AWS::S3::Bucket/shared", true},
	} {
		if got := grant.Allows(grants, c.namespace, c.resource); got != c.want {
			t.Errorf("%s may adopt %s: %t", c.namespace, c.resource, got)
		}
	}
	for _, bad := range []string{"team", "team=*", "team=AWS::*", "team=AWS::SQS::Queue", "team=orders/x", "=AWS::SQS::Queue/x"} {
		if _, err := grant.ParseAdoptions([]string{bad}); err == nil {
			t.Errorf("%q is taken for a grant", bad)
		}
	}
}

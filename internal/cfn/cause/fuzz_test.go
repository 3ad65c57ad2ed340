package cause_test

import (
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/cfn/cause"
)

// FuzzOf reads any message of AWS: the result is one of the causes, and does not depend on letter
// case.
func FuzzOf(f *testing.F) {
	f.Add("Resource handler returned message: \"Rate exceeded\" (Service: Ec2, Status Code: 503, Request ID: 5)")
	f.Add("IssuerBucketPolicy (AWS::S3::BucketPolicy): API: s3:PutBucketPolicy Access Denied")
	f.Fuzz(func(t *testing.T, reason string) {
		got := cause.Of(reason)
		switch got {
		case "", cause.Quota, cause.Capacity, cause.Type, cause.Image, cause.Denied, cause.Busy, cause.AWS, cause.Public, cause.Recent:
		default:
			t.Errorf("%q has the cause %q", reason, got)
		}
		if lower := cause.Of(strings.ToLower(reason)); lower != got {
			t.Errorf("%q has the cause %q, and %q in lower case", reason, got, lower)
		}
	})
}

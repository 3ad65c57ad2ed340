package cause_test

import (
	"testing"

	"github.com/aws-operator/aws-operator/internal/cfn/cause"
)

func TestCausesAreRecognized(t *testing.T) {
	for reason, c := range map[string]struct{ words, want string }{
		"a quota of vCPUs, as Auto Scaling reports it": {"You have requested more vCPU capacity than your current vCPU limit of 32 allows for the instance bucket that the specified instance type belongs to. Launching EC2 instance failed.", cause.Quota},
		"a quota of addresses":                         {"The maximum number of addresses has been reached. (Service: AmazonEC2; Error Code: AddressLimitExceeded)", cause.Quota},
		"no capacity":                                  {"We currently do not have sufficient m6i.large capacity in the Availability Zone you requested (eu-central-1a).", cause.Capacity},
		"a missing image":                              {"You must use a valid fully-formed launch template. The image id '[ami-0123456789abcdef0]' does not exist", cause.Image},
		"a missing image parameter":                    {"Unable to fetch parameters [/aws/service/x] from parameter store for this account.", cause.Image},
		"a type that the zone does not offer":          {"Your requested instance type (m7i.large) is not supported in your requested Availability Zone (eu-central-1c).", cause.Type},
		"a permission":                                 {"User: arn:aws:iam::123456789012:user/x is not authorized to perform: ec2:CreateVpc", cause.Denied},
		"an account that blocks public access":         {"IssuerBucketPolicy (AWS::S3::BucketPolicy): Access Denied.", cause.Public},
		"an account that blocks it, as S3 explains":    {`Resource handler returned message: "User: arn:aws:sts::123456789012:assumed-role/x/y is not authorized to perform: s3:PutBucketPolicy on resource: "arn:aws:s3:::demo-oidc" because public policies are prevented by the BlockPublicPolicy setting in S3 Block Public Access. (Service: S3, Status Code: 403, Request ID: 5)" (RequestToken: 7e, HandlerErrorCode: AccessDenied)`, cause.Public},
		"the permission to set a bucket's policy":      {"IssuerBucketPolicy (AWS::S3::BucketPolicy): AWS denies access: x lacks the permission s3:PutBucketPolicy, which is not authorized to perform", cause.Denied},
		"a volume that was modified too often":         {"EtcdVolume0 (AWS::EC2::Volume): You've reached the maximum modification rate per volume limit. Wait at least 6 hours between modifications per EBS volume.", cause.Busy},
		"AWS is busy":                                  {"AutoScalingGroup (AWS::AutoScaling::AutoScalingGroup): Rate exceeded.", cause.Busy},
		"AWS failed":                                   {"AutoScalingGroup (AWS::AutoScaling::AutoScalingGroup): Internal Failure.", cause.AWS},
		"a service failed":                             {"Role (AWS::IAM::Role): Try later. (Service: Iam, Status Code: 503, Request ID: 5)", cause.AWS},
		"a queue that was deleted just before":         {"Queue (AWS::SQS::Queue): You must wait 60 seconds after deleting a queue before you can create another with the same name.", cause.Recent},
		"a bucket that is being deleted":               {"Bucket (AWS::S3::Bucket): A conflicting conditional operation is currently in progress against this resource. Please try again.", cause.Recent},
		"a conflict that only the user can resolve":    {"The CIDR '10.0.0.0/16' conflicts with another subnet", ""},
		"nothing": {"", ""},
	} {
		t.Run(reason, func(t *testing.T) {
			if got := cause.Of(c.words); got != c.want {
				t.Errorf("want %q, have %q", c.want, got)
			}
		})
	}
}

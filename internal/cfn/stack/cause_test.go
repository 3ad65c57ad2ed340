package stack

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

func TestCauseOf(t *testing.T) {
	for reason, c := range map[string]struct{ words, want string }{
		"a quota of vCPUs, as Auto Scaling reports it": {"You have requested more vCPU capacity than your current vCPU limit of 32 allows for the instance bucket that the specified instance type belongs to. Launching EC2 instance failed.", causeQuota},
		"a quota of addresses":                         {"The maximum number of addresses has been reached. (Service: AmazonEC2; Error Code: AddressLimitExceeded)", causeQuota},
		"no capacity":                                  {"We currently do not have sufficient m6i.large capacity in the Availability Zone you requested (eu-central-1a).", causeCapacity},
		"a missing image":                              {"You must use a valid fully-formed launch template. The image id '[ami-0123456789abcdef0]' does not exist", causeImage},
		"a missing image parameter":                    {"Unable to fetch parameters [/aws/service/x] from parameter store for this account.", causeImage},
		"a type that the zone does not offer":          {"Your requested instance type (m7i.large) is not supported in your requested Availability Zone (eu-central-1c).", causeType},
		"a permission":                                 {"User: arn:aws:iam::123456789012:user/x is not authorized to perform: ec2:CreateVpc", causeDenied},
		"an account that blocks public access":         {"IssuerBucketPolicy (AWS::S3::BucketPolicy): Access Denied.", CausePublic},
		"an account that blocks it, as S3 explains":    {CleanReason(`Resource handler returned message: "User: arn:aws:sts::123456789012:assumed-role/x/y is not authorized to perform: s3:PutBucketPolicy on resource: "arn:aws:s3:::demo-oidc" because public policies are prevented by the BlockPublicPolicy setting in S3 Block Public Access. (Service: S3, Status Code: 403, Request ID: 5)" (RequestToken: 7e, HandlerErrorCode: AccessDenied)`), CausePublic},
		"the permission to set a bucket's policy":      {"IssuerBucketPolicy (AWS::S3::BucketPolicy): AWS denies access: x lacks the permission s3:PutBucketPolicy, which is not authorized to perform", causeDenied},
		"AWS is busy":                                  {"AutoScalingGroup (AWS::AutoScaling::AutoScalingGroup): Rate exceeded.", causeBusy},
		"AWS failed":                                   {"AutoScalingGroup (AWS::AutoScaling::AutoScalingGroup): Internal Failure.", causeAWS},
		"a service failed":                             {"Role (AWS::IAM::Role): Try later. (Service: Iam, Status Code: 503, Request ID: 5)", causeAWS},
		"a conflict that only the user can resolve":    {"The CIDR '10.0.0.0/16' conflicts with another subnet", ""},
		"nothing": {"", ""},
	} {
		t.Run(reason, func(t *testing.T) {
			if got := causeOf(c.words); got != c.want {
				t.Errorf("want %q, have %q", c.want, got)
			}
		})
	}
}

// An update that failed for lack of signals is retried if the operator was not running.
func TestGivenUpStackIsRetriedIfTheCauseMayPass(t *testing.T) {
	const unsignalled = "AutoScalingGroup: Received 0 SUCCESS signal(s) out of 4. Unable to satisfy 100% MinSuccessfulInstancesPercent requirement."
	cases := map[string]struct {
		away  bool
		why   string
		again string // the reason, if it is retried
	}{
		"the operator was not running":                  {true, unsignalled, causeAway},
		"the operator was running":                      {false, unsignalled, ""},
		"it failed for another reason":                  {true, "AutoScalingGroup: You must have a subnet.", ""},
		"AWS failed while the operator was not running": {true, "AutoScalingGroup: Internal Failure.", causeAWS},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			now := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
			v := &visit{engine: New(Options{Clock: now}), record: Record{
				Status: "UPDATE_ROLLBACK_COMPLETE", StatusReason: c.why, FailedDigest: "digest", Away: c.away,
			}}
			result := v.stallFailed()
			if c.again == "" {
				if result.State != Stalled {
					t.Errorf("%+v", result)
				}
				return
			}
			if result.State != Waiting || result.Reason != c.again || result.RequeueAfter != time.Minute {
				t.Errorf("%+v", result)
			}
			for retry := range 6 {
				if v.record.retryIfDue(now.Now()); v.record.FailedDigest == "" {
					t.Errorf("retry %d comes early: %+v", retry, v.record)
				}
				now.SetTime(*v.record.RetryAt)
				if v.record.retryIfDue(now.Now()); v.record.FailedDigest != "" || v.record.Away || v.record.RetryAt != nil {
					t.Fatalf("it is not retried: %+v", v.record)
				}
				v.record.FailedDigest, v.record.Away = "digest", c.away
				want := min(time.Minute<<(retry+1), 15*time.Minute)
				if result := v.stallFailed(); result.RequeueAfter != want {
					t.Errorf("retry %d comes after %s, want %s", retry+2, result.RequeueAfter, want)
				}
			}
		})
	}
}

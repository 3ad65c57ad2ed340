package apply

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/diagnosis"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

func TestCauseOf(t *testing.T) {
	for reason, c := range map[string]struct{ words, want string }{
		"a quota of vCPUs, as Auto Scaling reports it": {"You have requested more vCPU capacity than your current vCPU limit of 32 allows for the instance bucket that the specified instance type belongs to. Launching EC2 instance failed.", diagnosis.StackQuota},
		"a quota of addresses":                         {"The maximum number of addresses has been reached. (Service: AmazonEC2; Error Code: AddressLimitExceeded)", diagnosis.StackQuota},
		"no capacity":                                  {"We currently do not have sufficient m6i.large capacity in the Availability Zone you requested (eu-central-1a).", diagnosis.StackCapacity},
		"a missing image":                              {"You must use a valid fully-formed launch template. The image id '[ami-0123456789abcdef0]' does not exist", diagnosis.StackImage},
		"a missing image parameter":                    {"Unable to fetch parameters [/aws/service/x] from parameter store for this account.", diagnosis.StackImage},
		"a type that the zone does not offer":          {"Your requested instance type (m7i.large) is not supported in your requested Availability Zone (eu-central-1c).", diagnosis.StackType},
		"a permission":                                 {"User: arn:aws:iam::123456789012:user/x is not authorized to perform: ec2:CreateVpc", diagnosis.StackDenied},
		"an account that blocks public access":         {"IssuerBucketPolicy (AWS::S3::BucketPolicy): Access Denied.", diagnosis.StackPublic},
		"an account that blocks it, as S3 explains":    {stack.CleanReason(`Resource handler returned message: "User: arn:aws:sts::123456789012:assumed-role/x/y is not authorized to perform: s3:PutBucketPolicy on resource: "arn:aws:s3:::demo-oidc" because public policies are prevented by the BlockPublicPolicy setting in S3 Block Public Access. (Service: S3, Status Code: 403, Request ID: 5)" (RequestToken: 7e, HandlerErrorCode: AccessDenied)`), diagnosis.StackPublic},
		"the permission to set a bucket's policy":      {"IssuerBucketPolicy (AWS::S3::BucketPolicy): AWS denies access: x lacks the permission s3:PutBucketPolicy, which is not authorized to perform", diagnosis.StackDenied},
		"AWS is busy":                                  {"AutoScalingGroup (AWS::AutoScaling::AutoScalingGroup): Rate exceeded.", diagnosis.StackBusy},
		"AWS failed":                                   {"AutoScalingGroup (AWS::AutoScaling::AutoScalingGroup): Internal Failure.", diagnosis.StackAWS},
		"a service failed":                             {"Role (AWS::IAM::Role): Try later. (Service: Iam, Status Code: 503, Request ID: 5)", diagnosis.StackAWS},
		"a conflict that only the user can resolve":    {"The CIDR '10.0.0.0/16' conflicts with another subnet", ""},
		"nothing": {"", ""},
	} {
		t.Run(reason, func(t *testing.T) {
			if got := diagnosis.StackCause(c.words); got != c.want {
				t.Errorf("want %q, have %q", c.want, got)
			}
		})
	}
}

func TestOutcomesAreAggregated(t *testing.T) {
	wait := func(stack, text string) operatorkit.Outcome {
		return operatorkit.Wait(time.Minute, "CreateInProgress", text).About(outcomes.StackSubject(stack))
	}
	for reason, c := range map[string]struct {
		outcomes []operatorkit.Outcome
		want     operatorkit.Outcome
	}{
		"all done": {
			[]operatorkit.Outcome{operatorkit.Done(), operatorkit.Done().RequeueAfter(time.Hour)},
			operatorkit.Done().RequeueAfter(time.Hour),
		},
		"equal messages of several stacks are joined": {
			[]operatorkit.Outcome{wait("a", "It is made."), operatorkit.Done(), wait("b", "It is made."), wait("c", "It goes.")},
			operatorkit.Wait(time.Minute, "CreateInProgress", "Stacks a, b: It is made. Stack c: It goes."),
		},
		"a troubled outcome determines the reason": {
			[]operatorkit.Outcome{
				wait("a", "It is made."), operatorkit.Wait(
					time.Second, "QuotaExceeded", "No.",
				).About(outcomes.StackSubject("b")).Degraded(),
			},
			operatorkit.Wait(time.Second, "QuotaExceeded", "Stack a: It is made. Stack b: No.").Degraded(),
		},
		"a stall is reported when nothing is in progress": {
			[]operatorkit.Outcome{operatorkit.Done(), operatorkit.Stall("CreateFailed", "No.").About(outcomes.StackSubject("b"))},
			operatorkit.Stall("CreateFailed", "Stack b: No."),
		},
		"a stall is not reported while others are in progress": {
			[]operatorkit.Outcome{wait("a", "It is made."), operatorkit.Stall("CreateFailed", "No.").About(outcomes.StackSubject("b"))},
			operatorkit.Wait(time.Minute, "CreateInProgress", "Stack a: It is made. Stack b: No."),
		},
	} {
		t.Run(reason, func(t *testing.T) {
			got := outcomes.Aggregate(c.outcomes)
			if got.String() != c.want.String() || got.After() != c.want.After() || got.IsDegraded() != c.want.IsDegraded() {
				t.Errorf("want %s after %s, have %s after %s", c.want, c.want.After(), got, got.After())
			}
		})
	}
}

// An update that failed for lack of signals is retried if the operator was not running.
func TestUpdateThatFailedWithoutAnOperatorIsRetried(t *testing.T) {
	const unsignalled = "AutoScalingGroup: Received 0 SUCCESS signal(s) out of 4. Unable to satisfy 100% MinSuccessfulInstancesPercent requirement."
	cases := map[string]struct {
		away  bool
		why   string
		again string // the reason, if it is retried
	}{
		"the operator was not running":                  {true, unsignalled, causeAway},
		"the operator was running":                      {false, unsignalled, ""},
		"it failed for another reason":                  {true, "AutoScalingGroup: You must have a subnet.", ""},
		"AWS failed while the operator was not running": {true, "AutoScalingGroup: Internal Failure.", diagnosis.StackAWS},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			now := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
			o := New(nil, now, time.Minute)
			known := record.Stack{Away: c.away}
			known.StatusReason, known.FailedDigest = c.why, "digest"
			outcome := o.stalled("demo-workers", &known, stack.Result{Reason: "UpdateFailed", Message: "The update failed."})
			if c.again == "" {
				if outcome.Kind() != operatorkit.KindStall {
					t.Errorf("%v: %s", outcome.Kind(), outcome.Message())
				}
				return
			}
			if outcome.Kind() != operatorkit.KindWait || outcome.Reason() != c.again || outcome.After() != time.Minute {
				t.Errorf("%v after %v: %s: %s", outcome.Kind(), outcome.After(), outcome.Reason(), outcome.Message())
			}
			now.Step(time.Minute)
			o.retry(&known, "")
			if known.FailedDigest != "" || known.Away {
				t.Errorf("it is not retried: %+v", known)
			}
		})
	}
}

// Messages about an unreachable API server do not contain errors of Go's network library.
func TestUnreachableAPIIsReportedWithoutGoNetworkErrors(t *testing.T) {
	err := errors.Join(errors.New("label node a: b"), &url.Error{
		Op: "Patch", URL: "https://10.0.0.1:6443/api/v1/nodes/a",
		Err: errors.New("read tcp 127.0.0.1:4->10.0.0.1:6443: connection reset by peer"),
	})
	const want = "The Kubernetes API at 10.0.0.1:6443 did not respond. The request will be retried."
	if outcome := outcomes.Failed(err); outcome.Reason() != "APIUnreachable" || outcome.Message() != want {
		t.Errorf("%s: %s", outcome.Reason(), outcome.Message())
	}
}

func TestAbortedResponseIsExplained(t *testing.T) {
	outcome := outcomes.Failed(
		fmt.Errorf(
			"label node x: %w",
			fmt.Errorf("unexpected error when reading response body. Please retry. Original error: %w", io.ErrUnexpectedEOF),
		),
	)
	if outcome.Reason() != "APIUnreachable" ||
		outcome.Message() != "The cluster's Kubernetes API aborted its response. The request will be retried." {
		t.Errorf("%s: %s", outcome.Reason(), outcome.Message())
	}
}

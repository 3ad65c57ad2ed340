package apply

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// Causes of stack failures that are not the object's fault and that time or a change in AWS can
// fix. The operator keeps retrying such stacks.
const (
	causeQuota    = "QuotaExceeded"
	causeCapacity = "CapacityShortage"
	causeType     = "InstanceTypeUnsupported"
	causeImage    = "ImageNotFound"
	causeDenied   = "AccessDenied"
	causeBusy     = "Throttled"
	causeAWS      = "AWSFailed"
	causeAway     = "OperatorAway"
	causePublic   = "PublicAccessBlocked"
)

// causes maps phrases of AWS's error messages to causes, in order of precedence:
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/CHAP_Troubleshooting.html
// https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-test-contract-errors.html
var causes = []struct {
	cause string
	words []string
}{
	{causeQuota, []string{
		"vcpulimitexceeded", "vcpu limit", "vcpu capacity", "limitexceeded", "limit exceeded", "maximum number of", "quota",
		"service limit",
	}},
	{causeCapacity, []string{
		"insufficientinstancecapacity", "insufficient capacity", "do not have sufficient", "no spot capacity", "insufficienthostcapacity",
	}},
	{causeImage, []string{
		"invalidamiid", "image id '", "ami cannot be found", "unable to fetch parameters", "does not exist: [ami", "parameternotfound",
	}},
	{causeType, []string{
		"instance type", "instancetype", "unsupported: ", "requested configuration is currently not supported",
		"not supported in your requested availability zone",
	}},
	{
		causeBusy,
		[]string{"rate exceeded", "throttl", "requestlimitexceeded", "request limit exceeded", "too many requests", "serviceunavailable"},
	},
	{causeAWS, []string{
		"internal failure", "internalfailure", "internal error", "internalerror", "serviceinternalerror", "networkfailure",
		"status code: 500", "status code: 502", "status code: 503", "status code: 504",
	}},
	{causeDenied, []string{"not authorized to perform", "accessdenied", "access denied", "unauthorizedoperation"}},
}

// deniedPolicy matches what CloudFormation reports when S3 refuses the policy of a bucket of the
// base stack. S3 does so where the account or the organization blocks public policies, often
// without naming the reason.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/access-control-block-public-access.html
var deniedPolicy = regexp.MustCompile(`bucketpolicy \(aws::s3::bucketpolicy\): (api: s3:putbucketpolicy )?access denied`)

// publicRemedy explains how to fix a refused public policy.
const publicRemedy = "The documents of the service-account issuer must be public, and the account or its organization blocks public policies of buckets " +
	"(S3 Block Public Access, BlockPublicPolicy). Turn that off for the account, or publish the documents elsewhere and set spec.serviceAccountIssuer.url, " +
	"or remove spec.serviceAccountIssuer."

// causeOf returns the cause that an AWS message names, "" if it is none that passes without a
// change to the object.
func causeOf(reason string) string {
	reason = strings.ToLower(reason)
	if deniedPolicy.MatchString(reason) || strings.Contains(reason, "blockpublicpolicy") {
		return causePublic
	}
	for _, one := range causes {
		for _, word := range one.words {
			if strings.Contains(reason, word) {
				return one.cause
			}
		}
	}
	return ""
}

// lacksSignals reports whether an AWS message says that CloudFormation received too few success
// signals.
func lacksSignals(reason string) bool {
	return strings.Contains(reason, "SUCCESS signal(s)") || strings.Contains(reason, "resource signal(s)")
}

// Bounds of the growing delay between retries after the stack engine gave up.
const (
	FirstSlowRetry   = time.Minute
	longestSlowRetry = 15 * time.Minute
)

// stalled reports a failed stack. If the cause may pass, it retries with a growing delay.
func (s *Stacks) stalled(name string, known *record.Stack, result stack.Result) operatorkit.Outcome {
	cause, why := causeOf(known.StatusReason), known.StatusReason
	if cause == "" && known.Away && lacksSignals(known.StatusReason) {
		cause, why = causeAway, "The operator was not running while instances were replaced, so CloudFormation received no success signals."
	}
	if cause == "" {
		return operatorkit.Stall(result.Reason, result.Message).About(outcomes.StackSubject(name))
	}
	if cause == causePublic {
		why += " " + publicRemedy
	}
	now := s.clock.Now()
	if known.RetryAt == nil {
		delay := s.slowRetry << min(known.Retries, 8)
		at := now.Add(min(delay, longestSlowRetry)).UTC()
		known.RetryAt = &at
	}
	return operatorkit.Wait(max(known.RetryAt.Sub(now), time.Millisecond), cause, fmt.Sprintf(
		"%s Retrying at %s, or as soon as the object changes.",
		why,
		known.RetryAt.Format("15:04:05 MST"),
	)).About(outcomes.StackSubject(name)).Degraded()
}

// retry makes the engine retry a stack that it gave up, once the retry is due. A user who asks for
// one begins with the shortest delay again.
func (s *Stacks) retry(known *record.Stack, asked string) {
	if asked != "" && asked != known.Retried {
		known.RetryAt, known.Retries, known.Away = nil, 0, false
	}
	if known.RetryAt == nil || s.clock.Now().Before(*known.RetryAt) {
		return
	}
	known.RetryAt, known.Retries, known.Away = nil, known.Retries+1, false
	known.Attempts, known.FailedDigest, known.NextAttempt = 0, "", nil
}

package stack

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Causes of failures that are not the object's fault and that time or a change in AWS can fix. The
// engine keeps retrying such stacks. The causes are reasons of results.
const (
	causeQuota    = "QuotaExceeded"
	causeCapacity = "CapacityShortage"
	causeType     = "InstanceTypeUnsupported"
	causeImage    = "ImageNotFound"
	causeDenied   = "AccessDenied"
	causeBusy     = "Throttled"
	causeAWS      = "AWSFailed"
	causeAway     = "OperatorAway"
	// CausePublic means that the account or its organization blocks public policies of buckets.
	CausePublic = "PublicAccessBlocked"
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

// deniedPolicy matches what CloudFormation reports when S3 refuses the policy of a bucket. S3 does so where the account or the organization blocks public policies, often
// without naming the reason.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/access-control-block-public-access.html
var deniedPolicy = regexp.MustCompile(`bucketpolicy \(aws::s3::bucketpolicy\): (api: s3:putbucketpolicy )?access denied`)

// causeOf returns the cause that an AWS message names, "" if it is none that passes without a
// change of the stack.
func causeOf(reason string) string {
	reason = strings.ToLower(reason)
	if deniedPolicy.MatchString(reason) || strings.Contains(reason, "blockpublicpolicy") {
		return CausePublic
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

// longestSlowRetry limits the growing delay between retries after the engine gave up.
const longestSlowRetry = 15 * time.Minute

// retrySlowly schedules a retry of a stack that the engine gave up, if the cause of the failure may
// pass. It returns false otherwise.
func (v *visit) retrySlowly() (Result, bool) {
	why := v.record.StatusReason
	cause := causeOf(why)
	if cause == "" && v.record.Away && lacksSignals(why) {
		cause, why = causeAway, "The operator was not running while instances were replaced, so CloudFormation received no success signals."
	}
	if cause == "" {
		return Result{}, false
	}
	now := v.now()
	if v.record.RetryAt == nil {
		delay := v.engine.options.SlowRetry << min(v.record.Retries, 8)
		at := now.Add(min(delay, longestSlowRetry)).UTC()
		v.record.RetryAt = &at
	}
	message := fmt.Sprintf("%s Retrying at %s, or as soon as the object changes.", why, v.record.RetryAt.Format("15:04:05 MST"))
	return v.wait(cause, message, max(v.record.RetryAt.Sub(now), time.Millisecond)), true
}

// retryIfDue makes the engine send again what it gave up, once the retry is due.
func (r *Record) retryIfDue(now time.Time) {
	if r.RetryAt == nil || now.Before(*r.RetryAt) {
		return
	}
	retries := r.Retries + 1
	r.forgetFailure()
	r.Retries = retries
}

// forgetFailure makes the engine send again what failed.
func (r *Record) forgetFailure() {
	r.FailedDigest, r.NextAttempt, r.Attempts, r.RollbackAttempts = "", nil, 0, 0
	r.Retries, r.RetryAt, r.Away = 0, nil, false
}

// fails records that sending a digest failed.
func (v *visit) fails(digest string) {
	v.record.FailedDigest = digest
	v.record.Away = v.record.StartedAt != nil && v.record.StartedAt.Before(v.engine.inCharge())
}

// Package cause recognizes why AWS refused something, from the text of its message.
package cause

import (
	"regexp"
	"strings"
)

// Causes of failures that are not the object's fault and that time or a change in AWS can fix. They
// are reasons of conditions, too.
const (
	Quota    = "QuotaExceeded"
	Capacity = "CapacityShortage"
	Type     = "InstanceTypeUnsupported"
	Image    = "ImageNotFound"
	Denied   = "AccessDenied"
	Busy     = "Throttled"
	AWS      = "AWSFailed"
	Away     = "OperatorAway"
	Public   = "PublicAccessBlocked"
	Recent   = "NameRecentlyUsed"
)

// causes maps phrases of AWS's error messages to causes, in order of precedence:
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/CHAP_Troubleshooting.html
// https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-test-contract-errors.html
var causes = []struct {
	cause string
	words []string
}{
	// SQS and S3 release the name of what was deleted after a minute or more.
	// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_DeleteQueue.html
	{Recent, []string{
		"wait 60 seconds after deleting a queue", "queuedeletedrecently",
		"conflicting conditional operation is currently in progress",
	}},
	{Quota, []string{
		"vcpulimitexceeded", "vcpu limit", "vcpu capacity", "limitexceeded", "limit exceeded", "maximum number of", "quota",
		"service limit",
	}},
	{Capacity, []string{
		"insufficientinstancecapacity", "insufficient capacity", "do not have sufficient", "no spot capacity", "insufficienthostcapacity",
	}},
	{Image, []string{
		"invalidamiid", "image id '", "ami cannot be found", "unable to fetch parameters", "does not exist: [ami", "parameternotfound",
	}},
	{Type, []string{
		"instance type", "instancetype", "unsupported: ", "requested configuration is currently not supported",
		"not supported in your requested availability zone",
	}},
	{
		Busy,
		[]string{
			"rate exceeded", "throttl", "requestlimitexceeded", "request limit exceeded", "too many requests", "serviceunavailable",
			"modification rate per volume",
		},
	},
	{AWS, []string{
		"internal failure", "internalfailure", "internal error", "internalerror", "serviceinternalerror", "networkfailure",
		"status code: 500", "status code: 502", "status code: 503", "status code: 504",
	}},
	{Denied, []string{"not authorized to perform", "accessdenied", "access denied", "unauthorizedoperation"}},
}

// deniedPolicy matches what CloudFormation reports when S3 refuses the policy of a bucket. S3 does so
// where the account or the organization blocks public policies, often without naming the reason.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/access-control-block-public-access.html
var deniedPolicy = regexp.MustCompile(`bucketpolicy \(aws::s3::bucketpolicy\): (api: s3:putbucketpolicy )?access denied`)

// Of returns the cause that an AWS message names, "" if it is none that passes without a
// change of the stack.
func Of(reason string) string {
	reason = strings.ToLower(reason)
	if deniedPolicy.MatchString(reason) || strings.Contains(reason, "blockpublicpolicy") {
		return Public
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

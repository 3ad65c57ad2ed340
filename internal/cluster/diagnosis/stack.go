package diagnosis

import (
	"regexp"
	"strings"
)

// Causes of stack failures that are not the object's fault and that time or a change in AWS can
// fix. The operator keeps retrying such stacks. Reasons of conditions have the same names.
const (
	StackQuota    = "QuotaExceeded"
	StackCapacity = "CapacityShortage"
	StackType     = "InstanceTypeUnsupported"
	StackImage    = "ImageNotFound"
	StackDenied   = "AccessDenied"
	StackBusy     = "Throttled"
	StackAWS      = "AWSFailed"
	StackPublic   = "PublicAccessBlocked"
)

// stackCauses maps phrases of AWS's error messages to causes, in order of precedence:
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/CHAP_Troubleshooting.html
// https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-test-contract-errors.html
var stackCauses = []struct {
	cause string
	words []string
}{
	{StackQuota, []string{
		"vcpulimitexceeded", "vcpu limit", "vcpu capacity", "limitexceeded", "limit exceeded", "maximum number of", "quota",
		"service limit",
	}},
	{StackCapacity, []string{
		"insufficientinstancecapacity", "insufficient capacity", "do not have sufficient", "no spot capacity", "insufficienthostcapacity",
	}},
	{StackImage, []string{
		"invalidamiid", "image id '", "ami cannot be found", "unable to fetch parameters", "does not exist: [ami", "parameternotfound",
	}},
	{StackType, []string{
		"instance type", "instancetype", "unsupported: ", "requested configuration is currently not supported",
		"not supported in your requested availability zone",
	}},
	{
		StackBusy,
		[]string{"rate exceeded", "throttl", "requestlimitexceeded", "request limit exceeded", "too many requests", "serviceunavailable"},
	},
	{StackAWS, []string{
		"internal failure", "internalfailure", "internal error", "internalerror", "serviceinternalerror", "networkfailure",
		"status code: 500", "status code: 502", "status code: 503", "status code: 504",
	}},
	{StackDenied, []string{"not authorized to perform", "accessdenied", "access denied", "unauthorizedoperation"}},
}

// deniedPolicy matches what CloudFormation reports when S3 refuses the policy of a bucket of the
// base stack. S3 does so where the account or the organization blocks public policies, often
// without naming the reason.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/access-control-block-public-access.html
var deniedPolicy = regexp.MustCompile(`bucketpolicy \(aws::s3::bucketpolicy\): (api: s3:putbucketpolicy )?access denied`)

// StackCause returns the cause that an AWS message names, "" if it is none that passes without a
// change to the object.
func StackCause(reason string) string {
	reason = strings.ToLower(reason)
	if deniedPolicy.MatchString(reason) || strings.Contains(reason, "blockpublicpolicy") {
		return StackPublic
	}
	for _, one := range stackCauses {
		for _, word := range one.words {
			if strings.Contains(reason, word) {
				return one.cause
			}
		}
	}
	return ""
}

// ReasonStackFailed is the reason of a stack's failure with another cause.
const ReasonStackFailed = "StackFailed"

// OfStack returns the cause of a stack's failure, given CloudFormation's reason.
func OfStack(reason string) Cause {
	cause := StackCause(reason)
	if known, ok := stackRemedies[cause]; ok {
		return Cause{cause, known[0], known[1]}
	}
	return Cause{
		ReasonStackFailed, "CloudFormation could not create or change a resource.",
		"Correct what the reason names, and apply the definition again.",
	}
}

// stackRemedies are the texts and remedies of the causes of stack failures.
var stackRemedies = map[string][2]string{
	StackQuota: {
		"A quota of the AWS account is exhausted.", "Request an increase in Service Quotas, or use fewer or smaller instances.",
	},
	StackCapacity: {
		"AWS has no capacity for this instance type in the zone.", "Wait, or use another instance type or other zones.",
	},
	StackType: {
		"The zone does not offer this instance type, or not for this image.", "Use another instance type or other zones.",
	},
	StackImage: {
		"The image or its SSM parameter does not exist in the region.", "Set the image of the slots or of the instance group, or use another Release.",
	},
	StackDenied: {
		"AWS denies a permission to the principal that creates the stack.", "Allow the action that the reason names.",
	},
	StackPublic: {
		"The account blocks public policies of buckets, which spec.serviceAccountIssuer needs.",
		"Turn BlockPublicPolicy off, or set spec.serviceAccountIssuer.url.",
	},
	StackBusy: {"AWS throttles requests.", "Wait: the change is retried."},
	StackAWS:  {"AWS itself failed.", "Wait: the change is retried."},
}

package diagnosis

import "github.com/aws-operator/aws-operator/internal/cfn/cause"

// ReasonStackFailed is the reason of a stack's failure with another cause.
const ReasonStackFailed = "StackFailed"

// OfStack returns the cause of a stack's failure, given CloudFormation's reason.
func OfStack(reason string) Cause {
	of := cause.Of(reason)
	if known, ok := stackRemedies[of]; ok {
		return Cause{of, known[0], known[1]}
	}
	return Cause{
		ReasonStackFailed, "CloudFormation could not create or change a resource.",
		"Correct what the reason names, and apply the definition again.",
	}
}

// stackRemedies are the texts and remedies of the causes of stack failures.
var stackRemedies = map[string][2]string{
	cause.Quota: {
		"A quota of the AWS account is exhausted.", "Request an increase in Service Quotas, or use fewer or smaller instances.",
	},
	cause.Capacity: {
		"AWS has no capacity for this instance type in the zone.", "Wait, or use another instance type or other zones.",
	},
	cause.Type: {
		"The zone does not offer this instance type, or not for this image.", "Use another instance type or other zones.",
	},
	cause.Image: {
		"The image or its SSM parameter does not exist in the region.", "Set the image of the slots or of the instance group, or use another Release.",
	},
	cause.Denied: {
		"AWS denies a permission to the principal that creates the stack.", "Allow the action that the reason names.",
	},
	cause.Public: {
		"The account blocks public policies of buckets, which spec.serviceAccountIssuer needs.",
		"Turn BlockPublicPolicy off, or set spec.serviceAccountIssuer.url.",
	},
	cause.Recent: {"AWS has not released a name since what had it was deleted.", "Wait: the change is retried."},
	cause.Busy:   {"AWS throttles requests.", "Wait: the change is retried."},
	cause.AWS:    {"AWS itself failed.", "Wait: the change is retried."},
}

package access

// CalledVia is the condition key of the service that calls on behalf of a principal, in lower case.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-keys.html#condition-keys-calledvia
const CalledVia = "aws:calledvia"

// names maps operations to IAM actions of another name; an operation with an empty one needs no
// permission.
var names = map[string]string{
	// https://docs.aws.amazon.com/AmazonS3/latest/userguide/using-with-s3-policy-actions.html
	"s3:HeadObject": "s3:GetObject", "s3:ListObjects": "s3:ListBucket", "s3:ListObjectsV2": "s3:ListBucket",
	"s3:HeadBucket":         "s3:ListBucket",
	"s3:ListObjectVersions": "s3:ListBucketVersions", "s3:DeleteObjects": "s3:DeleteObject", "s3:CopyObject": "s3:PutObject",
	"s3:CreateMultipartUpload": "s3:PutObject", "s3:UploadPart": "s3:PutObject", "s3:CompleteMultipartUpload": "s3:PutObject",
	"s3:ListBuckets": "s3:ListAllMyBuckets",
	// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-api-permissions-reference.html
	"sqs:DeleteMessageBatch": "sqs:DeleteMessage", "sqs:SendMessageBatch": "sqs:SendMessage",
	"sqs:ChangeMessageVisibilityBatch": "sqs:ChangeMessageVisibility",
	// https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html: no
	// permissions are required.
	"sts:GetCallerIdentity": "",
}

// tagging maps services to the action that a caller also needs to tag what a call creates.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/supported-iam-actions-tagging.html
// https://docs.aws.amazon.com/elasticloadbalancing/latest/userguide/tagging-resources-during-creation.html
var tagging = map[string]string{"ec2": "ec2:CreateTags", "elasticloadbalancing": "elasticloadbalancing:AddTags"}

// Action returns the IAM action for an action named like its operation, or "" if the operation
// needs no permission.
func Action(named string) string {
	if name, ok := names[named]; ok {
		return name
	}
	return named
}

// Tagging returns the action that authorizes tags on creation, or "" if the service requires none.
func Tagging(service string) string { return tagging[service] }

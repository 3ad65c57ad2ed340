package cloudformation

import (
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

// readActions are the permissions of the read handlers in the schemas that AWS publishes, for the
// types of the built-in kinds, except s3:GetBucketMetadataTableConfiguration, which is for a property
// that no built-in kind has. Reads of other types need no permission in the simulator.
// https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-schema.html
var readActions = map[string][]string{
	"AWS::CloudFront::Distribution": {
		"cloudfront:GetDistribution", "cloudfront:GetDistributionConfig", "cloudfront:ListTagsForResource",
	},
	"AWS::CloudFront::OriginAccessControl": {"cloudfront:GetOriginAccessControl"},
	"AWS::DynamoDB::Table": {
		"dynamodb:DescribeTable", "dynamodb:DescribeContinuousBackups", "dynamodb:DescribeContributorInsights",
		"dynamodb:DescribeKinesisStreamingDestination", "dynamodb:ListTagsOfResource", "dynamodb:GetResourcePolicy",
	},
	"AWS::ECR::Repository": {
		"ecr:DescribeRepositories", "ecr:GetLifecyclePolicy", "ecr:GetRepositoryPolicy", "ecr:ListTagsForResource",
	},
	"AWS::S3::Bucket": {
		"s3:GetAccelerateConfiguration", "s3:GetLifecycleConfiguration", "s3:GetBucketPublicAccessBlock", "s3:GetAnalyticsConfiguration",
		"s3:GetBucketCORS", "s3:GetEncryptionConfiguration", "s3:GetInventoryConfiguration", "s3:GetBucketLogging",
		"s3:GetMetricsConfiguration", "s3:GetBucketNotification", "s3:GetBucketVersioning", "s3:GetReplicationConfiguration",
		"s3:GetBucketWebsite", "s3:GetBucketObjectLockConfiguration", "s3:GetBucketTagging", "s3:GetBucketOwnershipControls",
		"s3:GetIntelligentTieringConfiguration", "s3:ListBucket",
	},
	"AWS::S3::BucketPolicy": {"s3:GetBucketPolicy"},
	"AWS::SNS::Topic": {
		"sns:GetTopicAttributes", "sns:ListTagsForResource", "sns:ListSubscriptionsByTopic", "sns:GetDataProtectionPolicy",
	},
	"AWS::SQS::Queue": {"sqs:GetQueueAttributes", "sqs:ListQueueTags"},
}

// readDenial returns an error if the caller of a detection may not read resources of a type: "Read
// permission for each resource that supports drift detection included in the stack". A service role
// does not replace the caller's permissions.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-stack-drift.html#drift-considerations
func (s *stack) readDenial(d *driftDetection, kind string) error {
	for _, action := range readActions[kind] {
		caller := s.root().caller()
		if d.caller != nil {
			caller = d.caller.ARN
		}
		if reason := s.engine.options.Env.Control.Denial(s.asCaller(d.accessKey, caller, d.caller, action)); reason != "" {
			return resource.Errorf(resource.AccessDenied, "%s (Service: %s, Status Code: 403, Request ID: %s)",
				fault.DenialMessage(caller, action, "", reason), title(action), newUUID())
		}
	}
	return nil
}

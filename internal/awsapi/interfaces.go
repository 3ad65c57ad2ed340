package awsapi

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// CloudControl reads resources of any CloudFormation type.
type CloudControl interface {
	GetResource(context.Context, *cloudcontrol.GetResourceInput, ...func(*cloudcontrol.Options)) (*cloudcontrol.GetResourceOutput, error)
}

// Inventory lists resources of any CloudFormation type.
type Inventory interface {
	ListResources(
		context.Context, *cloudcontrol.ListResourcesInput, ...func(*cloudcontrol.Options),
	) (*cloudcontrol.ListResourcesOutput, error)
}

// StackFinder finds the stack of a resource.
type StackFinder interface {
	DescribeStackResources(
		context.Context, *cloudformation.DescribeStackResourcesInput, ...func(*cloudformation.Options),
	) (*cloudformation.DescribeStackResourcesOutput, error)
}

// CloudFormation contains every call of CloudFormation that the project makes for stacks.
type CloudFormation interface { //nolint:interfacebloat // the sum of the others
	StackReader
	StackWriter
	StackRepairer
	StackReviewer
	StackSignaller
	StackDrift
}

// StackReader reads stacks.
type StackReader interface {
	DescribeStacks(
		context.Context, *cloudformation.DescribeStacksInput, ...func(*cloudformation.Options),
	) (*cloudformation.DescribeStacksOutput, error)
	DescribeStackEvents(
		context.Context, *cloudformation.DescribeStackEventsInput, ...func(*cloudformation.Options),
	) (*cloudformation.DescribeStackEventsOutput, error)
	ListStackResources(
		context.Context, *cloudformation.ListStackResourcesInput, ...func(*cloudformation.Options),
	) (*cloudformation.ListStackResourcesOutput, error)
	GetTemplate(
		context.Context, *cloudformation.GetTemplateInput, ...func(*cloudformation.Options),
	) (*cloudformation.GetTemplateOutput, error)
}

// StackWriter creates, updates and deletes stacks.
type StackWriter interface {
	CreateStack(
		context.Context, *cloudformation.CreateStackInput, ...func(*cloudformation.Options),
	) (*cloudformation.CreateStackOutput, error)
	UpdateStack(
		context.Context, *cloudformation.UpdateStackInput, ...func(*cloudformation.Options),
	) (*cloudformation.UpdateStackOutput, error)
	DeleteStack(
		context.Context, *cloudformation.DeleteStackInput, ...func(*cloudformation.Options),
	) (*cloudformation.DeleteStackOutput, error)
	UpdateTerminationProtection(
		context.Context, *cloudformation.UpdateTerminationProtectionInput, ...func(*cloudformation.Options),
	) (*cloudformation.UpdateTerminationProtectionOutput, error)
}

// StackRepairer recovers stacks from failed updates.
type StackRepairer interface {
	ContinueUpdateRollback(
		context.Context, *cloudformation.ContinueUpdateRollbackInput, ...func(*cloudformation.Options),
	) (*cloudformation.ContinueUpdateRollbackOutput, error)
	RollbackStack(
		context.Context, *cloudformation.RollbackStackInput, ...func(*cloudformation.Options),
	) (*cloudformation.RollbackStackOutput, error)
}

// StackReviewer manages change sets.
type StackReviewer interface {
	CreateChangeSet(
		context.Context, *cloudformation.CreateChangeSetInput, ...func(*cloudformation.Options),
	) (*cloudformation.CreateChangeSetOutput, error)
	DescribeChangeSet(
		context.Context, *cloudformation.DescribeChangeSetInput, ...func(*cloudformation.Options),
	) (*cloudformation.DescribeChangeSetOutput, error)
	ExecuteChangeSet(
		context.Context, *cloudformation.ExecuteChangeSetInput, ...func(*cloudformation.Options),
	) (*cloudformation.ExecuteChangeSetOutput, error)
	DeleteChangeSet(
		context.Context, *cloudformation.DeleteChangeSetInput, ...func(*cloudformation.Options),
	) (*cloudformation.DeleteChangeSetOutput, error)
	SetStackPolicy(
		context.Context, *cloudformation.SetStackPolicyInput, ...func(*cloudformation.Options),
	) (*cloudformation.SetStackPolicyOutput, error)
}

// Templates checks templates, without a stack.
type Templates interface {
	ValidateTemplate(
		context.Context, *cloudformation.ValidateTemplateInput, ...func(*cloudformation.Options),
	) (*cloudformation.ValidateTemplateOutput, error)
}

// StackSignaller signals to updates of stacks, and cancels them.
type StackSignaller interface {
	SignalResource(
		context.Context, *cloudformation.SignalResourceInput, ...func(*cloudformation.Options),
	) (*cloudformation.SignalResourceOutput, error)
	CancelUpdateStack(
		context.Context, *cloudformation.CancelUpdateStackInput, ...func(*cloudformation.Options),
	) (*cloudformation.CancelUpdateStackOutput, error)
}

// StackDrift detects whether stacks' resources differ from the template.
type StackDrift interface {
	DetectStackDrift(
		context.Context, *cloudformation.DetectStackDriftInput, ...func(*cloudformation.Options),
	) (*cloudformation.DetectStackDriftOutput, error)
	DescribeStackDriftDetectionStatus(
		context.Context, *cloudformation.DescribeStackDriftDetectionStatusInput, ...func(*cloudformation.Options),
	) (*cloudformation.DescribeStackDriftDetectionStatusOutput, error)
	DescribeStackResourceDrifts(
		context.Context, *cloudformation.DescribeStackResourceDriftsInput, ...func(*cloudformation.Options),
	) (*cloudformation.DescribeStackResourceDriftsOutput, error)
}

// AutoScaling reads and changes groups and their instances.
type AutoScaling interface {
	AutoScalingReader
	AutoScalingLifecycle
	AutoScalingWriter
}

// AutoScalingReader reads groups and their instances.
type AutoScalingReader interface {
	DescribeAutoScalingGroups(
		context.Context, *autoscaling.DescribeAutoScalingGroupsInput, ...func(*autoscaling.Options),
	) (*autoscaling.DescribeAutoScalingGroupsOutput, error)
	DescribeAutoScalingInstances(
		context.Context, *autoscaling.DescribeAutoScalingInstancesInput, ...func(*autoscaling.Options),
	) (*autoscaling.DescribeAutoScalingInstancesOutput, error)
	DescribeScalingActivities(
		context.Context, *autoscaling.DescribeScalingActivitiesInput, ...func(*autoscaling.Options),
	) (*autoscaling.DescribeScalingActivitiesOutput, error)
}

// AutoScalingLifecycle completes lifecycle actions and terminates instances.
type AutoScalingLifecycle interface {
	CompleteLifecycleAction(
		context.Context, *autoscaling.CompleteLifecycleActionInput, ...func(*autoscaling.Options),
	) (*autoscaling.CompleteLifecycleActionOutput, error)
	RecordLifecycleActionHeartbeat(
		context.Context, *autoscaling.RecordLifecycleActionHeartbeatInput, ...func(*autoscaling.Options),
	) (*autoscaling.RecordLifecycleActionHeartbeatOutput, error)
	TerminateInstanceInAutoScalingGroup(
		context.Context, *autoscaling.TerminateInstanceInAutoScalingGroupInput, ...func(*autoscaling.Options),
	) (*autoscaling.TerminateInstanceInAutoScalingGroupOutput, error)
}

// AutoScalingWriter changes groups outside their stacks: their size during a roll, and which
// processes may scale them.
type AutoScalingWriter interface {
	SetDesiredCapacity(
		context.Context, *autoscaling.SetDesiredCapacityInput, ...func(*autoscaling.Options),
	) (*autoscaling.SetDesiredCapacityOutput, error)
	SuspendProcesses(
		context.Context, *autoscaling.SuspendProcessesInput, ...func(*autoscaling.Options),
	) (*autoscaling.SuspendProcessesOutput, error)
	ResumeProcesses(
		context.Context, *autoscaling.ResumeProcessesInput, ...func(*autoscaling.Options),
	) (*autoscaling.ResumeProcessesOutput, error)
	CreateOrUpdateTags(
		context.Context, *autoscaling.CreateOrUpdateTagsInput, ...func(*autoscaling.Options),
	) (*autoscaling.CreateOrUpdateTagsOutput, error)
	DeleteTags(context.Context, *autoscaling.DeleteTagsInput, ...func(*autoscaling.Options)) (*autoscaling.DeleteTagsOutput, error)
}

// SQS receives and deletes messages.
type SQS interface {
	ReceiveMessage(context.Context, *sqs.ReceiveMessageInput, ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error)
	DeleteMessageBatch(context.Context, *sqs.DeleteMessageBatchInput, ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error)
}

// S3 writes, lists and deletes objects.
type S3 interface {
	PutObject(context.Context, *s3.PutObjectInput, ...func(*s3.Options)) (*s3.PutObjectOutput, error)
	HeadObject(context.Context, *s3.HeadObjectInput, ...func(*s3.Options)) (*s3.HeadObjectOutput, error)
	ListObjectsV2(context.Context, *s3.ListObjectsV2Input, ...func(*s3.Options)) (*s3.ListObjectsV2Output, error)
	ListObjectVersions(context.Context, *s3.ListObjectVersionsInput, ...func(*s3.Options)) (*s3.ListObjectVersionsOutput, error)
	DeleteObjects(context.Context, *s3.DeleteObjectsInput, ...func(*s3.Options)) (*s3.DeleteObjectsOutput, error)
}

// Objects reads, writes and deletes single S3 objects, with conditions.
type Objects interface {
	GetObject(context.Context, *s3.GetObjectInput, ...func(*s3.Options)) (*s3.GetObjectOutput, error)
	PutObject(context.Context, *s3.PutObjectInput, ...func(*s3.Options)) (*s3.PutObjectOutput, error)
	DeleteObject(context.Context, *s3.DeleteObjectInput, ...func(*s3.Options)) (*s3.DeleteObjectOutput, error)
	ListObjectsV2(context.Context, *s3.ListObjectsV2Input, ...func(*s3.Options)) (*s3.ListObjectsV2Output, error)
}

// EC2 contains every call of EC2 that the project makes.
type EC2 interface { //nolint:interfacebloat // it only groups the interfaces of its parts
	EC2Networks
	EC2Tags
	EC2Instances
	EC2LaunchTemplates
	EC2Snapshots
	EC2Images
}

// EC2Offerings reads what AWS offers in a region.
type EC2Offerings interface {
	DescribeInstanceTypeOfferings(
		context.Context, *ec2.DescribeInstanceTypeOfferingsInput, ...func(*ec2.Options),
	) (*ec2.DescribeInstanceTypeOfferingsOutput, error)
	DescribeInstanceTypes(
		context.Context, *ec2.DescribeInstanceTypesInput, ...func(*ec2.Options),
	) (*ec2.DescribeInstanceTypesOutput, error)
	DescribeImages(context.Context, *ec2.DescribeImagesInput, ...func(*ec2.Options)) (*ec2.DescribeImagesOutput, error)
}

// EC2Networks reads existing networks.
type EC2Networks interface {
	DescribeVpcs(context.Context, *ec2.DescribeVpcsInput, ...func(*ec2.Options)) (*ec2.DescribeVpcsOutput, error)
	DescribeSubnets(context.Context, *ec2.DescribeSubnetsInput, ...func(*ec2.Options)) (*ec2.DescribeSubnetsOutput, error)
	DescribeVpcAttribute(context.Context, *ec2.DescribeVpcAttributeInput, ...func(*ec2.Options)) (*ec2.DescribeVpcAttributeOutput, error)
	DescribeDhcpOptions(context.Context, *ec2.DescribeDhcpOptionsInput, ...func(*ec2.Options)) (*ec2.DescribeDhcpOptionsOutput, error)
	DescribeRouteTables(context.Context, *ec2.DescribeRouteTablesInput, ...func(*ec2.Options)) (*ec2.DescribeRouteTablesOutput, error)
}

// EC2Tags changes tags of EC2 resources.
type EC2Tags interface {
	CreateTags(context.Context, *ec2.CreateTagsInput, ...func(*ec2.Options)) (*ec2.CreateTagsOutput, error)
	DeleteTags(context.Context, *ec2.DeleteTagsInput, ...func(*ec2.Options)) (*ec2.DeleteTagsOutput, error)
}

// EC2Instances reads instances, their consoles and the account's addresses, and terminates those that no longer belong to a
// group.
type EC2Instances interface {
	TerminateInstances(context.Context, *ec2.TerminateInstancesInput, ...func(*ec2.Options)) (*ec2.TerminateInstancesOutput, error)
	DescribeInstances(context.Context, *ec2.DescribeInstancesInput, ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error)
	DescribeAddresses(context.Context, *ec2.DescribeAddressesInput, ...func(*ec2.Options)) (*ec2.DescribeAddressesOutput, error)
	GetConsoleOutput(context.Context, *ec2.GetConsoleOutputInput, ...func(*ec2.Options)) (*ec2.GetConsoleOutputOutput, error)
}

// EC2LaunchTemplates reads launch templates, and what AWS offers for them.
type EC2LaunchTemplates interface {
	EC2Offerings
	DescribeLaunchTemplates(
		context.Context, *ec2.DescribeLaunchTemplatesInput, ...func(*ec2.Options),
	) (*ec2.DescribeLaunchTemplatesOutput, error)
	DescribeLaunchTemplateVersions(
		context.Context, *ec2.DescribeLaunchTemplateVersionsInput, ...func(*ec2.Options),
	) (*ec2.DescribeLaunchTemplateVersionsOutput, error)
}

// EC2Snapshots creates and deletes snapshots of volumes.
type EC2Snapshots interface {
	DescribeVolumes(context.Context, *ec2.DescribeVolumesInput, ...func(*ec2.Options)) (*ec2.DescribeVolumesOutput, error)
	CreateSnapshot(context.Context, *ec2.CreateSnapshotInput, ...func(*ec2.Options)) (*ec2.CreateSnapshotOutput, error)
	DescribeSnapshots(context.Context, *ec2.DescribeSnapshotsInput, ...func(*ec2.Options)) (*ec2.DescribeSnapshotsOutput, error)
	DeleteSnapshot(context.Context, *ec2.DeleteSnapshotInput, ...func(*ec2.Options)) (*ec2.DeleteSnapshotOutput, error)
}

// EC2Images launches instances to make images of, and creates and deletes images.
type EC2Images interface {
	RunInstances(context.Context, *ec2.RunInstancesInput, ...func(*ec2.Options)) (*ec2.RunInstancesOutput, error)
	CreateImage(context.Context, *ec2.CreateImageInput, ...func(*ec2.Options)) (*ec2.CreateImageOutput, error)
	DeregisterImage(context.Context, *ec2.DeregisterImageInput, ...func(*ec2.Options)) (*ec2.DeregisterImageOutput, error)
}

// SSM writes and deletes parameters.
type SSM interface {
	PutParameter(context.Context, *ssm.PutParameterInput, ...func(*ssm.Options)) (*ssm.PutParameterOutput, error)
	DeleteParameter(context.Context, *ssm.DeleteParameterInput, ...func(*ssm.Options)) (*ssm.DeleteParameterOutput, error)
}

// STS returns the caller's identity.
type STS interface {
	GetCallerIdentity(context.Context, *sts.GetCallerIdentityInput, ...func(*sts.Options)) (*sts.GetCallerIdentityOutput, error)
}

package awsapi

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
)

// cloudformationCalls are the calls of CloudFormation that the project makes.
type cloudformationCalls struct {
	cancelUpdateStack                 call[cloudformation.CancelUpdateStackInput, cloudformation.CancelUpdateStackOutput, cloudformation.Options]
	continueUpdateRollback            call[cloudformation.ContinueUpdateRollbackInput, cloudformation.ContinueUpdateRollbackOutput, cloudformation.Options]
	createChangeSet                   call[cloudformation.CreateChangeSetInput, cloudformation.CreateChangeSetOutput, cloudformation.Options]
	createStack                       call[cloudformation.CreateStackInput, cloudformation.CreateStackOutput, cloudformation.Options]
	deleteChangeSet                   call[cloudformation.DeleteChangeSetInput, cloudformation.DeleteChangeSetOutput, cloudformation.Options]
	deleteStack                       call[cloudformation.DeleteStackInput, cloudformation.DeleteStackOutput, cloudformation.Options]
	describeChangeSet                 call[cloudformation.DescribeChangeSetInput, cloudformation.DescribeChangeSetOutput, cloudformation.Options]
	describeStackDriftDetectionStatus call[cloudformation.DescribeStackDriftDetectionStatusInput, cloudformation.DescribeStackDriftDetectionStatusOutput, cloudformation.Options]
	describeStackEvents               call[cloudformation.DescribeStackEventsInput, cloudformation.DescribeStackEventsOutput, cloudformation.Options]
	describeStackResourceDrifts       call[cloudformation.DescribeStackResourceDriftsInput, cloudformation.DescribeStackResourceDriftsOutput, cloudformation.Options]
	describeStackResources            call[cloudformation.DescribeStackResourcesInput, cloudformation.DescribeStackResourcesOutput, cloudformation.Options]
	describeStacks                    call[cloudformation.DescribeStacksInput, cloudformation.DescribeStacksOutput, cloudformation.Options]
	detectStackDrift                  call[cloudformation.DetectStackDriftInput, cloudformation.DetectStackDriftOutput, cloudformation.Options]
	executeChangeSet                  call[cloudformation.ExecuteChangeSetInput, cloudformation.ExecuteChangeSetOutput, cloudformation.Options]
	getTemplate                       call[cloudformation.GetTemplateInput, cloudformation.GetTemplateOutput, cloudformation.Options]
	listStackResources                call[cloudformation.ListStackResourcesInput, cloudformation.ListStackResourcesOutput, cloudformation.Options]
	rollbackStack                     call[cloudformation.RollbackStackInput, cloudformation.RollbackStackOutput, cloudformation.Options]
	setStackPolicy                    call[cloudformation.SetStackPolicyInput, cloudformation.SetStackPolicyOutput, cloudformation.Options]
	signalResource                    call[cloudformation.SignalResourceInput, cloudformation.SignalResourceOutput, cloudformation.Options]
	updateStack                       call[cloudformation.UpdateStackInput, cloudformation.UpdateStackOutput, cloudformation.Options]
	updateTerminationProtection       call[cloudformation.UpdateTerminationProtectionInput, cloudformation.UpdateTerminationProtectionOutput, cloudformation.Options]
	validateTemplate                  call[cloudformation.ValidateTemplateInput, cloudformation.ValidateTemplateOutput, cloudformation.Options]
}

func newCloudformationCalls(cfg aws.Config) *cloudformationCalls {
	client := cloudformation.NewFromConfig(cfg)
	return &cloudformationCalls{
		cancelUpdateStack:                 client.CancelUpdateStack,
		continueUpdateRollback:            client.ContinueUpdateRollback,
		createChangeSet:                   client.CreateChangeSet,
		createStack:                       client.CreateStack,
		deleteChangeSet:                   client.DeleteChangeSet,
		deleteStack:                       client.DeleteStack,
		describeChangeSet:                 client.DescribeChangeSet,
		describeStackDriftDetectionStatus: client.DescribeStackDriftDetectionStatus,
		describeStackEvents:               client.DescribeStackEvents,
		describeStackResourceDrifts:       client.DescribeStackResourceDrifts,
		describeStackResources:            client.DescribeStackResources,
		describeStacks:                    client.DescribeStacks,
		detectStackDrift:                  client.DetectStackDrift,
		executeChangeSet:                  client.ExecuteChangeSet,
		getTemplate:                       client.GetTemplate,
		listStackResources:                client.ListStackResources,
		rollbackStack:                     client.RollbackStack,
		setStackPolicy:                    client.SetStackPolicy,
		signalResource:                    client.SignalResource,
		updateStack:                       client.UpdateStack,
		updateTerminationProtection:       client.UpdateTerminationProtection,
		validateTemplate:                  client.ValidateTemplate,
	}
}

func (c *cloudformationCalls) CancelUpdateStack(
	ctx context.Context, in *cloudformation.CancelUpdateStackInput, options ...func(*cloudformation.Options),
) (*cloudformation.CancelUpdateStackOutput, error) {
	return c.cancelUpdateStack(ctx, in, options...)
}

func (c *cloudformationCalls) ContinueUpdateRollback(
	ctx context.Context, in *cloudformation.ContinueUpdateRollbackInput, options ...func(*cloudformation.Options),
) (*cloudformation.ContinueUpdateRollbackOutput, error) {
	return c.continueUpdateRollback(ctx, in, options...)
}

func (c *cloudformationCalls) CreateChangeSet(
	ctx context.Context, in *cloudformation.CreateChangeSetInput, options ...func(*cloudformation.Options),
) (*cloudformation.CreateChangeSetOutput, error) {
	return c.createChangeSet(ctx, in, options...)
}

func (c *cloudformationCalls) CreateStack(
	ctx context.Context, in *cloudformation.CreateStackInput, options ...func(*cloudformation.Options),
) (*cloudformation.CreateStackOutput, error) {
	return c.createStack(ctx, in, options...)
}

func (c *cloudformationCalls) DeleteChangeSet(
	ctx context.Context, in *cloudformation.DeleteChangeSetInput, options ...func(*cloudformation.Options),
) (*cloudformation.DeleteChangeSetOutput, error) {
	return c.deleteChangeSet(ctx, in, options...)
}

func (c *cloudformationCalls) DeleteStack(
	ctx context.Context, in *cloudformation.DeleteStackInput, options ...func(*cloudformation.Options),
) (*cloudformation.DeleteStackOutput, error) {
	return c.deleteStack(ctx, in, options...)
}

func (c *cloudformationCalls) DescribeChangeSet(
	ctx context.Context, in *cloudformation.DescribeChangeSetInput, options ...func(*cloudformation.Options),
) (*cloudformation.DescribeChangeSetOutput, error) {
	return c.describeChangeSet(ctx, in, options...)
}

func (c *cloudformationCalls) DescribeStackDriftDetectionStatus(
	ctx context.Context, in *cloudformation.DescribeStackDriftDetectionStatusInput, options ...func(*cloudformation.Options),
) (*cloudformation.DescribeStackDriftDetectionStatusOutput, error) {
	return c.describeStackDriftDetectionStatus(ctx, in, options...)
}

func (c *cloudformationCalls) DescribeStackEvents(
	ctx context.Context, in *cloudformation.DescribeStackEventsInput, options ...func(*cloudformation.Options),
) (*cloudformation.DescribeStackEventsOutput, error) {
	return c.describeStackEvents(ctx, in, options...)
}

func (c *cloudformationCalls) DescribeStackResourceDrifts(
	ctx context.Context, in *cloudformation.DescribeStackResourceDriftsInput, options ...func(*cloudformation.Options),
) (*cloudformation.DescribeStackResourceDriftsOutput, error) {
	return c.describeStackResourceDrifts(ctx, in, options...)
}

func (c *cloudformationCalls) DescribeStackResources(
	ctx context.Context, in *cloudformation.DescribeStackResourcesInput, options ...func(*cloudformation.Options),
) (*cloudformation.DescribeStackResourcesOutput, error) {
	return c.describeStackResources(ctx, in, options...)
}

func (c *cloudformationCalls) DescribeStacks(
	ctx context.Context, in *cloudformation.DescribeStacksInput, options ...func(*cloudformation.Options),
) (*cloudformation.DescribeStacksOutput, error) {
	return c.describeStacks(ctx, in, options...)
}

func (c *cloudformationCalls) DetectStackDrift(
	ctx context.Context, in *cloudformation.DetectStackDriftInput, options ...func(*cloudformation.Options),
) (*cloudformation.DetectStackDriftOutput, error) {
	return c.detectStackDrift(ctx, in, options...)
}

func (c *cloudformationCalls) ExecuteChangeSet(
	ctx context.Context, in *cloudformation.ExecuteChangeSetInput, options ...func(*cloudformation.Options),
) (*cloudformation.ExecuteChangeSetOutput, error) {
	return c.executeChangeSet(ctx, in, options...)
}

func (c *cloudformationCalls) GetTemplate(
	ctx context.Context, in *cloudformation.GetTemplateInput, options ...func(*cloudformation.Options),
) (*cloudformation.GetTemplateOutput, error) {
	return c.getTemplate(ctx, in, options...)
}

func (c *cloudformationCalls) ListStackResources(
	ctx context.Context, in *cloudformation.ListStackResourcesInput, options ...func(*cloudformation.Options),
) (*cloudformation.ListStackResourcesOutput, error) {
	return c.listStackResources(ctx, in, options...)
}

func (c *cloudformationCalls) RollbackStack(
	ctx context.Context, in *cloudformation.RollbackStackInput, options ...func(*cloudformation.Options),
) (*cloudformation.RollbackStackOutput, error) {
	return c.rollbackStack(ctx, in, options...)
}

func (c *cloudformationCalls) SetStackPolicy(
	ctx context.Context, in *cloudformation.SetStackPolicyInput, options ...func(*cloudformation.Options),
) (*cloudformation.SetStackPolicyOutput, error) {
	return c.setStackPolicy(ctx, in, options...)
}

func (c *cloudformationCalls) SignalResource(
	ctx context.Context, in *cloudformation.SignalResourceInput, options ...func(*cloudformation.Options),
) (*cloudformation.SignalResourceOutput, error) {
	return c.signalResource(ctx, in, options...)
}

func (c *cloudformationCalls) UpdateStack(
	ctx context.Context, in *cloudformation.UpdateStackInput, options ...func(*cloudformation.Options),
) (*cloudformation.UpdateStackOutput, error) {
	return c.updateStack(ctx, in, options...)
}

func (c *cloudformationCalls) UpdateTerminationProtection(
	ctx context.Context, in *cloudformation.UpdateTerminationProtectionInput, options ...func(*cloudformation.Options),
) (*cloudformation.UpdateTerminationProtectionOutput, error) {
	return c.updateTerminationProtection(ctx, in, options...)
}

func (c *cloudformationCalls) ValidateTemplate(
	ctx context.Context, in *cloudformation.ValidateTemplateInput, options ...func(*cloudformation.Options),
) (*cloudformation.ValidateTemplateOutput, error) {
	return c.validateTemplate(ctx, in, options...)
}

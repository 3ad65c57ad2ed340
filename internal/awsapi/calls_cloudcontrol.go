package awsapi

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
)

// cloudcontrolCalls are the calls of Cloud Control API that the project makes.
type cloudcontrolCalls struct {
	getResource   call[cloudcontrol.GetResourceInput, cloudcontrol.GetResourceOutput, cloudcontrol.Options]
	listResources call[cloudcontrol.ListResourcesInput, cloudcontrol.ListResourcesOutput, cloudcontrol.Options]
}

func newCloudcontrolCalls(cfg aws.Config) *cloudcontrolCalls {
	client := cloudcontrol.NewFromConfig(cfg)
	return &cloudcontrolCalls{getResource: client.GetResource, listResources: client.ListResources}
}

func (c *cloudcontrolCalls) GetResource(
	ctx context.Context, in *cloudcontrol.GetResourceInput, options ...func(*cloudcontrol.Options),
) (*cloudcontrol.GetResourceOutput, error) {
	return c.getResource(ctx, in, options...)
}

func (c *cloudcontrolCalls) ListResources(
	ctx context.Context, in *cloudcontrol.ListResourcesInput, options ...func(*cloudcontrol.Options),
) (*cloudcontrol.ListResourcesOutput, error) {
	return c.listResources(ctx, in, options...)
}

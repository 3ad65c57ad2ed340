package awsapi

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
)

// cloudcontrolCalls are the calls of Cloud Control API that the project makes.
type cloudcontrolCalls struct {
	getResource call[cloudcontrol.GetResourceInput, cloudcontrol.GetResourceOutput, cloudcontrol.Options]
}

func newCloudcontrolCalls(cfg aws.Config) *cloudcontrolCalls {
	return &cloudcontrolCalls{getResource: cloudcontrol.NewFromConfig(cfg).GetResource}
}

func (c *cloudcontrolCalls) GetResource(
	ctx context.Context, in *cloudcontrol.GetResourceInput, options ...func(*cloudcontrol.Options),
) (*cloudcontrol.GetResourceOutput, error) {
	return c.getResource(ctx, in, options...)
}

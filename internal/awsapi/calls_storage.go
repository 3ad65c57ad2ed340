package awsapi

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
)

// s3Calls are the calls of S3 that the project makes.
type s3Calls struct {
	deleteObject       call[s3.DeleteObjectInput, s3.DeleteObjectOutput, s3.Options]
	deleteObjects      call[s3.DeleteObjectsInput, s3.DeleteObjectsOutput, s3.Options]
	getObject          call[s3.GetObjectInput, s3.GetObjectOutput, s3.Options]
	headObject         call[s3.HeadObjectInput, s3.HeadObjectOutput, s3.Options]
	listObjectVersions call[s3.ListObjectVersionsInput, s3.ListObjectVersionsOutput, s3.Options]
	listObjectsV2      call[s3.ListObjectsV2Input, s3.ListObjectsV2Output, s3.Options]
	putObject          call[s3.PutObjectInput, s3.PutObjectOutput, s3.Options]
}

func newS3Calls(cfg aws.Config) *s3Calls {
	client := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = cfg.BaseEndpoint != nil })
	return &s3Calls{
		deleteObject:       client.DeleteObject,
		deleteObjects:      client.DeleteObjects,
		getObject:          client.GetObject,
		headObject:         client.HeadObject,
		listObjectVersions: client.ListObjectVersions,
		listObjectsV2:      client.ListObjectsV2,
		putObject:          client.PutObject,
	}
}

func (c *s3Calls) DeleteObject(
	ctx context.Context, in *s3.DeleteObjectInput, options ...func(*s3.Options),
) (*s3.DeleteObjectOutput, error) {
	return c.deleteObject(ctx, in, options...)
}

func (c *s3Calls) DeleteObjects(
	ctx context.Context, in *s3.DeleteObjectsInput, options ...func(*s3.Options),
) (*s3.DeleteObjectsOutput, error) {
	return c.deleteObjects(ctx, in, options...)
}

func (c *s3Calls) GetObject(ctx context.Context, in *s3.GetObjectInput, options ...func(*s3.Options)) (*s3.GetObjectOutput, error) {
	return c.getObject(ctx, in, options...)
}

func (c *s3Calls) HeadObject(ctx context.Context, in *s3.HeadObjectInput, options ...func(*s3.Options)) (*s3.HeadObjectOutput, error) {
	return c.headObject(ctx, in, options...)
}

func (c *s3Calls) ListObjectVersions(
	ctx context.Context, in *s3.ListObjectVersionsInput, options ...func(*s3.Options),
) (*s3.ListObjectVersionsOutput, error) {
	return c.listObjectVersions(ctx, in, options...)
}

func (c *s3Calls) ListObjectsV2(
	ctx context.Context, in *s3.ListObjectsV2Input, options ...func(*s3.Options),
) (*s3.ListObjectsV2Output, error) {
	return c.listObjectsV2(ctx, in, options...)
}

func (c *s3Calls) PutObject(ctx context.Context, in *s3.PutObjectInput, options ...func(*s3.Options)) (*s3.PutObjectOutput, error) {
	return c.putObject(ctx, in, options...)
}

// sqsCalls are the calls of SQS that the project makes.
type sqsCalls struct {
	deleteMessageBatch call[sqs.DeleteMessageBatchInput, sqs.DeleteMessageBatchOutput, sqs.Options]
	receiveMessage     call[sqs.ReceiveMessageInput, sqs.ReceiveMessageOutput, sqs.Options]
}

func newSqsCalls(cfg aws.Config) *sqsCalls {
	client := sqs.NewFromConfig(cfg)
	return &sqsCalls{
		deleteMessageBatch: client.DeleteMessageBatch,
		receiveMessage:     client.ReceiveMessage,
	}
}

func (c *sqsCalls) DeleteMessageBatch(
	ctx context.Context, in *sqs.DeleteMessageBatchInput, options ...func(*sqs.Options),
) (*sqs.DeleteMessageBatchOutput, error) {
	return c.deleteMessageBatch(ctx, in, options...)
}

func (c *sqsCalls) ReceiveMessage(
	ctx context.Context, in *sqs.ReceiveMessageInput, options ...func(*sqs.Options),
) (*sqs.ReceiveMessageOutput, error) {
	return c.receiveMessage(ctx, in, options...)
}

// ssmCalls are the calls of SSM that the project makes.
type ssmCalls struct {
	deleteParameter call[ssm.DeleteParameterInput, ssm.DeleteParameterOutput, ssm.Options]
	putParameter    call[ssm.PutParameterInput, ssm.PutParameterOutput, ssm.Options]
}

func newSsmCalls(cfg aws.Config) *ssmCalls {
	client := ssm.NewFromConfig(cfg)
	return &ssmCalls{
		deleteParameter: client.DeleteParameter,
		putParameter:    client.PutParameter,
	}
}

func (c *ssmCalls) DeleteParameter(
	ctx context.Context, in *ssm.DeleteParameterInput, options ...func(*ssm.Options),
) (*ssm.DeleteParameterOutput, error) {
	return c.deleteParameter(ctx, in, options...)
}

func (c *ssmCalls) PutParameter(
	ctx context.Context, in *ssm.PutParameterInput, options ...func(*ssm.Options),
) (*ssm.PutParameterOutput, error) {
	return c.putParameter(ctx, in, options...)
}

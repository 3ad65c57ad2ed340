package nodeup

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/aws-operator/aws-operator/internal/nodeup/approver"
	"github.com/aws-operator/aws-operator/internal/nodeup/kmsprovider"
)

// AWS has nodeup's AWS clients.
type AWS struct {
	// Metadata is the instance metadata.
	Metadata Metadata
	// Objects are the objects of the bucket.
	Objects Objects
	// Parameters hold the bootstrap token.
	Parameters Parameters
	// Volumes are the slots' etcd volumes.
	Volumes Volumes
	// Zones publish the slots' names.
	Zones Zones
	// Instances are the account's instances, with which slots verify workers.
	Instances approver.Instances
	// Credentials are the credentials of the instance's role, with which a worker proves its
	// identity.
	Credentials aws.CredentialsProvider
	// Keys are the account's keys, with which a slot encrypts resources in etcd.
	Keys kmsprovider.KMS
	// Endpoint, if not empty, is the address of all AWS services.
	Endpoint string
}

// Metadata is the instance metadata service.
type Metadata interface {
	GetMetadata(context.Context, *imds.GetMetadataInput, ...func(*imds.Options)) (*imds.GetMetadataOutput, error)
}

// Objects reads a bucket, and writes what slots keep there: that etcd has formed, the bootstrap
// token, and backups of etcd.
type Objects interface {
	GetObject(context.Context, *s3.GetObjectInput, ...func(*s3.Options)) (*s3.GetObjectOutput, error)
	PutObject(context.Context, *s3.PutObjectInput, ...func(*s3.Options)) (*s3.PutObjectOutput, error)
	ListObjectsV2(context.Context, *s3.ListObjectsV2Input, ...func(*s3.Options)) (*s3.ListObjectsV2Output, error)
	DeleteObject(context.Context, *s3.DeleteObjectInput, ...func(*s3.Options)) (*s3.DeleteObjectOutput, error)
}

// Parameters reads the parameter store.
type Parameters interface {
	GetParameter(context.Context, *ssm.GetParameterInput, ...func(*ssm.Options)) (*ssm.GetParameterOutput, error)
}

// Volumes finds and attaches volumes.
type Volumes interface {
	DescribeVolumes(context.Context, *ec2.DescribeVolumesInput, ...func(*ec2.Options)) (*ec2.DescribeVolumesOutput, error)
	AttachVolume(context.Context, *ec2.AttachVolumeInput, ...func(*ec2.Options)) (*ec2.AttachVolumeOutput, error)
}

// Zones publishes names.
type Zones interface {
	ChangeResourceRecordSets(
		context.Context, *route53.ChangeResourceRecordSetsInput, ...func(*route53.Options),
	) (*route53.ChangeResourceRecordSetsOutput, error)
	GetChange(context.Context, *route53.GetChangeInput, ...func(*route53.Options)) (*route53.GetChangeOutput, error)
}

// Connect returns clients for a region, with the credentials of the instance's role. Like the SDK,
// it uses environment variables (AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID and related ones,
// AWS_EC2_METADATA_SERVICE_ENDPOINT). The SDK's configuration loader would add clients for single
// sign-on, which instances do not need.
func Connect(region string) AWS {
	metadata := imds.New(imds.Options{Endpoint: os.Getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT")})
	config := aws.Config{
		Region:      region,
		Credentials: aws.NewCredentialsCache(provider(metadata)),
		Retryer:     func() aws.Retryer { return retry.AddWithMaxAttempts(retry.NewStandard(), 5) },
	}
	endpoint := os.Getenv("AWS_ENDPOINT_URL")
	if endpoint != "" {
		config.BaseEndpoint = aws.String(endpoint)
	}
	compute := ec2.NewFromConfig(config)
	return AWS{
		Metadata:    metadata,
		Objects:     s3.NewFromConfig(config, func(o *s3.Options) { o.UsePathStyle = endpoint != "" }),
		Parameters:  ssm.NewFromConfig(config),
		Volumes:     compute,
		Zones:       route53.NewFromConfig(config),
		Instances:   compute,
		Keys:        kms.NewFromConfig(config),
		Credentials: config.Credentials,
		Endpoint:    endpoint,
	}
}

func provider(metadata *imds.Client) aws.CredentialsProvider {
	if key := os.Getenv("AWS_ACCESS_KEY_ID"); key != "" {
		return credentials.NewStaticCredentialsProvider(key, os.Getenv("AWS_SECRET_ACCESS_KEY"), os.Getenv("AWS_SESSION_TOKEN"))
	}
	return ec2rolecreds.New(func(o *ec2rolecreds.Options) { o.Client = metadata })
}

// Resolve resolves a name with the machine's resolver.
func Resolve(ctx context.Context, name string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	addresses, err := net.DefaultResolver.LookupHost(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("resolve %s: %w", name, err)
	}
	return addresses, nil
}

// getObject reads an object of the cluster's bucket.
func (b *boot) getObject(ctx context.Context, key string) ([]byte, error) {
	found, err := b.AWS.Objects.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.Bucket, Key: &key})
	if err != nil {
		return nil, fmt.Errorf("fetch %s from the bucket %s: %w", key, b.Bucket, err)
	}
	defer found.Body.Close() //nolint:errcheck // It was only read.
	content, err := io.ReadAll(found.Body)
	if err != nil {
		return nil, fmt.Errorf("read %s from the bucket %s: %w", key, b.Bucket, err)
	}
	return content, nil
}

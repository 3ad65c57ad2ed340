package simulator_test

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamodbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/aws-operator/aws-operator/internal/patience"
)

// Resources that were made by their services' own APIs can be imported.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/import-resources-manually.html
func TestResourcesMadeByHandAreImported(t *testing.T) {
	for _, c := range []struct {
		kind, identifier, properties string
		make                         func(t *testing.T, config aws.Config) (id string, err error)
	}{
		{"AWS::SQS::Queue", "QueueUrl", `"QueueName": "by-hand"`, func(t *testing.T, config aws.Config) (string, error) {
			t.Helper()
			out, err := sqs.NewFromConfig(config).CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("by-hand")})
			if err != nil {
				return "", err
			}
			return *out.QueueUrl, nil
		}},
		{"AWS::SNS::Topic", "TopicArn", `"TopicName": "by-hand"`, func(t *testing.T, config aws.Config) (string, error) {
			t.Helper()
			out, err := sns.NewFromConfig(config).CreateTopic(t.Context(), &sns.CreateTopicInput{Name: aws.String("by-hand")})
			if err != nil {
				return "", err
			}
			return *out.TopicArn, nil
		}},
		{"AWS::S3::Bucket", "BucketName", `"BucketName": "by-hand"`, func(t *testing.T, config aws.Config) (string, error) {
			t.Helper()
			client := s3.NewFromConfig(config, func(o *s3.Options) { o.UsePathStyle = true })
			_, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{
				Bucket: aws.String("by-hand"),
				CreateBucketConfiguration: &s3types.CreateBucketConfiguration{
					LocationConstraint: s3types.BucketLocationConstraint(config.Region),
				},
			})
			return "by-hand", err
		}},
		{
			"AWS::DynamoDB::Table", "TableName", `"TableName": "by-hand", "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]`,
			func(t *testing.T, config aws.Config) (string, error) {
				t.Helper()
				_, err := dynamodb.NewFromConfig(config).CreateTable(t.Context(), &dynamodb.CreateTableInput{
					TableName: aws.String("by-hand"), BillingMode: dynamodbtypes.BillingModePayPerRequest,
					AttributeDefinitions: []dynamodbtypes.AttributeDefinition{
						{AttributeName: aws.String("id"), AttributeType: dynamodbtypes.ScalarAttributeTypeS},
					},
					KeySchema: []dynamodbtypes.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: dynamodbtypes.KeyTypeHash}},
				})
				return "by-hand", err
			},
		},
	} {
		t.Run(c.kind, func(t *testing.T) {
			config := start(t)
			client := cloudformation.NewFromConfig(config)
			id, err := c.make(t, config)
			if err != nil {
				t.Fatal(err)
			}
			_, err = client.CreateChangeSet(t.Context(), &cloudformation.CreateChangeSetInput{
				StackName: aws.String("s"), ChangeSetName: aws.String("import"), ChangeSetType: cfntypes.ChangeSetTypeImport,
				TemplateBody: aws.String(fmt.Sprintf(
					`{"Resources": {"It": {"Type": %q, "DeletionPolicy": "Retain", "Properties": {%s}}}}`, c.kind, c.properties)),
				ResourcesToImport: []cfntypes.ResourceToImport{{
					LogicalResourceId: aws.String("It"), ResourceType: aws.String(c.kind), ResourceIdentifier: map[string]string{c.identifier: id},
				}},
			})
			if err != nil {
				t.Fatal(err)
			}
			patience.Until(t, "the change set is computed", func() error {
				out, err := client.DescribeChangeSet(t.Context(), &cloudformation.DescribeChangeSetInput{
					StackName: aws.String("s"), ChangeSetName: aws.String("import"),
				})
				if err != nil {
					return err
				}
				if out.Status != cfntypes.ChangeSetStatusCreateComplete {
					return fmt.Errorf("%s: %s", out.Status, aws.ToString(out.StatusReason))
				}
				return nil
			})
			if _, err := client.ExecuteChangeSet(t.Context(), &cloudformation.ExecuteChangeSetInput{
				StackName: aws.String("s"), ChangeSetName: aws.String("import"),
			}); err != nil {
				t.Fatal(err)
			}
			patience.Until(t, "the import completes", func() error {
				out, err := client.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: aws.String("s")})
				if err != nil {
					return err
				}
				if status := out.Stacks[0].StackStatus; status != cfntypes.StackStatusImportComplete {
					return fmt.Errorf("it is %s: %s", status, aws.ToString(out.Stacks[0].StackStatusReason))
				}
				return nil
			})
			out, err := client.DescribeStackResource(t.Context(), &cloudformation.DescribeStackResourceInput{
				StackName: aws.String("s"), LogicalResourceId: aws.String("It"),
			})
			if err != nil || *out.StackResourceDetail.PhysicalResourceId != id {
				t.Errorf("resource %+v, %v; want %s", out, err, id)
			}
		})
	}
}

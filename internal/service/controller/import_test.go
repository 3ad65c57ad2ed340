package controller_test

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamodbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/aws-operator/aws-operator/internal/grant"
	"github.com/aws-operator/aws-operator/internal/service/adopt"
	"github.com/aws-operator/aws-operator/internal/service/kinds"
	"github.com/aws-operator/aws-operator/internal/service/render"
)

// TestImportedObjectsAdoptTheirResourcesUnchanged makes a queue, a table and a bucket by hand, and a queue
// that the built-in kind cannot describe. The objects that import writes for them are ready without an
// approval, and the resources stay as they are, also when the objects are deleted.
func TestImportedObjectsAdoptTheirResourcesUnchanged(t *testing.T) {
	w := newLimitedSuite(t, nil, render.Limits{Adoption: []grant.Grant{{Namespace: "*", Pattern: "AWS::*"}}})
	config := w.awsConfig()
	_, err := dynamodb.NewFromConfig(config).CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String("orders"), BillingMode: dynamodbtypes.BillingModePayPerRequest,
		AttributeDefinitions: []dynamodbtypes.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: dynamodbtypes.ScalarAttributeTypeN}},
		KeySchema:            []dynamodbtypes.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: dynamodbtypes.KeyTypeHash}},
	})
	if err != nil {
		t.Fatal(err)
	}
	buckets := s3.NewFromConfig(config, func(o *s3.Options) { o.UsePathStyle = true })
	if _, err := buckets.CreateBucket(t.Context(), &s3.CreateBucketInput{
		Bucket:                    aws.String("import-orders"),
		CreateBucketConfiguration: &s3types.CreateBucketConfiguration{LocationConstraint: s3types.BucketLocationConstraint(region)},
	}); err != nil {
		t.Fatal(err)
	}
	strange, err := sqs.NewFromConfig(config).CreateQueue(t.Context(), &sqs.CreateQueueInput{
		QueueName: aws.String("Strange_Name"), Attributes: map[string]string{"VisibilityTimeout": "12"},
	})
	if err != nil {
		t.Fatal(err)
	}
	known, err := kinds.BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	adopter := adopt.New(known, w.namespace, render.Facts{Region: region, AccountID: account, ClusterName: clusterName})
	for _, c := range []struct{ resource, identifier, kind, name string }{
		{"AWS::SQS::Queue", w.byHand("orders"), "SQSQueue", "orders"},
		{"AWS::DynamoDB::Table", "orders", "DynamoDB", "orders"},
		{"AWS::S3::Bucket", "import-orders", "S3Bucket", "import-orders"},
		{"AWS::SQS::Queue", *strange.QueueUrl, "RawSQSQueue", "strange-name"},
	} {
		t.Run(c.kind, func(t *testing.T) {
			read, err := cloudcontrol.NewFromConfig(config).GetResource(t.Context(), &cloudcontrol.GetResourceInput{
				TypeName: &c.resource, Identifier: &c.identifier,
			})
			if err != nil {
				t.Fatal(err)
			}
			made, err := adopter.Of(adopt.Resource{
				Type: c.resource, Identifier: c.identifier, Properties: *read.ResourceDescription.Properties,
			})
			if err != nil {
				t.Fatal(err)
			}
			before := w.live(c.resource, c.identifier)
			if made.Definition != nil {
				w.applyAny(made.Definition)
				w.condition("ModelDefinition", made.Definition.Name, "Ready", "True", "Served")
			}
			w.applyAny(made.Object)
			w.ready(c.kind, c.name)
			w.unchanged(before, c.resource, c.identifier)
			w.delete(c.kind, c.name)
			w.unchanged(before, c.resource, c.identifier)
		})
	}
}

// applyAny applies a manifest that import writes.
func (w *suite) applyAny(object any) {
	w.t.Helper()
	text, err := adopt.YAML(object)
	if err != nil {
		w.t.Fatal(err)
	}
	w.apply(string(bytes.TrimSpace(text)))
}

// unchanged checks that a resource is as it was, except for its tags, to which CloudFormation adds those of
// the stack.
func (w *suite) unchanged(before map[string]any, resource, identifier string) {
	w.t.Helper()
	now := w.live(resource, identifier)
	delete(now, "Tags")
	delete(before, "Tags")
	if !reflect.DeepEqual(now, before) {
		w.t.Errorf("%s %s has %v, had %v", resource, identifier, now, before)
	}
}

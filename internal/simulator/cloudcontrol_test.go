package simulator_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// Cloud Control API reads a resource that its service's own API made, in the form of its CloudFormation
// type.
// https://docs.aws.amazon.com/cloudcontrolapi/latest/userguide/resource-operations-read.html
func TestResourceMadeByHandIsReadByCloudControl(t *testing.T) {
	config := start(t)
	queues := sqs.NewFromConfig(config)
	made, err := queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{
		QueueName: aws.String("by-hand"), Attributes: map[string]string{"VisibilityTimeout": "77"},
	})
	if err != nil {
		t.Fatal(err)
	}
	control := cloudcontrol.NewFromConfig(config)
	read, err := control.GetResource(t.Context(), &cloudcontrol.GetResourceInput{
		TypeName: aws.String("AWS::SQS::Queue"), Identifier: made.QueueUrl,
	})
	if err != nil {
		t.Fatal(err)
	}
	var properties struct {
		QueueName, QueueUrl string //nolint:revive // the property's name
		VisibilityTimeout   int
	}
	if err := json.Unmarshal([]byte(*read.ResourceDescription.Properties), &properties); err != nil {
		t.Fatal(err)
	}
	if properties.QueueName != "by-hand" || properties.VisibilityTimeout != 77 || properties.QueueUrl != *made.QueueUrl {
		t.Errorf("read %s", *read.ResourceDescription.Properties)
	}
	for name, c := range map[string]struct{ kind, identifier, code, message string }{
		"a queue that does not exist": {"AWS::SQS::Queue", *made.QueueUrl + "-lost", "ResourceNotFoundException", "AWS::SQS::Queue Handler returned status FAILED: Resource of type 'AWS::SQS::Queue' with identifier"},
		"a type that does not exist":  {"AWS::SQS::Kew", "x", "TypeNotFoundException", "The type 'AWS::SQS::Kew' cannot be found."},
		"a type without a handler":    {"AWS::Route53::RecordSet", "x", "UnsupportedActionException", "Resource type AWS::Route53::RecordSet does not support READ action"},
		"half of an identifier":       {"AWS::ApiGateway::Stage", "prod", "ValidationException", "Identifier prod is not valid for identifier [/properties/RestApiId, /properties/StageName]"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := control.GetResource(t.Context(), &cloudcontrol.GetResourceInput{TypeName: &c.kind, Identifier: &c.identifier})
			if awsapi.Code(err) != c.code || !strings.Contains(awsapi.AWSMessage(err), c.message) {
				t.Errorf("%v, want %s: %s", err, c.code, c.message)
			}
		})
	}
}

// Cloud Control API lists the resources of a type in pages, also those that their services' own APIs made.
// https://docs.aws.amazon.com/cloudcontrolapi/latest/userguide/resource-operations-list.html
func TestResourcesAreListedByCloudControl(t *testing.T) {
	config := start(t)
	queues, control := sqs.NewFromConfig(config), cloudcontrol.NewFromConfig(config)
	made := map[string]bool{}
	for i := range 50 {
		out, err := queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String(fmt.Sprintf("listed-%d", i))})
		if err != nil {
			t.Fatal(err)
		}
		made[*out.QueueUrl] = true
	}
	kind := "AWS::SQS::Queue"
	pages, n := cloudcontrol.NewListResourcesPaginator(control, &cloudcontrol.ListResourcesInput{TypeName: &kind}), 0
	for ; pages.HasMorePages(); n++ {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range page.ResourceDescriptions {
			if !made[*found.Identifier] || *found.Properties != fmt.Sprintf("{%q:%q}", "QueueUrl", *found.Identifier) {
				t.Errorf("found %s with %s", *found.Identifier, *found.Properties)
			}
			delete(made, *found.Identifier)
		}
	}
	if len(made) > 0 || n < 2 {
		t.Errorf("%d pages lack %v", n, made)
	}
	for name, c := range map[string]struct{ kind, code, message string }{
		"a type that does not exist":      {"AWS::SQS::Kew", "TypeNotFoundException", "The type 'AWS::SQS::Kew' cannot be found."},
		"a type without a handler":        {"AWS::Route53::RecordSet", "UnsupportedActionException", "Resource type AWS::Route53::RecordSet does not support LIST action"},
		"a type that needs a container":   {"AWS::EKS::Nodegroup", "InvalidRequestException", "(#: required key [ClusterName] not found)"},
		"a type with a longer identifier": {"AWS::ApiGateway::Stage", "InvalidRequestException", "(#: required key [RestApiId] not found)"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := control.ListResources(t.Context(), &cloudcontrol.ListResourcesInput{TypeName: &c.kind})
			if awsapi.Code(err) != c.code || !strings.Contains(awsapi.AWSMessage(err), c.message) {
				t.Errorf("%v, want %s: %s", err, c.code, c.message)
			}
		})
	}
}

package sqs_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

// Return values and names:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-sqs-queue.html
func TestCloudFormationQueue(t *testing.T) {
	r := start(t)
	provider := r.service.Providers()["AWS::SQS::Queue"]
	request := resource.Request{
		Account: "123456789012", Region: "eu-central-1", StackName: "stack", LogicalID: "Queue",
		Properties: map[string]any{"FifoQueue": true, "VisibilityTimeout": "45", "ContentBasedDeduplication": true},
		Tags:       map[string]string{"aws:cloudformation:stack-name": "stack"},
	}
	made, err := provider.Create(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	name, _ := made.Attributes["QueueName"].(string)
	if !strings.HasPrefix(name, "stack-Queue-") || !strings.HasSuffix(name, ".fifo") {
		t.Errorf("named %s", name)
	}
	if want := "https://sqs.eu-central-1.amazonaws.com/123456789012/" + name; made.PhysicalID != want {
		t.Errorf("Ref is %s, want %s", made.PhysicalID, want)
	}
	request.PhysicalID, request.Previous = made.PhysicalID, request.Properties
	request.Properties = map[string]any{"FifoQueue": true, "DelaySeconds": 3.0}
	if _, err := provider.Update(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	live, err := provider.Read(t.Context(), request)
	if err != nil || live["VisibilityTimeout"] != 30.0 || live["DelaySeconds"] != 3.0 || live["ContentBasedDeduplication"] != false {
		t.Errorf("after the update: %v %v", live, err)
	}
	if err := provider.Delete(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	wantHandler(t, resource.NotFound, provider.Delete(t.Context(), request))
}

// A queue has one kind of encryption at a time:
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html
func TestCloudFormationChangesTheEncryptionOfAQueue(t *testing.T) {
	r := start(t)
	provider := r.service.Providers()["AWS::SQS::Queue"]
	request := resource.Request{Account: "123456789012", Region: "eu-central-1", Properties: map[string]any{"QueueName": "secret"}}
	made, err := provider.Create(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	request.PhysicalID = made.PhysicalID
	for range 20 { // the order of a queue's attributes is random
		for _, key := range []string{"alias/queues", ""} {
			delete(request.Properties, "KmsMasterKeyId")
			if key != "" {
				request.Properties["KmsMasterKeyId"] = key
			}
			if _, err := provider.Update(t.Context(), request); err != nil {
				t.Fatal(err)
			}
			live, err := provider.Read(t.Context(), request)
			if err != nil || live["SqsManagedSseEnabled"] != (key == "") || (live["KmsMasterKeyId"] == nil) != (key == "") {
				t.Fatalf("with key %q: %v %v", key, live, err)
			}
		}
	}
}

func wantHandler(t *testing.T, code string, err error) {
	t.Helper()
	var e *resource.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("got %v, want %s", err, code)
	}
}

func TestCloudFormationRefusals(t *testing.T) {
	r := start(t)
	r.queue("taken", nil)
	provider := r.service.Providers()["AWS::SQS::Queue"]
	tests := []struct {
		name, code string
		properties map[string]any
	}{
		{"name that someone has", resource.AlreadyExists, map[string]any{"QueueName": "taken"}},
		{"number that is none", resource.InvalidRequest, map[string]any{"DelaySeconds": "soon"}},
		{"FIFO name without its suffix", resource.InvalidRequest, map[string]any{"QueueName": "x", "FifoQueue": "true"}},
		{"dead letters into nowhere", resource.InvalidRequest, map[string]any{"RedrivePolicy": map[string]any{
			"deadLetterTargetArn": "arn:aws:sqs:eu-central-1:123456789012:none", "maxReceiveCount": 3,
		}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := provider.Create(
				t.Context(), resource.Request{Account: "123456789012", Region: "eu-central-1", Properties: tt.properties},
			)
			wantHandler(t, tt.code, err)
		})
	}
}

func TestCloudFormationQueuePolicy(t *testing.T) {
	r := start(t)
	u := r.queue("q", nil)
	provider := r.service.Providers()["AWS::SQS::QueuePolicy"]
	request := resource.Request{
		Account: "123456789012", Region: "eu-central-1", StackName: "s", LogicalID: "P",
		Properties: map[string]any{"Queues": []any{*u}, "PolicyDocument": map[string]any{"Version": "2012-10-17"}},
	}
	policy := func() string {
		out, err := r.GetQueueAttributes(
			t.Context(), &awssqs.GetQueueAttributesInput{QueueUrl: u, AttributeNames: []types.QueueAttributeName{"Policy"}},
		)
		if err != nil {
			t.Fatal(err)
		}
		return out.Attributes["Policy"]
	}
	made, err := provider.Create(t.Context(), request)
	if err != nil || policy() != `{"Version":"2012-10-17"}` {
		t.Errorf("got %s %v", policy(), err)
	}
	request.PhysicalID = made.PhysicalID
	if _, err := r.DeleteQueue(t.Context(), &awssqs.DeleteQueueInput{QueueUrl: aws.String(*u)}); err != nil {
		t.Fatal(err)
	}
	if err := provider.Delete(t.Context(), request); err != nil {
		t.Errorf("deleting the policy of a deleted queue: %v", err)
	}
	if _, err := provider.Read(t.Context(), request); err == nil {
		t.Error("the policy of a deleted queue still exists")
	}
}

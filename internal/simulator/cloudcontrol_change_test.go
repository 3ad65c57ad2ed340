package simulator_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/patience"
)

// ended waits until a request to Cloud Control API has ended.
func ended(t *testing.T, control *cloudcontrol.Client, event *types.ProgressEvent) *types.ProgressEvent {
	t.Helper()
	patience.Until(t, "the request ends", func() error {
		out, err := control.GetResourceRequestStatus(t.Context(), &cloudcontrol.GetResourceRequestStatusInput{
			RequestToken: event.RequestToken,
		})
		if err != nil {
			return err
		}
		if event = out.ProgressEvent; event.OperationStatus == types.OperationStatusInProgress {
			return errors.New("it runs")
		}
		return nil
	})
	return event
}

// Cloud Control API creates, changes and deletes the queue that SQS has.
// https://docs.aws.amazon.com/cloudcontrolapi/latest/userguide/resource-operations.html
func TestCloudControlChangesResources(t *testing.T) {
	config := start(t)
	control, queues, kind := cloudcontrol.NewFromConfig(config), sqs.NewFromConfig(config), "AWS::SQS::Queue"
	made, err := control.CreateResource(t.Context(), &cloudcontrol.CreateResourceInput{
		TypeName: &kind, DesiredState: aws.String(`{"QueueName": "jobs", "VisibilityTimeout": 30, "DelaySeconds": 5}`), ClientToken: aws.String("one"),
	})
	if err != nil {
		t.Fatal(err)
	}
	event := ended(t, control, made.ProgressEvent)
	if event.OperationStatus != types.OperationStatusSuccess || event.Operation != types.OperationCreate ||
		!strings.HasSuffix(*event.Identifier, "/jobs") {
		t.Fatalf("the creation ended with %+v", event)
	}
	again, err := control.CreateResource(t.Context(), &cloudcontrol.CreateResourceInput{
		TypeName: &kind, DesiredState: aws.String(`{"QueueName": "jobs", "VisibilityTimeout": 30, "DelaySeconds": 5}`), ClientToken: aws.String("one"),
	})
	if err != nil || *again.ProgressEvent.RequestToken != *made.ProgressEvent.RequestToken {
		t.Errorf("the repeated request is answered with %+v, %v", again, err)
	}
	_, err = control.CreateResource(t.Context(), &cloudcontrol.CreateResourceInput{
		TypeName: &kind, DesiredState: aws.String(`{"QueueName": "other"}`), ClientToken: aws.String("one"),
	})
	if awsapi.Code(err) != "ClientTokenConflictException" {
		t.Errorf("another request with the token: %v", err)
	}
	url := event.Identifier
	changed, err := control.UpdateResource(t.Context(), &cloudcontrol.UpdateResourceInput{
		TypeName: &kind, Identifier: url, PatchDocument: aws.String(`[{"op": "replace", "path": "/VisibilityTimeout", "value": 60}]`),
	})
	if err != nil {
		t.Fatal(err)
	}
	if event := ended(t, control, changed.ProgressEvent); event.OperationStatus != types.OperationStatusSuccess {
		t.Fatalf("the update ended with %+v", event)
	}
	has, err := queues.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: url, AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameAll},
	})
	if err != nil || has.Attributes["VisibilityTimeout"] != "60" || has.Attributes["DelaySeconds"] != "5" {
		t.Errorf("the queue has %v, %v", has, err)
	}
	deleted, err := control.DeleteResource(t.Context(), &cloudcontrol.DeleteResourceInput{TypeName: &kind, Identifier: url})
	if err != nil {
		t.Fatal(err)
	}
	ended(t, control, deleted.ProgressEvent)
	if _, err := queues.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String("jobs")}); awsapi.Code(err) != "AWS.SimpleQueueService.NonExistentQueue" {
		t.Errorf("the queue after its deletion: %v", err)
	}
}

// What the schema or the handlers of a type do not allow is refused.
func TestCloudControlRefusesChanges(t *testing.T) {
	control := cloudcontrol.NewFromConfig(start(t))
	create := func(kind, state string) (*types.ProgressEvent, error) {
		out, err := control.CreateResource(t.Context(), &cloudcontrol.CreateResourceInput{TypeName: &kind, DesiredState: &state})
		if err != nil {
			return nil, err
		}
		return ended(t, control, out.ProgressEvent), nil
	}
	event, err := create("AWS::SQS::Queue", `{"QueueName": "jobs"}`)
	if err != nil {
		t.Fatal(err)
	}
	update := func(kind, patch string) error {
		_, err := control.UpdateResource(t.Context(), &cloudcontrol.UpdateResourceInput{
			TypeName: &kind, Identifier: event.Identifier, PatchDocument: &patch,
		})
		return err
	}
	_, invalid := create("AWS::SQS::Queue", `{"DelaySeconds": "soon"}`)
	_, unsupported := create("AWS::Route53::RecordSet", `{}`)
	for name, c := range map[string]struct {
		err           error
		code, message string
	}{
		"a property of the wrong type":        {invalid, "ValidationException", "Model validation failed (#/DelaySeconds"},
		"a type without handlers":             {unsupported, "UnsupportedActionException", "AWS::Route53::RecordSet does not support CREATE action"},
		"a type without a handler for it":     {update("AWS::Lambda::Permission", `[]`), "UnsupportedActionException", "does not support UPDATE action"},
		"a property that only a creation has": {update("AWS::SQS::Queue", `[{"op": "replace", "path": "/QueueName", "value": "x"}]`), "NotUpdatableException", "createOnlyProperties [/properties/QueueName]"},
		"a property that only AWS sets":       {update("AWS::SQS::Queue", `[{"op": "replace", "path": "/Arn", "value": "x"}]`), "NotUpdatableException", "readOnlyProperties [/properties/Arn]"},
		"a patch that is none":                {update("AWS::SQS::Queue", `{}`), "InvalidRequestException", "Invalid patch document"},
	} {
		if awsapi.Code(c.err) != c.code || !strings.Contains(awsapi.AWSMessage(c.err), c.message) {
			t.Errorf("%s: %v, want %s: %s", name, c.err, c.code, c.message)
		}
	}
	if event, err = create("AWS::SQS::Queue", `{"QueueName": "jobs"}`); err != nil || event.ErrorCode != types.HandlerErrorCodeAlreadyExists {
		t.Errorf("a queue that exists: %+v, %v", event, err)
	}
}

// A change needs the permission for the API and for the action of the type's handler.
// https://docs.aws.amazon.com/cloudcontrolapi/latest/userguide/resource-operations.html#resource-operations-permissions
func TestCloudControlNeedsPermissions(t *testing.T) {
	a := newAccount(t)
	request := &cloudcontrol.CreateResourceInput{TypeName: aws.String("AWS::SQS::Queue"), DesiredState: aws.String(`{"QueueName": "jobs"}`)}
	_, err := cloudcontrol.NewFromConfig(a.user("none", allow(`"sqs:*"`, "*"))).CreateResource(t.Context(), request)
	wantDenied(t, "without CreateResource", err, "AccessDeniedException", "cloudformation:CreateResource")
	half := cloudcontrol.NewFromConfig(a.user("half", allow(`"cloudformation:*"`, "*")))
	out, err := half.CreateResource(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if event := ended(t, half, out.ProgressEvent); event.ErrorCode != types.HandlerErrorCodeAccessDenied ||
		!strings.Contains(*event.StatusMessage, "sqs:CreateQueue") {
		t.Errorf("without sqs:CreateQueue: %+v", event)
	}
}

// A security group has all of its rules, also in the API that knows no template.
func TestSecurityGroupIsReadWithItsRules(t *testing.T) {
	control, kind := cloudcontrol.NewFromConfig(start(t)), "AWS::EC2::SecurityGroup"
	create := func(kind, state string) string {
		out, err := control.CreateResource(t.Context(), &cloudcontrol.CreateResourceInput{TypeName: &kind, DesiredState: &state})
		if err != nil {
			t.Fatal(err)
		}
		event := ended(t, control, out.ProgressEvent)
		if event.OperationStatus != types.OperationStatusSuccess {
			t.Fatalf("%s: %s", kind, aws.ToString(event.StatusMessage))
		}
		return *event.Identifier
	}
	vpc := create("AWS::EC2::VPC", `{"CidrBlock": "10.0.0.0/16"}`)
	group := create(kind, fmt.Sprintf(`{"GroupDescription": "web", "VpcId": %q, "SecurityGroupIngress": [{"IpProtocol": "tcp", "FromPort": 80, "ToPort": 80, "CidrIp": "10.0.0.0/8", "Description": "web"}]}`, vpc))
	out, err := control.GetResource(t.Context(), &cloudcontrol.GetResourceInput{TypeName: &kind, Identifier: &group})
	if err != nil {
		t.Fatal(err)
	}
	var found struct {
		SecurityGroupIngress []struct{ Description string }
	}
	if err := json.Unmarshal([]byte(*out.ResourceDescription.Properties), &found); err != nil {
		t.Fatal(err)
	}
	if len(found.SecurityGroupIngress) != 1 || found.SecurityGroupIngress[0].Description != "web" {
		t.Errorf("read %s", *out.ResourceDescription.Properties)
	}
}

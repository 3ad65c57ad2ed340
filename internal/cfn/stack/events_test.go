package stack

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/smithy-go"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

func TestCleanReason(t *testing.T) {
	cases := []struct{ name, reason, want string }{
		{
			"a handler's reason is shown without its request",
			`Resource handler returned message: "Resource of type 'AWS::SQS::Queue' with identifier 'jobs' already exists." (RequestToken: 7e1fa5fb-9c5c-7bc4-d20c-9a5e3bfa1d1c, HandlerErrorCode: AlreadyExists)`,
			"Resource of type 'AWS::SQS::Queue' with identifier 'jobs' already exists.",
		},
		{
			"a service's reason is shown without its request",
			`Resource handler returned message: "The bucket you tried to delete is not empty (Service: S3, Status Code: 409, Request ID: Y3, Extended Request ID: x=) (SDK Attempt Count: 1)" (RequestToken: 1, HandlerErrorCode: GeneralServiceException)`,
			"The bucket you tried to delete is not empty.",
		},
		{
			"the old format of services is shown without its request",
			"Table already exists: books (Service: AmazonDynamoDBv2; Status Code: 400; Error Code: ResourceInUseException; Request ID: ABC; Proxy: null)",
			"Table already exists: books.",
		},
		{
			"a missing permission is named",
			`Resource handler returned message: "User: arn:aws:sts::123456789012:assumed-role/operator/x is not authorized to perform: sqs:CreateQueue on resource: arn:aws:sqs:eu-central-1:123456789012:jobs because no identity-based policy allows the sqs:CreateQueue action (Service: Sqs, Status Code: 403, Request ID: 1)" (RequestToken: 1, HandlerErrorCode: AccessDenied)`,
			"AWS denies access: arn:aws:sts::123456789012:assumed-role/operator/x lacks the permission sqs:CreateQueue on arn:aws:sqs:eu-central-1:123456789012:jobs; allow this action in its IAM policy.",
		},
		{"a plain reason ends with a full stop; a name at its beginning stays as it is", "jobs already exists", "jobs already exists."},
		{"a missing reason is reported", "", "AWS gives no reason."},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := CleanReason(c.reason); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestScanFindsFirstFailureOfLastOperation(t *testing.T) {
	const id = "arn:aws:cloudformation:eu-central-1:123456789012:stack/jobs/1"
	event := func(logicalID, physicalID string, status types.ResourceStatus, reason, token string) types.StackEvent {
		return types.StackEvent{
			LogicalResourceId: aws.String(logicalID), PhysicalResourceId: aws.String(physicalID), ResourceStatus: status,
			ResourceStatusReason: aws.String(reason), ClientRequestToken: aws.String(token), ResourceType: aws.String("AWS::SQS::Queue"),
		}
	}
	newestFirst := []types.StackEvent{
		event("jobs", id, types.ResourceStatusRollbackComplete, "", "new"),
		event("C", "c", types.ResourceStatusDeleteFailed, "a failure of the rollback", "new"),
		event("jobs", id, types.ResourceStatusRollbackInProgress, "The following resource(s) failed to create: [A, B].", "new"),
		event("B", "b", types.ResourceStatusCreateFailed, "Resource creation cancelled", "new"),
		event("A", "a", types.ResourceStatusCreateFailed, "A already exists", "new"),
		event("jobs", id, types.ResourceStatusCreateInProgress, "User Initiated", "new"),
		event("Z", "z", types.ResourceStatusUpdateFailed, "a failure of an earlier operation", "old"),
	}
	found := failure{tokens: map[string]bool{}}
	var first *types.StackEvent
	if !found.scan(newestFirst, id, &first) {
		t.Error("the operation's beginning was not noticed")
	}
	if first == nil || aws.ToString(first.LogicalResourceId) != "A" {
		t.Errorf("found %+v, want the failure of A", first)
	}
	if !found.tokens["new"] || found.tokens["old"] {
		t.Errorf("tokens %v, want those of the last operation only", found.tokens)
	}
}

// An output that cannot be evaluated fails no resource: only the stack's own event has the reason.
// https://github.com/awsdocs/aws-cloudformation-user-guide/issues/1048
func TestReasonOfARollbackWithoutAFailedResource(t *testing.T) {
	const id = "arn:aws:cloudformation:eu-central-1:123456789012:stack/jobs/1"
	event := func(logicalID string, status types.ResourceStatus, reason string) types.StackEvent {
		e := types.StackEvent{
			LogicalResourceId: aws.String(logicalID), PhysicalResourceId: aws.String(logicalID), ResourceStatus: status,
			ResourceStatusReason: aws.String(reason), ResourceType: aws.String("AWS::SQS::Queue"),
		}
		if logicalID == "jobs" {
			e.PhysicalResourceId = aws.String(id)
		}
		return e
	}
	for _, c := range []struct {
		name   string
		events []types.StackEvent // newest first
		want   string
	}{
		{"a creation, whose rollback fails too", []types.StackEvent{
			event("A", types.ResourceStatusDeleteFailed, "A is in use"),
			event("jobs", types.ResourceStatusRollbackInProgress, "Attribute 'FlowArn' does not exist. Rollback requested by user."),
			event("A", types.ResourceStatusCreateComplete, ""),
			event("jobs", types.ResourceStatusCreateInProgress, "User Initiated"),
		}, "Attribute 'FlowArn' does not exist."},
		{"an update", []types.StackEvent{
			event("jobs", types.ResourceStatusUpdateRollbackInProgress, "Attribute 'FlowArn' does not exist. "),
			event("jobs", types.ResourceStatusUpdateInProgress, "User Initiated"),
		}, "Attribute 'FlowArn' does not exist."},
		{"a resource that failed says more", []types.StackEvent{
			event("jobs", types.ResourceStatusUpdateRollbackInProgress, "The following resource(s) failed to update: [A]. "),
			event("A", types.ResourceStatusUpdateFailed, "A is locked"),
			event("jobs", types.ResourceStatusUpdateInProgress, "User Initiated"),
		}, "A (AWS::SQS::Queue): A is locked."},
		{"a rollback that a client requested", []types.StackEvent{
			event("A", types.ResourceStatusUpdateFailed, "A is locked"),
			event("jobs", types.ResourceStatusUpdateRollbackInProgress, "User Initiated"),
			event("jobs", types.ResourceStatusUpdateInProgress, "User Initiated"),
		}, "A (AWS::SQS::Queue): A is locked."},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := searchEvents(t.Context(), reader{events: c.events}, id, "", maxNesting)
			if err != nil || got.sentence != c.want {
				t.Errorf("got %q (%v), want %q", got.sentence, err, c.want)
			}
		})
	}
}

// reader is CloudFormation with one stack.
type reader struct {
	awsapi.StackReader

	status types.StackStatus
	events []types.StackEvent
}

func (r reader) DescribeStacks(
	context.Context, *cloudformation.DescribeStacksInput, ...func(*cloudformation.Options),
) (*cloudformation.DescribeStacksOutput, error) {
	if r.status == "" {
		return nil, &smithy.GenericAPIError{Code: "ValidationError", Message: "Stack with id jobs does not exist"}
	}
	return &cloudformation.DescribeStacksOutput{Stacks: []types.Stack{{StackId: aws.String("jobs"), StackStatus: r.status}}}, nil
}

func (r reader) DescribeStackEvents(
	context.Context, *cloudformation.DescribeStackEventsInput, ...func(*cloudformation.Options),
) (*cloudformation.DescribeStackEventsOutput, error) {
	return &cloudformation.DescribeStackEventsOutput{StackEvents: r.events}, nil
}

func TestFailedStacksHaveTheirFirstFailure(t *testing.T) {
	events := []types.StackEvent{{
		LogicalResourceId: aws.String("Queue"), ResourceType: aws.String("AWS::SQS::Queue"),
		ResourceStatus: types.ResourceStatusCreateFailed, ResourceStatusReason: aws.String("jobs already exists"),
	}}
	for status, want := range map[types.StackStatus]string{
		"":                                               "",
		types.StackStatusCreateComplete:                  "",
		types.StackStatusUpdateInProgress:                "",
		types.StackStatusRollbackComplete:                "Queue (AWS::SQS::Queue): jobs already exists.",
		types.StackStatusCreateFailed:                    "Queue (AWS::SQS::Queue): jobs already exists.",
		types.StackStatusUpdateRollbackComplete:          "Queue (AWS::SQS::Queue): jobs already exists.",
		types.StackStatusUpdateRollbackFailed:            "Queue (AWS::SQS::Queue): jobs already exists.",
		types.StackStatusDeleteFailed:                    "Queue (AWS::SQS::Queue): jobs already exists.",
		types.StackStatusReviewInProgress:                "",
		types.StackStatusDeleteInProgress:                "",
		types.StackStatusImportRollbackComplete:          "Queue (AWS::SQS::Queue): jobs already exists.",
		types.StackStatusUpdateCompleteCleanupInProgress: "",
	} {
		t.Run(string(status), func(t *testing.T) {
			found, sentence, err := Failed(t.Context(), reader{status: status, events: events}, "jobs")
			if err != nil || sentence != want || (found != "") != (want != "") {
				t.Errorf("got %q, %q, %v", found, sentence, err)
			}
		})
	}
}

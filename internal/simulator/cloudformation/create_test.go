package cloudformation_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscfn "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

const streamTemplate = `
Resources:
  Stream:
    Type: AWS::Kinesis::Stream
    Properties:
      ShardCount: 1
Outputs:
  Arn:
    Value: !GetAtt Stream.Arn
  Name:
    Value: !Ref Stream
`

// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/view-stack-events.html
func TestCreateRunsThroughStatusesAndEvents(t *testing.T) {
	w := newSuite(t, nil)
	s := w.createAndWait("events", streamTemplate)
	expectEvents(t, w.events("events"),
		"events CREATE_IN_PROGRESS User Initiated",
		"Stream CREATE_IN_PROGRESS",
		"Stream CREATE_IN_PROGRESS Resource creation Initiated",
		"Stream CREATE_COMPLETE",
		"events CREATE_COMPLETE",
	)
	outputs := map[string]string{}
	for _, o := range s.Outputs {
		outputs[*o.OutputKey] = *o.OutputValue
	}
	if !strings.HasPrefix(outputs["Name"], "events-Stream-") {
		t.Errorf("the physical name %q is not made of stack name, logical ID and a suffix", outputs["Name"])
	}
	if want := "arn:aws:kinesis:eu-west-1:123456789012:stream/"; !strings.HasPrefix(outputs["Arn"], want) {
		t.Errorf("Arn %q does not begin with %q", outputs["Arn"], want)
	}
	if !strings.HasPrefix(*s.StackId, "arn:aws:cloudformation:eu-west-1:123456789012:stack/events/") {
		t.Errorf("stack ID %q", *s.StackId)
	}
}

// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeStacks.html
func TestDeletedStackIsFoundByID(t *testing.T) {
	w := newSuite(t, nil)
	id := aws.ToString(w.createAndWait("deleted", streamTemplate).StackId)
	w.delete("deleted")
	w.waitFor(id, types.StackStatusDeleteComplete)
	_, err := w.DescribeStacks(t.Context(), &awscfn.DescribeStacksInput{StackName: aws.String("deleted")})
	expectError(t, err, "ValidationError", "Stack with id deleted does not exist")
	w.delete("deleted") // deleting a deleted stack succeeds
	if again := aws.ToString(w.createAndWait("deleted", streamTemplate).StackId); again == id {
		t.Error("a new stack of the name has the old ID")
	}
}

const failingTemplate = `
Resources:
  Good:
    Type: AWS::Kinesis::Stream
    Properties: {ShardCount: 1}
  Bad:
    Type: AWS::Kinesis::Stream
    DependsOn: Good
    Properties: {ShardCuont: 1}
  Never:
    Type: AWS::Kinesis::Stream
    DependsOn: Bad
`

// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/stack-failure-options.html
func TestFailedCreationRollsBack(t *testing.T) {
	w := newSuite(t, nil)
	w.create("bad", failingTemplate)
	s := w.waitFor("bad", types.StackStatusRollbackComplete)
	expectEvents(t, w.events("bad"),
		"bad CREATE_IN_PROGRESS User Initiated",
		"Good CREATE_IN_PROGRESS",
		"Good CREATE_IN_PROGRESS Resource creation Initiated",
		"Good CREATE_COMPLETE",
		"Bad CREATE_IN_PROGRESS",
		"Bad CREATE_FAILED Properties validation failed for resource Bad with message: [#: extraneous key [ShardCuont] is not permitted]",
		"bad ROLLBACK_IN_PROGRESS The following resource(s) failed to create: [Bad]. Rollback requested by user.",
		"Bad DELETE_COMPLETE",
		"Good DELETE_IN_PROGRESS",
		"Good DELETE_COMPLETE",
		"bad ROLLBACK_COMPLETE",
	)
	expectError(t, w.update("bad", streamTemplate), "ValidationError",
		"Stack:"+*s.StackId+" is in ROLLBACK_COMPLETE state and can not be updated.")
	if n := len(w.events("bad")); n != 11 {
		t.Errorf("%d events", n)
	}
}

func TestOnFailure(t *testing.T) {
	cases := []struct {
		why       string
		onFailure types.OnFailure
		status    types.StackStatus
		left      int
	}{
		{"DO_NOTHING leaves what was made", types.OnFailureDoNothing, types.StackStatusCreateFailed, 1},
		{"DELETE removes the stack", types.OnFailureDelete, types.StackStatusDeleteComplete, 0},
		{"ROLLBACK is the default", types.OnFailureRollback, types.StackStatusRollbackComplete, 0},
	}
	for _, c := range cases {
		t.Run(c.why, func(t *testing.T) {
			w := newSuite(t, nil)
			name := "fail-" + strings.ToLower(strings.ReplaceAll(string(c.onFailure), "_", "-"))
			out, err := w.CreateStack(t.Context(), &awscfn.CreateStackInput{
				StackName: aws.String(name), TemplateBody: aws.String(failingTemplate), OnFailure: c.onFailure,
			})
			if err != nil {
				t.Fatal(err)
			}
			w.waitFor(*out.StackId, c.status)
			if n := w.engine.Simulated().Len(account, region, "AWS::Kinesis::Stream"); n != c.left {
				t.Errorf("%d streams are left, want %d", n, c.left)
			}
		})
	}
}

// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_CreateStack.html
func TestRequestToken(t *testing.T) {
	w := newSuite(t, nil)
	in := &awscfn.CreateStackInput{
		StackName: aws.String("token"), TemplateBody: aws.String(streamTemplate), ClientRequestToken: aws.String("once"),
	}
	first, err := w.CreateStack(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	second, err := w.CreateStack(t.Context(), in)
	if err != nil || *second.StackId != *first.StackId {
		t.Errorf("the same token again: %v %v", second, err)
	}
	in.ClientRequestToken = aws.String("twice")
	_, err = w.CreateStack(t.Context(), in)
	expectError(t, err, "AlreadyExistsException", "Stack [token] already exists")
}

func TestAlreadyExists(t *testing.T) {
	w := newSuite(t, nil)
	named := `{"Resources": {"Stream": {"Type": "AWS::Kinesis::Stream", "Properties": {"Name": "mine", "ShardCount": 1}}}}`
	w.createAndWait("first", named)
	w.create("second", named)
	w.waitFor("second", types.StackStatusRollbackComplete)
	want := `Stream CREATE_FAILED Resource handler returned message: "Resource of type 'AWS::Kinesis::Stream' with identifier 'mine' already exists." (RequestToken: `
	events := strings.Join(w.events("second"), "\n")
	if !strings.Contains(events, want) || !strings.Contains(events, "HandlerErrorCode: AlreadyExists)") {
		t.Errorf("events:\n%s\nwant %s", events, want)
	}
	if w.engine.Simulated().Len(account, region, "AWS::Kinesis::Stream") != 1 {
		t.Error("the rollback of the second stack touched the first one's stream")
	}
}

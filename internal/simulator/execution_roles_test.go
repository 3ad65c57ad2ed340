package simulator_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/patience"
)

// TestRolesOfFunctions tests that the caller may pass the role of a function, that Lambda can assume it, and
// that it has the permissions that Lambda tries.
func TestRolesOfFunctions(t *testing.T) {
	a := newAccount(t)
	const (
		trustsLambda = `{"Effect":"Allow","Principal":{"Service":"lambda.amazonaws.com"},"Action":"sts:AssumeRole"}`
		trustsHere   = `{"Effect":"Allow","Principal":{"Service":"lambda.amazonaws.com"},"Action":"sts:AssumeRole","Condition":{"StringEquals":{"aws:SourceAccount":"123456789012"}}}`
		trustsOthers = `{"Effect":"Allow","Principal":{"Service":"lambda.amazonaws.com"},"Action":"sts:AssumeRole","Condition":{"StringEquals":{"aws:SourceAccount":"210987654321"}}}`
		trustsEC2    = `{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}`
		queue        = "arn:aws:sqs:eu-west-1:123456789012:jobs"
	)
	plain := a.role("plain", trustsLambda)
	able := a.role("able", trustsLambda, allow(`["ec2:CreateNetworkInterface","sqs:SendMessage","sqs:ReceiveMessage"]`, "*"))
	ofEC2 := a.role("of-ec2", trustsEC2)
	here, ofOthers := a.role("here", trustsHere), a.role("of-others", trustsOthers)
	pass := func(service string) string {
		return `{"Effect":"Allow","Action":"iam:PassRole","Resource":"*","Condition":{"StringEquals":{"iam:PassedToService":"` + service + `"}}}`
	}
	all := allow(`["cloudformation:*","lambda:*","sqs:*"]`, "*")
	passes, passesToEC2 := a.user("ann", all, pass("lambda.amazonaws.com")), a.user("bob", all, pass("ec2.amazonaws.com"))
	function := func(role, more string) string {
		return `{Type: AWS::Lambda::Function, Properties: {FunctionName: f, Role: "` + role + `", Runtime: python3.13, Handler: a.b, Code: {ZipFile: x}` + more + `}}`
	}
	trigger := `, Trigger: {Type: AWS::Lambda::EventSourceMapping, Properties: {FunctionName: {Ref: F}, EventSourceArn: "` + queue + `"}}`
	for _, c := range []struct {
		name, template string
		caller         aws.Config
		want           string // empty if the stack is created
	}{
		{"a role that Lambda can assume", function(plain, ""), passes, ""},
		{"a caller who may pass roles to another service", function(plain, ""), passesToEC2, "is not authorized to perform: iam:PassRole"},
		{"a role for functions of the account", function(here, ""), passes, ""},
		{"a role for functions of another account", function(ofOthers, ""), passes, "cannot be assumed by Lambda"},
		{"a role of another service", function(ofEC2, ""), passes, "cannot be assumed by Lambda"},
		{"a role that does not exist", function("arn:aws:iam::123456789012:role/none", ""), passes, "cannot be assumed by Lambda"},
		{
			"a VPC without the permission for interfaces", function(plain, ", VpcConfig: {SubnetIds: [subnet-1], SecurityGroupIds: [sg-1]}"), passes,
			"does not have permissions to call CreateNetworkInterface on EC2",
		},
		{"a VPC", function(able, ", VpcConfig: {SubnetIds: [subnet-1], SecurityGroupIds: [sg-1]}"), passes, ""},
		{
			"a dead-letter queue without the permission to send", function(plain, `, DeadLetterConfig: {TargetArn: "`+queue+`"}`), passes,
			"does not have permissions to call SendMessage on SQS",
		},
		{"a trigger without the permission to receive", function(plain, "") + trigger, passes, "does not have permissions to call ReceiveMessage on SQS"},
		{"a trigger", function(able, "") + trigger, passes, ""},
		{"a variable that Lambda sets", function(able, ", Environment: {Variables: {AWS_REGION: x}}"), passes, "reserved keys"},
	} {
		t.Run(c.name, func(t *testing.T) {
			stacks := cloudformation.NewFromConfig(c.caller)
			made, err := stacks.CreateStack(t.Context(), &cloudformation.CreateStackInput{
				StackName: aws.String("functions"), TemplateBody: aws.String("Resources: {F: " + c.template + "}"), OnFailure: types.OnFailureDelete,
			})
			if err != nil {
				t.Fatal(err)
			}
			failed := failureOf(t.Context(), t, cloudformation.NewFromConfig(a.root), made.StackId)
			if c.want == "" && failed != "" || !strings.Contains(failed, c.want) {
				t.Errorf("the stack failed with %q, want %q", failed, c.want)
			}
			root := cloudformation.NewFromConfig(a.root)
			if _, err := root.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: made.StackId}); err != nil {
				t.Fatal(err)
			}
			failureOf(t.Context(), t, root, made.StackId)
		})
	}
}

var errRunning = errors.New("the operation runs")

// failureOf waits until no operation of a stack runs, and returns the first reason of a resource that failed.
func failureOf(ctx context.Context, t *testing.T, stacks *cloudformation.Client, id *string) (failure string) {
	t.Helper()
	patience.Until(t, "the operation ends", func() error {
		out, err := stacks.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: id})
		if err == nil && strings.HasSuffix(string(out.Stacks[0].StackStatus), "_IN_PROGRESS") {
			err = errRunning
		}
		return err
	})
	events, err := stacks.DescribeStackEvents(ctx, &cloudformation.DescribeStackEventsInput{StackName: id})
	if err != nil {
		t.Fatal(err)
	}
	for i := range events.StackEvents {
		if e := &events.StackEvents[i]; strings.HasSuffix(string(e.ResourceStatus), "_FAILED") && !strings.Contains(aws.ToString(e.ResourceStatusReason), "cancelled") {
			failure = aws.ToString(e.ResourceStatusReason)
		}
	}
	return failure
}

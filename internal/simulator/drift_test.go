package simulator_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/patience"
)

// TestDriftDetectionNeedsReadPermissions detects the drift of a queue with the permissions that AWS
// documents, and with one less each time: "Read permission for each resource that supports drift
// detection included in the stack", cloudformation:DetectStackDrift, and
// cloudformation:DetectStackResourceDrift. The ID of a detection names no stack, so its status needs
// all resources.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-stack-drift.html#drift-considerations
// https://docs.aws.amazon.com/service-authorization/latest/reference/list_awscloudformation.html
func TestDriftDetectionNeedsReadPermissions(t *testing.T) {
	a := newAccount(t)
	ctx := t.Context()
	owner := cloudformation.NewFromConfig(a.root)
	if _, err := owner.CreateStack(ctx, &cloudformation.CreateStackInput{
		StackName: aws.String("jobs"), TemplateBody: aws.String(`{"Resources": {"Queue": {"Type": "AWS::SQS::Queue"}}}`),
	}); err != nil {
		t.Fatal(err)
	}
	jobs := &cloudformation.DescribeStacksInput{StackName: aws.String("jobs")}
	if err := cloudformation.NewStackCreateCompleteWaiter(owner).Wait(ctx, jobs, 60e9); err != nil {
		t.Fatal(err)
	}
	stack := "arn:aws:cloudformation:*:*:stack/jobs/*"
	detect := allow(`["cloudformation:DetectStackDrift","cloudformation:DetectStackResourceDrift","cloudformation:DescribeStackResourceDrifts"]`, stack)
	status := allow(`"cloudformation:DescribeStackDriftDetectionStatus"`, "*")
	via := `{"Effect":"Allow","Action":["sqs:GetQueueAttributes","sqs:ListQueueTags"],"Resource":"*",` +
		`"Condition":{"ForAnyValue:StringEquals":{"aws:CalledVia":["cloudformation.amazonaws.com"]}}}`

	run := func(client *cloudformation.Client) (*cloudformation.DescribeStackDriftDetectionStatusOutput, error) {
		started, err := client.DetectStackDrift(ctx, &cloudformation.DetectStackDriftInput{StackName: aws.String("jobs")})
		if err != nil {
			return nil, err
		}
		var out *cloudformation.DescribeStackDriftDetectionStatusOutput
		patience.Until(t, "the detection to end", func() error {
			in := &cloudformation.DescribeStackDriftDetectionStatusInput{StackDriftDetectionId: started.StackDriftDetectionId}
			out, err = owner.DescribeStackDriftDetectionStatus(ctx, in)
			if err == nil && out.DetectionStatus == types.StackDriftDetectionStatusDetectionInProgress {
				return errors.New("it runs")
			}
			return err
		})
		return client.DescribeStackDriftDetectionStatus(ctx, &cloudformation.DescribeStackDriftDetectionStatusInput{
			StackDriftDetectionId: started.StackDriftDetectionId,
		})
	}

	out, err := run(cloudformation.NewFromConfig(a.user("all", detect, status, via)))
	if err != nil || out.StackDriftStatus != types.StackDriftStatusInSync {
		t.Errorf("with all permissions: %+v, %v", out, err)
	}
	out, err = run(cloudformation.NewFromConfig(a.user("blind", detect, status, strings.Replace(via, `,"sqs:ListQueueTags"`, "", 1))))
	if err != nil || out.DetectionStatus != types.StackDriftDetectionStatusDetectionFailed ||
		!strings.Contains(aws.ToString(out.DetectionStatusReason), "user/blind is not authorized to perform: sqs:ListQueueTags") {
		t.Errorf("without a permission to read: %+v, %v", out, err)
	}
	_, err = run(cloudformation.NewFromConfig(a.user("half", strings.Replace(detect, `"cloudformation:DetectStackResourceDrift",`, "", 1), status, via)))
	wantDenied(t, "without DetectStackResourceDrift", err, "AccessDenied", "cloudformation:DetectStackResourceDrift")
	_, err = run(cloudformation.NewFromConfig(a.user("narrow", detect, strings.Replace(status, `"Resource":"*"`, `"Resource":"`+stack+`"`, 1), via)))
	wantDenied(t, "with the status of one stack", err, "AccessDenied", "cloudformation:DescribeStackDriftDetectionStatus")
}

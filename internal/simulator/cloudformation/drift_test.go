package cloudformation_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscfn "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
)

// drifted detects a stack's drift and returns the result.
func (w *suite) drifted(name string) *awscfn.DescribeStackDriftDetectionStatusOutput {
	w.t.Helper()
	detection, err := w.DetectStackDrift(w.t.Context(), &awscfn.DetectStackDriftInput{StackName: aws.String(name)})
	if err != nil {
		w.t.Fatal(err)
	}
	var status *awscfn.DescribeStackDriftDetectionStatusOutput
	w.eventually(func() bool {
		status, err = w.DescribeStackDriftDetectionStatus(w.t.Context(), &awscfn.DescribeStackDriftDetectionStatusInput{
			StackDriftDetectionId: detection.StackDriftDetectionId,
		})
		return err == nil && status.DetectionStatus != types.StackDriftDetectionStatusDetectionInProgress
	}, func() string { return fmt.Sprintf("the detection does not end: %+v %v", status, err) })
	return status
}

// differences are the drifted resources of a stack and their differences, one a line.
func (w *suite) differences(name string) []string {
	w.t.Helper()
	out, err := w.DescribeStackResourceDrifts(w.t.Context(), &awscfn.DescribeStackResourceDriftsInput{StackName: aws.String(name)})
	if err != nil {
		w.t.Fatal(err)
	}
	var lines []string
	for _, d := range out.StackResourceDrifts {
		lines = append(lines, aws.ToString(d.LogicalResourceId)+" "+string(d.StackResourceDriftStatus))
		for _, p := range d.PropertyDifferences {
			lines = append(lines, fmt.Sprintf("%s %s %s -> %s",
				p.DifferenceType, aws.ToString(p.PropertyPath), aws.ToString(p.ExpectedValue), aws.ToString(p.ActualValue)))
		}
		if d.StackResourceDriftStatus == types.StackResourceDriftStatusDeleted &&
			(d.ExpectedProperties != nil || d.ActualProperties != nil) {
			w.t.Errorf("%s is deleted and has properties", aws.ToString(d.LogicalResourceId))
		}
	}
	return lines
}

func (w *suite) physicalID(name, logicalID string) string {
	w.t.Helper()
	out, err := w.DescribeStackResource(w.t.Context(), &awscfn.DescribeStackResourceInput{StackName: &name, LogicalResourceId: &logicalID})
	if err != nil {
		w.t.Fatal(err)
	}
	return aws.ToString(out.StackResourceDetail.PhysicalResourceId)
}

// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-stack-drift.html#what-is-drift
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/detect-drift-stack.html
func TestDriftDetectionIsRefused(t *testing.T) {
	w := newSuite(t, func(w *suite, o *cloudformation.Options) {
		fakeTime(w, o)
		o.Latency = func(string, string) time.Duration { return time.Minute }
	})
	refused := func(want string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	detect := func() error {
		_, err := w.DetectStackDrift(t.Context(), &awscfn.DetectStackDriftInput{StackName: aws.String("slow")})
		return err
	}
	status := func(id string) error {
		_, err := w.DescribeStackDriftDetectionStatus(t.Context(), &awscfn.DescribeStackDriftDetectionStatusInput{
			StackDriftDetectionId: &id,
		})
		return err
	}
	refused("Stack [slow] does not exist", detect())
	id := w.create("slow", stream(`"ShardCount": 1`))
	refused("while it is in CREATE_IN_PROGRESS state", detect())
	w.stepUntil(id, types.StackStatusCreateComplete)
	if err := detect(); err != nil {
		t.Fatal(err)
	}
	refused("Drift detection is already in progress for stack ["+id+"]", detect())
	refused("Drift detection operation 1234 does not exist", status("1234"))
	refused("length less than or equal to 36", status(strings.Repeat("x", 37)))
	w.eventually(func() bool {
		w.clock.Step(time.Minute)
		return detect() == nil
	}, func() string { return "the first detection does not end" })
	_, err := w.DetectStackDrift(t.Context(), &awscfn.DetectStackDriftInput{
		StackName: aws.String("slow"), LogicalResourceIds: []string{"Other"},
	})
	refused("Resource Other does not exist", err)
	_, err = w.DescribeStackResourceDrifts(t.Context(), &awscfn.DescribeStackResourceDriftsInput{
		StackName: aws.String("slow"), MaxResults: aws.Int32(101),
	})
	refused("maxResults", err)
}

// stepUntil steps the clock until a stack has a status.
func (w *suite) stepUntil(id string, status types.StackStatus) {
	w.t.Helper()
	w.eventually(func() bool {
		w.clock.Step(time.Minute)
		out, err := w.DescribeStacks(w.t.Context(), &awscfn.DescribeStacksInput{StackName: &id})
		return err == nil && out.Stacks[0].StackStatus == status
	}, func() string { return "the stack is not " + string(status) })
}

// TestDriftComparesWhatTheTemplateSets changes properties that CloudFormation compares, and others.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-stack-drift.html#drift-considerations
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/dynamic-references-ssm.html
func TestDriftComparesWhatTheTemplateSets(t *testing.T) {
	w := newSuite(t, nil)
	out, err := w.CreateStack(t.Context(), &awscfn.CreateStackInput{
		StackName: aws.String("drift"), Tags: []types.Tag{{Key: aws.String("team"), Value: aws.String("blue")}},
		TemplateBody: aws.String(`{"Resources": {
			"Group": {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": "group", "RetentionInDays": 7,
				"KmsKeyId": "arn:aws:kms:eu-west-1:123456789012:key/1", "Tags": [{"Key": "a", "Value": "1"}, {"Key": "b", "Value": "2"}]}},
			"Repository": {"Type": "AWS::ECR::Repository", "Properties": {"RepositoryName": "repository", "EmptyOnDelete": true}},
			"Topic": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "topic", "DisplayName": "{{resolve:ssm:/image}}"}}}}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.waitFor(aws.ToString(out.StackId), types.StackStatusCreateComplete)
	change := func(kind, id string, edit func(p map[string]any)) {
		t.Helper()
		if !w.engine.Simulated().Change(account, region, kind, id, edit) {
			t.Fatalf("there is no %s %s", kind, id)
		}
	}
	tag := func(key, value string) map[string]any { return map[string]any{"Key": key, "Value": value} }
	change("AWS::Logs::LogGroup", "group", func(p map[string]any) {
		p["KmsKeyId"], p["LogGroupClass"] = "another", "INFREQUENT_ACCESS" // a KMSKeyId, and a property that the template lacks
		p["Tags"] = []any{tag("b", "2"), tag("a", "1"), tag("team", "blue"), tag("aws:cloudformation:stack-name", "drift")}
	})
	change("AWS::ECR::Repository", "repository", func(p map[string]any) { delete(p, "EmptyOnDelete") }) // write-only
	change("AWS::SNS::Topic", w.physicalID("drift", "Topic"), func(p map[string]any) { p["DisplayName"] = "other" })
	if status := w.drifted("drift"); status.StackDriftStatus != types.StackDriftStatusInSync || *status.DriftedStackResourceCount != 0 {
		t.Errorf("the stack is %s: %q", status.StackDriftStatus, w.differences("drift"))
	}
	change("AWS::Logs::LogGroup", "group", func(p map[string]any) {
		p["RetentionInDays"] = 30
		p["Tags"] = []any{tag("a", "1"), tag("c", "3"), tag("d", "4")}
	})
	w.engine.Simulated().Remove(account, region, "AWS::ECR::Repository", "repository")
	if status := w.drifted("drift"); status.StackDriftStatus != types.StackDriftStatusDrifted || *status.DriftedStackResourceCount != 2 {
		t.Errorf("the stack is %+v", status)
	}
	want := []string{
		"Group MODIFIED", "NOT_EQUAL /RetentionInDays 7 -> 30", "NOT_EQUAL /Tags/1/Key b -> c", "NOT_EQUAL /Tags/1/Value 2 -> 3",
		`ADD /Tags/2 null -> {"Key":"d","Value":"4"}`, "Repository DELETED", "Topic IN_SYNC",
	}
	if got := w.differences("drift"); !slices.Equal(got, want) {
		t.Errorf("differences\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestDriftOfWhatCannotBeRead has a type without a read handler, and one whose read fails.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-stack-drift.html#drift-status-codes
func TestDriftOfWhatCannotBeRead(t *testing.T) {
	w := newSuite(t, nil)
	w.createAndWait("policy", `{"Resources": {"Policy": {"Type": "AWS::SQS::QueuePolicy", "Properties": {"Queues": ["q"], "PolicyDocument": {
		"Statement": []}}}}}`)
	if status := w.drifted("policy"); status.StackDriftStatus != types.StackDriftStatusInSync || len(w.differences("policy")) > 0 {
		t.Errorf("the stack without supported resources is %+v, resources %q", status, w.differences("policy"))
	}
	if _, err := w.DetectStackResourceDrift(t.Context(), &awscfn.DetectStackResourceDriftInput{
		StackName: aws.String("policy"), LogicalResourceId: aws.String("Policy"),
	}); err == nil {
		t.Error("a resource that does not support drift detection was checked")
	}
	w.createAndWait("broken", stream(`"ShardCount": 1`))
	w.faults.Add(fault.Rule{
		Service: "cloudformation", Operation: cloudformation.OpRead, ResourceType: "AWS::Kinesis::Stream", Code: "Throttling", Message: "Rate exceeded", Times: 1,
	})
	status := w.drifted("broken")
	if status.DetectionStatus != types.StackDriftDetectionStatusDetectionFailed ||
		status.StackDriftStatus != types.StackDriftStatusUnknown ||
		!strings.Contains(aws.ToString(status.DetectionStatusReason), `"Summary":"Failed to detect drift on resources [Stream]"`) {
		t.Errorf("status %+v, reason %q", status, aws.ToString(status.DetectionStatusReason))
	}
	if got := w.differences("broken"); !slices.Equal(got, []string{"Stream UNKNOWN"}) {
		t.Errorf("resources %q", got)
	}
}

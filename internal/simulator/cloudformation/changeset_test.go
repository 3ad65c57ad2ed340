package cloudformation_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscfn "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

func (w *suite) changeSet(in *awscfn.CreateChangeSetInput) *awscfn.DescribeChangeSetOutput {
	w.t.Helper()
	if _, err := w.CreateChangeSet(w.t.Context(), in); err != nil {
		w.t.Fatalf("CreateChangeSet: %v", err)
	}
	var out *awscfn.DescribeChangeSetOutput
	w.eventually(func() bool {
		var err error
		out, err = w.DescribeChangeSet(w.t.Context(), &awscfn.DescribeChangeSetInput{
			StackName: in.StackName, ChangeSetName: in.ChangeSetName, IncludePropertyValues: aws.Bool(true),
		})
		return err == nil && out.Status != types.ChangeSetStatusCreatePending && out.Status != types.ChangeSetStatusCreateInProgress
	}, func() string { return "the change set is not computed" })
	return out
}

func (w *suite) execute(stack, name string) {
	w.t.Helper()
	if _, err := w.ExecuteChangeSet(w.t.Context(), &awscfn.ExecuteChangeSetInput{
		StackName: aws.String(stack), ChangeSetName: aws.String(name),
	}); err != nil {
		w.t.Fatalf("ExecuteChangeSet: %v", err)
	}
}

// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-updating-stacks-changesets.html
func TestChangeSetCreatesAndUpdatesAStack(t *testing.T) {
	w := newSuite(t, nil)
	cs := w.changeSet(&awscfn.CreateChangeSetInput{
		StackName: aws.String("planned"), ChangeSetName: aws.String("first"), ChangeSetType: types.ChangeSetTypeCreate,
		TemplateBody: aws.String(stream(`"Name": "one", "ShardCount": 1`)),
	})
	if cs.Status != types.ChangeSetStatusCreateComplete || len(cs.Changes) != 1 ||
		cs.Changes[0].ResourceChange.Action != types.ChangeActionAdd {
		t.Fatalf("change set %+v", cs)
	}
	if got := w.stack("planned").StackStatus; got != types.StackStatusReviewInProgress {
		t.Errorf("the stack is %s before execution", got)
	}
	w.execute("planned", "first")
	w.waitFor("planned", types.StackStatusCreateComplete)

	cs = w.changeSet(&awscfn.CreateChangeSetInput{
		StackName: aws.String("planned"), ChangeSetName: aws.String("second"),
		TemplateBody: aws.String(stream(`"Name": "two", "ShardCount": 2`)),
	})
	change := cs.Changes[0].ResourceChange
	if change.Action != types.ChangeActionModify || change.Replacement != types.ReplacementTrue || len(change.Details) != 2 {
		t.Fatalf("change %+v", change)
	}
	for _, d := range change.Details {
		want := types.RequiresRecreationNever
		if *d.Target.Name == "Name" {
			want = types.RequiresRecreationAlways
			if *d.Target.BeforeValue != "one" || *d.Target.AfterValue != "two" {
				t.Errorf("values %s, %s", *d.Target.BeforeValue, *d.Target.AfterValue)
			}
		}
		if d.Target.RequiresRecreation != want {
			t.Errorf("%s needs recreation: %s", *d.Target.Name, d.Target.RequiresRecreation)
		}
	}
	w.execute("planned", "second")
	w.waitFor("planned", types.StackStatusUpdateComplete)
	if id := *w.resource("planned", "Stream").PhysicalResourceId; id != "two" {
		t.Errorf("physical ID %s", id)
	}
}

func TestStackInReviewCanBeDeleted(t *testing.T) {
	w := newSuite(t, nil)
	w.changeSet(&awscfn.CreateChangeSetInput{
		StackName: aws.String("review"), ChangeSetName: aws.String("first"), ChangeSetType: types.ChangeSetTypeCreate,
		TemplateBody: aws.String(streamTemplate),
	})
	id := *w.stack("review").StackId
	w.delete("review")
	w.waitFor(id, types.StackStatusDeleteComplete)
}

func TestChangeSetWithoutChanges(t *testing.T) {
	w := newSuite(t, nil)
	w.createAndWait("same", stream(`"ShardCount": 1`))
	cs := w.changeSet(&awscfn.CreateChangeSetInput{
		StackName: aws.String("same"), ChangeSetName: aws.String("none"), UsePreviousTemplate: aws.Bool(true),
	})
	if cs.Status != types.ChangeSetStatusFailed ||
		aws.ToString(
			cs.StatusReason,
		) != "The submitted information didn't contain changes. Submit different information to create a change set." {
		t.Errorf("%s %s", cs.Status, aws.ToString(cs.StatusReason))
	}
	_, err := w.ExecuteChangeSet(
		t.Context(), &awscfn.ExecuteChangeSetInput{StackName: aws.String("same"), ChangeSetName: aws.String("none")},
	)
	expectError(t, err, "InvalidChangeSetStatus", "cannot be executed in its current status of [FAILED]")
	if _, err := w.DeleteChangeSet(t.Context(), &awscfn.DeleteChangeSetInput{
		StackName: aws.String("same"), ChangeSetName: aws.String("none"),
	}); err != nil {
		t.Fatal(err)
	}
	_, err = w.DescribeChangeSet(
		t.Context(), &awscfn.DescribeChangeSetInput{StackName: aws.String("same"), ChangeSetName: aws.String("none")},
	)
	expectError(t, err, "ChangeSetNotFound", "ChangeSet [none] does not exist")
}

func TestChangeSetShowsConsequencesOfReplacement(t *testing.T) {
	w := newSuite(t, nil)
	template := func(name string) string {
		return `{"Parameters": {"Name": {"Type": "String", "Default": "` + name + `"}}, "Resources": {
			"Stream": {"Type": "AWS::Kinesis::Stream", "Properties": {"Name": {"Ref": "Name"}}},
			"Consumer": {"Type": "AWS::Kinesis::StreamConsumer", "Properties": {"ConsumerName": "c", "StreamARN": {"Fn::GetAtt": ["Stream", "Arn"]}}}}}`
	}
	w.createAndWait("chain", template("one"))
	cs := w.changeSet(&awscfn.CreateChangeSetInput{
		StackName: aws.String("chain"), ChangeSetName: aws.String("next"), UsePreviousTemplate: aws.Bool(true),
		Parameters: []types.Parameter{{ParameterKey: aws.String("Name"), ParameterValue: aws.String("two")}},
	})
	if len(cs.Changes) != 2 {
		t.Fatalf("changes %+v", cs.Changes)
	}
	consumer, stream := cs.Changes[0].ResourceChange, cs.Changes[1].ResourceChange
	if consumer.Replacement != types.ReplacementConditional || consumer.Details[0].Evaluation != types.EvaluationTypeDynamic ||
		aws.ToString(consumer.Details[0].CausingEntity) != "Stream.Arn" {
		t.Errorf("consumer %+v %+v", consumer, consumer.Details)
	}
	if d := stream.Details[0]; d.ChangeSource != types.ChangeSourceParameterReference || aws.ToString(d.CausingEntity) != "Name" {
		t.Errorf("stream %+v", d)
	}
}

// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/detect-drift-stack.html
func TestDrift(t *testing.T) {
	w := newSuite(t, nil)
	w.createAndWait("drift", `{"Resources": {
		"A": {"Type": "AWS::Kinesis::Stream", "Properties": {"Name": "a", "ShardCount": 1}},
		"B": {"Type": "AWS::Kinesis::Stream", "Properties": {"Name": "b", "ShardCount": 1}},
		"C": {"Type": "AWS::Kinesis::Stream", "Properties": {"Name": "c", "ShardCount": 1}}}}`)
	kind := "AWS::Kinesis::Stream"
	w.engine.Simulated().Change(account, region, kind, "a", func(p map[string]any) { p["ShardCount"] = 3 })
	w.engine.Simulated().Remove(account, region, kind, "b")
	detection, err := w.DetectStackDrift(t.Context(), &awscfn.DetectStackDriftInput{StackName: aws.String("drift")})
	if err != nil {
		t.Fatal(err)
	}
	var status *awscfn.DescribeStackDriftDetectionStatusOutput
	w.eventually(func() bool {
		status, err = w.DescribeStackDriftDetectionStatus(
			t.Context(), &awscfn.DescribeStackDriftDetectionStatusInput{StackDriftDetectionId: detection.StackDriftDetectionId},
		)
		return err == nil && status.DetectionStatus == types.StackDriftDetectionStatusDetectionComplete
	}, func() string { return "drift detection does not end" })
	if status.StackDriftStatus != types.StackDriftStatusDrifted || *status.DriftedStackResourceCount != 2 {
		t.Errorf("status %+v", status)
	}
	drifts, err := w.DescribeStackResourceDrifts(t.Context(), &awscfn.DescribeStackResourceDriftsInput{StackName: aws.String("drift")})
	if err != nil || len(drifts.StackResourceDrifts) != 3 {
		t.Fatalf("%v %v", drifts, err)
	}
	want := []types.StackResourceDriftStatus{
		types.StackResourceDriftStatusModified,
		types.StackResourceDriftStatusDeleted,
		types.StackResourceDriftStatusInSync,
	}
	for i, d := range drifts.StackResourceDrifts {
		if d.StackResourceDriftStatus != want[i] {
			t.Errorf("%s is %s, want %s", *d.LogicalResourceId, d.StackResourceDriftStatus, want[i])
		}
	}
	difference := drifts.StackResourceDrifts[0].PropertyDifferences[0]
	if *difference.PropertyPath != "/ShardCount" || *difference.ExpectedValue != "1" || *difference.ActualValue != "3" {
		t.Errorf("difference %+v", difference)
	}
	one, err := w.DetectStackResourceDrift(
		t.Context(), &awscfn.DetectStackResourceDriftInput{StackName: aws.String("drift"), LogicalResourceId: aws.String("A")},
	)
	if err != nil || one.StackResourceDrift.StackResourceDriftStatus != types.StackResourceDriftStatusModified {
		t.Errorf("%v %v", one, err)
	}
}

// An update makes earlier change sets obsolete, and the name of an executed change set can be
// reused.
func TestChangeSetsAfterAnUpdate(t *testing.T) {
	w := newSuite(t, nil)
	w.createAndWait("planned", streamTemplate)
	plan := func(name, shards string) *awscfn.DescribeChangeSetOutput {
		return w.changeSet(&awscfn.CreateChangeSetInput{
			StackName: aws.String("planned"), ChangeSetName: aws.String(name), TemplateBody: aws.String(stream(`"ShardCount": ` + shards)),
		})
	}
	plan("plan", "5")
	if err := w.update("planned", stream(`"ShardCount": 2`)); err != nil {
		t.Fatal(err)
	}
	w.waitFor("planned", types.StackStatusUpdateComplete)
	out, err := w.DescribeChangeSet(
		t.Context(), &awscfn.DescribeChangeSetInput{StackName: aws.String("planned"), ChangeSetName: aws.String("plan")},
	)
	if err != nil || out.ExecutionStatus != types.ExecutionStatusObsolete {
		t.Errorf("after an update the change set is %v, %v", out, err)
	}
	for _, shards := range []string{"3", "4"} {
		if _, err := w.DeleteChangeSet(t.Context(), &awscfn.DeleteChangeSetInput{
			StackName: aws.String("planned"), ChangeSetName: aws.String("plan"),
		}); err != nil {
			t.Fatal(err)
		}
		plan("plan", shards)
		w.execute("planned", "plan")
		w.waitFor("planned", types.StackStatusUpdateComplete)
	}
}

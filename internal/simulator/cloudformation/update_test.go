package cloudformation_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscfn "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/simulator/fault"
)

func stream(properties string) string {
	return `{"Resources": {"Stream": {"Type": "AWS::Kinesis::Stream", "Properties": {` + properties + `}}}}`
}

// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-updating-stacks-update-behaviors.html
func TestUpdateInPlace(t *testing.T) {
	w := newSuite(t, nil)
	w.createAndWait("inplace", stream(`"ShardCount": 1`))
	before := *w.resource("inplace", "Stream").PhysicalResourceId
	if err := w.update("inplace", stream(`"ShardCount": 2`)); err != nil {
		t.Fatal(err)
	}
	w.waitFor("inplace", types.StackStatusUpdateComplete)
	if after := *w.resource("inplace", "Stream").PhysicalResourceId; after != before {
		t.Errorf("the stream was replaced: %s, then %s", before, after)
	}
	expectEvents(t, w.events("inplace")[5:],
		"inplace UPDATE_IN_PROGRESS User Initiated",
		"Stream UPDATE_IN_PROGRESS",
		"Stream UPDATE_COMPLETE",
		"inplace UPDATE_COMPLETE_CLEANUP_IN_PROGRESS",
		"inplace UPDATE_COMPLETE",
	)
	events, err := w.DescribeStackEvents(t.Context(), &awscfn.DescribeStackEventsInput{StackName: aws.String("inplace")})
	if err != nil {
		t.Fatal(err)
	}
	if done := events.StackEvents[2]; aws.ToString(done.ResourceProperties) != `{"ShardCount":2}` {
		t.Errorf("the event of %s has the properties %s", aws.ToString(done.LogicalResourceId), aws.ToString(done.ResourceProperties))
	}
	expectError(t, w.update("inplace", stream(`"ShardCount": 2`)), "ValidationError", "No updates are to be performed.")
	expectError(t, w.update("inplace", stream(`"ShardCount": "2"`)), "ValidationError", "No updates are to be performed.")
	expectError(t, w.update("nowhere", stream(`"ShardCount": 2`)), "ValidationError", "Stack [nowhere] does not exist")
}

func TestUpdateReplacesWhenACreateOnlyPropertyChanges(t *testing.T) {
	w := newSuite(t, nil)
	w.createAndWait("replace", stream(`"Name": "one"`))
	if err := w.update("replace", stream(`"Name": "two"`)); err != nil {
		t.Fatal(err)
	}
	w.waitFor("replace", types.StackStatusUpdateComplete)
	expectEvents(t, w.events("replace")[5:],
		"replace UPDATE_IN_PROGRESS User Initiated",
		"Stream UPDATE_IN_PROGRESS Requested update requires the creation of a new physical resource; hence creating one.",
		"Stream UPDATE_IN_PROGRESS Resource creation Initiated",
		"Stream UPDATE_COMPLETE",
		"replace UPDATE_COMPLETE_CLEANUP_IN_PROGRESS",
		"Stream DELETE_IN_PROGRESS",
		"Stream DELETE_COMPLETE",
		"replace UPDATE_COMPLETE",
	)
	if id := *w.resource("replace", "Stream").PhysicalResourceId; id != "two" {
		t.Errorf("physical ID %s", id)
	}
	if n := w.engine.Simulated().Len(account, region, "AWS::Kinesis::Stream"); n != 1 {
		t.Errorf("%d streams", n)
	}
}

const twoQueues = `{"Resources": {
	"First": {"Type": "AWS::SQS::Queue", "Properties": {"DelaySeconds": %d}},
	"Second": {"Type": "AWS::SQS::Queue", "DependsOn": "First", "Properties": {"DelaySeconds": %d}}%s}}`

func two(first, second, more string) string {
	return strings.NewReplacer("%d}},\n", first+"}},\n", "%d}}%s", second+"}}"+more).Replace(twoQueues)
}

func TestFailedUpdateRollsBack(t *testing.T) {
	w := newSuite(t, nil)
	w.createAndWait("undo", two("1", "1", ""))
	added := `, "Third": {"Type": "AWS::SQS::Queue"}, "Fourth": {"Type": "AWS::SQS::Queue", "DependsOn": ["Second"]}`
	if err := w.update("undo", two("2", "901", added)); err != nil {
		t.Fatal(err)
	}
	w.waitFor("undo", types.StackStatusUpdateRollbackComplete)
	events := w.events("undo")
	want := []string{
		"Second UPDATE_FAILED Properties validation failed for resource Second with message: [#/DelaySeconds: failed validation constraint for keyword [maximum]]",
		"undo UPDATE_ROLLBACK_IN_PROGRESS The following resource(s) failed to update: [Second].",
		"First UPDATE_COMPLETE",
		"undo UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS",
		"Third DELETE_COMPLETE",
		"undo UPDATE_ROLLBACK_COMPLETE",
	}
	at := 0
	for _, e := range events {
		if at < len(want) && e == want[at] {
			at++
		}
	}
	if at < len(want) {
		t.Fatalf("events:\n%s\nlack, in this order, %q", strings.Join(events, "\n"), want[at])
	}
	if n := w.engine.Simulated().Len(account, region, "AWS::SQS::Queue"); n != 2 {
		t.Errorf("%d queues are left, want 2", n)
	}
	if err := w.update("undo", two("1", "1", "")); err == nil || !strings.Contains(err.Error(), "No updates") {
		t.Errorf("the old template is not what the stack is: %v", err)
	}
	if err := w.update("undo", two("5", "5", "")); err != nil {
		t.Fatal(err)
	}
	w.waitFor("undo", types.StackStatusUpdateComplete)
}

// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-updating-stacks-continueupdaterollback.html
func TestFailedRollbackIsContinued(t *testing.T) {
	w := newSuite(t, nil)
	w.createAndWait("stuck", two("1", "1", ""))
	w.faults.Add(
		fault.Rule{
			ResourceType: "AWS::SQS::Queue",
			Operation:    "Update",
			Name:         "First",
			Skip:         1,
			Times:        1,
			Code:         "ServiceInternalError",
			Message:      "try again",
		},
	)
	if err := w.update("stuck", two("2", "901", "")); err != nil {
		t.Fatal(err)
	}
	s := w.waitFor("stuck", types.StackStatusUpdateRollbackFailed)
	if got := aws.ToString(s.StackStatusReason); got != "The following resource(s) failed to update: [First]. " {
		t.Errorf("reason %q", got)
	}
	_, err := w.ContinueUpdateRollback(t.Context(), &awscfn.ContinueUpdateRollbackInput{StackName: aws.String("stuck")})
	if err != nil {
		t.Fatal(err)
	}
	w.waitFor("stuck", types.StackStatusUpdateRollbackComplete)
}

func TestContinuedRollbackSkipsResources(t *testing.T) {
	w := newSuite(t, nil)
	w.createAndWait("skip", two("1", "1", ""))
	w.faults.Add(
		fault.Rule{
			ResourceType: "AWS::SQS::Queue",
			Operation:    "Update",
			Name:         "First",
			Skip:         1,
			Code:         "ServiceInternalError",
			Message:      "never",
		},
	)
	if err := w.update("skip", two("2", "901", "")); err != nil {
		t.Fatal(err)
	}
	w.waitFor("skip", types.StackStatusUpdateRollbackFailed)
	again := func(skip ...string) error {
		_, err := w.ContinueUpdateRollback(
			t.Context(), &awscfn.ContinueUpdateRollbackInput{StackName: aws.String("skip"), ResourcesToSkip: skip},
		)
		return err
	}
	if err := again(); err != nil {
		t.Fatal(err)
	}
	w.waitFor("skip", types.StackStatusUpdateRollbackFailed)
	if err := again("Nowhere"); err == nil {
		t.Error("a resource that is not in UPDATE_FAILED was skipped")
	}
	if err := again("First"); err != nil {
		t.Fatal(err)
	}
	w.waitFor("skip", types.StackStatusUpdateRollbackComplete)
}

// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/stack-failure-options.html
func TestUpdateWithoutRollback(t *testing.T) {
	w := newSuite(t, nil)
	w.createAndWait("keep", two("1", "1", ""))
	_, err := w.UpdateStack(t.Context(), &awscfn.UpdateStackInput{
		StackName: aws.String("keep"), TemplateBody: aws.String(two("2", "901", "")), DisableRollback: aws.Bool(true),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.waitFor("keep", types.StackStatusUpdateFailed)
	if _, err := w.RollbackStack(t.Context(), &awscfn.RollbackStackInput{StackName: aws.String("keep")}); err != nil {
		t.Fatal(err)
	}
	w.waitFor("keep", types.StackStatusUpdateRollbackComplete)
	_, err = w.UpdateStack(t.Context(), &awscfn.UpdateStackInput{
		StackName: aws.String("keep"), TemplateBody: aws.String(two("2", "901", "")), DisableRollback: aws.Bool(true),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.waitFor("keep", types.StackStatusUpdateFailed)
	if err := w.update("keep", two("3", "3", "")); err != nil {
		t.Fatal(err)
	}
	w.waitFor("keep", types.StackStatusUpdateComplete)
}

// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_CancelUpdateStack.html
func TestCancelledUpdateRollsBack(t *testing.T) {
	w := newSuite(t, fakeTime)
	w.createAndWait("cancel", two("1", "1", ""))
	w.faults.Add(fault.Rule{ResourceType: "AWS::SQS::Queue", Operation: "Update", Name: "First", Times: 1, Latency: 1e12})
	if err := w.update("cancel", two("2", "2", "")); err != nil {
		t.Fatal(err)
	}
	w.eventually(func() bool {
		return w.resource("cancel", "First").ResourceStatus == types.ResourceStatusUpdateInProgress
	}, func() string { return "the update does not begin" })
	if _, err := w.CancelUpdateStack(t.Context(), &awscfn.CancelUpdateStackInput{StackName: aws.String("cancel")}); err != nil {
		t.Fatal(err)
	}
	w.waitFor("cancel", types.StackStatusUpdateRollbackComplete)
	if !strings.Contains(strings.Join(w.events("cancel"), "\n"), "First UPDATE_FAILED Resource update cancelled") {
		t.Errorf("events:\n%s", strings.Join(w.events("cancel"), "\n"))
	}
	_, err := w.CancelUpdateStack(t.Context(), &awscfn.CancelUpdateStackInput{StackName: aws.String("cancel")})
	expectError(t, err, "ValidationError", "CancelUpdateStack cannot be called from current stack status")
}

func TestReplacementIsUndoneByRollback(t *testing.T) {
	w := newSuite(t, nil)
	template := func(name, delay string) string {
		return `{"Resources": {"Stream": {"Type": "AWS::Kinesis::Stream", "Properties": {"Name": "` + name + `"}},
			"Queue": {"Type": "AWS::SQS::Queue", "DependsOn": "Stream", "Properties": {"DelaySeconds": ` + delay + `}}}}`
	}
	w.createAndWait("back", template("one", "1"))
	if err := w.update("back", template("two", "901")); err != nil {
		t.Fatal(err)
	}
	w.waitFor("back", types.StackStatusUpdateRollbackComplete)
	if id := *w.resource("back", "Stream").PhysicalResourceId; id != "one" {
		t.Errorf("physical ID %s", id)
	}
	if n := w.engine.Simulated().Len(account, region, "AWS::Kinesis::Stream"); n != 1 {
		t.Errorf("%d streams", n)
	}
}

func TestRemovedResourcesAreDeletedInCleanUp(t *testing.T) {
	w := newSuite(t, nil)
	kept := `, "Kept": {"Type": "AWS::SQS::Queue", "DeletionPolicy": "Retain"}, "Gone": {"Type": "AWS::SQS::Queue"}`
	w.createAndWait("remove", two("1", "1", kept))
	if err := w.update("remove", two("1", "1", "")); err != nil {
		t.Fatal(err)
	}
	w.waitFor("remove", types.StackStatusUpdateComplete)
	events := strings.Join(w.events("remove"), "\n")
	if !strings.Contains(events, "Kept DELETE_SKIPPED") || !strings.Contains(events, "Gone DELETE_COMPLETE") {
		t.Errorf("events:\n%s", events)
	}
	if n := w.engine.Simulated().Len(account, region, "AWS::SQS::Queue"); n != 3 {
		t.Errorf("%d queues are left, want 3", n)
	}
	out, err := w.ListStackResources(t.Context(), &awscfn.ListStackResourcesInput{StackName: aws.String("remove")})
	if err != nil || len(out.StackResourceSummaries) != 2 {
		t.Errorf("resources %v %v", out, err)
	}
}

// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/protect-stack-resources.html
func TestStackPolicy(t *testing.T) {
	w := newSuite(t, nil)
	w.createAndWait("guarded", two("1", "1", ""))
	policy := `{"Statement": [{"Effect": "Allow", "Action": "Update:*", "Principal": "*", "Resource": "*"},
		{"Effect": "Deny", "Action": "Update:*", "Principal": "*", "Resource": "LogicalResourceId/First"}]}`
	if _, err := w.SetStackPolicy(t.Context(), &awscfn.SetStackPolicyInput{StackName: aws.String("guarded"), StackPolicyBody: aws.String(policy)}); err != nil {
		t.Fatal(err)
	}
	if err := w.update("guarded", two("2", "2", "")); err != nil {
		t.Fatal(err)
	}
	w.waitFor("guarded", types.StackStatusUpdateRollbackComplete)
	if events := strings.Join(w.events("guarded"), "\n"); !strings.Contains(events, "First UPDATE_FAILED Action denied by stack policy") {
		t.Errorf("events:\n%s", events)
	}
	if err := w.update("guarded", two("1", "2", "")); err != nil {
		t.Fatal(err)
	}
	w.waitFor("guarded", types.StackStatusUpdateComplete)
	_, err := w.UpdateStack(t.Context(), &awscfn.UpdateStackInput{
		StackName: aws.String("guarded"), TemplateBody: aws.String(two("3", "2", "")),
		StackPolicyDuringUpdateBody: aws.String(
			`{"Statement": [{"Effect": "Allow", "Action": "Update:*", "Principal": "*", "Resource": "*"}]}`,
		),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.waitFor("guarded", types.StackStatusUpdateComplete)
	if out, err := w.GetStackPolicy(t.Context(), &awscfn.GetStackPolicyInput{StackName: aws.String("guarded")}); err != nil ||
		aws.ToString(out.StackPolicyBody) != policy {
		t.Errorf("policy %v %v", out, err)
	}
}

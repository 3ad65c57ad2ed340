package stack_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/policy"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
)

func TestSimulatedLifecycle(t *testing.T) {
	o := newSuite(t).object(queueTemplate(1))
	if calls := o.calls(func() { o.is(stack.Ready) }); !slices.Equal(calls, []string{"CreateStack", "DescribeStacks"}) {
		t.Errorf("creating called %q", calls)
	}
	if !strings.HasPrefix(o.outputs["arn"], "arn:aws:sqs:eu-central-1:123456789012:") {
		t.Errorf("outputs %q", o.outputs)
	}
	if calls := o.calls(func() { o.is(stack.Ready) }); len(calls) != 0 {
		t.Errorf("a no-op called %q", calls)
	}
	o.edit(queueTemplate(2))
	if calls := o.calls(func() { o.is(stack.Ready) }); !slices.Equal(calls, []string{"UpdateStack", "DescribeStacks"}) {
		t.Errorf("an edit called %q", calls)
	}
	o.restart()
	if calls := o.calls(func() { o.is(stack.Ready) }); len(calls) != 0 {
		t.Errorf("a restart called %q", calls)
	}
	o.edit(queueTemplate(3))
	o.is(stack.Ready)
	if calls := o.calls(func() { o.deleted(stack.DeleteOptions{}) }); !slices.Equal(calls[:2], []string{"DeleteStack", "DescribeStacks"}) {
		t.Errorf("deleting called %q", calls)
	}
}

func TestSimulatedFailedCreation(t *testing.T) {
	l := newSuite(t)
	l.faults.Add(fault.Rule{ResourceType: queue, Operation: "Create", Code: "AlreadyExists", Message: "jobs already exists"})
	o := l.object(queueTemplate(1))
	result := o.is(stack.Waiting)
	if !strings.Contains(result.Message, "Queue (AWS::SQS::Queue): ") || !strings.Contains(result.Message, "already exists") {
		t.Errorf("message %q, want the first failed resource's own reason", result.Message)
	}
	for result.State != stack.Stalled {
		var err error
		if result, err = o.ensure(); err != nil {
			t.Fatal(err)
		}
		if result.State == stack.InProgress {
			<-l.events
		}
	}
	if !l.through(types.StackStatusRollbackComplete) || !strings.Contains(result.Message, "failed 3 times") {
		t.Errorf("message %q after %q", result.Message, l.passed)
	}
	o.deleted(stack.DeleteOptions{})
}

func TestSimulatedCreationSucceedsAtTheSecondAttempt(t *testing.T) {
	l := newSuite(t)
	l.faults.Add(fault.Rule{ResourceType: queue, Operation: "Create", Code: "InternalFailure", Message: "oops", Times: 1})
	o := l.object(queueTemplate(1))
	o.is(stack.Ready)
	if !l.through(types.StackStatusRollbackComplete) {
		t.Errorf("the stack went through %q, want a rollback", l.passed)
	}
	o.deleted(stack.DeleteOptions{})
}

// SQS releases a queue's name later than the engine gives up after three attempts.
func TestSimulatedCreationWaitsUntilANameIsReleased(t *testing.T) {
	l := newSuite(t)
	l.engine = stack.New(stack.Options{
		Clients: l.clients, RetryDelay: time.Millisecond, SlowRetry: time.Millisecond, PollInterval: l.poll,
	})
	l.faults.Add(fault.Rule{
		ResourceType: queue, Operation: "Create", Code: "QueueDeletedRecently", Times: 4,
		Message: "You must wait 60 seconds after deleting a queue before you can create another with the same name.",
	})
	o := l.object(queueTemplate(1))
	o.is(stack.Ready)
	o.deleted(stack.DeleteOptions{})
}

func TestSimulatedFailedRollbackOfACreation(t *testing.T) {
	l := newSuite(t)
	l.faults.Add(fault.Rule{ResourceType: table, Operation: "Create", Code: "InvalidRequest", Message: "no", Times: 1})
	l.faults.Add(fault.Rule{ResourceType: queue, Operation: "Delete", Code: "InvalidRequest", Message: "in use", Times: 1})
	o := l.object(`
Resources:
  Queue:
    Type: AWS::SQS::Queue
  Table:
    Type: AWS::DynamoDB::Table
    DependsOn: Queue
    Properties:
      AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
      KeySchema: [{AttributeName: id, KeyType: HASH}]
      BillingMode: PAY_PER_REQUEST
`)
	o.is(stack.Ready)
	if !l.through(types.StackStatusRollbackFailed) {
		t.Errorf("the stack went through %q, want a failed rollback", l.passed)
	}
	o.deleted(stack.DeleteOptions{})
}

func TestSimulatedPartialStackIsAdoptedAndRecreated(t *testing.T) {
	l := newSuite(t)
	l.faults.Add(fault.Rule{ResourceType: queue, Operation: "Create", Code: "InvalidRequest", Message: "no", Times: 1})
	o := l.object(queueTemplate(1))
	if _, err := l.console.CreateStack(t.Context(), &cloudformation.CreateStackInput{
		StackName: aws.String("jobs"), TemplateBody: aws.String(queueTemplate(1)), DisableRollback: aws.Bool(true),
		Tags: []types.Tag{{Key: aws.String(ownerTag), Value: aws.String("default/jobs")}},
	}); err != nil {
		t.Fatal(err)
	}
	l.settled(types.StackStatusCreateFailed)
	o.is(stack.Ready)
	o.deleted(stack.DeleteOptions{})
}

func TestSimulatedFailedUpdate(t *testing.T) {
	l := newSuite(t)
	o := l.object(queueTemplate(1))
	o.is(stack.Ready)
	remove := l.faults.Add(
		fault.Rule{ResourceType: queue, Operation: "Update", Code: "InvalidRequest", Message: "DelaySeconds is out of bounds", Times: 1},
	)
	o.edit(queueTemplate(2))
	result := o.is(stack.Stalled)
	remove()
	if !strings.Contains(result.Message, "DelaySeconds is out of bounds") || o.record.Status != "UPDATE_ROLLBACK_COMPLETE" {
		t.Errorf("%s: %s", o.record.Status, result.Message)
	}
	if calls := o.calls(func() { o.is(stack.Stalled) }); len(calls) != 0 {
		t.Errorf("the failed update was read or sent again: %q", calls)
	}
	o.edit(queueTemplate(1))
	o.is(stack.Ready)
	o.edit(queueTemplate(3))
	o.is(stack.Ready)
	o.deleted(stack.DeleteOptions{})
}

func TestSimulatedFailedRollbackOfAnUpdate(t *testing.T) {
	chain := func(delay int) string {
		return fmt.Sprintf(`
Resources:
  First:
    Type: AWS::SQS::Queue
    Properties:
      DelaySeconds: %[1]d
  Second:
    Type: AWS::SQS::Queue
    DependsOn: First
    Properties:
      DelaySeconds: %[1]d
`, delay)
	}
	for _, c := range []struct {
		name    string
		refuses int // how often the rollback of the first queue fails
	}{{"is continued", 1}, {"is continued with the failed resource skipped", 2}} {
		t.Run(c.name, func(t *testing.T) {
			l := newSuite(t)
			o := l.object(chain(1))
			o.desired.Allow.Skip = true
			o.is(stack.Ready)
			l.faults.Add(
				fault.Rule{
					ResourceType: queue,
					Name:         "Second",
					Operation:    "Update",
					Code:         "InvalidRequest",
					Message:      "out of bounds",
					Times:        1,
				},
			)
			l.faults.Add(
				fault.Rule{
					ResourceType: queue,
					Name:         "First",
					Operation:    "Update",
					Code:         "InvalidRequest",
					Message:      "not now",
					Skip:         1,
					Times:        c.refuses,
				},
			)
			o.edit(chain(2))
			result := o.is(stack.Stalled)
			if !l.through(types.StackStatusUpdateRollbackFailed) || o.record.Status != "UPDATE_ROLLBACK_COMPLETE" {
				t.Errorf("the stack is %s after %q", o.record.Status, l.passed)
			}
			if !strings.Contains(result.Message, "Second (AWS::SQS::Queue): out of bounds.") {
				t.Errorf("message %q, want the first failure", result.Message)
			}
			o.edit(chain(3))
			o.is(stack.Ready)
			o.deleted(stack.DeleteOptions{})
		})
	}
}

func TestSimulatedUpdateLeftFailedByAnotherClient(t *testing.T) {
	l := newSuite(t)
	o := l.object(queueTemplate(1))
	o.is(stack.Ready)
	remove := l.faults.Add(fault.Rule{ResourceType: queue, Operation: "Update", Code: "InvalidRequest", Message: "not now", Times: 1})
	if _, err := l.console.UpdateStack(t.Context(), &cloudformation.UpdateStackInput{
		StackName: aws.String("jobs"), TemplateBody: aws.String(queueTemplate(7)), DisableRollback: aws.Bool(true),
	}); err != nil {
		t.Fatal(err)
	}
	l.settled(types.StackStatusUpdateFailed)
	remove()
	o.is(stack.Ready)
	if got := l.settled(types.StackStatus(o.record.Status)); len(got.Tags) == 0 {
		t.Errorf("the stack lost its tags: %+v", got)
	}
	o.deleted(stack.DeleteOptions{})
}

func TestSimulatedManualChangeIsReverted(t *testing.T) {
	l := newSuite(t)
	o := l.object(queueTemplate(1))
	o.is(stack.Ready)
	if _, err := l.console.UpdateStack(t.Context(), &cloudformation.UpdateStackInput{
		StackName: aws.String("jobs"), TemplateBody: aws.String(queueTemplate(7)),
	}); err != nil {
		t.Fatal(err)
	}
	l.settled(types.StackStatusUpdateComplete)
	o.restart() // the engine missed the event
	if _, err := o.current().Sweep(t.Context(), awsapi.Target{}); err != nil {
		t.Fatal(err)
	}
	o.is(stack.Ready)
	out, err := l.console.GetTemplate(t.Context(), &cloudformation.GetTemplateInput{StackName: aws.String("jobs")})
	if err != nil || aws.ToString(out.TemplateBody) != string(o.desired.Template.JSON()) {
		t.Errorf("deployed %s, error %v", aws.ToString(out.TemplateBody), err)
	}
	o.deleted(stack.DeleteOptions{})
}

func TestSimulatedFailedDeletion(t *testing.T) {
	l := newSuite(t)
	o := l.object(queueTemplate(1))
	o.is(stack.Ready)
	l.faults.Add(fault.Rule{ResourceType: queue, Operation: "Delete", Code: "InvalidRequest", Message: "still in use", Times: 3})
	o.deleted(stack.DeleteOptions{})
	if !l.through(types.StackStatusDeleteFailed) {
		t.Errorf("the stack went through %q", l.passed)
	}
}

func TestSimulatedDeletionRetainsAllowedResources(t *testing.T) {
	l := newSuite(t)
	o := l.object(queueTemplate(1))
	o.is(stack.Ready)
	l.faults.Add(fault.Rule{ResourceType: queue, Operation: "Delete", Code: "InvalidRequest", Message: "never"})
	o.deleted(stack.DeleteOptions{Retain: []string{"Queue"}})
}

func TestSimulatedDeletionCleansFirst(t *testing.T) {
	l := newSuite(t)
	o := l.object(queueTemplate(1))
	o.is(stack.Ready)
	remove := l.faults.Add(fault.Rule{ResourceType: queue, Operation: "Delete", Code: "InvalidRequest", Message: "not empty"})
	var cleaned []string
	o.deleted(stack.DeleteOptions{Clean: func(_ context.Context, failure stack.ResourceFailure) error {
		cleaned = append(cleaned, failure.LogicalID+": "+failure.Reason)
		remove()
		return nil
	}})
	if len(cleaned) == 0 || !strings.Contains(cleaned[0], "Queue: ") || !strings.Contains(cleaned[0], "not empty.") {
		t.Errorf("cleaned %q", cleaned)
	}
}

func TestSimulatedUnexecutedFirstChangeSet(t *testing.T) {
	l := newSuite(t)
	o := l.object(queueTemplate(1))
	if _, err := l.console.CreateChangeSet(t.Context(), &cloudformation.CreateChangeSetInput{
		StackName: aws.String("jobs"), ChangeSetName: aws.String("first"), ChangeSetType: types.ChangeSetTypeCreate,
		TemplateBody: aws.String(queueTemplate(1)), Tags: []types.Tag{{Key: aws.String(ownerTag), Value: aws.String("default/jobs")}},
	}); err != nil {
		t.Fatal(err)
	}
	l.settled(types.StackStatusReviewInProgress)
	result := o.is(stack.Stalled) // such a stack has no tags, so its owner is unknown
	if result.Reason != "StackNameTaken" || !strings.Contains(result.Message, "change set") {
		t.Errorf("%s: %s", result.Reason, result.Message)
	}
	if _, err := l.console.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: aws.String("jobs")}); err != nil {
		t.Fatal(err)
	}
	patience.Until(t, "the other stack to be deleted", func() error {
		out, err := l.console.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{})
		if err != nil || len(out.Stacks) == 0 {
			return err
		}
		return fmt.Errorf("it is %s", out.Stacks[0].StackStatus)
	})
	o.is(stack.Ready)
	o.deleted(stack.DeleteOptions{})
}

func TestSimulatedPolicyProtectsData(t *testing.T) {
	keyed := func(key string) string {
		return fmt.Sprintf(`
Resources:
  Table:
    Type: AWS::DynamoDB::Table
    Properties:
      AttributeDefinitions: [{AttributeName: %[1]s, AttributeType: S}]
      KeySchema: [{AttributeName: %[1]s, KeyType: HASH}]
      BillingMode: PAY_PER_REQUEST
`, key)
	}
	o := newSuite(t).object(keyed("id"))
	o.is(stack.Ready)
	o.edit(keyed("name"))
	var result stack.Result
	if calls := o.calls(func() { result = o.is(stack.Stalled) }); len(calls) != 0 {
		t.Errorf("a refused update called %q", calls)
	}
	if result.Reason != "RefusedByPolicy" || result.Plan.Empty() {
		t.Errorf("%s: %s; plan %v", result.Reason, result.Message, result.Plan)
	}
	o.desired.Allow = policy.Allow{Replace: true}
	o.is(stack.Ready)
	o.deleted(stack.DeleteOptions{})
}

func TestSimulatedDenial(t *testing.T) {
	l := newSuite(t)
	remove := l.faults.Add(fault.Rule{Service: "cloudformation", Operation: "CreateStack", Deny: true})
	o := l.object(queueTemplate(1))
	result := o.is(stack.Waiting)
	if result.Reason != "AccessDenied" || !strings.Contains(result.Message, "lacks the permission cloudformation:CreateStack") {
		t.Errorf("%s: %s", result.Reason, result.Message)
	}
	remove()
	o.is(stack.Ready)
}

func TestSimulatedLostAnswers(t *testing.T) {
	for _, operation := range []string{"CreateStack", "UpdateStack", "DescribeStacks", "DeleteStack"} {
		t.Run(operation, func(t *testing.T) {
			l := newSuite(t)
			l.faults.Add(fault.Rule{Service: "cloudformation", Operation: operation, HangUp: true, AfterEffect: true, Times: 1})
			o := l.object(queueTemplate(1))
			o.is(stack.Ready)
			o.edit(queueTemplate(2))
			o.is(stack.Ready)
			o.deleted(stack.DeleteOptions{})
		})
	}
}

// The connection breaks at one call, before or after its effect. The results of that visit are not
// persisted, and the engine restarts without state.
func TestSimulatedKilledAtAnyCall(t *testing.T) {
	for killAt := range 9 {
		for _, effect := range []bool{false, true} {
			t.Run(fmt.Sprintf("call %d, effect %t", killAt+1, effect), func(t *testing.T) {
				l := newSuiteWith(t, 1, 50*time.Millisecond)
				l.faults.Add(fault.Rule{Service: "cloudformation", HangUp: true, AfterEffect: effect, Skip: killAt, Times: 1})
				o := l.object(queueTemplate(1))
				o.settles(stack.Ready, o.ensure)
				o.edit(queueTemplate(2))
				if _, err := o.survives(o.ensure); err != nil {
					t.Fatal(err)
				}
				o.edit(queueTemplate(3))
				o.settles(stack.Ready, o.ensure)
				out, err := l.console.GetTemplate(t.Context(), &cloudformation.GetTemplateInput{StackName: aws.String("jobs")})
				if err != nil || aws.ToString(out.TemplateBody) != string(o.desired.Template.JSON()) {
					t.Errorf("deployed %s, error %v", aws.ToString(out.TemplateBody), err)
				}
				o.settles(stack.Gone, func() (stack.Result, error) {
					result, err := o.current().
						Delete(t.Context(), awsapi.Target{}, "jobs", o.record, stack.DeleteOptions{OwnerTags: map[string]string{ownerTag: "default/jobs"}})
					if err == nil {
						o.record = result.Record
					}
					return result, err
				})
				l.mu.Lock()
				defer l.mu.Unlock()
				if begun := l.begun("CREATE_IN_PROGRESS"); begun != 1 {
					t.Errorf("%d stacks were created, want 1", begun)
				}
				if begun := l.begun("UPDATE_IN_PROGRESS"); begun > 2 {
					t.Errorf("%d updates were started, want at most one for each edit", begun)
				}
				if last := l.passed[len(l.passed)-1]; last != "DELETE_COMPLETE" {
					t.Errorf("the stack ended %s", last)
				}
			})
		}
	}
}

func TestSimulatedManualImport(t *testing.T) {
	const imported = `
  Imported:
    Type: AWS::SQS::Queue
    DeletionPolicy: Retain
    Properties:
      QueueName: imported
`
	both := strings.Replace(queueTemplate(1), "Outputs:", strings.TrimPrefix(imported, "\n")+"Outputs:", 1)
	setUp := func(t *testing.T) (*suite, *object) {
		t.Helper()
		l := newSuite(t)
		o := l.object(queueTemplate(1))
		o.is(stack.Ready)
		if _, err := l.console.CreateStack(t.Context(), &cloudformation.CreateStackInput{
			StackName: aws.String("other"), TemplateBody: aws.String("Resources:" + imported),
		}); err != nil {
			t.Fatal(err)
		}
		l.until("done", func() (stack.Result, error) { return l.otherIs(types.StackStatusCreateComplete) })
		found, err := l.console.DescribeStackResource(
			t.Context(),
			&cloudformation.DescribeStackResourceInput{StackName: aws.String("other"), LogicalResourceId: aws.String("Imported")},
		)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.console.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: aws.String("other")}); err != nil {
			t.Fatal(err)
		}
		l.until("done", func() (stack.Result, error) { return l.otherIs("") })
		if _, err := l.console.CreateChangeSet(t.Context(), &cloudformation.CreateChangeSetInput{
			StackName: aws.String("jobs"), ChangeSetName: aws.String("import"), ChangeSetType: types.ChangeSetTypeImport,
			TemplateBody: aws.String(both),
			Tags: []types.Tag{
				{Key: aws.String(ownerTag), Value: aws.String("default/jobs")}, {Key: aws.String("team"), Value: aws.String("blue")},
			},
			ResourcesToImport: []types.ResourceToImport{{
				LogicalResourceId: aws.String("Imported"), ResourceType: aws.String(queue),
				ResourceIdentifier: map[string]string{"QueueUrl": aws.ToString(found.StackResourceDetail.PhysicalResourceId)},
			}},
		}); err != nil {
			t.Fatal(err)
		}
		l.until("done", func() (stack.Result, error) {
			out, err := l.console.DescribeChangeSet(
				t.Context(), &cloudformation.DescribeChangeSetInput{StackName: aws.String("jobs"), ChangeSetName: aws.String("import")},
			)
			if err == nil && out.Status == types.ChangeSetStatusCreateComplete {
				return stack.Result{State: "done"}, nil
			}
			return stack.Result{RequeueAfter: 10 * time.Millisecond}, err
		})
		return l, o
	}
	execute := func(t *testing.T, l *suite) {
		t.Helper()
		if _, err := l.console.ExecuteChangeSet(t.Context(), &cloudformation.ExecuteChangeSetInput{
			StackName: aws.String("jobs"), ChangeSetName: aws.String("import"),
		}); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("the stack then matches", func(t *testing.T) {
		l, o := setUp(t)
		execute(t, l)
		l.settled(types.StackStatusImportComplete)
		o.edit(both)
		calls := o.calls(func() { o.is(stack.Ready) })
		if slices.Contains(calls, "UpdateStack") || o.record.Status != "IMPORT_COMPLETE" {
			t.Errorf("%s after calls %q", o.record.Status, calls)
		}
		o.deleted(stack.DeleteOptions{})
	})
	t.Run("an import that failed leaves the stack as it was", func(t *testing.T) {
		l, o := setUp(t)
		l.faults.Add(fault.Rule{ResourceType: queue, Operation: "Read", Code: "InvalidRequest", Message: "no"})
		execute(t, l)
		l.settled(types.StackStatusImportRollbackComplete)
		o.is(stack.Ready)
		o.edit(queueTemplate(2))
		o.is(stack.Ready)
		o.deleted(stack.DeleteOptions{})
	})
}

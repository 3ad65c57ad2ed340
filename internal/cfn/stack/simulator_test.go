package stack_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/policy"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
	simcfn "github.com/aws-operator/aws-operator/internal/simulator/cloudformation"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

const (
	region   = "eu-central-1"
	ownerTag = "aws-operator/object"
	queue    = "AWS::SQS::Queue"
	table    = "AWS::DynamoDB::Table"
)

// lab is the engine on the simulated CloudFormation, whose events reach the engine at once.
type lab struct {
	t       *testing.T
	faults  *fault.Injector
	clients *awsapi.Clients
	console *cloudformation.Client // what somebody else does
	events  chan stack.Event

	mu     sync.Mutex
	engine *stack.Engine
	passed []string // statuses of the stack itself, in order
}

func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{t: t, faults: fault.New(), events: make(chan stack.Event, 10_000)}
	simulated := simcfn.New(simcfn.Options{Env: &resource.Env{Clock: clock.RealClock{}}, Faults: l.faults, Publish: l.publish})
	server := httptest.NewServer(wire.NewRouter([]*wire.Service{simulated.Service()}, l.faults, clock.RealClock{}, wire.WithRegion(region)))
	t.Cleanup(server.Close)
	keys := credentials.NewStaticCredentialsProvider("123456789012", "secret", "")
	clients, err := awsapi.New(t.Context(), awsapi.Options{
		Region: region, EndpointURL: server.URL, Credentials: keys, Budgets: map[string]awsapi.Budget{awsapi.AnyService: awsapi.Unlimited},
	})
	if err != nil {
		t.Fatal(err)
	}
	l.clients = clients
	l.console = cloudformation.New(cloudformation.Options{Region: region, BaseEndpoint: aws.String(server.URL), Credentials: keys})
	l.restart()
	return l
}

// restart is what a kill leaves: an engine that knows nothing.
func (l *lab) restart() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.engine = stack.New(stack.Options{Clients: l.clients, RetryDelay: time.Millisecond, PollInterval: 2 * time.Second})
}

func (l *lab) current() *stack.Engine {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.engine
}

func (l *lab) publish(_ context.Context, _, _, _, detailType string, _ []string, detail any) {
	if detailType != "CloudFormation Stack Status Change" {
		return
	}
	var read struct {
		StackID string `json:"stack-id"`
		Details struct {
			Status string `json:"status"`
		} `json:"status-details"`
		Token string `json:"client-request-token"`
	}
	data, err := json.Marshal(detail)
	if err == nil {
		err = json.Unmarshal(data, &read)
	}
	if err != nil {
		l.t.Error(err)
		return
	}
	l.mu.Lock()
	l.passed = append(l.passed, read.Details.Status)
	l.mu.Unlock()
	event := stack.Event{StackID: read.StackID, Status: read.Details.Status, Token: read.Token}
	l.current().Observe(event)
	l.events <- event
}

func (l *lab) through(status types.StackStatus) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Contains(l.passed, string(status))
}

// until visits after every event until the state is reached and returns the last result.
func (l *lab) until(state stack.State, visit func() (stack.Result, error)) stack.Result {
	l.t.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	for {
		result, err := visit()
		if err != nil {
			l.t.Fatalf("%s: %v", result.Reason, err)
		}
		if result.State == state {
			return result
		}
		if result.State == stack.Stalled {
			l.t.Fatalf("%s: %s; the stack went through %q", result.Reason, result.Message, l.passed)
		}
		again := result.RequeueAfter
		if again == 0 {
			again = time.Second
		}
		look := time.NewTimer(again)
		select {
		case <-l.events:
		case <-look.C:
		case <-deadline.C:
			l.t.Fatalf("never %s: %s, %s: %s; the stack went through %q", state, result.State, result.Reason, result.Message, l.passed)
		}
		look.Stop()
	}
}

// object is what a caller keeps.
type object struct {
	*lab
	desired stack.Desired
	record  stack.Record
	outputs map[string]string
}

func (l *lab) object(body string) *object {
	l.t.Helper()
	o := &object{lab: l, desired: stack.Desired{
		Name: "jobs", Tags: map[string]string{ownerTag: "default/jobs", "team": "blue"}, OwnerTags: []string{ownerTag}, Salt: "uid",
	}}
	o.edit(body)
	return o
}

func (o *object) edit(body string) {
	o.t.Helper()
	parsed, err := template.Parse("jobs.yaml", []byte(body))
	if err != nil {
		o.t.Fatal(err)
	}
	o.desired.Template = parsed
}

func (o *object) ensure() (stack.Result, error) {
	result, err := o.current().Ensure(o.t.Context(), awsapi.Target{}, o.desired, o.record)
	o.record = result.Record
	if result.Outputs != nil {
		o.outputs = result.Outputs
	}
	return result, err
}

func (o *object) is(state stack.State) stack.Result {
	o.t.Helper()
	return o.until(state, o.ensure)
}

func (o *object) gone(options stack.DeleteOptions) {
	o.t.Helper()
	options.OwnerTags = map[string]string{ownerTag: o.desired.Tags[ownerTag]}
	o.until(stack.Gone, func() (stack.Result, error) {
		result, err := o.current().Delete(o.t.Context(), awsapi.Target{}, o.desired.Name, o.record, options)
		o.record = result.Record
		return result, err
	})
	out, err := o.console.DescribeStacks(o.t.Context(), &cloudformation.DescribeStacksInput{})
	if err != nil {
		o.t.Fatal(err)
	}
	if len(out.Stacks) != 0 {
		o.t.Errorf("%d stacks are left", len(out.Stacks))
	}
}

// settled waits until CloudFormation has ended what somebody else began.
func (l *lab) settled(status types.StackStatus) *types.Stack {
	l.t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		out, err := l.console.DescribeStacks(l.t.Context(), &cloudformation.DescribeStacksInput{StackName: aws.String("jobs")})
		if err == nil && out.Stacks[0].StackStatus == status {
			return &out.Stacks[0]
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			l.t.Fatalf("the stack never became %s: %v", status, err)
		}
	}
}

func queueTemplate(delay int) string {
	return fmt.Sprintf(`
Resources:
  Queue:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: jobs
      DelaySeconds: %d
Outputs:
  arn:
    Value: !GetAtt Queue.Arn
`, delay)
}

func (o *object) calls(run func()) []string {
	var mu sync.Mutex
	var made []string
	remove := o.faults.OnCall(func(c fault.CallInfo) {
		mu.Lock()
		defer mu.Unlock()
		if c.ResourceType == "" && c.Phase == fault.Before {
			made = append(made, c.Operation)
		}
	})
	defer remove()
	run()
	mu.Lock()
	defer mu.Unlock()
	return made
}

func TestSimulatedLife(t *testing.T) {
	o := newLab(t).object(queueTemplate(1))
	if calls := o.calls(func() { o.is(stack.Ready) }); !slices.Equal(calls, []string{"CreateStack", "DescribeStacks"}) {
		t.Errorf("creating called %q", calls)
	}
	if !strings.HasPrefix(o.outputs["arn"], "arn:aws:sqs:eu-central-1:123456789012:") {
		t.Errorf("outputs %q", o.outputs)
	}
	if calls := o.calls(func() { o.is(stack.Ready) }); len(calls) != 0 {
		t.Errorf("doing nothing called %q", calls)
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
	if calls := o.calls(func() { o.gone(stack.DeleteOptions{}) }); !slices.Equal(calls[:2], []string{"DeleteStack", "DescribeStacks"}) {
		t.Errorf("deleting called %q", calls)
	}
}

func TestSimulatedFailedCreation(t *testing.T) {
	l := newLab(t)
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
	o.gone(stack.DeleteOptions{})
}

func TestSimulatedCreationSucceedsAtTheSecondAttempt(t *testing.T) {
	l := newLab(t)
	l.faults.Add(fault.Rule{ResourceType: queue, Operation: "Create", Code: "InternalFailure", Message: "oops", Times: 1})
	o := l.object(queueTemplate(1))
	o.is(stack.Ready)
	if !l.through(types.StackStatusRollbackComplete) && !l.through(types.StackStatusDeleteComplete) {
		t.Skipf("the simulator retried by itself: %q", l.passed)
	}
	o.gone(stack.DeleteOptions{})
}

func TestSimulatedFailedRollbackOfACreation(t *testing.T) {
	l := newLab(t)
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
	o.gone(stack.DeleteOptions{})
}

func TestSimulatedHalfMadeStackIsAdoptedAndMadeAnew(t *testing.T) {
	l := newLab(t)
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
	o.gone(stack.DeleteOptions{})
}

func TestSimulatedFailedUpdate(t *testing.T) {
	l := newLab(t)
	o := l.object(queueTemplate(1))
	o.is(stack.Ready)
	remove := l.faults.Add(fault.Rule{ResourceType: queue, Operation: "Update", Code: "InvalidRequest", Message: "DelaySeconds is out of bounds", Times: 1})
	o.edit(queueTemplate(2))
	result := o.is(stack.Stalled)
	remove()
	if !strings.Contains(result.Message, "DelaySeconds is out of bounds") || o.record.Status != "UPDATE_ROLLBACK_COMPLETE" {
		t.Errorf("%s: %s", o.record.Status, result.Message)
	}
	if calls := o.calls(func() { o.is(stack.Stalled) }); len(calls) != 0 {
		t.Errorf("what failed was looked at or sent again: %q", calls)
	}
	o.edit(queueTemplate(1))
	o.is(stack.Ready)
	o.edit(queueTemplate(3))
	o.is(stack.Ready)
	o.gone(stack.DeleteOptions{})
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
		refuses int // how often the first queue refuses to be rolled back
	}{{"is continued", 1}, {"is continued without what refuses", 2}} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t)
			o := l.object(chain(1))
			o.is(stack.Ready)
			l.faults.Add(fault.Rule{ResourceType: queue, Name: "Second", Operation: "Update", Code: "InvalidRequest", Message: "out of bounds", Times: 1})
			l.faults.Add(fault.Rule{ResourceType: queue, Name: "First", Operation: "Update", Code: "InvalidRequest", Message: "not now", Skip: 1, Times: c.refuses})
			o.edit(chain(2))
			result := o.is(stack.Stalled)
			if !l.through(types.StackStatusUpdateRollbackFailed) || o.record.Status != "UPDATE_ROLLBACK_COMPLETE" {
				t.Errorf("the stack is %s after %q", o.record.Status, l.passed)
			}
			if !strings.Contains(result.Message, "Second (AWS::SQS::Queue): Out of bounds.") {
				t.Errorf("message %q, want what failed first", result.Message)
			}
			o.edit(chain(3))
			o.is(stack.Ready)
			o.gone(stack.DeleteOptions{})
		})
	}
}

func TestSimulatedUpdateLeftFailedBySomebodyElse(t *testing.T) {
	l := newLab(t)
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
		t.Errorf("the stack's tags are gone: %+v", got)
	}
	o.gone(stack.DeleteOptions{})
}

func TestSimulatedChangeByHandIsTakenBack(t *testing.T) {
	l := newLab(t)
	o := l.object(queueTemplate(1))
	o.is(stack.Ready)
	if _, err := l.console.UpdateStack(t.Context(), &cloudformation.UpdateStackInput{
		StackName: aws.String("jobs"), TemplateBody: aws.String(queueTemplate(7)),
	}); err != nil {
		t.Fatal(err)
	}
	l.settled(types.StackStatusUpdateComplete)
	o.restart() // nobody saw the event
	if _, err := o.current().Sweep(t.Context(), awsapi.Target{}); err != nil {
		t.Fatal(err)
	}
	o.is(stack.Ready)
	out, err := l.console.GetTemplate(t.Context(), &cloudformation.GetTemplateInput{StackName: aws.String("jobs")})
	if err != nil || aws.ToString(out.TemplateBody) != string(o.desired.Template.JSON()) {
		t.Errorf("deployed %s, error %v", aws.ToString(out.TemplateBody), err)
	}
	o.gone(stack.DeleteOptions{})
}

func TestSimulatedFailedDeletion(t *testing.T) {
	l := newLab(t)
	o := l.object(queueTemplate(1))
	o.is(stack.Ready)
	l.faults.Add(fault.Rule{ResourceType: queue, Operation: "Delete", Code: "InvalidRequest", Message: "still in use", Times: 3})
	o.gone(stack.DeleteOptions{})
	if !l.through(types.StackStatusDeleteFailed) {
		t.Errorf("the stack went through %q", l.passed)
	}
}

func TestSimulatedDeletionRetainsWhatMayStay(t *testing.T) {
	l := newLab(t)
	o := l.object(queueTemplate(1))
	o.is(stack.Ready)
	l.faults.Add(fault.Rule{ResourceType: queue, Operation: "Delete", Code: "InvalidRequest", Message: "never"})
	o.gone(stack.DeleteOptions{Retain: []string{"Queue"}})
}

func TestSimulatedDeletionCleansFirst(t *testing.T) {
	l := newLab(t)
	o := l.object(queueTemplate(1))
	o.is(stack.Ready)
	remove := l.faults.Add(fault.Rule{ResourceType: queue, Operation: "Delete", Code: "InvalidRequest", Message: "not empty"})
	var cleaned []string
	o.gone(stack.DeleteOptions{Clean: func(_ context.Context, failure stack.ResourceFailure) error {
		cleaned = append(cleaned, failure.LogicalID+": "+failure.Reason)
		remove()
		return nil
	}})
	if len(cleaned) == 0 || !strings.Contains(cleaned[0], "Queue: ") || !strings.Contains(cleaned[0], "Not empty.") {
		t.Errorf("cleaned %q", cleaned)
	}
}

func TestSimulatedChangeSetNobodyExecuted(t *testing.T) {
	l := newLab(t)
	o := l.object(queueTemplate(1))
	if _, err := l.console.CreateChangeSet(t.Context(), &cloudformation.CreateChangeSetInput{
		StackName: aws.String("jobs"), ChangeSetName: aws.String("first"), ChangeSetType: types.ChangeSetTypeCreate,
		TemplateBody: aws.String(queueTemplate(1)), Tags: []types.Tag{{Key: aws.String(ownerTag), Value: aws.String("default/jobs")}},
	}); err != nil {
		t.Fatal(err)
	}
	l.settled(types.StackStatusReviewInProgress)
	result := o.is(stack.Stalled) // such a stack shows no tags, so it may be anybody's
	if result.Reason != "StackNameTaken" || !strings.Contains(result.Message, "change set") {
		t.Errorf("%s: %s", result.Reason, result.Message)
	}
}

func TestSimulatedPolicyGuardsData(t *testing.T) {
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
	o := newLab(t).object(keyed("id"))
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
	o.gone(stack.DeleteOptions{})
}

func TestSimulatedDenial(t *testing.T) {
	l := newLab(t)
	remove := l.faults.Add(fault.Rule{Service: "cloudformation", Operation: "CreateStack", Deny: true})
	o := l.object(queueTemplate(1))
	result := o.is(stack.Waiting)
	if result.Reason != "AccessDenied" || !strings.Contains(result.Message, "lacks the permission cloudformation:CreateStack") {
		t.Errorf("%s: %s", result.Reason, result.Message)
	}
	remove()
	o.is(stack.Ready)
}

func TestSimulatedAnswersThatAreLost(t *testing.T) {
	for _, operation := range []string{"CreateStack", "UpdateStack", "DescribeStacks", "DeleteStack"} {
		t.Run(operation, func(t *testing.T) {
			l := newLab(t)
			l.faults.Add(fault.Rule{Service: "cloudformation", Operation: operation, HangUp: true, AfterEffect: true, Times: 1})
			o := l.object(queueTemplate(1))
			o.is(stack.Ready)
			o.edit(queueTemplate(2))
			o.is(stack.Ready)
			o.gone(stack.DeleteOptions{})
		})
	}
}

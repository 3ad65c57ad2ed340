package stack_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/patience"
	simcontrol "github.com/aws-operator/aws-operator/internal/simulator/cloudcontrol"
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

// suite is the engine with a simulated CloudFormation, whose events reach the engine immediately.
type suite struct {
	t       *testing.T
	faults  *fault.Injector
	clients *awsapi.Clients
	console *cloudformation.Client // another client
	sim     *simcfn.Engine
	events  chan stack.Event
	poll    time.Duration

	mu     sync.Mutex
	engine *stack.Engine
	passed []string // statuses of the stack itself, in order
}

func newSuite(t *testing.T) *suite {
	t.Helper()
	return newSuiteWith(t, 3, 2*time.Second)
}

// newSuiteWith sets the number of the SDK's attempts and the engine's poll interval.
func newSuiteWith(t *testing.T, attempts int, poll time.Duration) *suite {
	t.Helper()
	l := &suite{t: t, poll: poll, faults: fault.New(), events: make(chan stack.Event, 10_000)}
	env := &resource.Env{Clock: clock.RealClock{}}
	simulated := simcfn.New(simcfn.Options{Env: env, Faults: l.faults, Publish: l.publish})
	l.sim = simulated
	services := []*wire.Service{simulated.Service(), simcontrol.New(env, simulated).Service()}
	server := httptest.NewServer(wire.NewRouter(services, l.faults, clock.RealClock{}, wire.WithRegion(region)))
	t.Cleanup(server.Close)
	keys := credentials.NewStaticCredentialsProvider("123456789012", "secret", "")
	clients, err := awsapi.New(t.Context(), awsapi.Options{
		Region: region, EndpointURL: server.URL, Credentials: keys, MaxAttempts: attempts,
		Budgets: map[string]awsapi.Budget{awsapi.AnyService: awsapi.Unlimited},
	})
	if err != nil {
		t.Fatal(err)
	}
	l.clients = clients
	l.console = cloudformation.New(cloudformation.Options{Region: region, BaseEndpoint: aws.String(server.URL), Credentials: keys})
	l.restart()
	return l
}

// restart simulates a restart of the operator: the new engine has no state.
func (l *suite) restart() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.engine = stack.New(stack.Options{Clients: l.clients, RetryDelay: time.Millisecond, PollInterval: l.poll})
}

func (l *suite) current() *stack.Engine {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.engine
}

func (l *suite) publish(_ context.Context, _, _, _, detailType string, _ []string, detail any) {
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
	event := stack.Event{StackID: read.StackID, Status: read.Details.Status, Token: read.Token}
	l.current().Observe(event)
	l.mu.Lock()
	l.passed = append(l.passed, event.Status)
	l.mu.Unlock()
	l.events <- event
}

func (l *suite) through(status types.StackStatus) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Contains(l.passed, string(status))
}

// until visits after every event until the state is reached, and returns the last result.
func (l *suite) until(state stack.State, visit func() (stack.Result, error)) stack.Result {
	l.t.Helper()
	deadline := time.NewTimer(patience.Left(l.t))
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
		refresh := time.NewTimer(again)
		select {
		case <-l.events:
		case <-refresh.C:
		case <-deadline.C:
			l.t.Fatalf("never %s: %s, %s: %s; the stack went through %q", state, result.State, result.Reason, result.Message, l.passed)
		}
		refresh.Stop()
	}
}

// object is what a caller keeps.
type object struct {
	*suite
	desired stack.Desired
	record  stack.Record
	outputs map[string]string
}

func (l *suite) object(body string) *object {
	l.t.Helper()
	o := &object{suite: l, desired: stack.Desired{
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

func (o *object) deleted(options stack.DeleteOptions) {
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

// settled waits until an operation that another client started has ended and the engine has its event.
func (l *suite) settled(status types.StackStatus) *types.Stack {
	l.t.Helper()
	var found *types.Stack
	patience.Until(l.t, "the stack to be "+string(status), func() error {
		out, err := l.console.DescribeStacks(l.t.Context(), &cloudformation.DescribeStacksInput{StackName: aws.String("jobs")})
		if err != nil {
			return err
		}
		if found = &out.Stacks[0]; found.StackStatus != status || !l.through(status) {
			return fmt.Errorf("it is %s", found.StackStatus)
		}
		return nil
	})
	return found
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

// calls returns what the engine calls in a run. Repeated calls count once: how often the engine polls depends on the machine here;
// the tests with a fake client hold the exact numbers.
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
	return slices.Compact(made)
}

// begun counts a status. The caller holds the lock.
func (l *suite) begun(status string) int {
	count := 0
	for _, one := range l.passed {
		if one == status {
			count++
		}
	}
	return count
}

// survives runs a visit. If the operator dies in it, the record is lost and the engine restarts.
func (o *object) survives(visit func() (stack.Result, error)) (stack.Result, error) {
	before := o.record
	result, err := visit()
	if err != nil {
		o.record = before
		o.restart()
		return stack.Result{State: stack.Waiting, RequeueAfter: time.Millisecond}, nil //nolint:nilerr // the test kills the operator
	}
	return result, nil
}

func (o *object) settles(state stack.State, visit func() (stack.Result, error)) {
	o.t.Helper()
	o.until(state, func() (stack.Result, error) { return o.survives(visit) })
}

// otherIs waits for a status of the stack named other; "" waits for its deletion.
func (l *suite) otherIs(status types.StackStatus) (stack.Result, error) {
	out, err := l.console.DescribeStacks(l.t.Context(), &cloudformation.DescribeStacksInput{StackName: aws.String("other")})
	if (err != nil && status == "") || (err == nil && out.Stacks[0].StackStatus == status) {
		return stack.Result{State: "done"}, nil
	}
	return stack.Result{RequeueAfter: 10 * time.Millisecond}, nil
}

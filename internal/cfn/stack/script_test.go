package stack

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/smithy-go"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// script is a fake CloudFormation for tests that need full control: they decide when an operation
// ends and in which status, also in those that the simulator cannot reach, and can kill the
// operator at any call. Everything else is tested with the simulator.
type script struct {
	awsapi.StackDrift // nil: drift is tested with the simulator

	mu     sync.Mutex
	clock  *clocktesting.FakePassiveClock
	stacks []*scripted
	tokens map[string]string // of the operations that were executed, by stack ID
	calls  []string
	before func(operation string) error // if set, may refuse a call before it has an effect
	after  func(operation string) error // if set, may lose the answer of a call
	lag    bool                         // DescribeStacks returns the stack from before the last operation

	metrics *Metrics       // of the engines
	made    int            // change sets
	changes []types.Change // the changes that the next change set reports
	slow    bool           // change sets are still being computed
}

// scripted is a stack of the script.
type scripted struct {
	shown, lagging types.Stack
	body           string
	events         []types.StackEvent // newest first
	resources      []types.StackResourceSummary
	skipped        []string
	retained       []string
	sets           []*scriptedSet
	policy         string
}

const owner = "aws-operator/object"

func newScript(t *testing.T) *script {
	t.Helper()
	return &script{clock: clocktesting.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)), tokens: map[string]string{}}
}

// script implements Clients.
func (s *script) CloudFormation(awsapi.Target) awsapi.CloudFormation   { return s }
func (s *script) CloudControl(awsapi.Target) awsapi.CloudControl       { return nil }
func (s *script) S3(awsapi.Target) awsapi.S3                           { return nil }
func (s *script) ObjectURL(_ awsapi.Target, bucket, key string) string { return bucket + "/" + key }
func (s *script) Waiting(awsapi.Target, string) int                    { return 0 }
func (s *script) Region(awsapi.Target) string                          { return "eu-central-1" }
func (s *script) engine() *Engine {
	return New(Options{Clients: s, Clock: s.clock, Metrics: s.metrics})
}

func (s *script) step(by time.Duration) { s.clock.SetTime(s.clock.Now().Add(by)) }
func (s *script) forgetCalls()          { s.calls = nil }
func refuse(code, message string) error { return &smithy.GenericAPIError{Code: code, Message: message} }

func call[O any](s *script, operation string, effect func() (*O, error)) (*O, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, operation)
	if s.before != nil {
		if err := s.before(operation); err != nil {
			return nil, err
		}
	}
	out, err := effect()
	if s.after != nil {
		if lost := s.after(operation); lost != nil {
			return nil, lost
		}
	}
	return out, err
}

// find returns the stack with an ID, or the one with a name that is not deleted.
func (s *script) find(name string) *scripted {
	for _, one := range slices.Backward(s.stacks) {
		if aws.ToString(one.shown.StackId) == name ||
			(aws.ToString(one.shown.StackName) == name && one.shown.StackStatus != "DELETE_COMPLETE") {
			return one
		}
	}
	return nil
}

func (s *script) must(name string) (*scripted, error) {
	if one := s.find(name); one != nil {
		return one, nil
	}
	return nil, refuse("ValidationError", "Stack with id "+name+" does not exist")
}

func (s *script) CreateStack(
	_ context.Context, in *cloudformation.CreateStackInput, _ ...func(*cloudformation.Options),
) (*cloudformation.CreateStackOutput, error) {
	return call(s, "CreateStack", func() (*cloudformation.CreateStackOutput, error) {
		if id, ok := s.tokens[aws.ToString(in.ClientRequestToken)]; ok {
			return &cloudformation.CreateStackOutput{StackId: aws.String(id)}, nil
		}
		if s.find(aws.ToString(in.StackName)) != nil {
			return nil, refuse("AlreadyExistsException", "Stack ["+aws.ToString(in.StackName)+"] already exists")
		}
		id := fmt.Sprintf("arn:aws:cloudformation:eu-central-1:123456789012:stack/%s/%d", aws.ToString(in.StackName), len(s.stacks)+1)
		one := &scripted{shown: types.Stack{
			StackId: aws.String(id), StackName: in.StackName, Parameters: in.Parameters, Tags: in.Tags,
			CreationTime:                aws.Time(s.clock.Now()),
			EnableTerminationProtection: in.EnableTerminationProtection,
		}, body: aws.ToString(in.TemplateBody)}
		s.stacks = append(s.stacks, one)
		s.begin(one, types.StackStatusCreateInProgress, aws.ToString(in.ClientRequestToken))
		return &cloudformation.CreateStackOutput{StackId: aws.String(id)}, nil
	})
}

func (s *script) UpdateStack(
	_ context.Context, in *cloudformation.UpdateStackInput, _ ...func(*cloudformation.Options),
) (*cloudformation.UpdateStackOutput, error) {
	return call(s, "UpdateStack", func() (*cloudformation.UpdateStackOutput, error) {
		one, err := s.must(aws.ToString(in.StackName))
		if err != nil {
			return nil, err
		}
		if _, ok := s.tokens[aws.ToString(in.ClientRequestToken)]; ok {
			return &cloudformation.UpdateStackOutput{StackId: one.shown.StackId}, nil
		}
		if !stable(one.shown.StackStatus) {
			return nil, refuse(
				"ValidationError",
				fmt.Sprintf("Stack:%s is in %s state and can not be updated.", aws.ToString(one.shown.StackId), one.shown.StackStatus),
			)
		}
		if one.body == aws.ToString(in.TemplateBody) && sameTags(one.shown.Tags, in.Tags) {
			return nil, refuse("ValidationError", "No updates are to be performed.")
		}
		s.begin(one, types.StackStatusUpdateInProgress, aws.ToString(in.ClientRequestToken))
		one.obsolete()
		one.body, one.shown.Tags, one.shown.LastUpdatedTime = aws.ToString(in.TemplateBody), in.Tags, aws.Time(s.clock.Now())
		return &cloudformation.UpdateStackOutput{StackId: one.shown.StackId}, nil
	})
}

func sameTags(a, b []types.Tag) bool {
	return slices.EqualFunc(a, b, func(x, y types.Tag) bool { return *x.Key == *y.Key && *x.Value == *y.Value })
}

func (s *script) DeleteStack(
	_ context.Context, in *cloudformation.DeleteStackInput, _ ...func(*cloudformation.Options),
) (*cloudformation.DeleteStackOutput, error) {
	return call(s, "DeleteStack", func() (*cloudformation.DeleteStackOutput, error) {
		one := s.find(aws.ToString(in.StackName))
		if one == nil || one.shown.StackStatus == types.StackStatusDeleteComplete {
			return &cloudformation.DeleteStackOutput{}, nil
		}
		if aws.ToBool(one.shown.EnableTerminationProtection) {
			return nil, refuse(
				"ValidationError", "Stack ["+aws.ToString(one.shown.StackName)+"] cannot be deleted while TerminationProtection is enabled",
			)
		}
		one.retained = in.RetainResources
		s.begin(one, types.StackStatusDeleteInProgress, aws.ToString(in.ClientRequestToken))
		return &cloudformation.DeleteStackOutput{}, nil
	})
}

func (s *script) begin(one *scripted, status types.StackStatus, token string) {
	one.lagging = one.shown
	s.tokens[token] = aws.ToString(one.shown.StackId)
	one.shown.StackStatus = status
	one.events = slices.Insert(one.events, 0, types.StackEvent{
		PhysicalResourceId: one.shown.StackId, LogicalResourceId: one.shown.StackName, ResourceStatus: types.ResourceStatus(status),
		ClientRequestToken: aws.String(token),
	})
}

func (s *script) UpdateTerminationProtection(
	_ context.Context, in *cloudformation.UpdateTerminationProtectionInput, _ ...func(*cloudformation.Options),
) (*cloudformation.UpdateTerminationProtectionOutput, error) {
	return call(s, "UpdateTerminationProtection", func() (*cloudformation.UpdateTerminationProtectionOutput, error) {
		one, err := s.must(aws.ToString(in.StackName))
		if err != nil {
			return nil, err
		}
		one.shown.EnableTerminationProtection = in.EnableTerminationProtection
		return &cloudformation.UpdateTerminationProtectionOutput{}, nil
	})
}

func (s *script) ContinueUpdateRollback(
	_ context.Context, in *cloudformation.ContinueUpdateRollbackInput, _ ...func(*cloudformation.Options),
) (*cloudformation.ContinueUpdateRollbackOutput, error) {
	return call(s, "ContinueUpdateRollback", func() (*cloudformation.ContinueUpdateRollbackOutput, error) {
		one, err := s.must(aws.ToString(in.StackName))
		if err != nil {
			return nil, err
		}
		one.skipped = in.ResourcesToSkip
		s.begin(one, types.StackStatusUpdateRollbackInProgress, aws.ToString(in.ClientRequestToken))
		return &cloudformation.ContinueUpdateRollbackOutput{}, nil
	})
}

func (s *script) RollbackStack(
	_ context.Context, in *cloudformation.RollbackStackInput, _ ...func(*cloudformation.Options),
) (*cloudformation.RollbackStackOutput, error) {
	return call(s, "RollbackStack", func() (*cloudformation.RollbackStackOutput, error) {
		one, err := s.must(aws.ToString(in.StackName))
		if err != nil {
			return nil, err
		}
		s.begin(one, types.StackStatusUpdateRollbackInProgress, aws.ToString(in.ClientRequestToken))
		return &cloudformation.RollbackStackOutput{StackId: one.shown.StackId}, nil
	})
}

func (s *script) DescribeStacks(
	_ context.Context, in *cloudformation.DescribeStacksInput, _ ...func(*cloudformation.Options),
) (*cloudformation.DescribeStacksOutput, error) {
	return call(s, "DescribeStacks", func() (*cloudformation.DescribeStacksOutput, error) {
		out := &cloudformation.DescribeStacksOutput{}
		if in.StackName == nil {
			for _, one := range s.stacks {
				if one.shown.StackStatus != types.StackStatusDeleteComplete {
					out.Stacks = append(out.Stacks, one.shown)
				}
			}
			return out, nil
		}
		one, err := s.must(aws.ToString(in.StackName))
		if err != nil {
			return nil, err
		}
		if s.lag {
			return &cloudformation.DescribeStacksOutput{Stacks: []types.Stack{one.lagging}}, nil
		}
		return &cloudformation.DescribeStacksOutput{Stacks: []types.Stack{one.shown}}, nil
	})
}

func (s *script) DescribeStackEvents(
	_ context.Context, in *cloudformation.DescribeStackEventsInput, _ ...func(*cloudformation.Options),
) (*cloudformation.DescribeStackEventsOutput, error) {
	return call(s, "DescribeStackEvents", func() (*cloudformation.DescribeStackEventsOutput, error) {
		one, err := s.must(aws.ToString(in.StackName))
		if err != nil {
			return nil, err
		}
		return &cloudformation.DescribeStackEventsOutput{StackEvents: one.events}, nil
	})
}

func (s *script) ListStackResources(
	_ context.Context, in *cloudformation.ListStackResourcesInput, _ ...func(*cloudformation.Options),
) (*cloudformation.ListStackResourcesOutput, error) {
	return call(s, "ListStackResources", func() (*cloudformation.ListStackResourcesOutput, error) {
		one, err := s.must(aws.ToString(in.StackName))
		if err != nil {
			return nil, err
		}
		return &cloudformation.ListStackResourcesOutput{StackResourceSummaries: one.resources}, nil
	})
}

func (s *script) GetTemplate(
	_ context.Context, in *cloudformation.GetTemplateInput, _ ...func(*cloudformation.Options),
) (*cloudformation.GetTemplateOutput, error) {
	return call(s, "GetTemplate", func() (*cloudformation.GetTemplateOutput, error) {
		one, err := s.must(aws.ToString(in.StackName))
		if err != nil {
			return nil, err
		}
		return &cloudformation.GetTemplateOutput{TemplateBody: aws.String(one.body)}, nil
	})
}

// end ends the running operation of the newest stack in a status, with the failure of a resource if
// a reason is given.
func (s *script) end(status types.StackStatus, reason string) Event {
	one := s.stacks[len(s.stacks)-1]
	if reason != "" {
		verb, _, _ := strings.Cut(string(one.shown.StackStatus), "_")
		failed := types.ResourceStatus(verb + "_FAILED")
		one.events = slices.Insert(one.events, 0, types.StackEvent{
			LogicalResourceId: aws.String("Queue"), PhysicalResourceId: aws.String("jobs"), ResourceType: aws.String("AWS::SQS::Queue"),
			ResourceStatus: failed, ResourceStatusReason: aws.String(reason), ClientRequestToken: one.events[0].ClientRequestToken,
		})
		one.resources = []types.StackResourceSummary{{
			LogicalResourceId: aws.String("Queue"), PhysicalResourceId: aws.String("jobs"), ResourceType: aws.String("AWS::SQS::Queue"),
			ResourceStatus: failed, ResourceStatusReason: aws.String(reason),
		}}
	}
	one.shown.StackStatus = status
	one.shown.Outputs = []types.Output{{OutputKey: aws.String("body"), OutputValue: aws.String(fmt.Sprint(len(one.body)))}}
	return Event{StackID: aws.ToString(one.shown.StackId), Status: string(status), Token: aws.ToString(one.events[0].ClientRequestToken)}
}

// desire returns a stack with one queue.
func desire(t *testing.T, delaySeconds int) Desired {
	t.Helper()
	parsed, err := template.Parse("queue.yaml", fmt.Appendf(nil, `
Resources:
  Queue:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: jobs
      DelaySeconds: %d
Outputs:
  url:
    Value: !Ref Queue
`, delaySeconds))
	if err != nil {
		t.Fatal(err)
	}
	return Desired{Name: "jobs", Template: parsed, Tags: map[string]string{owner: "default/jobs"}}
}

// queueNamed returns a template with one queue. Changing the name replaces the queue.
func queueNamed(t *testing.T, name string) *template.Template {
	t.Helper()
	parsed, err := template.Parse(
		"queue.yaml", fmt.Appendf(nil, "Resources:\n  Queue:\n    Type: AWS::SQS::Queue\n    Properties:\n      QueueName: %s\n", name),
	)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// ensured calls Ensure and checks the resulting state and the calls.
func ensured(t *testing.T, s *script, e *Engine, desired Desired, record Record, state State, calls ...string) Result {
	t.Helper()
	s.forgetCalls()
	result, err := e.Ensure(t.Context(), awsapi.Target{}, desired, record)
	check(t, s, result, err, state, calls)
	return result
}

// deletedBy calls Delete and checks the resulting state and the calls.
func deletedBy(t *testing.T, s *script, e *Engine, record Record, options DeleteOptions, state State, calls ...string) Result {
	t.Helper()
	s.forgetCalls()
	if options.OwnerTags == nil {
		options.OwnerTags = map[string]string{owner: "default/jobs"}
	}
	result, err := e.Delete(t.Context(), awsapi.Target{}, "jobs", record, options)
	check(t, s, result, err, state, calls)
	return result
}

func check(t *testing.T, s *script, result Result, err error, state State, calls []string) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
	if result.State != state {
		t.Fatalf("state %s (%s: %s), want %s; calls %q", result.State, result.Reason, result.Message, state, s.calls)
	}
	if !slices.Equal(s.calls, calls) {
		t.Fatalf("calls %q, want %q", s.calls, calls)
	}
}

// made creates a stack, and returns the engine and the record.
func made(t *testing.T, s *script) (*Engine, Record) {
	t.Helper()
	e := s.engine()
	record := ensured(t, s, e, desire(t, 1), Record{}, InProgress, "CreateStack").Record
	e.Observe(s.end(types.StackStatusCreateComplete, ""))
	record = ensured(t, s, e, desire(t, 1), record, Ready, "DescribeStacks").Record
	s.step(time.Minute)
	return e, record
}

func alive(s *script) []string {
	found := map[string]bool{}
	for _, one := range s.stacks {
		if one.shown.StackStatus != types.StackStatusDeleteComplete {
			found[aws.ToString(one.shown.StackName)+" "+string(one.shown.StackStatus)] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

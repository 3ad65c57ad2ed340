package awsevents

import (
	"context"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

// station is a listener on a simulated queue, with a stack engine that only records the events.
type station struct {
	t        *testing.T
	client   *sqs.Client
	queue    string
	listener *Listener
	registry *prometheus.Registry
	received chan Event

	mu       sync.Mutex
	observed []stack.Event
	sweeps   []stack.Event
	made     int
}

func (s *station) Ensure(ctx context.Context, _ awsapi.Target, desired stack.Desired, _ stack.Record) (stack.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made++
	if err := s.makeQueue(ctx, desired.Name); err != nil {
		return stack.Result{}, err
	}
	return stack.Result{State: stack.Ready, Outputs: map[string]string{queueOutput: s.queue}}, nil
}

func (s *station) Sweep(context.Context, awsapi.Target) ([]stack.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.sweeps
	s.sweeps = nil
	return found, nil
}

func (s *station) Forget(awsapi.Target) {}

func (s *station) Observe(event stack.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.observed = append(s.observed, event)
}

func (s *station) makeQueue(ctx context.Context, name string) error {
	out, err := s.client.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String(name)})
	if err == nil {
		s.queue = aws.ToString(out.QueueUrl)
	}
	return err
}

func (s *station) url() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queue
}

func newStation(t *testing.T, sweeps ...stack.Event) *station {
	t.Helper()
	_, endpoint := simulatortest.Start(t, simulator.Options{Region: "eu-central-1"})
	keys := credentials.NewStaticCredentialsProvider("123456789012", "secret", "")
	clients, err := awsapi.New(t.Context(), awsapi.Options{Region: "eu-central-1", EndpointURL: endpoint, Credentials: keys})
	if err != nil {
		t.Fatal(err)
	}
	s := &station{
		t: t, registry: prometheus.NewRegistry(), received: make(chan Event, 100), sweeps: sweeps,
		client: sqs.New(sqs.Options{Region: "eu-central-1", BaseEndpoint: aws.String(endpoint), Credentials: keys}),
	}
	if err := s.makeQueue(t.Context(), StackName("")); err != nil {
		t.Fatal(err)
	}
	s.listener = New(Options{Clients: clients, Engine: s, Registerer: s.registry, Workers: 2})
	s.listener.Subscribe(func(event Event) { s.received <- event })
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.listener.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *station) send(bodies ...string) {
	s.t.Helper()
	for _, body := range bodies {
		if _, err := s.client.SendMessage(s.t.Context(), &sqs.SendMessageInput{
			QueueUrl: aws.String(s.url()), MessageBody: aws.String(body),
		}); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *station) next() Event {
	s.t.Helper()
	return patience.Receive(s.t, "an event", s.received)
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	patience.UntilTrue(t, what, condition)
}

func (s *station) count(result string) float64 {
	return testutil.ToFloat64(s.listener.metrics.events.WithLabelValues(result))
}

func TestListenerPassesEventsOn(t *testing.T) {
	s := newStation(t)
	s.send("hello", resourceEvent, stackEvent, stackEvent)
	stacks := 0
	for range 2 {
		if event := s.next(); event.Stack != nil {
			stacks++
			if event.Stack.StackID != stackID || event.Account != "111122223333" || len(event.Raw) == 0 {
				t.Errorf("event %+v", event)
			}
		}
	}
	if stacks != 1 {
		t.Errorf("%d events of stacks, want one: the other is a resource's", stacks)
	}
	eventually(
		t,
		"the duplicate and the malformed message are counted",
		func() bool { return s.count("duplicate") == 1 && s.count("malformed") == 1 },
	)
	s.mu.Lock()
	if len(s.observed) != 1 || s.observed[0].StackID != stackID {
		t.Errorf("the engine observed %+v, want the stack's own event only", s.observed)
	}
	s.mu.Unlock()
	eventually(t, "all messages are deleted from the queue", func() bool {
		out, err := s.client.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
			QueueUrl: aws.String(s.url()),
			AttributeNames: []types.QueueAttributeName{
				types.QueueAttributeNameApproximateNumberOfMessages,
				types.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
			},
		})
		return err == nil && out.Attributes["ApproximateNumberOfMessages"] == "0" &&
			out.Attributes["ApproximateNumberOfMessagesNotVisible"] == "0"
	})
}

func TestListenerSweepsAtStart(t *testing.T) {
	s := newStation(t, stack.Event{StackID: stackID, Status: "DELETE_COMPLETE"})
	event := s.next()
	if event.Stack == nil || event.Stack.StackID != stackID || event.Account != "111122223333" || event.Region != "us-west-1" {
		t.Errorf("event %+v, want what the sweep found", event)
	}
}

func TestListenerRecreatesItsQueue(t *testing.T) {
	s := newStation(t)
	s.send(stackEvent)
	s.next()
	if _, err := s.client.DeleteQueue(t.Context(), &sqs.DeleteQueueInput{QueueUrl: aws.String(s.url())}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the stack is ensured again", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.made > 1
	})
	s.send(resourceEvent)
	s.next()
}

func TestListenerRequiresItsOptions(t *testing.T) {
	if err := New(Options{}).Start(t.Context()); err == nil {
		t.Error("a listener without clients started")
	}
}

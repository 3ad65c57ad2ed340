package awsevents_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/awsevents"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

const region = "eu-central-1"

// cloud is the simulator and another client of it.
type cloud struct {
	clients *awsapi.Clients
	console *cloudformation.Client
}

func newCloud(t *testing.T) *cloud {
	t.Helper()
	c := &cloud{}
	_, endpoint := simulatortest.Start(t, simulator.Options{Region: region, Latency: func(_, operation string) time.Duration {
		if operation == "Delete" {
			return 200 * time.Millisecond // a poller that just stopped has left its queue by then
		}
		return 0
	}})
	keys := credentials.NewStaticCredentialsProvider("123456789012", "secret", "")
	clients, err := awsapi.New(t.Context(), awsapi.Options{
		Region: region, EndpointURL: endpoint, Credentials: keys, Budgets: map[string]awsapi.Budget{awsapi.AnyService: awsapi.Unlimited},
	})
	if err != nil {
		t.Fatal(err)
	}
	c.clients = clients
	c.console = cloudformation.New(cloudformation.Options{Region: region, BaseEndpoint: aws.String(endpoint), Credentials: keys})
	return c
}

// operator is an engine and its listener.
type operator struct {
	t        *testing.T
	engine   *stack.Engine
	received chan awsevents.Event
	stop     func()
}

func (c *cloud) operator(t *testing.T, clusterName string) *operator {
	t.Helper()
	o := &operator{t: t, received: make(chan awsevents.Event, 1000)}
	o.engine = stack.New(stack.Options{Clients: c.clients, PollInterval: time.Hour}) // so that only events count
	listener := awsevents.New(awsevents.Options{Clients: c.clients, Engine: o.engine, ClusterName: clusterName, SweepInterval: time.Hour})
	listener.Subscribe(func(event awsevents.Event) { o.received <- event })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- listener.Start(ctx) }()
	o.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(o.stop)
	return o
}

// hears waits for an event of a stack.
func (o *operator) hears(name, status string) awsevents.Event {
	o.t.Helper()
	for {
		event := patience.Receive(o.t, "an event that "+name+" is "+status, o.received)
		if event.Stack != nil && event.Stack.StackName == name && event.Stack.Status == status {
			return event
		}
	}
}

func topic(t *testing.T, display string) stack.Desired {
	t.Helper()
	parsed, err := template.Parse(
		"topic.yaml", []byte("Resources:\n  Topic:\n    Type: AWS::SNS::Topic\n    Properties:\n      DisplayName: "+display+"\n"),
	)
	if err != nil {
		t.Fatal(err)
	}
	return stack.Desired{Name: "news", Template: parsed, Tags: map[string]string{"aws-operator/object": "default/news"}}
}

// ensure reconciles a stack until it has a state. DescribeStacks may be out of date when an event has
// already arrived; the engine then asks again soon. Instead of InProgress, the stack may be Ready: if
// the answer to its creation was lost, the engine finds it when it sends the request again.
func (o *operator) ensure(desired stack.Desired, record stack.Record, want stack.State) stack.Record {
	o.t.Helper()
	patience.Until(o.t, "the stack is "+string(want), func() error {
		result, err := o.engine.Ensure(o.t.Context(), awsapi.Target{}, desired, record)
		if err != nil {
			o.t.Fatal(err)
		}
		record = result.Record
		switch {
		case result.State == want, want == stack.InProgress && result.State == stack.Ready:
			return nil
		case result.State != stack.InProgress:
			o.t.Fatalf("%s: %s: %s, want %s", result.State, result.Reason, result.Message, want)
		}
		return fmt.Errorf("%s: %s", result.State, result.Message)
	})
	return record
}

// settled waits until the console reads a status.
func (c *cloud) settled(t *testing.T, name string, status types.StackStatus) *types.Stack {
	t.Helper()
	var found *types.Stack
	patience.Until(t, "stack "+name+" to be "+string(status), func() error {
		out, err := c.console.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: aws.String(name)})
		if err != nil {
			return err
		}
		if found = &out.Stacks[0]; found.StackStatus != status {
			return fmt.Errorf("it is %s", found.StackStatus)
		}
		return nil
	})
	return found
}

func TestEventsArriveThroughTheOperatorsOwnStack(t *testing.T) {
	c := newCloud(t)
	o := c.operator(t, "")
	own := c.settled(t, "aws-operator-events", types.StackStatusCreateComplete)
	if len(own.Outputs) != 1 {
		t.Errorf("outputs %+v, want the queue's URL", own.Outputs)
	}
	record := o.ensure(topic(t, "one"), stack.Record{}, stack.InProgress)
	o.hears("news", "CREATE_COMPLETE")
	record = o.ensure(topic(t, "one"), record, stack.Ready)
	record = o.ensure(topic(t, "two"), record, stack.InProgress)
	o.hears("news", "UPDATE_COMPLETE")
	o.ensure(topic(t, "two"), record, stack.Ready)
}

func TestNextOperatorAdoptsTheStackAndSweeps(t *testing.T) {
	c := newCloud(t)
	first := c.operator(t, "")
	c.settled(t, "aws-operator-events", types.StackStatusCreateComplete)
	record := first.ensure(topic(t, "one"), stack.Record{}, stack.InProgress)
	first.hears("news", "CREATE_COMPLETE")
	record = first.ensure(topic(t, "one"), record, stack.Ready)
	first.stop()

	if _, err := c.console.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: aws.String(record.StackID)}); err != nil {
		t.Fatal(err)
	}
	c.settled(t, record.StackID, types.StackStatusDeleteComplete)

	second := c.operator(t, "")
	second.hears("news", "DELETE_COMPLETE") // it waited in the queue meanwhile
	second.ensure(topic(t, "one"), record, stack.InProgress)
	second.hears("news", "CREATE_COMPLETE")

	out, err := c.console.DescribeStackEvents(
		t.Context(), &cloudformation.DescribeStackEventsInput{StackName: aws.String("aws-operator-events")},
	)
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(
		out.StackEvents, func(e types.StackEvent) bool { return e.ResourceStatus == types.ResourceStatusUpdateInProgress },
	) {
		t.Error("taking over updated the events' stack")
	}
}

func TestTwoOperatorsDoNotReceiveEachOthersEvents(t *testing.T) {
	c := newCloud(t)
	blue, green := c.operator(t, "blue"), c.operator(t, "green")
	c.settled(t, "aws-operator-events-blue", types.StackStatusCreateComplete)
	c.settled(t, "aws-operator-events-green", types.StackStatusCreateComplete)
	blue.ensure(topic(t, "one"), stack.Record{}, stack.InProgress)
	blue.hears("news", "CREATE_COMPLETE")
	green.hears("news", "CREATE_COMPLETE")
}

package sns_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssns "github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	testclock "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/sns"
	"github.com/aws-operator/aws-operator/internal/simulator/sqs"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

type rig struct {
	*awssns.Client

	t       *testing.T
	sqs     *awssqs.Client
	service *sns.Service
	clock   *testclock.FakeClock
	url     string
}

func start(t *testing.T) *rig {
	t.Helper()
	clk := testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	env := &resource.Env{Clock: clk}
	queues := sqs.New(env)
	var url string
	service := sns.New(env, queues, func() string { return url })
	config := wiretest.Serve(t, wire.NewRouter([]*wire.Service{service.Service(), queues.Service()}, nil, clk))
	url = *config.BaseEndpoint
	return &rig{Client: awssns.NewFromConfig(config), sqs: awssqs.NewFromConfig(config), t: t, service: service, clock: clk, url: url}
}

func (r *rig) topic(name string, attributes map[string]string) *string {
	r.t.Helper()
	out, err := r.CreateTopic(r.t.Context(), &awssns.CreateTopicInput{Name: &name, Attributes: attributes})
	if err != nil {
		r.t.Fatal(err)
	}
	return out.TopicArn
}

// queue creates a queue and returns its URL and ARN.
func (r *rig) queue(name string, attributes map[string]string) (url, arn *string) {
	r.t.Helper()
	out, err := r.sqs.CreateQueue(r.t.Context(), &awssqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err != nil {
		r.t.Fatal(err)
	}
	return out.QueueUrl, aws.String("arn:aws:sqs:eu-central-1:123456789012:" + name)
}

func (r *rig) subscribe(topic *string, protocol string, endpoint *string, attributes map[string]string) *string {
	r.t.Helper()
	out, err := r.Subscribe(r.t.Context(), &awssns.SubscribeInput{
		TopicArn: topic, Protocol: &protocol, Endpoint: endpoint, Attributes: attributes, ReturnSubscriptionArn: true,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return out.SubscriptionArn
}

func (r *rig) publish(in awssns.PublishInput) *awssns.PublishOutput {
	r.t.Helper()
	out, err := r.Publish(r.t.Context(), &in)
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

func (r *rig) bodies(queue *string) []string {
	r.t.Helper()
	out, err := r.sqs.ReceiveMessage(
		r.t.Context(), &awssqs.ReceiveMessageInput{QueueUrl: queue, MaxNumberOfMessages: 10, MessageAttributeNames: []string{"All"}},
	)
	if err != nil {
		r.t.Fatal(err)
	}
	var all []string
	for _, m := range out.Messages {
		all = append(all, *m.Body)
	}
	return all
}

// https://docs.aws.amazon.com/sns/latest/dg/sns-message-and-json-formats.html
func TestDeliveryToQueues(t *testing.T) {
	r := start(t)
	topic := r.topic("t", nil)
	wrapped, wrappedARN := r.queue("wrapped", nil)
	raw, rawARN := r.queue("raw", nil)
	r.subscribe(topic, "sqs", wrappedARN, nil)
	r.subscribe(topic, "sqs", rawARN, map[string]string{"RawMessageDelivery": "true"})
	out := r.publish(awssns.PublishInput{
		TopicArn: topic, Message: aws.String("<hello>"), Subject: aws.String("s"),
		MessageAttributes: map[string]types.MessageAttributeValue{"k": {DataType: aws.String("String"), StringValue: aws.String("v")}},
	})
	if got := r.bodies(raw); len(got) != 1 || got[0] != "<hello>" {
		t.Errorf("raw: %q", got)
	}
	got := r.bodies(wrapped)
	if len(got) != 1 {
		t.Fatalf("wrapped: %q", got)
	}
	var e map[string]any
	if err := json.Unmarshal([]byte(got[0]), &e); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"Type": "Notification", "MessageId": *out.MessageId, "TopicArn": *topic, "Subject": "s", "Message": "<hello>",
		"Timestamp": "2026-01-01T00:00:00.000Z",
	} {
		if e[name] != want {
			t.Errorf("%s is %v, want %v", name, e[name], want)
		}
	}
	if a, _ := e["MessageAttributes"].(map[string]any); a["k"] == nil {
		t.Errorf("attributes: %v", e["MessageAttributes"])
	}
}

// https://docs.aws.amazon.com/sns/latest/dg/sns-message-filtering.html
func TestFilterPolicies(t *testing.T) {
	r := start(t)
	topic := r.topic("t", nil)
	byAttribute, a := r.queue("a", nil)
	byBody, b := r.queue("b", nil)
	r.subscribe(topic, "sqs", a, map[string]string{"FilterPolicy": `{"n":[{"numeric":[">",5]}]}`, "RawMessageDelivery": "true"})
	r.subscribe(
		topic,
		"sqs",
		b,
		map[string]string{"FilterPolicyScope": "MessageBody", "FilterPolicy": `{"x":{"y":["z"]}}`, "RawMessageDelivery": "true"},
	)
	number := func(n string) map[string]types.MessageAttributeValue {
		return map[string]types.MessageAttributeValue{"n": {DataType: aws.String("Number"), StringValue: &n}}
	}
	r.publish(awssns.PublishInput{TopicArn: topic, Message: aws.String("six"), MessageAttributes: number("6")})
	r.publish(awssns.PublishInput{TopicArn: topic, Message: aws.String("five"), MessageAttributes: number("5")})
	r.publish(awssns.PublishInput{TopicArn: topic, Message: aws.String(`{"x":{"y":"z"}}`)})
	if got := strings.Join(r.bodies(byAttribute), ","); got != "six" {
		t.Errorf("by attribute: %s", got)
	}
	if got := strings.Join(r.bodies(byBody), ","); got != `{"x":{"y":"z"}}` {
		t.Errorf("by body: %s", got)
	}
}

func TestFIFOTopics(t *testing.T) {
	r := start(t)
	topic := r.topic("t.fifo", map[string]string{"FifoTopic": "true", "ContentBasedDeduplication": "true"})
	url, arn := r.queue("q.fifo", map[string]string{"FifoQueue": "true"})
	r.subscribe(topic, "sqs", arn, map[string]string{"RawMessageDelivery": "true"})
	first := r.publish(awssns.PublishInput{TopicArn: topic, Message: aws.String("1"), MessageGroupId: aws.String("g")})
	again := r.publish(awssns.PublishInput{TopicArn: topic, Message: aws.String("1"), MessageGroupId: aws.String("g")})
	if *first.MessageId != *again.MessageId {
		t.Error("the same content within five minutes is the same message")
	}
	if got := r.bodies(url); len(got) != 1 {
		t.Errorf("delivered %q", got)
	}
}

func TestPendingSubscriptionIsConfirmedWithToken(t *testing.T) {
	r := start(t)
	topic := r.topic("t", nil)
	out, err := r.Subscribe(
		t.Context(), &awssns.SubscribeInput{TopicArn: topic, Protocol: aws.String("email"), Endpoint: aws.String("a@example.com")},
	)
	if err != nil || *out.SubscriptionArn != "pending confirmation" {
		t.Fatalf("subscribe: %+v %v", out, err)
	}
	arn := r.subscribe(topic, "email", aws.String("a@example.com"), nil)
	token, ok := r.service.Token(*arn)
	if !ok {
		t.Fatal("no token")
	}
	list, err := r.ListSubscriptionsByTopic(t.Context(), &awssns.ListSubscriptionsByTopicInput{TopicArn: topic})
	if err != nil || len(list.Subscriptions) != 1 || *list.Subscriptions[0].SubscriptionArn != "PendingConfirmation" {
		t.Errorf("list: %+v %v", list, err)
	}
	if _, err := r.ConfirmSubscription(t.Context(), &awssns.ConfirmSubscriptionInput{
		TopicArn: topic, Token: aws.String("wrong"),
	}); err == nil {
		t.Error("a wrong token was taken")
	}
	confirmed, err := r.ConfirmSubscription(t.Context(), &awssns.ConfirmSubscriptionInput{TopicArn: topic, Token: &token})
	if err != nil || *confirmed.SubscriptionArn != *arn {
		t.Errorf("confirm: %+v %v", confirmed, err)
	}
	attributes, err := r.GetSubscriptionAttributes(t.Context(), &awssns.GetSubscriptionAttributesInput{SubscriptionArn: arn})
	if err != nil || attributes.Attributes["PendingConfirmation"] != "false" {
		t.Errorf("attributes: %+v %v", attributes, err)
	}
}

func TestLoopbackEndpointIsConfirmedAndNotified(t *testing.T) {
	r := start(t)
	topic := r.topic("t", nil)
	got := make(chan map[string]any, 2)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		var e map[string]any
		if json.Unmarshal(body, &e) == nil {
			got <- e
		}
	}))
	defer receiver.Close()
	r.subscribe(topic, "http", &receiver.URL, nil)
	ask := <-got
	link, _ := ask["SubscribeURL"].(string)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("visiting the link: %v %v", resp, err)
	}
	resp.Body.Close()
	r.publish(awssns.PublishInput{TopicArn: topic, Message: aws.String("m")})
	if e := <-got; e["Type"] != "Notification" || e["Message"] != "m" {
		t.Errorf("got %v", e)
	}
}

// https://docs.aws.amazon.com/sns/latest/api/API_Subscribe.html
func TestRefusals(t *testing.T) {
	r := start(t)
	topic := r.topic("t", nil)
	subscribe := func(protocol, endpoint string, attributes map[string]string) func() error {
		return func() error {
			_, err := r.Subscribe(
				t.Context(), &awssns.SubscribeInput{TopicArn: topic, Protocol: &protocol, Endpoint: &endpoint, Attributes: attributes},
			)
			return err
		}
	}
	queue := "arn:aws:sqs:eu-central-1:123456789012:q"
	tests := []struct {
		name, code string
		call       func() error
	}{
		{"topic name with a blank", "InvalidParameter", func() error {
			_, err := r.CreateTopic(t.Context(), &awssns.CreateTopicInput{Name: aws.String("a b")})
			return err
		}},
		{"FIFO topic without its suffix", "InvalidParameter", func() error {
			_, err := r.CreateTopic(
				t.Context(), &awssns.CreateTopicInput{Name: aws.String("x"), Attributes: map[string]string{"FifoTopic": "true"}},
			)
			return err
		}},
		{"same topic with another attribute", "InvalidParameter", func() error {
			_, err := r.CreateTopic(
				t.Context(), &awssns.CreateTopicInput{Name: aws.String("t"), Attributes: map[string]string{"DisplayName": "other"}},
			)
			return err
		}},
		{"topic that is not there", "NotFound", func() error {
			_, err := r.Publish(t.Context(), &awssns.PublishInput{TopicArn: aws.String(*topic + "x"), Message: aws.String("m")})
			return err
		}},
		{"protocol that is not there", "InvalidParameter", subscribe("pigeon", "x", nil)},
		{"queue by its name", "InvalidParameter", subscribe("sqs", "q", nil)},
		{"FIFO queue on a standard topic", "InvalidParameter", subscribe("sqs", queue+".fifo", nil)},
		{"https address for http", "InvalidParameter", subscribe("http", "https://x", nil)},
		{"filter policy that is none", "InvalidParameter", subscribe("sqs", queue, map[string]string{"FilterPolicy": `{"a":"b"}`})},
		{"message over 256 KiB", "InvalidParameter", func() error {
			_, err := r.Publish(t.Context(), &awssns.PublishInput{TopicArn: topic, Message: aws.String(strings.Repeat("x", 256<<10+1))})
			return err
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { wiretest.WantCode(t, tt.call(), tt.code) })
	}
}

func TestDeletingTopicDeletesSubscriptions(t *testing.T) {
	r := start(t)
	topic := r.topic("t", nil)
	_, arn := r.queue("q", nil)
	sub := r.subscribe(topic, "sqs", arn, nil)
	for range 2 { // deleting a deleted topic succeeds
		if _, err := r.DeleteTopic(t.Context(), &awssns.DeleteTopicInput{TopicArn: topic}); err != nil {
			t.Fatal(err)
		}
	}
	_, err := r.GetSubscriptionAttributes(t.Context(), &awssns.GetSubscriptionAttributesInput{SubscriptionArn: sub})
	if _, ok := errors.AsType[*types.NotFoundException](err); !ok {
		t.Errorf("got %v", err)
	}
}

func TestCloudFormationTypes(t *testing.T) {
	r := start(t)
	providers := r.service.Providers()
	request := resource.Request{
		Account: "123456789012", Region: "eu-central-1", StackName: "s", LogicalID: "Topic",
		Properties: map[string]any{"DisplayName": "d", "Tags": []any{map[string]any{"Key": "k", "Value": "v"}}},
		Tags:       map[string]string{"aws:cloudformation:stack-name": "s"},
	}
	made, err := providers["AWS::SNS::Topic"].Create(t.Context(), request)
	if err != nil || !strings.HasPrefix(made.PhysicalID, "arn:aws:sns:eu-central-1:123456789012:s-Topic-") {
		t.Fatalf("topic: %+v %v", made, err)
	}
	_, queue := r.queue("q", nil)
	sub, err := providers["AWS::SNS::Subscription"].Create(t.Context(), resource.Request{
		Account: "123456789012", Region: "eu-central-1",
		Properties: map[string]any{
			"TopicArn":           made.PhysicalID,
			"Protocol":           "sqs",
			"Endpoint":           *queue,
			"RawMessageDelivery": true,
			"FilterPolicy":       map[string]any{"a": []any{"b"}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	live, err := providers["AWS::SNS::Subscription"].Read(t.Context(), resource.Request{PhysicalID: sub.PhysicalID})
	if err != nil || live["RawMessageDelivery"] != true || live["Protocol"] != "sqs" {
		t.Errorf("subscription: %v %v", live, err)
	}
	request.PhysicalID = made.PhysicalID
	if err := providers["AWS::SNS::Topic"].Delete(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	var gone *resource.Error
	if err := providers["AWS::SNS::Topic"].Delete(t.Context(), request); !errors.As(err, &gone) || gone.Code != resource.NotFound {
		t.Errorf("deleting it again: %v", err)
	}
}

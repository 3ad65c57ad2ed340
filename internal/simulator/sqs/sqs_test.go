package sqs_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	testclock "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/sqs"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

type rig struct {
	*awssqs.Client

	t       *testing.T
	service *sqs.Service
	clock   *testclock.FakeClock
	url     string
}

func start(t *testing.T, options ...sqs.Option) *rig {
	t.Helper()
	clk := testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	service := sqs.New(&resource.Env{Clock: clk}, options...)
	config := wiretest.Serve(t, wire.NewRouter([]*wire.Service{service.Service()}, nil, clk))
	return &rig{Client: awssqs.NewFromConfig(config), t: t, service: service, clock: clk, url: *config.BaseEndpoint}
}

func (r *rig) queue(name string, attributes map[string]string) *string {
	r.t.Helper()
	out, err := r.CreateQueue(r.t.Context(), &awssqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err != nil {
		r.t.Fatal(err)
	}
	return out.QueueUrl
}

func (r *rig) send(in awssqs.SendMessageInput) *awssqs.SendMessageOutput {
	r.t.Helper()
	out, err := r.SendMessage(r.t.Context(), &in)
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

func (r *rig) receive(queue *string) []types.Message {
	r.t.Helper()
	out, err := r.ReceiveMessage(r.t.Context(), &awssqs.ReceiveMessageInput{
		QueueUrl: queue, MaxNumberOfMessages: 10, MessageAttributeNames: []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return out.Messages
}

func bodies(messages []types.Message) string {
	var all []string
	for _, m := range messages {
		all = append(all, *m.Body)
	}
	return strings.Join(all, ",")
}

// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_DeleteQueue.html
func TestNameOfADeletedQueueIsReleasedLater(t *testing.T) {
	r := start(t, sqs.WithNameRelease(time.Minute))
	create := func() error {
		_, err := r.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: aws.String("q")})
		return err
	}
	if _, err := r.DeleteQueue(t.Context(), &awssqs.DeleteQueueInput{QueueUrl: r.queue("q", nil)}); err != nil {
		t.Fatal(err)
	}
	r.clock.Step(time.Minute - time.Second)
	wiretest.WantCode(t, create(), "AWS.SimpleQueueService.QueueDeletedRecently")
	r.queue("another", nil)
	r.clock.Step(time.Second)
	if err := create(); err != nil {
		t.Error(err)
	}
}

func TestQueueLifeCycle(t *testing.T) {
	r := start(t)
	u := r.queue("q", map[string]string{"VisibilityTimeout": "5"})
	if want := r.url + "/123456789012/q"; *u != want {
		t.Errorf("URL %s, want %s", *u, want)
	}
	if again := r.queue("q", map[string]string{"VisibilityTimeout": "5"}); *again != *u {
		t.Error("creating it again with the same attributes must return it")
	}
	_, err := r.CreateQueue(
		t.Context(), &awssqs.CreateQueueInput{QueueName: aws.String("q"), Attributes: map[string]string{"VisibilityTimeout": "6"}},
	)
	if _, ok := errors.AsType[*types.QueueNameExists](err); !ok {
		t.Errorf("other attributes: %v", err)
	}
	attributes, err := r.GetQueueAttributes(
		t.Context(), &awssqs.GetQueueAttributesInput{QueueUrl: u, AttributeNames: []types.QueueAttributeName{"All"}},
	)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"QueueArn": "arn:aws:sqs:eu-central-1:123456789012:q", "VisibilityTimeout": "5",
		"MessageRetentionPeriod": "345600", "SqsManagedSseEnabled": "true", "ApproximateNumberOfMessages": "0",
	} {
		if got := attributes.Attributes[name]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if _, err := r.DeleteQueue(t.Context(), &awssqs.DeleteQueueInput{QueueUrl: u}); err != nil {
		t.Fatal(err)
	}
	_, err = r.GetQueueUrl(t.Context(), &awssqs.GetQueueUrlInput{QueueName: aws.String("q")})
	if _, ok := errors.AsType[*types.QueueDoesNotExist](err); !ok {
		t.Errorf("after deletion: %v", err)
	}
}

// AWS documents limits and messages:
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_CreateQueue.html
func TestRefusals(t *testing.T) {
	r := start(t)
	u := r.queue("q", nil)
	fifo := r.queue("f.fifo", map[string]string{"FifoQueue": "true"})
	create := func(name string, attributes map[string]string) func() error {
		return func() error {
			_, err := r.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
			return err
		}
	}
	send := func(in awssqs.SendMessageInput) func() error {
		return func() error { _, err := r.SendMessage(t.Context(), &in); return err }
	}
	tests := []struct {
		name, code string
		call       func() error
	}{
		{"name with a blank", "InvalidParameterValue", create("a b", nil)},
		{"name over 80 characters", "InvalidParameterValue", create(strings.Repeat("x", 81), nil)},
		{"FIFO queue without its suffix", "InvalidParameterValue", create("x", map[string]string{"FifoQueue": "true"})},
		{"suffix without FIFO", "InvalidParameterValue", create("x.fifo", nil)},
		{"delay over 900 s", "InvalidAttributeValue", create("x", map[string]string{"DelaySeconds": "901"})},
		{"attribute that is not there", "InvalidAttributeName", create("x", map[string]string{"Colour": "red"})},
		{
			"FIFO's attribute on a standard queue",
			"InvalidAttributeName",
			create("x", map[string]string{"ContentBasedDeduplication": "true"}),
		},
		{
			"dead-letter queue that is not there",
			"InvalidParameterValue",
			create(
				"x",
				map[string]string{
					"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:eu-central-1:123456789012:nope","maxReceiveCount":3}`,
				},
			),
		},
		{
			"dead-letter queue of the other kind",
			"InvalidParameterValue",
			create(
				"x",
				map[string]string{
					"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:eu-central-1:123456789012:f.fifo","maxReceiveCount":3}`,
				},
			),
		},
		{
			"queue that is not there",
			"AWS.SimpleQueueService.NonExistentQueue",
			send(awssqs.SendMessageInput{QueueUrl: aws.String(*u + "x"), MessageBody: aws.String("m")}),
		},
		{"empty message", "MissingParameter", send(awssqs.SendMessageInput{QueueUrl: u, MessageBody: aws.String("")})},
		{
			"message over the limit",
			"InvalidParameterValue",
			send(awssqs.SendMessageInput{QueueUrl: u, MessageBody: aws.String(strings.Repeat("x", 1<<20+1))}),
		},
		{"characters XML has not", "InvalidMessageContents", send(awssqs.SendMessageInput{QueueUrl: u, MessageBody: aws.String("\x01")})},
		{"FIFO message without a group", "MissingParameter", send(awssqs.SendMessageInput{QueueUrl: fifo, MessageBody: aws.String("m")})},
		{
			"FIFO message without deduplication",
			"InvalidParameterValue",
			send(awssqs.SendMessageInput{QueueUrl: fifo, MessageBody: aws.String("m"), MessageGroupId: aws.String("g")}),
		},
		{"eleven messages at once", "InvalidParameterValue", func() error {
			_, err := r.ReceiveMessage(t.Context(), &awssqs.ReceiveMessageInput{QueueUrl: u, MaxNumberOfMessages: 11})
			return err
		}},
		{"made-up receipt handle", "ReceiptHandleIsInvalid", func() error {
			_, err := r.DeleteMessage(t.Context(), &awssqs.DeleteMessageInput{QueueUrl: u, ReceiptHandle: aws.String("x")})
			return err
		}},
		{"batch with an id twice", "AWS.SimpleQueueService.BatchEntryIdsNotDistinct", func() error {
			e := types.SendMessageBatchRequestEntry{Id: aws.String("a"), MessageBody: aws.String("m")}
			_, err := r.SendMessageBatch(
				t.Context(), &awssqs.SendMessageBatchInput{QueueUrl: u, Entries: []types.SendMessageBatchRequestEntry{e, e}},
			)
			return err
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { wiretest.WantCode(t, tt.call(), tt.code) })
	}
}

func TestStandardMessages(t *testing.T) {
	r := start(t)
	u := r.queue("q", map[string]string{"VisibilityTimeout": "10"})
	r.send(awssqs.SendMessageInput{
		QueueUrl: u, MessageBody: aws.String("a"),
		MessageAttributes: map[string]types.MessageAttributeValue{"k": {DataType: aws.String("String"), StringValue: aws.String("v")}},
	})
	r.send(awssqs.SendMessageInput{QueueUrl: u, MessageBody: aws.String("late"), DelaySeconds: 5})
	got := r.receive(u)
	if bodies(got) != "a" || *got[0].MessageAttributes["k"].StringValue != "v" || got[0].Attributes["ApproximateReceiveCount"] != "1" {
		t.Fatalf("first receive: %+v", got)
	}
	if more := r.receive(u); len(more) != 0 {
		t.Errorf("invisible or delayed messages were received: %s", bodies(more))
	}
	r.clock.Step(5 * time.Second)
	if late := r.receive(u); bodies(late) != "late" {
		t.Errorf("delayed message: %s", bodies(late))
	}
	r.clock.Step(5 * time.Second)
	again := r.receive(u)
	if bodies(again) != "a" || again[0].Attributes["ApproximateReceiveCount"] != "2" {
		t.Fatalf("after the visibility timeout: %+v", again)
	}
	if _, err := r.DeleteMessage(t.Context(), &awssqs.DeleteMessageInput{QueueUrl: u, ReceiptHandle: again[0].ReceiptHandle}); err != nil {
		t.Fatal(err)
	}
	r.clock.Step(time.Minute)
	if left := r.receive(u); bodies(left) != "late" {
		t.Errorf("left: %s", bodies(left))
	}
	r.clock.Step(5 * 24 * time.Hour)
	if old := r.receive(u); len(old) != 0 {
		t.Errorf("kept beyond retention: %s", bodies(old))
	}
}

func TestVisibilityCanBeChanged(t *testing.T) {
	r := start(t)
	u := r.queue("q", nil)
	r.send(awssqs.SendMessageInput{QueueUrl: u, MessageBody: aws.String("a")})
	handle := r.receive(u)[0].ReceiptHandle
	if _, err := r.ChangeMessageVisibility(t.Context(), &awssqs.ChangeMessageVisibilityInput{
		QueueUrl: u, ReceiptHandle: handle, VisibilityTimeout: 0,
	}); err != nil {
		t.Fatal(err)
	}
	if got := r.receive(u); bodies(got) != "a" {
		t.Errorf("got %s", bodies(got))
	}
}

func TestDeadLetters(t *testing.T) {
	r := start(t)
	dlq := r.queue("dead", nil)
	u := r.queue("q", map[string]string{
		"VisibilityTimeout": "1",
		"RedrivePolicy":     `{"deadLetterTargetArn":"arn:aws:sqs:eu-central-1:123456789012:dead","maxReceiveCount":"2"}`,
	})
	r.send(awssqs.SendMessageInput{QueueUrl: u, MessageBody: aws.String("poison")})
	for range 2 {
		if got := r.receive(u); len(got) != 1 {
			t.Fatalf("got %d messages", len(got))
		}
		r.clock.Step(time.Second)
	}
	if got := r.receive(u); len(got) != 0 {
		t.Errorf("received a third time")
	}
	got := r.receive(dlq)
	if bodies(got) != "poison" || got[0].Attributes["DeadLetterQueueSourceArn"] != "arn:aws:sqs:eu-central-1:123456789012:q" {
		t.Errorf("dead letters: %+v", got)
	}
	sources, err := r.ListDeadLetterSourceQueues(t.Context(), &awssqs.ListDeadLetterSourceQueuesInput{QueueUrl: dlq})
	if err != nil || len(sources.QueueUrls) != 1 || sources.QueueUrls[0] != *u {
		t.Errorf("sources: %+v %v", sources, err)
	}
}

// Order and exactly-once processing:
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/FIFO-queues-understanding-logic.html
func TestFIFO(t *testing.T) {
	r := start(t)
	u := r.queue("f.fifo", map[string]string{"FifoQueue": "true", "ContentBasedDeduplication": "true"})
	for _, m := range [][2]string{{"g", "1"}, {"g", "2"}, {"h", "3"}, {"g", "1"}} {
		r.send(awssqs.SendMessageInput{QueueUrl: u, MessageBody: &m[1], MessageGroupId: &m[0]})
	}
	one, err := r.ReceiveMessage(t.Context(), &awssqs.ReceiveMessageInput{QueueUrl: u})
	if err != nil || bodies(one.Messages) != "1" {
		t.Fatalf("first: %v %v", one, err)
	}
	if rest := r.receive(u); bodies(rest) != "3" {
		t.Errorf("while group g has a message in flight: %s", bodies(rest))
	}
	if _, err := r.DeleteMessage(t.Context(), &awssqs.DeleteMessageInput{
		QueueUrl: u, ReceiptHandle: one.Messages[0].ReceiptHandle,
	}); err != nil {
		t.Fatal(err)
	}
	if rest := r.receive(u); bodies(rest) != "2" || rest[0].Attributes["MessageGroupId"] != "g" ||
		len(rest[0].Attributes["SequenceNumber"]) != 20 {
		t.Errorf("after deletion: %+v", rest)
	}
	r.clock.Step(6 * time.Minute)
	r.send(awssqs.SendMessageInput{QueueUrl: u, MessageBody: aws.String("1"), MessageGroupId: aws.String("x")})
	if later := r.receive(u); bodies(later) != "2,3,1" {
		t.Errorf("after the deduplication window: %s", bodies(later))
	}
}

func TestLongPollEndsWithAMessage(t *testing.T) {
	r := start(t)
	u := r.queue("q", map[string]string{"ReceiveMessageWaitTimeSeconds": "20"})
	got := make(chan []types.Message, 1)
	go func() {
		out, err := r.ReceiveMessage(t.Context(), &awssqs.ReceiveMessageInput{QueueUrl: u})
		if err != nil {
			t.Error(err)
			got <- nil
			return
		}
		got <- out.Messages
	}()
	r.send(awssqs.SendMessageInput{QueueUrl: u, MessageBody: aws.String("a")})
	if m := <-got; bodies(m) != "a" {
		t.Errorf("got %s", bodies(m))
	}
}

func TestBatches(t *testing.T) {
	r := start(t)
	u := r.queue("q", nil)
	out, err := r.SendMessageBatch(t.Context(), &awssqs.SendMessageBatchInput{QueueUrl: u, Entries: []types.SendMessageBatchRequestEntry{
		{
			Id:          aws.String("a"),
			MessageBody: aws.String("1"),
		}, {Id: aws.String("b"), MessageBody: aws.String("\x00")}, {Id: aws.String("c"), MessageBody: aws.String("3")},
	}})
	if err != nil || len(out.Successful) != 2 || len(out.Failed) != 1 || *out.Failed[0].Id != "b" || !out.Failed[0].SenderFault {
		t.Fatalf("got %+v %v", out, err)
	}
	messages := r.receive(u)
	del, err := r.DeleteMessageBatch(
		t.Context(),
		&awssqs.DeleteMessageBatchInput{QueueUrl: u, Entries: []types.DeleteMessageBatchRequestEntry{
			{Id: aws.String("a"), ReceiptHandle: messages[0].ReceiptHandle}, {Id: aws.String("b"), ReceiptHandle: aws.String("x")},
		}},
	)
	if err != nil || len(del.Successful) != 1 || len(del.Failed) != 1 {
		t.Errorf("got %+v %v", del, err)
	}
}

func TestListPagesAndTags(t *testing.T) {
	r := start(t)
	for _, name := range []string{"a1", "a2", "a3", "b1"} {
		r.queue(name, nil)
	}
	pages := awssqs.NewListQueuesPaginator(r.Client, &awssqs.ListQueuesInput{QueueNamePrefix: aws.String("a"), MaxResults: aws.Int32(2)})
	var sizes []int
	for pages.HasMorePages() {
		p, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(p.QueueUrls))
	}
	if len(sizes) != 2 || sizes[0] != 2 || sizes[1] != 1 {
		t.Errorf("pages of %v", sizes)
	}
	u := aws.String(r.url + "/123456789012/a1")
	if _, err := r.TagQueue(t.Context(), &awssqs.TagQueueInput{QueueUrl: u, Tags: map[string]string{"k": "v", "l": "w"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.UntagQueue(t.Context(), &awssqs.UntagQueueInput{QueueUrl: u, TagKeys: []string{"l"}}); err != nil {
		t.Fatal(err)
	}
	tags, err := r.ListQueueTags(t.Context(), &awssqs.ListQueueTagsInput{QueueUrl: u})
	if err != nil || len(tags.Tags) != 1 || tags.Tags["k"] != "v" {
		t.Errorf("tags %v %v", tags, err)
	}
}

// Older clients use the Query protocol:
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-making-api-requests-xml.html
func TestQueryProtocol(t *testing.T) {
	r := start(t)
	post := func(path, form string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url+path, strings.NewReader(form+"&Version=2012-11-05"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set(
			"Authorization", "AWS4-HMAC-SHA256 Credential=AK/20260101/eu-central-1/sqs/aws4_request, SignedHeaders=host, Signature=0",
		)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(body)
	}
	steps := []struct {
		name, path, form string
		status           int
		want             string
	}{
		{
			"attributes are flattened pairs",
			"/",
			"Action=CreateQueue&QueueName=q&Attribute.1.Name=VisibilityTimeout&Attribute.1.Value=7&Tag.1.Key=k&Tag.1.Value=v",
			200,
			"/123456789012/q</QueueUrl></CreateQueueResult>",
		},
		{
			"and so they come back",
			"/123456789012/q",
			"Action=GetQueueAttributes&AttributeName.1=VisibilityTimeout",
			200,
			"<Attribute><Name>VisibilityTimeout</Name><Value>7</Value></Attribute>",
		},
		{
			"the path names the queue",
			"/123456789012/q",
			"Action=SendMessage&MessageBody=hello",
			200,
			"<MD5OfMessageBody>5d41402abc4b2a76b9719d911017c592</MD5OfMessageBody>",
		},
		{
			"messages are flattened",
			"/",
			"Action=ReceiveMessage&QueueUrl=http://x/123456789012/q&AttributeName.1=All",
			200,
			"<Message><Attribute><Name>ApproximateFirstReceiveTimestamp</Name>",
		},
		{
			"batches have their own element",
			"/123456789012/q",
			"Action=SendMessageBatch&SendMessageBatchRequestEntry.1.Id=a&SendMessageBatchRequestEntry.1.MessageBody=m",
			200,
			"<SendMessageBatchResultEntry><Id>a</Id>",
		},
		{
			"errors have their old codes",
			"/",
			"Action=GetQueueUrl&QueueName=none",
			400,
			"<Code>AWS.SimpleQueueService.NonExistentQueue</Code>",
		},
		{
			"actions without an answer",
			"/123456789012/q",
			"Action=DeleteQueue",
			200,
			"<DeleteQueueResponse xmlns=\"http://queue.amazonaws.com/doc/2012-11-05/\"><ResponseMetadata>",
		},
	}
	for _, s := range steps {
		t.Run(s.name, func(t *testing.T) {
			if status, body := post(s.path, s.form); status != s.status || !strings.Contains(body, s.want) {
				t.Errorf("got %d %s, want %s", status, body, s.want)
			}
		})
	}
}

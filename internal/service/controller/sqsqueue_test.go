package controller_test

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// TestQueuesShareADeadLetterQueue moves a message that one of two queues received too often to a third,
// for which both wait.
func TestQueuesShareADeadLetterQueue(t *testing.T) {
	w := newSuite(t, nil)
	w.apply(`
{kind: SQSQueue, metadata: {name: receipts}, spec: {deadLetterQueueName: undelivered, maxReceiveCount: 1, visibilityTimeout: 0}}
---
{kind: SQSQueue, metadata: {name: invoices}, spec: {deadLetterQueueName: undelivered}}
`)
	w.condition("SQSQueue", "receipts", "ReferencesResolved", "False", "ReferenceNotFound")
	w.apply(`{kind: SQSQueue, metadata: {name: undelivered}}`)
	dead := fmt.Sprint(nested(w.ready("SQSQueue", "undelivered"), "output", "queueURL"))
	receipts := w.ready("SQSQueue", "receipts")
	if got := nested(receipts, "output", "deadLetterQueueURL"); got != dead {
		t.Errorf("output.deadLetterQueueURL is %v, want %s", got, dead)
	}
	data, err := w.configMap("receipts")
	if err != nil || data["deadLetterQueueURL"] != dead || data["deadLetterQueueName"] != "undelivered" {
		t.Errorf("the ConfigMap holds %v, %v", data, err)
	}
	const queueType = "AWS::SQS::Queue"
	policy := map[string]any{"deadLetterTargetArn": "arn:aws:sqs:eu-west-1:123456789012:undelivered", "maxReceiveCount": 5}
	w.becomes(queueType, fmt.Sprint(nested(w.ready("SQSQueue", "invoices"), "output", "queueURL")), "RedrivePolicy", policy)

	queues, url := sqs.NewFromConfig(w.awsConfig()), aws.String(fmt.Sprint(nested(receipts, "output", "queueURL")))
	if _, err := queues.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: url, MessageBody: aws.String("unreadable")}); err != nil {
		t.Fatal(err)
	}
	w.eventually("the message moves to the dead-letter queue", func() error {
		if _, err := queues.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: url}); err != nil {
			return err
		}
		out, err := queues.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &dead})
		if err == nil && (len(out.Messages) != 1 || aws.ToString(out.Messages[0].Body) != "unreadable") {
			err = fmt.Errorf("it has %d messages", len(out.Messages))
		}
		return err
	})
	w.delete("SQSQueue", "receipts")
	w.delete("SQSQueue", "invoices")
	w.delete("SQSQueue", "undelivered")
}

// TestFIFOTopicDeliversToAFIFOQueue encrypts both with a key, for which they wait.
func TestFIFOTopicDeliversToAFIFOQueue(t *testing.T) {
	w := newSuite(t, nil)
	w.apply(`
{kind: SNSTopic, metadata: {name: payments}, spec: {fifoTopic: true, contentBasedDeduplication: true, encryptionKeyName: application}}
---
{kind: SQSQueue, metadata: {name: payments}, spec: {fifoQueue: true, usedeadletterQueue: true, encryptionKeyName: application}}
---
{kind: SNSSubscription, metadata: {name: payments}, spec: {topicName: payments, protocol: sqs, endpoint: payments}}
---
{kind: EncryptionKey, metadata: {name: application}}
`)
	key := nested(w.ready("EncryptionKey", "application"), "output", "keyARN")
	topic := fmt.Sprint(nested(w.ready("SNSTopic", "payments"), "output", "topicARN"))
	queue := w.ready("SQSQueue", "payments")
	w.ready("SNSSubscription", "payments")
	if topic != "arn:aws:sns:eu-west-1:123456789012:payments.fifo" {
		t.Errorf("the topic is %s", topic)
	}
	url := fmt.Sprint(nested(queue, "output", "queueURL"))
	for id, kind := range map[string]string{
		topic: "AWS::SNS::Topic", url: "AWS::SQS::Queue", fmt.Sprint(nested(queue, "output", "deadLetterQueueURL")): "AWS::SQS::Queue",
	} {
		if got := w.live(kind, id)["KmsMasterKeyId"]; got != key {
			t.Errorf("the key of %s is %v, want %v", id, got, key)
		}
	}
	if _, err := sns.NewFromConfig(w.awsConfig()).Publish(t.Context(), &sns.PublishInput{
		TopicArn: &topic, Message: aws.String("paid"), MessageGroupId: aws.String("a"),
	}); err != nil {
		t.Fatal(err)
	}
	w.eventually("the message arrives", func() error {
		out, err := sqs.NewFromConfig(w.awsConfig()).ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url})
		if err == nil && len(out.Messages) != 1 {
			err = fmt.Errorf("there are %d messages", len(out.Messages))
		}
		return err
	})
	for _, kind := range []string{"SNSSubscription", "SQSQueue", "SNSTopic"} {
		w.delete(kind, "payments")
	}
	w.delete("EncryptionKey", "application")
}

package controller_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/access"
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
	dead := fmt.Sprint(nested(w.ready("SQSQueue", "undelivered"), "status", "output", "queueURL"))
	receipts := w.ready("SQSQueue", "receipts")
	if got := nested(receipts, "status", "output", "deadLetterQueueURL"); got != dead {
		t.Errorf("output.deadLetterQueueURL is %v, want %s", got, dead)
	}
	data, err := w.configMap("receipts")
	if err != nil || data["deadLetterQueueURL"] != dead || data["deadLetterQueueName"] != "undelivered" {
		t.Errorf("the ConfigMap holds %v, %v", data, err)
	}
	const queueType = "AWS::SQS::Queue"
	policy := map[string]any{"deadLetterTargetArn": "arn:aws:sqs:eu-west-1:123456789012:undelivered", "maxReceiveCount": 5}
	w.becomes(queueType, fmt.Sprint(nested(w.ready("SQSQueue", "invoices"), "status", "output", "queueURL")), "RedrivePolicy", policy)

	queues, url := sqs.NewFromConfig(w.awsConfig()), aws.String(fmt.Sprint(nested(receipts, "status", "output", "queueURL")))
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

// TestSendersOfAQueue gives a queue with a subscription senders, and takes them away again: the topic, which the
// queue must name, delivers all the time, and the policy stays when the subscription is deleted.
func TestSendersOfAQueue(t *testing.T) {
	w := newSuiteOf(t, simulator.Options{Lag: simulator.NoLag, IAM: access.Enforce}, render.Limits{})
	w.apply(`
{kind: SNSTopic, metadata: {name: news}}
---
{kind: SQSQueue, metadata: {name: inbox}}
---
{kind: SNSSubscription, metadata: {name: news}, spec: {topicName: news, protocol: sqs, endpoint: inbox}}
`)
	w.ready("SNSSubscription", "news")
	url := fmt.Sprint(nested(w.ready("SQSQueue", "inbox"), "status", "output", "queueURL"))
	w.delivers("news", url)
	w.change("SQSQueue", "inbox", `{"spec": {"senders": [{"account": "210987654321"}]}}`)
	refused := w.condition("SNSSubscription", "news", "Stalled", "True", "InvalidSpec")
	if want := "Add {kind: SNSTopic, name: news} to its spec.senders"; !strings.Contains(refused.Message, want) {
		t.Errorf("the message is %q, want %q", refused.Message, want)
	}
	w.change("SQSQueue", "inbox", `{"spec": {"senders": [{"account": "210987654321"}, {"kind": "SNSTopic", "name": "news"}], "receivers": [{"organization": "o-a1b2c3d4e5"}]}}`)
	w.ready("SNSSubscription", "news")
	w.ready("SQSQueue", "inbox")
	w.delivers("news", url)
	has := func(parts ...string) {
		t.Helper()
		w.eventually("the policy has "+strings.Join(parts, ", "), func() error {
			policy := w.policyOf(url)
			for _, part := range parts {
				if !strings.Contains(policy, part) {
					return errors.New("the policy is " + policy)
				}
			}
			return nil
		})
	}
	has("210987654321:root", "sns.amazonaws.com", "o-a1b2c3d4e5")
	for kind, name := range map[string]string{"SQSQueue": "inbox", "SNSSubscription": "news"} {
		w.checkDrift(kind, name, "False", "InSync")
	}
	w.delete("SNSSubscription", "news")
	has("210987654321:root", "sns.amazonaws.com", "o-a1b2c3d4e5")
	w.apply(`{kind: SNSSubscription, metadata: {name: news}, spec: {topicName: news, protocol: sqs, endpoint: inbox}}`)
	w.ready("SNSSubscription", "news")
	has("210987654321:root", "sns.amazonaws.com", "o-a1b2c3d4e5")

	w.change("SQSQueue", "inbox", `{"spec": {"senders": null, "receivers": null}}`)
	has("TopicsDeliver\"")
	w.delivers("news", url)
	if policy := w.policyOf(url); strings.Contains(policy, "210987654321") {
		t.Errorf("the policy is %s", policy)
	}
	w.delete("SNSSubscription", "news")
	w.delete("SQSQueue", "inbox")
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
	key := nested(w.ready("EncryptionKey", "application"), "status", "output", "keyARN")
	topic := fmt.Sprint(nested(w.ready("SNSTopic", "payments"), "status", "output", "topicARN"))
	queue := w.ready("SQSQueue", "payments")
	w.ready("SNSSubscription", "payments")
	if topic != "arn:aws:sns:eu-west-1:123456789012:payments.fifo" {
		t.Errorf("the topic is %s", topic)
	}
	url := fmt.Sprint(nested(queue, "status", "output", "queueURL"))
	for id, kind := range map[string]string{
		topic: "AWS::SNS::Topic", url: "AWS::SQS::Queue",
		fmt.Sprint(nested(queue, "status", "output", "deadLetterQueueURL")): "AWS::SQS::Queue",
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

// TestWhoMayUseATopicAndARepository gives other accounts access to a topic and a repository, and takes it away.
func TestWhoMayUseATopicAndARepository(t *testing.T) {
	w := newSuite(t, nil)
	w.apply(`
{kind: SNSTopic, metadata: {name: news}, spec: {publishers: [{account: "210987654321"}], subscribers: [{organization: o-a1b2c3d4e5}]}}
---
{kind: ECRRepository, metadata: {name: team-app}, spec: {pullers: [{account: "210987654321"}]}}
`)
	arn := fmt.Sprint(nested(w.ready("SNSTopic", "news"), "status", "output", "topicARN"))
	policy := func() string {
		out, err := sns.NewFromConfig(w.awsConfig()).GetTopicAttributes(t.Context(), &sns.GetTopicAttributesInput{TopicArn: &arn})
		if err != nil {
			t.Fatal(err)
		}
		return out.Attributes["Policy"]
	}
	text := policy()
	if !strings.Contains(text, "210987654321:root") || !strings.Contains(text, "o-a1b2c3d4e5") || !strings.Contains(text, "sns:Subscribe") {
		t.Errorf("the policy of the topic is %s", text)
	}
	const repositoryType = "AWS::ECR::Repository"
	w.ready("ECRRepository", "team-app")
	text = fmt.Sprint(w.live(repositoryType, "team-app")["RepositoryPolicyText"])
	if !strings.Contains(text, "210987654321:root") || strings.Contains(text, "PutImage") {
		t.Errorf("the policy of the repository is %s", text)
	}
	for kind, name := range map[string]string{"SNSTopic": "news", "ECRRepository": "team-app"} {
		w.checkDrift(kind, name, "False", "InSync")
	}
	w.change("SNSTopic", "news", `{"spec": {"publishers": null, "subscribers": null}}`)
	w.change("ECRRepository", "team-app", `{"spec": {"pullers": null}}`)
	w.becomes(repositoryType, "team-app", "RepositoryPolicyText", nil)
	w.eventually("the policy of the topic allows no other account", func() error {
		if text := policy(); strings.Contains(text, "210987654321") {
			return errors.New(text)
		}
		return nil
	})
}

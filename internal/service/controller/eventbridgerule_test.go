package controller_test

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/aws-operator/aws-operator/internal/grant"
	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/access"
)

const (
	ruleType  = "AWS::Events::Rule"
	bus       = "arn:aws:events:eu-west-1:123456789012:event-bus/default"
	paidRule  = "arn:aws:events:eu-west-1:123456789012:rule/paid"
	paidQueue = "arn:aws:sqs:eu-west-1:123456789012:paid"
)

// newEventSuite is a suite with an operator that grants the default bus to every namespace, and IAM
// that decides about deliveries.
func newEventSuite(t *testing.T) *suite {
	t.Helper()
	limits := render.Limits{Foreign: []grant.Grant{{Namespace: "*", Pattern: bus}}, TemplateTypes: []string{"AWS::SQS::Queue"}}
	w := prepareSuite(t, simulator.Options{Lag: simulator.NoLag, IAM: access.Enforce}, limits)
	w.serveGrants()
	return w
}

// sends puts an event and reports whether it reaches a queue.
func (w *suite) sends(queueURL string) error {
	w.t.Helper()
	sent, err := eventbridge.NewFromConfig(w.awsConfig()).PutEvents(w.t.Context(), &eventbridge.PutEventsInput{
		Entries: []types.PutEventsRequestEntry{{Source: aws.String("shop"), DetailType: aws.String("order"), Detail: aws.String(`{"id": 7}`)}},
	})
	if err != nil || sent.FailedEntryCount > 0 {
		w.t.Fatalf("%+v %v", sent, err)
	}
	received, err := sqs.NewFromConfig(w.awsConfig()).ReceiveMessage(w.t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &queueURL})
	if err != nil {
		w.t.Fatal(err)
	}
	if len(received.Messages) == 0 {
		return errors.New("no event arrived")
	}
	if body := aws.ToString(received.Messages[0].Body); !strings.Contains(body, "order 7") {
		w.t.Errorf("the message is %s", body)
	}
	return nil
}

const paid = `
{kind: SQSQueue, metadata: {name: paid}}
---
kind: EventBridgeRule
metadata: {name: paid}
spec:
  eventBusARN: ` + bus + `
  eventPattern: {source: [shop], detail: {id: [{numeric: [">", 5]}]}}
  targets: [{name: queue, queueName: paid, inputTemplate: "\"order <id>\"", inputValues: {id: $.detail.id}}]
`

// TestEventBridgeRule follows a rule through its lifecycle: it waits for its queue, delivers beside a
// subscription whose policy the queue has, and then to other targets on a schedule.
func TestEventBridgeRule(t *testing.T) {
	w := newEventSuite(t)
	w.apply(`
{kind: SNSTopic, metadata: {name: news}}
---
{kind: SNSSubscription, metadata: {name: news}, spec: {topicName: news, protocol: sqs, endpoint: paid}}
---
{kind: DataStream, metadata: {name: orders}}
---` + paid)
	rule, queue := w.ready("EventBridgeRule", "paid"), w.ready("SQSQueue", "paid")
	w.ready("SNSSubscription", "news")
	if got := nested(rule, "status", "output", "ruleARN"); got != paidRule {
		t.Errorf("output.ruleARN is %v", got)
	}
	url := fmt.Sprint(nested(queue, "status", "output", "queueURL"))
	w.eventually("the rule delivers", func() error { return w.sends(url) })
	w.delivers("news", url)
	if policy := w.policyOf(url); strings.Contains(policy, "events.amazonaws.com") {
		t.Errorf("the rule changed the policy of the queue: %s", policy)
	}
	w.ready("DataStream", "orders")
	w.change("EventBridgeRule", "paid", `{"spec": {"eventPattern": null, "eventBusARN": null, "schedule": "rate(1 hour)", "targets": [
		{"name": "topic", "topicName": "news", "input": "\"tick\""}, {"name": "stream", "streamName": "orders", "partitionKeyPath": "$.id"}]}}`)
	w.becomes(ruleType, paidRule, "ScheduleExpression", "rate(1 hour)")
	w.ready("EventBridgeRule", "paid")
	if live := fmt.Sprint(w.live(ruleType, paidRule)["Targets"]); strings.Contains(live, paidQueue) || !strings.Contains(live, ":stream/orders") {
		t.Errorf("the targets are %s", live)
	}
	w.checkDrift("EventBridgeRule", "paid", "False", "InSync")
	role := fmt.Sprint(nested(w.ready("EventBridgeRule", "paid"), "status", "output", "roleARN"))
	if trust := w.trustOf(role); !strings.Contains(trust, `"aws:SourceArn":"`+paidRule+`"`) || !strings.Contains(trust, `"aws:SourceAccount":"123456789012"`) {
		t.Errorf("EventBridge may assume the role by %s, want for the rule only", trust)
	}
	for kind, name := range map[string]string{"EventBridgeRule": "paid", "SNSSubscription": "news"} {
		w.delete(kind, name)
	}
	if live := w.live(ruleType, paidRule); live != nil {
		t.Errorf("the rule is left: %v", live)
	}
	if left := w.rolesLeft(); len(left) > 0 {
		t.Errorf("the roles %v are left", left)
	}
}

// trustOf returns the trust policy of a role.
func (w *suite) trustOf(arn string) string {
	w.t.Helper()
	name := arn[strings.LastIndexByte(arn, '/')+1:]
	found, err := iam.NewFromConfig(w.awsConfig()).GetRole(w.t.Context(), &iam.GetRoleInput{RoleName: &name})
	if err != nil {
		w.t.Fatal(err)
	}
	trust, err := url.QueryUnescape(aws.ToString(found.Role.AssumeRolePolicyDocument))
	if err != nil {
		w.t.Fatal(err)
	}
	return trust
}

// TestUndeliveredEvents tests the dead-letter queue of a rule, which the queue must let send: the rule names
// the field of the queue, and an event whose target is deleted arrives there, but no event of another rule.
func TestUndeliveredEvents(t *testing.T) {
	w := newEventSuite(t)
	w.apply(`
{kind: SQSQueue, metadata: {name: undelivered}, spec: {senders: [{kind: EventBridgeRule, name: other}]}}
---` + strings.Replace(paid, "targets:", "deadLetterQueueName: undelivered\n  targets:", 1))
	refused := w.condition("EventBridgeRule", "paid", "Stalled", "True", "InvalidSpec")
	if want := "Add {kind: EventBridgeRule, name: paid} to its spec.senders"; !strings.Contains(refused.Message, want) {
		t.Errorf("the message is %q, want %q", refused.Message, want)
	}
	w.change("SQSQueue", "undelivered", `{"spec": {"senders": [{"kind": "EventBridgeRule", "name": "paid"}]}}`)
	w.ready("EventBridgeRule", "paid")
	url := fmt.Sprint(nested(w.ready("SQSQueue", "undelivered"), "status", "output", "queueURL"))
	queue := fmt.Sprint(nested(w.ready("SQSQueue", "paid"), "status", "output", "queueURL"))
	w.eventually("the rule delivers", func() error { return w.sends(queue) })

	client := sqs.NewFromConfig(w.awsConfig())
	if _, err := client.DeleteQueue(t.Context(), &sqs.DeleteQueueInput{QueueUrl: &queue}); err != nil {
		t.Fatal(err)
	}
	arrives := func() error {
		sent, err := eventbridge.NewFromConfig(w.awsConfig()).PutEvents(t.Context(), &eventbridge.PutEventsInput{
			Entries: []types.PutEventsRequestEntry{{Source: aws.String("shop"), DetailType: aws.String("order"), Detail: aws.String(`{"id": 7}`)}},
		})
		if err != nil || sent.FailedEntryCount > 0 {
			t.Fatalf("%+v %v", sent, err)
		}
		received, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url})
		if err == nil && len(received.Messages) == 0 {
			err = errors.New("no event arrived")
		}
		return err
	}
	w.eventually("the undelivered event arrives", arrives)
	w.change("SQSQueue", "undelivered", `{"spec": {"senders": [{"kind": "EventBridgeRule", "name": "other"}]}}`)
	w.condition("EventBridgeRule", "paid", "Stalled", "True", "InvalidSpec")
	w.eventually("the queue lets the rule send no more", func() error {
		if err := arrives(); err != nil {
			return nil //nolint:nilerr // that is what the test waits for
		}
		return errors.New("an event arrived")
	})
}

// TestRulesNeedThatTheOperatorMayMakeRoles tests an operator without the flag that allows roles.
func TestRulesNeedThatTheOperatorMayMakeRoles(t *testing.T) {
	w := newLimitedSuite(t, nil, render.Limits{Foreign: []grant.Grant{{Namespace: "*", Pattern: bus}}})
	w.apply(paid)
	got := w.condition("EventBridgeRule", "paid", "Stalled", "True", "IssuerNotConfigured")
	if !strings.Contains(got.Message, "--service-account-issuer") {
		t.Errorf("the message is %q", got.Message)
	}
}

// TestBusesNeedGrants tests that a namespace reads the events only of the buses that it was granted.
func TestBusesNeedGrants(t *testing.T) {
	for name, limits := range map[string]render.Limits{
		"no grant":        {},
		"another's grant": {Foreign: []grant.Grant{{Namespace: "other", Pattern: bus}}},
		"another bus":     {Foreign: []grant.Grant{{Namespace: "*", Pattern: "arn:aws:events:eu-west-1:123456789012:event-bus/shop"}}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newLimitedSuite(t, nil, limits)
			w.apply(paid)
			got := w.condition("EventBridgeRule", "paid", "Stalled", "True", "ForeignResource")
			if want := "--allow-foreign=" + w.namespace + "=" + bus; !strings.Contains(got.Message, want) || !strings.Contains(got.Message, "spec.eventBusARN") {
				t.Errorf("the message is %q, want the field and %s", got.Message, want)
			}
			if live := w.live(ruleType, paidRule); live != nil {
				t.Errorf("there is the rule %v", live)
			}
		})
	}
}

// TestRulesReachNoTargetOfOthers tests that neither an output that claims another queue, nor a queue
// that another tenant makes under the name of a deleted one, receives events.
func TestRulesReachNoTargetOfOthers(t *testing.T) {
	w := newEventSuite(t)
	theirs := w.queueOfOthers("theirs", "")
	w.apply(`
kind: CloudFormationTemplate
metadata: {name: claim}
data:
  key: claim.yaml
  template: |
    Resources:
      Queue: {Type: AWS::SQS::Queue}
    Outputs:
      QueueURL: {Value: "` + theirs + `"}
      QueueARN: {Value: "arn:aws:sqs:eu-west-1:123456789012:theirs"}
---
{kind: SQSQueue, metadata: {name: claims}, spec: {cloudFormationTemplateName: claim}}
---
kind: EventBridgeRule
metadata: {name: steal}
spec: {schedule: rate(1 hour), targets: [{name: queue, queueName: claims}]}
---` + paid)
	w.condition("EventBridgeRule", "steal", "Stalled", "True", "ReferenceNotOwned")

	w.ready("EventBridgeRule", "paid")
	w.delete("SQSQueue", "paid")
	client := sqs.NewFromConfig(w.awsConfig())
	var url string
	w.eventually("the name is free", func() error {
		made, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("paid")})
		if err == nil {
			url = aws.ToString(made.QueueUrl)
		}
		return err
	})
	if err := w.sends(url); err == nil {
		t.Error("the queue of another tenant received an event")
	}
	namespace := map[string]string{"service-operator.aws/namespace": w.namespace, "service-operator.aws/cluster": clusterName}
	if _, err := client.TagQueue(t.Context(), &sqs.TagQueueInput{QueueUrl: &url, Tags: namespace}); err != nil {
		t.Fatal(err)
	}
	w.eventually("the queue with the tags of the namespace receives an event", func() error { return w.sends(url) })
}

// TestRuleOfOthersIsNotTakenOver tests that an object with the name of a rule that exists leaves it as it is.
func TestRuleOfOthersIsNotTakenOver(t *testing.T) {
	w := newEventSuite(t)
	events := eventbridge.NewFromConfig(w.awsConfig())
	const theirs = `{"source":["theirs"]}`
	if _, err := events.PutRule(t.Context(), &eventbridge.PutRuleInput{Name: aws.String("paid"), EventPattern: aws.String(theirs)}); err != nil {
		t.Fatal(err)
	}
	w.apply(paid)
	w.eventually("the object says that the rule exists", func() error {
		obj, err := w.get("EventBridgeRule", "paid")
		if status := show(nested(obj, "status")); err != nil || !strings.Contains(status, "already exists") {
			return errors.Join(err, fmt.Errorf("the status is %s", status))
		}
		return nil
	})
	rule, err := events.DescribeRule(t.Context(), &eventbridge.DescribeRuleInput{Name: aws.String("paid")})
	if err != nil || aws.ToString(rule.EventPattern) != theirs {
		t.Errorf("the rule is %+v %v", rule, err)
	}
}

package controller_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/aws-operator/aws-operator/internal/grant"
	"github.com/aws-operator/aws-operator/internal/service/render"
)

func observing(name, url, more, spec string) string {
	return adopting(name, url, ", service-operator.aws/management-policy: Observe"+more, spec)
}

// TestObservedQueueIsOnlyRead observes a queue that was made by hand: its outputs arrive as those of other
// objects, and nothing else happens, also not when the spec differs or the object is deleted.
func TestObservedQueueIsOnlyRead(t *testing.T) {
	w := newLimitedSuite(t, nil, render.Limits{Adoption: []grant.Grant{{Namespace: "*", Pattern: "AWS::SQS::Queue/*"}}})
	url := w.byHand("orders")
	before := w.attributes(url)
	w.apply(observing("orders", url, "", "visibilityTimeout: 30"))
	made := w.ready("SQSQueue", "orders")
	want := map[string]any{"queueURL": url, "queueARN": before["QueueArn"], "queueName": "orders"}
	if got := nested(made, "status", "output"); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("output %v, want %v", got, want)
	}
	w.eventually("the ConfigMap has the outputs", func() error {
		if data, err := w.configMap("orders"); err != nil || data["queueURL"] != url {
			return fmt.Errorf("%v, %w", data, err)
		}
		return nil
	})
	w.change("SQSQueue", "orders", `{"spec":{"visibilityTimeout":40}}`)
	w.ready("SQSQueue", "orders")
	w.delete("SQSQueue", "orders")
	if now := w.attributes(url); !maps.Equal(now, before) || len(w.stacks()) > 0 {
		t.Errorf("the queue is %v, was %v; stacks %v", now, before, w.stacks())
	}
}

// TestObservedResourceThatIsMissingIsAwaited names a queue that is made later.
func TestObservedResourceThatIsMissingIsAwaited(t *testing.T) {
	w := newLimitedSuite(t, nil, render.Limits{Adoption: []grant.Grant{{Namespace: "*", Pattern: "AWS::SQS::Queue/*"}}})
	url := strings.Replace(w.byHand("other"), "/other", "/orders", 1)
	w.apply(observing("orders", url, "", ""))
	waits := w.condition("SQSQueue", "orders", "Ready", "False", "ResourceNotFound")
	if !strings.Contains(waits.Message, "There is no AWS::SQS::Queue "+url) {
		t.Errorf("the condition says %q", waits.Message)
	}
	_, err := sqs.NewFromConfig(w.awsConfig()).CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("orders")})
	if err != nil {
		t.Fatal(err)
	}
	w.change("SQSQueue", "orders", `{"metadata":{"annotations":{"aws-operator/retry":"now"}}}`)
	w.ready("SQSQueue", "orders")
}

func TestObserveIsRefused(t *testing.T) {
	w := newLimitedSuite(t, nil, render.Limits{Adoption: []grant.Grant{{Namespace: "*", Pattern: "AWS::SQS::Queue/*"}}})
	url := w.byHand("orders")
	for name, c := range map[string]struct{ manifest, reason, want string }{
		"an unknown policy": {
			adopting("orders", url, ", service-operator.aws/management-policy: Look", ""), "UnknownManagementPolicy", `is "Look"; set it to Manage or Observe`,
		},
		"no resource": {
			"{kind: SQSQueue, metadata: {name: orders, annotations: {service-operator.aws/management-policy: Observe}}, spec: {}}",
			"NothingToObserve", "service-operator.aws/adopt, which names the resource, is missing; add it",
		},
		"a resource of others": {observing("orders", "Queue=x", "", "usedeadletterQueue: true"), "ResourceNotFound", "There is no AWS::SQS::Queue x"},
	} {
		t.Run(name, func(t *testing.T) {
			w.apply(c.manifest)
			condition := w.condition("SQSQueue", "orders", "Ready", "False", c.reason)
			if !strings.Contains(condition.Message, c.want) {
				t.Errorf("the message is %q, want %q", condition.Message, c.want)
			}
			w.change("SQSQueue", "orders", `{"metadata":{"annotations":{"service-operator.aws/management-policy":"Observe"}}}`)
			w.delete("SQSQueue", "orders") // an unknown policy keeps the object
		})
	}
	t.Run("an object with a stack", func(t *testing.T) {
		w.apply("{kind: SQSQueue, metadata: {name: made}, spec: {}}")
		w.ready("SQSQueue", "made")
		w.change("SQSQueue", "made", fmt.Sprintf(
			`{"metadata":{"annotations":{"service-operator.aws/management-policy":"Observe","service-operator.aws/adopt":%q}}}`, url))
		w.condition("SQSQueue", "made", "Stalled", "True", "HasStack")
	})
	t.Run("the deletion of an object with an unknown policy", func(t *testing.T) {
		w.apply("{kind: SQSQueue, metadata: {name: kept}, spec: {}}")
		obj := w.ready("SQSQueue", "kept")
		w.change("SQSQueue", "kept", `{"metadata":{"annotations":{"service-operator.aws/management-policy":"Look"}}}`)
		if err := w.client.Delete(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
		w.condition("SQSQueue", "kept", "Stalled", "True", "UnknownManagementPolicy")
		w.change("SQSQueue", "kept", `{"metadata":{"annotations":{"service-operator.aws/management-policy":null}}}`)
		w.gone("SQSQueue", "kept")
	})
	t.Run("without a grant", func(t *testing.T) {
		other := newLimitedSuite(t, nil, render.Limits{})
		other.apply(observing("orders", url, "", ""))
		other.condition("SQSQueue", "orders", "Stalled", "True", "AdoptionNotAllowed")
	})
}

package controller_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestRestartLeavesSharedPoliciesAlone tests that a starting operator knows which subscriptions
// share a queue before the first reconcile: otherwise it would narrow the queue's policy and widen
// it again, and messages would be lost in between.
func TestRestartLeavesSharedPoliciesAlone(t *testing.T) {
	w := newCountedSuite(t)
	w.apply("{kind: SQSQueue, metadata: {name: jobs}, spec: {}}")
	w.ready("SQSQueue", "jobs")
	const many = 6
	for i := range many {
		w.apply(fmt.Sprintf(`
{kind: SNSTopic, metadata: {name: topic-%d}, spec: {}}
---
{kind: SNSSubscription, metadata: {name: sub-%d}, spec: {topicName: topic-%d, protocol: sqs, endpoint: jobs}}
`, i, i, i))
		w.ready("SNSSubscription", fmt.Sprintf("sub-%d", i))
	}
	w.eventually("every stack is complete and names every topic", func() error {
		for i := range many {
			if err := w.namesTopics(fmt.Sprintf("sub-%d", i), many); err != nil {
				return err
			}
		}
		return nil
	})
	for i := range many {
		w.ready("SNSSubscription", fmt.Sprintf("sub-%d", i))
	}
	w.stop()
	calls := w.count()
	w.startOperator()
	w.apply("{kind: SNSSubscription, metadata: {name: mail}, spec: {topicName: topic-0, protocol: email, endpoint: someone@example.com}}")
	w.ready("SNSSubscription", "mail")
	for i := range many { // each was reconciled since the start
		name := fmt.Sprintf("sub-%d", i)
		w.change("SNSSubscription", name, `{"metadata":{"annotations":{"aws-operator/paused":"true"}}}`)
		w.condition("SNSSubscription", name, "Synced", "Unknown", "Paused")
	}
	if n := calls()["UpdateStack"]; n != 0 {
		t.Errorf("the restart updated %d stacks without need", n)
	}
}

// namesTopics returns an error unless the policy in a subscription's stack names this many topics.
func (w *suite) namesTopics(subscription string, many int) error {
	template := w.template("SNSSubscription", subscription)
	for i := range many {
		if want := fmt.Sprintf(":topic-%d", i); !strings.Contains(template, want) {
			return fmt.Errorf("the template of %s lacks %s: %s", subscription, want, template)
		}
	}
	for name, status := range w.stacks() {
		if status != "CREATE_COMPLETE" && status != "UPDATE_COMPLETE" {
			return fmt.Errorf("stack %s is %s", name, status)
		}
	}
	return nil
}

// TestNewObjectIsNotTakenForReady creates objects while no operator runs: kstatus takes an object
// without a status for one that is up to date, so that Flux would go on before anything exists.
// https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md
func TestNewObjectIsNotTakenForReady(t *testing.T) {
	w := newSuite(t, nil)
	w.apply("{kind: SQSQueue, metadata: {name: before}, spec: {}}")
	w.ready("SQSQueue", "before") // the kinds are served
	w.stop()
	w.apply("{kind: SQSQueue, metadata: {name: jobs}, spec: {}}")
	queue, err := w.get("SQSQueue", "jobs")
	if err != nil {
		t.Fatal(err)
	}
	if got := nested(queue, "status", "observedGeneration"); got != int64(-1) {
		t.Errorf("the observed generation of a new object is %v", got)
	}
	w.startOperator()
	queue = w.ready("SQSQueue", "jobs")
	if got := nested(queue, "status", "observedGeneration"); got != queue.GetGeneration() {
		t.Errorf("the observed generation of generation %d is %v", queue.GetGeneration(), got)
	}
}

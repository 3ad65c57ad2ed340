package controller_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws-operator/aws-operator/internal/grant"
	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/internal/simulator"
)

// TestWithShards runs tests of what concerns several objects with operators that share them. TEST_SHARDS=3 go test does so
// with all tests of the package; those that count the calls of the operator's own queues fail.
func TestWithShards(t *testing.T) {
	t.Setenv(shardsVariable, "3")
	for name, test := range map[string]func(*testing.T){
		"values of other namespaces": TestValuesOfOtherNamespaces,
		"a definition made again":    TestModelDefinitionRecreated,
		"a rollout that fails":       TestRolloutStopsAtTheFirstFailureAndGoesBack,
		"templates":                  TestCloudFormationTemplate,
		"a restart":                  TestRestartLeavesSharedPoliciesAlone,
	} {
		t.Run(name, test)
	}
}

// newSuiteOfShards starts three operators, and returns the suites of two namespaces that different ones serve.
func newSuiteOfShards(t *testing.T, o simulator.Options, limits render.Limits) (here, there *suite) {
	t.Helper()
	t.Setenv(shardsVariable, "3")
	here = prepareSuite(t, o, limits)
	there = here.inAnotherShard()
	here.startOperator()
	return here, there
}

// TestRolloutKeepsItsLimitAcrossShards tests that operators that share the objects of a kind together update one at a time.
func TestRolloutKeepsItsLimitAcrossShards(t *testing.T) {
	here, there := newSuiteOfShards(t, simulator.Options{Latency: func(_, operation string) time.Duration {
		if operation == "Update" {
			return 300 * time.Millisecond
		}
		return 0
	}}, render.Limits{})
	here.apply(letters("shared", "Shared", "1", "{maxConcurrent: 1}"))
	here.condition("ModelDefinition", "shared", "Ready", "True", "Served")
	names := []string{"a", "b", "c"}
	here.objectsOf("Shared", names...)
	there.objectsOf("Shared", "d", "e", "f")
	here.apply(letters("shared", "Shared", "2", "{maxConcurrent: 1}"))
	most := 0
	here.eventually("all objects are updated", func() error {
		running, updated := 0, 0
		for _, status := range here.stacks() {
			switch {
			case status == "UPDATE_IN_PROGRESS":
				running++
			case strings.HasPrefix(status, "UPDATE_COMPLETE"):
				updated++
			}
		}
		if most = max(most, running); updated < 2*len(names) {
			return fmt.Errorf("%d stacks are updated", updated)
		}
		return nil
	})
	here.rolledOut("shared", "True", "RolledOut")
	here.has("Shared", `"DelaySeconds":2`, names...)
	there.has("Shared", `"DelaySeconds":2`, "d", "e", "f")
	if most != 1 {
		t.Errorf("%d stacks were updated at the same time, want 1", most)
	}
	for _, name := range []string{"d", "e", "f"} {
		there.delete("Shared", name)
	}
	here.cleanUp("shared", "Shared", names...)
}

// TestSubscriptionsAcrossShardsShareAPolicy tests that objects of namespaces that different operators serve share the policy
// of a queue, also when one of them is deleted.
func TestSubscriptionsAcrossShardsShareAPolicy(t *testing.T) {
	here, there := newSuiteOfShards(t, simulator.Options{}, render.Limits{
		Foreign: []grant.Grant{{Namespace: "*", Pattern: "arn:aws:sqs:eu-west-1:123456789012:shared"}},
	})
	shared := here.queueOfOthers("shared", theirPolicy)
	here.apply(subscribeARN("sub-0", "topic-0", "shared", shared))
	there.apply(subscribeARN("sub-1", "topic-1", "shared", shared))
	here.ready("SNSSubscription", "sub-0")
	there.ready("SNSSubscription", "sub-1")
	names := func(count int, suites ...*suite) func() error {
		return func() error {
			for _, w := range suites {
				for _, name := range []string{"sub-0", "sub-1"} {
					if _, err := w.get("SNSSubscription", name); err != nil {
						continue
					}
					if err := w.namesTopics(name, count); err != nil {
						return err
					}
				}
			}
			return nil
		}
	}
	here.eventually("the policies in both stacks name both topics", names(2, here, there))
	there.delete("SNSSubscription", "sub-1")
	here.eventually("the policy that is left names one topic", names(1, here))
}

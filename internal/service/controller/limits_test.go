package controller_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/aws-operator/aws-operator/internal/grant"
	"github.com/aws-operator/aws-operator/internal/service/render"
)

// takeover is a template that would create a role that trusts its author's account.
const takeover = `
kind: CloudFormationTemplate
metadata: {name: takeover}
data:
  key: takeover.yaml
  template: |
    Resources:
      Door:
        Type: AWS::IAM::Role
        Properties:
          AssumeRolePolicyDocument: {Statement: [{Effect: Allow, Action: sts:AssumeRole, Principal: {AWS: "999999999999"}}]}
          ManagedPolicyArns: [arn:aws:iam::aws:policy/AdministratorAccess]
---
{kind: SQSQueue, metadata: {name: jobs}, spec: {cloudFormationTemplateName: takeover}}
`

func TestTemplatesOfUsersAreRefusedUnlessAllowed(t *testing.T) {
	for _, c := range []struct {
		name, reason, message string
		limits                render.Limits
	}{
		{"by default", "UserTemplatesOff", "--user-templates-allowed-types", render.Limits{}},
		{"with queues allowed", "TemplateNotAllowed", "resource Door is of type AWS::IAM::Role, which is not allowed", render.Limits{TemplateTypes: []string{"AWS::SQS::*"}}},
		{"with all allowed", "TemplateNotAllowed", "AWS::IAM::Role", render.Limits{TemplateTypes: []string{"*"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newLimitedSuite(t, nil, c.limits)
			w.apply(takeover)
			for kind, name := range map[string]string{"CloudFormationTemplate": "takeover", "SQSQueue": "jobs"} {
				if got := w.condition(kind, name, "Stalled", "True", c.reason); !strings.Contains(got.Message, c.message) {
					t.Errorf("%s: the message is %q, want %q", kind, got.Message, c.message)
				}
			}
			if stacks := w.stacks(); len(stacks) != 0 {
				t.Errorf("there are stacks: %v", stacks)
			}
		})
	}
}

func TestTemplatesOfOtherNamespacesAreRefusedUnlessShared(t *testing.T) {
	w := newLimitedSuite(t, nil, render.Limits{TemplateTypes: []string{"AWS::SQS::*"}})
	w.apply(
		"{kind: SQSQueue, metadata: {name: jobs}, spec: {cloudFormationTemplateName: theirs, cloudFormationTemplateNamespace: default}}",
	)
	if got := w.condition("SQSQueue", "jobs", "Stalled", "True", "TemplateNotShared"); !strings.Contains(
		got.Message, "--user-templates-namespaces",
	) {
		t.Errorf("the message is %q", got.Message)
	}
}

// Allowing a type for templates grants no capability: the model defines the capabilities.
func TestCapabilitiesAreTheModelsOnly(t *testing.T) {
	w := newLimitedSuite(t, nil, render.Limits{TemplateTypes: []string{"AWS::IAM::Role"}})
	w.apply(takeover)
	if got := w.condition("SQSQueue", "jobs", "Stalled", "True", ""); !strings.Contains(got.Message, "spec.capabilities") {
		t.Errorf("the message is %q, want the source of capabilities", got.Message)
	}
	if stacks := w.stacks(); len(stacks) != 0 {
		t.Errorf("there are stacks: %v", stacks)
	}
}

func TestDynamicReferencesInASpecAreRefused(t *testing.T) {
	w := newSuite(t, nil)
	w.apply(`
{kind: SNSTopic, metadata: {name: news}, spec: {}}
---
{kind: SNSSubscription, metadata: {name: mail}, spec: {topicName: news, protocol: email, endpoint: "{{resolve:secretsmanager:prod}}@example.com"}}
`)
	if got := w.condition("SNSSubscription", "mail", "Stalled", "True", "DynamicReferenceNotAllowed"); !strings.Contains(
		got.Message, "spec.endpoint",
	) {
		t.Errorf("the message is %q, want the field", got.Message)
	}
	w.change("SNSSubscription", "mail", `{"spec":{"endpoint":"someone@example.com"}}`)
	w.ready("SNSSubscription", "mail")
}

// queueOfOthers creates a queue with a policy that belongs to no object, and returns its URL.
func (w *suite) queueOfOthers(name, policy string) string {
	w.t.Helper()
	queue, err := sqs.NewFromConfig(w.awsConfig()).CreateQueue(w.t.Context(), &sqs.CreateQueueInput{
		QueueName: &name, Attributes: map[string]string{string(types.QueueAttributeNamePolicy): policy},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return aws.ToString(queue.QueueUrl)
}

func (w *suite) policyOf(url string) string {
	w.t.Helper()
	out, err := sqs.NewFromConfig(w.awsConfig()).GetQueueAttributes(w.t.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: &url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNamePolicy},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out.Attributes[string(types.QueueAttributeNamePolicy)]
}

const theirPolicy = `{"Version":"2012-10-17","Statement":[{"Sid":"Theirs","Effect":"Allow","Principal":{"AWS":"123456789012"},"Action":"sqs:SendMessage","Resource":"*"}]}`

func subscribeARN(name, topic, queue, url string) string {
	return fmt.Sprintf(`
{kind: SNSTopic, metadata: {name: %[2]s}, spec: {}}
---
{kind: SNSSubscription, metadata: {name: %[1]s}, spec: {topicName: %[2]s, protocol: sqs, endpoint: "arn:aws:sqs:eu-west-1:123456789012:%[3]s", queueURL: "%[4]s"}}
`, name, topic, queue, url)
}

func TestQueueOfAnotherTenantIsNotTouched(t *testing.T) {
	w := newSuite(t, nil)
	url := w.queueOfOthers("theirs", theirPolicy)
	w.apply(subscribeARN("steal", "mine", "theirs", url))
	if got := w.condition("SNSSubscription", "steal", "Stalled", "True", "ForeignResource"); !strings.Contains(
		got.Message, "--allow-foreign="+w.namespace+"=arn:aws:sqs:eu-west-1:123456789012:theirs",
	) {
		t.Errorf("the message is %q, want what to do", got.Message)
	}
	if got := w.policyOf(url); got != theirPolicy {
		t.Errorf("the policy is %s", got)
	}
}

func TestOperatorsOwnQueueIsNeverForeign(t *testing.T) {
	w := newLimitedSuite(t, nil, render.Limits{Foreign: []grant.Grant{{Namespace: "*", Pattern: "arn:aws:sqs:*"}}})
	w.apply(
		subscribeARN(
			"steal", "mine", "aws-operator-events-test", "https://sqs.eu-west-1.amazonaws.com/123456789012/aws-operator-events-test",
		),
	)
	w.condition("SNSSubscription", "steal", "Stalled", "True", "OperatorsOwn")
}

// Subscriptions to a queue that an administrator allowed have the same queue policy in all their
// stacks, and it is the policy of the endpoint, whatever queueURL says.
func TestSubscriptionsToAGrantedQueueShareItsPolicy(t *testing.T) {
	w := newLimitedSuite(
		t, nil, render.Limits{Foreign: []grant.Grant{{Namespace: "*", Pattern: "arn:aws:sqs:eu-west-1:123456789012:shared"}}},
	)
	shared, theirs := w.queueOfOthers("shared", theirPolicy), w.queueOfOthers("theirs", theirPolicy)
	w.apply(subscribeARN("sub-0", "topic-0", "shared", shared))
	w.apply(subscribeARN("sub-1", "topic-1", "shared", theirs))
	for i := range 2 {
		w.ready("SNSSubscription", fmt.Sprintf("sub-%d", i))
	}
	w.eventually("the policy names both topics", func() error {
		for i := range 2 {
			if err := w.namesTopics(fmt.Sprintf("sub-%d", i), 2); err != nil {
				return err
			}
		}
		return nil
	})
	for i := range 2 {
		w.delivers(fmt.Sprintf("topic-%d", i), shared)
	}
	if got := w.policyOf(theirs); got != theirPolicy {
		t.Errorf("queueURL changed the policy of another queue to %s", got)
	}
}

// An output is no proof that an object made a resource: its author chose the output.
func TestQueueClaimedByAnOutputIsNotTouched(t *testing.T) {
	w := newLimitedSuite(t, nil, render.Limits{TemplateTypes: []string{"AWS::SQS::Queue"}})
	url := w.queueOfOthers("theirs", theirPolicy)
	w.apply(fmt.Sprintf(`
kind: CloudFormationTemplate
metadata: {name: claim}
data:
  template: |
    Resources:
      Mine: {Type: AWS::SQS::Queue}
    Outputs:
      QueueURL: {Value: "%s"}
      QueueARN: {Value: "arn:aws:sqs:eu-west-1:123456789012:theirs"}
---
{kind: SQSQueue, metadata: {name: claims}, spec: {cloudFormationTemplateName: claim}}
---
{kind: SNSTopic, metadata: {name: mine}, spec: {}}
---
{kind: SNSSubscription, metadata: {name: steal}, spec: {topicName: mine, protocol: sqs, endpoint: claims}}
`, url))
	w.condition("SNSSubscription", "steal", "Stalled", "True", "ReferenceNotOwned")
	if got := w.policyOf(url); got != theirPolicy {
		t.Errorf("the policy is %s", got)
	}
}

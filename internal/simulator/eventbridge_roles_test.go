package simulator_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

// EventBridge calls a target in the role that the target names, in place of the target's policy.
// https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-use-resource-based.html
// https://docs.aws.amazon.com/eventbridge/latest/userguide/cross-service-confused-deputy-prevention.html
func TestEventBridgeCallsTargetsInTheirRoles(t *testing.T) {
	const account, region = "123456789012", "eu-central-1"
	_, endpoint := simulatortest.Start(t, simulator.Options{Region: region, IAM: access.Enforce, Lag: simulator.NoLag})
	config, ctx := simulatortest.Root(endpoint, account, region), t.Context()
	events, queues, topics := eventbridge.NewFromConfig(config), sqs.NewFromConfig(config), sns.NewFromConfig(config)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	urls := map[string]*string{}
	for _, name := range []string{"allowed", "denied", "of-the-topic"} {
		made, err := queues.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name, Attributes: map[string]string{"Policy": `{"Version":
			"2012-10-17","Statement":{"Effect":"Allow","Principal":{"Service":"sns.amazonaws.com"},"Action":"sqs:SendMessage","Resource":"*"}}`}})
		must(err)
		urls[name] = made.QueueUrl
	}
	topic, err := topics.CreateTopic(ctx, &sns.CreateTopicInput{Name: aws.String("topic")})
	must(err)
	_, err = topics.Subscribe(ctx, &sns.SubscribeInput{
		TopicArn: topic.TopicArn, Protocol: aws.String("sqs"), Endpoint: aws.String("arn:aws:sqs:eu-central-1:123456789012:of-the-topic"),
	})
	must(err)
	role := func(name, rule string) *string {
		made, err := iam.NewFromConfig(config).CreateRole(ctx, &iam.CreateRoleInput{
			RoleName: &name, Path: aws.String("/rules/"),
			AssumeRolePolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"sts:AssumeRole","Principal":{
				"Service":"events.amazonaws.com"},"Condition":{"StringEquals":{"aws:SourceAccount":"123456789012"},
				"ArnEquals":{"aws:SourceArn":"arn:aws:events:eu-central-1:123456789012:rule/` + rule + `"}}}}`),
		})
		must(err)
		_, err = iam.NewFromConfig(config).PutRolePolicy(ctx, &iam.PutRolePolicyInput{
			RoleName: &name, PolicyName: aws.String("deliver"),
			PolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":["sqs:SendMessage","sns:Publish"],
				"Resource":["arn:aws:sqs:eu-central-1:123456789012:allowed","` + *topic.TopicArn + `"]}}`),
		})
		must(err)
		return made.Role.Arn
	}
	own, other := role("own", "orders"), role("other", "payments")
	_, err = events.PutRule(ctx, &eventbridge.PutRuleInput{Name: aws.String("orders"), EventPattern: aws.String(`{"source":["shop"]}`)})
	must(err)
	put := func(arn string, role *string) error {
		_, err := events.PutTargets(ctx, &eventbridge.PutTargetsInput{Rule: aws.String("orders"), Targets: []types.Target{
			{Id: aws.String(arn[strings.LastIndex(arn, ":")+1:]), Arn: &arn, RoleArn: role},
		}})
		return err
	}
	for _, refused := range []*string{other, aws.String("arn:aws:iam::123456789012:role/none")} {
		if err := put("arn:aws:sqs:eu-central-1:123456789012:allowed", refused); err == nil || !strings.Contains(err.Error(), "cannot be assumed") {
			t.Errorf("the target with the role %s: %v", *refused, err)
		}
	}
	for _, arn := range []string{"arn:aws:sqs:eu-central-1:123456789012:allowed", "arn:aws:sqs:eu-central-1:123456789012:denied", *topic.TopicArn} {
		must(put(arn, own))
	}
	sent, err := events.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: []types.PutEventsRequestEntry{
		{Source: aws.String("shop"), DetailType: aws.String("order"), Detail: aws.String("{}")},
	}})
	must(err)
	if sent.FailedEntryCount > 0 {
		t.Fatalf("%+v", sent.Entries)
	}
	for name, want := range map[string]int{"allowed": 1, "denied": 0, "of-the-topic": 1} {
		if got := delivered(t, queues, urls[name]); got != want {
			t.Errorf("%d events reached %s, want %d", got, name, want)
		}
	}
}

package awsevents

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// The examples follow
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/event-detail-stack-status-change.html
// and
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/event-detail-resource-status-change.html
const (
	stackID    = "arn:aws:cloudformation:us-west-1:111122223333:stack/teststack/1"
	stackEvent = `{"version":"0","id":"6a7e8feb","detail-type":"CloudFormation Stack Status Change","source":"aws.cloudformation","account":"111122223333",` +
		`"time":"2017-12-22T18:43:48Z","region":"us-west-1","resources":["` + stackID + `"],` +
		`"detail":{"stack-id":"` + stackID + `","status-details":{"status":"CREATE_COMPLETE","status-reason":""},"client-request-token":"t1"}}`
	resourceEvent = `{"version":"0","id":"7b8f","detail-type":"CloudFormation Resource Status Change","source":"aws.cloudformation","account":"111122223333",` +
		`"time":"2017-12-22T18:43:48Z","region":"us-west-1","resources":["` + stackID + `"],` +
		`"detail":{"stack-id":"` + stackID + `","logical-resource-id":"Queue","physical-resource-id":"jobs","status-details":{"status":"CREATE_COMPLETE","status-reason":""},"resource-type":"AWS::SQS::Queue","client-request-token":"t1"}}`
)

func TestParseEvent(t *testing.T) {
	cases := []struct {
		name, body string
		stack      bool
		wrong      string
	}{
		{name: "a stack's own event", body: stackEvent, stack: true},
		{name: "a resource's event is not the stack's", body: resourceEvent},
		{
			name: "another service's event has no stack",
			body: `{"source":"aws.ec2","detail-type":"EC2 Instance State-change Notification","detail":{"instance-id":"i-1"}}`,
		},
		{name: "another service cannot send CloudFormation's events", body: strings.Replace(stackEvent, "aws.cloudformation", "my.app", 1)},
		{name: "not JSON", body: "hello", wrong: "parse an event"},
		{name: "JSON that is not an event", body: `{"Records":[]}`, wrong: "no source"},
		{
			name:  "a stack's event without its stack",
			body:  strings.ReplaceAll(stackEvent, `"stack-id":"`+stackID+`"`, `"stack-id":""`),
			wrong: "no stack-id",
		},
		{
			name: "a detail of another shape",
			body: strings.Replace(
				stackEvent,
				`"status-details":{"status":"CREATE_COMPLETE","status-reason":""}`,
				`"status-details":"CREATE_COMPLETE"`,
				1,
			),
			wrong: "parse the detail",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			event, err := parseEvent(awsapi.Target{}, c.body)
			if c.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), c.wrong) {
					t.Fatalf("error %v, want %q", err, c.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if (event.Stack != nil) != c.stack {
				t.Fatalf("stack %+v, want one: %t", event.Stack, c.stack)
			}
			if c.stack &&
				(event.Stack.StackID != stackID || event.Stack.StackName != "teststack" || event.Stack.Status != "CREATE_COMPLETE" ||
					event.Stack.Token != "t1") {
				t.Errorf("stack %+v", event.Stack)
			}
		})
	}
}

func FuzzParseEvent(f *testing.F) {
	f.Add(stackEvent)
	f.Add(resourceEvent)
	f.Add(`{"source":"aws.cloudformation","detail-type":"CloudFormation Stack Status Change","detail":null}`)
	f.Fuzz(func(t *testing.T, body string) {
		event, err := parseEvent(awsapi.Target{}, body)
		if err == nil && (event.Source == "" || !json.Valid(event.Raw)) {
			t.Errorf("%q became %+v", body, event)
		}
	})
}

func TestStackNames(t *testing.T) {
	long := strings.Repeat("cluster-", 10)
	cases := []struct{ name, cluster, want string }{
		{"the default cluster name has no suffix", "aws-operator", "aws-operator-events"},
		{"no cluster name is the default one", "", "aws-operator-events"},
		{"another operator has its own queue", "blue", "aws-operator-events-blue"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := StackName(c.cluster); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	if a, b := StackName(long+"a"), StackName(long+"b"); len(a) > maxQueueName || a == b {
		t.Errorf("long names become %s and %s, want them short enough for a queue and different", a, b)
	}
	third := operatorkit.Shard{Index: 2, Count: 3}
	if got := ShardStackName("blue", third); got != "aws-operator-events-blue-shard-2" {
		t.Errorf("the stack of a shard is %s", got)
	}
	if a, b := ShardStackName(long+"a", third), ShardStackName(long+"b", third); len(a) > maxQueueName || a == b {
		t.Errorf("long names of shards become %s and %s", a, b)
	}
}

func TestOwnStackIsValid(t *testing.T) {
	desired, err := Desired("blue", operatorkit.Shard{})
	if err != nil {
		t.Fatal(err)
	}
	if problems := append(desired.Template.Check(), schema.Default().Validate(desired.Template)...); len(problems) > 0 {
		t.Error(problems)
	}
}

func TestRecentIDsForgetTheOldest(t *testing.T) {
	recent := newRecentIDs()
	if !recent.add("first") || recent.add("first") {
		t.Error("an identifier must be new once")
	}
	for i := range rememberedIDs {
		recent.add(strings.Repeat("x", i+1))
	}
	if !recent.add("first") {
		t.Error("the oldest identifier was not forgotten")
	}
	if len(recent.known) > rememberedIDs {
		t.Errorf("%d identifiers are held, want at most %d", len(recent.known), rememberedIDs)
	}
}

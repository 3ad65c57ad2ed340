package permissions

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/awsevents"
	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation/simulated"
)

// An operator without grants may make no role for a kind of a service, and one with grants may make
// roles below its own path only, through CloudFormation.
func TestRolesOfGrantsAreLimitedToTheirPath(t *testing.T) {
	choice := Choice{
		Kinds: []string{"SQSQueue"}, Partition: "aws", Suffix: "amazonaws.com", Account: "123456789012", Operator: "blue",
		Events: "blue-events",
	}
	count := func() (found []Statement) {
		documents, err := choice.Documents()
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range documents {
			for _, s := range d.Statements {
				if slices.Contains(s.Action, "iam:CreateRole") || slices.Contains(s.Action, "iam:PutRolePolicy") {
					found = append(found, s)
				}
			}
		}
		return found
	}
	if found := count(); len(found) > 0 {
		t.Errorf("without grants, %v", found)
	}
	choice.Grants = true
	found := count()
	if len(found) != 1 {
		t.Fatalf("with grants, %v", found)
	}
	if want := []string{"arn:aws:iam::123456789012:role/aws-operator/blue/*"}; !slices.Equal(found[0].Resource, want) {
		t.Errorf("the resources are %v, want %v", found[0].Resource, want)
	}
	if via := found[0].Condition["ForAnyValue:StringEquals"]["aws:CalledVia"]; !slices.Equal(via, []string{"cloudformation.amazonaws.com"}) {
		t.Errorf("the condition is %v", found[0].Condition)
	}
	for _, kind := range []string{"AWS::IAM::Role", "AWS::IAM::Policy"} {
		for _, operation := range []string{"Create", "Update", "Delete"} {
			if asked := simulated.Action(kind, operation); !slices.Contains(found[0].Action, asked) {
				t.Errorf("%s of %s requires %s", operation, kind, asked)
			}
		}
	}
	documents, _ := choice.Documents()
	stacks := false
	for _, d := range documents {
		for _, s := range d.Statements {
			stacks = stacks || s.Sid == "OwnStacks" && slices.ContainsFunc(s.Resource, func(r string) bool {
				return strings.HasSuffix(r, ":stack/blue-iam-serviceaccount-*")
			})
		}
	}
	if !stacks {
		t.Error("the stacks of roles are not among those of the operator")
	}
}

// An operator may pass only roles below its own path, only to the services of its kinds, and only if it
// has grants. No kind lets CloudFormation pass any role.
func TestRolesThatTheOperatorMayPass(t *testing.T) {
	passes := func(c Choice) (found []Statement) {
		t.Helper()
		c.Partition, c.Suffix, c.Account, c.Operator, c.Events = "aws", "amazonaws.com", "123456789012", "blue", "blue-events"
		documents, err := c.Documents()
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range documents {
			for _, s := range d.Statements {
				if slices.Contains(s.Action, "iam:PassRole") {
					found = append(found, s)
				}
			}
		}
		return found
	}
	for _, none := range []Choice{
		{Kinds: []string{"Lambda", "StepFunction", "EventBridgeRule"}}, {Kinds: []string{"SQSQueue", "SNSTopic"}, Grants: true}, {Kinds: []string{"S3Bucket"}},
	} {
		if found := passes(none); len(found) > 0 {
			t.Errorf("%+v: %v", none, found)
		}
	}
	for service, c := range map[string]Choice{
		"lambda.amazonaws.com": {Kinds: []string{"Lambda"}, Grants: true}, "events.amazonaws.com": {Kinds: []string{"EventBridgeRule"}, Grants: true},
	} {
		found := passes(c)
		if len(found) != 1 || !slices.Equal(found[0].Resource, []string{"arn:aws:iam::123456789012:role/aws-operator/blue/*"}) ||
			!slices.Equal(found[0].Condition["StringEquals"]["iam:PassedToService"], []string{service}) ||
			!slices.Equal(found[0].Condition["ForAnyValue:StringEquals"]["aws:CalledVia"], []string{"cloudformation.amazonaws.com"}) {
			t.Errorf("%v: %+v", c.Kinds, found)
		}
	}
}

// With shards, the operator may use the queues of its shards, and not another operator's.
func TestQueuesOfShards(t *testing.T) {
	choice := Choice{
		Kinds: []string{"SQSQueue"}, Partition: "aws", Suffix: "amazonaws.com", Account: "123456789012", Operator: "blue",
		Events: awsevents.ShardStackNames("blue"),
	}
	documents, err := choice.Documents()
	if err != nil {
		t.Fatal(err)
	}
	queues, stacks := false, false
	for _, d := range documents {
		for _, s := range d.Statements {
			queues = queues || s.Sid == "Events" && slices.Equal(s.Resource, []string{"arn:aws:sqs:*:123456789012:aws-operator-events-blue-shard-*"})
			stacks = stacks || s.Sid == "OwnStacks" && slices.Contains(s.Resource, "arn:aws:cloudformation:*:123456789012:stack/aws-operator-events-blue-shard-*/*")
		}
	}
	if !queues || !stacks {
		t.Errorf("the queues of the shards: %v; their stacks: %v", queues, stacks)
	}
}

package policy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aws-operator/aws-operator/internal/cfn/diff"
	"github.com/aws-operator/aws-operator/internal/cfn/policy"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

func plan(t *testing.T, old, desired string) *diff.Plan {
	t.Helper()
	side := func(resources string) diff.Side {
		parsed, err := template.Parse("t", []byte("Resources: {"+resources+"}"))
		if err != nil {
			t.Fatal(err)
		}
		return diff.Side{Template: parsed}
	}
	return diff.Compare(side(old), side(desired), schema.Default())
}

func TestCheck(t *testing.T) {
	const keep = "K: {Type: AWS::SNS::Topic}, "
	for _, c := range []struct {
		reason, old, desired string
		allow                policy.Allow
		want                 []policy.Refusal
	}{
		{"additions are allowed", keep, keep + "Q: {Type: AWS::SQS::Queue}", policy.Allow{}, nil},
		{"changes in place are allowed", "Q: {Type: AWS::SQS::Queue}", "Q: {Type: AWS::SQS::Queue, Properties: {DelaySeconds: 1}}", policy.Allow{}, nil},
		{
			"a queue contains messages", "Q: {Type: AWS::SQS::Queue}",
			"Q: {Type: AWS::SQS::Queue, Properties: {QueueName: a, FifoQueue: true}}",
			policy.Allow{},
			[]policy.Refusal{{LogicalID: "Q", Reason: policy.StatefulReplacement, Message: "Q (AWS::SQS::Queue) would be replaced with an empty one because FifoQueue and QueueName change, and its data would be lost. Undo the change, or accept the replacement with the annotation service-operator.aws/allow: replace."}},
		},
		{
			"the message names the caller's annotation", "Q: {Type: AWS::SQS::Queue}", keep,
			policy.Allow{Annotation: "example.com/allow"},
			[]policy.Refusal{{LogicalID: "Q", Reason: policy.StatefulRemoval, Message: "Q (AWS::SQS::Queue) would be removed, and its data would be lost. Restore it in the template, or accept the removal with the annotation example.com/allow: remove."}},
		},
		{"consent to replacement", "Q: {Type: AWS::SQS::Queue}", "Q: {Type: AWS::SQS::Queue, Properties: {QueueName: a}}", policy.Allow{Replace: true}, nil},
		{
			"consent to removal is not consent to replacement", "Q: {Type: AWS::SQS::Queue}",
			"Q: {Type: AWS::SQS::Queue, UpdateReplacePolicy: Retain, Properties: {QueueName: a}}",
			policy.Allow{Remove: true},
			[]policy.Refusal{{LogicalID: "Q", Reason: policy.StatefulReplacement, Message: "Q (AWS::SQS::Queue) would be replaced with an empty one because QueueName changes, and the old one would be retained. Undo the change, or accept the replacement with the annotation service-operator.aws/allow: replace."}},
		},
		{
			"only AWS knows whether a table is replaced",
			"T: {Type: AWS::DynamoDB::Table, Properties: {KeySchema: [{AttributeName: a, KeyType: HASH}]}}",
			"T: {Type: AWS::DynamoDB::Table, Properties: {KeySchema: [{AttributeName: b, KeyType: HASH}]}}",
			policy.Allow{},
			[]policy.Refusal{{LogicalID: "T", Reason: policy.StatefulMayBeReplaced, Message: "T (AWS::DynamoDB::Table) may be replaced with an empty one because KeySchema/0/AttributeName changes, and its data would be lost. Undo the change, or accept a replacement with the annotation service-operator.aws/allow: replace."}},
		},
		{
			"a table is removed", keep + "T: {Type: AWS::DynamoDB::Table}", keep,
			policy.Allow{Replace: true},
			[]policy.Refusal{{LogicalID: "T", Reason: policy.StatefulRemoval, Message: "T (AWS::DynamoDB::Table) would be removed, and its data would be lost. Restore it in the template, or accept the removal with the annotation service-operator.aws/allow: remove."}},
		},
		{
			"a snapshot does not replace the database", keep + "T: {Type: AWS::RDS::DBCluster}", keep,
			policy.Allow{},
			[]policy.Refusal{{LogicalID: "T", Reason: policy.StatefulRemoval, Message: "T (AWS::RDS::DBCluster) would be removed, and only a snapshot of its data would be kept. Restore it in the template, or accept the removal with the annotation service-operator.aws/allow: remove."}},
		},
		{"a retained table may be removed", keep + "T: {Type: AWS::DynamoDB::Table, DeletionPolicy: Retain}", keep, policy.Allow{}, nil},
		{"consent to removal", keep + "T: {Type: AWS::DynamoDB::Table}", keep, policy.Allow{Remove: true}, nil},
		{"a topic contains no data", keep + "T: {Type: AWS::SNS::Topic}", keep, policy.Allow{}, nil},
		{
			"CloudFormation cannot replace a table that keeps its name, whatever is allowed",
			"T: {Type: AWS::DynamoDB::Table, Properties: {TableName: mine, KeySchema: [{AttributeName: a, KeyType: HASH}]}}",
			"T: {Type: AWS::DynamoDB::Table, Properties: {TableName: mine, KeySchema: [{AttributeName: b, KeyType: HASH}]}}",
			policy.Allow{Replace: true, Object: "mine"},
			[]policy.Refusal{{LogicalID: "T", Reason: policy.FixedName, Message: "T (AWS::DynamoDB::Table) must be replaced because KeySchema/0/AttributeName changes, and CloudFormation cannot replace a resource that keeps its name (TableName mine). Undo the change. To make it, create another object under another name, move to it and delete this one; or delete this object, which deletes T with its data, and create it again."}},
		},
		{
			"a name that the object's spec sets can change with the rest",
			"S: {Type: AWS::Kinesis::Stream, Properties: {Name: mine}}, T: {Type: AWS::SNS::Topic, Properties: {TopicName: news, FifoTopic: false}}",
			"S: {Type: AWS::Kinesis::Stream, Properties: {Name: mine}}, T: {Type: AWS::SNS::Topic, Properties: {TopicName: news, FifoTopic: true}}",
			policy.Allow{Object: "other"},
			[]policy.Refusal{{LogicalID: "T", Reason: policy.FixedName, Message: "T (AWS::SNS::Topic) must be replaced because FifoTopic changes, and CloudFormation cannot replace a resource that keeps its name (TopicName news). Undo the change, or change TopicName as well."}},
		},
		{
			"a table under another name can be replaced",
			"T: {Type: AWS::DynamoDB::Table, Properties: {TableName: mine, KeySchema: [{AttributeName: a, KeyType: HASH}]}}",
			"T: {Type: AWS::DynamoDB::Table, Properties: {TableName: new, KeySchema: [{AttributeName: b, KeyType: HASH}]}}",
			policy.Allow{Replace: true},
			nil,
		},
		{
			"only AWS knows whether a database is replaced",
			"D: {Type: AWS::RDS::DBInstance, Properties: {DBInstanceIdentifier: mine, StorageType: gp2}}",
			"D: {Type: AWS::RDS::DBInstance, Properties: {DBInstanceIdentifier: mine, StorageType: gp3}}",
			policy.Allow{Replace: true},
			nil,
		},
		{
			"a revision has the name of the one before",
			"J: {Type: AWS::Batch::JobDefinition, Properties: {JobDefinitionName: mine, Type: container}}",
			"J: {Type: AWS::Batch::JobDefinition, Properties: {JobDefinitionName: mine, Type: multinode}}",
			policy.Allow{},
			nil,
		},
		{
			"CloudFormation refuses another type, whatever is allowed", "Q: {Type: AWS::SQS::Queue}", "Q: {Type: AWS::SNS::Topic}",
			policy.Allow{Replace: true, Remove: true},
			[]policy.Refusal{{LogicalID: "Q", Reason: policy.TypeChange, Message: "CloudFormation cannot change the type of Q from AWS::SQS::Queue to AWS::SNS::Topic. Give the new resource another logical ID."}},
		},
	} {
		if d := cmp.Diff(c.want, policy.Check(plan(t, c.old, c.desired), c.allow)); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, d)
		}
	}
}

func TestParseAllow(t *testing.T) {
	for _, c := range []struct {
		reason, value string
		want          policy.Allow
		asks          string
	}{
		{"no annotation", "", policy.Allow{}, "service-operator.aws/allow: remove"},
		{"one word", "replace", policy.Allow{Replace: true}, "service-operator.aws/allow: remove"},
		{"two words with spaces", " remove , replace", policy.Allow{Replace: true, Remove: true}, "service-operator.aws/allow: remove"},
		{
			"a misspelled word is not a consent", "replace,removal",
			policy.Allow{Replace: true, Unknown: []string{"removal"}},
			`service-operator.aws/allow: remove (it has "removal", which means nothing)`,
		},
	} {
		got := policy.ParseAllow(c.value)
		if !cmp.Equal(got, c.want) || got.Asks(policy.AllowRemove) != c.asks {
			t.Errorf("%s: got %v, %q", c.reason, got, got.Asks(policy.AllowRemove))
		}
	}
}

func TestOnlyMissingResourcesMayBeRemoved(t *testing.T) {
	p := plan(
		t,
		`One: {Type: AWS::EC2::Volume, Properties: {AvailabilityZone: a}}, Two: {Type: AWS::EC2::Volume, Properties: {AvailabilityZone: b}}`,
		`Other: {Type: AWS::EC2::Volume, Properties: {AvailabilityZone: a}}`,
	)
	refusals := policy.Check(p, policy.Allow{Gone: []string{"One"}})
	if len(refusals) != 1 || refusals[0].LogicalID != "Two" || refusals[0].Reason != policy.StatefulRemoval {
		t.Errorf("refused: %+v", refusals)
	}
}

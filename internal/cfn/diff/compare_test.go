package diff_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/aws-operator/aws-operator/internal/cfn/diff"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/golden"
)

func side(t *testing.T, text string, parameters map[string]string) diff.Side {
	t.Helper()
	parsed, err := template.Parse("t", []byte(text))
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	return diff.Side{Template: parsed, Parameters: parameters}
}

// summary returns a plan's changes, one per line: "id action path path!".
func summary(p *diff.Plan) string {
	var lines []string
	for _, change := range p.Changes {
		line := change.LogicalID + " " + string(change.Action)
		for _, property := range change.Properties {
			line += " " + property.Path
			if property.ForcesReplacement {
				line += "!"
			}
			if property.MayReplace {
				line += "?"
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestCompareOneResource(t *testing.T) {
	for _, c := range []struct{ reason, typeName, old, desired, want string }{
		{"no change", "AWS::SQS::Queue", "{DelaySeconds: 5}", "{DelaySeconds: 5}", ""},
		{"numbers equal their text", "AWS::SQS::Queue", "{DelaySeconds: 5}", `{DelaySeconds: "5"}`, ""},
		{"booleans equal their text", "AWS::SQS::Queue", "{FifoQueue: true}", `{FifoQueue: "True"}`, ""},
		{"numbers are equal in other notations", "AWS::SQS::Queue", "{DelaySeconds: 5}", `{DelaySeconds: 5.0}`, ""},
		{"strings that look like numbers are compared as strings", "AWS::SQS::Queue", "{QueueName: '1'}", `{QueueName: '1.0'}`, "R Replace QueueName!"},
		{"the order of members does not matter", "AWS::SQS::Queue", "{DelaySeconds: 5, QueueName: a}", "{QueueName: a, DelaySeconds: 5}", ""},
		{"a property that can be changed in place", "AWS::SQS::Queue", "{DelaySeconds: 5}", "{DelaySeconds: 6}", "R Update DelaySeconds"},
		{"an added property", "AWS::SQS::Queue", "{}", "{DelaySeconds: 6}", "R Update DelaySeconds"},
		{"a removed property", "AWS::SQS::Queue", "{DelaySeconds: 6}", "{}", "R Update DelaySeconds"},
		{"AWS::NoValue leaves it out too", "AWS::SQS::Queue", "{DelaySeconds: !Ref AWS::NoValue}", "{}", ""},
		{"a create-only property", "AWS::SQS::Queue", "{QueueName: a}", "{QueueName: b}", "R Replace QueueName!"},
		{"an added property that forces replacement", "AWS::SQS::Queue", "{}", "{QueueName: b}", "R Replace QueueName!"},
		{"an update and a replacement", "AWS::SQS::Queue", "{QueueName: a}", "{QueueName: b, DelaySeconds: 1}", "R Replace DelaySeconds QueueName!"},
		{"a change that AWS's page, not the schema, says may replace", "AWS::DynamoDB::Table", "{AttributeDefinitions: [{AttributeName: a, AttributeType: S}]}", "{AttributeDefinitions: [{AttributeName: a, AttributeType: N}]}", "R MayReplace AttributeDefinitions/0/AttributeType?"},
		{"an added element of a list with keys", "AWS::DynamoDB::Table", "{AttributeDefinitions: [{AttributeName: a, AttributeType: S}]}", "{AttributeDefinitions: [{AttributeName: a, AttributeType: S}, {AttributeName: b, AttributeType: N}]}", "R Update AttributeDefinitions"},
		{"a removed element of a list with keys", "AWS::DynamoDB::Table", "{AttributeDefinitions: [{AttributeName: a, AttributeType: S}, {AttributeName: b, AttributeType: N}]}", "{AttributeDefinitions: [{AttributeName: b, AttributeType: N}]}", "R Update AttributeDefinitions"},
		{"another element of a list with keys", "AWS::DynamoDB::Table", "{AttributeDefinitions: [{AttributeName: a, AttributeType: S}, {AttributeName: b, AttributeType: N}]}", "{AttributeDefinitions: [{AttributeName: a, AttributeType: S}, {AttributeName: c, AttributeType: S}]}", "R Update AttributeDefinitions"},
		{"another order of a list with keys", "AWS::DynamoDB::Table", "{AttributeDefinitions: [{AttributeName: a, AttributeType: S}, {AttributeName: b, AttributeType: N}]}", "{AttributeDefinitions: [{AttributeName: b, AttributeType: N}, {AttributeName: a, AttributeType: S}]}", "R Update AttributeDefinitions"},
		{"an added and a changed element of a list with keys", "AWS::DynamoDB::Table", "{AttributeDefinitions: [{AttributeName: a, AttributeType: S}]}", "{AttributeDefinitions: [{AttributeName: b, AttributeType: S}, {AttributeName: a, AttributeType: N}]}", "R MayReplace AttributeDefinitions?"},
		{"elements without their keys are compared by their position", "AWS::DynamoDB::Table", "{AttributeDefinitions: [{AttributeName: a, AttributeType: S}]}", "{AttributeDefinitions: [{AttributeName: !Ref AWS::StackName, AttributeType: S}, {AttributeName: a, AttributeType: S}]}", "R MayReplace AttributeDefinitions?"},
		{"a conditional create-only property", "AWS::DynamoDB::Table", "{KeySchema: [{AttributeName: a, KeyType: HASH}]}", "{KeySchema: [{AttributeName: b, KeyType: HASH}]}", "R MayReplace KeySchema/0/AttributeName?"},
		{"a nested property of a create-only one", "AWS::EC2::Instance", "{CpuOptions: {CoreCount: 1}}", "{CpuOptions: {CoreCount: 2}}", "R Replace CpuOptions/CoreCount!"},
		{"a nested create-only property", "AWS::Batch::ComputeEnvironment", "{ComputeResources: {SpotIamFleetRole: a, MaxvCpus: 1}}", "{ComputeResources: {SpotIamFleetRole: b, MaxvCpus: 2}}", "R Replace ComputeResources/MaxvCpus ComputeResources/SpotIamFleetRole!"},
		{"a list of another length is one change", "AWS::SQS::Queue", "{Tags: [{Key: a, Value: b}]}", "{Tags: []}", "R Update Tags"},
		{"an element of a list", "AWS::SNS::Topic", "{Subscription: [{Endpoint: a, Protocol: sqs}]}", "{Subscription: [{Endpoint: b, Protocol: sqs}]}", "R Update Subscription/0/Endpoint"},
		{"Ref instead of a value", "AWS::SQS::Queue", "{QueueName: a}", "{QueueName: !Ref AWS::StackName}", "R Replace QueueName!"},
		{"a custom resource has no schema", "Custom::Thing", "{A: [1], B: {C: d}}", "{A: [2], B: {C: e}}", "R Update A/0 B/C"},
	} {
		resource := func(properties string) diff.Side {
			return side(t, "Resources: {R: {Type: '"+c.typeName+"', Properties: "+properties+"}}", nil)
		}
		got := summary(diff.Compare(resource(c.old), resource(c.desired), schema.Default()))
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.reason, got, c.want)
		}
	}
}

func TestCompareTemplates(t *testing.T) {
	const queue = "Resources:\n  Q: {Type: AWS::SQS::Queue}\n"
	for _, c := range []struct{ reason, old, desired, want string }{
		{"an added resource", queue, queue + "  R: {Type: AWS::SNS::Topic}\n", "R Add"},
		{"a removed resource", queue + "  R: {Type: AWS::SNS::Topic}\n", queue, "R Remove"},
		{"another type", queue, "Resources:\n  Q: {Type: AWS::SNS::Topic}\n", "Q Replace"},
		{"DependsOn alone is nothing to AWS", queue, "Resources:\n  Q: {Type: AWS::SQS::Queue, DependsOn: []}\n", ""},
		{"metadata", queue, "Resources:\n  Q: {Type: AWS::SQS::Queue, Metadata: {a: b}}\n", "Q Update .Metadata"},
		{"a deletion policy", queue, "Resources:\n  Q: {Type: AWS::SQS::Queue, DeletionPolicy: Retain}\n", "Q Update .DeletionPolicy"},
		{
			"a condition that becomes false removes the resource",
			"Conditions: {C: !Equals [a, a]}\nResources:\n  Q: {Type: AWS::SQS::Queue, Condition: C}\n",
			"Conditions: {C: !Equals [a, b]}\nResources:\n  Q: {Type: AWS::SQS::Queue, Condition: C}\n",
			"Q Remove",
		},
		{
			"a condition that only AWS can judge is taken to hold",
			"Conditions: {C: !Equals [!Ref AWS::Region, a]}\nResources:\n  Q: {Type: AWS::SQS::Queue, Condition: C}\n",
			"Conditions: {C: !Equals [!Ref AWS::Region, b]}\nResources:\n  Q: {Type: AWS::SQS::Queue, Condition: C}\n",
			"",
		},
		{
			"the same text composed differently",
			"Resources:\n  Q: {Type: AWS::SQS::Queue, Properties: {QueueName: 'a-${b}'}}\n",
			"Mappings: {M: {a: {b: a}}}\nResources:\n  Q: {Type: AWS::SQS::Queue, Properties: {QueueName: !Join ['-', [!FindInMap [M, a, b], !Sub ['${!b}', {}]]]}}\n",
			"",
		},
		{
			"a replaced resource changes what refers to it, and on from there where that is create-only",
			"Resources:\n" +
				"  T: {Type: AWS::SNS::Topic, Properties: {TopicName: a}}\n" +
				"  S: {Type: AWS::SNS::Subscription, Properties: {TopicArn: !Ref T, Protocol: sqs, Endpoint: !Sub '${Q.Arn}'}}\n" +
				"  Q: {Type: AWS::SQS::Queue, Properties: {Tags: [{Key: t, Value: !GetAtt T.TopicArn}]}}\n" +
				"  P: {Type: AWS::SQS::QueuePolicy, Properties: {Queues: [!Ref Q], PolicyDocument: {Sub: !Ref S}}}\n",
			"Resources:\n" +
				"  T: {Type: AWS::SNS::Topic, Properties: {TopicName: b}}\n" +
				"  S: {Type: AWS::SNS::Subscription, Properties: {TopicArn: !Ref T, Protocol: sqs, Endpoint: !Sub '${Q.Arn}'}}\n" +
				"  Q: {Type: AWS::SQS::Queue, Properties: {Tags: [{Key: t, Value: !GetAtt T.TopicArn}]}}\n" +
				"  P: {Type: AWS::SQS::QueuePolicy, Properties: {Queues: [!Ref Q], PolicyDocument: {Sub: !Ref S}}}\n",
			"P Update PolicyDocument/Sub\nQ Update Tags/0/Value\nS MayReplace TopicArn?\nT Replace TopicName!",
		},
	} {
		got := summary(diff.Compare(side(t, c.old, nil), side(t, c.desired, nil), schema.Default()))
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, d)
		}
	}
}

func TestCompareParameters(t *testing.T) {
	const text = `
Parameters:
  Delay: {Type: Number, Default: 5}
  Name: {Type: String, Default: a}
  Groups: {Type: CommaDelimitedList, Default: "a, b"}
  Unused: {Type: String, Default: a}
  Secret: {Type: String, NoEcho: true, Default: a}
Conditions:
  Named: !Not [!Equals [!Ref Name, a]]
Resources:
  Q:
    Type: AWS::SQS::Queue
    Properties:
      DelaySeconds: !Ref Delay
      QueueName: !If [Named, !Sub "q-${Name}", !Ref AWS::NoValue]
  I: {Type: AWS::EC2::Instance, Properties: {SecurityGroupIds: !Ref Groups, UserData: !Ref Secret}}
`
	for _, c := range []struct {
		reason       string
		old, desired map[string]string
		want         string
		parameters   []string
	}{
		{"the same values", nil, nil, "", nil},
		{"a default passed explicitly", nil, map[string]string{"Delay": "5"}, "", nil},
		{"a Ref to a changed parameter is a change", nil, map[string]string{"Delay": "6"}, "Q Update DelaySeconds", []string{"Delay"}},
		{"a condition adds a property", nil, map[string]string{"Name": "b"}, "Q Replace QueueName!", []string{"Name"}},
		{"equal lists", nil, map[string]string{"Groups": "a,b"}, "", []string{"Groups"}},
		{"an element of a list", nil, map[string]string{"Groups": "a,c"}, "I MayReplace SecurityGroupIds/1?", []string{"Groups"}},
		{"an unused parameter", nil, map[string]string{"Unused": "b"}, "", []string{"Unused"}},
		{"a secret", nil, map[string]string{"Secret": "hush"}, "I MayReplace UserData?", []string{"Secret"}},
		{"an unchanged secret", map[string]string{"Secret": "hush"}, map[string]string{"Secret": "hush"}, "", nil},
		{"a secret that CloudFormation hides is not taken to replace", map[string]string{"Secret": "****"}, map[string]string{"Secret": "hush"}, "I Update UserData", []string{"Secret"}},
	} {
		plan := diff.Compare(side(t, text, c.old), side(t, text, c.desired), schema.Default())
		if got := summary(plan); got != c.want {
			t.Errorf("%s: got %q, want %q", c.reason, got, c.want)
		}
		if d := cmp.Diff(c.parameters, plan.ParametersChanged); d != "" {
			t.Errorf("%s: %s", c.reason, d)
		}
		printed, err := json.Marshal(plan)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(plan.String()+string(printed), "hush") {
			t.Errorf("%s: the plan shows the secret:\n%s\n%s", c.reason, plan, printed)
		}
	}
}

func TestPlanPrints(t *testing.T) {
	old := side(t, `
Description: before
Parameters: {Delay: {Type: Number, Default: 5}}
Resources:
  Changed: {Type: AWS::SQS::Queue, Properties: {DelaySeconds: !Ref Delay, RedrivePolicy: {maxReceiveCount: 1}}}
  Replaced: {Type: AWS::SQS::Queue, Properties: {QueueName: a}}
  Table: {Type: AWS::DynamoDB::Table, DeletionPolicy: Retain, Properties: {KeySchema: [{AttributeName: a, KeyType: HASH}]}}
  Database: {Type: AWS::RDS::DBInstance}
  Topic: {Type: AWS::SNS::Topic, Properties: {DisplayName: !Ref Replaced}}
  Retyped: {Type: AWS::SNS::Topic}
Outputs:
  url: {Value: !Ref Replaced}
`, map[string]string{"Delay": "5"})
	old.Tags = map[string]string{"a": "b"}
	desired := side(t, `
Description: after
Parameters: {Delay: {Type: Number, Default: 5}}
Resources:
  Added: {Type: AWS::SQS::Queue}
  Changed: {Type: AWS::SQS::Queue, Properties: {DelaySeconds: !Ref Delay, RedrivePolicy: {maxReceiveCount: 2}}}
  Replaced: {Type: AWS::SQS::Queue, UpdateReplacePolicy: Retain, Properties: {QueueName: b}}
  Topic: {Type: AWS::SNS::Topic, Properties: {DisplayName: !Ref Replaced}}
  Retyped: {Type: AWS::SQS::Queue}
Outputs:
  url: {Value: !GetAtt Replaced.Arn}
`, map[string]string{"Delay": "7"})
	plan := diff.Compare(old, desired, schema.Default())
	golden.Equal(t, "plan.txt", []byte(plan.String()))
	printed, err := json.MarshalIndent(plan, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "plan.json", printed)
}

func TestMissingStackAddsEverything(t *testing.T) {
	plan := diff.Compare(diff.Side{}, side(t, "Resources: {Q: {Type: AWS::SQS::Queue}}", nil), schema.Default())
	if got := summary(plan); got != "Q Add" || plan.Empty() {
		t.Errorf("got %q", got)
	}
	if got := diff.Compare(diff.Side{}, diff.Side{}, schema.Default()).String(); got != "No changes.\n" {
		t.Errorf("got %q", got)
	}
}

func TestTemplateEqualsItself(t *testing.T) {
	text, err := os.ReadFile("../template/testdata/parse/every-intrinsic.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(r *rapid.T) {
		parameters := map[string]string{
			"Env":  rapid.SampledFrom([]string{"dev", "prod"}).Draw(r, "env"),
			"Vpc":  rapid.String().Draw(r, "vpc"),
			"Size": rapid.SampledFrom([]string{"1", "2"}).Draw(r, "size"),
		}
		one := side(t, string(text), parameters)
		again, err := template.Parse("again", one.Template.YAML())
		if err != nil {
			r.Fatal(err)
		}
		plan := diff.Compare(one, diff.Side{Template: again, Parameters: parameters}, schema.Default())
		if !plan.Empty() {
			r.Fatal(plan)
		}
	})
}

func FuzzCompare(f *testing.F) {
	text, err := os.ReadFile("../template/testdata/parse/every-intrinsic.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text, "dev", "prod")
	f.Add(
		[]byte("Transform: A\nConditions: {C: !Not {a: b}}\nResources: {R: {Type: AWS::S3::Bucket, Properties: {Tags: !If !Ref a}}}"),
		"",
		"",
	)
	f.Add([]byte(`{"Resources": {"R": {"Type": "AWS::SQS::Queue", "Properties": {"Tags": [{"Fn::If": [1, null, {"Ref": {}}]}]}}}}`), "", "")
	f.Fuzz(func(t *testing.T, data []byte, before, after string) {
		parsed, err := template.Parse("t", data)
		if err != nil {
			return
		}
		parsed.Check()
		schema.Default().Validate(parsed)
		parameters := func(value string) map[string]string {
			all := map[string]string{}
			for name := range parsed.Parameters {
				all[name] = value
			}
			return all
		}
		one := diff.Side{Template: parsed, Parameters: parameters(before)}
		if plan := diff.Compare(one, one, schema.Default()); !plan.Empty() {
			t.Errorf("a template differs from itself:\n%s", plan)
		}
		_ = diff.Compare(one, diff.Side{Template: parsed, Parameters: parameters(after)}, schema.Default()).String()
		_ = diff.Compare(one, diff.Side{}, schema.Default()).String()
	})
}

package schema_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

func validate(t *testing.T, text string) string {
	t.Helper()
	parsed, err := template.Parse("t", []byte(text))
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	return schema.Default().Validate(parsed).Error()
}

// resource returns a template with one resource on one line.
func resource(typeName, properties string) string {
	return "Resources: {R: {Type: '" + typeName + "', Properties: " + properties + "}}\n"
}

func TestValidateOneResource(t *testing.T) {
	for _, c := range []struct{ reason, typeName, properties, want string }{
		{"a queue has no required properties", "AWS::SQS::Queue", "{}", ""},
		{"a misspelled property", "AWS::SQS::Queue", "{VisibiltyTimeout: 5}", "t:1:55: AWS::SQS::Queue has no property VisibiltyTimeout; did you mean VisibilityTimeout?"},
		{"a misspelled nested property", "AWS::S3::Bucket", "{VersioningConfiguration: {Stats: Enabled}}", "t:1:81: AWS::S3::Bucket has no property Stats in VersioningConfiguration; did you mean Status?"},
		{"a name in a map that AWS refuses", "AWS::Lambda::Function", "{Code: {}, Role: 'arn:aws:iam::123456789012:role/r', Environment: {Variables: {A: x}}}", `t:1:139: AWS::Lambda::Function property Environment/Variables cannot have the name "A": names must match [a-zA-Z][a-zA-Z0-9_]+`},
		{"a number may be a string", "AWS::SQS::Queue", `{DelaySeconds: "5"}`, ""},
		{"a boolean may be a string", "AWS::SQS::Queue", `{FifoQueue: "true"}`, ""},
		{"a string may be a boolean", "AWS::SQS::Queue", `{QueueName: true}`, ""},
		{"a string may be a number", "AWS::SQS::Queue", `{QueueName: 5}`, ""},
		{"a string that is not a number", "AWS::SQS::Queue", `{DelaySeconds: five}`, `t:1:69: AWS::SQS::Queue property DelaySeconds must be an integer, not the string "five"`},
		{"a fraction for an integer", "AWS::SQS::Queue", `{DelaySeconds: 1.5}`, `t:1:69: AWS::SQS::Queue property DelaySeconds must be an integer, not the number 1.5`},
		{"a list for a scalar", "AWS::SQS::Queue", `{DelaySeconds: [5]}`, `t:1:69: AWS::SQS::Queue property DelaySeconds must be an integer, not a list`},
		{"a scalar for a list, which CloudFormation refuses", "AWS::SQS::Queue", `{Tags: a}`, `t:1:61: AWS::SQS::Queue property Tags must be a list, not the string "a"`},
		{"a property that AWS sets", "AWS::SQS::Queue", `{Arn: a}`, `t:1:55: AWS::SQS::Queue property Arn is read-only: AWS sets it`},
		{"an enum, with the likely value", "AWS::S3::Bucket", `{VersioningConfiguration: {Status: Enable}}`, `t:1:89: AWS::S3::Bucket property VersioningConfiguration/Status must be one of Enabled, Suspended, not "Enable"; did you mean Enabled?`},
		{"an instance type that is newer than the schemas", "AWS::EC2::LaunchTemplate", `{LaunchTemplateData: {InstanceType: m99.large}}`, ""},
		{"a required property", "AWS::DynamoDB::Table", `{TableName: tab}`, `t:1:59: AWS::DynamoDB::Table requires property KeySchema`},
		{"a required property of an element", "AWS::SQS::Queue", `{Tags: [{Key: a}]}`, `t:1:62: AWS::SQS::Queue requires property Value in Tags/0`},
		{"AWS::NoValue is not given", "AWS::DynamoDB::Table", `{KeySchema: !Ref AWS::NoValue}`, `t:1:59: AWS::DynamoDB::Table requires property KeySchema`},
		{"AWS::NoValue may stand for anything", "AWS::SQS::Queue", `{DelaySeconds: !Ref AWS::NoValue, Arn: !Ref AWS::NoValue}`, ""},
		{"a maximum", "AWS::EC2::Volume", `{AvailabilityZone: a, VolumeType: gp3, Size: 1.5}`, `t:1:100: AWS::EC2::Volume property Size must be an integer, not the number 1.5`},
		{"a length", "AWS::KMS::Alias", `{AliasName: "", TargetKeyId: a}`, `t:1:66: AWS::KMS::Alias property AliasName must have at least 1 character; it has 0`},
		{"a dynamic reference may have any type", "AWS::SQS::Queue", `{DelaySeconds: "{{resolve:ssm:delay}}"}`, ""},
		{"a document may be a map", "AWS::IAM::Role", `{AssumeRolePolicyDocument: {Version: 2012-10-17, Statement: []}}`, ""},
		{"a document may be a string", "AWS::IAM::Role", `{AssumeRolePolicyDocument: "{}"}`, ""},
		{"an unknown type, with the likely one", "AWS::SQS::Qeue", `{}`, "t:1:13: there is no resource type AWS::SQS::Qeue; did you mean AWS::SQS::Queue?"},
		{"AWS's own namespace is known in full", "AWS::Something::New", `{}`, "t:1:13: there is no resource type AWS::Something::New"},
		{"private types are the account's business", "Acme::Widgets::Widget", `{Anything: [1]}`, ""},
		{"a custom resource is its provider's business", "Custom::Thing", `{ServiceToken: arn, Anything: [1]}`, ""},
		{"a custom resource requires a service token", "Custom::Thing", `{Anything: [1]}`, "t:1:13: Custom::Thing requires property ServiceToken"},
		{"so does AWS::CloudFormation::CustomResource", "AWS::CloudFormation::CustomResource", `{}`, "t:1:13: AWS::CloudFormation::CustomResource requires property ServiceToken"},
		{"the elements of a macro are unknown", "AWS::SQS::Queue", `{Fn::Transform: {Name: M}, Fn::ForEach::X: []}`, ""},
	} {
		if diff := cmp.Diff(c.want, validate(t, resource(c.typeName, c.properties))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
	}
}

func TestValidateResultsOfIntrinsics(t *testing.T) {
	const head = `
Parameters:
  Text: {Type: String}
  Number: {Type: Number}
  Many: {Type: CommaDelimitedList}
  Subnets: {Type: "List<AWS::EC2::Subnet::Id>"}
Conditions:
  C: !Equals [a, !Ref Text]
Resources:
  Q: {Type: AWS::SQS::Queue}
  DB: {Type: AWS::RDS::DBInstance, Properties: {}}
  Custom: {Type: Custom::X, Properties: {ServiceToken: a}}
  Nested: {Type: AWS::CloudFormation::Stack, Properties: {TemplateURL: a}}
  R:
    Type: AWS::EC2::Instance
    Properties:
      `
	for _, c := range []struct{ reason, property, want string }{
		{"a String parameter for a string", "ImageId: !Ref Text", ""},
		{"a String parameter may be a number", "CpuOptions: {CoreCount: !Ref Text}", ""},
		{"a list parameter for a list", "SecurityGroupIds: !Ref Many", ""},
		{"a list parameter for a string", "ImageId: !Ref Many", "t:17:16: AWS::EC2::Instance property ImageId must be a string; Ref Many is a list"},
		{"a list in a list", "SecurityGroupIds: [!Ref Many]", "t:17:26: AWS::EC2::Instance property SecurityGroupIds/0 must be a string; Ref Many is a list"},
		{"a String parameter for a list", "SecurityGroupIds: !Ref Text", "t:17:25: AWS::EC2::Instance property SecurityGroupIds must be a list; Ref Text is a string"},
		{"a resource's Ref is text", "SecurityGroupIds: !Ref Q", "t:17:25: AWS::EC2::Instance property SecurityGroupIds must be a list; Ref Q is a string"},
		{"a String parameter for a map", "CpuOptions: !Ref Text", "t:17:19: AWS::EC2::Instance property CpuOptions must be a map; Ref Text is a string"},
		{"zones are a list", "AvailabilityZone: !GetAZs ''", "t:17:25: AWS::EC2::Instance property AvailabilityZone must be a string; Fn::GetAZs is a list"},
		{"an element of a list", "AvailabilityZone: !Select [0, !GetAZs '']", ""},
		{"Split makes a list", "SecurityGroupIds: !Split [',', a]", ""},
		{"a list of text for a list of maps", "BlockDeviceMappings: !Split [',', a]", "t:17:28: AWS::EC2::Instance property BlockDeviceMappings must be a list of maps; Fn::Split is a list of strings"},
		{"an attribute has its schema's type", "UserData: !GetAtt Q.Arn", ""},
		{"an attribute that is text, for a list", "SecurityGroupIds: !GetAtt Q.Arn", "t:17:25: AWS::EC2::Instance property SecurityGroupIds must be a list; Fn::GetAtt Q.Arn is a string"},
		{"an attribute that does not exist", "UserData: !GetAtt Q.Anr", "t:17:17: AWS::SQS::Queue has no attribute Anr; did you mean Arn?"},
		{"nor in Fn::Sub", "UserData: !Sub '${Q.Anr}'", "t:17:17: AWS::SQS::Queue has no attribute Anr; did you mean Arn?"},
		{"a nested attribute", "UserData: !GetAtt DB.Endpoint.Address", ""},
		{"a property is an attribute too", "UserData: !GetAtt Q.QueueName", ""},
		{"the attributes of a custom resource are unknown", "SecurityGroupIds: !GetAtt Custom.Anything", ""},
		{"the outputs of a nested stack are unknown", "SecurityGroupIds: !GetAtt Nested.Outputs.Groups", ""},
		{"both branches of Fn::If count", "ImageId: !If [C, a, [b]]", "t:17:27: AWS::EC2::Instance property ImageId must be a string, not a list"},
		{"a branch may be AWS::NoValue", "ImageId: !If [C, a, !Ref AWS::NoValue]", ""},
		{"a branch is validated like any value", "CpuOptions: !If [C, {CoreCont: 1}, {CoreCount: a}]", "t:17:28: AWS::EC2::Instance has no property CoreCont in CpuOptions; did you mean CoreCount?\nt:17:54: AWS::EC2::Instance property CpuOptions/CoreCount must be an integer, not the string \"a\""},
		{"elements may be conditional", "SecurityGroupIds: [!If [C, a, !Ref AWS::NoValue]]", ""},
		{"the value of a mapping is unknown", "SecurityGroupIds: !FindInMap [a, b, c]", ""},
	} {
		if diff := cmp.Diff(c.want, validate(t, head+c.property+"\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
	}
}

func TestValidateOutputs(t *testing.T) {
	got := validate(
		t,
		"Resources:\n  Q: {Type: AWS::SQS::Queue}\nOutputs:\n  A: {Value: [a]}\n  B: {Value: !GetAZs ''}\n  C: {Value: !GetAtt Q.Url}\n  D: {Value: !GetAtt Q.Arn}\n",
	)
	want := "t:4:14: output A must be a string, not a list or a map\n" +
		"t:5:14: output B must be a string, not a list or a map\n" +
		"t:6:14: AWS::SQS::Queue has no attribute Url"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkValidate(b *testing.B) {
	parsed, err := template.Parse("queue.yaml", []byte(`
Resources:
  Queue:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: orders.fifo
      FifoQueue: true
      DelaySeconds: 5
      RedrivePolicy: {deadLetterTargetArn: !GetAtt Dead.Arn, maxReceiveCount: 5}
      Tags: [{Key: a, Value: b}]
  Dead: {Type: AWS::SQS::Queue}
Outputs:
  queueARN: {Value: !GetAtt Queue.Arn}
`))
	if err != nil {
		b.Fatal(err)
	}
	registry := schema.Default()
	for b.Loop() {
		if problems := registry.Validate(parsed); len(problems) > 0 {
			b.Fatal(problems)
		}
	}
}

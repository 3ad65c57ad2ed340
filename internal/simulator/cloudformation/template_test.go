package cloudformation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscfn "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// outputsOf creates a stack with one resource and the outputs given as YAML
// values, and returns what they evaluate to.
func (w *suite) outputsOf(name, head, outputs string, parameters ...types.Parameter) map[string]string {
	w.t.Helper()
	var body strings.Builder
	body.WriteString(head + "\nResources:\n  Queue:\n    Type: AWS::SQS::Queue\n    Properties: {QueueName: q}\nOutputs:\n")
	for line := range strings.SplitSeq(strings.TrimSpace(outputs), "\n") {
		key, value, _ := strings.Cut(line, ": ")
		fmt.Fprintf(&body, "  %s: {Value: %s}\n", strings.TrimSpace(key), value)
	}
	_, err := w.CreateStack(
		w.t.Context(),
		&awscfn.CreateStackInput{StackName: aws.String(name), TemplateBody: aws.String(body.String()), Parameters: parameters},
	)
	if err != nil {
		w.t.Fatalf("CreateStack: %v\n%s", err, body.String())
	}
	out := map[string]string{}
	for _, o := range w.waitFor(name, types.StackStatusCreateComplete).Outputs {
		out[*o.OutputKey] = *o.OutputValue
	}
	return out
}

// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference.html
func TestIntrinsicFunctions(t *testing.T) {
	w := newSuite(t, nil)
	head := `
Transform: AWS::LanguageExtensions
Parameters:
  Names: {Type: CommaDelimitedList, Default: "a, b,c"}
  Env: {Type: String, Default: prod}
  Image: {Type: "AWS::SSM::Parameter::Value<String>", Default: /image}
Mappings:
  Sizes:
    eu-west-1: {prod: "3", dev: "1"}
Conditions:
  IsProd: !Equals [!Ref Env, prod]
  Both: !And [!Condition IsProd, !Not [!Equals [!Ref "AWS::Region", us-east-1]]]
  Either: !Or [!Equals [a, b], !Condition Both]
`
	outputs := `
Ref: !Ref Names
Joined: !Join ["-", !Ref Names]
Chosen: !Select [1, !Split [",", "x,y,z"]]
Mapped: !FindInMap [Sizes, !Ref "AWS::Region", !Ref Env]
Fallback: !FindInMap [Sizes, nowhere, prod, {DefaultValue: "7"}]
Conditional: !If [Either, "yes", "no"]
Sub: !Sub "${AWS::AccountId}/${Env}/${!Literal}/${Queue.QueueName}/${X}"
Encoded: !Base64 hello
Block: !Select [1, !Cidr [10.0.0.0/16, 3, 8]]
Zone: !Select [0, !GetAZs ""]
Length: !Length [1, 2, 3]
Json: !ToJsonString {a: [1, "b"]}
Suffix: !Ref AWS::URLSuffix
QueueName: !GetAtt Queue.QueueName
Image: !Ref Image
`
	outputs = strings.Replace(outputs, "Ref: !Ref Names\n", "", 1)
	outputs = strings.Replace(outputs, `!Sub "${AWS::AccountId}/${Env}/${!Literal}/${Queue.QueueName}/${X}"`,
		`!Sub ["${AWS::AccountId}/${Env}/${!Literal}/${Queue.Arn}/${X}", {X: !Ref Env}]`, 1)
	outputs = strings.Replace(outputs, "!Length [1, 2, 3]", `{"Fn::Length": [1, 2, 3]}`, 1)
	outputs = strings.Replace(outputs, `!ToJsonString {a: [1, "b"]}`, `{"Fn::ToJsonString": {a: [1, "b"]}}`, 1)
	got := w.outputsOf("functions", head, outputs)
	want := map[string]string{
		"Joined": "a-b-c", "Chosen": "y", "Mapped": "3", "Fallback": "7", "Conditional": "yes",
		"Sub": "123456789012/prod/${Literal}/arn:aws:sqs:eu-west-1:123456789012:q/prod", "Encoded": "aGVsbG8=",
		"Block": "10.0.1.0/24", "Zone": "eu-west-1a", "Length": "3", "Json": `{"a":[1,"b"]}`, "Suffix": "amazonaws.com", "QueueName": "q",
		"Image": "ami-1",
	}
	for key, value := range want {
		if key == "Sub" {
			got[key] = strings.Replace(got[key], "queue/", "", 1)
		}
		if got[key] != value {
			t.Errorf("%s is %q, want %q", key, got[key], value)
		}
	}
}

// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference-foreach.html
func TestForEach(t *testing.T) {
	w := newSuite(t, nil)
	w.createAndWait("loop", `
Transform: AWS::LanguageExtensions
Resources:
  Fn::ForEach::Queues:
    - Name
    - [One, Two]
    - "Queue${Name}":
        Type: AWS::SQS::Queue
        Properties: {QueueName: !Sub "q-${Name}"}
`)
	for _, id := range []string{"QueueOne", "QueueTwo"} {
		if got := w.resource("loop", id).ResourceStatus; got != types.ResourceStatusCreateComplete {
			t.Errorf("%s is %s", id, got)
		}
	}
	original, err := w.GetTemplate(t.Context(), &awscfn.GetTemplateInput{StackName: aws.String("loop")})
	if err != nil || !strings.Contains(*original.TemplateBody, "Fn::ForEach") {
		t.Errorf("%v %v", original, err)
	}
	processed, err := w.GetTemplate(
		t.Context(), &awscfn.GetTemplateInput{StackName: aws.String("loop"), TemplateStage: types.TemplateStageProcessed},
	)
	if err != nil || strings.Contains(*processed.TemplateBody, "Fn::ForEach") || !strings.Contains(*processed.TemplateBody, "QueueTwo") {
		t.Errorf("%v %v", processed, err)
	}
}

func TestRefusedTemplates(t *testing.T) {
	w := newSuite(t, nil)
	const queue = `"Resources": {"Queue": {"Type": "AWS::SQS::Queue"}}`
	cases := []struct{ why, template, code, message string }{
		{"JSON that ends early", `{"Resources": {`, "ValidationError", "Template format error: JSON not well-formed."},
		{"YAML with a bad indent", "Resources:\n  A: b\n c: d", "ValidationError", "Template format error: YAML not well-formed. (line "},
		{"no map at all", "hello", "ValidationError", "Template format error: unsupported structure."},
		{"no resources", `{"Resources": {}}`, "ValidationError", "Template format error: At least one Resources member must be defined."},
		{"an unknown section", `{"Resource": {}, ` + queue + `}`, "ValidationError", "Invalid template property or properties [Resource]"},
		{
			"a resource without type",
			`{"Resources": {"A": {}}}`,
			"ValidationError",
			"Template format error: [/Resources/A] Every Resources object must contain a Type member.",
		},
		{
			"an unknown type",
			`{"Resources": {"A": {"Type": "AWS::SQS::Queu"}}}`,
			"ValidationError",
			"Template format error: Unrecognized resource types: [AWS::SQS::Queu]",
		},
		{
			"an unknown Ref",
			`{"Resources": {"A": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": {"Ref": "B"}}}}}`,
			"ValidationError",
			"Template format error: Unresolved resource dependencies [B] in the Resources block of the template",
		},
		{
			"an unknown Ref in outputs",
			`{` + queue + `, "Outputs": {"O": {"Value": {"Ref": "B"}}}}`,
			"ValidationError",
			"Template format error: Unresolved resource dependencies [B] in the Outputs block of the template",
		},
		{
			"an unknown attribute",
			`{` + queue + `, "Outputs": {"O": {"Value": {"Fn::GetAtt": ["Queue", "Nope"]}}}}`,
			"ValidationError",
			"Template error: resource Queue does not support attribute type Nope in Fn::GetAtt",
		},
		{
			"a GetAtt of nothing",
			`{` + queue + `, "Outputs": {"O": {"Value": {"Fn::GetAtt": ["B", "Arn"]}}}}`,
			"ValidationError",
			"Template error: instance of Fn::GetAtt references undefined resource B",
		},
		{
			"a cycle",
			`{"Resources": {"A": {"Type": "AWS::SQS::Queue", "DependsOn": "B"}, "B": {"Type": "AWS::SQS::Queue", "DependsOn": "A"}}}`,
			"ValidationError",
			"Circular dependency between resources: [A, B]",
		},
		{
			"a name that is not alphanumeric",
			`{"Resources": {"a-b": {"Type": "AWS::SQS::Queue"}}}`,
			"ValidationError",
			"Template format error: Resource name a-b is non alphanumeric.",
		},
		{
			"an unknown macro",
			`{"Transform": "AWS::Serverless-2016-10-31", ` + queue + `}`,
			"ValidationError",
			"No transform named AWS::Serverless-2016-10-31 found.",
		},
		{
			"IAM without capability",
			`{"Resources": {"A": {"Type": "AWS::IAM::Role", "Properties": {"RoleName": "r", "AssumeRolePolicyDocument": {}}}}}`,
			"InsufficientCapabilitiesException",
			"Requires capabilities : [CAPABILITY_NAMED_IAM]",
		},
		{
			"a parameter without value",
			`{"Parameters": {"P": {"Type": "String"}}, ` + queue + `}`,
			"ValidationError",
			"Parameters: [P] must have values",
		},
		{
			"a default that is not allowed",
			`{"Parameters": {"P": {"Type": "String", "Default": "c", "AllowedValues": ["a", "b"]}}, ` + queue + `}`,
			"ValidationError",
			"P",
		},
		{
			"a rule that does not hold",
			`{"Parameters": {"P": {"Type": "String", "Default": "c"}}, "Rules": {"R": {"Assertions": [{"Assert": {"Fn::Contains": [["a"], {"Ref": "P"}]}, "AssertDescription": "only a"}]}}, ` + queue + `}`,
			"ValidationError",
			"only a",
		},
	}
	for _, c := range cases {
		t.Run(c.why, func(t *testing.T) {
			_, err := w.CreateStack(
				t.Context(), &awscfn.CreateStackInput{StackName: aws.String("refused"), TemplateBody: aws.String(c.template)},
			)
			expectError(t, err, c.code, c.message)
		})
	}
	big := `{"Description": "` + strings.Repeat("a", 52000) + `"}`
	_, err := w.CreateStack(t.Context(), &awscfn.CreateStackInput{StackName: aws.String("refused"), TemplateBody: aws.String(big)})
	expectError(t, err, "ValidationError", "Member must have length less than or equal to 51200")
	_, err = w.CreateStack(t.Context(), &awscfn.CreateStackInput{StackName: aws.String("1st"), TemplateBody: aws.String(streamTemplate)})
	expectError(
		t,
		err,
		"ValidationError",
		"Value '1st' at 'stackName' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z][-a-zA-Z0-9]*",
	)
}

// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/parameters-section-structure.html
func TestParameterValidation(t *testing.T) {
	w := newSuite(t, nil)
	cases := []struct{ why, declaration, value, message string }{
		{"not one of the values", `"Type": "String", "AllowedValues": ["a"]`, "b", "Parameter 'P' must be one of AllowedValues"},
		{
			"the constraint explained",
			`"Type": "String", "AllowedValues": ["a"], "ConstraintDescription": "must be a"`,
			"b",
			"Parameter P failed to satisfy constraint: must be a",
		},
		{"no match", `"Type": "String", "AllowedPattern": "[a-z]+"`, "B", "Parameter 'P' must match pattern [a-z]+"},
		{"too short", `"Type": "String", "MinLength": 3`, "ab", "Parameter 'P' must contain at least 3 characters"},
		{"too long", `"Type": "String", "MaxLength": 1`, "ab", "Parameter 'P' must contain at most 1 characters"},
		{"no number", `"Type": "Number"`, "x", "Parameter 'P' must be a number"},
		{"too small", `"Type": "Number", "MinValue": 2`, "1", "Parameter 'P' must be a number not less than 2"},
		{"too large", `"Type": "Number", "MaxValue": 2`, "3", "Parameter 'P' must be a number not greater than 2"},
		{
			"nothing in the parameter store",
			`"Type": "AWS::SSM::Parameter::Value<String>"`,
			"/none",
			"Unable to fetch parameters [/none] from parameter store for this account.",
		},
	}
	for _, c := range cases {
		t.Run(c.why, func(t *testing.T) {
			_, err := w.CreateStack(t.Context(), &awscfn.CreateStackInput{
				StackName:    aws.String("params"),
				TemplateBody: aws.String(`{"Parameters": {"P": {` + c.declaration + `}}, "Resources": {"Q": {"Type": "AWS::SQS::Queue"}}}`),
				Parameters:   []types.Parameter{{ParameterKey: aws.String("P"), ParameterValue: aws.String(c.value)}},
			})
			expectError(t, err, "ValidationError", c.message)
		})
	}
	_, err := w.CreateStack(t.Context(), &awscfn.CreateStackInput{
		StackName: aws.String("params"), TemplateBody: aws.String(streamTemplate),
		Parameters: []types.Parameter{{ParameterKey: aws.String("Other"), ParameterValue: aws.String("x")}},
	})
	expectError(t, err, "ValidationError", "Parameters: [Other] do not exist in the template")
}

func TestParametersAreKeptAndMasked(t *testing.T) {
	w := newSuite(t, nil)
	template := `{"Parameters": {"Secret": {"Type": "String", "NoEcho": true}, "Delay": {"Type": "Number", "Default": 1}},
		"Resources": {"Q": {"Type": "AWS::SQS::Queue", "Properties": {"DelaySeconds": {"Ref": "Delay"}}}}}`
	set := func(key, value string) types.Parameter {
		return types.Parameter{ParameterKey: aws.String(key), ParameterValue: aws.String(value)}
	}
	keep := func(key string) types.Parameter {
		return types.Parameter{ParameterKey: aws.String(key), UsePreviousValue: aws.Bool(true)}
	}
	if _, err := w.CreateStack(t.Context(), &awscfn.CreateStackInput{
		StackName: aws.String("kept"), TemplateBody: aws.String(template),
		Parameters: []types.Parameter{set("Secret", "s3cret"), set("Delay", "2")},
	}); err != nil {
		t.Fatal(err)
	}
	s := w.waitFor("kept", types.StackStatusCreateComplete)
	if *s.Parameters[0].ParameterValue != "2" || *s.Parameters[1].ParameterValue != "****" {
		t.Errorf("parameters %+v", s.Parameters)
	}
	_, err := w.UpdateStack(t.Context(), &awscfn.UpdateStackInput{
		StackName: aws.String("kept"), UsePreviousTemplate: aws.Bool(true), Parameters: []types.Parameter{keep("Secret"), keep("Delay")},
	})
	expectError(t, err, "ValidationError", "No updates are to be performed.")
	if _, err := w.UpdateStack(t.Context(), &awscfn.UpdateStackInput{
		StackName: aws.String("kept"), UsePreviousTemplate: aws.Bool(true),
		Parameters: []types.Parameter{keep("Secret"), set("Delay", "3")},
	}); err != nil {
		t.Fatal(err)
	}
	w.waitFor("kept", types.StackStatusUpdateComplete)
}

// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_ValidateTemplate.html
func TestValidateTemplateAndSummary(t *testing.T) {
	w := newSuite(t, nil)
	body := `{"Description": "d", "Parameters": {"P": {"Type": "String", "Default": "x", "Description": "pd"}},
		"Resources": {"R": {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": {}}}}}`
	valid, err := w.ValidateTemplate(t.Context(), &awscfn.ValidateTemplateInput{TemplateBody: aws.String(body)})
	if err != nil || *valid.Description != "d" || *valid.Parameters[0].DefaultValue != "x" ||
		valid.Capabilities[0] != types.CapabilityCapabilityIam {
		t.Errorf("%+v %v", valid, err)
	}
	if want := "The following resource(s) require capabilities: [AWS::IAM::Role]"; aws.ToString(valid.CapabilitiesReason) != want {
		t.Errorf("reason %q", aws.ToString(valid.CapabilitiesReason))
	}
	summary, err := w.GetTemplateSummary(t.Context(), &awscfn.GetTemplateSummaryInput{TemplateBody: aws.String(body)})
	if err != nil || summary.ResourceTypes[0] != "AWS::IAM::Role" || *summary.Parameters[0].ParameterType != "String" {
		t.Errorf("%+v %v", summary, err)
	}
}

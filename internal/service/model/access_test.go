package model_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/service/model"
)

// granted is a definition with an access level whose statements follow.
const granted = `
kind: Thing
schema:
  type: object
  properties: {encrypted: {type: boolean}, prefix: {type: string}}
template: |
  Resources:
    Queue:
      Type: AWS::SQS::Queue
      {{- if .spec.encrypted }}
      Properties: {KmsMasterKeyId: {Ref: Key}}
    Key:
      Type: AWS::KMS::Key
      {{- end }}
accessLevels:
- name: Use
  statements: `

// TestMistakesOfAccessLevels tests the messages for invalid access levels. An expression that is not
// one of a resource in the stack could grant access to any resource in AWS.
func TestMistakesOfAccessLevels(t *testing.T) {
	for _, c := range []struct{ reason, statements, want string }{
		{"no statement", "[]", "spec.accessLevels[0].statements: the level allows nothing"},
		{"no action", "[{actions: [], resources: ['{Ref: Queue}']}]", "spec.accessLevels[0].statements[0].actions: the statement allows nothing"},
		{"no resource", "[{actions: ['sqs:SendMessage'], resources: []}]", "spec.accessLevels[0].statements[0].resources: the statement is for no resource"},
		{"every action", "[{actions: ['*'], resources: ['{Ref: Queue}']}]", `"*" is not an IAM action without wildcards`},
		{"a wildcard in an action", "[{actions: ['sqs:*'], resources: ['{Ref: Queue}']}]", `"sqs:*" is not an IAM action without wildcards`},
		{"a text", "[{actions: ['sqs:SendMessage'], resources: ['arn:aws:sqs:*:*:*']}]", "names no resource of the template"},
		{"a wildcard", "[{actions: ['sqs:SendMessage'], resources: ['\"*\"']}]", "names no resource of the template"},
		{"only pseudo parameters", "[{actions: ['sqs:SendMessage'], resources: ['{Fn::Sub: \"arn:aws:sqs:${AWS::Region}:*:*\"}']}]", "names no resource of the template"},
		{"another resource", "[{actions: ['sqs:SendMessage'], resources: ['{Fn::GetAtt: [Topic, Arn]}']}]", "the template has no resource Topic"},
		{"an unknown attribute", "[{actions: ['sqs:SendMessage'], resources: ['{Fn::GetAtt: [Queue, Arm]}']}]", "has no attribute Arm"},
		{"a list that hides a wildcard", "[{actions: ['sqs:SendMessage'], resources: ['[{Fn::GetAtt: [Queue, Arn]}, \"*\"]']}]", "must be one expression"},
		{"an unknown field", "[{actions: ['sqs:SendMessage'], resources: ['{{ .spec.prefx }}{Ref: Queue}']}]", "there is no .spec.prefx"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			err := check(t, granted+c.statements)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want %q in it", err, c.want)
			}
		})
	}
	for _, c := range []struct{ reason, spec, want string }{
		{"a level twice", granted + "[{actions: ['sqs:SendMessage'], resources: ['{Fn::GetAtt: [Queue, Arn]}']}]\n- {name: Use, statements: []}", "two levels named Use"},
		{"a level without a name", strings.Replace(granted, "name: Use", "name: ''", 1) + "[]", "spec.accessLevels[0].name: give the level a name"},
		{
			"a field with the name", strings.Replace(granted, "prefix:", "grants:", 1) + "[{actions: ['sqs:SendMessage'], resources: ['{Fn::GetAtt: [Queue, Arn]}']}]",
			"grants is a field that every kind with accessLevels has",
		},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if err := check(t, c.spec); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want %q in it", err, c.want)
			}
		})
	}
}

// TestAccessLevelsOfOptionalResources tests a statement for a key that only some stacks have, and an
// expression with the stack's resource in a text.
func TestAccessLevelsOfOptionalResources(t *testing.T) {
	err := check(t, granted+`
  - {actions: ["sqs:SendMessage"], resources: ["{Fn::GetAtt: [Queue, Arn]}", "{Fn::Sub: '${Queue.Arn}/*'}"]}
  - {actions: ["kms:Decrypt"], resources: ["{{ if .spec.encrypted }}{Fn::GetAtt: [Key, Arn]}{{ end }}"]}`)
	if err != nil {
		t.Error(err)
	}
}

// check compiles and checks the spec of a ModelDefinition.
func check(t *testing.T, spec string) error {
	t.Helper()
	definition := &v1alpha1.ModelDefinitionSpec{}
	if err := yaml.UnmarshalStrict([]byte(spec), definition); err != nil {
		t.Fatal(err)
	}
	m, err := model.Compile("thing", definition, schema.Default())
	if err != nil {
		return err
	}
	return m.Check(schema.Default())
}

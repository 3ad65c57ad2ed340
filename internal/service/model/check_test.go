package model_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/service/model"
)

// compile compiles the spec of a ModelDefinition named "functions".
func compile(t *testing.T, spec string) *model.Model {
	t.Helper()
	definition := &v1alpha1.ModelDefinitionSpec{}
	if err := yaml.UnmarshalStrict([]byte(spec), definition); err != nil {
		t.Fatal(err)
	}
	m, err := model.Compile("functions", definition, schema.Default())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// function is a definition with most features, and places for mistakes.
const function = `
kind: Fn
schema:
  type: object
  required: [handler]
  properties:
    handler: {type: string}
    memory: {type: integer}
    runtime: {type: string, enum: [python3.12, nodejs22.x]}
    groups: {type: array, items: {type: string}}
    tracing: {type: boolean}
    tags: {type: array, items: {type: object, properties: {key: {type: string}, value: {type: string}}}}
    vpc: {type: object, properties: {subnets: {type: array, items: {type: string}}}}
    layers: {x-kubernetes-preserve-unknown-fields: true}
references:
  - {name: topic, kind: SNSTopic, objectName: "{{ .spec.handler }}"}
template: |
  {{- $suffix := "fn" }}
  Resources:
    Role:
      Type: AWS::IAM::Role
      Properties:
        AssumeRolePolicyDocument: {Statement: [{Effect: Allow, Principal: {Service: lambda.amazonaws.com}, Action: "sts:AssumeRole"}]}
    Function:
      Type: AWS::Lambda::Function
      Properties:
        FunctionName: {{ printf "%s-%s" .name $suffix }}
        Role: !GetAtt Role.Arn
        Handler: {{ .spec.handler }}
        Code: {ZipFile: {{ .references.topic.topicARN }}}
        {{- with .spec.memory }}
        MemorySize: {{ . }}
        {{- end }}
        {{- if eq .spec.runtime "python3.12" }}
        Runtime: python3.12
        {{- else }}
        Runtime: {{ .spec.runtime }}
        {{- end }}
        {{- if .spec.tracing }}
        TracingConfig: {Mode: Active}
        {{- end }}
        {{- if .spec.vpc }}
        VpcConfig:
          SecurityGroupIds: {{ .spec.groups }}
          SubnetIds:
            {{- range .spec.vpc.subnets }}
            - {{ . }}
            {{- end }}
        {{- end }}
        {{- with .spec.layers }}
        Layers: {{ . }}
        {{- end }}
        #properties
    #resources
  Outputs:
    Arn: {Value: !GetAtt Function.Arn}
    RoleARN: {Description: The role., Value: !GetAtt Role.Arn}
    {{- if .spec.tracing }}
    Tracing: {Value: "on"}
    {{- end }}
    #outputs
additionalResources:
  configMaps: [{data: {arn: "{{ .output.arn }}", vpc: "{{ with .spec.vpc }}{{ range .subnets }}{{ . }}{{ end }}{{ end }}"}}]
`

func TestOutputsAreDerivedFromTheTemplate(t *testing.T) {
	m := compile(t, function)
	want := []model.Output{
		{Name: "arn", From: "Arn"}, {Name: "roleARN", From: "RoleARN", Description: "The role."}, {Name: "tracing", From: "Tracing"},
	}
	if diff := cmp.Diff(want, m.Outputs); diff != "" {
		t.Errorf("the outputs differ (-want +got):\n%s", diff)
	}
	if err := m.Check(schema.Default()); err != nil {
		t.Errorf("a correct definition has problems: %v", err)
	}
}

// TestMistakesOfDefinitions tests that each mistake is found when the definition is checked, with
// the line in the template or the field, and what was probably meant.
func TestMistakesOfDefinitions(t *testing.T) {
	for _, c := range []struct{ reason, old, mistake, want string }{
		{
			"a misspelled property", "#properties", "Environmen: {Variables: {TABLE: x}}",
			"functions.spec.template:36:7: AWS::Lambda::Function has no property Environmen; did you mean Environment?",
		},
		{
			"a misspelled property that only some objects have", "TracingConfig: {Mode", "TracingConfig: {Mod",
			"functions.spec.template:23:23: AWS::Lambda::Function has no property Mod in TracingConfig; did you mean Mode?",
		},
		{
			"an unknown logical ID", "!GetAtt Role.Arn\n        Handler", "!GetAtt Roel.Arn\n        Handler",
			"functions.spec.template:11:13: there is no resource Roel; did you mean Role?",
		},
		{
			"an unknown attribute", "Value: !GetAtt Function.Arn", "Value: !GetAtt Function.Ann",
			"functions.spec.template:39:16: AWS::Lambda::Function has no attribute Ann; did you mean Arn?",
		},
		{
			"an unknown type", "Type: AWS::IAM::Role", "Type: AWS::IAM::Roel",
			"functions.spec.template:3:3: there is no resource type AWS::IAM::Roel; did you mean AWS::IAM::Role?",
		},
		{"a missing property", "        Role: !GetAtt Role.Arn\n", "", "AWS::Lambda::Function requires property Role"},
		{"a wrong constant", "{Mode: Active}", "{Mode: Activ}", `must be one of Active, PassThrough, not "Activ"`},
		{
			"a text in place of a list", "SecurityGroupIds: {{ .spec.groups }}", "SecurityGroupIds: {{ .spec.handler }}",
			"SecurityGroupIds must be a list; {{ .spec.handler }} is a string",
		},
		{"a list in place of a text", "Handler: {{ .spec.handler }}", "Handler: {{ .spec.groups }}", "Handler must be a string, not a list"},
		{"a text in place of a list in a function", "{ZipFile: {{ .references.topic.topicARN }}}", "{ZipFile: !Join [',', {{ .spec.handler }}]}", "argument 2 of Fn::Join must be a list, not a string"},
		{
			"a list in the spec's spelling", "#properties", "Tags: {{ .spec.tags }}",
			"AWS::Lambda::Function has no property key in Tags/0; did you mean Key?",
		},
		{
			"a text around a value", `{{ printf "%s-%s" .name $suffix }}`, `"{{ .name }}-fn"`,
			"functions.spec.template:10:25: {{ .name }} must be a whole value of the YAML",
		},
		{
			"a text before a value", `{{ printf "%s-%s" .name $suffix }}`, "fn-{{ .name }}",
			"functions.spec.template:10:27: {{ .name }} must be a whole value of the YAML",
		},
		{"a misspelled field", "Handler: {{ .spec.handler }}", "Handler: {{ .spec.handeler }}", "functions.spec.template:12:24: there is no .spec.handeler; did you mean .spec.handler?"},
		{"a misspelled field in get", "{{- if .spec.vpc }}", `{{- if get "vpc.subnet" .spec }}`, "there is no .spec.vpc.subnet; did you mean .spec.vpc.subnets?"},
		{"a misspelled field of an object", "range .spec.vpc.subnets", "range .spec.vpc.subnet", "there is no .spec.vpc.subnet; did you mean .spec.vpc.subnets?"},
		{"a misspelled reference", ".references.topic.topicARN", ".references.topik.topicARN", "there is no .references.topik; did you mean .references.topic?"},
		{"a misspelled value", "{{ with .spec.vpc }}", "{{ with .specs.vpc }}", "there is no .specs; did you mean .spec?"},
		{
			"a misspelled output", ".output.arn", ".output.arnn",
			"functions.spec.additionalResources.configMaps[0].data.arn:1:11: there is no .output.arnn; did you mean .output.arn?",
		},
		{"an output in the template, which has none yet", "Handler: {{ .spec.handler }}", "Handler: {{ .output.arn }}", "there is no .output"},
		{"a field of a reference's name", "objectName: \"{{ .spec.handler }}\"", "objectName: \"{{ .spec.topic }}\"", "functions.spec.references.topic:1:9: there is no .spec.topic"},
		{"an output that the template lacks", "kind: Fn", "kind: Fn\noutputs: [{name: arn}, {name: rolARN}]", "spec.outputs: the template has no output RolARN for rolARN; did you mean RoleARN?"},
		{"a field with dynamic references", "kind: Fn", "kind: Fn\ndynamicReferences: [vpc.subnetz]", "spec.dynamicReferences: there is no .spec.vpc.subnetz; did you mean .spec.vpc.subnets?"},
		{
			"outputs that cannot be derived", "#properties", `Description: {{ index (split .spec.handler) 5 }}`,
			"spec.outputs: the outputs cannot be derived, because the template cannot be executed with sample values; list the outputs",
		},
		{"malformed YAML", "#resources", "]", "malformed YAML"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if !strings.Contains(function, c.old) {
				t.Fatalf("the definition has no %s", c.old)
			}
			err := compile(t, strings.Replace(function, c.old, c.mistake, 1)).Check(schema.Default())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is\n%v\nwant in it\n%s", err, c.want)
			}
		})
	}
}

// TestValuesOfSamplesAreNoMistakes tests definitions that are valid for some specs only, or for
// values that no sample has.
func TestValuesOfSamplesAreNoMistakes(t *testing.T) {
	for _, c := range []struct{ reason, old, valid string }{
		{"values that AWS restricts", "#properties", "Architectures: [{{ .spec.handler }}]\n        PackageType: {{ .spec.handler }}"},
		{"properties that exclude each other", "Code: {ZipFile: {{ .references.topic.topicARN }}}", `
        Code:
          {{- if .spec.runtime }}
          ZipFile: {{ .spec.handler }}
          {{- end }}
          {{- if .spec.memory }}
          ImageUri: {{ .spec.handler }}
          {{- end }}`},
		{"a resource that exists on a condition", "#outputs", "{{ if .spec.tracing }}Log: {Value: !Ref Log}{{ end }}\n    #logs"},
		{"an argument that the sample's values do not fit", "FunctionName: {{", "{{ if .spec.tracing }}Description: {{ index (split (replace \":\" \",\" .spec.handler)) 5 }}{{ end }}\n        FunctionName: {{"},
		{"a policy that the spec names", "    Role:\n", "    Role:\n      DeletionPolicy: {{ .spec.handler }}\n"},
		{"code with a quoted value", "{ZipFile: {{ .references.topic.topicARN }}}", "\n          ZipFile: |\n            topic = {{ .references.topic.topicARN }}\n            print('{{ .name }}')"},
		{"a value of any kind", "Code: {ZipFile: {{ .references.topic.topicARN }}}", "Code: {{ .spec.layers }}"},
		{"a value of any kind in a function", "Code: {ZipFile: {{ .references.topic.topicARN }}}", "Code: {ZipFile: {Fn::Join: [',', {{ .spec.layers }}]}}"},
		{"a number as text in a function", "Code: {ZipFile: {{ .references.topic.topicARN }}}", "Code: {ZipFile: {Fn::Select: [{{ .spec.handler }}, [a, b]]}}"},
		{"an output that is optional", `"{{ .output.arn }}"`, `'{{ default "" .output.tracing }}'`},
		{"fields that every kind has", "Handler: {{ .spec.handler }}", "Handler: {{ or .spec.updatePolicy .spec.handler }}"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if !strings.Contains(function, c.old) {
				t.Fatalf("the definition has no %s", c.old)
			}
			changed := strings.Replace(function, c.old, c.valid, 1)
			if strings.Contains(changed, "#logs") {
				changed = strings.Replace(changed, "#resources", "{{ if .spec.tracing }}\n    Log: {Type: AWS::Logs::LogGroup}\n    {{ end }}", 1)
			}
			if err := compile(t, changed).Check(schema.Default()); err != nil {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// TestCorrectDefinitions tests that definitions of real size have no problems.
func TestCorrectDefinitions(t *testing.T) {
	for name, outputs := range map[string]int{"database": 3, "job": 1} {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile("testdata/" + name + ".yaml")
			if err != nil {
				t.Fatal(err)
			}
			m := compile(t, string(data))
			if err := m.Check(schema.Default()); err != nil {
				t.Errorf("the error is %v", err)
			}
			if len(m.Outputs) != outputs {
				t.Errorf("the outputs are %v, want %d", m.Outputs, outputs)
			}
		})
	}
}

// TestUnusualTemplatesAreChecked tests that the check follows all constructs of templates.
func TestUnusualTemplatesAreChecked(t *testing.T) {
	const queue = "Resources: {Q: {Type: AWS::SQS::Queue, Properties: {QueueName: {{ .name }}}}}"
	for _, c := range []struct{ reason, template, want string }{
		{"JSON", `{"Resources": {"Q": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": {{ .name }}}}}}`, ""},
		{"a template within the template", `{{ define "q" }}{Type: AWS::SQS::Queue, Properties: {QueueNam: {{ .name }}}}{{ end }}Resources: {Q: {{ template "q" . }}}`, "functions.spec.template:1:54: AWS::SQS::Queue has no property QueueNam"},
		{"a comment", "{{/* a */}}" + queue, ""},
		{"a loop with else, break and variables", "Resources:\n{{ range $i, $n := .spec.list }}{{ if eq $n \"x\" }}{{ break }}{{ end }}  Q{{ $i }}: {Type: AWS::SQS::Queue}\n{{ else }}  Q: {Type: AWS::SQS::Queue}\n{{ end }}", ""},
		{"names of resources in a loop", "Resources:\n{{ range $i, $n := .spec.list }}  {{ printf \"Q%d\" $i }}: {Type: AWS::SQS::Queue, Properties: {QueueNam: {{ $n }}}}\n{{ end }}", "has no property QueueNam"},
		{"characters that mark values", "# \ufdd0 \ufdd1 \u00e9\n" + queue, ""},
		{"a wide character before a mistake", "# \u00e9\nDescription: \u00e9\nResources: {\u00e9: {Type: AWS::SQS::Queue}}", "functions.spec.template:3:13: the name of resource"},
		{"no resources", "Outputs: {}", "a template needs at least one resource"},
		{"nothing but a condition", "{{ if .spec.on }}" + queue + "{{ end }}", ""},
		{"a transform", "Transform: AWS::Serverless-2016-10-31\n" + queue, ""},
		{"the whole spec", "Resources: {Q: {Type: AWS::SQS::Queue, Properties: {{ .spec }}}}", "has no property list"},
		{"a field of the dot that is not known", "Resources: {Q: {Type: AWS::SQS::Queue, Properties: {QueueName: {{ with default .name .spec.text }}{{ . }}{{ end }}}}}", ""},
		{"the root in a block", "Resources: {Q: {Type: AWS::SQS::Queue, Properties: {QueueName: {{ range .spec.list }}{{ $.spec.txt }}{{ end }}}}}", "there is no .spec.txt; did you mean .spec.text?"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			m, err := model.Compile("functions", &v1alpha1.ModelDefinitionSpec{
				Kind: "Fn", Template: c.template,
				Schema: []byte(`{"type":"object","properties":{"list":{"type":"array","items":{"type":"string"}},"on":{"type":"boolean"},"text":{"type":"string"}}}`),
			}, schema.Default())
			if err != nil {
				t.Fatal(err)
			}
			err = m.Check(schema.Default())
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want %q", err, c.want)
			}
		})
	}
}

// TestKindsWithoutSchemaAreChecked tests that a definition without a schema may use any field.
func TestKindsWithoutSchemaAreChecked(t *testing.T) {
	m := compile(t, `{kind: Fn, template: "Resources: {Q: {Type: AWS::SQS::Queue, Properties: {QueueName: {{ .spec.any }}, Tags: {{ .spec.tags }}}}}"}`)
	if err := m.Check(schema.Default()); err != nil {
		t.Errorf("the error is %v", err)
	}
}

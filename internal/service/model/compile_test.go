package model_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/service/model"
)

// TestBadDefinitions tests the messages for invalid definitions.
func TestBadDefinitions(t *testing.T) {
	for _, c := range []struct{ reason, spec, want string }{
		{"nothing to make a stack from", "{kind: Thing}", "give resourceType, template, or both"},
		{"an unknown type is corrected", "{kind: Thing, resourceType: 'AWS::SQS::Qeue'}", "did you mean AWS::SQS::Queue?"},
		{"an unknown output is corrected", "{kind: Thing, resourceType: 'AWS::SQS::Queue', outputs: [{name: queueUrll}]}", "did you mean queueUrl?"},
		{"a schema that API servers reject", "{kind: Thing, template: 'Resources: {}', schema: {type: object, properties: {a: {}}}}", "spec.schema"},
		{"a field that every kind has", "{kind: Thing, template: 'Resources: {}', schema: {type: object, properties: {rollbackCount: {type: integer}}}}", "rollbackCount is a field that every kind has"},
		{"a template that is no template", "{kind: Thing, template: 'a: {{ if }}'}", "thing.spec.template:1"},
		{"a text that is no template", "{kind: Thing, template: 'Resources: {}', additionalResources: {configMaps: [{data: {a: '{{ nope }}'}}]}}", "spec.additionalResources.configMaps[0].data.a:1"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			spec := &v1alpha1.ModelDefinitionSpec{}
			if err := yaml.UnmarshalStrict([]byte(c.spec), spec); err != nil {
				t.Fatal(err)
			}
			_, err := model.Compile("thing", spec, schema.Default())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want %q in it", err, c.want)
			}
		})
	}
}

// TestDerivedStream tests the kind of a definition with only a resource type.
func TestDerivedStream(t *testing.T) {
	m, err := model.Compile(
		"streams", &v1alpha1.ModelDefinitionSpec{Kind: "KinesisStream", ResourceType: "AWS::Kinesis::Stream"}, schema.Default(),
	)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := m.Schema.Properties["arn"]; ok {
		t.Error("the spec has arn, which AWS sets")
	}
	if got := m.Schema.Properties["shardCount"]; got.Type != "integer" || *got.Minimum != 1 {
		t.Errorf("shardCount is %+v", got)
	}
	if got := m.Schema.Properties["streamModeDetails"].Properties["streamMode"].Enum; len(got) != 2 {
		t.Errorf("streamMode has values %v, want 2", got)
	}
	rendered, err := m.Template.Execute(map[string]any{
		"name": "events", "namespace": "default",
		"spec": map[string]any{
			"shardCount":        int64(2),
			"streamModeDetails": map[string]any{"streamMode": "PROVISIONED"},
			"rollbackCount":     int64(1),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `Resources:
  Resource:
    Type: AWS::Kinesis::Stream
    Properties: {"Name": "events", "ShardCount": 2, "StreamModeDetails": {"StreamMode": "PROVISIONED"}}
Outputs:
  Name: {Value: {Ref: Resource}}
  Arn: {Value: {Fn::GetAtt: [Resource, Arn]}}
`
	if rendered != want {
		t.Errorf("the template is\n%swant\n%s", rendered, want)
	}
}

// TestDerivedOutputs tests which outputs a kind of a resource type has.
func TestDerivedOutputs(t *testing.T) {
	for _, c := range []struct{ reason, spec, outputs, template string }{
		{"the identifier and the ARN by default", "{}", "dbInstanceIdentifier dbInstanceArn", "DbInstanceArn: {Value: {Fn::GetAtt: [Resource, DBInstanceArn]}}"},
		{
			"what the definition lists, and nothing else", "{outputs: [{name: host, from: EndpointAddress}, {name: endpointPort, type: Integer}]}",
			"host endpointPort", "EndpointAddress: {Value: {Fn::GetAtt: [Resource, Endpoint.Address]}}",
		},
		{
			"an attribute of a feature, in an object that users set", "{outputs: [{name: masterUserSecretSecretArn}]}",
			"masterUserSecretSecretArn", "MasterUserSecretSecretArn: {Value: {Fn::GetAtt: [Resource, MasterUserSecret.SecretArn]}}",
		},
		{
			"what a text uses, with the defaults", "{additionalResources: {configMaps: [{data: {host: '{{ .output.endpointAddress }}'}}]}}",
			"dbInstanceIdentifier dbInstanceArn endpointAddress", "EndpointAddress: {Value: {Fn::GetAtt: [Resource, Endpoint.Address]}}",
		},
	} {
		t.Run(c.reason, func(t *testing.T) {
			spec := &v1alpha1.ModelDefinitionSpec{}
			if err := yaml.UnmarshalStrict([]byte(c.spec), spec); err != nil {
				t.Fatal(err)
			}
			spec.Kind, spec.ResourceType = "Database", "AWS::RDS::DBInstance"
			m, err := model.Compile("databases", spec, schema.Default())
			if err != nil {
				t.Fatal(err)
			}
			if err := m.Check(schema.Default()); err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, o := range m.Outputs {
				names = append(names, o.Name)
			}
			if got := strings.Join(names, " "); got != c.outputs {
				t.Errorf("the outputs are %s, want %s", got, c.outputs)
			}
			rendered, err := m.Template.Execute(map[string]any{"name": "x", "spec": map[string]any{}})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(rendered, c.template) {
				t.Errorf("the template is\n%swant %s in it", rendered, c.template)
			}
			if got := strings.Count(rendered, "Value:"); got != len(names) {
				t.Errorf("the template has %d outputs, want %d:\n%s", got, len(names), rendered)
			}
		})
	}
}

// TestDerivedDescriptions tests that a derived field is described by what the schema says, and not
// described if that is nothing.
func TestDerivedDescriptions(t *testing.T) {
	m, err := model.Compile(
		"databases", &v1alpha1.ModelDefinitionSpec{Kind: "Database", ResourceType: "AWS::RDS::DBInstance"}, schema.Default(),
	)
	if err != nil {
		t.Fatal(err)
	}
	const page = "https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-rds-dbinstance.html"
	if !strings.Contains(m.Schema.Description, page) {
		t.Errorf("the spec is described by %q, want %s in it", m.Schema.Description, page)
	}
	for field, want := range map[string]string{
		"engine":               "",
		"dbInstanceIdentifier": "Changing it replaces the resource.",
		"masterUserPassword": "AWS does not return it. It is a secret: plain text is refused. Take it from a Secret by valuesFrom, or write a dynamic reference, such as " +
			"{{resolve:secretsmanager:NAME:SecretString:KEY}}, which spec.dynamicReferences of the ModelDefinition must allow for the field.",
	} {
		if got := m.Schema.Properties[field]; got.Description != want {
			t.Errorf("%s is described by %q, want %q", field, got.Description, want)
		}
	}
}

// TestNameProperty tests which property gets the object's name.
func TestNameProperty(t *testing.T) {
	for resourceType, want := range map[string]string{
		"AWS::SQS::Queue":          `"QueueName": "x"`,
		"AWS::RDS::DBInstance":     `"DBInstanceIdentifier": "x"`,
		"AWS::Lambda::Function":    `"FunctionName": "x"`,
		"AWS::S3::BucketPolicy":    `Properties: {}`, // Bucket names another resource
		"AWS::SNS::Subscription":   `Properties: {}`, // has no name
		"AWS::KMS::Key":            `Properties: {}`, // has no name
		"AWS::ElastiCache::User":   `Properties: {}`, // its identifier is required
		"AWS::Logs::LogGroup":      `"LogGroupName": "x"`,
		"AWS::SSM::Parameter":      `"Name": "x"`,
		"AWS::EC2::SecurityGroup":  `Properties: {}`, // GroupName repeats only part of the type
		"AWS::CloudWatch::Alarm":   `"AlarmName": "x"`,
		"AWS::Events::Rule":        `"Name": "x"`,
		"AWS::IAM::ManagedPolicy":  `"ManagedPolicyName": "x"`,
		"AWS::IAM::Role":           `"RoleName": "x"`,
		"AWS::DynamoDB::Table":     `"TableName": "x"`,
		"AWS::ECR::Repository":     `"RepositoryName": "x"`,
		"AWS::Kinesis::Stream":     `"Name": "x"`,
		"AWS::EC2::VPC":            `Properties: {}`,
		"AWS::Route53::HostedZone": `"Name": "x"`, // zones have DNS names, as objects may have
	} {
		m, err := model.Compile("m", &v1alpha1.ModelDefinitionSpec{Kind: "Thing", ResourceType: resourceType}, schema.Default())
		if err != nil {
			t.Fatal(err)
		}
		rendered, err := m.Template.Execute(map[string]any{"name": "x", "spec": map[string]any{}})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(rendered, want) {
			t.Errorf("%s: the template is\n%swant %s in it", resourceType, rendered, want)
		}
	}
}

package render_test

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	cfntemplate "github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/grant"
	"github.com/aws-operator/aws-operator/internal/service/model"
	"github.com/aws-operator/aws-operator/internal/service/render"
)

func TestTemplatesOfUsersHaveOnlyWhatIsAllowed(t *testing.T) {
	queues := []string{"AWS::SQS::*", "AWS::SNS::*"}
	for _, c := range []struct {
		why, template string
		types         []string
		want          string // empty if it is allowed
	}{
		{"what a pattern allows", "Resources: {Q: {Type: AWS::SQS::Queue}}", queues, ""},
		{"an exact name", "Resources: {Q: {Type: AWS::SQS::Queue}}", []string{"AWS::SQS::Queue"}, ""},
		{"a name is not a prefix", "Resources: {Q: {Type: AWS::SQS::QueueInlinePolicy}}", []string{"AWS::SQS::Queue"}, "resource Q is of type AWS::SQS::QueueInlinePolicy"},
		{"another service", "Resources: {T: {Type: AWS::DynamoDB::Table}}", queues, "resource T is of type AWS::DynamoDB::Table"},
		{"roles, even with everything", "Resources: {R: {Type: AWS::IAM::Role}}", []string{"*", "AWS::*"}, "AWS::IAM::Role"},
		{"roles by their exact name", "Resources: {R: {Type: AWS::IAM::Role}}", []string{"AWS::IAM::Role"}, ""},
		{"nested stacks create resources that are not in the template", "Resources: {S: {Type: AWS::CloudFormation::Stack}}", []string{"*"}, "AWS::CloudFormation::Stack"},
		{"custom resources run functions", "Resources: {C: {Type: Custom::Thing}}", []string{"*"}, "Custom::Thing"},
		{"custom resources by their alias", "Resources: {C: {Type: AWS::CloudFormation::CustomResource}}", []string{"*"}, "AWS::CloudFormation::CustomResource"},
		{"modules may contain any resource", "Resources: {M: {Type: Our::SQS::Thing::MODULE}}", []string{"*"}, "Our::SQS::Thing::MODULE"},
		{"policies of queues of others", "Resources: {P: {Type: AWS::SQS::QueuePolicy}}", queues, "AWS::SQS::QueuePolicy"},
		{"policies of queues by their exact name", "Resources: {P: {Type: AWS::SQS::QueuePolicy}}", []string{"AWS::SQS::QueuePolicy"}, ""},
		{"subscriptions to topics of others", "Resources: {S: {Type: AWS::SNS::Subscription}}", queues, "AWS::SNS::Subscription"},
		{"transforms", "{Transform: AWS::Serverless-2016-10-31, Resources: {Q: {Type: AWS::SQS::Queue}}}", []string{"*"}, "transform AWS::Serverless-2016-10-31"},
		{"transforms by their exact name", "{Transform: AWS::LanguageExtensions, Resources: {Q: {Type: AWS::SQS::Queue}}}", []string{"AWS::LanguageExtensions", "AWS::SQS::*"}, ""},
		{"macros in a property", "Resources: {Q: {Type: AWS::SQS::Queue, Properties: {Fn::Transform: {Name: AWS::Include, Parameters: {Location: s3://x/y}}}}}", queues, "Fn::Transform"},
		{"macros beside properties", "Resources: {Q: {Type: AWS::SQS::Queue, Properties: {QueueName: a, Fn::Transform: {Name: X}}}}", queues, "Fn::Transform"},
		{"macros of a section", "Resources: {Q: {Type: AWS::SQS::Queue}, Fn::Transform: {Name: X}}", queues, "a macro in section"},
		{"parameters that read Systems Manager", "{Parameters: {P: {Type: 'AWS::SSM::Parameter::Value<String>', Default: /prod}}, Resources: {Q: {Type: AWS::SQS::Queue}}}", []string{"*", "AWS::SSM::*"}, "parameter P is of type AWS::SSM::Parameter::Value<String>"},
		{"outputs of other stacks", "Resources: {Q: {Type: AWS::SQS::Queue, Properties: {QueueName: {Fn::ImportValue: x}}}}", queues, "Fn::ImportValue"},
		{"a secret", "Resources: {Q: {Type: AWS::SQS::Queue, Properties: {QueueName: '{{resolve:ssm:/prod}}'}}}", queues, "dynamic reference"},
		{"a secret in an output", "{Resources: {Q: {Type: AWS::SQS::Queue}}, Outputs: {O: {Value: '{{resolve:secretsmanager:x}}'}}}", queues, "dynamic reference"},
		{"a secret in the default of a parameter", "{Parameters: {P: {Type: String, Default: '{{resolve:ssm:/prod}}'}}, Resources: {Q: {Type: AWS::SQS::Queue}}}", queues, "dynamic reference"},
		{"a secret that Join puts together", "Resources: {Q: {Type: AWS::SQS::Queue, Properties: {QueueName: {Fn::Join: ['', ['{{res', 'olve:ssm:/prod}}']]}}}}", queues, "dynamic reference"},
		{"by its delimiter", "Resources: {Q: {Type: AWS::SQS::Queue, Properties: {QueueName: {Fn::Join: ['{resolve:', ['{', 'ssm:/prod}}']]}}}}", queues, "dynamic reference"},
		{"that Sub puts together", "Resources: {Q: {Type: AWS::SQS::Queue, Properties: {QueueName: {Fn::Sub: ['{{res${X}ssm:/prod}}', {X: 'olve:'}]}}}}", queues, "dynamic reference"},
		{"that Sub leaves when a variable is empty", "Resources: {Q: {Type: AWS::SQS::Queue, Properties: {QueueName: {Fn::Sub: ['{{re${X}solve:ssm:/prod}}', {X: ''}]}}}}", queues, "dynamic reference"},
		{"that Split uncovers", "Resources: {Q: {Type: AWS::SQS::Queue, Properties: {QueueName: {Fn::Join: ['', {Fn::Split: ['_', '{_{_resolve:ssm:/prod}}']}]}}}}", queues, "Fn::Split"},
		{"a secret in a mapping", "{Mappings: {M: {A: {B: '{{resolve:ssm:/prod}}'}}}, Resources: {Q: {Type: AWS::SQS::Queue}}}", queues, "dynamic reference"},
		{"JSON is no secret", `Resources: {Q: {Type: AWS::SQS::Queue, Properties: {QueueName: {Fn::Sub: '{"a": {"b": "${AWS::Region}"}}'}}}}`, queues, ""},
	} {
		t.Run(c.why, func(t *testing.T) {
			parsed, err := cfntemplate.Parse("theirs.yaml", []byte(c.template))
			if err != nil {
				t.Fatal(err)
			}
			err = (&render.Limits{TemplateTypes: c.types}).CheckTemplate(parsed)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("it gives %v, want %q", err, c.want)
			}
			if err := (*render.Limits)(nil).CheckTemplate(parsed); err != nil {
				t.Errorf("without limits it returns %v", err)
			}
		})
	}
}

func TestDynamicReferencesComeFromModelsOnly(t *testing.T) {
	text := v1alpha1.RawJSON(`{"type":"object","x-kubernetes-preserve-unknown-fields":true}`)
	for _, c := range []struct {
		why, template, spec string
		fields              []string
		want                string // empty if it is allowed
	}{
		{"a plain value", "QueueName: {{ .spec.a }}", `{"a":"jobs"}`, nil, ""},
		{"a secret", "QueueName: {{ .spec.a }}", `{"a":"x{{resolve:ssm:/prod}}"}`, nil, "spec.a holds a dynamic reference"},
		{"a secure string", "QueueName: {{ .spec.a }}", `{"a":"{{resolve:ssm-secure:/prod}}"}`, nil, "spec.a"},
		{"in a list of maps", "Tags: {{ .spec.tags }}", `{"tags":[{"Key":"k","Value":"{{resolve:ssm:/prod}}"}]}`, nil, "spec.tags[0].Value"},
		{"in a key", "Tags: {{ .spec.tags }}", `{"tags":{"{{resolve:ssm:/prod}}":"v"}}`, nil, "dynamic reference"},
		{"in two fields", `QueueName: {{ printf "%s%s" .spec.a .spec.b }}`, `{"a":"{{res","b":"olve:ssm:/prod}}"}`, nil, "spec.a"},
		{"that the model's brace completes", `QueueName: {{ printf "{%s}" .spec.a }}`, `{"a":"{resolve:ssm:/prod}"}`, nil, "spec.a"},
		{"that a function of the model uncovers", `QueueName: {{ replace "_" "" .spec.a }}`, `{"a":"{_{_resolve:ssm:/prod}}"}`, nil, "The spec renders to a template"},
		{"by a function of CloudFormation", "QueueName: {{ .spec.a }}", `{"a":{"Fn::Join":["",["{","{resolve:ssm:/prod}}"]]}}`, nil, "spec.a.Fn::Join calls a function"},
		{"where the model says so", "QueueName: {{ .spec.a }}", `{"a":"{{resolve:ssm:/prod}}"}`, []string{"a"}, ""},
		{"where it says so of another field", "QueueName: {{ .spec.a }}", `{"a":"{{resolve:ssm:/prod}}"}`, []string{"b"}, "spec.a"},
		{"the model's own", `QueueName: {{ "{{resolve:ssm:/name}}" }}`, `{"a":"jobs"}`, nil, ""},
	} {
		t.Run(c.why, func(t *testing.T) {
			m, err := model.Compile("test", &v1alpha1.ModelDefinitionSpec{
				Kind: "Test", Schema: text, DynamicReferences: c.fields,
				Template: "Resources: {Q: {Type: AWS::SQS::Queue, Properties: {" + c.template + "}}}",
			}, schema.Default())
			if err != nil {
				t.Fatal(err)
			}
			obj := &v1alpha1.Object{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default"}, Spec: v1alpha1.RawJSON(c.spec)}
			facts := render.Facts{Region: "eu-west-1", AccountID: "123456789012", ClusterName: "test", Limits: &render.Limits{}}
			_, err = render.Stack(m, obj, facts, nil)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("it gives %v, want %q", err, c.want)
			}
		})
	}
}

// TestPlainTextSecretsAreRefused tests that no stack gets a secret as plain text from a spec, and
// that the refusal names the field and the remedy.
func TestPlainTextSecretsAreRefused(t *testing.T) {
	const reference = "{{resolve:secretsmanager:db:SecretString:password}}"
	derived := v1alpha1.ModelDefinitionSpec{Kind: "Database", ResourceType: "AWS::RDS::DBInstance"}
	allowed := derived
	allowed.DynamicReferences = []string{"masterUserPassword"}
	brokers := v1alpha1.ModelDefinitionSpec{Kind: "Broker", ResourceType: "AWS::AmazonMQ::Broker"}
	own := v1alpha1.ModelDefinitionSpec{
		Kind: "Database", Schema: v1alpha1.RawJSON(`{"type":"object","properties":{"password":{"type":"string"}}}`),
		Template: "Resources: {Db: {Type: AWS::RDS::DBInstance, Properties: {MasterUserPassword: {{ .spec.password }}}}}",
	}
	for _, c := range []struct {
		why, spec string
		model     v1alpha1.ModelDefinitionSpec
		want      string // empty if it is allowed
	}{
		{"plain text", `{"masterUserPassword":"hunter2"}`, derived, "spec.masterUserPassword is a secret, which the stack's template would contain as plain text. " +
			"Take it from a Secret by spec.valuesFrom, or store it in Secrets Manager, and write a dynamic reference, such as {{resolve:secretsmanager:NAME:SecretString:KEY}}. " +
			"An administrator must allow a dynamic reference by masterUserPassword in spec.dynamicReferences of the ModelDefinition databases."},
		{"a reference that the model does not allow", `{"masterUserPassword":"` + reference + `"}`, derived, "add the field to dynamicReferences"},
		{"a reference that the model allows", `{"masterUserPassword":"` + reference + `"}`, allowed, ""},
		{"plain text where the model allows references", `{"masterUserPassword":"hunter2"}`, allowed, "SecretString:KEY}}."},
		{"no password", `{"manageMasterUserPassword":true}`, derived, ""},
		{"plain text in a list", `{"users":[{"username":"a","password":"hunter2"}]}`, brokers, "spec.users[0].password is a secret"},
		{"plain text in a template", `{"password":"hunter2"}`, own, "Property MasterUserPassword of resource Db is a secret"},
	} {
		t.Run(c.why, func(t *testing.T) {
			m, err := model.Compile("databases", &c.model, schema.Default())
			if err != nil {
				t.Fatal(err)
			}
			obj := &v1alpha1.Object{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default"}, Spec: v1alpha1.RawJSON(c.spec)}
			limited := facts
			limited.Limits = &render.Limits{}
			_, err = render.Stack(m, obj, limited, nil)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("it gives %v, want %q", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the message contains the secret: %v", err)
			}
		})
	}
}

// TestForeignResourcesOfFunctions tests what a function may use only if --allow-foreign grants it: code,
// images, subnets and security groups that its namespace did not make.
func TestForeignResourcesOfFunctions(t *testing.T) {
	m := builtIn(t, "Lambda")
	for _, c := range []struct{ spec, field, arn string }{
		{`{"code":{"bucket":"builds","key":"a/b.zip"}}`, "spec.code.bucket", "arn:aws:s3:::builds/a/b.zip"},
		{`{"image":{"repository":"team/app","tag":"1"}}`, "spec.image.repository", "arn:aws:ecr:eu-west-1:123456789012:repository/team/app"},
		{
			`{"image":{"repository":"app","accountID":"210987654321","tag":"1"}}`, "spec.image.repository",
			"arn:aws:ecr:eu-west-1:210987654321:repository/app",
		},
		{
			`{"vpc":{"subnetIDs":["subnet-1","subnet-2"]}}`, "spec.vpc.subnetIDs", "arn:aws:ec2:eu-west-1:123456789012:subnet/subnet-2",
		},
		{`{"vpc":{"securityGroupIDs":["sg-1"]}}`, "spec.vpc.securityGroupIDs", "arn:aws:ec2:eu-west-1:123456789012:security-group/sg-1"},
	} {
		obj := &v1alpha1.Object{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "resize"}, Spec: []byte(c.spec)}
		allowing := func(patterns ...string) render.Facts {
			own := facts
			own.Limits = &render.Limits{}
			for _, pattern := range patterns {
				own.Limits.Foreign = append(own.Limits.Foreign, grant.Grant{Namespace: "team", Pattern: pattern})
			}
			return own
		}
		const first = "arn:aws:ec2:eu-west-1:123456789012:subnet/subnet-1"
		_, err := render.ForeignResources(m, obj, allowing(first))
		refused, ok := errors.AsType[*render.RefusedError](err)
		if !ok || refused.Reason != "ForeignResource" || !strings.Contains(refused.Message, c.field+" names "+c.arn+",") {
			t.Errorf("%s: the error is %v, want one about %s of %s", c.spec, err, c.arn, c.field)
		}
		found, err := render.ForeignResources(m, obj, allowing(first, c.arn))
		if err != nil || found[len(found)-1].ARN != c.arn {
			t.Errorf("%s: the resources are %v, %v", c.spec, found, err)
		}
	}
}

// TestFunctionsHaveTheTemplateOfTheirKind tests that no template of a user replaces that of a kind with a
// role: it could name the role of another object.
func TestFunctionsHaveTheTemplateOfTheirKind(t *testing.T) {
	obj := &v1alpha1.Object{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "resize"}, Spec: []byte(`{"cloudFormationTemplateName":"own"}`)}
	_, err := render.Stack(builtIn(t, "Lambda"), obj, facts, &render.Override{File: "own", Template: "Resources: {}"})
	if refused, ok := errors.AsType[*render.RefusedError](err); !ok || refused.Reason != "RoleNeedsTemplateOfKind" {
		t.Errorf("the error is %v", err)
	}
}

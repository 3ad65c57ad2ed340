package render_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/service/model"
	"github.com/aws-operator/aws-operator/internal/service/render"
)

const overrideTemplate = `
Parameters:
  Namespace: {Type: String}
  ResourceName: {Type: String}
  ClusterName: {Type: String}
  ResourceVersion: {Type: String}
  HashAttributeName: {Type: String}
  HashAttributeType: {Type: String}
  ReadCapacityUnits: {Type: Number}
  TableName: {Type: String}
  SomethingElse: {Type: String, Default: x}
Resources:
  Table: {Type: AWS::DynamoDB::Table}
`

// TestParametersOfUsersTemplates tests that a template gets exactly the parameters that it
// declares.
func TestParametersOfUsersTemplates(t *testing.T) {
	obj := &v1alpha1.Object{
		ObjectMeta: metav1.ObjectMeta{Name: "table", Namespace: "default", ResourceVersion: "1", Generation: 1},
		Spec:       []byte(`{"hashAttribute":{"name":"id","type":"S"},"readCapacityUnits":5,"writeCapacityUnits":5}`),
	}
	m := builtIn(t, "DynamoDB")
	override := &render.Override{File: "table.yaml", Template: overrideTemplate}
	desired, err := render.Stack(m, obj, facts, override)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"Namespace": "default", "ResourceName": "table", "ClusterName": "aws-operator",
		"ResourceVersion":   desired.Parameters["ResourceVersion"],
		"HashAttributeName": "id", "HashAttributeType": "S", "ReadCapacityUnits": "5", "TableName": "table",
	}
	if diff := cmp.Diff(want, desired.Parameters); diff != "" {
		t.Errorf("the parameters differ (-want +got):\n%s", diff)
	}

	// Fields that the API server changes do not change the stack.
	later := obj.DeepCopy()
	later.ResourceVersion, later.Generation, later.Labels = "99", 7, map[string]string{"a": "b"}
	later.Status.Output = map[string]v1alpha1.Value{"tableName": {Text: "table"}}
	again, err := render.Stack(m, later, facts, override)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{desired.Parameters, desired.Tags}, []any{again.Parameters, again.Tags}); diff != "" {
		t.Errorf("an irrelevant change changes the stack:\n%s", diff)
	}

	// A change of the spec is a new version.
	later.Spec = []byte(`{"hashAttribute":{"name":"id","type":"S"},"readCapacityUnits":6,"writeCapacityUnits":5}`)
	changed, err := render.Stack(m, later, facts, override)
	if err != nil {
		t.Fatal(err)
	}
	if changed.Parameters["ResourceVersion"] == desired.Parameters["ResourceVersion"] {
		t.Error("the version did not change with the spec")
	}
}

// TestProblemsOfDerivedKindsNameFields tests that the problems of a derived template, which users do
// not see, name fields of the spec.
func TestProblemsOfDerivedKindsNameFields(t *testing.T) {
	for _, c := range []struct{ reason, resourceType, spec, want string }{
		{
			"a key of a map", "AWS::Lambda::Function", `{"code":{},"role":"arn:aws:iam::123456789012:role/r","environment":{"variables":{"A":"x"}}}`,
			`spec.environment.variables.A: AWS::Lambda::Function property Environment/Variables cannot have the name "A": names must match [a-zA-Z][a-zA-Z0-9_]+`,
		},
		{
			"a value in a list", "AWS::RDS::DBInstance", `{"engine":"postgres","dbSecurityGroups":[["x"]]}`,
			"spec.dbSecurityGroups[0]: AWS::RDS::DBInstance property DBSecurityGroups/0 must be a string, not a list",
		},
	} {
		t.Run(c.reason, func(t *testing.T) {
			m, err := model.Compile("m", &v1alpha1.ModelDefinitionSpec{Kind: "Thing", ResourceType: c.resourceType}, schema.Default())
			if err != nil {
				t.Fatal(err)
			}
			obj := &v1alpha1.Object{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default"}, Spec: []byte(c.spec)}
			desired, err := render.Stack(m, obj, facts, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := schema.Default().Validate(desired.Template).Error(); got != c.want {
				t.Errorf("the problems are\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// TestOutputs tests that names match case-insensitively and that numbers are numbers.
func TestOutputs(t *testing.T) {
	got := render.Outputs(
		builtIn(t, "ElastiCache"), map[string]string{"redisendpointADDRESS": "a", "RedisEndpointPort": "6379", "Else": "x"},
	)
	want := map[string]v1alpha1.Value{"redisEndpointAddress": {Text: "a"}, "redisEndpointPort": {Text: "6379", Number: true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the output differs (-want +got):\n%s", diff)
	}
}

// TestQueuePolicyNamesEverySibling tests that two subscriptions to one queue share the queue's
// policy.
func TestQueuePolicyNamesEverySibling(t *testing.T) {
	obj := &v1alpha1.Object{
		ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: "default"},
		Spec:       []byte(`{"topicName":"orders","protocol":"sqs","endpoint":"orders"}`),
	}
	own := facts
	own.Siblings = map[string][]any{"queue": {
		map[string]any{"topic": map[string]any{"topicARN": "arn:aws:sns:eu-west-1:123456789012:orders"}},
		map[string]any{"topic": map[string]any{"topicARN": "arn:aws:sns:eu-west-1:123456789012:returns"}},
	}}
	desired, err := render.Stack(builtIn(t, "SNSSubscription"), obj, own, nil)
	if err != nil {
		t.Fatal(err)
	}
	document := desired.Template.Resources["QueuePolicy"].Properties.Get("PolicyDocument").Get("Statement").Items[0]
	got := document.Get("Condition").Get("ArnEquals").Get("aws:SourceArn").Interface()
	want := []any{"arn:aws:sns:eu-west-1:123456789012:orders", "arn:aws:sns:eu-west-1:123456789012:returns"}
	if diff := cmp.Diff(any(want), got); diff != "" {
		t.Errorf("the topics differ (-want +got):\n%s", diff)
	}
}

// TestDistributionsAreInThePartitionAWS tests that a distribution is refused where CloudFront differs, and that its domain
// name and policy are those of the bucket's region elsewhere.
func TestDistributionsAreInThePartitionAWS(t *testing.T) {
	obj := &v1alpha1.Object{
		ObjectMeta: metav1.ObjectMeta{Name: "site", Namespace: "default"}, Spec: []byte(`{"bucketName":"pages"}`),
	}
	m := builtIn(t, "CloudFrontDistribution")
	for _, region := range []string{"cn-north-1", "us-gov-west-1", "eusc-de-east-1"} {
		own := facts
		own.Region = region
		_, err := render.Stack(m, obj, own, nil)
		if refused, ok := errors.AsType[*render.RefusedError](err); !ok || !strings.Contains(refused.Message, "Use a region of the partition aws") {
			t.Errorf("in %s, the error is %v", region, err)
		}
	}
	own := facts
	own.Region = "ap-south-2"
	desired, err := render.Stack(m, obj, own, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := string(desired.Template.JSON())
	if !strings.Contains(text, "pages.s3.ap-south-2.amazonaws.com") || !strings.Contains(text, "arn:aws:cloudfront::123456789012:distribution/") {
		t.Errorf("the template is %s", text)
	}
}

// TestRenderingIsDeterministic tests that the same object renders to the same bytes.
func TestRenderingIsDeterministic(t *testing.T) {
	obj := &v1alpha1.Object{
		ObjectMeta: metav1.ObjectMeta{Name: "everything", Namespace: "default"},
		Spec:       []byte(`{"versioning":true,"accessControl":"PublicRead","website":{"enabled":true},"logging":{"enabled":true}}`),
	}
	m := builtIn(t, "S3Bucket")
	var first string
	for range 20 {
		desired, err := render.Stack(m, obj, facts, nil)
		if err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = desired.Template.Digest()
		}
		if desired.Template.Digest() != first {
			t.Fatal("the same object rendered differently")
		}
	}
}

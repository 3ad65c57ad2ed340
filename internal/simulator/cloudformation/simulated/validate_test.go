package simulated_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation/simulated"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

func decode(t *testing.T, text string) map[string]any {
	t.Helper()
	var out map[string]any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestValidateReturnsCloudFormationMessages(t *testing.T) {
	cases := []struct {
		why, kind, properties string
		want                  []string
	}{
		{"all is well", "AWS::SQS::Queue", `{"DelaySeconds": 5}`, nil},
		{"numbers may be written as texts", "AWS::SQS::Queue", `{"DelaySeconds": "5", "FifoQueue": "true"}`, nil},
		{"an unknown property", "AWS::SQS::Queue", `{"Delay": 5}`, []string{"#: extraneous key [Delay] is not permitted"}},
		{"a read-only property", "AWS::SQS::Queue", `{"Arn": "x"}`, []string{"#: extraneous key [Arn] is not permitted"}},
		{
			"a missing property",
			"AWS::ElastiCache::CacheCluster",
			`{"Engine": "redis", "NumCacheNodes": 1}`,
			[]string{"#: required key [CacheNodeType] not found"},
		},
		{
			"a missing property further down",
			"AWS::SQS::Queue",
			`{"Tags": [{"Key": "k"}]}`,
			[]string{"#/Tags/0: required key [Value] not found"},
		},
		{"a wrong type", "AWS::SQS::Queue", `{"QueueName": ["a"]}`, []string{"#/QueueName: expected type: String, found: JSONArray"}},
		{
			"a number out of bounds",
			"AWS::SQS::Queue",
			`{"DelaySeconds": 901}`,
			[]string{"#/DelaySeconds: failed validation constraint for keyword [maximum]"},
		},
		{
			"a value that is not listed",
			"AWS::ElastiCache::CacheCluster",
			`{"Engine": "redis", "NumCacheNodes": 1, "CacheNodeType": "t", "AZMode": "x"}`,
			[]string{"#/AZMode: failed validation constraint for keyword [enum]"},
		},
	}
	for _, c := range cases {
		t.Run(c.why, func(t *testing.T) {
			rt, ok := schema.Default().Type(c.kind)
			if !ok {
				t.Fatal("no such type")
			}
			got := simulated.Validate(rt, simulated.Coerce(rt, decode(t, c.properties)))
			if !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestIdentifiers(t *testing.T) {
	store := simulated.NewStore(schema.Default())
	cases := []struct{ why, kind, properties, id string }{
		{"a name that is given", "AWS::Kinesis::Stream", `{"Name": "mine"}`, "mine"},
		{"a name that is made up", "AWS::Kinesis::Stream", `{}`, "stack-It-"},
		{"an identifier with the type's prefix", "AWS::EC2::VPC", `{"CidrBlock": "10.0.0.0/16"}`, "vpc-"},
		{"a global service has no region in its ARNs", "AWS::IAM::ManagedPolicy", `{"PolicyDocument": {}}`, "arn:aws:iam::123456789012:"},
		{
			"a provider of tokens has its URL in its ARN",
			"AWS::IAM::OIDCProvider",
			`{"Url": "https://demo.example.com/oidc"}`,
			"arn:aws:iam::123456789012:oidc-provider/demo.example.com/oidc",
		},
		{"several parts are joined", "AWS::Lambda::Permission", `{"FunctionName": "f", "Action": "lambda:InvokeFunction", "Principal": "*"}`, "f|"},
		{"Ref of a stage is its name", "AWS::ApiGateway::Stage", `{"RestApiId": "one", "StageName": "prod"}`, "prod"},
		{"another API has a stage of that name", "AWS::ApiGateway::Stage", `{"RestApiId": "two", "StageName": "prod"}`, "prod"},
		{
			"the first revision of a task definition", "AWS::ECS::TaskDefinition", `{"Family": "web"}`,
			"arn:aws:ecs:eu-west-1:123456789012:task-definition/web:1",
		},
		{
			"a second revision", "AWS::ECS::TaskDefinition", `{"Family": "web"}`,
			"arn:aws:ecs:eu-west-1:123456789012:task-definition/web:2",
		},
		{"a secret's ARN ends in six characters", "AWS::SecretsManager::Secret", `{"Name": "db"}`, "arn:aws:secretsmanager:eu-west-1:123456789012:secret:db-"},
		{"Ref of a rule is its name", "AWS::Events::Rule", `{"Name": "rule"}`, "rule"},
	}
	for _, c := range cases {
		t.Run(c.why, func(t *testing.T) {
			made, err := store.Provider(c.kind).Create(t.Context(), resource.Request{
				Account: "123456789012", Region: "eu-west-1", StackName: "stack", LogicalID: "It", Properties: decode(t, c.properties),
			})
			if err != nil || !strings.HasPrefix(made.PhysicalID, c.id) {
				t.Errorf("%q %v, want %q", made.PhysicalID, err, c.id)
			}
		})
	}
}

func TestActions(t *testing.T) {
	for _, c := range []struct{ why, kind, operation, want string }{
		{"most are service and verb", "AWS::SQS::Queue", "Create", "sqs:CreateQueue"},
		{"a service with another prefix", "AWS::ElasticLoadBalancingV2::LoadBalancer", "Create", "elasticloadbalancing:CreateLoadBalancer"},
		{"a verb of its own", "AWS::EC2::Instance", "Create", "ec2:RunInstances"},
	} {
		if got := simulated.Action(c.kind, c.operation); got != c.want {
			t.Errorf("%s: %s, want %s", c.why, got, c.want)
		}
	}
}

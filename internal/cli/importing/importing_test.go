package importing_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/aws-operator/aws-operator/internal/cli/importing"
	"github.com/aws-operator/aws-operator/internal/cli/plan"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

const (
	account = "123456789012"
	region  = "eu-central-1"
)

// suite is AWS on loopback, and the environment of a user.
type suite struct {
	t      *testing.T
	config aws.Config
	stacks *cloudformation.Client
	sim    *simulator.Simulator
}

// calls counts the calls of AWS from now on, except those that the simulator throttles, by operation.
func (s *suite) calls() func() map[string]int {
	var mu sync.Mutex
	made, counting := map[string]int{}, true
	s.sim.Faults().OnCall(func(c fault.CallInfo) {
		mu.Lock()
		defer mu.Unlock()
		if counting && c.ResourceType == "" && c.Phase == fault.After {
			made[c.Operation]++
		}
	})
	return func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		counting = false
		return made
	}
}

func newSuite(t *testing.T) *suite {
	t.Helper()
	sim, endpoint := simulatortest.Start(t, simulator.Options{Account: account, Region: region})
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": endpoint, "AWS_REGION": region, "AWS_ACCESS_KEY_ID": account, "AWS_SECRET_ACCESS_KEY": simulator.RootSecret,
	} {
		t.Setenv(name, value)
	}
	config := aws.Config{
		Region: region, BaseEndpoint: &endpoint, Credentials: credentials.NewStaticCredentialsProvider(account, simulator.RootSecret, ""),
		RetryMaxAttempts: 10, // the simulator throttles some calls
	}
	return &suite{t: t, config: config, stacks: cloudformation.NewFromConfig(config), sim: sim}
}

// run runs a command.
func (s *suite) run(cmd *cobra.Command, args ...string) (out, errOut string, err error) {
	s.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.SetArgs(args)
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.ExecuteContext(s.t.Context())
	return stdout.String(), stderr.String(), err
}

// planned plans the manifests in a folder, which must change nothing.
func (s *suite) planned(folder string, imports int) {
	s.t.Helper()
	out, errOut, err := s.run(plan.Command(), "-f", folder)
	want := fmt.Sprintf("Plan: %d to import, in %d stacks. No resource changes.", imports, imports)
	if imports == 1 {
		want = "Plan: 1 to import, in 1 stack. No resource changes."
	}
	if err != nil || !strings.Contains(out, want) {
		s.t.Errorf("the plan of what was imported: %v\n%s%s", err, out, errOut)
	}
}

// stack creates a stack, and deletes it again unless it is to stay. Its resources stay in any case.
func (s *suite) stack(name, template string, stays bool) {
	s.t.Helper()
	wait := func(o *cloudformation.StackCreateCompleteWaiterOptions) {
		o.MinDelay, o.MaxDelay = 10*time.Millisecond, 100*time.Millisecond
	}
	if _, err := s.stacks.CreateStack(s.t.Context(), &cloudformation.CreateStackInput{
		StackName: &name, TemplateBody: &template, Capabilities: []types.Capability{types.CapabilityCapabilityNamedIam},
		DisableRollback: aws.Bool(true),
	}); err != nil {
		s.t.Fatal(err)
	}
	in := &cloudformation.DescribeStacksInput{StackName: &name}
	if err := cloudformation.NewStackCreateCompleteWaiter(s.stacks, wait).Wait(s.t.Context(), in, patience.Left(s.t)); err != nil {
		events, _ := s.stacks.DescribeStackEvents(s.t.Context(), &cloudformation.DescribeStackEventsInput{StackName: &name})
		for _, e := range events.StackEvents {
			if e.ResourceStatus == types.ResourceStatusCreateFailed {
				s.t.Log(aws.ToString(e.LogicalResourceId), *e.ResourceStatusReason)
			}
		}
		s.t.Fatal(err)
	}
	if stays {
		return
	}
	if _, err := s.stacks.DeleteStack(s.t.Context(), &cloudformation.DeleteStackInput{StackName: &name}); err != nil {
		s.t.Fatal(err)
	}
	if err := cloudformation.NewStackDeleteCompleteWaiter(s.stacks, func(o *cloudformation.StackDeleteCompleteWaiterOptions) {
		o.MinDelay, o.MaxDelay = 10*time.Millisecond, 100*time.Millisecond
	}).Wait(s.t.Context(), in, patience.Left(s.t)); err != nil {
		s.t.Fatal(err)
	}
}

const trust = `{Version: "2012-10-17", Statement: [{Effect: Allow, Principal: {Service: lambda.amazonaws.com}, Action: "sts:AssumeRole"}]}`

// resources are resources of twenty types, in which NUM stands for a number.
var resources = map[string]string{
	"AWS::S3::Bucket":               `{BucketName: import-bucket-NUM, VersioningConfiguration: {Status: Enabled}}`,
	"AWS::SQS::Queue":               `{QueueName: import-queue-NUM, VisibilityTimeout: 45, Tags: [{Key: team, Value: shop}]}`,
	"AWS::SNS::Topic":               `{TopicName: import-topic-NUM, DisplayName: News}`,
	"AWS::DynamoDB::Table":          `{TableName: import-table-NUM, BillingMode: PAY_PER_REQUEST, KeySchema: [{AttributeName: id, KeyType: HASH}], AttributeDefinitions: [{AttributeName: id, AttributeType: S}]}`,
	"AWS::ECR::Repository":          `{RepositoryName: import-repository-NUM, ImageTagMutability: IMMUTABLE}`,
	"AWS::IAM::Role":                `{RoleName: ImportRoleNUM, AssumeRolePolicyDocument: ` + trust + `}`,
	"AWS::IAM::ManagedPolicy":       `{ManagedPolicyName: ImportPolicyNUM, PolicyDocument: {Version: "2012-10-17", Statement: [{Effect: Allow, Action: "sqs:*", Resource: "*"}]}}`,
	"AWS::KMS::Key":                 `{Description: Key NUM}`,
	"AWS::SSM::Parameter":           `{Name: /import/NUM, Type: String, Value: "NUM"}`,
	"AWS::Events::Rule":             `{Name: import-rule-NUM, ScheduleExpression: rate(5 minutes)}`,
	"AWS::Kinesis::Stream":          `{Name: import-stream-NUM, ShardCount: 2}`,
	"AWS::Logs::LogGroup":           `{LogGroupName: /import/NUM, RetentionInDays: 7}`,
	"AWS::CloudWatch::Alarm":        `{AlarmName: import-alarm-NUM, ComparisonOperator: GreaterThanThreshold, EvaluationPeriods: 2, Threshold: 80, MetricName: Errors, Namespace: Shop, Statistic: Sum, Period: 60}`,
	"AWS::EFS::FileSystem":          `{Encrypted: true, PerformanceMode: generalPurpose}`,
	"AWS::ECS::Cluster":             `{ClusterName: import-cluster-NUM}`,
	"AWS::ApiGatewayV2::Api":        `{Name: import-api-NUM, ProtocolType: HTTP}`,
	"AWS::Cognito::UserPool":        `{UserPoolName: import-pool-NUM}`,
	"AWS::Athena::WorkGroup":        `{Name: import-group-NUM, State: ENABLED}`,
	"AWS::StepFunctions::Activity":  `{Name: import-activity-NUM}`,
	"AWS::Scheduler::ScheduleGroup": `{Name: import-schedules-NUM}`,
}

// template has a number of resources of each type.
func template(each int) string {
	var b strings.Builder
	b.WriteString("Resources:\n")
	for kind, properties := range resources {
		for n := range each {
			fmt.Fprintf(&b, "  %sNo%d: {Type: '%s', DeletionPolicy: Retain, Properties: %s}\n",
				strings.ReplaceAll(kind, "::", ""), n, kind, strings.ReplaceAll(properties, "NUM", strconv.Itoa(n)))
		}
	}
	return b.String()
}

func TestAccountOfTwentyTypesIsImportedWithoutChanges(t *testing.T) {
	s := newSuite(t)
	const each = 10
	s.stack("of-another-tool", template(each), false)
	folder := filepath.Join(t.TempDir(), "manifests")
	args := []string{"--out", folder}
	for kind := range resources {
		args = append(args, "--type", kind)
	}
	calls := s.calls()
	_, errOut, err := s.run(importing.Command(), args...)
	count := each * len(resources)
	want := map[string]int{"GetCallerIdentity": 1, "ListResources": len(resources), "GetResource": count, "DescribeStackResources": count}
	if diff := cmp.Diff(want, calls()); diff != "" {
		t.Errorf("the calls of import (-want +got):\n%s", diff)
	}
	if err != nil || !strings.Contains(errOut, fmt.Sprintf("Wrote %d objects and left out 0.", count)) {
		t.Fatalf("%v\n%s", err, errOut)
	}
	for _, built := range []string{"sqsqueue", "snstopic", "dynamodb", "s3bucket", "ecrrepository"} {
		if files, _ := filepath.Glob(filepath.Join(folder, built+"-*.yaml")); len(files) != each {
			t.Errorf("%d objects of the built-in kind %s, want %d", len(files), built, each)
		}
	}
	calls = s.calls()
	s.planned(folder, count)
	if diff := cmp.Diff(map[string]int{"GetCallerIdentity": 1, "DescribeStacks": 1, "GetResource": count}, calls()); diff != "" {
		t.Errorf("the calls of the plan (-want +got):\n%s", diff)
	}
}

func (s *suite) queue(name string, attributes, tags map[string]string) string {
	s.t.Helper()
	out, err := sqs.NewFromConfig(s.config).CreateQueue(s.t.Context(), &sqs.CreateQueueInput{
		QueueName: &name, Attributes: attributes, Tags: tags,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return *out.QueueUrl
}

// TestResourcesAreSelected has queues of which some match the flags.
func TestResourcesAreSelected(t *testing.T) {
	s := newSuite(t)
	s.queue("orders", map[string]string{"VisibilityTimeout": "77"}, map[string]string{"team": "shop"})
	s.queue("orders-old", nil, nil)
	s.queue("bills", nil, map[string]string{"team": "books"})
	s.queue("mail.fifo", map[string]string{"FifoQueue": "true", "ContentBasedDeduplication": "true"}, nil)
	for name, c := range map[string]struct {
		args, want, not []string
	}{
		"by kind":         {[]string{"--type", "sqsqueue"}, []string{"name: orders\n", "name: orders-old\n", "name: bills\n", "name: mail\n", "fifoQueue: true"}, []string{"ModelDefinition"}},
		"by type":         {[]string{"--type", "AWS::SQS::*"}, []string{"name: orders\n", "visibilityTimeout: 77", `aws-operator/tags: '{"team":"shop"}'`}, nil},
		"by name":         {[]string{"--name", "orders*"}, []string{"name: orders\n", "name: orders-old\n"}, []string{"bills", "mail"}},
		"by tag":          {[]string{"--tag", "team"}, []string{"name: orders\n", "name: bills\n"}, []string{"orders-old", "mail"}},
		"by tag's value":  {[]string{"--tag", "team=shop"}, []string{"name: orders\n", "namespace: shop"}, []string{"bills", "mail", "orders-old"}},
		"all of a region": {nil, []string{"name: orders\n", "name: mail\n"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			out, errOut, err := s.run(importing.Command(), append(c.args, "-n", "shop")...)
			if err != nil {
				t.Fatalf("%v\n%s", err, errOut)
			}
			for _, want := range append(c.want, "service-operator.aws/adopt: http", "service-operator.aws/deletion-policy: retain") {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
			for _, not := range c.not {
				if strings.Contains(out, not) {
					t.Errorf("%q in\n%s", not, out)
				}
			}
		})
	}
}

// TestBuiltInKindThatCannotSayEverythingIsNotUsed has a queue with a property that SQSQueue does not have.
func TestBuiltInKindThatCannotSayEverythingIsNotUsed(t *testing.T) {
	s := newSuite(t)
	s.queue("orders", map[string]string{"RedriveAllowPolicy": `{"redrivePermission":"denyAll"}`}, nil)
	folder := filepath.Join(t.TempDir(), "manifests")
	if _, errOut, err := s.run(importing.Command(), "--type", "SQSQueue", "--out", folder); err != nil {
		t.Fatalf("%v\n%s", err, errOut)
	}
	text, err := os.ReadFile(filepath.Join(folder, "rawsqsqueue-orders.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# SQSQueue cannot say what it has in RedriveAllowPolicy.", "kind: RawSQSQueue", "redrivePermission: denyAll"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	s.planned(folder, 1)
}

// TestDistributionIsImportedAsItsTypeSays tests that a distribution becomes an object of a kind of its type: a
// CloudFrontDistribution also has a bucket's policy, and the object of the bucket.
func TestDistributionIsImportedAsItsTypeSays(t *testing.T) {
	s := newSuite(t)
	s.stack("of-another-tool", `
Resources:
  Site:
    Type: AWS::CloudFront::Distribution
    DeletionPolicy: Retain
    Properties:
      DistributionConfig:
        Enabled: true
        Origins: [{Id: a, DomainName: pages.s3.amazonaws.com, S3OriginConfig: {OriginAccessIdentity: ""}}]
        DefaultCacheBehavior: {TargetOriginId: a, ViewerProtocolPolicy: https-only, CachePolicyId: 658327ea-f89d-4fab-a63d-7e88639e58f6}
`, false)
	folder := filepath.Join(t.TempDir(), "manifests")
	if _, errOut, err := s.run(importing.Command(), "--type", "AWS::CloudFront::Distribution", "--out", folder); err != nil {
		t.Fatalf("%v\n%s", err, errOut)
	}
	if files, _ := filepath.Glob(filepath.Join(folder, "rawcloudfrontdistribution-*.yaml")); len(files) != 1 {
		all, _ := filepath.Glob(filepath.Join(folder, "*"))
		t.Errorf("the manifests are %q", all)
	}
	s.planned(folder, 1)
}

// TestResourcesOfAStackAreLeftOutUnlessItIsNamed has the stack of another tool.
func TestResourcesOfAStackAreLeftOutUnlessItIsNamed(t *testing.T) {
	s := newSuite(t)
	s.stack("other-tool", `
Resources:
  Q: {Type: 'AWS::SQS::Queue', DeletionPolicy: Retain, Properties: {QueueName: theirs}}
  T: {Type: 'AWS::DynamoDB::Table', DeletionPolicy: Retain, Properties: {TableName: theirs, BillingMode: PAY_PER_REQUEST,
    KeySchema: [{AttributeName: id, KeyType: HASH}], AttributeDefinitions: [{AttributeName: id, AttributeType: S}]}}
`, true)
	_, errOut, err := s.run(importing.Command())
	if err == nil || !strings.Contains(errOut, "/theirs: it belongs to stack other-tool.") {
		t.Errorf("%v\n%s", err, errOut)
	}
	folder := filepath.Join(t.TempDir(), "manifests")
	_, errOut, err = s.run(importing.Command(), "--stack", "other-tool", "--out", folder)
	if err != nil || !strings.Contains(errOut, "Set their DeletionPolicy to Retain") {
		t.Errorf("%v\n%s", err, errOut)
	}
	s.planned(folder, 2)
}

// TestTerraformStateIsImported has a state with a resource of each provider, and some without a
// counterpart.
func TestTerraformStateIsImported(t *testing.T) {
	s := newSuite(t)
	url := s.queue("orders", nil, nil)
	raw := s.queue("raw", nil, nil)
	type instance struct {
		Key        any            `json:"index_key,omitempty"`
		Attributes map[string]any `json:"attributes"`
	}
	resource := func(module, mode, kind string, instances ...instance) map[string]any {
		return map[string]any{"module": module, "mode": mode, "type": kind, "name": "this", "instances": instances}
	}
	state, err := json.Marshal(map[string]any{"version": 4, "resources": []any{
		resource("module.shop", "managed", "aws_sqs_queue", instance{"a", map[string]any{"id": url, "arn": "arn:aws:sqs:" + region + ":" + account + ":orders"}}),
		resource("", "managed", "awscc_sqs_queue", instance{nil, map[string]any{"id": raw}}),
		resource("", "managed", "aws_sns_topic", instance{0, map[string]any{"id": "x", "arn": "arn:aws:sns:us-east-1:" + account + ":elsewhere"}}),
		resource("", "managed", "aws_sqs_queue_policy", instance{nil, map[string]any{"id": url}}),
		resource("", "managed", "aws_s3_bucket", instance{nil, map[string]any{"id": "lost"}}),
		resource("", "data", "aws_vpc", instance{nil, map[string]any{"id": "vpc-1"}}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	file, folder := filepath.Join(t.TempDir(), "terraform.tfstate"), filepath.Join(t.TempDir(), "manifests")
	if err := os.WriteFile(file, state, 0o600); err != nil {
		t.Fatal(err)
	}
	_, errOut, err := s.run(importing.Command(), "--terraform-state", file, "--out", folder)
	if err != nil {
		t.Fatalf("%v\n%s", err, errOut)
	}
	for _, want := range []string{
		"Wrote 2 objects and left out 3.",
		"  terraform state rm 'module.shop.aws_sqs_queue.this[\"a\"]'\n", "  terraform state rm 'awscc_sqs_queue.this'\n",
		"Left out aws_sns_topic.this[0]: it is in region us-east-1, not in eu-central-1; run the command again with --aws-region us-east-1.\n",
		"Left out aws_sqs_queue_policy.this: the command does not know which CloudFormation type it has, or it is a part of another resource.\n",
		"Left out AWS::S3::Bucket lost: AWS has none with this identifier.\n",
		"--allow-adoption='default=AWS::SQS::Queue/" + url + "'",
	} {
		if !strings.Contains(errOut, want) {
			t.Errorf("no %q in\n%s", want, errOut)
		}
	}
	s.planned(folder, 2)
}

func TestMistakesAreNamed(t *testing.T) {
	s := newSuite(t)
	noState := filepath.Join(t.TempDir(), "no.tfstate")
	if err := os.WriteFile(noState, []byte(`{"version": 3}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"a type that there is not":  {[]string{"--type", "AWS::SQS::Kueue"}, "--type AWS::SQS::Kueue: there is no such kind or CloudFormation type; did you mean AWS::SQS::Queue?"},
		"a pattern that is none":    {[]string{"--name", "[a"}, `--name "[a" is no pattern; use * for any text and ? for any character`},
		"a stack that there is not": {[]string{"--stack", "none"}, "--stack none: there is no such stack in region eu-central-1"},
		"a state of an old version": {[]string{"--terraform-state", noState}, "has version 3; the command reads version 4"},
		"two sources":               {[]string{"--terraform-state", noState, "--stack", "x"}, "none of the others can be"},
		"a pattern for a stack":     {[]string{"--stack", "x", "--name", "a*"}, "none of the others can be"},
		"an empty account":          {[]string{"--type", "SQSQueue"}, "nothing to import"},
	} {
		t.Run(name, func(t *testing.T) {
			out, errOut, err := s.run(importing.Command(), c.args...)
			if err == nil || !strings.Contains(err.Error(), c.want) || out != "" {
				t.Errorf("%v\n%s%s, want %s", err, out, errOut, c.want)
			}
		})
	}
}

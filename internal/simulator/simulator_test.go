package simulator_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	eventtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

func start(t *testing.T) aws.Config {
	t.Helper()
	sim := simulator.New(simulator.Options{Lag: simulator.NoLag})
	server := httptest.NewServer(sim.Handler())
	t.Cleanup(func() {
		sim.Close()
		server.Close()
	})
	return clientsOf(server.URL)
}

func clientsOf(endpoint string) aws.Config {
	return aws.Config{
		Region: "eu-central-1", BaseEndpoint: &endpoint,
		Credentials: credentials.NewStaticCredentialsProvider("123456789012", "secret", ""),
		HTTPClient:  wiretest.SteadyClient{HTTPClient: awshttp.NewBuildableClient()},
	}
}

const template = `
Parameters:
  Name: {Type: String}
Resources:
  Queue:
    Type: AWS::SQS::Queue
    Properties: {QueueName: !Ref Name, RedrivePolicy: {deadLetterTargetArn: !GetAtt Dead.Arn, maxReceiveCount: 3}}
  Dead:
    Type: AWS::SQS::Queue
  Policy:
    Type: AWS::SQS::QueuePolicy
    Properties:
      Queues: [!Ref Queue]
      PolicyDocument: {Statement: [{Effect: Allow, Principal: "*", Action: sqs:SendMessage, Resource: !GetAtt Queue.Arn}]}
  Topic:
    Type: AWS::SNS::Topic
  Subscription:
    Type: AWS::SNS::Subscription
    Properties: {TopicArn: !Ref Topic, Protocol: sqs, Endpoint: !GetAtt Queue.Arn, RawMessageDelivery: true}
Outputs:
  URL: {Value: !Ref Queue}
  ARN: {Value: !GetAtt Queue.Arn}
  Topic: {Value: !Ref Topic}
`

func TestStackOfQueuesAndTopicsWorksAndEmitsEvents(t *testing.T) {
	config := start(t)
	ctx := t.Context()
	queues, events, stacks := sqs.NewFromConfig(config), eventbridge.NewFromConfig(config), cloudformation.NewFromConfig(config)

	inbox, err := queues.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String("inbox"), Attributes: fromEvents("inbox")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := events.PutRule(ctx, &eventbridge.PutRuleInput{
		Name:         aws.String("stacks"),
		EventPattern: aws.String(`{"source":["aws.cloudformation"],"detail-type":["CloudFormation Stack Status Change"]}`),
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := events.PutTargets(ctx, &eventbridge.PutTargetsInput{Rule: aws.String("stacks"), Targets: []eventtypes.Target{
		{Id: aws.String("inbox"), Arn: aws.String("arn:aws:sqs:eu-central-1:123456789012:inbox")},
	}}); err != nil {
		t.Fatal(err)
	}

	if _, err := stacks.CreateStack(ctx, &cloudformation.CreateStackInput{
		StackName: aws.String("s"), TemplateBody: aws.String(template),
		Parameters: []cfntypes.Parameter{{ParameterKey: aws.String("Name"), ParameterValue: aws.String("orders")}},
	}); err != nil {
		t.Fatal(err)
	}
	for complete := false; !complete; {
		out, err := queues.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: inbox.QueueUrl, WaitTimeSeconds: 20})
		if err != nil {
			t.Fatal(err)
		}
		if len(out.Messages) == 0 {
			t.Fatal("no event for 20 s")
		}
		if strings.Contains(*out.Messages[0].Body, "ROLLBACK") {
			t.Fatal(*out.Messages[0].Body)
		}
		complete = strings.Contains(*out.Messages[0].Body, `"CREATE_COMPLETE"`)
	}

	outputs := outputs(t, stacks)
	if want := *config.BaseEndpoint + "/123456789012/orders"; outputs["URL"] != want ||
		outputs["ARN"] != "arn:aws:sqs:eu-central-1:123456789012:orders" {
		t.Errorf("outputs %v, want URL %s", outputs, want)
	}
	if _, err := sns.NewFromConfig(config).Publish(ctx, &sns.PublishInput{
		TopicArn: aws.String(outputs["Topic"]), Message: aws.String("hello"),
	}); err != nil {
		t.Fatal(err)
	}
	got, err := queues.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: aws.String(outputs["URL"])})
	if err != nil || len(got.Messages) != 1 || *got.Messages[0].Body != "hello" {
		t.Errorf("from topic to queue: %+v %v", got, err)
	}
}

func TestTemplatesComeFromS3(t *testing.T) {
	config := start(t)
	buckets := s3.NewFromConfig(config, func(o *s3.Options) { o.UsePathStyle = true })
	if _, err := buckets.CreateBucket(t.Context(), &s3.CreateBucketInput{
		Bucket:                    aws.String("templates"),
		CreateBucketConfiguration: &s3types.CreateBucketConfiguration{LocationConstraint: s3types.BucketLocationConstraintEuCentral1},
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := buckets.PutObject(t.Context(), &s3.PutObjectInput{
		Bucket: aws.String("templates"), Key: aws.String("q.yaml"), Body: strings.NewReader("Resources: {Q: {Type: AWS::SQS::Queue}}"),
	}); err != nil {
		t.Fatal(err)
	}
	stacks := cloudformation.NewFromConfig(config)
	if _, err := stacks.CreateStack(t.Context(), &cloudformation.CreateStackInput{
		StackName: aws.String("s"), TemplateURL: aws.String("https://templates.s3.eu-central-1.amazonaws.com/q.yaml"),
	}); err != nil {
		t.Fatal(err)
	}
	outputs(t, stacks)
}

// outputs waits until the stack s is created and returns its outputs.
func outputs(t *testing.T, stacks *cloudformation.Client) map[string]string {
	t.Helper()
	waiter := cloudformation.NewStackCreateCompleteWaiter(stacks, func(o *cloudformation.StackCreateCompleteWaiterOptions) {
		o.MinDelay, o.MaxDelay = 10*time.Millisecond, 50*time.Millisecond
	})
	out, err := waiter.WaitForOutput(t.Context(), &cloudformation.DescribeStacksInput{StackName: aws.String("s")}, patience.Left(t))
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for _, o := range out.Stacks[0].Outputs {
		values[*o.OutputKey] = *o.OutputValue
	}
	return values
}

func TestParametersComeFromSystemsManager(t *testing.T) {
	config := start(t)
	store, stacks := ssm.NewFromConfig(config), cloudformation.NewFromConfig(config)
	for _, value := range []string{"first", "second"} {
		if _, err := store.PutParameter(t.Context(), &ssm.PutParameterInput{
			Name: aws.String("/queue"), Value: &value, Type: ssmtypes.ParameterTypeString, Overwrite: aws.Bool(true),
		}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := stacks.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("s"), TemplateBody: aws.String(`
Parameters:
  Name: {Type: "AWS::SSM::Parameter::Value<String>", Default: /queue}
Resources:
  Current: {Type: "AWS::SQS::Queue", Properties: {QueueName: !Ref Name}}
  Version: {Type: "AWS::SQS::Queue", Properties: {QueueName: "{{resolve:ssm:/queue:1}}"}}
Outputs:
  Current: {Value: !GetAtt Current.QueueName}
  Version: {Value: !GetAtt Version.QueueName}
`)}); err != nil {
		t.Fatal(err)
	}
	if got := outputs(t, stacks); got["Current"] != "second" || got["Version"] != "first" {
		t.Errorf("outputs %v", got)
	}
}

// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-waitcondition.html
func TestWaitConditionIsSignalledAtItsURL(t *testing.T) {
	config := start(t)
	stacks := cloudformation.NewFromConfig(config)
	if _, err := stacks.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("s"), TemplateBody: aws.String(`
Resources:
  Handle: {Type: "AWS::CloudFormation::WaitConditionHandle"}
  Wait: {Type: "AWS::CloudFormation::WaitCondition", Properties: {Handle: !Ref Handle, Timeout: 600}}
Outputs:
  Data: {Value: !GetAtt Wait.Data}
`)}); err != nil {
		t.Fatal(err)
	}
	var handle string
	for handle == "" {
		out, err := stacks.DescribeStackResources(t.Context(), &cloudformation.DescribeStackResourcesInput{StackName: aws.String("s")})
		if err != nil {
			t.Fatal(err)
		}
		waits := slices.ContainsFunc(out.StackResources, func(r cfntypes.StackResource) bool {
			return *r.LogicalResourceId == "Wait" && r.PhysicalResourceId != nil
		})
		for _, r := range out.StackResources {
			if waits && *r.LogicalResourceId == "Handle" {
				handle = *r.PhysicalResourceId
			}
		}
	}
	for _, tc := range []struct {
		reason, url, body string
		status            int
	}{
		{"no such handle", *config.BaseEndpoint + "/waitcondition/none", `{"Status": "SUCCESS", "UniqueId": "one"}`, http.StatusNotFound},
		{"no status", handle, `{"UniqueId": "one"}`, http.StatusBadRequest},
		{"a signal, without credentials", handle, `{"Status": "SUCCESS", "UniqueId": "one", "Data": "hello", "Reason": "ok"}`, http.StatusOK},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, tc.url, strings.NewReader(tc.body))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := answer.Body.Close(); err != nil || answer.StatusCode != tc.status {
			t.Errorf("%s: %s, want %d; %v", tc.reason, answer.Status, tc.status, err)
		}
	}
	if got := outputs(t, stacks); got["Data"] != `{"one":"hello"}` {
		t.Errorf("outputs %v", got)
	}
}

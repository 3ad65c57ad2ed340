package simulator_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/access"
)

// https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html
func TestPrincipalsMayDoWhatTheirPoliciesAllow(t *testing.T) {
	const role = "arn:aws:iam::210987654321:role/limited"
	policies, err := access.Parse(map[string][]string{
		"AKIALIMITED": {`{"Version": "2012-10-17", "Statement": [
			{"Effect": "Allow", "Action": ["sqs:CreateQueue", "cloudformation:*"], "Resource": ["arn:aws:sqs:*:*:mine-*", "arn:aws:cloudformation:*:*:stack/mine/*"]},
			{"Effect": "Allow", "Action": "sts:AssumeRole", "Resource": "` + role + `"}]}`},
		role: {
			`{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::one/open/*"}]}`,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	sim := simulator.New(simulator.Options{
		Region: "eu-central-1", Policies: policies, Lag: simulator.NoLag, IAM: access.Off,
	})
	defer sim.Close()
	server := httptest.NewServer(sim.Handler())
	defer server.Close()
	config := aws.Config{
		Region:       "eu-central-1",
		BaseEndpoint: &server.URL,
		Credentials:  credentials.NewStaticCredentialsProvider("AKIALIMITED", "secret", ""),
	}
	denied := func(what, want string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", what, err)
		}
	}

	queues := sqs.NewFromConfig(config)
	if _, err := queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("mine-1")}); err != nil {
		t.Error(err)
	}
	_, err = queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("other")})
	denied(
		"another queue",
		"User: arn:aws:iam::123456789012:user/demo is not authorized to perform: sqs:CreateQueue on resource: arn:aws:sqs:eu-central-1:123456789012:other",
		err,
	)

	stacks := cloudformation.NewFromConfig(config)
	_, err = stacks.CreateStack(t.Context(), &cloudformation.CreateStackInput{
		StackName: aws.String("mine"), TemplateBody: aws.String(`{"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	err = cloudformation.NewStackCreateCompleteWaiter(stacks).
		Wait(t.Context(), &cloudformation.DescribeStacksInput{StackName: aws.String("mine")}, 60e9)
	if err == nil {
		t.Error("CloudFormation made a topic for a caller who may not")
	}
	events, err := stacks.DescribeStackEvents(t.Context(), &cloudformation.DescribeStackEventsInput{StackName: aws.String("mine")})
	if err != nil {
		t.Fatal(err)
	}
	var reasons []string
	for _, event := range events.StackEvents {
		reasons = append(reasons, aws.ToString(event.ResourceStatusReason))
	}
	if all := strings.Join(reasons, "\n"); !strings.Contains(all, "is not authorized to perform: sns:CreateTopic") {
		t.Errorf("the events say %s", all)
	}

	owner := as(config, "210987654321", "secret", "")
	if _, err := s3.NewFromConfig(owner, onPath).CreateBucket(t.Context(), &s3.CreateBucketInput{
		Bucket: aws.String("one"), CreateBucketConfiguration: locationOf(config),
	}); err != nil {
		t.Fatal(err)
	}
	assumed := config.Copy()
	assumed.Credentials = stscreds.NewAssumeRoleProvider(sts.NewFromConfig(config), role)
	objects := s3.NewFromConfig(assumed, func(o *s3.Options) { o.UsePathStyle = true })
	_, err = objects.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("one"), Key: aws.String("open/a/b")})
	denied("an object that there is not", "NoSuchKey", err)
	_, err = objects.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("one"), Key: aws.String("closed")})
	denied("an object that the role may not read", "not authorized to perform: s3:GetObject", err)
	_, err = sts.NewFromConfig(config).AssumeRole(t.Context(), &sts.AssumeRoleInput{
		RoleArn: aws.String("arn:aws:iam::210987654321:role/other"), RoleSessionName: aws.String("one"),
	})
	denied("another role", "not authorized to perform: sts:AssumeRole", err)
}

package awsapi_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

func TestRolesCallFromTheirAccount(t *testing.T) {
	simulated, endpoint := simulatortest.Start(t, simulator.Options{Region: "eu-central-1", Lag: simulator.NoLag})
	user := simulatortest.User(t, simulatortest.Root(endpoint, "123456789012", "eu-central-1"), "operator", simulatortest.Administrator)
	other := simulatortest.Root(endpoint, "210987654321", "eu-central-1")
	role := simulatortest.Role(t, other, "operator", "123456789012", "secret", simulatortest.Administrator)
	clients, err := awsapi.New(t.Context(), awsapi.Options{
		Region: "eu-central-1", EndpointURL: endpoint, Credentials: credentials.StaticCredentialsProvider{Value: user},
	})
	if err != nil {
		t.Fatal(err)
	}
	if account, err := clients.Identity(t.Context()); err != nil || account != "123456789012" {
		t.Errorf("own account %q, error %v", account, err)
	}
	target := awsapi.Target{RoleARN: role, ExternalID: "secret", Region: "eu-west-1"}
	for range 2 {
		if _, err := clients.CloudFormation(target).DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{}); err != nil {
			t.Fatal(err)
		}
	}
	out, err := clients.CloudFormation(target).CreateStack(t.Context(), &cloudformation.CreateStackInput{
		StackName: aws.String("jobs"), TemplateBody: aws.String("Resources: {Queue: {Type: AWS::SQS::Queue}}"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := "arn:aws:cloudformation:eu-west-1:210987654321:stack/jobs/"; !strings.HasPrefix(aws.ToString(out.StackId), want) {
		t.Errorf("the stack is %s, want it to begin with %s", aws.ToString(out.StackId), want)
	}
	if calls := simulated.Calls()["sts/AssumeRole"]; calls != 1 {
		t.Errorf("the role was assumed %d times, want once for all calls", calls)
	}
}

// Root users cannot assume roles.
// https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html
func TestDenialNamesTheCallThatGetsTheCredentials(t *testing.T) {
	_, endpoint := simulatortest.Start(t, simulator.Options{Region: "eu-central-1", Lag: simulator.NoLag})
	clients, err := awsapi.New(t.Context(), awsapi.Options{
		Region: "eu-central-1", EndpointURL: endpoint,
		Credentials: credentials.NewStaticCredentialsProvider("123456789012", simulator.RootSecret, ""),
	})
	if err != nil {
		t.Fatal(err)
	}
	target := awsapi.Target{RoleARN: "arn:aws:iam::210987654321:role/operator", Region: "eu-west-1"}
	_, err = clients.CloudFormation(target).DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{})
	want := "AWS denies sts:AssumeRole: Roles may not be assumed by root accounts."
	if failure := awsapi.Explain(err); failure == nil || failure.Message != want {
		t.Errorf("got %+v, want %s", failure, want)
	}
}

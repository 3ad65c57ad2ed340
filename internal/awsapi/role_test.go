package awsapi_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/simulator"
)

func TestRolesCallFromTheirAccount(t *testing.T) {
	simulated := simulator.New(simulator.Options{Region: "eu-central-1"})
	server := httptest.NewServer(simulated.Handler())
	t.Cleanup(server.Close)
	t.Cleanup(simulated.Close)
	clients, err := awsapi.New(t.Context(), awsapi.Options{
		Region: "eu-central-1", EndpointURL: server.URL,
		Credentials: credentials.NewStaticCredentialsProvider("123456789012", "secret", ""),
	})
	if err != nil {
		t.Fatal(err)
	}
	if account, err := clients.Identity(t.Context()); err != nil || account != "123456789012" {
		t.Errorf("own account %q, error %v", account, err)
	}
	target := awsapi.Target{RoleARN: "arn:aws:iam::210987654321:role/operator", ExternalID: "secret", Region: "eu-west-1"}
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

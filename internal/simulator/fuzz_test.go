package simulator_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/access"
)

// FuzzRequest answers any request of any service without a panic and without an internal error.
func FuzzRequest(f *testing.F) {
	const form, json10, json11 = "application/x-www-form-urlencoded", "application/x-amz-json-1.0", "application/x-amz-json-1.1"
	f.Add("ec2", "/", "", form, "Action=DescribeInstances&Version=2016-11-15&Filter.1.Name=tag:a&Filter.1.Value.1=*&MaxResults=5&NextToken=AA")
	f.Add("ec2", "/", "", form, "Action=CreateVpc&CidrBlock=10.0.0.0/33&TagSpecification.1.Tag.1.Key=aws:a")
	f.Add("ec2", "/", "", form, "Action=RunInstances&ImageId=ami-1&MinCount=-1&MaxCount=99&UserData=%zz")
	f.Add("cloudformation", "/", "", form, "Action=CreateStack&StackName=a&TemplateBody=Resources:%0A  A: {Type: 'AWS::SQS::Queue'}&Parameters.member.1.ParameterKey=x")
	f.Add("cloudformation", "/", "", form, "Action=ValidateTemplate&TemplateBody=Resources:%0A  A: {Type: 'AWS::SQS::Queue', Properties: {a: !Sub '${A}'}}")
	f.Add("autoscaling", "/", "", form, "Action=CreateAutoScalingGroup&AutoScalingGroupName=a&MinSize=1&MaxSize=0&AvailabilityZones.member.1=a")
	f.Add("autoscaling", "/", "", form, "Action=PutScheduledUpdateGroupAction&AutoScalingGroupName=a&Recurrence=1/9223372036854775807 * * * *")
	f.Add("sts", "/", "", form, "Action=AssumeRoleWithWebIdentity&RoleArn=arn:aws:iam::1:role/a&RoleSessionName=b&WebIdentityToken=a.eyJpc3MiOiJhIn0.c")
	f.Add("sts", "/", "", form, "Action=DecodeAuthorizationMessage&EncodedMessage=eJw")
	f.Add("sns", "/", "", form, "Action=Publish&TopicArn=arn:aws:sns:eu-west-1:1:a&Message=b&MessageStructure=json")
	f.Add("iam", "/", "", form, "Action=CreateRole&RoleName=a&AssumeRolePolicyDocument={\"Statement\":[{}]}")
	f.Add("sqs", "/", "AmazonSQS.ReceiveMessage", json10, `{"QueueUrl":"http://a/1/b","MaxNumberOfMessages":11,"WaitTimeSeconds":0}`)
	f.Add("sqs", "/", "AmazonSQS.CreateQueue", json10, `{"QueueName":"a","Attributes":{"RedrivePolicy":"{\"maxReceiveCount\":\"x\"}","VisibilityTimeout":"-1"}}`)
	f.Add("dynamodb", "/", "DynamoDB_20120810.PutItem", json10, `{"TableName":"a","Item":{"k":{"N":"1E999"},"l":{"L":[{"M":{}}]}}}`)
	f.Add("kms", "/", "TrentService.Decrypt", json11, `{"CiphertextBlob":"AAAA","EncryptionContext":{"a":null}}`)
	f.Add("ssm", "/", "AmazonSSM.GetParametersByPath", json11, `{"Path":"/","ParameterFilters":[{"Key":"Type"}],"NextToken":"x"}`)
	f.Add("events", "/", "AWSEvents.PutRule", json11, `{"Name":"a","EventPattern":"{\"a\":[{\"numeric\":[\">\",1e999]}]}","ScheduleExpression":"rate(0 days)"}`)
	f.Add("events", "/", "AWSEvents.TestEventPattern", json11, `{"EventPattern":"{\"a\":[{\"wildcard\":\"*\"}]}","Event":"{\"id\":1}"}`)
	f.Add("ecr", "/", "AmazonEC2ContainerRegistry_V20150921.PutImage", json11, `{"repositoryName":"a","imageManifest":"{}"}`)
	f.Add("route53", "/2013-04-01/hostedzone", "", "application/xml", "<CreateHostedZoneRequest><Name>a..</Name></CreateHostedZoneRequest>")
	f.Add("elasticloadbalancing", "/", "", form, "Action=CreateTargetGroup&Version=2015-12-01&Name=a&Port=99999&HealthCheckIntervalSeconds=x")
	f.Fuzz(func(t *testing.T, service, target, operation, contentType, body string) {
		clock := testclock.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
		sim := simulator.New(simulator.Options{Region: "eu-west-1", Lag: simulator.NoLag, IAM: access.Off, Clock: clock, Seed: 1})
		defer sim.Close()
		if strings.Contains(body, "WaitTimeSeconds") && !strings.Contains(body, `"WaitTimeSeconds":0`) {
			return // a long poll lasts until a clock that stands still has moved
		}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, target, strings.NewReader(body))
		if err != nil || request.URL.Host != "" || request.URL.Opaque != "" {
			return
		}
		request.Host = "aws.test"
		request.Header.Set("Authorization",
			"AWS4-HMAC-SHA256 Credential=123456789012/20260102/eu-west-1/"+service+"/aws4_request, SignedHeaders=host, Signature=00")
		request.Header.Set("X-Amz-Date", "20260102T030405Z")
		request.Header.Set("Content-Type", contentType)
		if operation != "" {
			request.Header.Set("X-Amz-Target", operation)
		}
		answer := httptest.NewRecorder()
		sim.Handler().ServeHTTP(answer, request)
		if answer.Code == http.StatusInternalServerError {
			t.Errorf("status %d: %s", answer.Code, answer.Body)
		}
	})
}

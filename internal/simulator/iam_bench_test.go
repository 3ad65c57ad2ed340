package simulator_test

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// BenchmarkRequests measures requests over loopback with and without IAM: of a root user, whom no
// policy limits, and of a user with a policy of many statements. It includes the client.
func BenchmarkRequests(b *testing.B) {
	for _, mode := range []access.Mode{access.Off, access.Enforce} {
		_, endpoint := simulatortest.Start(b, simulator.Options{Region: "eu-central-1", Lag: simulator.NoLag, IAM: mode})
		root := simulatortest.Root(endpoint, root, "eu-central-1")
		queue, err := sqs.NewFromConfig(root).CreateQueue(b.Context(), &sqs.CreateQueueInput{QueueName: aws.String("q")})
		if err != nil {
			b.Fatal(err)
		}
		key := simulatortest.User(b, root, "ann", manyStatements(b, root))
		for who, identity := range map[string]aws.Credentials{
			"root": {AccessKeyID: "123456789012", SecretAccessKey: wire.RootSecret}, "user": key,
		} {
			config := root.Copy()
			config.Credentials = credentials.StaticCredentialsProvider{Value: identity}
			client := sqs.NewFromConfig(config)
			b.Run(fmt.Sprintf("%s/%s", mode, who), func(b *testing.B) {
				for b.Loop() {
					in := &sqs.GetQueueAttributesInput{QueueUrl: queue.QueueUrl}
					if _, err := client.GetQueueAttributes(b.Context(), in); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
			})
		}
	}
}

// manyStatements creates a policy of fifty statements, of which the last allows the call.
func manyStatements(b *testing.B, root aws.Config) (arn string) {
	b.Helper()
	var statements []string
	for i := range 49 {
		statements = append(statements, allow(`["ec2:Describe*","s3:GetObject"]`, fmt.Sprintf("arn:aws:s3:::bucket-%d/*", i)))
	}
	made, err := iam.NewFromConfig(root).CreatePolicy(b.Context(), &iam.CreatePolicyInput{
		PolicyName: aws.String("many"), PolicyDocument: policy(append(statements, allow(`"sqs:*"`, "*"))...),
	})
	if err != nil {
		b.Fatal(err)
	}
	return *made.Policy.Arn
}

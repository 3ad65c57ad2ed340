package stack_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

// A template that does not fit into a request is uploaded to the bucket.
func TestSimulatedBigTemplateIsUploaded(t *testing.T) {
	_, endpoint := simulatortest.Start(t, simulator.Options{Region: region})
	keys := credentials.NewStaticCredentialsProvider("123456789012", "secret", "")
	clients, err := awsapi.New(t.Context(), awsapi.Options{Region: region, EndpointURL: endpoint, Credentials: keys})
	if err != nil {
		t.Fatal(err)
	}
	store := s3.New(s3.Options{Region: region, BaseEndpoint: aws.String(endpoint), Credentials: keys, UsePathStyle: true})
	if _, err := store.CreateBucket(t.Context(), &s3.CreateBucketInput{
		Bucket:                    aws.String("templates"),
		CreateBucketConfiguration: &s3types.CreateBucketConfiguration{LocationConstraint: region},
	}); err != nil {
		t.Fatal(err)
	}
	parsed, err := template.Parse(
		"big.yaml", []byte("Metadata:\n  Note: "+strings.Repeat("x", 60_000)+"\nResources:\n  Queue:\n    Type: AWS::SQS::Queue\n"),
	)
	if err != nil {
		t.Fatal(err)
	}
	engine := stack.New(stack.Options{Clients: clients, TemplateBucket: "templates", PollInterval: 10 * time.Millisecond})
	desired := stack.Desired{Name: "big", Template: parsed, Tags: map[string]string{ownerTag: "default/big"}}
	var record stack.Record
	deadline := time.NewTimer(patience.Left(t))
	defer deadline.Stop()
	for {
		result, err := engine.Ensure(t.Context(), awsapi.Target{}, desired, record)
		if err != nil {
			t.Fatal(err)
		}
		if record = result.Record; result.State == stack.Ready {
			return
		}
		if result.State == stack.Stalled {
			t.Fatalf("%s: %s", result.Reason, result.Message)
		}
		select {
		case <-time.After(result.RequeueAfter):
		case <-deadline.C:
			t.Fatalf("never ready: %s: %s", result.Reason, result.Message)
		}
	}
}

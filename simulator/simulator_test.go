package simulator_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	"github.com/aws-operator/aws-operator/simulator"
)

func Example() {
	cloud := simulator.New(simulator.WithRegion("eu-central-1")) // simulator.Start(t) in a test
	defer cloud.Close()
	queues := sqs.NewFromConfig(cloud.Config())
	ctx := context.Background()
	made, err := queues.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String("orders")})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := queues.SendMessage(ctx, &sqs.SendMessageInput{
		QueueUrl: made.QueueUrl, MessageBody: aws.String("two apples"),
	}); err != nil {
		fmt.Println(err)
		return
	}
	received, err := queues.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: made.QueueUrl})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(*received.Messages[0].Body)
	// Output: two apples
}

// It is as fast as people are promised: the fastest of several starts, since other programs slow down
// the others.
func TestStartTakesLessThan100Milliseconds(t *testing.T) {
	took := make([]time.Duration, 9)
	for i := range took {
		began := time.Now()
		simulator.Start(t)
		took[i] = time.Since(began)
	}
	if slices.Min(took) > 100*time.Millisecond {
		t.Errorf("it took %v", took)
	}
}

func TestAccountsAndRegionsAreSeparate(t *testing.T) {
	cloud := simulator.Start(t, simulator.WithAccount("111111111111"))
	if _, err := s3.NewFromConfig(cloud.Config()).CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("mine")}); err != nil {
		t.Fatal(err)
	}
	other := cloud.ConfigFor("222222222222", "eu-west-1")
	found, err := s3.NewFromConfig(other).ListBuckets(t.Context(), &s3.ListBucketsInput{})
	if err != nil || len(found.Buckets) != 0 {
		t.Errorf("the other account has %v, %v", found.Buckets, err)
	}
	who, err := sts.NewFromConfig(other).GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
	if err != nil || aws.ToString(who.Account) != "222222222222" {
		t.Errorf("the caller is of %v, %v", aws.ToString(who.Account), err)
	}
}

func TestAnInjectedFaultIsReturnedUntilItIsRemoved(t *testing.T) {
	cloud := simulator.Start(t, simulator.WithFaults(simulator.Throttle("sqs", "ListQueues", 1)), simulator.WithLag(-1)) // refuses no other call
	queues := sqs.NewFromConfig(cloud.Config(), func(o *sqs.Options) { o.Retryer = aws.NopRetryer{} })
	_, err := queues.ListQueues(t.Context(), &sqs.ListQueuesInput{})
	if apiError, ok := errors.AsType[smithy.APIError](err); !ok ||
		!retry.IsErrorThrottles(retry.DefaultThrottles).IsErrorThrottle(err).Bool() {
		t.Errorf("the first call ends with %v (%v)", err, apiError)
	}
	if _, err := queues.ListQueues(t.Context(), &sqs.ListQueuesInput{}); err != nil {
		t.Error(err)
	}
	if calls := cloud.Calls()["sqs/ListQueues"]; calls != 2 {
		t.Errorf("there were %d calls", calls)
	}
}

func TestWhatIsSupportedIsListed(t *testing.T) {
	cloud := simulator.Start(t)
	if !slices.Contains(cloud.Supported()["sqs"], "SendMessage") || !slices.IsSorted(cloud.Supported()["ec2"]) {
		t.Errorf("the operations of SQS are %v", cloud.Supported()["sqs"])
	}
	if types := cloud.ResourceTypes(); !slices.Contains(types, "AWS::DynamoDB::Table") || !slices.IsSorted(types) {
		t.Errorf("the types are %v", types)
	}
}

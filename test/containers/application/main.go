// Command application does with an SDK what the example of an application does with the aws command:
// it sends a message to the queue QUEUE_URL and writes an item to the table TABLE_NAME, both with the
// pod's name, with the credentials and the region that the SDK finds. It prints as whom it did, and
// waits. If a call fails, it exits with an error, so that the kubelet restarts it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "application:", err)
		os.Exit(1) //nolint:gocritic // the process ends, and with it the handler of signals
	}
	<-ctx.Done()
}

func run(ctx context.Context) error {
	found, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return fmt.Errorf("configure the SDK: %w", err)
	}
	caller, err := sts.NewFromConfig(found).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return fmt.Errorf("find the caller: %w", err)
	}
	pod, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("find the pod's name: %w", err)
	}
	queue := aws.String(os.Getenv("QUEUE_URL"))
	_, err = sqs.NewFromConfig(found).SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: queue, MessageBody: &pod})
	if err != nil {
		return fmt.Errorf("send to the queue: %w", err)
	}
	_, err = dynamodb.NewFromConfig(found).PutItem(ctx, &dynamodb.PutItemInput{
		TableName: aws.String(os.Getenv("TABLE_NAME")), Item: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: pod}},
	})
	if err != nil {
		return fmt.Errorf("write to the table: %w", err)
	}
	_, err = fmt.Fprintln(os.Stdout, "done as", *caller.Arn)
	return err
}

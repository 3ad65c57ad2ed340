package demo

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamodbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/aws-operator/aws-operator/internal/local/environment"
)

// Names of the quick start's resources.
const (
	tableName = "dynamo-table"
	topicName = "orders"
	queueName = "billing"
)

func awsConfig(endpoint string) aws.Config {
	return aws.Config{
		Region: environment.Region, BaseEndpoint: &endpoint,
		Credentials: credentials.NewStaticCredentialsProvider(environment.Account, environment.Secret, ""),
	}
}

// useAWS uses the table and sends a message through topic and queue, as an application would.
func (s *stage) useAWS(ctx context.Context, endpoint string) error {
	config := awsConfig(endpoint)
	if err := s.useTable(ctx, dynamodb.NewFromConfig(config)); err != nil {
		return err
	}
	return s.sendMessage(ctx, sns.NewFromConfig(config), sqs.NewFromConfig(config))
}

func (s *stage) useTable(ctx context.Context, client *dynamodb.Client) error {
	described, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(tableName)})
	if err != nil {
		return fmt.Errorf("describe the table: %w", err)
	}
	table := described.Table
	keys := make([]string, 0, len(table.KeySchema))
	for _, key := range table.KeySchema {
		keys = append(keys, fmt.Sprintf("%s %s", key.KeyType, aws.ToString(key.AttributeName)))
	}
	s.say("dynamodb DescribeTable   %s is %s; keys %s", aws.ToString(table.TableName), table.TableStatus, strings.Join(keys, ", "))
	item := map[string]dynamodbtypes.AttributeValue{
		"name":       &dynamodbtypes.AttributeValueMemberS{Value: "demo"},
		"created_at": &dynamodbtypes.AttributeValueMemberS{Value: s.clock.Now().UTC().Format("2006-01-02")},
	}
	if _, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(tableName), Item: item}); err != nil {
		return fmt.Errorf("put an item into the table: %w", err)
	}
	scanned, err := client.Scan(ctx, &dynamodb.ScanInput{TableName: aws.String(tableName)})
	if err != nil {
		return fmt.Errorf("scan the table: %w", err)
	}
	s.say("dynamodb PutItem, Scan   %d item in it", scanned.Count)
	if scanned.Count != 1 {
		return fmt.Errorf("the table holds %d items after one was put", scanned.Count)
	}
	return nil
}

func (s *stage) sendMessage(ctx context.Context, topics *sns.Client, queues *sqs.Client) error {
	topic := fmt.Sprintf("arn:aws:sns:%s:%s:%s", environment.Region, environment.Account, topicName)
	if _, err := topics.Publish(ctx, &sns.PublishInput{TopicArn: &topic, Message: aws.String("hello")}); err != nil {
		return fmt.Errorf("publish to the topic: %w", err)
	}
	s.say("sns Publish              a message to %s", topicName)
	queue, err := queues.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String(queueName)})
	if err != nil {
		return fmt.Errorf("find the queue: %w", err)
	}
	received, err := queues.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: queue.QueueUrl, WaitTimeSeconds: 10})
	if err != nil {
		return fmt.Errorf("receive from the queue: %w", err)
	}
	s.say("sqs ReceiveMessage       %d message in %s", len(received.Messages), queueName)
	if len(received.Messages) != 1 {
		return errors.New("the message to the topic did not arrive in the queue")
	}
	return nil
}

// showNothingLeft returns an error when a stack of the quick start or the table's ConfigMap
// outlived its object.
func (s *stage) showNothingLeft(ctx context.Context, endpoint string) error {
	stacks := cloudformation.NewDescribeStacksPaginator(
		cloudformation.NewFromConfig(awsConfig(endpoint)), &cloudformation.DescribeStacksInput{})
	var left []string
	for stacks.HasMorePages() {
		page, err := stacks.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("list the stacks: %w", err)
		}
		for _, stack := range page.Stacks {
			if isQuickStart(stack) {
				left = append(left, "stack "+aws.ToString(stack.StackName))
			}
		}
	}
	_, err := s.cluster.get(ctx, configMap(tableName))
	switch {
	case err == nil:
		left = append(left, "ConfigMap "+tableName)
	case !apierrors.IsNotFound(err):
		return err
	}
	machines, err := s.machinesLeft(ctx, endpoint)
	if err != nil {
		return err
	}
	if left = append(left, machines...); len(left) > 0 {
		return fmt.Errorf("left behind: %s", strings.Join(left, ", "))
	}
	s.say("no stack, no table, no queue, no topic, no machine, no volume, no VPC, no ConfigMap of the quick start")
	return nil
}

// machinesLeft lists the leftover EC2 resources of a cluster.
func (s *stage) machinesLeft(ctx context.Context, endpoint string) ([]string, error) {
	client := ec2.NewFromConfig(awsConfig(endpoint))
	var left []string
	instances, err := client.DescribeInstances(ctx, &ec2.DescribeInstancesInput{Filters: []ec2types.Filter{{
		Name: aws.String("instance-state-name"), Values: []string{"pending", "running", "shutting-down", "stopping", "stopped"},
	}}})
	if err != nil {
		return nil, fmt.Errorf("list the instances: %w", err)
	}
	for i := range instances.Reservations {
		for j := range instances.Reservations[i].Instances {
			left = append(left, "instance "+aws.ToString(instances.Reservations[i].Instances[j].InstanceId))
		}
	}
	volumes, err := client.DescribeVolumes(ctx, &ec2.DescribeVolumesInput{})
	if err != nil {
		return nil, fmt.Errorf("list the volumes: %w", err)
	}
	for i := range volumes.Volumes {
		left = append(left, "volume "+aws.ToString(volumes.Volumes[i].VolumeId))
	}
	networks, err := client.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{
		Filters: []ec2types.Filter{{Name: aws.String("is-default"), Values: []string{"false"}}}, // An account has one in each region.
	})
	if err != nil {
		return nil, fmt.Errorf("list the VPCs: %w", err)
	}
	for i := range networks.Vpcs {
		left = append(left, "VPC "+aws.ToString(networks.Vpcs[i].VpcId))
	}
	return left, nil
}

// isQuickStart distinguishes the stacks of objects from the operator's own.
func isQuickStart(stack cfntypes.Stack) bool {
	return stack.StackStatus != cfntypes.StackStatusDeleteComplete &&
		!strings.HasPrefix(aws.ToString(stack.StackName), "aws-operator-events")
}

package simulator_test

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamodbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	eventtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
)

const (
	quotasOfKeys     = "https://docs.aws.amazon.com/kms/latest/developerguide/resource-limits.html"
	quotasOfDynamoDB = "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html"
	quotasOfMessages = "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html"
	pageOfPublish    = "https://docs.aws.amazon.com/sns/latest/api/API_Publish.html"
)

// limitsOfKeys are those of KMS, of names, and of IAM's versions.
var limitsOfKeys = []limit{
	{
		"bytes of plaintext", 4096, "ValidationException",
		"https://docs.aws.amazon.com/kms/latest/APIReference/API_Encrypt.html", true, func(l *limited, n int) error {
			return withNewKey(l, func(client *kms.Client, key *string) error {
				_, err := client.Encrypt(l.ctx, &kms.EncryptInput{KeyId: key, Plaintext: []byte(*long(n))})
				return err
			})
		},
	},
	{
		"characters of an alias", 256, "ValidationException",
		"https://docs.aws.amazon.com/kms/latest/APIReference/API_CreateAlias.html", true, func(l *limited, n int) error {
			return withNewKey(l, func(client *kms.Client, key *string) error {
				_, err := client.CreateAlias(l.ctx, &kms.CreateAliasInput{
					TargetKeyId: key, AliasName: aws.String("alias/" + *long(n - len("alias/"))),
				})
				return err
			})
		},
	},
	{"aliases of a key", 50, "LimitExceededException", quotasOfKeys, true, func(l *limited, n int) error {
		return withNewKey(l, func(client *kms.Client, key *string) error {
			return each(n, func(i int) error {
				_, err := client.CreateAlias(l.ctx, &kms.CreateAliasInput{
					TargetKeyId: key, AliasName: aws.String(fmt.Sprintf("alias/many%d-%d", n, i)),
				})
				return err
			})
		})
	}},
	// The page of quotas documents the code for all of them. PutKeyPolicy documents the size.
	{"bytes of a key policy", 32768, "LimitExceededException", quotasOfKeys, true, func(l *limited, n int) error {
		return withNewKey(l, func(client *kms.Client, key *string) error {
			policy := `{"Statement":[{"Effect":"Allow","Principal":"*","Action":"kms:*","Resource":"*"}]}`
			_, err := client.PutKeyPolicy(l.ctx, &kms.PutKeyPolicyInput{
				KeyId: key, Policy: aws.String(policy + strings.Repeat(" ", n-len(policy))),
			})
			return err
		})
	}},
	{
		"characters of a key's description", 8192, "ValidationException",
		"https://docs.aws.amazon.com/kms/latest/APIReference/API_CreateKey.html", true, func(l *limited, n int) error {
			_, err := kms.NewFromConfig(l.Config).CreateKey(l.ctx, &kms.CreateKeyInput{Description: long(n)})
			return err
		},
	},
	{"versions of a managed policy", 5, "LimitExceeded", quotasOfIAM, true, func(l *limited, n int) error {
		made, err := l.iam.CreatePolicy(l.ctx, &iam.CreatePolicyInput{PolicyName: named("versions", n), PolicyDocument: policyOf(200)})
		if err != nil {
			return err
		}
		return each(n-1, func(int) error {
			_, err := l.iam.CreatePolicyVersion(l.ctx, &iam.CreatePolicyVersionInput{
				PolicyArn: made.Policy.Arn, PolicyDocument: policyOf(200),
			})
			return err
		})
	}},
	{
		"characters of a repository's name", 256, "InvalidParameterException",
		"https://docs.aws.amazon.com/AmazonECR/latest/APIReference/API_CreateRepository.html", true, func(l *limited, n int) error {
			_, err := ecr.NewFromConfig(l.Config).CreateRepository(l.ctx, &ecr.CreateRepositoryInput{RepositoryName: long(n)})
			return err
		},
	},
	{
		"bytes of an object's key", 1024, "KeyTooLongError",
		"https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-keys.html", true, func(l *limited, n int) error {
			client := s3.NewFromConfig(l.Config, usePath)
			_, err := client.CreateBucket(l.ctx, &s3.CreateBucketInput{Bucket: named("keys", n), CreateBucketConfiguration: inFrankfurt})
			if err != nil {
				return err
			}
			_, err = client.PutObject(l.ctx, &s3.PutObjectInput{Bucket: named("keys", n), Key: long(n), Body: strings.NewReader("")})
			return err
		},
	},
	{
		"levels of a parameter", 15, "HierarchyLevelLimitExceededException",
		"https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_PutParameter.html", true, func(l *limited, n int) error {
			_, err := ssm.NewFromConfig(l.Config).PutParameter(l.ctx, &ssm.PutParameterInput{
				Name: aws.String(strings.Repeat("/a", n)), Value: aws.String("v"), Type: "String",
			})
			return err
		},
	},
	{
		"parameters of a deletion", 10, "ValidationException",
		"https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_DeleteParameters.html", true, func(l *limited, n int) error {
			names := make([]string, n)
			for i := range names {
				names[i] = fmt.Sprintf("p%d", i)
			}
			_, err := ssm.NewFromConfig(l.Config).DeleteParameters(l.ctx, &ssm.DeleteParametersInput{Names: names})
			return err
		},
	},
}

func withNewKey(l *limited, fn func(client *kms.Client, key *string) error) error {
	client := kms.NewFromConfig(l.Config)
	made, err := client.CreateKey(l.ctx, &kms.CreateKeyInput{})
	if err != nil {
		return err
	}
	return fn(client, made.KeyMetadata.KeyId)
}

// item is an item of DynamoDB.
type item = map[string]dynamodbtypes.AttributeValue

// limitsOfData are those of DynamoDB.
var limitsOfData = []limit{
	{"characters of a table's name", 255, "ValidationException", quotasOfDynamoDB, true, func(l *limited, n int) error {
		return createTable(l, *long(n))
	}},
	{"bytes of an item", 400 * 1024, "ValidationException", quotasOfDynamoDB, true, func(l *limited, n int) error {
		return putItem(l, item{"k": value("a"), "s": value("b"), "v": value(*long(n - len("kasbv")))})
	}},
	{"bytes of a partition key", 2048, "ValidationException", quotasOfDynamoDB, true, func(l *limited, n int) error {
		return putItem(l, item{"k": value(*long(n)), "s": value("b")})
	}},
	{"bytes of a sort key", 1024, "ValidationException", quotasOfDynamoDB, true, func(l *limited, n int) error {
		return putItem(l, item{"k": value("a"), "s": value(*long(n))})
	}},
	{"items of a batch that reads", 100, "ValidationException", quotasOfDynamoDB, true, func(l *limited, n int) error {
		return withTable(l, func(client *dynamodb.Client, name string) error {
			_, err := client.BatchGetItem(l.ctx, &dynamodb.BatchGetItemInput{
				RequestItems: map[string]dynamodbtypes.KeysAndAttributes{name: {Keys: items(n)}},
			})
			return err
		})
	}},
	{"items of a batch that writes", 25, "ValidationException", quotasOfDynamoDB, true, func(l *limited, n int) error {
		return withTable(l, func(client *dynamodb.Client, name string) error {
			var requests []dynamodbtypes.WriteRequest
			for _, i := range items(n) {
				requests = append(requests, dynamodbtypes.WriteRequest{PutRequest: &dynamodbtypes.PutRequest{Item: i}})
			}
			_, err := client.BatchWriteItem(l.ctx, &dynamodb.BatchWriteItemInput{
				RequestItems: map[string][]dynamodbtypes.WriteRequest{name: requests},
			})
			return err
		})
	}},
	{"items of a transaction", 100, "ValidationException", quotasOfDynamoDB, true, func(l *limited, n int) error {
		return withTable(l, func(client *dynamodb.Client, name string) error {
			var puts []dynamodbtypes.TransactWriteItem
			for _, i := range items(n) {
				puts = append(puts, dynamodbtypes.TransactWriteItem{Put: &dynamodbtypes.Put{TableName: &name, Item: i}})
			}
			_, err := client.TransactWriteItems(l.ctx, &dynamodb.TransactWriteItemsInput{TransactItems: puts})
			return err
		})
	}},
}

func value(text string) dynamodbtypes.AttributeValue {
	return &dynamodbtypes.AttributeValueMemberS{Value: text}
}

func items(n int) []item {
	list := make([]item, n)
	for i := range list {
		list[i] = item{"k": value(fmt.Sprint(i)), "s": value("s")}
	}
	return list
}

func createTable(l *limited, name string) error {
	_, err := dynamodb.NewFromConfig(l.Config).CreateTable(l.ctx, &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: dynamodbtypes.BillingModePayPerRequest,
		AttributeDefinitions: []dynamodbtypes.AttributeDefinition{
			{AttributeName: aws.String("k"), AttributeType: dynamodbtypes.ScalarAttributeTypeS},
			{AttributeName: aws.String("s"), AttributeType: dynamodbtypes.ScalarAttributeTypeS},
		},
		KeySchema: []dynamodbtypes.KeySchemaElement{
			{AttributeName: aws.String("k"), KeyType: dynamodbtypes.KeyTypeHash},
			{AttributeName: aws.String("s"), KeyType: dynamodbtypes.KeyTypeRange},
		},
	})
	return err
}

func withTable(l *limited, fn func(client *dynamodb.Client, name string) error) error {
	const name = "limits"
	if err := createTable(l, name); err != nil && codeOf(err) != "ResourceInUseException" {
		return err
	}
	return fn(dynamodb.NewFromConfig(l.Config), name)
}

func putItem(l *limited, i item) error {
	return withTable(l, func(client *dynamodb.Client, name string) error {
		_, err := client.PutItem(l.ctx, &dynamodb.PutItemInput{TableName: &name, Item: i})
		return err
	})
}

// limitsOfMessages are those of SQS, SNS, and EventBridge.
var limitsOfMessages = []limit{
	{"bytes of a message in a queue", 1 << 20, "InvalidParameterValue", quotasOfMessages, true, func(l *limited, n int) error {
		return withQueue(l, func(client *sqs.Client, url *string) error {
			_, err := client.SendMessage(l.ctx, &sqs.SendMessageInput{QueueUrl: url, MessageBody: long(n)})
			return err
		})
	}},
	{"messages of a batch", 10, "AWS.SimpleQueueService.TooManyEntriesInBatchRequest", quotasOfMessages, true, func(l *limited, n int) error {
		return sendBatch(l, n, 1)
	}},
	{"bytes of the messages of a batch", 1 << 20, "AWS.SimpleQueueService.BatchRequestTooLong", quotasOfMessages, true, func(l *limited, n int) error {
		return sendBatch(l, 2, n/2, n-n/2)
	}},
	{"attributes of a message", 10, "InvalidParameterValue", quotasOfMessages, true, func(l *limited, n int) error {
		return withQueue(l, func(client *sqs.Client, url *string) error {
			attributes := map[string]sqstypes.MessageAttributeValue{}
			for i := range n {
				attributes[fmt.Sprint("a", i)] = sqstypes.MessageAttributeValue{DataType: aws.String("String"), StringValue: aws.String("v")}
			}
			_, err := client.SendMessage(l.ctx, &sqs.SendMessageInput{
				QueueUrl: url, MessageBody: aws.String("m"), MessageAttributes: attributes,
			})
			return err
		})
	}},
	{
		"characters of a topic's name", 256, "InvalidParameter",
		"https://docs.aws.amazon.com/sns/latest/api/API_CreateTopic.html", true, func(l *limited, n int) error {
			_, err := sns.NewFromConfig(l.Config).CreateTopic(l.ctx, &sns.CreateTopicInput{Name: long(n)})
			return err
		},
	},
	{"bytes of a message to a topic", 256 * 1024, "InvalidParameter", pageOfPublish, true, func(l *limited, n int) error {
		return withTopic(l, func(client *sns.Client, arn *string) error {
			_, err := client.Publish(l.ctx, &sns.PublishInput{TopicArn: arn, Message: long(n)})
			return err
		})
	}},
	{"characters of a subject", 100, "InvalidParameter", pageOfPublish, true, func(l *limited, n int) error {
		return withTopic(l, func(client *sns.Client, arn *string) error {
			_, err := client.Publish(l.ctx, &sns.PublishInput{TopicArn: arn, Message: aws.String("m"), Subject: long(n)})
			return err
		})
	}},
	{
		"bytes of the messages of a batch to a topic", 256 * 1024, "BatchRequestTooLong",
		"https://docs.aws.amazon.com/sns/latest/api/API_PublishBatch.html", true, func(l *limited, n int) error {
			return withTopic(l, func(client *sns.Client, arn *string) error {
				_, err := client.PublishBatch(l.ctx, &sns.PublishBatchInput{
					TopicArn: arn, PublishBatchRequestEntries: []snstypes.PublishBatchRequestEntry{
						{Id: aws.String("a"), Message: long(n / 2)}, {Id: aws.String("b"), Message: long(n - n/2)},
					},
				})
				return err
			})
		},
	},
	{
		"entries of a call that puts events", 10, "ValidationException",
		"https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html", true, func(l *limited, n int) error {
			entries := make([]eventtypes.PutEventsRequestEntry, n)
			for i := range entries {
				entries[i] = eventtypes.PutEventsRequestEntry{
					Source: aws.String("shop"), DetailType: aws.String("order"), Detail: aws.String("{}"),
				}
			}
			_, err := eventbridge.NewFromConfig(l.Config).PutEvents(l.ctx, &eventbridge.PutEventsInput{Entries: entries})
			return err
		},
	},
	{"characters of a rule's name", 64, "ValidationException", quotasOfEvents, true, func(l *limited, n int) error {
		client := eventbridge.NewFromConfig(l.Config)
		if _, err := client.CreateEventBus(l.ctx, &eventbridge.CreateEventBusInput{Name: named("names", n)}); err != nil {
			return err
		}
		_, err := client.PutRule(l.ctx, &eventbridge.PutRuleInput{
			EventBusName: named("names", n), Name: long(n), EventPattern: aws.String(`{"source":["s"]}`),
		})
		return err
	}},
}

func withQueue(l *limited, fn func(client *sqs.Client, url *string) error) error {
	client := sqs.NewFromConfig(l.Config)
	made, err := client.CreateQueue(l.ctx, &sqs.CreateQueueInput{QueueName: aws.String("limits")})
	if err != nil {
		return err
	}
	return fn(client, made.QueueUrl)
}

// sendBatch sends so many messages of these sizes.
func sendBatch(l *limited, n int, sizes ...int) error {
	return withQueue(l, func(client *sqs.Client, url *string) error {
		entries := make([]sqstypes.SendMessageBatchRequestEntry, n)
		for i := range entries {
			entries[i] = sqstypes.SendMessageBatchRequestEntry{Id: named("m", i), MessageBody: long(sizes[i%len(sizes)])}
		}
		_, err := client.SendMessageBatch(l.ctx, &sqs.SendMessageBatchInput{QueueUrl: url, Entries: entries})
		return err
	})
}

func withTopic(l *limited, fn func(client *sns.Client, arn *string) error) error {
	client := sns.NewFromConfig(l.Config)
	made, err := client.CreateTopic(l.ctx, &sns.CreateTopicInput{Name: aws.String("limits")})
	if err != nil {
		return err
	}
	return fn(client, made.TopicArn)
}

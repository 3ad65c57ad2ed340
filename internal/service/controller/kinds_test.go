package controller_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// configMap reads a ConfigMap of the test's namespace.
func (w *suite) configMap(name string) (map[string]string, error) {
	c := &corev1.ConfigMap{}
	err := w.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, c)
	return c.Data, err
}

// template returns the template of the stack of an object.
func (w *suite) template(kind, name string) string {
	w.t.Helper()
	obj, err := w.get(kind, name)
	if err != nil {
		w.t.Fatal(err)
	}
	out, err := cloudformation.NewFromConfig(w.awsConfig()).GetTemplate(w.t.Context(), &cloudformation.GetTemplateInput{
		StackName: aws.String(fmt.Sprint(nested(obj, "status", "stackID"))),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	compact := bytes.Buffer{}
	if err := json.Compact(&compact, []byte(aws.ToString(out.TemplateBody))); err != nil {
		w.t.Fatal(err)
	}
	return compact.String()
}

// TestSQSQueue follows a queue with a dead-letter queue through its lifecycle.
func TestSQSQueue(t *testing.T) {
	w := newSuite(t, nil)
	queues := sqs.NewFromConfig(w.awsConfig())
	w.apply(`
kind: SQSQueue
metadata: {name: jobs}
spec: {delaySeconds: 0, visibilityTimeout: 30, usedeadletterQueue: true, contentBasedDeduplication: true}
`)
	obj := w.ready("SQSQueue", "jobs")
	url := fmt.Sprint(nested(obj, "status", "output", "queueURL"))
	if _, err := queues.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("hello")}); err != nil {
		t.Fatal(err)
	}
	data, err := w.configMap("jobs")
	if err != nil {
		t.Fatal(err)
	}
	arn := "arn:aws:sqs:eu-west-1:123456789012:"
	want := map[string]string{
		"queueURL": url, "queueARN": arn + "jobs", "queueName": "jobs",
		"deadLetterQueueURL": fmt.Sprint(nested(obj, "status", "output", "deadLetterQueueURL")), "deadLetterQueueARN": arn + "jobs-dead-letter",
		"deadLetterQueueName": "jobs-dead-letter",
	}
	if diff := cmp.Diff(want, data); diff != "" {
		t.Errorf("the ConfigMap differs (-want +got):\n%s", diff)
	}
	w.change("SQSQueue", "jobs", `{"spec":{"delaySeconds":7}}`)
	w.eventually("delaySeconds is used", func() error {
		out, err := queues.GetQueueAttributes(
			t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{"All"}},
		)
		if err == nil && out.Attributes["DelaySeconds"] != "7" {
			err = fmt.Errorf("the attributes are %v", out.Attributes)
		}
		return err
	})
	w.ready("SQSQueue", "jobs")
	w.delete("SQSQueue", "jobs")
	if stacks := w.stacks(); len(stacks) != 0 {
		t.Errorf("stacks are left: %v", stacks)
	}
}

// TestFIFOQueueName tests that a FIFO queue gets the suffix that AWS requires.
func TestFIFOQueueName(t *testing.T) {
	w := newSuite(t, nil)
	w.apply("{kind: SQSQueue, metadata: {name: ordered}, spec: {fifoQueue: true, contentBasedDeduplication: true}}")
	obj := w.ready("SQSQueue", "ordered")
	if got := nested(obj, "status", "output", "queueName"); got != "ordered.fifo" {
		t.Errorf("the queue is named %v", got)
	}
}

// TestHashAttributeTypeIsHonored tests that the key's type is the manifest's, also for an unquoted
// N, and that the sort key is optional.
func TestHashAttributeTypeIsHonored(t *testing.T) {
	w := newSuite(t, nil)
	w.apply(`
kind: DynamoDB
metadata: {name: numbers}
spec: {hashAttribute: {name: id, type: N}}
`)
	w.ready("DynamoDB", "numbers")
	template := w.template("DynamoDB", "numbers")
	if !strings.Contains(template, `"AttributeType":"N"`) || strings.Contains(template, "RANGE") {
		t.Errorf("the template is %s", template)
	}
}

// TestS3Bucket follows a bucket through its lifecycle.
func TestS3Bucket(t *testing.T) {
	w := newSuite(t, nil)
	buckets := s3.NewFromConfig(w.awsConfig(), func(o *s3.Options) { o.UsePathStyle = true })
	w.apply(`
kind: S3Bucket
metadata: {name: pictures}
spec: {versioning: true, accessControl: Private, logging: {enabled: false, prefix: archive}}
`)
	w.ready("S3Bucket", "pictures")
	if _, err := buckets.PutObject(t.Context(), &s3.PutObjectInput{
		Bucket: aws.String("pictures"), Key: aws.String("a"), Body: strings.NewReader("x"),
	}); err != nil {
		t.Fatal(err)
	}
	data, err := w.configMap("pictures")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"bucketName": "pictures", "bucketARN": "arn:aws:s3:::pictures", "serviceName": "pictures", "region": region,
		"bucketURL": "pictures.s3.eu-west-1.amazonaws.com", "websiteURL": data["websiteURL"],
	}
	if diff := cmp.Diff(want, data); diff != "" || data["websiteURL"] == "" {
		t.Errorf("the ConfigMap differs (-want +got):\n%s", diff)
	}
	service := &corev1.Service{}
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "pictures"}, service); err != nil {
		t.Fatal(err)
	}
	if service.Spec.ExternalName != "pictures.s3.eu-west-1.amazonaws.com" || service.Spec.Ports[0].Port != 443 {
		t.Errorf("the Service is %+v", service.Spec)
	}
	if template := w.template("S3Bucket", "pictures"); strings.Contains(template, "Lifecycle") {
		t.Errorf("there is an unexpected lifecycle rule: %s", template)
	}
	// A bucket that is not empty is not deleted, and the condition says so.
	obj, err := w.get("S3Bucket", "pictures")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.client.Delete(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
	w.eventually("the condition says that the bucket is not empty", func() error {
		obj, err := w.get("S3Bucket", "pictures")
		if err != nil {
			return err
		}
		if c := findCondition(obj, "Ready"); c == nil || !strings.Contains(c.Message, "empty") {
			return fmt.Errorf("the condition is %+v", c)
		}
		return nil
	})
	versions, err := buckets.ListObjectVersions(t.Context(), &s3.ListObjectVersionsInput{Bucket: aws.String("pictures")})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range versions.Versions {
		if _, err := buckets.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: aws.String("pictures"), Key: v.Key, VersionId: v.VersionId}); err != nil {
			t.Fatal(err)
		}
	}
	w.gone("S3Bucket", "pictures")
}

// TestECRRepository follows a repository through its lifecycle.
func TestECRRepository(t *testing.T) {
	w := newSuite(t, nil)
	w.apply("{kind: ECRRepository, metadata: {name: images}}")
	obj := w.ready("ECRRepository", "images")
	out, err := ecr.NewFromConfig(w.awsConfig()).
		DescribeRepositories(t.Context(), &ecr.DescribeRepositoriesInput{RepositoryNames: []string{"images"}})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]*string{
		"repositoryName": out.Repositories[0].RepositoryName, "repositoryARN": out.Repositories[0].RepositoryArn,
		"repositoryURL": out.Repositories[0].RepositoryUri,
	} {
		if got := nested(obj, "status", "output", path); got != *want {
			t.Errorf("output.%s is %v, want %s", path, got, *want)
		}
	}
	w.delete("ECRRepository", "images")
}

// TestSNSToSQS tests that a subscription waits for its topic and its queue and then delivers, also
// when two topics deliver to one queue.
func TestSNSToSQS(t *testing.T) {
	w := newSuite(t, nil)
	w.apply(`
kind: SNSSubscription
metadata: {name: one-to-jobs}
spec: {topicName: one, protocol: sqs, endpoint: jobs}
`)
	c := w.condition("SNSSubscription", "one-to-jobs", "ReferencesResolved", "False", "ReferenceNotFound")
	if !strings.Contains(c.Message, "SNSTopic one") {
		t.Errorf("the message is %q", c.Message)
	}
	if stacks := w.stacks(); len(stacks) != 0 {
		t.Errorf("there are stacks before the topic exists: %v", stacks)
	}
	w.apply(`
{kind: SNSTopic, metadata: {name: one}, spec: {}}
---
{kind: SNSTopic, metadata: {name: two}, spec: {}}
---
{kind: SQSQueue, metadata: {name: jobs}, spec: {}}
---
{kind: SNSSubscription, metadata: {name: two-to-jobs}, spec: {topicName: two, protocol: sqs, endpoint: jobs}}
`)
	w.ready("SNSSubscription", "one-to-jobs")
	w.ready("SNSSubscription", "two-to-jobs")
	queue := w.ready("SQSQueue", "jobs")
	for _, topic := range []string{"one", "two"} {
		w.delivers(topic, fmt.Sprint(nested(queue, "status", "output", "queueURL")))
	}
	w.delete("SNSSubscription", "two-to-jobs")
	w.delivers("one", fmt.Sprint(nested(queue, "status", "output", "queueURL")))
	w.delete("SNSSubscription", "one-to-jobs")
	w.delete("SNSTopic", "one")
	w.delete("SNSTopic", "two")
	w.delete("SQSQueue", "jobs")
	if stacks := w.stacks(); len(stacks) != 0 {
		t.Errorf("stacks are left: %v", stacks)
	}
}

// delivers publishes to a topic until a message arrives in the queue: its policy may not be
// effective yet.
func (w *suite) delivers(topic, queueURL string) {
	w.t.Helper()
	obj, err := w.get("SNSTopic", topic)
	if err != nil {
		w.t.Fatal(err)
	}
	w.eventually("topic "+topic+" delivers", func() error {
		_, err := sns.NewFromConfig(w.awsConfig()).Publish(w.t.Context(), &sns.PublishInput{
			TopicArn: aws.String(fmt.Sprint(nested(obj, "status", "output", "topicARN"))), Message: aws.String("from " + topic),
		})
		if err != nil {
			return err
		}
		out, err := sqs.NewFromConfig(w.awsConfig()).
			ReceiveMessage(w.t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &queueURL, MaxNumberOfMessages: 10})
		if err != nil {
			return err
		}
		for _, m := range out.Messages {
			if strings.Contains(aws.ToString(m.Body), "from "+topic) {
				return nil
			}
		}
		return errors.New("no message arrived")
	})
}

// TestSubscriptionsByEmailAndHTTP tests that endpoints that are addresses need no queue.
func TestSubscriptionsByEmailAndHTTP(t *testing.T) {
	w := newSuite(t, nil)
	w.apply(`
{kind: SNSTopic, metadata: {name: news}}
---
{kind: SNSSubscription, metadata: {name: mail}, spec: {topicName: news, protocol: email, endpoint: someone@example.com}}
---
{kind: SNSSubscription, metadata: {name: web}, spec: {topicName: news, protocol: http, endpoint: "http://example.com/hook"}}
`)
	for _, name := range []string{"mail", "web"} {
		obj := w.ready("SNSSubscription", name)
		if got := fmt.Sprint(nested(obj, "status", "output", "subscriptionARN")); !strings.HasPrefix(
			got, "arn:aws:sns:eu-west-1:123456789012:news:",
		) {
			t.Errorf("output.subscriptionARN of %s is %s", name, got)
		}
	}
}

// TestElastiCache tests that comma-separated lists become lists and that ports are numbers.
func TestElastiCache(t *testing.T) {
	w := newSuite(t, nil)
	w.apply(`
kind: ElastiCache
metadata: {name: sessions}
spec:
  cacheSubnetGroupName: group
  vpcSecurityGroupIds: "sg-0581b94aa3c0db58c, sg-02b6d0034e8c2fa1b"
  autoMinorVersionUpgrade: true
  engine: redis
  engineVersion: 5.0.0
  numCacheNodes: 1
  port: 6379
  cacheNodeType: cache.m4.large
  notificationTopicArn: ""
`)
	obj := w.ready("ElastiCache", "sessions")
	address := fmt.Sprint(nested(obj, "status", "output", "redisEndpointAddress"))
	service := &corev1.Service{}
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "sessions"}, service); err != nil {
		t.Fatal(err)
	}
	if service.Spec.ExternalName != address || address == "" {
		t.Errorf("the Service stands for %q, the output is %q", service.Spec.ExternalName, address)
	}
	if _, ok := nested(obj, "status", "output", "redisEndpointPort").(int64); !ok {
		t.Errorf("output.redisEndpointPort is %#v, want a number", nested(obj, "status", "output", "redisEndpointPort"))
	}
	w.delete("ElastiCache", "sessions")
	if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(service), service); !apierrors.IsNotFound(err) {
		t.Errorf("the Service is left: %v", err)
	}
}

// TestManifestsThatBreakTheSchema tests that the API server rejects what AWS would, and names the
// field.
func TestManifestsThatBreakTheSchema(t *testing.T) {
	w := newSuite(t, nil)
	for _, c := range []struct{ reason, manifest, want string }{
		{"no partition key", "{kind: DynamoDB, metadata: {name: abc}, spec: {readCapacityUnits: 1}}", "spec.hashAttribute"},
		{"an unknown key type", "{kind: DynamoDB, metadata: {name: abc}, spec: {hashAttribute: {name: a, type: X}}}", "spec.hashAttribute.type"},
		{"a sort key without a type", "{kind: DynamoDB, metadata: {name: abc}, spec: {hashAttribute: {name: a, type: S}, rangeAttribute: {name: b}}}", "spec.rangeAttribute"},
		{"a number as text", "{kind: DynamoDB, metadata: {name: abc}, spec: {hashAttribute: {name: a, type: S}, readCapacityUnits: '5'}}", "spec.readCapacityUnits"},
		{"a delay that SQS refuses", "{kind: SQSQueue, metadata: {name: a}, spec: {delaySeconds: 901}}", "spec.delaySeconds"},
		{"a queue name with dots", "{kind: SQSQueue, metadata: {name: a.b}, spec: {}}", "has no dots"},
		{"an unknown access control list", "{kind: S3Bucket, metadata: {name: abc}, spec: {accessControl: Public}}", "spec.accessControl"},
		{"an invalid URL", "{kind: SNSSubscription, metadata: {name: a}, spec: {topicName: t, protocol: https, endpoint: example.com}}", "https://"},
		{"a key with dots", "{kind: EncryptionKey, metadata: {name: a.b}}", "has no dots"},
		{"a waiting period that KMS refuses", "{kind: EncryptionKey, metadata: {name: a}, spec: {pendingWindowDays: 6}}", "spec.pendingWindowDays"},
		{"the period of a rotation that is off", "{kind: EncryptionKey, metadata: {name: a}, spec: {rotation: false, rotationPeriodDays: 90}}", "set rotation to true"},
		{"a key for everybody", "{kind: EncryptionKey, metadata: {name: a}, spec: {users: ['*']}}", "spec.users"},
		{"a template without a key", "{kind: AWSSecret, metadata: {name: a}, spec: {generate: {template: '{}'}}}", "template and key belong together"},
		{"a template that is not JSON", "{kind: AWSSecret, metadata: {name: a}, spec: {generate: {template: x, key: k}}}", "spec.generate.template"},
		{"two keys of a secret", "{kind: AWSSecret, metadata: {name: a}, spec: {kmsKeyID: k, encryptionKeyName: k}}", "only one of encryptionKeyName and kmsKeyID"},
		{"an instance name of RDS", "{kind: RDSInstance, metadata: {name: 1a}, spec: {engine: mysql, instanceClass: db.t4g.micro, allocatedStorage: 20}}", "begins with a letter"},
		{"operations without their storage", "{kind: RDSInstance, metadata: {name: a}, spec: {engine: mysql, instanceClass: db.t4g.micro, allocatedStorage: 20, iops: 3000}}", "iops and storageType io2 belong together"},
		{"a small reserve of storage", "{kind: RDSInstance, metadata: {name: a}, spec: {engine: mysql, instanceClass: db.t4g.micro, allocatedStorage: 100, maxAllocatedStorage: 109}}", "at least 10% more"},
		{"serverless instances of a class", "{kind: AuroraCluster, metadata: {name: a}, spec: {engine: aurora-mysql, instanceClass: db.r8g.large, maxCapacity: 8}}", "remove instanceClass"},
		{"a capacity that is no multiple", "{kind: AuroraCluster, metadata: {name: a}, spec: {engine: aurora-mysql, maxCapacity: 8.3}}", "multiples of 0.5"},
		{"a range of capacity that is empty", "{kind: AuroraCluster, metadata: {name: a}, spec: {engine: aurora-mysql, minCapacity: 5}}", "at most maxCapacity"},
		{"a rule without an event or a time", "{kind: EventBridgeRule, metadata: {name: a}, spec: {targets: [{name: q, queueName: q}]}}", "either eventPattern or schedule"},
		{"a rule with both", "{kind: EventBridgeRule, metadata: {name: a}, spec: {eventPattern: {source: [a]}, eventBusARN: arn:aws:events:eu-west-1:123456789012:event-bus/default, schedule: rate(1 hour), targets: [{name: q, queueName: q}]}}", "either eventPattern or schedule"},
		{"events of no bus", "{kind: EventBridgeRule, metadata: {name: a}, spec: {eventPattern: {source: [a]}, targets: [{name: q, queueName: q}]}}", "eventBusARN belong together"},
		{"a bus that is a name", "{kind: EventBridgeRule, metadata: {name: a}, spec: {eventPattern: {source: [a]}, eventBusARN: default, targets: [{name: q, queueName: q}]}}", "spec.eventBusARN"},
		{"a pattern of a text", "{kind: EventBridgeRule, metadata: {name: a}, spec: {eventPattern: {source: a}, eventBusARN: arn:aws:events:eu-west-1:123456789012:event-bus/default, targets: [{name: q, queueName: q}]}}", "spec.eventPattern.source"},
		{"a rate without its plural", "{kind: EventBridgeRule, metadata: {name: a}, spec: {schedule: rate(5 minute), targets: [{name: q, queueName: q}]}}", "spec.schedule"},
		{"a cron of five fields", "{kind: EventBridgeRule, metadata: {name: a}, spec: {schedule: 'cron(0 12 * * ?)', targets: [{name: q, queueName: q}]}}", "spec.schedule"},
		{"a rule without a target", "{kind: EventBridgeRule, metadata: {name: a}, spec: {schedule: rate(1 hour), targets: []}}", "spec.targets"},
		{"a target of two kinds", "{kind: EventBridgeRule, metadata: {name: a}, spec: {schedule: rate(1 hour), targets: [{name: a, queueName: a, topicName: b}]}}", "exactly one of queueName"},
		{"two messages of a target", "{kind: EventBridgeRule, metadata: {name: a}, spec: {schedule: rate(1 hour), targets: [{name: a, queueName: a, input: '{}', inputPath: $.a}]}}", "only one of input"},
		{"values without a template", "{kind: EventBridgeRule, metadata: {name: a}, spec: {schedule: rate(1 hour), targets: [{name: a, queueName: a, inputValues: {b: $.b}}]}}", "inputValues needs inputTemplate"},
		{"a message group of a topic", "{kind: EventBridgeRule, metadata: {name: a}, spec: {schedule: rate(1 hour), targets: [{name: a, topicName: a, messageGroupID: b}]}}", "messageGroupID is for queues"},
		{"a partition key of a queue", "{kind: EventBridgeRule, metadata: {name: a}, spec: {schedule: rate(1 hour), targets: [{name: a, queueName: a, partitionKeyPath: $.b}]}}", "partitionKeyPath is for data streams"},
		{"a name that is too long for a rule", "{kind: EventBridgeRule, metadata: {name: " + strings.Repeat("a", 65) + "}, spec: {schedule: rate(1 hour), targets: [{name: q, queueName: q}]}}", "at most 64 characters"},
		{"a sender that is everyone", "{kind: SQSQueue, metadata: {name: a}, spec: {senders: [{account: '*'}]}}", "senders[0].account"},
		{"a sender that is a service for all", "{kind: SQSQueue, metadata: {name: a}, spec: {senders: [{service: sns.amazonaws.com}]}}", "service and sourceARN belong together"},
		{"a sender that is a service for a wildcard", "{kind: SQSQueue, metadata: {name: a}, spec: {senders: [{service: sns.amazonaws.com, sourceARN: 'arn:aws:sns:eu-west-1:*:a'}]}}", "senders[0].sourceARN"},
		{"a sender of two forms", "{kind: SQSQueue, metadata: {name: a}, spec: {senders: [{account: '123456789012', organization: o-a1b2c3d4e5}]}}", "exactly one of account"},
		{"a sender that is no principal", "{kind: SQSQueue, metadata: {name: a}, spec: {senders: [{}]}}", "exactly one of account"},
		{"a receiver that is a service", "{kind: SQSQueue, metadata: {name: a}, spec: {receivers: [{service: sns.amazonaws.com}]}}", "receivers[0]"},
		{"a publisher that is no principal", "{kind: SNSTopic, metadata: {name: a}, spec: {publishers: [{}]}}", "nothing makes the topic public"},
		{"a publisher of a service for all", "{kind: SNSTopic, metadata: {name: a}, spec: {publishers: [{service: s3.amazonaws.com}]}}", "service and sourceARN belong together"},
		{"a subscriber that is everyone", "{kind: SNSTopic, metadata: {name: a}, spec: {subscribers: [{account: '*'}]}}", "subscribers[0].account"},
		{"a puller that is everyone", "{kind: ECRRepository, metadata: {name: abc}, spec: {pullers: [{account: '*'}]}}", "pullers[0].account"},
		{"a pusher that is a service", "{kind: ECRRepository, metadata: {name: abc}, spec: {pushers: [{service: lambda.amazonaws.com}]}}", "pushers[0]"},
		{"a notification of two", "{kind: S3Bucket, metadata: {name: abc}, spec: {notifications: [{queueName: a, topicName: b, events: ['s3:ObjectCreated:*']}]}}", "exactly one of queueName"},
		{"a notification of nothing", "{kind: S3Bucket, metadata: {name: abc}, spec: {notifications: [{queueName: a}]}}", "set events"},
		{"a notification of an unknown event", "{kind: S3Bucket, metadata: {name: abc}, spec: {notifications: [{queueName: a, events: ['s3:ObjectRead']}]}}", "notifications[0].events[0]"},
		{"a filter for EventBridge", "{kind: S3Bucket, metadata: {name: abc}, spec: {notifications: [{eventBridge: true, prefix: a}]}}", "remove prefix and suffix"},
		{"replication without versioning", "{kind: S3Bucket, metadata: {name: abc}, spec: {replication: {bucketName: copies}}}", "set versioning to true"},
		{"replication to nowhere", "{kind: S3Bucket, metadata: {name: abc}, spec: {versioning: true, replication: {}}}", "exactly one of bucketName and bucket"},
		{"replication to itself", "{kind: S3Bucket, metadata: {name: abc}, spec: {versioning: true, replication: {bucketName: abc}}}", "names the bucket itself"},
		{"replication of encrypted objects", "{kind: S3Bucket, metadata: {name: abc}, spec: {versioning: true, kmsKeyID: a, replication: {bucketName: copies}}}", "that a KMS key encrypts"},
		{"a distribution of nothing", "{kind: CloudFrontDistribution, metadata: {name: a}, spec: {}}", "spec.bucketName"},
		{"another name without a certificate", "{kind: CloudFrontDistribution, metadata: {name: a}, spec: {bucketName: abc, aliases: [a.example.com]}}", "aliases and certificateARN belong together"},
		{"a certificate without another name", "{kind: CloudFrontDistribution, metadata: {name: a}, spec: {bucketName: abc, certificateARN: '" + ownCertificate + "'}}", "aliases and certificateARN belong together"},
		{"a certificate that CloudFront does not use", "{kind: CloudFrontDistribution, metadata: {name: a}, spec: {bucketName: abc, aliases: [a.example.com], certificateARN: 'arn:aws:acm:eu-west-1:123456789012:certificate/a'}}", "only certificates of us-east-1; request one there"},
		{"a TLS version of nothing", "{kind: CloudFrontDistribution, metadata: {name: a}, spec: {bucketName: abc, minimumTLSVersion: TLSv1.2_2021}}", "minimumTLSVersion needs certificateARN"},
		{"an old TLS version", "{kind: CloudFrontDistribution, metadata: {name: a}, spec: {bucketName: abc, minimumTLSVersion: TLSv1}}", "spec.minimumTLSVersion"},
		{"another name that is a URL", "{kind: CloudFrontDistribution, metadata: {name: a}, spec: {bucketName: abc, aliases: ['https://a.example.com']}}", "spec.aliases[0]"},
		{"a root object that is a path", "{kind: CloudFrontDistribution, metadata: {name: a}, spec: {bucketName: abc, defaultRootObject: /index.html}}", "spec.defaultRootObject"},
		{"a web ACL of a region", "{kind: CloudFrontDistribution, metadata: {name: a}, spec: {bucketName: abc, webACLARN: 'arn:aws:wafv2:eu-west-1:123456789012:regional/webacl/a/1a2b'}}", "with the scope CLOUDFRONT"},
		{"an error page without a code", "{kind: CloudFrontDistribution, metadata: {name: a}, spec: {bucketName: abc, errorResponses: [{errorCode: 403, pagePath: /a}]}}", "responseCode and pagePath belong together"},
		{"an error that changes nothing", "{kind: CloudFrontDistribution, metadata: {name: a}, spec: {bucketName: abc, errorResponses: [{errorCode: 403}]}}", "set responseCode and pagePath, or cacheSeconds"},
		{"an error page that is no path", "{kind: CloudFrontDistribution, metadata: {name: a}, spec: {bucketName: abc, errorResponses: [{errorCode: 403, responseCode: 200, pagePath: a}]}}", "pagePath"},
		{"countries that are allowed and denied", "{kind: CloudFrontDistribution, metadata: {name: a}, spec: {bucketName: abc, allowedCountries: [DE], deniedCountries: [CH]}}", "only one of allowedCountries"},
		{"a country that is a word", "{kind: CloudFrontDistribution, metadata: {name: a}, spec: {bucketName: abc, allowedCountries: [Germany]}}", "spec.allowedCountries[0]"},
		{"a website with a distribution", "{kind: S3Bucket, metadata: {name: abc}, spec: {distributionName: a, website: {enabled: true}}}", "only the distribution reads a bucket with distributionName"},
		{"a public bucket with a distribution", "{kind: S3Bucket, metadata: {name: abc}, spec: {distributionName: a, accessControl: PublicRead}}", "remove website and a public accessControl"},
		{"objects of others with a distribution", "{kind: S3Bucket, metadata: {name: abc}, spec: {distributionName: a, objectOwnership: ObjectWriter}}", "remove objectOwnership"},
		{"least capacity alone", "{kind: DynamoDB, metadata: {name: abc}, spec: {hashAttribute: {name: a, type: S}, readCapacityUnits: 5, minReadCapacityUnits: 5}}", "minReadCapacityUnits and maxReadCapacityUnits belong together"},
		{"most capacity alone", "{kind: DynamoDB, metadata: {name: abc}, spec: {hashAttribute: {name: a, type: S}, writeCapacityUnits: 5, maxWriteCapacityUnits: 5}}", "minWriteCapacityUnits and maxWriteCapacityUnits belong together"},
		{"less than the least capacity", "{kind: DynamoDB, metadata: {name: abc}, spec: {hashAttribute: {name: a, type: S}, readCapacityUnits: 5, minReadCapacityUnits: 6, maxReadCapacityUnits: 5}}", "at most maxReadCapacityUnits"},
		{"auto scaling of a table that is billed per request", "{kind: DynamoDB, metadata: {name: abc}, spec: {hashAttribute: {name: a, type: S}, minReadCapacityUnits: 1, maxReadCapacityUnits: 5}}", "needs readCapacityUnits"},
		{"a utilization of nothing", "{kind: DynamoDB, metadata: {name: abc}, spec: {hashAttribute: {name: a, type: S}, readCapacityUnits: 5, readTargetUtilization: 50}}", "readTargetUtilization needs minReadCapacityUnits"},
		{"a utilization that AWS refuses", "{kind: DynamoDB, metadata: {name: abc}, spec: {hashAttribute: {name: a, type: S}, readCapacityUnits: 5, minReadCapacityUnits: 5, maxReadCapacityUnits: 9, readTargetUtilization: 95}}", "spec.readTargetUtilization"},
		{"an index with a long name and auto scaling", "{kind: DynamoDB, metadata: {name: abc}, spec: {hashAttribute: {name: a, type: S}, readCapacityUnits: 5, minReadCapacityUnits: 5, maxReadCapacityUnits: 9, globalSecondaryIndexes: [{name: " + strings.Repeat("i", 71) + ", hashAttribute: a}]}}", "at most 70 characters"},
		{"the name of a search domain", "{kind: OpenSearchDomain, metadata: {name: 1-domain}, spec: {instanceType: t3.small.search, volumeSize: 10}}", "3 to 28 lower-case letters"},
		{"nodes that zones cannot share", "{kind: OpenSearchDomain, metadata: {name: abc}, spec: {instanceType: t3.small.search, volumeSize: 10, instanceCount: 3, availabilityZones: 2}}", "multiple of availabilityZones"},
		{"too few subnets", "{kind: OpenSearchDomain, metadata: {name: abc}, spec: {instanceType: t3.small.search, volumeSize: 10, instanceCount: 2, availabilityZones: 2, subnetIDs: [subnet-0a1b2c3d]}}", "one subnet for each"},
		{"a login that is off", "{kind: RDSInstance, metadata: {name: a}, spec: {engine: mysql, instanceClass: db.t4g.micro, allocatedStorage: 20, grants: [{serviceAccount: web, access: Connect}]}}", "Connect needs iamAuthentication"},
		{"a function without a spec", "{kind: Lambda, metadata: {name: a}}", "set spec.code or spec.image"},
		{"a function without code", "{kind: Lambda, metadata: {name: a}, spec: {memoryMiB: 128}}", "set exactly one of code and image"},
		{"a function without a handler", "{kind: Lambda, metadata: {name: a}, spec: {code: {bucket: abc, key: k}, runtime: python3.13}}", "code needs runtime and handler"},
		{"an image with a runtime", "{kind: Lambda, metadata: {name: a}, spec: {image: {repository: ab, tag: '1'}, runtime: python3.13}}", "image has its own"},
		{"code in two buckets", "{kind: Lambda, metadata: {name: a}, spec: {code: {bucket: abc, bucketName: b, key: k}, runtime: python3.13, handler: a.b}}", "exactly one of bucketName and bucket"},
		{"an image without a tag", "{kind: Lambda, metadata: {name: a}, spec: {image: {repository: ab}}}", "exactly one of tag and digest"},
		{"a function name with dots", "{kind: Lambda, metadata: {name: a.b}, spec: {image: {repository: ab, tag: '1'}}}", "no dots"},
		{"a variable of Lambda's", "{kind: Lambda, metadata: {name: a}, spec: {image: {repository: ab, tag: '1'}, environment: {AWS_REGION: x}}}", "choose another name"},
		{"a variable that is no name", "{kind: Lambda, metadata: {name: a}, spec: {image: {repository: ab, tag: '1'}, environment: {a-b: x}}}", "a variable's name"},
		{"a big batch at once", "{kind: Lambda, metadata: {name: a}, spec: {image: {repository: ab, tag: '1'}, queueTrigger: {queueName: b, batchSize: 11}}}", "batchingWindowSeconds of at least 1"},
		{"an object that is granted access without a name", "{kind: SQSQueue, metadata: {name: a}, spec: {objectGrants: [{kind: Lambda, access: Send}]}}", "spec.objectGrants"},
		{"a state machine that is no JSON", "{kind: StepFunction, metadata: {name: a}, spec: {definition: x}}", "spec.definition"},
		{"a state machine without a definition", "{kind: StepFunction, metadata: {name: a}, spec: {type: EXPRESS}}", "spec.definition"},
		{"a substitution that is no name", "{kind: StepFunction, metadata: {name: a}, spec: {definition: '{}', substitutions: {a-b: x}}}", "a substitution's name"},
		{"shards on demand", "{kind: DataStream, metadata: {name: a}, spec: {shardCount: 2}}", "shardCount and mode PROVISIONED belong together"},
		{"a stream that keeps too long", "{kind: DataStream, metadata: {name: a}, spec: {retentionHours: 8761}}", "spec.retentionHours"},
		{"a file system that cannot be mounted", "{kind: ElasticFileSystem, metadata: {name: a}, spec: {}}", "spec.subnetIDs"},
		{"a throughput that is not provisioned", "{kind: ElasticFileSystem, metadata: {name: a}, spec: {subnetIDs: [subnet-0a1b2c3d], provisionedThroughputMiBps: 5}}", "belong together"},
		{"a redis cluster of two", "{kind: ElastiCache, metadata: {name: a}, spec: {engine: redis, cacheNodeType: cache.t4g.micro, numCacheNodes: 2}}", "exactly 1 node"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			err := w.client.Create(t.Context(), w.decode(c.manifest)[0])
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the API server says %v, want %q", err, c.want)
			}
		})
	}
}

// TestOldManifestsApplyUnchanged applies manifests of the old operator's users, with the sections
// that it used to write.
func TestOldManifestsApplyUnchanged(t *testing.T) {
	w := newSuite(t, nil)
	w.apply(`
additionalResources: {configMaps: null}
kind: DynamoDB
metadata: {name: old-table}
output: {tableARN: "", tableName: ""}
spec:
  cloudFormationTemplateName: ""
  cloudFormationTemplateNamespace: ""
  hashAttribute: {name: name, type: S}
  rangeAttribute: {name: created_at, type: S}
  readCapacityUnits: 5
  rollbackCount: 0
  writeCapacityUnits: 5
status: {resourceStatus: "", resourceStatusReason: "", stackID: ""}
---
kind: SQSQueue
metadata: {name: example-sqs-queue-name}
spec:
  contentBasedDeduplication: true
  delaySeconds: 5
  usedeadletterQueue: false
  maximumMessageSize: 262144
  messageRetentionPeriod: 345600
  visibilityTimeout: 30
---
kind: S3Bucket
metadata: {name: s3bucket.aws-operator.com}
spec:
  versioning: true
  accessControl: Private
  logging: {enabled: false, prefix: "archive"}
---
kind: ECRRepository
metadata: {name: aws-operator-codegen}
`)
	obj := w.ready("DynamoDB", "old-table")
	if got := nested(obj, "status", "output", "tableName"); got != "old-table" {
		t.Errorf("output.tableName is %v", got)
	}
	w.ready("SQSQueue", "example-sqs-queue-name")
	w.ready("S3Bucket", "s3bucket.aws-operator.com")
	w.ready("ECRRepository", "aws-operator-codegen")
	// The output of such a manifest is not the object's.
	w.change("DynamoDB", "old-table", `{"output":{"tableARN":"","tableName":""}}`)
	if got := nested(w.ready("DynamoDB", "old-table"), "status", "output", "tableName"); got != "old-table" {
		t.Errorf("after the manifest was applied again, status.output.tableName is %v", got)
	}
}

// slow delays every operation on a resource.
func slow(string, string) time.Duration { return 300 * time.Millisecond }

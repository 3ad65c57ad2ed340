package hostile

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/test/inventory"
)

// victims is the namespace of a tenant beside the attacker.
const victims = "victim"

// identity is an AWSIdentity that only the victim may use.
const identity = "of-the-victim"

// box is a kind of an administrator's ModelDefinition, which all namespaces use.
const box = "Box"

const definitionOfBox = `
apiVersion: service-operator.aws/v1alpha1
kind: ModelDefinition
metadata: {name: boxes}
spec:
  kind: ` + box + `
  plural: boxes
  schema: {type: object, properties: {seconds: {type: integer}}}
  template: |
    Resources:
      Queue: {Type: "AWS::SQS::Queue", Properties: {VisibilityTimeout: {{ default 30 .spec.seconds }}}}
    Outputs:
      Address: {Value: {Ref: Queue}}
`

// theirs are the victim's objects.
const theirs = `
- {apiVersion: service-operator.aws/v1alpha1, kind: SQSQueue, metadata: {name: ` + vault + `, annotations: {aws-operator/identity: ` + identity + `}}, spec: {}}
- {apiVersion: service-operator.aws/v1alpha1, kind: SQSQueue, metadata: {name: orders}, spec: {usedeadletterQueue: true}}
- {apiVersion: service-operator.aws/v1alpha1, kind: SNSTopic, metadata: {name: news}, spec: {}}
- apiVersion: service-operator.aws/v1alpha1
  kind: SNSSubscription
  metadata: {name: feed}
  spec: {topicName: news, protocol: sqs, endpoint: orders}
- {apiVersion: service-operator.aws/v1alpha1, kind: S3Bucket, metadata: {name: invoices-of-the-victim}, spec: {versioning: true}}
- {apiVersion: service-operator.aws/v1alpha1, kind: DynamoDB, metadata: {name: ledger}, spec: {hashAttribute: {name: id, type: S}}}
- {apiVersion: service-operator.aws/v1alpha1, kind: ECRRepository, metadata: {name: images}, spec: {}}
- {apiVersion: service-operator.aws/v1alpha1, kind: EncryptionKey, metadata: {name: ` + vault + `}, spec: {}}
- {apiVersion: service-operator.aws/v1alpha1, kind: ` + box + `, metadata: {name: crate}, spec: {}}
- apiVersion: cluster-operator.aws/v1alpha1
  kind: Cluster
  metadata: {name: prod}
  spec:
    release: ` + release + `
    region: ` + region + `
    network: {cidr: 10.0.0.0/16, zones: [` + region + `a], topology: Public}
    controlPlane: {replicas: 1, instanceType: t3.medium}
- apiVersion: cluster-operator.aws/v1alpha1
  kind: InstanceGroup
  metadata: {name: prod-workers}
  spec: {cluster: prod, minSize: 1, maxSize: 2, instanceTypes: [t3.medium]}
`

// victim is a tenant with objects and resources, and resources that were made by hand.
type victim struct {
	*suite

	queue, table, bucket, topic, key string // made by hand
	revision                         string // of the ModelDefinition
}

func newVictim(s *suite) *victim {
	s.t.Helper()
	v := &victim{suite: s, queue: "by-hand", table: "by-hand", bucket: "made-by-hand", topic: "by-hand"}
	v.create(&corev1.Namespace{}, victims)
	v.createIdentity()
	definition := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(definitionOfBox), definition); err != nil {
		s.t.Fatal(err)
	}
	patience.Until(s.t, "ModelDefinitions are served", func() error { return s.client.Create(s.t.Context(), definition) })
	s.ready(definition)
	v.revision, _, _ = unstructured.NestedString(definition.Object, "status", "revision")
	var all []*unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(theirs), &all); err != nil {
		s.t.Fatal(err)
	}
	for _, object := range all {
		object.SetNamespace(victims)
		patience.Until(s.t, object.GetKind()+" is served", func() error {
			return s.client.Create(s.t.Context(), object)
		})
	}
	v.byHand()
	for _, object := range all {
		s.ready(object)
	}
	return v
}

// createIdentity creates the victim's AWSIdentity as soon as the kind is served.
func (v *victim) createIdentity() {
	v.t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"roleARN":           "arn:aws:iam::" + account + ":role/" + ungranted,
		"allowedNamespaces": map[string]any{"names": []any{victims}},
	}}}
	object.SetAPIVersion("aws-operator.aws/v1alpha1")
	object.SetKind("AWSIdentity")
	object.SetName(identity)
	patience.Until(v.t, "AWSIdentities are served", func() error { return v.client.Create(v.t.Context(), object) })
	v.ready(object)
}

func (s *suite) create(object client.Object, name string) {
	s.t.Helper()
	object.SetName(name)
	if err := s.client.Create(s.t.Context(), object); err != nil {
		s.t.Fatal(err)
	}
}

// ready waits until an object is ready with its current spec.
func (s *suite) ready(object *unstructured.Unstructured) {
	s.t.Helper()
	patience.Until(s.t, object.GetKind()+" "+object.GetName()+" is ready", func() error {
		if !s.get(object) {
			return fmt.Errorf("it does not exist")
		}
		observed, _, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
		if observed == object.GetGeneration() && condition(object, "Ready") == "True" {
			return nil
		}
		status, _ := json.Marshal(object.Object["status"])
		return fmt.Errorf("%s", status)
	})
}

func condition(object *unstructured.Unstructured, kind string) string {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, entry := range conditions {
		if c, ok := entry.(map[string]any); ok && c["type"] == kind {
			status, _ := c["status"].(string)
			return status
		}
	}
	return ""
}

// byHand makes resources that belong to no object.
func (v *victim) byHand() {
	t, ctx := v.t, v.t.Context()
	t.Helper()
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(sqs.NewFromConfig(v.root).CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &v.queue, Tags: map[string]string{"team": "hand"}}))
	must(sns.NewFromConfig(v.root).CreateTopic(ctx, &sns.CreateTopicInput{Name: &v.topic}))
	buckets := v.s3()
	must(buckets.CreateBucket(ctx, &s3.CreateBucketInput{
		Bucket: &v.bucket, CreateBucketConfiguration: &s3types.CreateBucketConfiguration{LocationConstraint: region},
	}))
	must(buckets.PutObject(ctx, &s3.PutObjectInput{Bucket: &v.bucket, Key: aws.String("k"), Body: strings.NewReader("content")}))
	made, err := kms.NewFromConfig(v.root).CreateKey(ctx, &kms.CreateKeyInput{})
	must(made, err)
	v.key = *made.KeyMetadata.KeyId
	must(ssm.NewFromConfig(v.root).PutParameter(ctx, &ssm.PutParameterInput{
		Name: aws.String("/prod/password"), Value: aws.String("secret"), Type: ssmtypes.ParameterTypeString,
	}))
	must(cloudformation.NewFromConfig(v.root).CreateStack(ctx, &cloudformation.CreateStackInput{
		StackName: aws.String("by-hand"), EnableTerminationProtection: aws.Bool(true),
		TemplateBody: aws.String(`{"Resources":{"Queue":{"Type":"AWS::SQS::Queue"}}}`),
	}))
}

func (v *victim) s3() *s3.Client {
	return s3.NewFromConfig(v.root, func(o *s3.Options) { o.UsePathStyle = true })
}

// upkeep are the types of resources that the operator changes without a change of an object.
var upkeep = []string{"AWS::SSM::Parameter", "AWS::AutoScaling::AutoScalingGroup"}

// possessions returns what belongs to the victim or was made by hand, for [changes.protect], and
// everything that an attacker may know of it.
func (v *victim) possessions() (protected map[string]string, words []string) {
	v.t.Helper()
	protected = map[string]string{}
	add := func(service, id, what string) {
		protected[resourceKey(service, id)] = what
		words = append(words, id, id[strings.LastIndexAny(id, ":/")+1:])
	}
	stacks := cloudformation.NewFromConfig(v.root)
	all := v.stacks()
	for i := range all {
		s := &all[i]
		if strings.HasPrefix(*s.StackName, "aws-operator-events") { // its queue is read all the time
			words = append(words, *s.StackId, *s.StackName)
			continue
		}
		add("cloudformation", *s.StackId, "stack "+*s.StackName)
		words = append(words, *s.StackName)
		for _, output := range s.Outputs {
			words = append(words, aws.ToString(output.OutputValue))
		}
		resources, err := stacks.DescribeStackResources(v.t.Context(), &cloudformation.DescribeStackResourcesInput{StackName: s.StackId})
		if err != nil {
			v.t.Fatal(err)
		}
		for j := range resources.StackResources {
			r := &resources.StackResources[j]
			service := strings.ToLower(strings.Split(*r.ResourceType, "::")[1])
			if id := aws.ToString(r.PhysicalResourceId); id != "" && !slices.Contains(upkeep, *r.ResourceType) {
				add(service, id, *r.ResourceType+" "+*r.LogicalResourceId+" of stack "+*s.StackName)
			}
		}
	}
	for _, one := range inventory.Of(v.t, v.root) {
		if kind, id, _ := strings.Cut(one, " "); kind == "instance" || kind == "volume" {
			add("ec2", id, kind+" of the victim")
		}
	}
	add("sqs", v.queue, "a queue made by hand")
	add("sns", v.topic, "a topic made by hand")
	add("s3", v.bucket, "a bucket made by hand")
	add("kms", v.key, "a key made by hand")
	add("ssm", "/prod/password", "a parameter made by hand")
	user := "arn:aws:iam::" + account + ":user/" + operatorName
	return protected, append(words, victims, identity, identity, account, "prod", "prod-workers", user, v.revision, v.revision)
}

// stacks returns the stacks that exist, and those that were deleted.
func (s *suite) stacks() (all []cfntypes.Stack) {
	s.t.Helper()
	pages := cloudformation.NewDescribeStacksPaginator(cloudformation.NewFromConfig(s.root), &cloudformation.DescribeStacksInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		all = append(all, page.Stacks...)
	}
	return all
}

// state describes everything in AWS that the attacker could try to change, with its content.
func (v *victim) state(protected map[string]string) map[string]string {
	v.t.Helper()
	state, ctx := map[string]string{}, v.t.Context()
	keep := func(kind, id string, content any, err error) {
		v.t.Helper()
		if err != nil {
			v.t.Fatal(err)
		}
		state[kind+" "+id] = canonical(v.t, content)
	}
	stacks := v.stacks()
	for i := range stacks {
		if s := &stacks[i]; protected[resourceKey("cloudformation", *s.StackId)] != "" {
			keep("stack", *s.StackId, s, nil)
		}
	}
	queues := sqs.NewFromConfig(v.root)
	for _, name := range []string{"orders", "orders-dead-letter", v.queue} {
		url, err := queues.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name})
		if err != nil {
			v.t.Fatal(err)
		}
		out, err := queues.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
			QueueUrl: url.QueueUrl, AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameAll},
		})
		if err != nil {
			v.t.Fatal(err)
		}
		maps.DeleteFunc(out.Attributes, func(name, _ string) bool { return strings.HasPrefix(name, "Approximate") })
		keep("queue", name, out.Attributes, nil)
		tags, err := queues.ListQueueTags(ctx, &sqs.ListQueueTagsInput{QueueUrl: url.QueueUrl})
		keep("tags of queue", name, tags.Tags, err)
	}
	for _, name := range []string{"news", v.topic} {
		topic, err := sns.NewFromConfig(v.root).GetTopicAttributes(ctx, &sns.GetTopicAttributesInput{
			TopicArn: aws.String("arn:aws:sns:" + region + ":" + account + ":" + name),
		})
		if err != nil {
			v.t.Fatal(err)
		}
		keep("topic", name, topic.Attributes, nil)
	}
	for _, name := range []string{"invoices-of-the-victim", v.bucket} {
		objects, err := v.s3().ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &name})
		if err != nil {
			v.t.Fatal(err)
		}
		keep("bucket", name, objects.Contents, nil)
		versioning, err := v.s3().GetBucketVersioning(ctx, &s3.GetBucketVersioningInput{Bucket: &name})
		if err != nil {
			v.t.Fatal(err)
		}
		keep("versioning of bucket", name, versioning.Status, nil)
	}
	table, err := dynamodb.NewFromConfig(v.root).DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String("ledger")})
	if err != nil {
		v.t.Fatal(err)
	}
	keep("table", "ledger", table.Table, nil)
	key, err := kms.NewFromConfig(v.root).DescribeKey(ctx, &kms.DescribeKeyInput{KeyId: &v.key})
	if err != nil {
		v.t.Fatal(err)
	}
	keep("key", v.key, key.KeyMetadata, nil)
	return state
}

// canonical returns a value as JSON with sorted lists: AWS's lists have no order.
func canonical(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	var of any
	if err == nil {
		err = json.Unmarshal(text, &of)
	}
	if err == nil {
		text, err = json.Marshal(sorted(of))
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func sorted(value any) any {
	switch of := value.(type) {
	case map[string]any:
		for name := range of {
			of[name] = sorted(of[name])
		}
	case []any:
		for i := range of {
			of[i] = sorted(of[i])
		}
		slices.SortFunc(of, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
	return value
}

// unchanged compares what belongs to others with its state before.
func (v *victim) unchanged(t *testing.T, protected, before map[string]string, existed []string) {
	t.Helper()
	after := v.state(protected)
	for what, was := range before {
		if is := after[what]; is != was {
			t.Errorf("%s was\n\t%s\nand is\n\t%s", what, was, is)
		}
	}
	exist := inventory.Of(t, v.root)
	for _, one := range existed {
		if !slices.Contains(exist, one) && !strings.HasPrefix(one, "snapshot ") { // old snapshots are deleted
			t.Errorf("%s no longer exists", one)
		}
	}
}

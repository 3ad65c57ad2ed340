package kinds_test

import (
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/manifest"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/service/kinds"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

const header = "apiVersion: service-operator.aws/v1alpha1\n"

// of is the manifest of an object, whose spec begins in line 6.
func of(kind, name, spec string) string {
	return header + "kind: " + kind + "\nmetadata:\n  name: " + name + "\nspec:\n" + spec
}

func table(spec string) string { return of("DynamoDB", "orders", spec) }
func queue(spec string) string { return of("SQSQueue", "orders", spec) }

func admit(t *testing.T, texts ...string) error {
	t.Helper()
	set, err := manifest.Read(
		[]manifest.Source{{Name: "x.yaml", Reader: strings.NewReader(strings.Join(texts, "---\n"))}}, manifest.Options{Others: true},
	)
	if err != nil {
		t.Fatal(err)
	}
	known, err := kinds.BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	return known.Admit(t.Context(), set.Manifests)
}

const hash = "  hashAttribute: {name: id, type: S}\n"

// objects are objects, and what is wrong with each; "" if nothing is.
func objects() map[string]struct{ text, want string } {
	return map[string]struct{ text, want string }{
		"nothing wrong":     {queue("  visibilityTimeout: 30\n"), ""},
		"null is no value":  {queue("  visibilityTimeout:\n"), ""},
		"a spec of null":    {queue(""), ""},
		"yes for a boolean": {queue("  fifoQueue: yes\n"), ""},
		"false for N":       {table("  hashAttribute: {name: id, type: N}\n"), ""},
		"a rule of the keys to write to": {
			queue("  writeTo:\n  - {kind: Secret, name: a, data: {a/b: c}}\n"),
			"line 7: SQSQueue orders: spec.writeTo[0].data: a key consists of at most 253 letters, digits, ",
		},
		"the same to write to twice": {
			queue("  writeTo:\n  - {kind: Secret, name: a}\n  - {kind: Secret, name: a}\n"),
			"spec.writeTo[1]",
		},
		"an unknown field": {
			queue("  visibiltyTimeout: 30\n"),
			"line 6: SQSQueue orders: spec.visibiltyTimeout: there is no such field; did you mean visibilityTimeout?",
		},
		"an unknown field like no other": {
			queue("  frobnicate: 30\n"),
			"line 6: SQSQueue orders: spec.frobnicate: there is no such field; use one of cloudFormationTemplateName, ",
		},
		"an unknown field further down": {
			table("  hashAttribute:\n    name: id\n    type: S\n    typ: S\n"),
			"line 9: DynamoDB orders: spec.hashAttribute.typ: there is no such field; did you mean type?",
		},
		"text for a number": {
			queue("  delaySeconds: 1\n  visibilityTimeout: fast\n"),
			"line 7: SQSQueue orders: spec.visibilityTimeout: this is text, but must be a whole number",
		},
		"a fraction": {
			queue("  visibilityTimeout: 1.5\n"),
			"line 6: SQSQueue orders: spec.visibilityTimeout: this is a number, but must be a whole number",
		},
		"a number for text": {
			table("  hashAttribute: {name: 7, type: S}\n"),
			"line 6: DynamoDB orders: spec.hashAttribute.name: this is a whole number, but must be text: put it in quotes",
		},
		"a boolean for text": {
			table("  hashAttribute: {name: no, type: S}\n"),
			"spec.hashAttribute.name: this is true or false, but must be text: put it in quotes, since YAML reads an unquoted y,",
		},
		"text for a boolean": {
			queue("  fifoQueue: 'yes'\n"), "line 6: SQSQueue orders: spec.fifoQueue: this is text, but must be true or false",
		},
		"a list for a map": {
			table("  hashAttribute: [S]\n"), "line 6: DynamoDB orders: spec.hashAttribute: this is a list, but must be a map",
		},
		"a number of too many bits": {
			queue("  visibilityTimeout: 3000000000\n"), "line 6: SQSQueue orders: spec.visibilityTimeout: ",
		},
		"a number too large": {
			queue("  visibilityTimeout: 50000\n"),
			"line 6: SQSQueue orders: spec.visibilityTimeout: 50000 should be less than or equal to 43200",
		},
		"a word that is none": {
			table("  hashAttribute: {name: id, type: Q}\n"),
			`line 6: DynamoDB orders: spec.hashAttribute.type: "Q" is not supported; use one of S, N, B`,
		},
		"true for a word": {
			table("  hashAttribute: {name: id, type: Y}\n"),
			"spec.hashAttribute.type: true is not supported; use one of S, N, B: put it in quotes, since YAML reads an unquoted y,",
		},
		"a word in other letters": {
			of("S3Bucket", "acme-logs", "  accessControl: private\n"),
			`spec.accessControl: "private" is not supported; use one of Private, `,
		},
		"a field that is missing": {
			table("  hashAttribute: {name: id}\n"), "line 6: DynamoDB orders: spec.hashAttribute.type: Required value",
		},
		"a spec that is missing": {
			header + "kind: DynamoDB\nmetadata: {name: orders}\n", "line 1: DynamoDB orders: spec: Required value",
		},
		"an empty text": {
			table("  hashAttribute: {name: '', type: S}\n"), "line 6: DynamoDB orders: spec.hashAttribute.name: this must not be empty",
		},
		"a field that another one requires": {
			table(hash + "  rangeAttribute: {name: x}\n"),
			"line 7: DynamoDB orders: spec.rangeAttribute: this combination of values is not allowed: set name and type",
		},
		"a word of an alternative that is none": {
			table(hash + "  rangeAttribute: {name: x, type: Q}\n"),
			`line 7: DynamoDB orders: spec.rangeAttribute.type: "Q" is not supported; use one of S, N, B`,
		},
		"a rule of two fields": {
			table(hash + "  rangeAttribute: {name: id, type: S}\n"),
			"line 5: DynamoDB orders: spec: the sort key must be another attribute than the partition key",
		},
		"indexes": {
			table(hash + "  rangeAttribute: {name: at, type: N}\n  attributes: [{name: color, type: S}]\n" +
				"  globalSecondaryIndexes: [{name: by-color, hashAttribute: color, rangeAttribute: at}]\n" +
				"  localSecondaryIndexes: [{name: own-color, rangeAttribute: color}]\n"), "",
		},
		"a rule of an attribute that no index has": {
			table(hash + "  attributes: [{name: color, type: S}]\n"),
			"line 5: DynamoDB orders: spec: attributes contains an attribute that is in the key of no index",
		},
		"a rule of an attribute that is defined twice": {
			table(hash + "  attributes: [{name: id, type: S}]\n  globalSecondaryIndexes: [{name: by-id, hashAttribute: id}]\n"),
			"line 5: DynamoDB orders: spec: attributes contains an attribute of the table's key",
		},
		"a rule of an attribute that is not defined": {
			table(hash + "  globalSecondaryIndexes: [{name: by-color, hashAttribute: color}]\n"),
			"line 5: DynamoDB orders: spec: globalSecondaryIndexes has a key with an attribute that is not defined",
		},
		"a rule of a local index": {
			table(hash + "  attributes: [{name: at, type: N}]\n  localSecondaryIndexes: [{name: by-time, rangeAttribute: at}]\n"),
			"line 5: DynamoDB orders: spec: a table with localSecondaryIndexes needs a rangeAttribute",
		},
		"a rule of an index's capacity": {
			table(hash + "  globalSecondaryIndexes: [{name: by-id, hashAttribute: id, readCapacityUnits: 2}]\n"),
			"line 5: DynamoDB orders: spec: an index has capacity only if the table has",
		},
		"a rule of a projection": {
			table(hash + "  globalSecondaryIndexes: [{name: by-id, hashAttribute: id, projection: INCLUDE}]\n"),
			"line 7: DynamoDB orders: spec.globalSecondaryIndexes[0]: nonKeyAttributes and projection INCLUDE belong together",
		},
		"a rule of keys": {
			queue("  kmsKeyID: alias/a\n  encryptionKeyName: b\n"), "line 5: SQSQueue orders: spec: set only one of encryptionKeyName and kmsKeyID",
		},
		"a rule of throughput": {
			queue("  fifoQueue: true\n  fifoThroughputLimit: perMessageGroupId\n"),
			"line 5: SQSQueue orders: spec: fifoThroughputLimit perMessageGroupId needs deduplicationScope messageGroup",
		},
		"a rule of FIFO queues": {
			queue("  deduplicationScope: queue\n"), "line 5: SQSQueue orders: spec: deduplicationScope and fifoThroughputLimit are for FIFO queues",
		},
		"a rule of two dead-letter queues": {
			queue("  usedeadletterQueue: true\n  deadLetterQueueName: dead\n"),
			"line 5: SQSQueue orders: spec: set only one of usedeadletterQueue and deadLetterQueueName",
		},
		"a rule of no dead-letter queue": {
			queue("  maxReceiveCount: 3\n"), "line 5: SQSQueue orders: spec: maxReceiveCount needs a dead-letter queue",
		},
		"a rule of a queue's own name": {
			queue("  deadLetterQueueName: orders\n"),
			"line 4: SQSQueue orders: metadata.name: spec.deadLetterQueueName names the queue itself",
		},
		"a rule of public access": {
			of("S3Bucket", "acme-logs", "  accessControl: PublicRead\n  blockPublicAccess: true\n"),
			"line 5: S3Bucket acme-logs: spec: website and a public accessControl need public access",
		},
		"a rule of object ownership": {
			of("S3Bucket", "acme-logs", "  accessControl: BucketOwnerRead\n  objectOwnership: BucketOwnerEnforced\n"),
			"line 5: S3Bucket acme-logs: spec: objectOwnership BucketOwnerEnforced disables access control lists",
		},
		"a rule of a lifecycle": {
			of("S3Bucket", "acme-logs", "  lifecycleRules: [{id: all, prefix: a/}]\n"),
			"line 6: S3Bucket acme-logs: spec.lifecycleRules[0]: a rule does something; set expirationDays",
		},
		"a rule of excepted tags": {
			of("ECRRepository", "web", "  imageTagMutabilityExclusions: [latest]\n"),
			"line 5: ECRRepository web: spec: imageTagMutabilityExclusions and an imageTagMutability that ends with _WITH_EXCLUSION belong together",
		},
		"a rule of FIFO topics": {
			of("SNSTopic", "news", "  contentBasedDeduplication: true\n"),
			"line 5: SNSTopic news: spec: contentBasedDeduplication is for FIFO topics",
		},
		"a rule of the name": {
			of("DynamoDB", "ab", hash),
			"line 4: DynamoDB ab: metadata.name: a table's name, which is metadata.name, has at least 3 characters",
		},
		"a name that no object can have": {
			of("SQSQueue", "My_Queue", "  delaySeconds: 1\n"), `line 4: SQSQueue My_Queue: metadata.name: Invalid value: "My_Queue": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, `,
		},
	}
}

func TestServicesAreCheckedByTheirSchema(t *testing.T) {
	for name, test := range objects() {
		t.Run(name, func(t *testing.T) {
			err := admit(t, test.text)
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want == "":
			case err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "x.yaml, document 1, line ") ||
				strings.Contains(err.Error(), "\n"):
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

// TestAPIServerAgrees sends the same objects to a real API server, as kubectl does.
func TestAPIServerAgrees(t *testing.T) {
	cluster := controlplanetest.Shared(t)
	known, err := kinds.BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, kind := range known.Models() {
		crds = append(crds, kind.CRD())
	}
	if err := operatorkit.EnsureCRDs(patience.Context(t), cluster.RESTConfig(), "kinds-test", crds...); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(cluster.RESTConfig(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range objects() {
		t.Run(name, func(t *testing.T) {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(test.text), object); err != nil {
				t.Fatal(err)
			}
			object.SetNamespace(metav1.NamespaceDefault)
			err := c.Create(t.Context(), object, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
			if (err == nil) != (test.want == "") {
				t.Errorf("the API server says: %v\nwithout it: %q", err, test.want)
			}
			if strings.HasPrefix(name, "a rule ") && strings.Contains(fmt.Sprint(err), "<nil>") {
				t.Errorf("the field has no name: %v", err)
			}
		})
	}
}

func TestAllProblemsOfAllObjectsAreReportedAtOnce(t *testing.T) {
	const broken = header + "kind: ModelDefinition\nmetadata: {name: vaults}\nspec: {kind: Vault, resourceType: 'AWS::KMS::Kee'}\n"
	err := admit(
		t,
		queue("  visibiltyTimeout: 30\n  delaySeconds: 1000\n"),
		broken,
		of("Vault", "mine", "  a: b\n"),
		of("SQSQueu", "typo", "  a: b\n"),
		of("DynamoDB", "ab", hash),
	)
	want := []string{
		"x.yaml, document 1, line 6: SQSQueue orders: spec.visibiltyTimeout: there is no such field; did you mean visibilityTimeout?",
		"x.yaml, document 1, line 7: SQSQueue orders: spec.delaySeconds: 1000 should be less than or equal to 900",
		"x.yaml, document 2, line 12: ModelDefinition vaults: spec.resourceType: CloudFormation has no resource type AWS::KMS::Kee; did you mean AWS::KMS::Key?",
		"x.yaml, document 4, line 22: SQSQueu typo: kind: there is no kind SQSQueu; give its ModelDefinition with another -f; did you mean SQSQueue?",
		"x.yaml, document 5, line 31: DynamoDB ab: metadata.name: a table's name, which is metadata.name, has at least 3 characters",
	}
	if err == nil || err.Error() != strings.Join(want, "\n") {
		t.Errorf("got\n%v\nwant\n%s", err, strings.Join(want, "\n"))
	}
}

// TestTextsOfWriteToAreChecked tests what the API server cannot check: the texts of spec.writeTo.
func TestTextsOfWriteToAreChecked(t *testing.T) {
	const entry = "  writeTo:\n  - kind: ConfigMap\n    name: settings\n    data:\n      URL: '{{ .output.queue%s }}'\n      ARN: '{{ .output.queueARN }}'\n"
	if err := admit(t, queue(fmt.Sprintf(entry, "URL"))); err != nil {
		t.Error(err)
	}
	err := admit(t, queue(fmt.Sprintf(entry, "Url")))
	want := "x.yaml, document 1, line 10: SQSQueue orders: spec.writeTo[0].data.URL: line 1, column 11: there is no .output.queueUrl; did you mean .output.queueURL?"
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

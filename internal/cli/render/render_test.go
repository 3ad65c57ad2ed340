package render

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestExamplesBecomeStacks(t *testing.T) {
	files, err := filepath.Glob("../../../examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var args []string
	for _, path := range append(files, "../../../examples/quickstart", "../../../examples/clusters") {
		args = append(args, "-f", path)
	}
	out, err := run(t, "", args...)
	if err != nil {
		t.Fatal(err)
	}
	for _, stack := range []string{
		"# stack aws-operator-dynamodb-dynamo-table-default\n",
		"# stack aws-operator-snssubscription-orders-to-billing-default\n",
		"# stack aws-operator-kinesisstream-clicks-default\n",                     // a kind that a ModelDefinition among them defines
		"SqsManagedSseEnabled: true\n",                                            // a CloudFormationTemplate among them
		"KMSMasterKeyId: arn:aws:kms:eu-central-2:123456789012:key/application\n", // the key of another object
	} {
		if !strings.Contains(out, stack) {
			t.Errorf("there is no %q in\n%s", stack, out)
		}
	}
}

// TestUnknownValuesAreParameters tests that a template has a parameter in place of a value that only the
// management cluster has, and a plausible output of another object.
func TestUnknownValuesAreParameters(t *testing.T) {
	const header = "apiVersion: service-operator.aws/v1alpha1\n"
	out, err := run(t, header+`kind: SQSQueue
metadata: {name: jobs}
spec:
  valuesFrom:
    - {field: delaySeconds, configMapKeyRef: {name: settings, key: delay}}
    - {field: kmsKeyID, valueFrom: {kind: EncryptionKey, name: main, output: keyARN}}
---
`+header+`kind: ModelDefinition
metadata: {name: vaults}
spec: {kind: Vault, resourceType: 'AWS::SSM::Parameter'}
---
`+header+`kind: Vault
metadata: {name: mine}
spec: {type: String, valuesFrom: [{field: value, secretKeyRef: {name: database, key: password}}]}
`, "-f", "-")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"ValueDelaySeconds:\n    Description: \"The value of spec.delaySeconds: key delay of ConfigMap settings.\"\n    Type: String\n",
		"DelaySeconds: !Ref ValueDelaySeconds\n",
		"KmsMasterKeyId: arn:aws:kms:eu-central-2:123456789012:key/main\n",
		"    NoEcho: true\n", "Value: !Ref SecretValue\n",
	} {
		if !strings.Contains(out, part) {
			t.Errorf("there is no %q in\n%s", part, out)
		}
	}
}

// TestUnknownConsentIsNoRefusal tests objects that need the consent of others: only the management cluster
// knows whether these give it.
func TestUnknownConsentIsNoRefusal(t *testing.T) {
	const header = "apiVersion: service-operator.aws/v1alpha1\n"
	out, err := run(t, header+`kind: S3Bucket
metadata: {name: example-uploads}
spec:
  notifications:
    - {queueName: uploaded, events: ["s3:ObjectCreated:*"]}
    - {topicName: uploads, events: ["s3:ObjectRemoved:*"]}
---
`+header+`kind: EventBridgeRule
metadata: {name: stopped}
spec: {schedule: rate(5 minutes), deadLetterQueueName: undelivered, targets: [{name: queue, queueName: uploaded}]}
---
`+header+`kind: SNSSubscription
metadata: {name: uploads-to-billing}
spec: {topicName: uploads, protocol: sqs, endpoint: billing}
`, "-f", "-")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"QueueConfigurations:", "TopicConfigurations:", "DeadLetterConfig:", "Type: AWS::SQS::QueuePolicy"} {
		if !strings.Contains(out, part) {
			t.Errorf("there is no %q in\n%s", part, out)
		}
	}
}

func TestOutWritesAFileForEachStack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "templates")
	if _, err := run(t, "", "-f", "../../../examples/quickstart/messaging.yaml", "--out", dir, "--cluster-name", "blue"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"blue-snstopic-orders-default.yaml", "blue-sqsqueue-billing-default.yaml"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

func TestMistakesAreReported(t *testing.T) {
	const header = "apiVersion: service-operator.aws/v1alpha1\n"
	for _, test := range []struct{ name, manifest, want string }{
		{
			"a kind that nothing defines",
			header + "kind: KinesisStream\nmetadata: {name: a}\n",
			"there is no kind KinesisStream",
		},
		{
			"an output that the kind does not have",
			header + "kind: SQSQueue\nmetadata: {name: a}\nspec:\n  valuesFrom:\n    - field: kmsKeyID\n      valueFrom: {kind: EncryptionKey, name: b, output: arn}\n",
			"spec.valuesFrom[0].valueFrom.output: EncryptionKey has no output arn; use one of ",
		},
		{
			"a field that the kind does not have",
			header + "kind: SQSQueue\nmetadata: {name: a}\nspec:\n  valuesFrom:\n    - field: kmsKeyId\n      configMapKeyRef: {name: b, key: c}\n",
			"line 6: SQSQueue a: spec.valuesFrom[0].field: there is no field kmsKeyId; did you mean kmsKeyID?",
		},
		{
			"a template that nothing gives",
			header + "kind: SQSQueue\nmetadata: {name: a}\nspec: {cloudFormationTemplateName: mine}\n",
			"there is no CloudFormationTemplate default/mine",
		},
		{
			"a definition with a mistake",
			header + "kind: ModelDefinition\nmetadata: {name: boxes}\nspec:\n  kind: Box\n  template: |\n" +
				"    Resources:\n      Q:\n        Type: AWS::SQS::Queue\n        Properties:\n          QueueNam: {{ .name }}\n" +
				"---\n" + header + "kind: Box\nmetadata: {name: a}\n",
			"ModelDefinition boxes: spec.template: line 5, column 7: AWS::SQS::Queue has no property QueueNam; did you mean QueueName?",
		},
		{
			"a property that the resource does not have",
			header + "kind: CloudFormationTemplate\nmetadata: {name: mine}\ndata:\n  key: mine.yaml\n  template: |\n" +
				"    Resources:\n      Q:\n        Type: AWS::SQS::Queue\n        Properties:\n          VisibiltyTimeout: 1\n" +
				"---\n" + header + "kind: SQSQueue\nmetadata: {name: a}\nspec: {cloudFormationTemplateName: mine}\n",
			"did you mean VisibilityTimeout?",
		},
		{
			"a value that only the resource's own schema refuses",
			header + "kind: ModelDefinition\nmetadata: {name: delays}\nspec:\n  kind: Delay\n  resourceType: AWS::SQS::Queue\n" +
				"  schema: {type: object, properties: {delaySeconds: {type: string}}}\n" +
				"---\n" + header + "kind: Delay\nmetadata: {name: a}\nspec:\n  delaySeconds: soon\n",
			"standard input, document 2, line 13: Delay a: spec.delaySeconds: AWS::SQS::Queue property DelaySeconds must be an integer",
		},
		{
			"a definition with a template that is none",
			header + "kind: ModelDefinition\nmetadata: {name: delays}\nspec:\n  kind: Delay\n  template: |\n    {{ if }}\n",
			"standard input, document 1, line 6: ModelDefinition delays: spec.template: line 1, column 1: missing value for if",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := run(t, test.manifest, "-f", "-"); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// TestAllMistakesOfAllFilesAreReportedAtOnce has mistakes in several files. Nothing is printed then, not
// even the stack of the object without a mistake.
func TestAllMistakesOfAllFilesAreReportedAtOnce(t *testing.T) {
	const object = "apiVersion: service-operator.aws/v1alpha1\nkind: SQSQueue\nmetadata: {name: NAME}\nspec:\n"
	t.Chdir(t.TempDir())
	for file, text := range map[string]string{
		"a.yaml": object + "  delaySeconds: 1\n---\n" + strings.Replace(object, "NAME", "bad", 1) + "  visibiltyTimeout: 30\n  delaySeconds: 901\n",
		"b.yaml": strings.Replace(object, "NAME", "worse", 1) + "  fifoQueue: text\n",
		"c.yaml": strings.Replace(object, "metadata", "metdata", 1),
	} {
		if err := os.WriteFile(file, []byte(strings.Replace(text, "NAME", "good", 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const want = `a.yaml, document 2, line 11: SQSQueue bad: spec.visibiltyTimeout: there is no such field; did you mean visibilityTimeout?
a.yaml, document 2, line 12: SQSQueue bad: spec.delaySeconds: 901 should be less than or equal to 900
b.yaml, document 1, line 5: SQSQueue worse: spec.fifoQueue: this is text, but must be true or false
c.yaml, document 1, line 3: metdata: there is no such field; did you mean metadata?`
	if out, err := run(t, "", "-f", "a.yaml", "-f", "b.yaml", "-f", "c.yaml"); err == nil || out != "" || err.Error() != want {
		t.Errorf("got\n%v\nand %q, want\n%s", err, out, want)
	}
}

func run(t *testing.T, in string, args ...string) (string, error) {
	t.Helper()
	cmd := Command()
	var out bytes.Buffer
	cmd.SetArgs(args)
	cmd.SetIn(strings.NewReader(in))
	cmd.SetOut(&out)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

package controller_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/internal/service/render"
)

// TestModelDefinitionAtRunTime tests that a kind is created and deleted with its definition,
// without a restart, and not while it has objects.
func TestModelDefinitionAtRunTime(t *testing.T) {
	w := newSuite(t, nil)
	w.apply(
		"{kind: ModelDefinition, metadata: {name: streams}, spec: {kind: KinesisStream, shortNames: [stream], resourceType: 'AWS::Kinesis::Stream'}}",
	)
	w.condition("ModelDefinition", "streams", "Ready", "True", "Served")
	if !w.isExplained("KinesisStream") {
		t.Error("kubectl explain does not know the kind although its definition is Ready")
	}
	w.apply("{kind: KinesisStream, metadata: {name: clicks}, spec: {shardCount: 2}}")
	obj := w.ready("KinesisStream", "clicks")
	if got := nested(obj, "status", "output", "name"); got != "clicks" {
		t.Errorf("output.name is %v", got)
	}
	if got := fmt.Sprint(nested(obj, "status", "output", "arn")); got == "" || got == "<nil>" {
		t.Errorf("output.arn is %v", got)
	}
	w.change("KinesisStream", "clicks", `{"spec":{"shardCount":3}}`)
	w.ready("KinesisStream", "clicks")
	if template := w.template("KinesisStream", "clicks"); !strings.Contains(template, `"ShardCount":3`) {
		t.Errorf("the template is %s", template)
	}

	definition, err := w.get("ModelDefinition", "streams")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.client.Delete(t.Context(), definition); err != nil {
		t.Fatal(err)
	}
	c := w.condition("ModelDefinition", "streams", "Ready", "False", "ObjectsExist")
	if !strings.Contains(c.Message, "clicks") {
		t.Errorf("the message is %q", c.Message)
	}
	w.delete("KinesisStream", "clicks")
	w.gone("ModelDefinition", "streams")
	if stacks := w.stacks(); len(stacks) != 0 {
		t.Errorf("stacks are left: %v", stacks)
	}
}

// isExplained reports whether the API server's OpenAPI has a kind, which kubectl explain reads.
func (w *suite) isExplained(kind string) bool {
	w.t.Helper()
	api, err := discovery.NewDiscoveryClientForConfig(w.cluster.RESTConfig())
	if err != nil {
		w.t.Fatal(err)
	}
	paths, err := api.OpenAPIV3().Paths()
	if err != nil {
		w.t.Fatal(err)
	}
	document, err := paths["apis/service-operator.aws/v1alpha1"].Schema("application/json")
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.Contains(string(document), `"kind":"`+kind+`"`)
}

// TestModelDefinitionWithTemplate tests a user's own template, references and additional resources,
// and that a change of the definition reaches its objects.
func TestModelDefinitionWithTemplate(t *testing.T) {
	w := newSuite(t, nil)
	definition := `
kind: ModelDefinition
metadata: {name: mailboxes}
spec:
  kind: Mailbox
  schema:
    type: object
    required: [days]
    properties: {days: {type: integer, minimum: 1, maximum: 14}}
  template: |
    Resources:
      Queue:
        Type: AWS::SQS::Queue
        Properties:
          QueueName: {{ .name }}
          MessageRetentionPeriod: %s
    Outputs:
      Address: {Value: {Ref: Queue}}
  outputs: [{name: address}]
  additionalResources:
    secrets: [{data: {address: "{{ .output.address }}"}}]
`
	w.apply(fmt.Sprintf(definition, "{{ .spec.days }}"))
	w.condition("ModelDefinition", "mailboxes", "Ready", "True", "Served")
	w.apply("{kind: Mailbox, metadata: {name: a}, spec: {days: 7}}")
	// SQS requires at least 60 seconds: AWS's schema reports that before AWS does.
	c := w.condition("Mailbox", "a", "Stalled", "True", "")
	if !strings.Contains(c.Message, "MessageRetentionPeriod") {
		t.Errorf("the message is %q", c.Message)
	}
	w.apply(fmt.Sprintf(definition, "86400"))
	w.condition("ModelDefinition", "mailboxes", "Ready", "True", "Served")
	obj := w.ready("Mailbox", "a")
	if got := fmt.Sprint(nested(obj, "status", "additionalResources", "secrets")); got != "[a]" {
		t.Errorf("the Secrets are %v", got)
	}
	w.delete("Mailbox", "a")
	w.delete("ModelDefinition", "mailboxes")
}

// TestDefaultKind tests the kind of a definition that gives none, and that it cannot change.
func TestDefaultKind(t *testing.T) {
	w := newSuite(t, nil)
	for spec, want := range map[string]string{
		"{template: '{Resources: {}}'}":          "give a kind: only a resourceType has a default",
		"{resourceType: 'AWS::Lambda::Nothing'}": "",
	} {
		err := w.tryApply("{kind: ModelDefinition, metadata: {name: invalid}, spec: " + spec + "}")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: the error is %v, want %q", spec, err, want)
		}
	}
	w.condition("ModelDefinition", "invalid", "Stalled", "True", "InvalidModel")
	w.delete("ModelDefinition", "invalid")

	const definition = "{kind: ModelDefinition, metadata: {name: loggroups}, spec: {resourceType: '%s'}}"
	w.apply(fmt.Sprintf(definition, "AWS::Logs::LogGroup"))
	made := w.condition("ModelDefinition", "loggroups", "Ready", "True", "Served")
	if !strings.Contains(made.Message, "Objects of kind LogsLogGroup (logsloggroups.service-operator.aws) are served.") {
		t.Errorf("the message is %q", made.Message)
	}
	obj, err := w.get("ModelDefinition", "loggroups")
	if err != nil {
		t.Fatal(err)
	}
	if got := nested(obj, "status", "kind"); got != "LogsLogGroup" {
		t.Errorf("status.kind is %v", got)
	}
	err = w.tryApply(fmt.Sprintf(definition, "AWS::Logs::LogStream"))
	if err == nil || !strings.Contains(err.Error(), "resourceType cannot change without kind") {
		t.Errorf("another type: the error is %v", err)
	}
	w.apply("{kind: LogsLogGroup, metadata: {name: a}}")
	w.ready("LogsLogGroup", "a")
	w.delete("LogsLogGroup", "a")
	w.delete("ModelDefinition", "loggroups")
}

// TestMissingValue tests that an object waits for a value that a ConfigMap needs.
func TestMissingValue(t *testing.T) {
	w := newSuite(t, nil)
	w.apply(`
kind: ModelDefinition
metadata: {name: letterboxes}
spec:
  kind: Letterbox
  schema: {type: object, properties: {letters: {type: boolean}}}
  template: |
    Resources:
      Queue: {Type: AWS::SQS::Queue}
    Outputs:
      {{- if .spec.letters }}
      Address: {Value: {Ref: Queue}}
      {{- end }}
      QueueArn: {Value: !GetAtt Queue.Arn}
  additionalResources:
    configMaps: [{data: {address: "{{ .output.address }}", arn: "{{ .output.queueArn }}"}}]
`)
	w.condition("ModelDefinition", "letterboxes", "Ready", "True", "Served")
	w.apply("{kind: Letterbox, metadata: {name: a}, spec: {letters: false}}")
	c := w.condition("Letterbox", "a", "Ready", "False", "ValueMissing")
	if !strings.Contains(c.Message, "ConfigMap a needs {{ .output.address }} for its key address, which has no value") {
		t.Errorf("the message is %q", c.Message)
	}
	if data, err := w.configMap("a"); err == nil {
		t.Errorf("there is a ConfigMap with %v", data)
	}
	w.change("Letterbox", "a", `{"spec":{"letters":true}}`)
	w.ready("Letterbox", "a")
	data, err := w.configMap("a")
	if err != nil {
		t.Fatal(err)
	}
	if data["address"] == "" || data["arn"] == "" {
		t.Errorf("the ConfigMap has %v", data)
	}
	w.delete("Letterbox", "a")
	w.delete("ModelDefinition", "letterboxes")
}

// TestBadModelDefinitions tests that the message says what to correct.
func TestBadModelDefinitions(t *testing.T) {
	w := newSuite(t, nil)
	for _, c := range []struct{ reason, name, spec, want string }{
		{"a type that does not exist", "bad-type", "{kind: BadType, resourceType: 'AWS::Kinesis::Steam'}", "did you mean AWS::Kinesis::Stream?"},
		{"a kind that is built in", "bad-kind", "{kind: DynamoDB, resourceType: 'AWS::DynamoDB::Table'}", "DynamoDB is built in"},
		{"a kind of the operator", "bad-own", "{kind: ModelRevision, resourceType: 'AWS::DynamoDB::Table'}", "ModelRevision is built in"},
		{"a property that does not exist", "bad-property", `{kind: BadProperty, template: "Resources:\n  Q:\n    Type: AWS::SQS::Queue\n    Properties: {DelaySecond: 3}"}`, "bad-property.spec.template:4:18: AWS::SQS::Queue has no property DelaySecond; did you mean DelaySeconds?"},
		{"an output that does not exist", "bad-output", "{kind: BadOutput, resourceType: 'AWS::SQS::Queue', additionalResources: {configMaps: [{data: {a: '{{ .output.arnn }}'}}]}}", "bad-output.spec.additionalResources.configMaps[0].data.a:1:11: there is no .output.arnn; did you mean .output.arn?"},
		{"a template with a mistake", "bad-template", `{kind: BadTemplate, template: "Resources:\n  {{ iff }}"}`, "bad-template.spec.template:2"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			w.apply(fmt.Sprintf("{kind: ModelDefinition, metadata: {name: %s}, spec: %s}", c.name, c.spec))
			condition := w.condition("ModelDefinition", c.name, "Stalled", "True", "")
			if !strings.Contains(condition.Message, c.want) {
				t.Errorf("the message is %q, want %q in it", condition.Message, c.want)
			}
			w.delete("ModelDefinition", c.name)
		})
	}
}

const queueTemplate = `
kind: CloudFormationTemplate
metadata: {name: queue-template}
data:
  key: queue.yaml
  template: |
    Parameters:
      Namespace: {Type: String}
      ResourceVersion: {Type: String}
      ResourceName: {Type: String}
      ClusterName: {Type: String}
      DelaySeconds: {Type: Number}
    Resources:
      Queue:
        Type: AWS::SQS::Queue
        Properties:
          QueueName: !Sub "${ClusterName}-${ResourceName}"
          DelaySeconds: !Ref DelaySeconds
          Tags: [{Key: version, Value: !Ref ResourceVersion}]
    Outputs:
      QueueURL: {Value: !Ref Queue}
      QueueARN: {Value: !GetAtt Queue.Arn}
      QueueName: {Value: !GetAtt Queue.QueueName}
`

// TestCloudFormationTemplate tests that an object may use its own template, gets its parameters,
// waits for a missing template, follows its changes and is not updated endlessly.
func TestCloudFormationTemplate(t *testing.T) {
	w := newLimitedSuite(t, nil, render.Limits{TemplateTypes: []string{"AWS::SQS::*"}})
	w.apply("{kind: SQSQueue, metadata: {name: jobs}, spec: {delaySeconds: 4, cloudFormationTemplateName: queue-template}}")
	w.condition("SQSQueue", "jobs", "ReferencesResolved", "False", "TemplateNotFound")
	w.apply(queueTemplate)
	template := w.ready("CloudFormationTemplate", "queue-template")
	want := fmt.Sprintf("/apis/service-operator.aws/v1alpha1/namespaces/%s/cloudformationtemplates/queue-template", w.namespace)
	if got := nested(template, "status", "output", "url"); got != want {
		t.Errorf("output.url is %v", got)
	}
	obj := w.ready("SQSQueue", "jobs")
	if got := nested(obj, "status", "output", "queueARN"); got != "arn:aws:sqs:eu-west-1:123456789012:test-jobs" {
		t.Errorf("output.queueARN is %v", got)
	}
	w.delay("test-jobs", "4")

	w.apply(strings.Replace(queueTemplate, "DelaySeconds: !Ref DelaySeconds", "DelaySeconds: 11", 1))
	w.delay("test-jobs", "11")
	w.ready("SQSQueue", "jobs")
	if n := w.sim.Calls()["cloudformation/UpdateStack"]; n != 1 {
		t.Errorf("the stack was updated %d times, want once", n)
	}
}

// TestBadTemplates tests that no stack is created from a template with a mistake, and that the
// message contains the mistake's position.
func TestBadTemplates(t *testing.T) {
	w := newLimitedSuite(t, nil, render.Limits{TemplateTypes: []string{"AWS::SQS::*"}})
	for _, c := range []struct{ reason, name, resources, want string }{
		{"an unknown property", "property", "Queue: {Type: AWS::SQS::Queue, Properties: {VisibiltyTimeout: 3}}", "did you mean VisibilityTimeout?"},
		{"a wrong type", "type", "Queue: {Type: AWS::SQS::Queue, Properties: {DelaySeconds: [3]}}", "DelaySeconds"},
		{"an undefined reference", "reference", "Queue: {Type: AWS::SQS::Queue, Properties: {QueueName: !Ref Name}}", "Name"},
		{"a cycle", "cycle", "A: {Type: AWS::SQS::Queue, DependsOn: B}, B: {Type: AWS::SQS::Queue, DependsOn: A}", "A"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			w.apply(fmt.Sprintf(`
kind: CloudFormationTemplate
metadata: {name: bad-%[1]s}
data:
  key: bad.yaml
  template: |
    Resources: {%[2]s}
---
{kind: SQSQueue, metadata: {name: bad-%[1]s}, spec: {cloudFormationTemplateName: bad-%[1]s}}
`, c.name, c.resources))
			for _, kind := range []string{"CloudFormationTemplate", "SQSQueue"} {
				condition := w.condition(kind, "bad-"+c.name, "Stalled", "True", "")
				if !strings.Contains(condition.Message, "bad.yaml:1:") || !strings.Contains(condition.Message, c.want) {
					t.Errorf("%s: the message is %q, want the position and %q", kind, condition.Message, c.want)
				}
			}
		})
	}
	out, err := cloudformation.NewFromConfig(w.awsConfig()).DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range out.Stacks {
		if !strings.HasPrefix(aws.ToString(s.StackName), "aws-operator-events") {
			t.Errorf("there is a stack %s", aws.ToString(s.StackName))
		}
	}
}

// TestModelDefinitionsKeepTheirKind tests that the first definition keeps a kind: another
// definition of it, an existing CustomResourceDefinition and a built-in kind are neither changed
// nor deleted, also while an operator starts.
func TestModelDefinitionsKeepTheirKind(t *testing.T) {
	w := newSuite(t, nil)
	w.apply("{kind: ModelDefinition, metadata: {name: zz-first}, spec: {kind: Shard, resourceType: 'AWS::Kinesis::Stream'}}")
	w.condition("ModelDefinition", "zz-first", "Ready", "True", "Served")
	w.apply(`
{kind: ModelDefinition, metadata: {name: aa-second}, spec: {kind: Shard, resourceType: 'AWS::SQS::Queue'}}
---
{kind: ModelDefinition, metadata: {name: aa-builtin}, spec: {kind: DynamoDB, plural: dynamodbs, resourceType: 'AWS::SQS::Queue'}}
`)
	w.condition("ModelDefinition", "aa-second", "Stalled", "True", "KindTaken")
	w.condition("ModelDefinition", "aa-builtin", "Stalled", "True", "KindTaken")
	shards, tables := w.crdUID("shards"), w.crdUID("dynamodbs")
	w.stop()
	for _, name := range []string{"aa-second", "aa-builtin"} {
		obj, err := w.get("ModelDefinition", name)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.client.Delete(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	w.startOperator()
	w.gone("ModelDefinition", "aa-second")
	w.gone("ModelDefinition", "aa-builtin")
	if w.crdUID("shards") != shards || w.crdUID("dynamodbs") != tables {
		t.Error("a definition that did not own the kind removed it")
	}
	w.delete("ModelDefinition", "zz-first")

	w.apply(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: strangers.service-operator.aws}
spec:
  group: service-operator.aws
  names: {kind: Stranger, plural: strangers}
  scope: Namespaced
  versions: [{name: v1alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`)
	stranger := w.crdUID("strangers")
	w.apply("{kind: ModelDefinition, metadata: {name: strangers}, spec: {kind: Stranger, resourceType: 'AWS::SQS::Queue'}}")
	w.condition("ModelDefinition", "strangers", "Stalled", "True", "KindTaken")
	w.delete("ModelDefinition", "strangers")
	if w.crdUID("strangers") != stranger {
		t.Error("an existing CustomResourceDefinition was deleted")
	}
}

// crdUID returns the UID of a CustomResourceDefinition of the group, by plural.
func (w *suite) crdUID(plural string) types.UID {
	w.t.Helper()
	crd := &unstructured.Unstructured{}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	if err := w.client.Get(w.t.Context(), client.ObjectKey{Name: plural + ".service-operator.aws"}, crd); err != nil {
		w.t.Fatal(err)
	}
	if !crd.GetDeletionTimestamp().IsZero() {
		w.t.Errorf("%s is being deleted", crd.GetName())
	}
	return crd.GetUID()
}

// TestModelDefinitionRecreated tests that a kind whose definition is deleted and immediately
// applied again is served: the old CustomResourceDefinition, which is being deleted, must not be
// used for the new one.
func TestModelDefinitionRecreated(t *testing.T) {
	w := newSuite(t, nil)
	const definition = "{kind: ModelDefinition, metadata: {name: phoenixes}, spec: {kind: Phoenix, resourceType: 'AWS::SQS::Queue'}}"
	for range 3 {
		w.apply(definition)
		w.condition("ModelDefinition", "phoenixes", "Ready", "True", "Served")
		w.apply("{kind: Phoenix, metadata: {name: bird}, spec: {}}")
		w.ready("Phoenix", "bird")
		w.delete("Phoenix", "bird")
		w.delete("ModelDefinition", "phoenixes")
	}
}

// TestTwoAdditionalResourcesOfOneName tests that a definition with two ConfigMaps of one name is
// refused: they would overwrite each other endlessly.
func TestTwoAdditionalResourcesOfOneName(t *testing.T) {
	w := newSuite(t, nil)
	w.apply(`
kind: ModelDefinition
metadata: {name: twins}
spec:
  kind: Twin
  resourceType: AWS::SQS::Queue
  additionalResources: {configMaps: [{data: {a: "1"}}, {data: {a: "2"}}]}
`)
	w.condition("ModelDefinition", "twins", "Ready", "True", "Served")
	w.apply("{kind: Twin, metadata: {name: a}, spec: {}}")
	w.condition("Twin", "a", "Stalled", "True", "InvalidAdditionalResources")
	w.delete("Twin", "a")
	w.delete("ModelDefinition", "twins")
}

// TestOutputThatTheResourceDoesNotHave tests a definition that lists an attribute which AWS sets only
// if a feature is on: an object without the feature says which output to remove and recovers.
func TestOutputThatTheResourceDoesNotHave(t *testing.T) {
	w := newSuite(t, nil)
	const definition = "{kind: ModelDefinition, metadata: {name: databases}, spec: {kind: Database, resourceType: 'AWS::RDS::DBInstance', outputs: [%s]}}"
	const database = "{kind: Database, metadata: {name: %s}, spec: {rollbackCount: 1, engine: postgres, dbInstanceClass: db.t4g.micro, " +
		"allocatedStorage: '20', manageMasterUserPassword: %t}}"
	w.apply(fmt.Sprintf(definition, "{name: endpointAddress}, {name: masterUserSecretSecretArn}"))
	w.condition("ModelDefinition", "databases", "Ready", "True", "Served")
	w.apply(fmt.Sprintf(database, "managed", true))
	w.apply(fmt.Sprintf(database, "plain", false))

	managed := w.ready("Database", "managed")
	if got := fmt.Sprint(nested(managed, "status", "output", "masterUserSecretSecretArn")); !strings.HasPrefix(got, "arn:aws:") {
		t.Errorf("output.masterUserSecretSecretArn is %s", got)
	}
	c := w.condition("Database", "plain", "Stalled", "True", "CreateFailed")
	for _, want := range []string{
		"Attribute 'MasterUserSecret.SecretArn' does not exist.",
		"The output masterUserSecretSecretArn reads the attribute MasterUserSecret.SecretArn, which AWS sets only for some resources.",
		"Remove the output from ModelDefinition databases, or set the fields that the attribute needs.",
	} {
		if !strings.Contains(c.Message, want) {
			t.Errorf("the message is %q, want %q in it", c.Message, want)
		}
	}

	w.apply(fmt.Sprintf(definition, "{name: endpointAddress}"))
	w.condition("ModelDefinition", "databases", "Ready", "True", "Served")
	plain := w.ready("Database", "plain")
	if got := nested(plain, "status", "output", "endpointAddress"); got == nil {
		t.Errorf("the output is %v", nested(plain, "status", "output"))
	}

	// With the output again, the update fails, and the message says the same.
	w.apply(fmt.Sprintf(definition, "{name: endpointAddress}, {name: secret, from: MasterUserSecretSecretArn}"))
	w.condition("ModelDefinition", "databases", "Ready", "True", "Served")
	c = w.condition("Database", "plain", "Stalled", "True", "UpdateFailed")
	if !strings.Contains(c.Message, "The output secret reads the attribute MasterUserSecret.SecretArn") {
		t.Errorf("the message is %q", c.Message)
	}
	w.change("Database", "plain", `{"spec":{"manageMasterUserPassword":true}}`)
	w.ready("Database", "plain")
	w.delete("Database", "plain")
	w.delete("Database", "managed")
	w.delete("ModelDefinition", "databases")
}

// TestMissingAttributeInAUsersTemplate tests that the message names the template that replaces the
// kind's own.
func TestMissingAttributeInAUsersTemplate(t *testing.T) {
	w := newLimitedSuite(t, nil, render.Limits{TemplateTypes: []string{"AWS::ElastiCache::*"}})
	w.apply(`
kind: CloudFormationTemplate
metadata: {name: group}
data:
  key: group.yaml
  template: |
    Resources:
      Group:
        Type: AWS::ElastiCache::ReplicationGroup
        Properties: {ReplicationGroupDescription: one, CacheNodeType: cache.t4g.micro, NumCacheClusters: 2}
    Outputs:
      Address: {Value: !GetAtt Group.ConfigurationEndPoint.Address}
`)
	w.apply("{kind: SQSQueue, metadata: {name: a}, spec: {rollbackCount: 1, cloudFormationTemplateName: group}}")
	c := w.condition("SQSQueue", "a", "Stalled", "True", "CreateFailed")
	if want := "Remove the output from CloudFormationTemplate group, or set the fields that the attribute needs."; !strings.Contains(c.Message, want) ||
		!strings.Contains(c.Message, "The output Address reads the attribute") {
		t.Errorf("the message is %q, want %q in it", c.Message, want)
	}
}

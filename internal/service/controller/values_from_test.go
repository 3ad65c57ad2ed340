package controller_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/internal/simulator"
)

// labeled are the metadata of a ConfigMap or a Secret from which objects may take values.
const labeled = "labels: {service-operator.aws/values: allowed}"

// TestValuesFrom takes a value from an output, a ConfigMap and an object that appears later, and follows
// their changes.
func TestValuesFrom(t *testing.T) {
	w := newCountedSuite(t)
	w.apply(`
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, ` + labeled + `}
data: {delay: "7", tags: "- {key: team, value: shop}"}
---
kind: SQSQueue
metadata: {name: jobs}
spec:
  valuesFrom:
    - {field: delaySeconds, configMapKeyRef: {name: settings, key: delay}}
    - {field: kmsKeyID, valueFrom: {kind: EncryptionKey, name: main, output: keyARN}}
`)
	c := w.condition("SQSQueue", "jobs", "Ready", "False", "ReferenceNotFound")
	if !strings.Contains(c.Message, "spec.valuesFrom[1].valueFrom: there is no EncryptionKey main in namespace") {
		t.Errorf("the message is %q", c.Message)
	}
	w.apply("{kind: EncryptionKey, metadata: {name: main}}")
	w.ready("SQSQueue", "jobs")
	key := fmt.Sprint(nested(w.ready("EncryptionKey", "main"), "status", "output", "keyARN"))
	template := w.template("SQSQueue", "jobs")
	for _, want := range []string{`"DelaySeconds":7`, fmt.Sprintf(`"KmsMasterKeyId":%q`, key)} {
		if !strings.Contains(template, want) {
			t.Errorf("the template has no %s: %s", want, template)
		}
	}
	if strings.Contains(template, "aluesFrom") {
		t.Errorf("the template is %s", template)
	}

	calls := w.count()
	w.patch("ConfigMap", "settings", `{"metadata":{"annotations":{"a":"b"}}}`)
	w.patch("ConfigMap", "settings", `{"data":{"delay":"9"}}`)
	w.delay("jobs", "9")
	w.ready("SQSQueue", "jobs")
	if got := calls(); got["UpdateStack"]+got["CreateChangeSet"] != 1 {
		t.Errorf("one change of a value cost %v", got)
	}

	// Without the consent, the queue keeps what it has, and says what is missing.
	w.patch("ConfigMap", "settings", `{"metadata":{"labels":null},"data":{"delay":"11"}}`)
	c = w.condition("SQSQueue", "jobs", "Ready", "False", "SourceNotFound")
	want := "spec.valuesFrom[0].configMapKeyRef: there is no ConfigMap settings in namespace " + w.namespace +
		" with the label service-operator.aws/values=allowed; create it, or add what is missing."
	if c.Message != want {
		t.Errorf("the message is\n%q, want\n%q", c.Message, want)
	}
	w.delay("jobs", "9")
	w.change("SQSQueue", "jobs", `{"spec":{"delaySeconds":3,"valuesFrom":null}}`)
	w.delay("jobs", "3")
	w.delete("SQSQueue", "jobs")
}

// patch patches a ConfigMap or a Secret of the test's namespace.
func (w *suite) patch(kind, name, mergePatch string) {
	w.t.Helper()
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion("v1")
	obj.SetKind(kind)
	obj.SetNamespace(w.namespace)
	obj.SetName(name)
	if err := w.client.Patch(w.t.Context(), obj, client.RawPatch("application/merge-patch+json", []byte(mergePatch))); err != nil {
		w.t.Fatal(err)
	}
}

// TestSecretsReachOnlyAWS gives the value of a Secret to a resource, and looks for it everywhere else.
func TestSecretsReachOnlyAWS(t *testing.T) {
	w := newCountedSuite(t)
	const first, second = "correct-horse-1", "battery-staple-2"
	w.apply(`
{kind: ModelDefinition, metadata: {name: vaults}, spec: {kind: Vault, resourceType: 'AWS::SSM::Parameter'}}
---
apiVersion: v1
kind: Secret
metadata: {name: database, ` + labeled + `}
stringData: {password: ` + first + `}
`)
	w.condition("ModelDefinition", "vaults", "Ready", "True", "Served")
	w.apply(`
kind: Vault
metadata: {name: password}
spec:
  name: password
  type: String
  valuesFrom: [{field: value, secretKeyRef: {name: database, key: password}}]
`)
	w.ready("Vault", "password")
	w.becomes("AWS::SSM::Parameter", "password", "Value", first)
	w.nowhere("Vault", "password", first)

	calls := w.count()
	w.patch("Secret", "database", `{"metadata":{"annotations":{"a":"b"}}}`)
	w.patch("Secret", "database", `{"stringData":{"password":"`+second+`"}}`)
	w.becomes("AWS::SSM::Parameter", "password", "Value", second)
	w.ready("Vault", "password")
	if got := calls(); got["UpdateStack"]+got["CreateChangeSet"] != 1 {
		t.Errorf("one change of a Secret cost %v", got)
	}
	w.nowhere("Vault", "password", first, second)

	w.stop()
	calls = w.count()
	w.startOperator()
	w.change("Vault", "password", `{"metadata":{"annotations":{"a":"b"}}}`)
	w.apply("{kind: SQSQueue, metadata: {name: after}}")
	w.ready("SQSQueue", "after")
	if got := calls(); got["UpdateStack"]+got["CreateChangeSet"] != 0 {
		t.Errorf("a restart of the operator cost %v", got)
	}
	w.delete("Vault", "password")
	w.delete("ModelDefinition", "vaults")
}

// nowhere tests that an object, its Events, its ConfigMaps and its stack do not contain texts.
func (w *suite) nowhere(kind, name string, texts ...string) {
	w.t.Helper()
	obj, err := w.get(kind, name)
	if err != nil {
		w.t.Fatal(err)
	}
	var events corev1.EventList
	var configMaps corev1.ConfigMapList
	for _, list := range []client.ObjectList{&events, &configMaps} {
		if err := w.client.List(w.t.Context(), list, client.InNamespace(w.namespace)); err != nil {
			w.t.Fatal(err)
		}
	}
	stack := fmt.Sprint(nested(obj, "status", "stackName"))
	api := cloudformation.NewFromConfig(w.awsConfig())
	described, err := api.DescribeStacks(w.t.Context(), &cloudformation.DescribeStacksInput{StackName: &stack})
	if err != nil {
		w.t.Fatal(err)
	}
	for where, content := range map[string]any{
		"the object": obj, "an Event": events, "a ConfigMap": configMaps, "the stack": described, "the template": w.template(kind, name),
	} {
		data, err := json.Marshal(content)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, text := range texts {
			if strings.Contains(string(data), text) {
				w.t.Errorf("%s contains %s: %s", where, text, data)
			}
		}
	}
}

// TestValuesOfOtherNamespaces tests that a value of another namespace needs its owner's consent, and that
// no message reveals what exists there without it.
func TestValuesOfOtherNamespaces(t *testing.T) {
	w := prepareSuite(t, simulator.Options{}, render.Limits{})
	w.inAnotherShard()
	w.startOperator()
	w.apply(`
kind: SQSQueue
metadata: {name: jobs}
spec:
  valuesFrom: [{field: delaySeconds, configMapKeyRef: {name: shared, namespace: ` + w.other + `, key: delay}}]
`)
	message := func() string { return w.condition("SQSQueue", "jobs", "Ready", "False", "SourceNotFound").Message }
	absent := message()
	held := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.other, Name: "shared", Labels: map[string]string{"service-operator.aws/values": "allowed"}},
		Data:       map[string]string{"delay": "5"},
	}
	if err := w.client.Create(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	w.apply("{kind: SQSQueue, metadata: {name: barrier}}")
	w.ready("SQSQueue", "barrier")
	if got := message(); got != absent {
		t.Errorf("the message reveals that the ConfigMap exists: %q instead of %q", got, absent)
	}
	for _, c := range []struct{ annotation, reason string }{
		{"someone-else", "SourceNotFound"}, {"x, " + w.namespace, ""}, {w.namespace + "x", "SourceNotFound"}, {"*", ""},
	} {
		held.Annotations = map[string]string{"service-operator.aws/share-with": c.annotation}
		if err := w.client.Update(t.Context(), held); err != nil {
			t.Fatal(err)
		}
		status := "True"
		if c.reason != "" {
			status = "False"
		}
		w.condition("SQSQueue", "jobs", "Ready", status, c.reason)
	}
	w.delay("jobs", "5")

	// The same holds for an object, whether it is ready or not.
	w.apply(`
kind: SQSQueue
metadata: {name: keyed}
spec: {valuesFrom: [{field: kmsKeyID, valueFrom: {kind: SQSQueue, name: theirs, namespace: ` + w.other + `, output: queueName}}]}
`)
	message = func() string { return w.condition("SQSQueue", "keyed", "Ready", "False", "SourceNotFound").Message }
	absent = message()
	theirs := w.decode("{kind: SQSQueue, metadata: {name: theirs, annotations: {aws-operator/paused: 'true'}}}")[0]
	theirs.SetNamespace(w.other)
	if err := w.client.Create(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	w.apply("{kind: SQSQueue, metadata: {name: barrier2}}")
	w.ready("SQSQueue", "barrier2")
	if got := message(); got != absent {
		t.Errorf("the message reveals that the SQSQueue exists: %q instead of %q", got, absent)
	}
	consent := fmt.Appendf(nil, `{"metadata":{"annotations":{"aws-operator/paused":null,"service-operator.aws/share-with":%q}}}`, w.namespace)
	if err := w.client.Patch(t.Context(), theirs, client.RawPatch("application/merge-patch+json", consent)); err != nil {
		t.Fatal(err)
	}
	w.ready("SQSQueue", "keyed")
}

// TestReferenceCycle tests that objects that wait for each other say so, and go on when one of them
// no longer does.
func TestReferenceCycle(t *testing.T) {
	w := newSuite(t, nil)
	for _, pair := range [][2]string{{"a", "b"}, {"b", "c"}, {"c", "a"}} {
		w.apply(fmt.Sprintf(`
kind: SQSQueue
metadata: {name: %s}
spec: {valuesFrom: [{field: kmsKeyID, valueFrom: {kind: SQSQueue, name: %s, output: queueName}}]}
`, pair[0], pair[1]))
	}
	c := w.condition("SQSQueue", "c", "Stalled", "True", "ReferenceCycle")
	want := "The objects wait for each other: SQSQueue c needs SQSQueue a needs SQSQueue b needs SQSQueue c. Remove one of the references."
	if c.Message != want {
		t.Errorf("the message is %q, want %q", c.Message, want)
	}
	if stacks := w.stacks(); len(stacks) != 0 {
		t.Errorf("there are stacks: %v", stacks)
	}
	w.change("SQSQueue", "c", `{"spec":{"valuesFrom":null}}`)
	for _, name := range []string{"c", "b", "a"} {
		w.ready("SQSQueue", name)
	}
	w.apply("{kind: SQSQueue, metadata: {name: own}, spec: {valuesFrom: [{field: kmsKeyID, valueFrom: {kind: SQSQueue, name: own, output: queueName}}]}}")
	w.condition("SQSQueue", "own", "Stalled", "True", "ReferenceCycle")

	// Two queues that exist may have each other's dead letters; two that wait for each other never exist.
	for _, name := range []string{"left", "right"} {
		w.apply("{kind: SQSQueue, metadata: {name: " + name + "}}")
		w.ready("SQSQueue", name)
	}
	w.change("SQSQueue", "left", `{"spec":{"deadLetterQueueName":"right"}}`)
	w.change("SQSQueue", "right", `{"spec":{"deadLetterQueueName":"left"}}`)
	w.ready("SQSQueue", "left")
	w.ready("SQSQueue", "right")
	w.apply("{kind: SQSQueue, metadata: {name: first}, spec: {deadLetterQueueName: second}}\n---\n" +
		"{kind: SQSQueue, metadata: {name: second}, spec: {deadLetterQueueName: first}}")
	w.condition("SQSQueue", "first", "Stalled", "True", "ReferenceCycle")
	w.condition("SQSQueue", "second", "Stalled", "True", "ReferenceCycle")
}

// TestBadValues tests what a value can have wrong: the object says so before anything is made.
func TestBadValues(t *testing.T) {
	w := newSuite(t, nil)
	w.apply(`
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, ` + labeled + `}
data: {word: soon, large: "901", reference: "{{resolve:ssm:secret}}", other: someone, five: "5"}
---
apiVersion: v1
kind: Secret
metadata: {name: hidden, ` + labeled + `}
stringData: {large: "90210", reference: "{{resolve:ssm:secret}}", long: "` + strings.Repeat("x", 4097) + `", five: "5"}
`)
	for name, c := range map[string]struct{ entry, condition, reason, want string }{
		"word": {
			"{field: delaySeconds, configMapKeyRef: {name: settings, key: word}}", "Stalled", "InvalidValue",
			"A value of spec.valuesFrom cannot be used: spec.valuesFrom[0].configMapKeyRef: the key word of ConfigMap settings is no integer, which spec.delaySeconds must be; correct the value.",
		},
		"large": {
			"{field: delaySeconds, configMapKeyRef: {name: settings, key: large}}", "Stalled", "InvalidValue",
			"spec.delaySeconds: ",
		},
		"large-secret": {
			"{field: delaySeconds, secretKeyRef: {name: hidden, key: large}}", "Stalled", "InvalidValue",
			"spec.delaySeconds: the key large of Secret hidden is not allowed here; the allowed values are in kubectl explain.",
		},
		"no-key": {
			"{field: delaySeconds, configMapKeyRef: {name: settings, key: wrong}}", "Ready", "ValueNotFound",
			"spec.valuesFrom[0].configMapKeyRef: ConfigMap settings of namespace " + w.namespace + " has no key wrong; correct the name, or add it.",
		},
		"no-field": {
			"{field: delaySecond, configMapKeyRef: {name: settings, key: five}}", "Stalled", "InvalidValue",
			"spec.valuesFrom[0].field: there is no field delaySecond; did you mean delaySeconds?",
		},
		"shared-field": {
			"{field: updatePolicy, configMapKeyRef: {name: settings, key: five}}", "Stalled", "InvalidValue",
			"spec.valuesFrom[0].field: updatePolicy does not describe the resource; write its value into the spec.",
		},
		"grants": {
			"{field: 'grants[0].serviceAccount', configMapKeyRef: {name: settings, key: other}}", "Stalled", "InvalidValue",
			"spec.valuesFrom[0].field: grants does not describe the resource; write its value into the spec.",
		},
		"name": {
			"{field: deadLetterQueueName, configMapKeyRef: {name: settings, key: other}}", "Stalled", "InvalidValue",
			"spec.valuesFrom[0].field: deadLetterQueueName names another object or resource that this one uses; write the name into the spec.",
		},
		"reference": {
			"{field: kmsKeyID, configMapKeyRef: {name: settings, key: reference}}", "Stalled", "DynamicReferenceNotAllowed", "spec.kmsKeyID holds a dynamic reference",
		},
		"reference-in-secret": {
			"{field: kmsKeyID, secretKeyRef: {name: hidden, key: reference}}", "Stalled", "DynamicReferenceNotAllowed",
			"The key reference of Secret hidden holds a dynamic reference",
		},
		"long-secret": {
			"{field: kmsKeyID, secretKeyRef: {name: hidden, key: long}}", "Stalled", "InvalidValue",
			"the key long of Secret hidden has 4097 bytes, but a parameter of CloudFormation has at most 4096; store the value in Secrets Manager.",
		},
		"no-kind": {
			"{field: kmsKeyID, valueFrom: {kind: Nothing, name: a, output: b}}", "Ready", "KindNotServed", "spec.valuesFrom[0].valueFrom: the kind Nothing of a is not served; apply a ModelDefinition for it, or correct the kind.",
		},
	} {
		w.apply(fmt.Sprintf("{kind: SQSQueue, metadata: {name: %s}, spec: {valuesFrom: [%s]}}", name, c.entry))
		status := "True"
		if c.condition == "Ready" {
			status = "False"
		}
		if got := w.condition("SQSQueue", name, c.condition, status, c.reason).Message; !strings.Contains(got, c.want) || strings.Contains(got, "90210") {
			t.Errorf("%s: the message is\n%q, want\n%q", name, got, c.want)
		}
	}
	if stacks := w.stacks(); len(stacks) != 0 {
		t.Errorf("there are stacks: %v", stacks)
	}
	w.patch("ConfigMap", "settings", `{"data":{"word":"6"}}`)
	w.delay("word", "6")
}

// TestValuesFromIsValidated tests what the API server refuses, and that a required field may have its
// value from elsewhere.
func TestValuesFromIsValidated(t *testing.T) {
	w := newSuite(t, nil)
	for name, c := range map[string]struct{ kind, spec, want string }{
		"good":      {"SQSQueue", "{valuesFrom: [{field: 'a[0].b[\"c.d\"]', secretKeyRef: {name: a, key: b}}]}", ""},
		"two":       {"SQSQueue", "{valuesFrom: [{field: a, secretKeyRef: {name: a, key: b}, configMapKeyRef: {name: a, key: b}}]}", "give exactly one of valueFrom"},
		"none":      {"SQSQueue", "{valuesFrom: [{field: a}]}", "give exactly one of valueFrom"},
		"no-key":    {"SQSQueue", "{valuesFrom: [{field: a, secretKeyRef: {name: a}}]}", "secretKeyRef.key"},
		"twice":     {"SQSQueue", "{valuesFrom: [{field: a, secretKeyRef: {name: a, key: b}}, {field: a, secretKeyRef: {name: a, key: b}}]}", "uplicate"},
		"path":      {"SQSQueue", "{valuesFrom: [{field: 'a..b', secretKeyRef: {name: a, key: b}}]}", "spec.valuesFrom[0].field"},
		"namespace": {"SQSQueue", "{valuesFrom: [{field: a, secretKeyRef: {name: a, namespace: A, key: b}}]}", "secretKeyRef.namespace"},
		"required":  {"DynamoDB", "{}", "spec.hashAttribute: Required value"},
		"from":      {"DynamoDB", "{valuesFrom: [{field: hashAttribute, configMapKeyRef: {name: a, key: b}}]}", ""},
		"below":     {"DynamoDB", "{valuesFrom: [{field: hashAttribute.name, configMapKeyRef: {name: a, key: b}}]}", ""},
		"like":      {"DynamoDB", "{valuesFrom: [{field: hashAttributes, configMapKeyRef: {name: a, key: b}}]}", "spec.hashAttribute: Required value"},
	} {
		err := w.tryApply(fmt.Sprintf("{kind: %s, metadata: {name: %s}, spec: %s}", c.kind, name, c.spec))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v, want %q", name, err, c.want)
		}
	}
	w.apply(`
apiVersion: v1
kind: ConfigMap
metadata: {name: a, ` + labeled + `}
data: {b: "{name: id, type: S}"}
`)
	w.ready("DynamoDB", "from")
}

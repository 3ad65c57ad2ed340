package controller_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// secret reads a Secret of the test's namespace.
func (w *suite) secret(name string) (map[string]string, error) {
	s := &corev1.Secret{}
	err := w.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, s)
	data := map[string]string{}
	for key, value := range s.Data {
		data[key] = string(value)
	}
	return data, err
}

// holds waits until a ConfigMap or a Secret has exactly these values.
func (w *suite) holds(read func(string) (map[string]string, error), name string, want map[string]string) {
	w.t.Helper()
	w.eventually(name+" has the values", func() error {
		got, err := read(name)
		if err == nil && !cmp.Equal(want, got) {
			err = fmt.Errorf("it differs (-want +got):\n%s", cmp.Diff(want, got))
		}
		return err
	})
}

// absent waits until a ConfigMap or a Secret does not exist.
func (w *suite) absent(read func(string) (map[string]string, error), name string) {
	w.t.Helper()
	w.eventually(name+" is deleted", func() error {
		if data, err := read(name); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it has %v: %w", data, errStill)
		}
		return nil
	})
}

// TestWriteTo writes the outputs of a queue under names and keys of the user's choice, changes and
// removes them, and neither updates nor reads the stack for it.
func TestWriteTo(t *testing.T) {
	w := newCountedSuite(t)
	w.apply(`
kind: SQSQueue
metadata: {name: jobs}
spec:
  delaySeconds: 1
  writeTo:
    - kind: ConfigMap
      name: queue-settings
      data:
        QUEUE_URL: "{{ .output.queueURL }}"
        app.properties: "queue={{ .output.queueName | upper }}\nof={{ .metadata.namespace }}/{{ .metadata.name }}\n"
    - {kind: Secret, name: queue-settings}
`)
	obj := w.ready("SQSQueue", "jobs")
	url := fmt.Sprint(nested(obj, "status", "output", "queueURL"))
	w.holds(w.configMap, "queue-settings", map[string]string{
		"QUEUE_URL": url, "app.properties": "queue=JOBS\nof=" + w.namespace + "/jobs\n",
	})
	w.holds(w.secret, "queue-settings", map[string]string{
		"queueURL": url, "queueName": "jobs", "queueARN": "arn:aws:sqs:eu-west-1:123456789012:jobs",
	})
	if got, want := fmt.Sprint(nested(obj, "status", "additionalResources")), "map[configMaps:[jobs queue-settings] secrets:[queue-settings]]"; got != want {
		t.Errorf("additionalResources are %s, want %s", got, want)
	}
	made := &corev1.ConfigMap{}
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "queue-settings"}, made); err != nil {
		t.Fatal(err)
	}
	if owner := metav1.GetControllerOf(made); owner == nil || owner.UID != obj.GetUID() {
		t.Errorf("the owner is %+v", owner)
	}

	calls := w.count()
	w.change("SQSQueue", "jobs", `{"spec":{"writeTo":[{"kind":"ConfigMap","name":"queue-settings","data":{"URL":"<{{ .output.queueURL }}>"}}]}}`)
	w.holds(w.configMap, "queue-settings", map[string]string{"URL": "<" + url + ">"})
	w.absent(w.secret, "queue-settings")
	w.change("SQSQueue", "jobs", `{"spec":{"writeTo":null}}`)
	w.absent(w.configMap, "queue-settings")
	obj = w.ready("SQSQueue", "jobs")
	if got := fmt.Sprint(nested(obj, "status", "additionalResources")); got != "map[configMaps:[jobs]]" {
		t.Errorf("additionalResources are %s", got)
	}
	if got := calls(); len(got) != 0 {
		t.Errorf("the changes of writeTo cost %v", got)
	}

	w.change("SQSQueue", "jobs", `{"spec":{"writeTo":[{"kind":"Secret","name":"queue-settings"}]}}`)
	w.ready("SQSQueue", "jobs")
	w.delete("SQSQueue", "jobs")
	if data, err := w.secret("queue-settings"); !apierrors.IsNotFound(err) {
		t.Errorf("the Secret is left: %v, %v", data, err)
	}
}

// TestWriteToOfADerivedKind tests that kinds of ModelDefinitions have the field, and that a new
// version of a definition may take an output away.
func TestWriteToOfADerivedKind(t *testing.T) {
	w := newSuite(t, nil)
	w.apply("{kind: ModelDefinition, metadata: {name: brooks}, spec: {kind: Brook, resourceType: 'AWS::Kinesis::Stream'}}")
	w.condition("ModelDefinition", "brooks", "Ready", "True", "Served")
	w.apply(`
kind: Brook
metadata: {name: clicks}
spec:
  shardCount: 1
  writeTo: [{kind: Secret, name: brook, data: {ARN: "{{ .output.arn }}"}}]
`)
	obj := w.ready("Brook", "clicks")
	w.holds(w.secret, "brook", map[string]string{"ARN": fmt.Sprint(nested(obj, "status", "output", "arn"))})
	if template := w.template("Brook", "clicks"); strings.Contains(strings.ToLower(template), "writeto") {
		t.Errorf("the template is %s", template)
	}
	w.apply("{kind: ModelDefinition, metadata: {name: brooks}, spec: {kind: Brook, resourceType: 'AWS::Kinesis::Stream', outputs: [{name: name}]}}")
	c := w.condition("Brook", "clicks", "Stalled", "True", "InvalidWriteTo")
	if !strings.Contains(c.Message, "spec.writeTo[0].data.ARN: line 1, column 11: there is no .output.arn") {
		t.Errorf("the message is %q", c.Message)
	}
	w.change("Brook", "clicks", `{"spec":{"writeTo":null}}`)
	w.ready("Brook", "clicks")
	w.delete("Brook", "clicks")
	w.delete("ModelDefinition", "brooks")
}

// TestWriteToLeavesObjectsOfOthersAlone tests that a name in use is reported, that the other entries
// are written, and that the object continues when the name is free.
func TestWriteToLeavesObjectsOfOthersAlone(t *testing.T) {
	w := newSuite(t, nil)
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "settings"}, Data: map[string]string{"a": "b"}}
	if err := w.client.Create(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	w.apply("{kind: SQSQueue, metadata: {name: jobs}, spec: {writeTo: [{kind: ConfigMap, name: settings}, {kind: Secret, name: settings}]}}")
	c := w.condition("SQSQueue", "jobs", "Stalled", "True", "NameTaken")
	want := "spec.writeTo[0].name: ConfigMap settings already exists and does not belong to this object; delete it, or choose another name."
	if c.Message != want {
		t.Errorf("the message is %q, want %q", c.Message, want)
	}
	w.condition("SQSQueue", "jobs", "Ready", "False", "NameTaken")
	w.holds(w.configMap, "settings", map[string]string{"a": "b"})
	if _, err := w.secret("settings"); err != nil {
		t.Errorf("the entry after the conflict is not written: %v", err)
	}
	if err := w.client.Delete(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	obj := w.ready("SQSQueue", "jobs")
	mine := map[string]string{}
	for _, name := range []string{"queueURL", "queueARN", "queueName"} {
		mine[name] = fmt.Sprint(nested(obj, "status", "output", name))
	}
	w.holds(w.configMap, "settings", mine)

	// A second object does not take the name from the first.
	w.apply("{kind: SQSQueue, metadata: {name: later}, spec: {writeTo: [{kind: ConfigMap, name: settings}]}}")
	w.condition("SQSQueue", "later", "Ready", "False", "NameTaken")
	w.holds(w.configMap, "settings", mine)
	w.delete("SQSQueue", "later")
	w.holds(w.configMap, "settings", mine)

	// The kind itself has taken the object's name.
	w.change("SQSQueue", "jobs", `{"spec":{"writeTo":[{"kind":"ConfigMap","name":"jobs"}]}}`)
	c = w.condition("SQSQueue", "jobs", "Stalled", "True", "NameTaken")
	if want := "spec.writeTo[0].name: the kind itself makes ConfigMap jobs for this object; choose another name."; c.Message != want {
		t.Errorf("the message is %q, want %q", c.Message, want)
	}
	w.absent(w.configMap, "settings")
}

// TestWhatAFailedWriteMadeIsDeleted tests that an entry is deleted although writing a later one failed.
func TestWhatAFailedWriteMadeIsDeleted(t *testing.T) {
	w := newSuite(t, nil)
	w.apply("{kind: SQSQueue, metadata: {name: jobs}, spec: {writeTo: [{kind: Secret, name: fixed, data: {a: '1'}}]}}")
	w.ready("SQSQueue", "jobs")
	fixed := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "fixed"}}
	immutable := client.RawPatch(types.MergePatchType, []byte(`{"immutable":true}`))
	if err := w.client.Patch(t.Context(), fixed, immutable); err != nil {
		t.Fatal(err)
	}
	w.change("SQSQueue", "jobs", `{"spec":{"writeTo":[{"kind":"Secret","name":"fixed","data":{"a":"2"}},{"kind":"ConfigMap","name":"settings"}]}}`)
	if c := w.condition("SQSQueue", "jobs", "Synced", "False", ""); !strings.Contains(c.Message, "update Secret fixed") {
		t.Errorf("the message is %q", c.Message)
	}
	if _, err := w.configMap("settings"); err != nil {
		t.Error(err)
	}
	w.change("SQSQueue", "jobs", `{"spec":{"writeTo":null}}`)
	w.absent(w.configMap, "settings")
	w.absent(w.secret, "fixed")
	w.ready("SQSQueue", "jobs")
}

// TestObjectsExchangeNames tests that two objects can exchange the names that they write to.
func TestObjectsExchangeNames(t *testing.T) {
	w := newSuite(t, nil)
	const queue = "{kind: SQSQueue, metadata: {name: %s}, spec: {writeTo: [{kind: ConfigMap, name: %s, data: {name: '{{ .output.queueName }}'}}]}}\n---\n"
	w.apply(fmt.Sprintf(queue+queue, "a", "first", "b", "second"))
	w.ready("SQSQueue", "a")
	w.ready("SQSQueue", "b")
	w.apply(fmt.Sprintf(queue+queue, "a", "second", "b", "first"))
	w.holds(w.configMap, "second", map[string]string{"name": "a"})
	w.holds(w.configMap, "first", map[string]string{"name": "b"})
	w.ready("SQSQueue", "a")
	w.ready("SQSQueue", "b")
}

// TestWriteToWaitsForMissingOutput tests that an object waits for an output that it does not have.
func TestWriteToWaitsForMissingOutput(t *testing.T) {
	w := newSuite(t, nil)
	w.apply("{kind: SQSQueue, metadata: {name: jobs}, spec: {writeTo: [{kind: ConfigMap, name: settings, data: {DLQ: '{{ .output.deadLetterQueueURL }}'}}]}}")
	c := w.condition("SQSQueue", "jobs", "Ready", "False", "ValueMissing")
	want := "ConfigMap settings needs {{ .output.deadLetterQueueURL }} for its key DLQ, which has no value. Set what the output needs in the spec, " +
		`or write {{ default "" .output.deadLetterQueueURL }} in spec.writeTo[0].data if the value is optional.`
	if c.Message != want {
		t.Errorf("the message is\n%q, want\n%q", c.Message, want)
	}
	if data, err := w.configMap("settings"); err == nil {
		t.Errorf("there is a ConfigMap with %v", data)
	}
	w.change("SQSQueue", "jobs", `{"spec":{"usedeadletterQueue":true}}`)
	obj := w.ready("SQSQueue", "jobs")
	w.holds(w.configMap, "settings", map[string]string{"DLQ": fmt.Sprint(nested(obj, "status", "output", "deadLetterQueueURL"))})
}

// TestBadTextInWriteTo tests that a mistake is reported before the stack is created.
func TestBadTextInWriteTo(t *testing.T) {
	w := newSuite(t, nil)
	w.apply("{kind: SQSQueue, metadata: {name: jobs}, spec: {writeTo: [{kind: ConfigMap, name: settings, data: {URL: 'at {{ .output.queueUrl }}'}}]}}")
	c := w.condition("SQSQueue", "jobs", "Stalled", "True", "InvalidWriteTo")
	want := "The outputs cannot be written: spec.writeTo[0].data.URL: line 1, column 14: there is no .output.queueUrl; did you mean .output.queueURL?"
	if c.Message != want {
		t.Errorf("the message is %q, want %q", c.Message, want)
	}
	if stacks := w.stacks(); len(stacks) != 0 {
		t.Errorf("there are stacks: %v", stacks)
	}
	w.change("SQSQueue", "jobs", `{"spec":{"writeTo":[{"kind":"ConfigMap","name":"settings","data":{"URL":"{{ .output.queueURL }}"}}]}}`)
	w.ready("SQSQueue", "jobs")
}

// TestWriteToIsValidated tests what the API server refuses.
func TestWriteToIsValidated(t *testing.T) {
	w := newSuite(t, nil)
	entries := strings.Repeat("{kind: Secret, name: s%d}, ", 9)
	keys := strings.Repeat("k%d: v, ", 65)
	for _, c := range []struct{ why, writeTo, want string }{
		{"all that is allowed", "[{kind: ConfigMap, name: a.b-c, data: {-._aZ9: v}}, {kind: Secret, name: a.b-c}]", ""},
		{"another kind", "[{kind: Service, name: a}]", "spec.writeTo[0].kind"},
		{"no name", "[{kind: Secret}]", "spec.writeTo[0].name"},
		{"a name of another namespace", "[{kind: Secret, name: other/a}]", "spec.writeTo[0].name"},
		{"the same twice", "[{kind: Secret, name: a}, {kind: Secret, name: a}]", "uplicate"},
		{"a key with a slash", "[{kind: Secret, name: a, data: {a/b: c}}]", "a key consists of at most 253 letters"},
		{"a key that leaves the folder", "[{kind: Secret, name: a, data: {..: c}}]", "a key consists of at most 253 letters"},
		{"a long key", "[{kind: Secret, name: a, data: {" + strings.Repeat("k", 254) + ": c}}]", "a key consists of at most 253 letters"},
		{"no keys", "[{kind: Secret, name: a, data: {}}]", "should have at least 1 properties"},
		{"many keys", "[{kind: Secret, name: a, data: {" + numbered(keys, 65) + "}}]", "must have at most 64 items"},
		{"many entries", "[" + numbered(entries, 9) + "]", "must have at most 8 items"},
		{"a long text", "[{kind: Secret, name: a, data: {a: " + strings.Repeat("v", 8193) + "}}]", "Too long"},
	} {
		err := w.tryApply("{kind: SQSQueue, metadata: {name: " + strings.ReplaceAll(c.why, " ", "-") + "}, spec: {writeTo: " + c.writeTo + "}}")
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v, want %q", c.why, err, c.want)
		}
	}
}

// numbered formats a text with the numbers from 1 on.
func numbered(format string, n int) string {
	numbers := make([]any, n)
	for i := range numbers {
		numbers[i] = i + 1
	}
	return fmt.Sprintf(format, numbers...)
}

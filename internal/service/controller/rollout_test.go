package controller_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/internal/simulator/fault"
)

// letters is a ModelDefinition whose objects are queues with a delay; rollout is its spec.rollout.
func letters(name, kind, delay, rollout string) string {
	return fmt.Sprintf(`
kind: ModelDefinition
metadata: {name: %s}
spec:
  kind: %s
  rollout: %s
  schema: {type: object, properties: {days: {type: integer}}}
  template: |
    Resources:
      Queue: {Type: AWS::SQS::Queue, Properties: {QueueName: {{ .name }}, DelaySeconds: %s}}
    Outputs:
      Address: {Value: {Ref: Queue}}
`, name, kind, rollout, delay)
}

// objectsOf applies objects without a spec, and waits until they are ready.
func (w *suite) objectsOf(kind string, names ...string) {
	w.t.Helper()
	for _, name := range names {
		w.apply(fmt.Sprintf("{kind: %s, metadata: {name: %s}, spec: {}}", kind, name))
	}
	for _, name := range names {
		w.ready(kind, name)
	}
}

// rolledOut waits until the condition RolledOut of a definition has a reason, and returns the message.
func (w *suite) rolledOut(definition, status, reason string) string {
	w.t.Helper()
	return w.condition("ModelDefinition", definition, "RolledOut", status, reason).Message
}

// has tests that the template of each object's stack has a text.
func (w *suite) has(kind, text string, names ...string) {
	w.t.Helper()
	for _, name := range names {
		if template := w.template(kind, name); !strings.Contains(template, text) {
			w.t.Errorf("the template of %s is %s, want %s in it", name, template, text)
		}
	}
}

// revisionOf returns the current revision of a definition.
func (w *suite) revisionOf(definition string) string {
	w.t.Helper()
	obj, err := w.get("ModelDefinition", definition)
	if err != nil {
		w.t.Fatal(err)
	}
	return fmt.Sprint(nested(obj, "status", "revision"))
}

// revisions returns the names of the ModelRevisions of a definition.
func (w *suite) revisions(definition string) []string {
	w.t.Helper()
	var all unstructured.UnstructuredList
	all.SetAPIVersion("service-operator.aws/v1alpha1")
	all.SetKind("ModelRevisionList")
	if err := w.client.List(w.t.Context(), &all); err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for i := range all.Items {
		if nested(&all.Items[i], "spec", "modelDefinition") == definition {
			names = append(names, all.Items[i].GetName())
		}
	}
	return names
}

// cleanUp deletes objects and their definition, and tests that no revision is left.
func (w *suite) cleanUp(definition, kind string, names ...string) {
	w.t.Helper()
	for _, name := range names {
		w.delete(kind, name)
	}
	w.delete("ModelDefinition", definition)
	if left := w.revisions(definition); len(left) > 0 {
		w.t.Errorf("there are still the revisions %v", left)
	}
}

// TestRolloutStopsAtTheFirstFailureAndGoesBack tests that a changed definition reaches the objects one after
// another, stops when an update fails, and that the previous definition brings all of them back.
func TestRolloutStopsAtTheFirstFailureAndGoesBack(t *testing.T) {
	w := newCountedSuite(t)
	w.apply(letters("letters", "Letter", "1", "{maxConcurrent: 1}"))
	w.condition("ModelDefinition", "letters", "Ready", "True", "Served")
	w.objectsOf("Letter", "a", "b", "c", "d")
	first := w.revisionOf("letters")

	// Paused: nothing of what exists changes, and a new object uses the new revision.
	w.apply(letters("letters", "Letter", "2", "{maxConcurrent: 1, paused: true}"))
	if message := w.rolledOut("letters", "False", "RolloutPaused"); !strings.Contains(message, "4 of 4 objects are not ready with revision") {
		t.Errorf("the message is %q", message)
	}
	// A shard may learn of the revision after the one that says so.
	w.eventually("new objects use the second revision", func() error {
		w.objectsOf("Letter", "probe")
		defer w.delete("Letter", "probe")
		if template := w.template("Letter", "probe"); !strings.Contains(template, `"DelaySeconds":2`) {
			return fmt.Errorf("the template is %s", template)
		}
		return nil
	})
	w.objectsOf("Letter", "e")
	w.has("Letter", `"DelaySeconds":1`, "a", "b", "c", "d")
	w.has("Letter", `"DelaySeconds":2`, "e")
	second := w.revisionOf("letters")
	if got := w.revisions("letters"); len(got) != 2 || !slices.Contains(got, first) || !slices.Contains(got, second) {
		t.Errorf("the revisions are %v, want %s and %s", got, first, second)
	}

	remove := w.sim.Faults().Add(fault.Rule{
		ResourceType: "AWS::SQS::Queue", Operation: "Update", Skip: 1, Times: 1, // b is the second
		Code: "InvalidParameterValue", Message: "the delay of b is wrong",
	})
	w.apply(letters("letters", "Letter", "2", "{maxConcurrent: 1}"))
	message := w.rolledOut("letters", "False", "RolloutStopped")
	for _, want := range []string{
		"The update of " + w.namespace + "/b failed", "the delay of b is wrong", "3 of 5 objects are not ready", "apply its previous version",
	} {
		if !strings.Contains(message, want) {
			t.Errorf("the message is %q, want %q in it", message, want)
		}
	}
	w.has("Letter", `"DelaySeconds":2`, "a", "e")
	w.has("Letter", `"DelaySeconds":1`, "c", "d")
	remove()

	calls := w.count()
	w.apply(letters("letters", "Letter", "1", "{maxConcurrent: 1}"))
	w.rolledOut("letters", "True", "RolledOut")
	if got := w.revisionOf("letters"); got != first {
		t.Errorf("the revision is %s, want %s again", got, first)
	}
	w.has("Letter", `"DelaySeconds":1`, "a", "b", "c", "d", "e")
	if made := calls()["UpdateStack"]; made != 2 {
		t.Errorf("%d stacks were updated to go back, want 2: a and e", made)
	}
	w.eventually("the second revision is deleted", func() error {
		if got := w.revisions("letters"); !slices.Equal(got, []string{first}) {
			return fmt.Errorf("the revisions are %v", got)
		}
		return nil
	})
	w.cleanUp("letters", "Letter", "a", "b", "c", "d", "e")
}

// TestRolloutUpdatesFewObjectsAtTheSameTime tests that never more stacks are updated than the definition
// allows.
func TestRolloutUpdatesFewObjectsAtTheSameTime(t *testing.T) {
	w := newSuite(t, func(_, operation string) time.Duration {
		if operation == "Update" {
			return 500 * time.Millisecond
		}
		return 0
	})
	w.apply(letters("parcels", "Parcel", "1", "{maxConcurrent: 30%}"))
	w.condition("ModelDefinition", "parcels", "Ready", "True", "Served")
	names := []string{"a", "b", "c", "d", "e", "f"}
	w.objectsOf("Parcel", names...)
	w.apply(letters("parcels", "Parcel", "2", "{maxConcurrent: 30%}"))
	most := 0
	w.eventually("all objects are updated", func() error {
		running, updated := 0, 0
		for _, status := range w.stacks() {
			switch {
			case status == "UPDATE_IN_PROGRESS":
				running++
			case strings.HasPrefix(status, "UPDATE_COMPLETE"):
				updated++
			}
		}
		if most = max(most, running); updated < len(names) {
			return fmt.Errorf("%d stacks are updated", updated)
		}
		return nil
	})
	w.rolledOut("parcels", "True", "RolledOut")
	w.has("Parcel", `"DelaySeconds":2`, names...)
	if most < 1 || most > 2 {
		t.Errorf("%d stacks were updated at the same time, want 1 or 2 (30%% of 6)", most)
	}
	w.cleanUp("parcels", "Parcel", names...)
}

// TestPinnedObjectKeepsItsRevision tests that the annotation keeps an object at a revision with its fields, and
// that the object follows when the annotation is removed.
func TestPinnedObjectKeepsItsRevision(t *testing.T) {
	w := newSuite(t, nil)
	w.apply(letters("cards", "Card", "{{ default 3 .spec.days }}", "{}"))
	w.condition("ModelDefinition", "cards", "Ready", "True", "Served")
	w.apply("{kind: Card, metadata: {name: a}, spec: {days: 7}}\n---\n{kind: Card, metadata: {name: b}, spec: {days: 8}}")
	w.ready("Card", "a")
	w.ready("Card", "b")
	first := w.revisionOf("cards")
	w.change("Card", "a", `{"metadata":{"annotations":{"service-operator.aws/model-revision":"`+first+`"}}}`)

	// The new definition has no field days.
	w.apply(strings.Replace(letters("cards", "Card", "9", "{}"), "days: {type: integer}", "hours: {type: integer}", 1))
	message := w.rolledOut("cards", "True", "RolledOut")
	if !strings.Contains(message, "1 object is pinned to a revision by the annotation service-operator.aws/model-revision") {
		t.Errorf("the message is %q", message)
	}
	w.has("Card", `"DelaySeconds":9`, "b")
	w.change("Card", "a", `{"metadata":{"labels":{"edited":"yes"}}}`)
	pinned := w.ready("Card", "a")
	if days := fmt.Sprint(nested(pinned, "spec", "days")); days != "7" {
		t.Errorf("spec.days of the pinned object is %s, want 7", days)
	}
	w.has("Card", `"DelaySeconds":7`, "a")

	w.change("Card", "a", `{"metadata":{"annotations":{"service-operator.aws/model-revision":"cards-0"}}}`)
	c := w.condition("Card", "a", "Stalled", "True", "UnknownModelRevision")
	if want := "set it to " + w.revisionOf("cards"); !strings.Contains(c.Message, want) {
		t.Errorf("the message is %q, want %q in it", c.Message, want)
	}
	w.change("Card", "a", `{"metadata":{"annotations":{"service-operator.aws/model-revision":null}}}`)
	w.eventually("the object follows", func() error {
		obj := w.ready("Card", "a")
		if got := nested(obj, "status", "modelRevision"); got != w.revisionOf("cards") {
			return fmt.Errorf("the revision of the object is %v", got)
		}
		return nil
	})
	w.has("Card", `"DelaySeconds":9`, "a")
	w.eventually("the field of the first revision is removed", func() error {
		crd := &unstructured.Unstructured{}
		crd.SetAPIVersion("apiextensions.k8s.io/v1")
		crd.SetKind("CustomResourceDefinition")
		if err := w.client.Get(t.Context(), client.ObjectKey{Name: "cards.service-operator.aws"}, crd); err != nil {
			return err
		}
		if text := show(crd.Object["spec"]); strings.Contains(text, "days:") || !strings.Contains(text, "hours:") {
			return fmt.Errorf("the schema is %s", text)
		}
		return nil
	})
	w.cleanUp("cards", "Card", "a", "b")
}

// TestRestartedOperatorGoesOnWithARollout tests that an operator that starts in the middle of a rollout neither
// updates objects that wait nor uses a revision that another client has changed.
func TestRestartedOperatorGoesOnWithARollout(t *testing.T) {
	w := newCountedSuite(t)
	w.apply(letters("notes", "Note", "1", "{}"))
	w.condition("ModelDefinition", "notes", "Ready", "True", "Served")
	w.objectsOf("Note", "a", "b")
	first := w.revisionOf("notes")
	w.apply(letters("notes", "Note", "2", "{paused: true}"))
	w.rolledOut("notes", "False", "RolloutPaused")
	w.stop()

	w.startOperator()
	calls := w.count()
	w.change("Note", "a", `{"spec":{"days":2}}`)
	w.ready("Note", "a")
	w.has("Note", `"DelaySeconds":1`, "a", "b")
	if made := calls()["UpdateStack"]; made != 0 {
		t.Errorf("%d stacks were updated while the rollout is paused", made)
	}
	w.stop()

	revision, err := w.get("ModelRevision", first)
	if err != nil {
		t.Fatal(err)
	}
	template, _, _ := unstructured.NestedString(revision.Object, "spec", "definition", "template")
	template = strings.ReplaceAll(template, "AWS::SQS::Queue", "AWS::SNS::Topic")
	if err := unstructured.SetNestedField(revision.Object, template, "spec", "definition", "template"); err != nil {
		t.Fatal(err)
	}
	if err := w.client.Update(t.Context(), revision); err != nil {
		t.Fatal(err)
	}
	w.startOperator()
	w.change("Note", "a", `{"spec":{"days":3}}`)
	c := w.condition("Note", "a", "Ready", "False", "ModelRevisionMissing")
	if !strings.Contains(c.Message, "its content was changed") {
		t.Errorf("the message is %q", c.Message)
	}
	w.has("Note", `"DelaySeconds":1`, "a", "b")

	w.apply(letters("notes", "Note", "2", "{}"))
	w.rolledOut("notes", "True", "RolledOut")
	w.ready("Note", "a")
	w.has("Note", `"DelaySeconds":2`, "a", "b")
	w.cleanUp("notes", "Note", "a", "b")
}

// TestFailedCallDoesNotStopARollout tests that a call that fails and succeeds when it is repeated is no failed
// update, and that a paused object is left out.
func TestFailedCallDoesNotStopARollout(t *testing.T) {
	w := newSuite(t, nil)
	w.apply(letters("bills", "Bill", "1", "{maxConcurrent: 1}"))
	w.condition("ModelDefinition", "bills", "Ready", "True", "Served")
	w.objectsOf("Bill", "a", "b", "c")
	w.change("Bill", "a", `{"metadata":{"annotations":{"aws-operator/paused":"true"}}}`)
	w.condition("Bill", "a", "Synced", "Unknown", "Paused")
	w.sim.Faults().Add(fault.Rule{
		Service: "cloudformation", Operation: "UpdateStack", Code: "InternalFailure", Message: "try again", Times: 3,
	})
	w.apply(letters("bills", "Bill", "2", "{maxConcurrent: 1}"))
	w.eventually("only the paused object is outdated", func() error {
		message := w.rolledOut("bills", "False", "RollingOut")
		if !strings.Contains(message, "1 of 3 objects is not ready") || !strings.Contains(message, "1 object is paused") {
			return fmt.Errorf("the message is %q", message)
		}
		return nil
	})
	w.has("Bill", `"DelaySeconds":2`, "b", "c")
	w.has("Bill", `"DelaySeconds":1`, "a")
	w.change("Bill", "a", `{"metadata":{"annotations":{"aws-operator/paused":null}}}`)
	w.rolledOut("bills", "True", "RolledOut")
	w.has("Bill", `"DelaySeconds":2`, "a")
	w.cleanUp("bills", "Bill", "a", "b", "c")
}

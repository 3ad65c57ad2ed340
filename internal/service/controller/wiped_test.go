package controller_test

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// An object that stalls because of a forged status continues when the status is removed, as its message
// says, also if it is being deleted.
func TestObjectWhoseForgedStatusIsRemovedContinues(t *testing.T) {
	w := newSuite(t, nil)
	w.apply("{kind: SQSQueue, metadata: {name: mine}, spec: {delaySeconds: 1}}")
	w.ready("SQSQueue", "mine")
	status := func(patch string) {
		t.Helper()
		obj, err := w.get("SQSQueue", "mine")
		if err != nil {
			t.Fatal(err)
		}
		if err := w.client.Status().Patch(t.Context(), obj, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
			t.Fatal(err)
		}
	}
	status(`{"status":{"stackID":"arn:aws:kms:eu-central-2:123456789012:key/1"}}`)
	w.change("SQSQueue", "mine", `{"spec":{"delaySeconds":2}}`)
	w.condition("SQSQueue", "mine", "Stalled", "True", "StackNotOwned")
	status(`{"status":{"stackID":null}}`)
	w.ready("SQSQueue", "mine")

	status(`{"status":{"stackID":"arn:aws:kms:eu-central-2:123456789012:key/1"}}`)
	obj, err := w.get("SQSQueue", "mine")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.client.Delete(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
	w.condition("SQSQueue", "mine", "Stalled", "True", "StackNotOwned")
	status(`{"status":null}`)
	w.gone("SQSQueue", "mine")
}

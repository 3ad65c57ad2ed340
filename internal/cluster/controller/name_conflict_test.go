package controller_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The newer of two groups with the same stack name is rejected, and created when the older is
// deleted.
func TestGroupsWithTheSameStackName(t *testing.T) {
	w := newSuite(t, nil, nil)
	w.start()
	cluster := w.aCluster("demo")
	cluster.Spec.ControlPlane.Replicas = 1
	older, newer, other := w.aGroup("demo-workers", "demo"), w.aGroup("workers", "demo"), w.aGroup("other", "demo")
	w.create(cluster, older)
	w.complete(account, region, "demo", "demo-control-plane-0", "demo-workers")
	w.create(newer, other)
	stalled := w.condition(newer, "Stalled", metav1.ConditionTrue, "StackNameTaken")
	if !strings.Contains(stalled.Message, "demo-workers, like that of instance group demo-workers") {
		t.Errorf("the group reports %q", stalled.Message)
	}
	w.complete(account, region, "demo", "demo-control-plane-0", "demo-workers", "demo-other")
	if err := w.client.Delete(t.Context(), older); err != nil {
		t.Fatal(err)
	}
	w.waitDeleted(older)
	w.eventually("the newer group has the stack", func() error {
		if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(newer), newer); err != nil {
			return err
		}
		if newer.Status.AutoScalingGroup == "" {
			return errStill
		}
		return nil
	})

	// Deleting a rejected group does not delete the other's stack.
	again := w.aGroup("demo-workers", "demo")
	w.create(again)
	w.condition(again, "Stalled", metav1.ConditionTrue, "StackNameTaken")
	if err := w.client.Delete(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	w.waitDeleted(again)
	w.complete(account, region, "demo", "demo-control-plane-0", "demo-workers", "demo-other")
}

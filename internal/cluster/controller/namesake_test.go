package controller_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestGroupsOfOneStackName refuses the newer of two groups whose stacks would have one name, and makes it when
// the older is gone.
func TestGroupsOfOneStackName(t *testing.T) {
	w := newSuite(t, nil, nil)
	w.start()
	cluster := w.aCluster("demo")
	cluster.Spec.ControlPlane.Replicas = 1
	older, newer, other := w.aGroup("demo-workers", "demo"), w.aGroup("workers", "demo"), w.aGroup("gone", "demo")
	w.create(cluster, older)
	w.complete(account, region, "demo", "demo-control-plane-0", "demo-workers")
	w.create(newer, other)
	stalled := w.condition(newer, "Stalled", metav1.ConditionTrue, "StackNameTaken")
	if !strings.Contains(stalled.Message, "demo-workers, as that of instance group demo-workers is") {
		t.Errorf("the group says %q", stalled.Message)
	}
	w.complete(account, region, "demo", "demo-control-plane-0", "demo-workers", "demo-gone")
	if err := w.client.Delete(t.Context(), older); err != nil {
		t.Fatal(err)
	}
	w.gone(older)
	w.eventually("the newer group has the stack", func() error {
		if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(newer), newer); err != nil {
			return err
		}
		if newer.Status.AutoScalingGroup == "" {
			return errStill
		}
		return nil
	})

	// A refused group is deleted without the other's stack.
	again := w.aGroup("demo-workers", "demo")
	w.create(again)
	w.condition(again, "Stalled", metav1.ConditionTrue, "StackNameTaken")
	if err := w.client.Delete(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	w.gone(again)
	w.complete(account, region, "demo", "demo-control-plane-0", "demo-workers", "demo-gone")
}

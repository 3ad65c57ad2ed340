package controller_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/internal/simulator/fault"
)

// The nodes of a cluster are maintained after a change of its network failed permanently.
func TestUpkeepOfAStalledCluster(t *testing.T) {
	w := newSuite(t, simulatedHost(), nil)
	w.start()
	cluster, group := w.aCluster("demo"), w.aGroup("demo-workers", "demo")
	cluster.Spec.ControlPlane.Replicas = 1
	w.create(cluster, group)
	w.condition(cluster, "Ready", metav1.ConditionTrue, "")
	w.condition(group, "Ready", metav1.ConditionTrue, "")
	w.refuseGateways()
	w.patch(cluster, `{"spec":{"network":{"nat":"PerZone"}}}`)
	w.condition(cluster, "Stalled", metav1.ConditionTrue, "UpdateFailed")
	w.replaced(cluster, w.inside("demo"))
	if err := w.client.Delete(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	w.waitDeleted(cluster)
	w.nothingIsLeft(account, region)
}

// A cluster whose base stack could not be created recovers after an edit of the object, or is
// deleted as it is.
func TestFailedBaseStackRecoversAfterAnEdit(t *testing.T) {
	w := newSuite(t, nil, nil)
	lift := w.refuseGateways()
	w.start()
	cluster := w.aCluster("demo")
	cluster.Spec.ControlPlane.Replicas = 1
	w.create(cluster)
	w.condition(cluster, "Stalled", metav1.ConditionTrue, "CreateFailed")
	lift()
	w.patch(cluster, `{"spec":{"tags":{"team":"blue"}}}`)
	w.condition(cluster, "ControlPlaneReady", metav1.ConditionTrue, "")

	w.refuseGateways()
	lost := w.aCluster("lost")
	w.create(lost)
	w.condition(lost, "Stalled", metav1.ConditionTrue, "CreateFailed")
	if err := w.client.Delete(t.Context(), lost); err != nil {
		t.Fatal(err)
	}
	w.waitDeleted(lost)
	w.complete(account, region, "demo", "demo-control-plane-0")
}

// refuseGateways makes every NAT gateway fail permanently.
func (w *suite) refuseGateways() (lift func()) {
	return w.sim.Faults().Add(fault.Rule{
		ResourceType: "AWS::EC2::NatGateway", Operation: "Create", Code: "InvalidRequest", Message: "The gateway cannot be created.",
	})
}

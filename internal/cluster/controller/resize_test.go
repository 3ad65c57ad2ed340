package controller_test

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
)

// resize changes the number of slots and waits until the cluster has them, and no more. Fewest is the number
// of slots that must serve all the time.
func (w *watched) resize(from, replicas int32, fewest int) {
	w.t.Helper()
	w.mu.Lock()
	w.fewest = int(from)
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.fewest < fewest {
			w.t.Errorf("from %d to %d: at one moment only %d slots served, want at least %d", from, replicas, w.fewest, fewest)
		}
	}()
	w.patch(w.cluster, fmt.Sprintf(`{"spec":{"controlPlane":{"replicas":%d}}}`, replicas))
	w.eventually(fmt.Sprintf("the control plane has %d slots", replicas), func() error {
		current := &v1alpha1.Cluster{}
		if err := w.client.Get(w.t.Context(), client.ObjectKeyFromObject(w.cluster), current); err != nil {
			return err
		}
		for _, c := range current.Status.Conditions {
			if c.Type == "Ready" && (c.Status != metav1.ConditionTrue || c.ObservedGeneration != current.Generation) {
				return fmt.Errorf("it is not ready: %s", c.Message)
			}
		}
		var slots, volumes []string
		for name := range w.stacks(current.Status.Account, current.Spec.Region) {
			if strings.Contains(name, "-control-plane-") {
				slots = append(slots, name)
			}
		}
		for name := range current.Status.Outputs {
			if strings.HasPrefix(name, "EtcdVolume") {
				volumes = append(volumes, name)
			}
		}
		if len(slots) != int(replicas) || len(volumes) != int(replicas) || len(current.Status.Stacks) != int(replicas)+1 {
			return fmt.Errorf("there are the stacks %v, the volumes %v, and %d records", slots, volumes, len(current.Status.Stacks))
		}
		return nil
	})
}

// resizable is a Release whose slots join and leave etcd.
const resizable = "v1.36.9"

// newResizable creates a cluster whose slots can join and leave etcd, waits for it, and watches its quorum.
func newResizable(t *testing.T, replicas int32) *watched {
	t.Helper()
	w := newSuite(t, simulatedHost(), nil)
	w.start()
	made := aRelease(resizable)
	made.Spec.ResourceSet = release.Set120
	if err := w.client.Create(t.Context(), made); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	cluster := w.aCluster("demo")
	cluster.Spec.Release, cluster.Spec.ControlPlane.Replicas = resizable, replicas
	w.create(cluster)
	w.condition(cluster, "Ready", metav1.ConditionTrue, "")
	v := &watched{suite: w, cluster: cluster, inside: w.inside("demo"), fewest: int(replicas)}
	v.watch()
	return v
}

// A control plane grows slot by slot, and shrinks slot by slot. etcd has a quorum all the time: the API of
// the simulated cluster answers only as long as it does.
func TestControlPlaneChangesItsSize(t *testing.T) {
	v := newResizable(t, 1)
	v.resize(1, 3, 1)
	v.resize(3, 5, 2)
	v.resize(5, 3, 2)
	v.resize(3, 1, 1)
	v.resize(1, 3, 1) // What asked slots to leave says nothing to those that follow them.
	if err := v.client.Delete(t.Context(), v.cluster); err != nil {
		t.Fatal(err)
	}
	v.waitDeleted(v.cluster)
	v.nothingIsLeft(account, region)
}

// A release whose slots cannot join etcd refuses the change, and changes nothing.
func TestSlotsOfFormerResourceSetsDoNotChangeInNumber(t *testing.T) {
	w := newSuite(t, simulatedHost(), nil)
	w.start()
	former := aRelease(formerRelease)
	former.Spec.Kubernetes = formerRelease
	if err := w.client.Create(t.Context(), former); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	cluster := w.aCluster("demo")
	cluster.Spec.Release, cluster.Spec.ControlPlane.Replicas = formerRelease, 1
	w.create(cluster)
	w.condition(cluster, "Ready", metav1.ConditionTrue, "")
	w.patch(cluster, `{"spec":{"controlPlane":{"replicas":3}}}`)
	got := w.condition(cluster, "Ready", metav1.ConditionFalse, "CannotResize")
	if !strings.Contains(got.Message, "slots join and leave etcd from 1.2.0 on") {
		t.Errorf("the message is %q", got.Message)
	}
	w.patch(cluster, `{"spec":{"controlPlane":{"replicas":1}}}`)
	w.condition(cluster, "Ready", metav1.ConditionTrue, "")
}

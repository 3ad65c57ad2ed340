package controller_test

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

func TestClusterWithWorkersIsReadyWithTheFirstWorker(t *testing.T) {
	r := runs(t, 1, func(_ *v1alpha1.Cluster, group *v1alpha1.InstanceGroup) { group.Spec.MinSize = 1 })
	worker := r.workers()[0]
	if err := r.host.SetKubelet(worker, false); err != nil {
		t.Fatal(err)
	}
	missing := r.condition(r.cluster, "Ready", metav1.ConditionFalse, "WorkersMissing")
	if !strings.Contains(missing.Message, "demo-workers") {
		t.Errorf("the message does not name the instance group: %s", missing.Message)
	}
	if err := r.host.SetKubelet(worker, true); err != nil {
		t.Fatal(err)
	}
	r.condition(r.cluster, "Ready", metav1.ConditionTrue, "")
}

// A kubelet can be Ready by another slot's API server while its own slot's does not serve yet.
func TestClusterIsReadyWhenEveryAPIServerIs(t *testing.T) {
	r := runs(t, 3, func(_ *v1alpha1.Cluster, group *v1alpha1.InstanceGroup) { group.Spec.MinSize = 1 })
	worker, slot := r.workers()[0], r.instances("node-role.kubernetes.io/control-plane")[1]
	if err := r.host.SetKubelet(worker, false); err != nil {
		t.Fatal(err)
	}
	r.condition(r.cluster, "Ready", metav1.ConditionFalse, "WorkersMissing")
	if err := errors.Join(r.host.SetMember(slot, false), r.host.SetKubelet(worker, true)); err != nil {
		t.Fatal(err)
	}
	missing := r.condition(r.cluster, "Ready", metav1.ConditionFalse, "APIServersNotReady")
	if want := r.nodeOf(slot).Name + " (etcd failed)"; !strings.Contains(missing.Message, want) {
		t.Errorf("the message lacks %q: %s", want, missing.Message)
	}
	if err := r.host.SetMember(slot, true); err != nil {
		t.Fatal(err)
	}
	r.condition(r.cluster, "Ready", metav1.ConditionTrue, "")
}

func TestClusterWithoutWorkersIsReady(t *testing.T) {
	runs(t, 1, func(_ *v1alpha1.Cluster, group *v1alpha1.InstanceGroup) { group.Spec.MinSize = 0 })
}

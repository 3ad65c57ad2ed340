package addons_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/cluster/addons"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: greeter}
spec:
  replicas: 2
  selector: {matchLabels: {app: greeter}}
  template:
    metadata: {labels: {app: greeter}}
    spec: {containers: [{name: c, image: i}]}
`

func TestAddonsAreReadyWhenTheirWorkloadsAreAvailable(t *testing.T) {
	w := newSuite(t)
	clock := testingclock.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	w.clock = clock
	w.restart()
	w.charts.template.Store(deployment)
	if outcome := w.settle(operatorkit.KindDone); outcome.After() == 0 {
		t.Error("pods are missing, and their workload is not observed again")
	}
	if status, reason, message := w.addonsReady(); status != "False" || reason != addons.ReasonUnavailable {
		t.Errorf("condition %s %s: %s before the deployment's controller has observed it", status, reason, message)
	}
	later := func() {
		clock.SetTime(clock.Now().Add(time.Hour))
		w.settleAsked()
	}
	unavailable := func(want string) {
		t.Helper()
		if status, reason, message := w.addonsReady(); status != "False" || reason != addons.ReasonUnavailable ||
			!strings.Contains(message, want) {
			t.Errorf("condition %s %s: %s, want %s", status, reason, message, want)
		}
	}

	w.podOfGreeter("ImagePullBackOff")
	w.availableGreeters(1)
	later()
	want := "Deployment " + w.cluster.Name + "/greeter of addon greeter: 1 of 2 pods are not available (pod greeter-x: container c: ImagePullBackOff)"
	unavailable(want)
	w.restart() // A new operator observes the same, without a moment of success in between.
	unavailable(want)
	w.settleAsked()
	unavailable(want)

	w.availableGreeters(2)
	later()
	if status, reason, message := w.addonsReady(); status != "True" || reason != addons.ReasonAvailable {
		t.Errorf("condition %s %s: %s", status, reason, message)
	}

	w.availableGreeters(0) // Its image does not start any more.
	later()
	unavailable("2 of 2 pods are not available")

	if err := w.clients.AppsV1().Deployments(w.cluster.Name).Delete(t.Context(), "greeter", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	later()
	unavailable("does not exist")
}

// podOfGreeter creates a pod of the Deployment that waits for a reason.
func (w *suite) podOfGreeter(reason string) {
	w.t.Helper()
	core := w.clients.CoreV1()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}} // A controller makes it, and none runs here.
	if _, err := core.ServiceAccounts(w.cluster.Name).Create(w.t.Context(), account, metav1.CreateOptions{}); err != nil &&
		!apierrors.IsAlreadyExists(err) {
		w.t.Fatal(err)
	}
	pod, err := core.Pods(w.cluster.Name).Create(w.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "greeter-x", Labels: map[string]string{"app": "greeter"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{
		{Name: "c", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}},
	}
	if _, err := core.Pods(w.cluster.Name).UpdateStatus(w.t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// availableGreeters writes the Deployment's status, as kube-controller-manager does.
func (w *suite) availableGreeters(pods int32) {
	w.t.Helper()
	apps := w.clients.AppsV1().Deployments(w.cluster.Name)
	made, err := apps.Get(w.t.Context(), "greeter", metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	made.Status.ObservedGeneration, made.Status.Replicas, made.Status.UpdatedReplicas = made.Generation, 2, 2
	made.Status.ReadyReplicas, made.Status.AvailableReplicas = pods, pods
	if _, err = apps.UpdateStatus(w.t.Context(), made, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// settleAsked lets the workloads be observed, which is due, and waits until they are.
func (w *suite) settleAsked() operatorkit.Outcome {
	w.t.Helper()
	for len(w.enqueued) > 0 {
		<-w.enqueued
	}
	w.settle(operatorkit.KindDone)
	<-w.enqueued
	return w.settle(operatorkit.KindDone)
}

func TestObjectsWithoutANamespaceAreInTheReleases(t *testing.T) {
	w := newSuite(t)
	w.charts.template.Store("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: placed}\n")
	w.settle(operatorkit.KindDone)
	if _, err := w.clients.CoreV1().ConfigMaps(w.cluster.Name).Get(t.Context(), "placed", metav1.GetOptions{}); err != nil {
		t.Errorf("in the release's namespace: %v", err)
	}
	w.release.Spec.Addons[0].Version = "1.1.0"
	w.charts.template.Store("")
	w.cluster.Generation++
	w.settle(operatorkit.KindDone)
	if _, err := w.clients.CoreV1().ConfigMaps(w.cluster.Name).Get(t.Context(), "placed", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the upgrade did not remove it: %v", err)
	}
}

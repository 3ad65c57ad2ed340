package addons_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
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
	w := newWorld(t)
	clock := testingclock.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	w.clock = clock
	w.restart()
	w.charts.template.Store(deployment)
	if outcome := w.settle(operatorkit.KindDone); outcome.After() == 0 {
		t.Error("pods are missing, and nothing is asked again")
	}
	if status, reason, message := w.addonsReady(); status != "False" || reason != addons.ReasonUnavailable {
		t.Errorf("condition %s %s "+message+" before the deployment's controller has observed it", status, reason)
	}

	apps := w.clients.AppsV1().Deployments(w.cluster.Name)
	_, _, message := w.addonsReady()
	t.Log(message)
	made, err := apps.Get(t.Context(), "greeter", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "greeter-x", Labels: map[string]string{"app": "greeter"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	if _, err := w.clients.CoreV1().ServiceAccounts(w.cluster.Name).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, metav1.CreateOptions{}); err != nil {
		t.Logf("the service account: %v", err)
	}
	if pod, err = w.clients.CoreV1().Pods(w.cluster.Name).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}}
	if _, err := w.clients.CoreV1().Pods(w.cluster.Name).UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	made.Status.ObservedGeneration, made.Status.Replicas, made.Status.UpdatedReplicas, made.Status.ReadyReplicas, made.Status.AvailableReplicas = made.Generation, 2, 2, 1, 1
	if made, err = apps.UpdateStatus(t.Context(), made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	clock.SetTime(clock.Now().Add(time.Hour))
	w.settleAsked()
	want := "Deployment " + w.cluster.Name + "/greeter of addon greeter: 1 of 2 pods are not available (pod greeter-x: container c: ImagePullBackOff)"
	if status, reason, message := w.addonsReady(); status != "False" || reason != addons.ReasonUnavailable || !strings.Contains(message, want) {
		t.Errorf("condition %s %s: %s, want %s", status, reason, message, want)
	}

	made.Status.ReadyReplicas, made.Status.AvailableReplicas = 2, 2
	if _, err = apps.UpdateStatus(t.Context(), made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	clock.SetTime(clock.Now().Add(time.Hour))
	outcome := w.settleAsked()
	if status, reason, _ := w.addonsReady(); status != "True" || reason != addons.ReasonAvailable || outcome.After() != 0 {
		t.Errorf("condition %s %s, asked again after %s", status, reason, outcome.After())
	}
}

// settleAsked has the workloads asked about, which is due, and waits for the answer.
func (w *world) settleAsked() operatorkit.Outcome {
	w.t.Helper()
	for len(w.woken) > 0 {
		<-w.woken
	}
	w.settle(operatorkit.KindDone)
	<-w.woken
	return w.settle(operatorkit.KindDone)
}

package rollingupdate

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/test/livetest"
)

// guarded runs an app on a cluster whose pods cannot be evicted, and returns a client that can
// change that.
func guarded(t *testing.T, w *livetest.Suite) kubernetes.Interface {
	t.Helper()
	s := w.Session()
	found, err := s.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	connection, problem := s.Connect(t.Context(), found)
	if problem != "" {
		t.Fatal(problem)
	}
	kube, err := connection.Kubernetes()
	if err != nil {
		t.Fatal(err)
	}
	labels, replicas, none := map[string]string{"app": "web"}, int32(4), intstr.FromInt32(0)
	_, err = kube.AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "b"}}},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = kube.PolicyV1().PodDisruptionBudgets("default").Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &none, Selector: &metav1.LabelSelector{MatchLabels: labels}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.Eventually("the app runs", func() error {
		found, err := kube.AppsV1().Deployments("default").Get(t.Context(), "web", metav1.GetOptions{})
		if err == nil && found.Status.ReadyReplicas != replicas {
			err = fmt.Errorf("%d pods are ready", found.Status.ReadyReplicas)
		}
		return err
	})
	return kube
}

func TestFailOnDrainErrorStopsTheRollout(t *testing.T) {
	t.Parallel() // It mostly waits.
	slow := group("workers", 2, 2)
	slow.Spec.RollingUpdate.DrainTimeout = &metav1.Duration{Duration: 2 * time.Second}
	w := livetest.New(t, livetest.Options{Slots: 1, Groups: []*v1alpha1.InstanceGroup{slow}, Terraform: true})
	kube := guarded(t, w)
	before := machinesOf(w, "workers")
	w.MoveOn("workers")

	strict, text := newUpdate(w, choice{failOnDrain: true})
	err := strict.roll(t.Context())
	if err == nil ||
		!strings.Contains(
			err.Error(), "could not be drained within 2s because of the PodDisruptionBudget default/web. It stays in service",
		) {
		t.Fatalf("%v\n%s", err, text)
	}
	if !slices.Equal(before, machinesOf(w, "workers")) {
		t.Error("a machine went")
	}
	w.Eventually("all nodes are open", func() error {
		nodes, err := kube.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		for i := range nodes.Items {
			if nodes.Items[i].Spec.Unschedulable {
				return fmt.Errorf("node %s is cordoned", nodes.Items[i].Name)
			}
		}
		return err
	})
	show, text := newUpdate(w, choice{})
	if err := show.show(t.Context()); err != nil || !strings.Contains(text.String(), "The last roll of workers stopped: Node ") {
		t.Errorf("%v\n%s", err, text)
	}

	lenient, text := newUpdate(w, choice{})
	if err := lenient.roll(t.Context()); err != nil || !strings.Contains(text.String(), "was not drained in time and is terminated with") {
		t.Fatalf("%v\n%s", err, text)
	}
	renewed(t, w, before, "workers")
}

package controller_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// TestApproval has changes wait for a person: a generation is approved for the change that it makes, and not
// for what changes later without it.
func TestApproval(t *testing.T) {
	w := newWorld(t, played(), nil)
	w.start()
	release := aRelease("v9.9.7")
	w.eventually("the kinds are served", func() error { return w.client.Create(t.Context(), release) })
	t.Cleanup(func() { _ = w.client.Delete(context.Background(), aRelease("v9.9.7")) })
	cluster := w.aCluster("demo")
	cluster.Spec.Release, cluster.Spec.UpdatePolicy, cluster.Spec.ControlPlane.Replicas = "v9.9.7", v1alpha1.UpdateManual, 1
	w.create(cluster)
	w.condition(cluster, "Ready", metav1.ConditionTrue, "") // Making it needs no approval.
	bundle := cluster.Status.Stacks[1].Bundle

	w.patch(cluster, `{"spec":{"tags":{"team":"blue"}}}`)
	w.condition(cluster, "Ready", metav1.ConditionFalse, "ApprovalNeeded")
	w.approve(cluster, fmt.Sprint(cluster.Generation))
	w.condition(cluster, "Ready", metav1.ConditionTrue, "")

	if err := w.client.Delete(t.Context(), release); err != nil {
		t.Fatal(err)
	}
	release = aRelease("v9.9.7") // another one of its name, as another operator's templates would be
	release.Spec.Components["pause"] = "3.10.2"
	w.create(release)
	held := w.condition(cluster, "Ready", metav1.ConditionFalse, "ApprovalNeeded")
	name := regexp.MustCompile(`to "([0-9]+-[0-9a-f]{8})"`).FindStringSubmatch(held.Message)
	if name == nil || !strings.Contains(held.Message, "approved for another change") {
		t.Fatalf("of a change that nobody approved, the cluster says %q", held.Message)
	}
	if now := cluster.Status.Stacks[1].Bundle; now != bundle {
		t.Error("the bundle is said to be another although the change waits")
	}
	w.approve(cluster, name[1])
	w.condition(cluster, "Ready", metav1.ConditionTrue, "")
	if now := cluster.Status.Stacks[1].Bundle; now == bundle {
		t.Error("the change was approved and not carried out")
	}
}

func (w *world) approve(obj client.Object, what string) {
	w.t.Helper()
	w.patch(obj, fmt.Sprintf(`{"metadata":{"annotations":{"cluster-operator.aws/approve":%q}}}`, what))
}

func (w *world) patch(obj client.Object, patch string) {
	w.t.Helper()
	if err := w.client.Patch(w.t.Context(), obj, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		w.t.Fatal(err)
	}
}

package controller_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestWorkersJoinWithATokenThatSlotsKeep makes a cluster of a resource set whose slots keep the token: machines join, and the operator
// makes no token, neither then nor when half of a token's life is over.
func TestWorkersJoinWithATokenThatSlotsKeep(t *testing.T) {
	w := newWorld(t, played(), nil)
	w.start()
	release := aRelease("v1.36.3-set120")
	release.Spec.ResourceSet = "1.2.0"
	if err := w.client.Create(t.Context(), release); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.client.Delete(t.Context(), release) })
	cluster, group := w.aCluster("kept"), w.aGroup("kept-workers", "kept")
	cluster.Spec.Release = release.Name
	w.create(cluster, group)
	w.condition(group, "Ready", metav1.ConditionTrue, "")
	w.condition(cluster, "Ready", metav1.ConditionTrue, "")
	w.eventually("the bucket has the token", func() error {
		if !slices.Contains(w.objects(account, region, cluster.Status.Outputs["Bucket"]), "token/bootstrap-token") {
			return errors.New("it has not")
		}
		return nil
	})
	for name, count := range w.sim.Calls() {
		if strings.Contains(name, "PutParameter") && count > 0 {
			t.Errorf("%s was called %d times", name, count)
		}
	}
}

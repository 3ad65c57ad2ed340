package controller_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// releaseOf makes a Release of a resource set, for as long as the test runs, and returns its name. Releases are in no namespace, and other
// tests make their own.
func (w *suite) releaseOf(set string) string {
	w.t.Helper()
	release := aRelease("v1.36.3-" + w.namespace)
	release.Spec.ResourceSet = set
	w.create(release)
	w.t.Cleanup(func() { _ = w.client.Delete(context.WithoutCancel(w.t.Context()), release) })
	return release.Name
}

// TestWorkersJoinWithATokenThatSlotsKeep makes a cluster of a resource set whose slots keep the token: machines join, and the operator
// makes no token, neither then nor when half of a token's life is over.
func TestWorkersJoinWithATokenThatSlotsKeep(t *testing.T) {
	w := newSuite(t, played(), nil)
	w.start()
	cluster, group := w.aCluster("kept"), w.aGroup("kept-workers", "kept")
	cluster.Spec.Release = w.releaseOf("1.2.0")
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

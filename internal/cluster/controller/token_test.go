package controller_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// releaseOf creates a Release with a resource set for the duration of the test, and returns its
// name. Releases are cluster-scoped, and other tests create their own.
func (w *suite) releaseOf(set string) string {
	w.t.Helper()
	release := aRelease("v1.36.3-" + w.namespace)
	release.Spec.ResourceSet = set
	w.create(release)
	w.t.Cleanup(func() { _ = w.client.Delete(context.WithoutCancel(w.t.Context()), release) })
	return release.Name
}

// In a cluster with a resource set whose slots manage the token, instances join and the operator
// creates no token, neither at first nor after half of a token's lifetime.
func TestWorkersJoinWithATokenFromTheSlots(t *testing.T) {
	w := newSuite(t, simulatedHost(), nil)
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

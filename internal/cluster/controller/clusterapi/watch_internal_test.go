package clusterapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// An object with an owner of CAPI may be paused as long as CAPI's objects are not read. If its kinds are
// not installed, it is not.
func TestOwnerIsUnknownUntilTheKindsAreKnown(t *testing.T) {
	var status atomic.Int32
	status.Store(http.StatusServiceUnavailable)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(int(status.Load()))
		_, _ = w.Write([]byte(`{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"cluster.x-k8s.io/v1beta2",` +
			`"resources":[{"kind":"Cluster","name":"clusters"},{"kind":"MachinePool","name":"machinepools"}]}`))
	}))
	defer server.Close()
	objects := New(Options{Config: &rest.Config{Host: server.URL}, HTTPClient: server.Client()})
	cluster := &v1alpha1.Cluster{}
	cluster.OwnerReferences = []metav1.OwnerReference{{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Cluster", Name: "one", UID: "1"}}
	paused := func() bool { return objects.ClusterPause(t.Context(), cluster).Paused }

	if served, again := objects.served(); served || again != retryInterval || !paused() {
		t.Errorf("after an error: served %v, again in %s, paused %v", served, again, paused())
	}
	status.Store(http.StatusNotFound)
	if served, again := objects.served(); served || again != lookInterval || paused() {
		t.Errorf("without the kinds: served %v, again in %s, paused %v", served, again, paused())
	}
	if !objects.GetCache().WaitForCacheSync(context.Background()) {
		t.Error("the controllers do not start without Cluster API")
	}
	status.Store(http.StatusOK)
	if served, _ := objects.served(); !served || !paused() {
		t.Errorf("with the kinds: served %v, paused %v", served, paused())
	}
	if other := (*Objects)(nil); other.ClusterPause(t.Context(), cluster).Paused {
		t.Error("an operator that does not work with Cluster API pauses objects")
	}
}

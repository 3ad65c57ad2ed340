package kubeapi_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/kubeapi"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// A definition has its kind served at once, in this API only; metadata can be had alone; what is
// loaded stays what it was.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	api := kubeapi.New(kubeapi.Options{Kubernetes: "v1.36.3"})
	server := httptest.NewServer(api.Trusted())
	t.Cleanup(func() {
		api.Close()
		server.Close()
	})
	config := &rest.Config{Host: server.URL}
	crds, err := v1alpha1.CustomResourceDefinitions()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // The second time changes nothing.
		if err := operatorkit.EnsureCRDs(t.Context(), config, "test", crds...); err != nil {
			t.Fatal(err)
		}
	}
	loaded := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"release": "v1"}}}
	loaded.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Cluster"))
	loaded.SetNamespace("default")
	loaded.SetName("demo")
	loaded.SetUID("as-it-was")
	loaded.SetGeneration(7)
	if err := api.Load(loaded); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("ClusterList"))
	if err := c.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 1 || list.Items[0].UID != "as-it-was" || list.Items[0].Generation != 7 {
		t.Errorf("there is %+v", list.Items)
	}
	other := kubeapi.New(kubeapi.Options{Kubernetes: "v1.36.3"})
	t.Cleanup(other.Close)
	answer := httptest.NewRecorder()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/apis/"+v1alpha1.GroupVersion.String()+"/clusters", http.NoBody)
	other.Trusted().ServeHTTP(answer, request)
	if answer.Code != http.StatusNotFound {
		t.Errorf("another API serves the kind as well: %d", answer.Code)
	}
}

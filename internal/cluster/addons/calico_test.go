package addons_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/patience"
)

// Calico's charts are installed with the releases' values, in an API server that judges them by
// Calico's own schemas. The network that they ask for is the cluster's.
func TestReleasedCalicoIsInstalled(t *testing.T) {
	folder := os.Getenv(chartsVariable)
	if folder == "" {
		t.Skipf("%s names no folder with archives of charts; their repositories are on the internet", chartsVariable)
	}
	w := newSuite(t)
	all, err := release.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	w.release = all[slices.IndexFunc(all, func(r *v1alpha1.Release) bool { return r.Name == "v1.36.4" })].DeepCopy()
	// Calico is removed by a Job, which nothing here runs: without its record it stays, and no other test sees it.
	t.Cleanup(func() {
		err := w.clients.CoreV1().Secrets("tigera-operator").DeleteCollection(context.WithoutCancel(t.Context()), metav1.DeleteOptions{}, metav1.ListOptions{})
		if err != nil {
			t.Error(err)
		}
	})
	w.cluster.Spec.Network.PodCIDR = "100.64.0.0/13"
	w.cluster.Spec.Addons = []v1alpha1.Addon{{Name: release.AddonCalico}}
	var calico []v1alpha1.ReleaseAddon
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	for _, addon := range release.LeaveOut(w.release.Spec.Addons, w.cluster.Spec.Addons) {
		if addon.Name != release.AddonCalico && addon.PartOf != release.AddonCalico {
			continue
		}
		archive := archiveOf(t, folder, &addon)
		if archive == nil {
			t.Skipf("%s has no archive of %s %s", folder, addon.Chart, addon.Version)
		}
		addon.Repository, addon.Digest = server.URL+"/"+addon.Chart, "" // It may be packed from its repository.
		mux.HandleFunc("/"+addon.Chart+"/index.yaml", func(out http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(out, "apiVersion: v1\nentries:\n  %[1]s:\n  - {apiVersion: v2, name: %[1]s, version: %[2]s, urls: [\"%[3]s/%[1]s.tgz\"]}\n",
				addon.Chart, addon.Version, server.URL)
		})
		mux.HandleFunc("/"+addon.Chart+".tgz", func(out http.ResponseWriter, _ *http.Request) { _, _ = out.Write(archive) })
		calico = append(calico, addon)
	}
	if len(calico) != 2 {
		t.Fatalf("the release has %d charts for Calico, want that of its CRDs and its own", len(calico))
	}
	w.release.Spec.Addons = calico
	objects := dynamic.NewForConfigOrDie(controlplanetest.Shared(t).RESTConfig())
	installations := objects.Resource(schema.GroupVersionResource{Group: "operator.tigera.io", Version: "v1", Resource: "installations"})
	var made *unstructured.Unstructured
	for made == nil {
		outcome := w.installer.Ensure(t.Context(), w.cluster, w.release, w.to, func() { w.enqueued <- struct{}{} })
		if made, err = installations.Get(t.Context(), "default", metav1.GetOptions{}); err == nil {
			break
		}
		if outcome.After() > 0 {
			continue // It would try again later; there is nothing else to wait for.
		}
		select {
		case <-w.enqueued:
		case <-time.After(patience.Left(t)):
			t.Fatalf("there is no Installation: %v; %v", err, outcome)
		}
	}
	pools, _, err := unstructured.NestedSlice(made.Object, "spec", "calicoNetwork", "ipPools")
	if err != nil || len(pools) != 1 || pools[0].(map[string]any)["cidr"] != "100.64.0.0/13" {
		t.Errorf("the network of pods is %v: %v", pools, err)
	}
}

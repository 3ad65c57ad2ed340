package addons

import (
	"reflect"
	"testing"

	helmrelease "helm.sh/helm/v4/pkg/release/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// FuzzWorkloads reads any manifest that a chart may render without a panic. It is the part of a chart
// that the operator's own process reads.
func FuzzWorkloads(f *testing.F) {
	f.Add("---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, namespace: b}\n---\napiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: c}\n")
	f.Add("apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {labels: {a: [b]}}\n")
	f.Add("a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nkind: Deployment\n")
	f.Fuzz(func(t *testing.T, manifest string) {
		for _, workload := range workloadsIn("addon", &helmrelease.Release{Manifest: manifest, Namespace: "kube-system"}) {
			if workload.namespace == "" || workload.kind != "Deployment" && workload.kind != "DaemonSet" && workload.kind != "StatefulSet" {
				t.Errorf("it has the workload %+v", workload)
			}
		}
	})
}

// FuzzValues merges any values of a Cluster over those of a Release without a panic, and never
// changes the Release's: other Clusters share them.
func FuzzValues(f *testing.F) {
	f.Add([]byte(`{"a":{"b":1}}`), []byte(`{"a":{"b":null,"c":[1]},"d":"e"}`))
	f.Add([]byte(`{"a":1}`), []byte(`{"a":{"b":{}}}`))
	f.Add([]byte(`[]`), []byte(`null`))
	f.Fuzz(func(t *testing.T, released, own []byte) {
		base := v1alpha1.ReleaseAddon{
			Name: "a", Chart: "a", Repository: "https://example.com", Version: "1", Values: &runtime.RawExtension{Raw: released},
		}
		only, err := Wanted([]v1alpha1.ReleaseAddon{base}, nil)
		if err != nil {
			return
		}
		merged, err := Wanted([]v1alpha1.ReleaseAddon{base}, []v1alpha1.Addon{{Name: "a", Values: &runtime.RawExtension{Raw: own}}})
		if err != nil {
			if merged != nil {
				t.Errorf("it is refused (%v) and gives %v", err, merged)
			}
			return
		}
		if len(merged) != 1 || merged[0].Digest() == "" {
			t.Errorf("it gives %+v", merged)
		}
		if again, err := Wanted([]v1alpha1.ReleaseAddon{base}, nil); err != nil || !reflect.DeepEqual(only, again) {
			t.Errorf("the release has %v, %v, before %v", again, err, only)
		}
	})
}

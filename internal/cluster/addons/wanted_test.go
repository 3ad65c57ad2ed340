package addons_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/addons"
)

func raw(text string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(text)} }

var ofRelease = []v1alpha1.ReleaseAddon{
	{Name: "network", Chart: "cni", Repository: "https://charts.example.com", Version: "1.0.0", Values: raw(`{"a":{"x":1,"y":2},"b":[1]}`)},
	{Name: "disks", Namespace: "storage", Chart: "oci://registry.example.com/csi", Version: "2.0.0"},
}

func TestAClusterPinsConfiguresLeavesOutAndAdds(t *testing.T) {
	got, err := addons.Wanted(ofRelease, []v1alpha1.Addon{
		{Name: "network", Version: "1.0.1", Values: raw(`{"a":{"y":3},"b":[2,3]}`)},
		{Name: "disks", Disabled: true},
		{Name: "extra", Chart: "oci://registry.example.com/extra", Version: "0.1.0", Namespace: "extras"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []addons.Chart{
		{Name: "extra", Namespace: "extras", Chart: "oci://registry.example.com/extra", Version: "0.1.0"},
		{
			Name: "network", Namespace: "kube-system", Chart: "cni", Repository: "https://charts.example.com", Version: "1.0.1",
			Values: map[string]any{"a": map[string]any{"x": 1.0, "y": 3.0}, "b": []any{2.0, 3.0}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("wanted addons (-want +got):\n%s", diff)
	}
	plain, err := addons.Wanted(ofRelease, nil)
	if err != nil || len(plain) != 2 || plain[1].Digest() == got[1].Digest() {
		t.Errorf("without the cluster's word: %v, %v", plain, err)
	}
}

func TestAddonsThatCannotBeAreRefusedByName(t *testing.T) {
	for name, c := range map[string]struct {
		addon v1alpha1.Addon
		want  string
	}{
		"unknown without a chart": {v1alpha1.Addon{Name: "extra", Version: "1.0.0"}, "set chart"},
		"without a version":       {v1alpha1.Addon{Name: "extra", Chart: "oci://registry.example.com/extra"}, "without one, the addon would change"},
		"another chart's version": {v1alpha1.Addon{Name: "network", Chart: "oci://registry.example.com/cni"}, "set the chart's version"},
		"a name without its home": {v1alpha1.Addon{Name: "extra", Chart: "extra", Version: "1.0.0"}, "set repository"},
		"values that are a list":  {v1alpha1.Addon{Name: "network", Values: raw(`[1]`)}, "must be an object"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := addons.Wanted(ofRelease, []v1alpha1.Addon{c.addon})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "spec.addons[0] ("+c.addon.Name+")") {
				t.Errorf("error %v, want the field and %q", err, c.want)
			}
		})
	}
}

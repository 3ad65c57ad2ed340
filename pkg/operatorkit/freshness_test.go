package operatorkit

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestFreshness(t *testing.T) {
	version := func(rv string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{}}
		u.SetName("one")
		u.SetResourceVersion(rv)
		return u
	}
	cases := map[string]struct {
		wrote, cached string
		want          bool
	}{
		"what was never written is fresh":           {cached: "5", want: true},
		"our own write is fresh":                    {wrote: "9", cached: "9", want: true},
		"what is older is not":                      {wrote: "10", cached: "9"},
		"someone's later write is fresh":            {wrote: "9", cached: "10", want: true},
		"what cannot be compared is taken as fresh": {wrote: "abc", cached: "9", want: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var f freshness
			if tc.wrote != "" {
				f.wrote(version(tc.wrote))
			}
			if got := f.saw(version(tc.cached)); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
			if tc.want && len(f.written) != 0 {
				t.Error("a write that the cache shows is still remembered")
			}
			f.gone(client.ObjectKeyFromObject(version("")))
			if len(f.written) != 0 {
				t.Error("an object that is gone is still remembered")
			}
		})
	}
}

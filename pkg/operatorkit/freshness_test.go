package operatorkit

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestStaleReadsAreDetected(t *testing.T) {
	version := func(rv string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{}}
		u.SetName("one")
		u.SetResourceVersion(rv)
		return u
	}
	cases := map[string]struct {
		wrote, cached string
		want, foreign bool
	}{
		"an object that was never written is fresh":  {cached: "5", want: true, foreign: true},
		"the own write is fresh":                     {wrote: "9", cached: "9", want: true},
		"an older version is stale":                  {wrote: "10", cached: "9"},
		"a later write of another client is fresh":   {wrote: "9", cached: "10", want: true, foreign: true},
		"a version that cannot be compared is fresh": {wrote: "abc", cached: "9", want: true, foreign: true},
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
			if got := f.isForeign(version(tc.cached)); got != tc.foreign {
				t.Errorf("of another client: %v, want %v", got, tc.foreign)
			}
			key := client.ObjectKeyFromObject(version(""))
			f.arrived(version(tc.cached))
			if got := f.ended(key); got != tc.foreign {
				t.Errorf("of another client during a run: %v, want %v", got, tc.foreign)
			}
			if f.ended(key) {
				t.Error("what arrived during a run is still remembered after it")
			}
			f.forget(key)
			if len(f.written) != 0 {
				t.Error("a deleted object is still remembered")
			}
		})
	}
}

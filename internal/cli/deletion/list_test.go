package deletion

import "testing"

func TestTotalCountsWhatIsRemovedAndKept(t *testing.T) {
	removed, kept := resource{ID: "a"}, resource{ID: "b", Kept: "it existed before the cluster"}
	for want, found := range map[string][]resource{
		"0 resources to remove, 0 to keep.": nil,
		"1 resource to remove, 2 to keep.":  {removed, kept, kept},
		"2 resources to remove, 0 to keep.": {removed, removed},
	} {
		if got := total(found); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

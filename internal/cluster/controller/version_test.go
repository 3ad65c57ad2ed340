package controller

import "testing"

func TestLowestVersion(t *testing.T) {
	for _, c := range []struct {
		reason   string
		versions []string
		want     string
	}{
		{"no node has reported one", nil, ""},
		{"all run one release", []string{"v1.36.3", "v1.36.3"}, "v1.36.3"},
		{"one slot was not replaced yet", []string{"v1.36.3", "v1.35.9", "v1.36.3"}, "v1.35.9"},
		{"versions are numbers, not words", []string{"v1.36.10", "v1.36.9"}, "v1.36.9"},
		{"a node that has not reported a version is ignored", []string{"", "v1.36.3"}, "v1.36.3"},
	} {
		if got := lowest(c.versions); got != c.want {
			t.Errorf("%s: %s, want %s", c.reason, got, c.want)
		}
	}
}

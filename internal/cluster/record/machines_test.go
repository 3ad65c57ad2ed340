package record

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPartsThatDiffer(t *testing.T) {
	parts := func(of map[string]string) *Machines { return &Machines{Parts: of} }
	for name, tc := range map[string]struct {
		now, next *Machines
		want      []string
	}{
		"changed, added and removed": {
			now:  parts(map[string]string{"labels": "1", "taints": "1", "etcd": "1"}),
			next: parts(map[string]string{"labels": "2", "etcd": "1", "SSH keys": "1"}), want: []string{"SSH keys", "labels", "taints"},
		},
		"equal":                            {now: parts(map[string]string{"labels": "1"}), next: parts(map[string]string{"labels": "1"})},
		"recorded by an earlier operator":  {now: parts(nil), next: parts(map[string]string{"labels": "1"})},
		"no instances yet":                 {next: parts(map[string]string{"labels": "1"})},
		"planned without the parts of now": {now: parts(map[string]string{"labels": "1"}), next: parts(nil)},
	} {
		if d := cmp.Diff(tc.want, tc.now.Changed(tc.next)); d != "" {
			t.Errorf("%s (-want +got)\n%s", name, d)
		}
	}
}

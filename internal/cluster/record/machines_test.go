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

func TestChangeIsPlannedBeforeItIsSent(t *testing.T) {
	wanted := &Machines{Bundle: "b2", Nodeup: "n2"}
	for name, c := range map[string]struct {
		known Stack
		ready bool
	}{
		"a stack without a record":               {Stack{}, false},
		"instances of the same kind":             {Stack{Machines: &History{Now: &Machines{Bundle: "b2", Nodeup: "n2"}}}, true},
		"a change in progress of the same kind":  {Stack{Machines: &History{Next: &Machines{Bundle: "b2", Nodeup: "n2"}}}, true},
		"instances of another kind":              {Stack{Machines: &History{Now: &Machines{Bundle: "b1", Nodeup: "n2"}}}, false},
		"a plan for another bundle":              {Stack{Planned: &Boot{Bundle: "b1", Nodeup: "n2"}}, false},
		"a plan that the status already had":     {Stack{Planned: &Boot{Bundle: "b2", Nodeup: "n2"}}, true},
		"a plan of an operator with another one": {Stack{Planned: &Boot{Bundle: "b2", Nodeup: "n1"}}, false},
	} {
		known := c.known
		if got := known.Plan(wanted); got != c.ready {
			t.Errorf("%s: the change may be sent: %v, want %v", name, got, c.ready)
		}
		if !known.Plan(wanted) {
			t.Errorf("%s: the record does not have the plan afterwards", name)
		}
	}
}

package stackcache

import (
	"testing"

	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/stacks"
)

func TestStackInProgressIsRenderedOnce(t *testing.T) {
	ours := record.Machines{Stack: "1", Bundle: "b", Nodeup: "n", DiskTags: map[string]string{"a": "b"}}
	others := record.Machines{Stack: "2", Bundle: "c", Nodeup: "n"}
	cases := map[string]struct {
		inputs uint64
		past   *record.History
		again  bool
	}{
		"its creation is in progress":              {1, &record.History{Next: &ours}, false},
		"it was created":                           {1, &record.History{Now: &ours}, false},
		"its inputs changed":                       {2, &record.History{Next: &ours}, true},
		"it was not sent, so nodeup may be newer":  {1, nil, true},
		"another change is in progress":            {1, &record.History{Now: &ours, Next: &others}, true},
		"the instances are from an earlier change": {1, &record.History{Now: &others}, true},
		"the change is the rendered one":           {1, &record.History{Now: &others, Next: &ours}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := New()
			key, times := Key{"uid", "demo"}, 0
			render := func() (*stacks.Made, error) {
				times++
				return &stacks.Made{Machines: ours}, nil
			}
			for _, input := range []struct {
				inputs uint64
				past   *record.History
			}{{1, nil}, {c.inputs, c.past}} {
				if made, err := s.Render(key, input.inputs, input.past, render); err != nil || made.Machines.Stack != "1" {
					t.Fatalf("got %v, %v", made, err)
				}
			}
			if again := times == 2; again != c.again {
				t.Errorf("rendered again: %t, want %t", again, c.again)
			}
		})
	}
}

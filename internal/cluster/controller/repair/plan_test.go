package repair

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

func TestInstancesToReplace(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	const after = 10 * time.Minute
	well := health{well: true}
	unwell := func(minutes int) health {
		return health{instance: fmt.Sprintf("i-%d", minutes), since: now.Add(-time.Duration(minutes) * time.Minute)}
	}
	going := func(minutes int) health {
		one := unwell(minutes)
		one.replacing = true
		return one
	}
	cases := map[string]struct {
		machines []health
		limit    int
		replace  string
		held     bool
		again    time.Duration
	}{
		"none if all are healthy":                  {machines: []health{well, well}, limit: 1},
		"an instance that has long been unhealthy": {machines: []health{well, well, unwell(11)}, limit: 1, replace: "i-11"},
		"not one that is briefly unhealthy":        {machines: []health{well, well, unwell(4)}, limit: 1, again: 6 * time.Minute},
		"none if too many are unhealthy":           {machines: []health{well, unwell(11), unwell(12)}, limit: 1, held: true},
		"none if many others have just become unhealthy": {
			machines: []health{well, unwell(11), unwell(1)},
			limit:    1,
			held:     true,
			again:    9 * time.Minute,
		},
		"none that is already being replaced":  {machines: []health{well, well, going(11)}, limit: 1},
		"no other while one is being replaced": {machines: []health{well, going(12), unwell(11)}, limit: 1, held: true},
		"several at once if the limit allows": {
			machines: []health{well, well, well, unwell(11), unwell(13)},
			limit:    2,
			replace:  "i-13, i-11",
		},
		"another in addition if the limit allows": {
			machines: []health{well, well, well, unwell(11), going(13)},
			limit:    2,
			replace:  "i-11",
		},
		"no hold if none is due":       {machines: []health{unwell(1), unwell(2)}, limit: 1, again: 8 * time.Minute},
		"the only instance of a group": {machines: []health{unwell(11)}, limit: 1, replace: "i-11"},
		"an instance that is just due": {machines: []health{well, unwell(10)}, limit: 1, replace: "i-10"},
		"none in an empty group":       {limit: 1},
		"the longest unhealthy first, up to the limit": {
			machines: []health{well, unwell(20), unwell(30), going(5)},
			limit:    3,
			replace:  "i-30, i-20",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			plan := planRepair(c.machines, after, c.limit, now)
			if got := nodesNamed(plan.replace); got != c.replace || plan.held != c.held || plan.again != c.again {
				t.Errorf("replaces %q, held %t, again in %s; want %q, %t, %s", got, plan.held, plan.again, c.replace, c.held, c.again)
			}
		})
	}
}

func TestRepairLimit(t *testing.T) {
	number, share, none, nonsense := intstr.FromInt32(3), intstr.FromString("50%"), intstr.FromInt32(0), intstr.FromString("many")
	cases := map[string]struct {
		given *intstr.IntOrString
		total int
		want  int
	}{
		"two in five by default":       {nil, 5, 2},
		"rounded down":                 {nil, 9, 3},
		"one, however small the group": {nil, 2, 1},
		"one for an empty group":       {nil, 0, 1},
		"a number":                     {&number, 100, 3},
		"a share":                      {&share, 10, 5},
		"at least one":                 {&none, 10, 1},
		"one for an invalid value":     {&nonsense, 10, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := repairLimit(c.given, c.total); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
}

func TestSlotToReplace(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	well := health{well: true}
	unwell := func(minutes int) health { return health{since: now.Add(-time.Duration(minutes) * time.Minute)} }
	going := unwell(20)
	going.replacing = true
	cases := map[string]struct {
		slots []health
		want  int
		again time.Duration
	}{
		"none if all are healthy":               {slots: []health{well, well, well}, want: workload.NoSlot},
		"the slot that has long been unhealthy": {slots: []health{well, unwell(11), well}, want: 1},
		"the only slot":                         {slots: []health{unwell(11)}, want: 0},
		"none that is briefly unhealthy":        {slots: []health{well, unwell(4), well}, want: workload.NoSlot, again: 6 * time.Minute},
		"none if another is unhealthy, too":     {slots: []health{unwell(1), unwell(11), well}, want: workload.NoSlot},
		"none if another is being replaced":     {slots: []health{going, unwell(11), well}, want: workload.NoSlot},
		"none if it is already being replaced":  {slots: []health{well, going, well}, want: workload.NoSlot},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			slot, again := slotPlan(c.slots, 10*time.Minute, now)
			if slot != c.want || again != c.again {
				t.Errorf("slot %d, again in %s; want %d, %s", slot, again, c.want, c.again)
			}
		})
	}
}

package controller

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

func TestWhatIsReplaced(t *testing.T) {
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
		"nothing, when all are well":                           {machines: []health{well, well}, limit: 1},
		"one that has long been unwell":                        {machines: []health{well, well, unwell(11)}, limit: 1, replace: "i-11"},
		"not one that is unwell for a while":                   {machines: []health{well, well, unwell(4)}, limit: 1, again: 6 * time.Minute},
		"none, when too many are unwell":                       {machines: []health{well, unwell(11), unwell(12)}, limit: 1, held: true},
		"none, when many others have just become unwell":       {machines: []health{well, unwell(11), unwell(1)}, limit: 1, held: true, again: 9 * time.Minute},
		"none that is being replaced already":                  {machines: []health{well, well, going(11)}, limit: 1},
		"no other while one is being replaced":                 {machines: []health{well, going(12), unwell(11)}, limit: 1, held: true},
		"several at once, if so many may be unwell":            {machines: []health{well, well, well, unwell(11), unwell(13)}, limit: 2, replace: "i-13, i-11"},
		"another beside one, if so many may be unwell":         {machines: []health{well, well, well, unwell(11), going(13)}, limit: 2, replace: "i-11"},
		"nothing is held that is not due":                      {machines: []health{unwell(1), unwell(2)}, limit: 1, again: 8 * time.Minute},
		"the only one of a group":                              {machines: []health{unwell(11)}, limit: 1, replace: "i-11"},
		"one that is just due":                                 {machines: []health{well, unwell(10)}, limit: 1, replace: "i-10"},
		"nothing of a group that has no machines":              {limit: 1},
		"the longest unwell first, as far as the limit allows": {machines: []health{well, unwell(20), unwell(30), going(5)}, limit: 3, replace: "i-30, i-20"},
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

func TestHowManyMayBeUnwell(t *testing.T) {
	number, share, none, nonsense := intstr.FromInt32(3), intstr.FromString("50%"), intstr.FromInt32(0), intstr.FromString("many")
	cases := map[string]struct {
		given *intstr.IntOrString
		total int
		want  int
	}{
		"two in five, unless said otherwise":      {nil, 5, 2},
		"rounded down":                            {nil, 9, 3},
		"one, however small the group":            {nil, 2, 1},
		"one, of none at all":                     {nil, 0, 1},
		"a number":                                {&number, 100, 3},
		"a share":                                 {&share, 10, 5},
		"one, even where none is said":            {&none, 10, 1},
		"one, where what is said makes no sense ": {&nonsense, 10, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := repairLimit(c.given, c.total); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
}

func TestWhichSlotIsReplaced(t *testing.T) {
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
		"none, when all are well":              {slots: []health{well, well, well}, want: workload.NoSlot},
		"the one that has long been unwell":    {slots: []health{well, unwell(11), well}, want: 1},
		"the only slot":                        {slots: []health{unwell(11)}, want: 0},
		"none that is unwell for a while":      {slots: []health{well, unwell(4), well}, want: workload.NoSlot, again: 6 * time.Minute},
		"none, when another is unwell too":     {slots: []health{unwell(1), unwell(11), well}, want: workload.NoSlot},
		"none, when another is being replaced": {slots: []health{going, unwell(11), well}, want: workload.NoSlot},
		"none, when it is being replaced":      {slots: []health{well, going, well}, want: workload.NoSlot},
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

func TestTheStackOfAnAutoScalingGroup(t *testing.T) {
	cases := map[string]struct{ group, want string }{
		"as CloudFormation names it":                  {"demo-workers-AutoScalingGroup-1A2B3C4D5E6F7", "demo-workers"},
		"of a stack with such a name":                 {"a-AutoScalingGroup-b-AutoScalingGroup-1A2B", "a-AutoScalingGroup-b"},
		"somebody else's":                             {"web", ""},
		"somebody else's of another logical ID":       {"demo-Workers-1A2B3C4D5E6F7", ""},
		"somebody else's with a part in the middle ":  {"demo-AutoScalingGroup-blue-green", ""},
		"nobody's, since it has no name of its stack": {"AutoScalingGroup-1A2B", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := stackOfGroup(c.group); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

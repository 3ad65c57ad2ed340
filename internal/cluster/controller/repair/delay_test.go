package repair

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

func TestRepairDelayDoubles(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var count *v1alpha1.RepairStatus
	for i, want := range []time.Duration{
		20 * time.Minute, 40 * time.Minute, 80 * time.Minute, 160 * time.Minute, 320 * time.Minute, 6 * time.Hour, 6 * time.Hour,
	} {
		next := countRepair(count, 10*time.Minute, now)
		if got := repairDelay(&next, now); got != want {
			t.Errorf("replacement %d: the next waits %s, want %s", i+1, got, want)
		}
		count = &next
	}
}

// Only instances that started after an unsuccessful replacement wait for the next one.
func TestOnlyNewerInstancesAreDelayed(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	last := now.Add(-15 * time.Minute)
	before := health{instance: "i-before", began: last.Add(-time.Hour), since: now.Add(-11 * time.Minute)}
	after := health{instance: "i-after", began: last.Add(time.Minute), since: now.Add(-11 * time.Minute)}
	cases := map[string]struct {
		delay     time.Duration // since the last replacement
		unwell    []health
		replace   string
		successor bool
		reported  bool
		again     time.Duration
	}{
		"an instance newer than the last replacement waits": {
			delay:    20 * time.Minute,
			unwell:   []health{after},
			reported: true,
			again:    5 * time.Minute,
		},
		"an older instance is replaced": {delay: 20 * time.Minute, unwell: []health{before}, replace: "i-before"},
		"of both, the older instance is replaced": {
			delay:    20 * time.Minute,
			unwell:   []health{before, after},
			replace:  "i-before",
			reported: true,
			again:    5 * time.Minute,
		},
		"after the delay, the newer instance is replaced": {
			delay:     10 * time.Minute,
			unwell:    []health{after},
			replace:   "i-after",
			successor: true,
		},
		"after the delay, an older instance is no successor": {delay: 10 * time.Minute, unwell: []health{before}, replace: "i-before"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			group := &v1alpha1.InstanceGroup{Status: v1alpha1.InstanceGroupStatus{Repair: &v1alpha1.RepairStatus{
				Replaced: 1, LastTime: metav1.NewTime(last), NextTime: metav1.NewTime(last.Add(c.delay)),
			}}}
			plan := planRepair(c.unwell, 10*time.Minute, 2, now)
			successor := delayRepair(group, &plan, c.unwell, now)
			reported := false
			for _, condition := range group.Status.Conditions {
				reported = reported || condition.Reason == reasonRepairDelayed
			}
			if got := nodesNamed(plan.replace); got != c.replace || successor != c.successor || reported != c.reported ||
				plan.again != c.again {
				t.Errorf(
					"replaces %q, successor %t, reported %t, again in %s; want %q, %t, %t, %s",
					got,
					successor,
					reported,
					plan.again,
					c.replace,
					c.successor,
					c.reported,
					c.again,
				)
			}
		})
	}
}

func TestRepairCountResets(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		wellFor time.Duration
		kept    bool
	}{
		"when nodes have been healthy for the length of the delay": {wellFor: 21 * time.Minute},
		"not before": {wellFor: 5 * time.Minute, kept: true},
	} {
		t.Run(name, func(t *testing.T) {
			last := now.Add(-time.Hour)
			group := &v1alpha1.InstanceGroup{Status: v1alpha1.InstanceGroupStatus{Repair: &v1alpha1.RepairStatus{
				Replaced: 1, LastTime: metav1.NewTime(last), NextTime: metav1.NewTime(last.Add(20 * time.Minute)),
			}}}
			machines := []health{{instance: "i-1", well: true, since: now.Add(-c.wellFor)}}
			plan := planRepair(machines, 10*time.Minute, 1, now)
			delayRepair(group, &plan, machines, now)
			if kept := group.Status.Repair != nil; kept != c.kept {
				t.Errorf("still counted: %t, want %t", kept, c.kept)
			}
		})
	}
}

func TestRepairCountsOfSlotsThatDoNotExistAreForgotten(t *testing.T) {
	cluster := &v1alpha1.Cluster{}
	for _, slot := range []int32{-1, 0, 3} {
		cluster.Status.Repairs = append(cluster.Status.Repairs, v1alpha1.SlotRepairStatus{Slot: slot})
	}
	forgetRepairs(cluster, make([]health, 3), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	if left := cluster.Status.Repairs; len(left) != 1 || left[0].Slot != 0 {
		t.Errorf("left are %+v", left)
	}
}

package repair

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

const (
	// longestRepairDelay bounds the delay between replacements that did not help.
	longestRepairDelay = 6 * time.Hour
	// reasonRepairDelayed is the reason of an unhealthy instance whose replacement is delayed.
	reasonRepairDelayed = "RepairDelayed"
)

// countRepair counts another replacement. After is how long nodes may be unhealthy: the delay
// starts at twice that and doubles with each replacement.
func countRepair(before *v1alpha1.RepairStatus, after time.Duration, now time.Time) v1alpha1.RepairStatus {
	var count v1alpha1.RepairStatus
	if before != nil {
		count = *before
	}
	count.Replaced++
	delay := max(after, time.Second) // Doubling zero would stay zero.
	for range min(count.Replaced, 32) {
		delay = min(2*delay, max(longestRepairDelay, after))
	}
	count.LastTime, count.NextTime = metav1.NewTime(now), metav1.NewTime(now.Add(delay))
	return count
}

// repairDelay returns how long the next replacement must wait, 0 if it need not.
func repairDelay(count *v1alpha1.RepairStatus, now time.Time) time.Duration {
	if count == nil {
		return 0
	}
	return max(0, count.NextTime.Sub(now))
}

// helped reports whether replacements helped: the new instance has been healthy for as long as the
// next replacement would have waited.
func helped(count *v1alpha1.RepairStatus, wellSince, now time.Time) bool {
	return wellSince.After(count.LastTime.Time) && now.Sub(wellSince) >= count.NextTime.Sub(count.LastTime.Time)
}

// repairSentence describes how often an instance was replaced and when the next replacement is due.
func repairSentence(what string, count *v1alpha1.RepairStatus) string {
	times := fmt.Sprintf("%d times", count.Replaced)
	if count.Replaced == 1 {
		times = "once"
	}
	return fmt.Sprintf("%s was replaced %s without success, last at %s. The next replacement is at %s. Fix the cause in the meantime.",
		what, times, count.LastTime.UTC().Format(time.RFC3339), count.NextTime.UTC().Format(time.RFC3339))
}

// repairOf returns the repair status of a slot, nil if it has none.
func repairOf(cluster *v1alpha1.Cluster, slot int) *v1alpha1.RepairStatus {
	for i := range cluster.Status.Repairs {
		if int(cluster.Status.Repairs[i].Slot) == slot {
			return &cluster.Status.Repairs[i].RepairStatus
		}
	}
	return nil
}

// CountSlot counts another replacement of a slot.
func CountSlot(cluster *v1alpha1.Cluster, slot int, after time.Duration, now time.Time) {
	count := countRepair(repairOf(cluster, slot), after, now)
	if known := repairOf(cluster, slot); known != nil {
		*known = count
		return
	}
	added := v1alpha1.SlotRepairStatus{Slot: int32(slot), RepairStatus: count} //nolint:gosec // at most three slots
	cluster.Status.Repairs = append(cluster.Status.Repairs, added)
}

// forgetRepairs resets the counts of slots that are healthy again, and of those that do not exist.
func forgetRepairs(cluster *v1alpha1.Cluster, slots []health, now time.Time) {
	cluster.Status.Repairs = slices.DeleteFunc(cluster.Status.Repairs, func(one v1alpha1.SlotRepairStatus) bool {
		slot := int(one.Slot)
		return slot < 0 || slot >= len(slots) || slots[slot].well && helped(&one.RepairStatus, slots[slot].since, now)
	})
}

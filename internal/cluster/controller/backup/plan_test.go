package backup

import (
	"slices"
	"testing"
	"testing/quick"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

var backupNoon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// aBackup returns a backup of a slot, taken some time before backupNoon.
func aBackup(id string, slot int32, before time.Duration, state string) v1alpha1.Backup {
	return v1alpha1.Backup{Snapshot: id, Slot: slot, Time: metav1.NewTime(backupNoon.Add(-before)), State: state}
}

// A change takes no snapshot of a Cluster that disables them, so it needs no client of EC2.
func TestBackupBeforeChangeIsDisabled(t *testing.T) {
	cluster := &v1alpha1.Cluster{}
	cluster.Spec.Backup.Disabled = true
	if outcome := New(Options{}).BeforeChange(t.Context(), cluster, 0, "change"); !outcome.IsDone() {
		t.Errorf("got %s: %s", outcome.Reason(), outcome.Message())
	}
}

func TestBackupPlan(t *testing.T) {
	all := []bool{true, true, true}
	for name, c := range map[string]struct {
		healthy []bool
		needed  string
		backups []v1alpha1.Backup
		want    backupPlan
	}{
		"the first backup starts at once":         {all, "", nil, backupPlan{slot: 0, next: backupNoon}},
		"the first backup waits for a Ready slot": {make([]bool, 3), "", nil, backupPlan{slot: noBackup, next: backupNoon}},
		"no backup is taken early":                {all, "", []v1alpha1.Backup{aBackup("a", 0, time.Hour, snapshotCompleted)}, backupPlan{slot: noBackup, next: backupNoon.Add(5 * time.Hour)}},
		"the next slot is backed up": {
			all, "", []v1alpha1.Backup{aBackup("a", 1, 6*time.Hour, snapshotCompleted)}, backupPlan{slot: 2, next: backupNoon},
		},
		"the first slot follows the last": {
			all, "",
			[]v1alpha1.Backup{aBackup("a", 2, 7*time.Hour, snapshotCompleted)},
			backupPlan{slot: 0, next: backupNoon.Add(-time.Hour)},
		},
		"a slot that does not exist counts as none": {
			all, "",
			[]v1alpha1.Backup{aBackup("a", -7, 7*time.Hour, snapshotCompleted)},
			backupPlan{slot: 0, next: backupNoon.Add(-time.Hour)},
		},
		"a slot that is not Ready is skipped": {
			[]bool{true, false, false},
			"",
			[]v1alpha1.Backup{aBackup("a", 0, 6*time.Hour, snapshotCompleted)},
			backupPlan{slot: 0, next: backupNoon},
		},
		"no backup starts while one is pending": {
			all, "",
			[]v1alpha1.Backup{aBackup("a", 0, 7*time.Hour, snapshotPending)},
			backupPlan{slot: noBackup, next: backupNoon.Add(time.Minute)},
		},
		"a new snapshot is polled soon": {
			all, "",
			[]v1alpha1.Backup{aBackup("a", 0, 4*time.Second, snapshotPending)},
			backupPlan{slot: noBackup, next: backupNoon.Add(4 * time.Second)},
		},
		"surplus backups are removed, oldest first": {
			all, "", []v1alpha1.Backup{
				aBackup("a", 0, time.Hour, snapshotCompleted), aBackup("b", 0, 7*time.Hour, snapshotCompleted),
				aBackup("c", 0, 13*time.Hour, snapshotCompleted), aBackup("d", 0, 19*time.Hour, snapshotCompleted),
			}, backupPlan{slot: noBackup, remove: []string{"d", "c"}, next: backupNoon.Add(5 * time.Hour)},
		},
		"a pending snapshot does not count": {
			all, "", []v1alpha1.Backup{
				aBackup("a", 0, time.Second, snapshotPending), aBackup("b", 0, 7*time.Hour, snapshotCompleted),
				aBackup("c", 0, 13*time.Hour, snapshotCompleted),
			}, backupPlan{slot: noBackup, next: backupNoon.Add(time.Second)},
		},
		"the snapshot that the volumes were created from is kept": {
			all, "c", []v1alpha1.Backup{
				aBackup("a", 0, time.Hour, snapshotCompleted), aBackup("b", 0, 7*time.Hour, snapshotCompleted),
				aBackup("c", 0, 13*time.Hour, snapshotCompleted),
			}, backupPlan{slot: noBackup, next: backupNoon.Add(5 * time.Hour)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := planBackup(
				backupFacts{now: backupNoon, interval: 6 * time.Hour, keep: 2, backups: c.backups, healthy: c.healthy, needed: c.needed},
			)
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(backupPlan{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The newest completed backup is kept, whatever exists and however few are to be kept.
func TestTheNewestBackupIsNeverRemoved(t *testing.T) {
	holds := func(states []bool, keep int8) bool {
		facts := backupFacts{now: backupNoon, interval: time.Hour, keep: int(keep), healthy: []bool{true}}
		newest := ""
		for i, complete := range states {
			state := snapshotPending
			if complete {
				state = snapshotCompleted
			}
			id := string(rune('a' + i))
			if complete && newest == "" {
				newest = id
			}
			facts.backups = append(facts.backups, aBackup(id, 0, time.Duration(i)*time.Hour, state))
		}
		plan := planBackup(facts)
		pending := slices.ContainsFunc(plan.remove, func(id string) bool { return !states[id[0]-'a'] })
		return newest == "" && len(plan.remove) == 0 || !slices.Contains(plan.remove, newest) && !pending
	}
	if err := quick.Check(func(states [12]bool, keep int8) bool { return holds(states[:], keep) }, nil); err != nil {
		t.Error(err)
	}
}

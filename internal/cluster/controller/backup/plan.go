package backup

import (
	"slices"
	"time"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// States of EC2 snapshots.
const (
	snapshotPending   = "pending"
	snapshotCompleted = "completed"
)

// Defaults of spec.backup.
const (
	backupInterval = 6 * time.Hour
	backupsKept    = 28
)

const (
	// backupRetry is the delay before a backup is retried that EC2 refused or that failed.
	backupRetry = 5 * time.Minute
	// A pending snapshot is polled after as much time as it has taken so far, within these bounds.
	// The first snapshot of a volume may take minutes, later ones seconds.
	minBackupPoll, maxBackupPoll = time.Second, time.Minute
	// unseen is how long EC2 may take to list a new snapshot.
	// https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html
	unseen = 2 * time.Minute
)

// backupFacts are the inputs of planBackup.
type backupFacts struct {
	now      time.Time
	interval time.Duration
	keep     int
	// backups are the pending and completed backups, newest first.
	backups []v1alpha1.Backup
	// healthy reports for each slot whether its node is Ready.
	healthy []bool
	// needed is a snapshot that is kept whatever its age: the one that the volumes were created
	// from.
	needed string
}

// backupPlan lists what to do about backups now.
type backupPlan struct {
	// slot is the slot to snapshot now, or noBackup.
	slot int
	// remove lists the surplus snapshots, oldest first.
	remove []string
	// next is when to plan again.
	next time.Time
}

// noBackup stands for no slot.
const noBackup = -1

// planBackup decides which slot to back up and which backups to delete. Healthy slots take turns,
// so a volume that is corrupted unnoticed spoils only its own backups. No backup starts while a
// snapshot is pending.
func planBackup(f backupFacts) backupPlan {
	plan := backupPlan{slot: noBackup, remove: tooMany(f)}
	if len(f.backups) == 0 {
		plan.slot, plan.next = turn(f.healthy, noBackup), f.now
		return plan
	}
	newest := f.backups[0]
	if i := slices.IndexFunc(f.backups, func(b v1alpha1.Backup) bool { return b.State == snapshotPending }); i >= 0 {
		took := f.now.Sub(f.backups[i].Time.Time)
		plan.next = f.now.Add(min(max(took, minBackupPoll), maxBackupPoll))
		return plan
	}
	plan.next = newest.Time.Add(f.interval)
	if !plan.next.After(f.now) {
		plan.slot = turn(f.healthy, int(newest.Slot))
	}
	return plan
}

// turn returns the next healthy slot after the last one, noBackup if none is healthy.
func turn(healthy []bool, last int) int {
	for i := range healthy {
		if slot := (max(last, noBackup) + 1 + i) % len(healthy); healthy[slot] {
			return slot
		}
	}
	return noBackup
}

// tooMany returns the completed backups beyond those to keep, oldest first. A pending snapshot does
// not count, since it cannot be restored yet.
func tooMany(f backupFacts) []string {
	var surplus []string
	complete := 0
	for _, b := range f.backups {
		if b.State != snapshotCompleted {
			continue
		}
		if complete++; complete > max(f.keep, 1) && b.Snapshot != f.needed {
			surplus = append(surplus, b.Snapshot)
		}
	}
	slices.Reverse(surplus)
	return surplus
}

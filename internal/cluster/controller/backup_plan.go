package controller

import (
	"slices"
	"time"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// EC2's words for the states of snapshots.
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
	// backupRetry is when a backup is tried again that EC2 refused or lost.
	backupRetry = 5 * time.Minute
	// A snapshot that is on its way is looked at after as long as it has taken, within these bounds: the first of a volume may take
	// minutes, the next ones seconds, and nothing waits for it.
	firstBackupLook, lastBackupLook = time.Second, time.Minute
	// unseen is how long EC2 may take to list what was made.
	// https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html
	unseen = 2 * time.Minute
)

// backupFacts are what a decision about backups is made from.
type backupFacts struct {
	now      time.Time
	interval time.Duration
	keep     int
	// backups are those that there are and have not failed, newest first.
	backups []v1alpha1.Backup
	// healthy says of each slot whether its node is ready.
	healthy []bool
	// needed is a snapshot that stays whatever its age: the one that the volumes are made of.
	needed string
}

// backupPlan is what to do about backups now.
type backupPlan struct {
	// slot is the slot whose volume is snapshotted now, noBackup if none.
	slot int
	// remove are the snapshots that are too many, the oldest first.
	remove []string
	// next is when to decide again.
	next time.Time
}

// noBackup stands for no slot.
const noBackup = -1

// planBackup decides. The slots have their turns, those that are not healthy miss them: a volume that goes bad unnoticed spoils
// only its own backups. Nothing begins while a snapshot is on its way.
func planBackup(f backupFacts) backupPlan {
	plan := backupPlan{slot: noBackup, remove: tooMany(f)}
	if len(f.backups) == 0 {
		plan.slot, plan.next = turn(f.healthy, noBackup), f.now
		return plan
	}
	newest := f.backups[0]
	if i := slices.IndexFunc(f.backups, func(b v1alpha1.Backup) bool { return b.State == snapshotPending }); i >= 0 {
		took := f.now.Sub(f.backups[i].Time.Time)
		plan.next = f.now.Add(min(max(took, firstBackupLook), lastBackupLook))
		return plan
	}
	plan.next = newest.Time.Add(f.interval)
	if !plan.next.After(f.now) {
		plan.slot = turn(f.healthy, int(newest.Slot))
	}
	return plan
}

// turn returns the healthy slot that is next behind the last one, noBackup if none is healthy.
func turn(healthy []bool, last int) int {
	for i := range healthy {
		if slot := (last + 1 + i) % len(healthy); healthy[slot] {
			return slot
		}
	}
	return noBackup
}

// tooMany returns the complete backups beyond those to keep, the oldest first. One that is on its way does not count: until it is
// complete, it is none.
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

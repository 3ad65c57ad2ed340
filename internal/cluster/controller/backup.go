package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

const (
	// conditionBackedUp reports whether the last backup succeeded.
	conditionBackedUp  = "BackedUp"
	reasonBackupFailed = "BackupFailed"
	// snapshotGone is EC2's error code for a snapshot that does not exist.
	snapshotGone = "InvalidSnapshot.NotFound"
)

// backupStep keeps snapshots of etcd's volumes. A failed backup is reported and blocks no other
// step.
type backupStep struct{ *operator }

// Name returns the step's name.
func (s backupStep) Name() string { return "backup" }

// EnsureCreated takes and deletes the backups that are due. It never blocks the pipeline and calls
// EC2 only when a backup is due.
func (s backupStep) EnsureCreated(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	status := cluster.Status.Backup
	switch {
	case cluster.Spec.Backup.Disabled:
		if status != nil {
			status.NextTime = nil
		}
		setBackedUp(cluster, metav1.ConditionFalse, "Disabled", "Backups are off, by spec.backup.disabled.")
		return operatorkit.Done()
	case cluster.Status.Version == "" && slices.Contains(s.healthySlots(cluster), false):
		// A cluster that was never up has nothing to back up. A later step of this reconcile may
		// find it up.
		return operatorkit.Done().RequeueAfter(2 * minBackupPoll)
	case status == nil:
		status = &v1alpha1.BackupStatus{}
		cluster.Status.Backup = status
	}
	now := s.options.Clock.Now()
	at := s.nextCheck(cluster, now)
	if !at.After(now) {
		at = s.check(ctx, cluster, now)
	}
	status.NextTime = nil
	if !slices.ContainsFunc(status.Backups, isPending) {
		status.NextTime = &metav1.Time{Time: at.Truncate(time.Second)}
	}
	return operatorkit.Done().RequeueAfter(max(at.Sub(now), minBackupPoll))
}

// nextCheck returns when a backup is due or a pending one is to be polled.
func (s backupStep) nextCheck(cluster *v1alpha1.Cluster, now time.Time) time.Time {
	again, remembered := s.backed.checks.Get(cluster.UID)
	backups := cluster.Status.Backup.Backups
	if len(backups) == 0 || slices.ContainsFunc(backups, isPending) {
		if remembered {
			return again
		}
		return now
	}
	if due := backups[0].Time.Add(intervalOf(cluster)); due.After(again) {
		return due // Also if the interval was edited.
	}
	return again
}

// check takes and deletes the backups that are due, and returns when to check again.
func (s backupStep) check(ctx context.Context, cluster *v1alpha1.Cluster, now time.Time) time.Time {
	facts := backupFacts{
		now: now, interval: intervalOf(cluster), keep: int(cmp.Or(cluster.Spec.Backup.Keep, backupsKept)),
		healthy: s.healthySlots(cluster), needed: cluster.Spec.ControlPlane.RestoreSnapshot,
	}
	next, err := s.backUp(ctx, cluster, facts)
	if err != nil {
		next = now.Add(backupRetry)
		s.backupFailed(cluster, "The volumes of etcd cannot be backed up: "+awsapi.Explain(err).Message)
	}
	s.backed.checks.Keep(cluster.UID, next)
	return next
}

func (s backupStep) backUp(ctx context.Context, cluster *v1alpha1.Cluster, facts backupFacts) (time.Time, error) {
	if turn(facts.healthy, noBackup) == noBackup && !slices.ContainsFunc(cluster.Status.Backup.Backups, isPending) {
		setBackedUp(cluster, metav1.ConditionFalse, "NoHealthySlot", "A backup is due. It starts when the node of a slot is Ready.")
		return facts.now.Add(time.Minute), nil
	}
	var err error
	if facts.backups, err = s.backups(ctx, cluster); err != nil {
		return facts.now, err
	}
	plan := planBackup(facts)
	if plan.slot != noBackup {
		if _, err := s.snapshot(ctx, cluster, plan.slot, backupByInterval); err != nil {
			return facts.now, err
		}
		if facts.backups, err = s.backups(ctx, cluster); err != nil {
			return facts.now, err
		}
		plan = planBackup(facts)
	}
	for _, id := range plan.remove {
		_, err := s.options.Clients.EC2(s.target(cluster)).DeleteSnapshot(ctx, &ec2.DeleteSnapshotInput{SnapshotId: &id})
		if err != nil && awsapi.Code(err) != snapshotGone {
			return facts.now, fmt.Errorf("delete the backup %s, which exceeds spec.backup.keep: %w", id, err)
		}
		facts.backups = slices.DeleteFunc(facts.backups, func(b v1alpha1.Backup) bool { return b.Snapshot == id })
	}
	show(cluster, facts.backups)
	return plan.next, nil
}

// show writes the backups to the status.
func show(cluster *v1alpha1.Cluster, backups []v1alpha1.Backup) {
	if cluster.Status.Backup == nil {
		cluster.Status.Backup = &v1alpha1.BackupStatus{}
	}
	cluster.Status.Backup.Backups = backups
	i := slices.IndexFunc(backups, func(b v1alpha1.Backup) bool { return b.State == snapshotCompleted })
	switch {
	case i >= 0:
		cluster.Status.Backup.LastTime = &backups[i].Time
	case len(backups) == 0:
		return
	}
	switch newest := backups[0]; {
	case newest.State == snapshotCompleted:
		setBackedUp(
			cluster,
			metav1.ConditionTrue,
			"BackedUp",
			fmt.Sprintf("The last backup is %s, of slot %d.", newest.Snapshot, newest.Slot),
		)
	case i < 0:
		setBackedUp(
			cluster,
			metav1.ConditionFalse,
			"BackingUp",
			fmt.Sprintf("The first backup, %s of slot %d, is in progress.", newest.Snapshot, newest.Slot),
		)
	}
}

func setBackedUp(cluster *v1alpha1.Cluster, status metav1.ConditionStatus, reason, message string) {
	operatorkit.SetCondition(cluster, metav1.Condition{Type: conditionBackedUp, Status: status, Reason: reason, Message: message})
}

// backupFailed reports a failure in the condition and an Event.
func (o *operator) backupFailed(cluster *v1alpha1.Cluster, message string) {
	setBackedUp(cluster, metav1.ConditionFalse, reasonBackupFailed, message)
	o.recorder.Eventf(cluster, nil, corev1.EventTypeWarning, reasonBackupFailed, "Backup", "%s", message)
}

// EnsureDeleted has nothing to do: package cleanup deletes or keeps the backups together with the
// final snapshots of the volumes.
func (s backupStep) EnsureDeleted(_ context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	operatorkit.RemoveCondition(cluster, conditionBackedUp)
	return operatorkit.Done()
}

func isPending(b v1alpha1.Backup) bool { return b.State == snapshotPending }

func intervalOf(cluster *v1alpha1.Cluster) time.Duration {
	if interval := cluster.Spec.Backup.Interval; interval != nil {
		return interval.Duration
	}
	return backupInterval
}

// healthySlots reports for each slot whether its node is Ready, which requires that its etcd member
// is part of the quorum.
func (o *operator) healthySlots(cluster *v1alpha1.Cluster) []bool {
	healthy := make([]bool, cluster.Spec.ControlPlane.Replicas)
	connection := o.options.Workload.Get(keyOf(cluster))
	if connection == nil {
		return healthy
	}
	if reachable, _ := connection.Reachable(); !reachable {
		return healthy
	}
	for _, node := range connection.Nodes() {
		if node.Ready && node.Slot >= 0 && node.Slot < len(healthy) {
			healthy[node.Slot] = true
		}
	}
	return healthy
}

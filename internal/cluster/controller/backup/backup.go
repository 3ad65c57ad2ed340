package backup

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/cache"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/conditions"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/owner"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

const (
	reasonBackupFailed = "BackupFailed"
	// SnapshotGone is EC2's error code for a snapshot that does not exist.
	SnapshotGone = "InvalidSnapshot.NotFound"
)

// Options configure [Backups]. All are required.
type Options struct {
	// EC2 returns the client of a Cluster's account and region.
	EC2      func(*v1alpha1.Cluster) awsapi.EC2
	Clock    clock.PassiveClock
	Recorder events.EventRecorder
	// Owner is the operator's name in tags.
	Owner owner.Operator
	// Confirm ensures that the outputs in the Cluster's status, which name the volumes, are its
	// own.
	Confirm func(context.Context, *v1alpha1.Cluster) error
}

// Backups keeps snapshots of the Clusters' etcd volumes. A failed backup is reported and blocks no
// other step. It caches per Cluster when to check its backups next, and the latest snapshot
// created.
type Backups struct {
	options Options
	checks  *cache.Keyed[types.UID, time.Time]
	made    *cache.Keyed[types.UID, made]
}

// New returns backups that have checked no Cluster yet.
func New(options Options) *Backups {
	return &Backups{options: options, checks: cache.NewKeyed[types.UID, time.Time](), made: cache.NewKeyed[types.UID, made]()}
}

// Forget drops what is cached for a deleted Cluster.
func (b *Backups) Forget(uid types.UID) {
	b.checks.Drop(uid)
	b.made.Drop(uid)
}

// Ensure takes and deletes the backups that are due. It never blocks the pipeline and calls EC2
// only when a backup is due. Healthy reports for each slot whether its node is Ready.
func (b *Backups) Ensure(ctx context.Context, cluster *v1alpha1.Cluster, healthy []bool) operatorkit.Outcome {
	status := cluster.Status.Backup
	switch {
	case cluster.Spec.Backup.Disabled:
		if status != nil {
			status.NextTime = nil
		}
		setBackedUp(cluster, metav1.ConditionFalse, "Disabled", "Backups are off, by spec.backup.disabled.")
		return operatorkit.Done()
	case cluster.Status.Version == "" && slices.Contains(healthy, false):
		// A cluster that was never up has nothing to back up. A later step of this reconcile may
		// find it up.
		return operatorkit.Done().RequeueAfter(2 * minBackupPoll)
	case status == nil:
		status = &v1alpha1.BackupStatus{}
		cluster.Status.Backup = status
	}
	now := b.options.Clock.Now()
	at := b.nextCheck(cluster, now)
	if !at.After(now) {
		at = b.check(ctx, cluster, healthy, now)
	}
	status.NextTime = nil
	if !slices.ContainsFunc(status.Backups, isPending) {
		status.NextTime = &metav1.Time{Time: at.Truncate(time.Second)}
	}
	return operatorkit.Done().RequeueAfter(max(at.Sub(now), minBackupPoll))
}

// nextCheck returns when a backup is due or a pending one is to be polled.
func (b *Backups) nextCheck(cluster *v1alpha1.Cluster, now time.Time) time.Time {
	again, remembered := b.checks.Get(cluster.UID)
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
func (b *Backups) check(ctx context.Context, cluster *v1alpha1.Cluster, healthy []bool, now time.Time) time.Time {
	facts := backupFacts{
		now: now, interval: intervalOf(cluster), keep: int(cmp.Or(cluster.Spec.Backup.Keep, backupsKept)),
		healthy: healthy, needed: cluster.Spec.ControlPlane.RestoreSnapshot,
	}
	next, err := b.backUp(ctx, cluster, facts)
	if err != nil {
		next = now.Add(backupRetry)
		b.backupFailed(cluster, "The volumes of etcd cannot be backed up: "+awsapi.Explain(err).Message)
	}
	b.checks.Keep(cluster.UID, next)
	return next
}

func (b *Backups) backUp(ctx context.Context, cluster *v1alpha1.Cluster, facts backupFacts) (time.Time, error) {
	if turn(facts.healthy, noBackup) == noBackup && !slices.ContainsFunc(cluster.Status.Backup.Backups, isPending) {
		setBackedUp(cluster, metav1.ConditionFalse, "NoHealthySlot", "A backup is due. It starts when the node of a slot is Ready.")
		return facts.now.Add(time.Minute), nil
	}
	var err error
	if facts.backups, err = b.backups(ctx, cluster); err != nil {
		return facts.now, err
	}
	plan := planBackup(facts)
	if plan.slot != noBackup {
		if _, err := b.snapshot(ctx, cluster, plan.slot, backupByInterval); err != nil {
			return facts.now, err
		}
		if facts.backups, err = b.backups(ctx, cluster); err != nil {
			return facts.now, err
		}
		plan = planBackup(facts)
	}
	for _, id := range plan.remove {
		_, err := b.options.EC2(cluster).DeleteSnapshot(ctx, &ec2.DeleteSnapshotInput{SnapshotId: &id})
		if err != nil && awsapi.Code(err) != SnapshotGone {
			return facts.now, fmt.Errorf("delete the backup %s, which exceeds spec.backup.keep: %w", id, err)
		}
		facts.backups = slices.DeleteFunc(facts.backups, func(one v1alpha1.Backup) bool { return one.Snapshot == id })
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
			cluster, metav1.ConditionTrue, "BackedUp", fmt.Sprintf("The last backup is %s, of slot %d.", newest.Snapshot, newest.Slot),
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
	operatorkit.SetCondition(cluster, metav1.Condition{Type: conditions.BackedUp, Status: status, Reason: reason, Message: message})
}

// backupFailed reports a failure in the condition and an Event.
func (b *Backups) backupFailed(cluster *v1alpha1.Cluster, message string) {
	setBackedUp(cluster, metav1.ConditionFalse, reasonBackupFailed, message)
	b.options.Recorder.Eventf(cluster, nil, corev1.EventTypeWarning, reasonBackupFailed, "Backup", "%s", message)
}

// Delete removes the condition. Package cleanup deletes or keeps the backups together with the
// final snapshots of the volumes.
func (b *Backups) Delete(cluster *v1alpha1.Cluster) {
	operatorkit.RemoveCondition(cluster, conditions.BackedUp)
}

func isPending(b v1alpha1.Backup) bool { return b.State == snapshotPending }

func intervalOf(cluster *v1alpha1.Cluster) time.Duration {
	if interval := cluster.Spec.Backup.Interval; interval != nil {
		return interval.Duration
	}
	return backupInterval
}

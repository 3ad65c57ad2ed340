package bucketbackups

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/cache"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/conditions"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/etcdbackup"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// Reasons of the condition BackedUpToBucket.
const (
	reasonBackedUp = "BackedUp"
	reasonNone     = "NoBackup"
	reasonLate     = "BackupLate"
	reasonUnknown  = "BackupsNotListed"
)

const (
	// again is when to list the backups again if the next one is due or late, or they could not be
	// listed.
	again = 10 * time.Minute
	// findOut says where a slot says why it makes no backup.
	findOut = "See journalctl -u nodeup-backup on the control plane's nodes."
)

// Options configure [Checks]. All are required.
type Options struct {
	// S3 returns the client of a Cluster's account and region.
	S3    func(*v1alpha1.Cluster) awsapi.S3
	Clock clock.PassiveClock
	// Confirm ensures that the outputs in the Cluster's status, which name the bucket, are its own.
	Confirm func(context.Context, *v1alpha1.Cluster) error
}

// Checks lists the backups in the buckets of Clusters when another one should exist. It remembers
// when that is.
type Checks struct {
	options Options
	next    *cache.Keyed[types.UID, due]
}

// due is when to list the backups of a Cluster again, which are made at an interval.
type due struct {
	at       time.Time
	interval time.Duration
}

// New returns checks that have listed no backups yet.
func New(options Options) *Checks {
	return &Checks{options: options, next: cache.NewKeyed[types.UID, due]()}
}

// Forget drops what is remembered of a deleted Cluster.
func (c *Checks) Forget(uid types.UID) { c.next.Drop(uid) }

// Ensure sets the condition BackedUpToBucket and status.backup.bucket of a Cluster whose slots make
// backups, and removes them from others. It makes no Cluster wait or fail.
func (c *Checks) Ensure(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	switch {
	case cluster.Spec.Backup.Bucket == nil:
		c.Delete(cluster)
		return operatorkit.Done()
	case cluster.Status.Version == "": // A cluster that was never up has nothing to back up.
		return operatorkit.Done().RequeueAfter(time.Minute)
	}
	now, interval := c.options.Clock.Now(), model.SpecOf(cluster).Backup.Bucket.Interval.Duration
	next, ok := c.next.Get(cluster.UID)
	shown := operatorkit.FindCondition(cluster, conditions.BackedUpToBucket) != nil
	if !ok || !shown || next.interval != interval || !next.at.After(now) {
		next = due{at: c.check(ctx, cluster, interval, now), interval: interval}
		c.next.Keep(cluster.UID, next)
	}
	return operatorkit.Done().RequeueAfter(next.at.Sub(now))
}

// Delete removes the condition and the status, also those of a Cluster that is deleted.
func (c *Checks) Delete(cluster *v1alpha1.Cluster) {
	operatorkit.RemoveCondition(cluster, conditions.BackedUpToBucket)
	if cluster.Status.Backup != nil {
		cluster.Status.Backup.Bucket = nil
	}
	c.Forget(cluster.UID)
}

// check lists the backups, and returns when to do so again.
func (c *Checks) check(ctx context.Context, cluster *v1alpha1.Cluster, interval time.Duration, now time.Time) time.Time {
	backups, err := c.list(ctx, cluster, now)
	if err != nil {
		set(cluster, metav1.ConditionUnknown, reasonUnknown, "The backups in the bucket cannot be listed: "+awsapi.Explain(err).Message)
		return now.Add(again)
	}
	if cluster.Status.Backup == nil {
		cluster.Status.Backup = &v1alpha1.BackupStatus{}
	}
	cluster.Status.Backup.Bucket = nil
	if len(backups) == 0 {
		set(cluster, metav1.ConditionFalse, reasonNone, "The bucket has no backup of etcd yet. "+findOut)
		return now.Add(again)
	}
	newest := backups[0]
	cluster.Status.Backup.Bucket = &v1alpha1.BucketBackups{
		LastTime: metav1.NewTime(newest.Time), LastKey: newest.Key, Count: int32(len(backups)), //nolint:gosec // a bucket keeps at most 500
	}
	if etcdbackup.IsLate(backups, interval, now) {
		set(cluster, metav1.ConditionFalse, reasonLate, fmt.Sprintf(
			"The newest backup of etcd in the bucket, %s, is more than two intervals of %s old. %s",
			newest.Key, duration.HumanDuration(interval), findOut,
		))
		return now.Add(again)
	}
	set(cluster, metav1.ConditionTrue, reasonBackedUp, fmt.Sprintf("The newest backup of etcd in the bucket is %s.", newest.Key))
	// All other slots had their turn by then.
	made := newest.Time.Add(interval + time.Duration(cluster.Spec.ControlPlane.Slots())*etcdbackup.TurnLength)
	if made.Before(now.Add(again)) {
		return now.Add(again)
	}
	return made
}

// list returns the backups in the Cluster's own bucket, the newest first.
func (c *Checks) list(ctx context.Context, cluster *v1alpha1.Cluster, now time.Time) ([]etcdbackup.Backup, error) {
	if err := c.options.Confirm(ctx, cluster); err != nil {
		return nil, err
	}
	return etcdbackup.List(ctx, c.options.S3(cluster), cluster.Status.Outputs[model.OutputBucket], "", now) //nolint:wrapcheck // explained
}

func set(cluster *v1alpha1.Cluster, status metav1.ConditionStatus, reason, message string) {
	operatorkit.SetCondition(cluster, metav1.Condition{Type: conditions.BackedUpToBucket, Status: status, Reason: reason, Message: message})
}

package controller

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/bucket"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/etcdvolumes"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/instances"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/stackcache"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// errNotPrepared prevents a change from being sent. The preparation's outcome contains the reason.
var errNotPrepared = errors.New("the change is not prepared yet")

// A restore re-creates the etcd volumes of all slots from one snapshot. The base stack replaces the
// existing volumes. That is safe in one order only:
//
//   1. The base stack's change is allowed and approved, and the snapshot and all that slots need for it
//      exist. Until then nothing is changed.
//   2. The slots' stacks are deleted. Remaining instances are terminated. Now nothing writes to the old
//      volumes, and CloudFormation can delete them (it keeps a final snapshot of each), which it could
//      not while they are attached.
//   3. The base stack is updated. If that fails, it rolls back to the old volumes, which it has not
//      deleted yet. The next edit decides: another snapshot, or the previous value to keep the cluster
//      as it was.
//   4. The slots' stacks are created like those of a new cluster. Their instances use only volumes of
//      that snapshot, see [model.EtcdSlotTag], and create their etcd members on their own.
//
// Volumes and instances that were deleted outside CloudFormation count as deleted.

// restoring returns the snapshot that the Cluster's volumes are yet to be restored from, "" if
// none.
func restoring(cluster *v1alpha1.Cluster, known *record.Stack) string {
	if wanted := cluster.Spec.ControlPlane.RestoreSnapshot; wanted != known.Restored {
		return wanted
	}
	return ""
}

// keepsRestored is done unless the spec no longer names the snapshot that the volumes were created
// from: without it, the volumes would be replaced by empty ones.
func (o *operator) keepsRestored(cluster *v1alpha1.Cluster) operatorkit.Outcome {
	known, err := record.Decode(record.Find(cluster, model.BaseStackName(cluster.Name)))
	if err != nil {
		return operatorkit.Fail(err)
	}
	if known.Restored == "" || cluster.Spec.ControlPlane.RestoreSnapshot != "" {
		return operatorkit.Done()
	}
	return operatorkit.Stall("RestoreSnapshotMissing", fmt.Sprintf(
		"The etcd volumes were created from snapshot %s. Without it in spec.controlPlane.restoreSnapshot, empty volumes would replace them. Set the field to that snapshot again.",
		known.Restored,
	))
}

// restored records that the base stack and its volumes are in place. It drops the bootstrap token,
// which belongs to the previous etcd data, so that another is created.
func (o *operator) restored(cluster *v1alpha1.Cluster, architecture v1alpha1.Architecture) error {
	status := record.FindOrAdd(cluster, model.BaseStackName(cluster.Name))
	known, err := record.Decode(status)
	if err != nil {
		return err
	}
	if restoring(cluster, &known) == "" {
		return nil
	}
	known.Restored = cluster.Spec.ControlPlane.RestoreSnapshot
	if err := o.chooseRestoreProgram(cluster, architecture); err != nil {
		return err
	}
	known.Token, known.TokenRenewal = "", nil
	return record.Encode(status, known)
}

// prepareRestore is done when the base stack may replace the volumes.
func (o *operator) prepareRestore(
	ctx context.Context,
	cluster *v1alpha1.Cluster,
	resolved *model.Cluster,
	known *record.Stack,
) operatorkit.Outcome {
	snapshot := restoring(cluster, known)
	if snapshot == "" {
		return operatorkit.Done()
	}
	if _, err := o.nodeup.FindRestore(resolved.ControlPlaneArchitecture); err != nil {
		return lackingNodeup(err)
	}
	if outcome := o.volumes.CheckSnapshot(ctx, cluster, snapshot, resolved.Spec.ControlPlane.EtcdVolume.SizeGiB); !outcome.IsDone() {
		return outcome
	}
	if known.Digest == "" { // A new cluster has no instances yet.
		return operatorkit.Done()
	}
	if outcome := o.deleteSlots(ctx, cluster); !outcome.IsDone() {
		return outcome
	}
	return o.volumes.Free(ctx, cluster)
}

// chooseRestoreProgram records the hash of the program that restores the Cluster. It is part of the
// slots' bundles, so it stays the same when another operator version ships another program.
func (o *operator) chooseRestoreProgram(cluster *v1alpha1.Cluster, architecture v1alpha1.Architecture) error {
	if cluster.Spec.ControlPlane.RestoreSnapshot == "" {
		return nil
	}
	file, err := o.nodeup.FindRestore(architecture)
	if err != nil {
		return err
	}
	sum, err := file.Sum()
	if err != nil {
		return err
	}
	if cluster.Status.Etcd == nil {
		cluster.Status.Etcd = &v1alpha1.EtcdStatus{}
	}
	cluster.Status.Etcd.RestoreProgram = sum
	return nil
}

// putRestore stores the program with which slots restore their etcd members from the snapshot. It
// does not overwrite the recorded program with one of another hash.
func (o *operator) putRestore(
	ctx context.Context,
	cluster *v1alpha1.Cluster,
	to bucket.Bucket,
	snapshot string,
	architecture v1alpha1.Architecture,
) error {
	file, err := o.nodeup.FindRestore(architecture)
	if err != nil {
		return err
	}
	sum, err := file.Sum()
	if err != nil {
		return err
	}
	if etcd := cluster.Status.Etcd; etcd != nil && etcd.RestoreProgram != "" && etcd.RestoreProgram != sum {
		there, err := to.Has(ctx, bundle.RestoreKey(snapshot, string(architecture)))
		if err != nil || there {
			return err
		}
		etcd.RestoreProgram = sum // No slot has booted with the other one.
	}
	body, err := file.Open()
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }() // It was only read.
	return to.Put(ctx, bundle.RestoreKey(snapshot, string(architecture)), "application/octet-stream", body)
}

// deleteSlots deletes the stacks of all slots.
func (o *operator) deleteSlots(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	var all []operatorkit.Outcome
	begun := true
	for slot := range int(cluster.Spec.ControlPlane.Slots()) {
		name := model.SlotStackName(cluster.Name, slot)
		status := record.Find(cluster, name)
		if status == nil || isDeleted(status) {
			continue
		}
		o.own(cluster, name)
		o.stacks.Unsettle(stackcache.Key{UID: cluster.UID, Stack: name})
		options := stack.DeleteOptions{OwnerTags: o.owner.SlotTags(cluster, slot)}
		outcome := o.apply.Delete(ctx, cluster, o.targets.Of(cluster), name, status, options)
		known, err := record.Decode(status)
		begun = begun && err == nil && known.Deleting
		all = append(all, outcome)
	}
	if whole := outcomes.Aggregate(all); !whole.IsDone() {
		if begun { // No instance is replaced anymore, so terminate them now.
			if err := o.volumes.TerminateSlots(ctx, cluster); err != nil {
				return outcomes.Failed(err)
			}
		}
		return whole.Explain(
			etcdvolumes.ReasonRestoring,
			"The control plane is being deleted to restore it from "+cluster.Spec.ControlPlane.RestoreSnapshot+". "+whole.Message(),
		)
	}
	return operatorkit.Done()
}

// forgetSlots resets the status of deleted stacks, so that they are created again.
func forgetSlots(cluster *v1alpha1.Cluster) {
	for i := range cluster.Status.Stacks {
		status := &cluster.Status.Stacks[i]
		slot := instances.SlotOf(cluster, status.Name)
		if slot >= 0 && slot < int(cluster.Spec.ControlPlane.Slots()) && isDeleted(status) {
			*status = v1alpha1.StackStatus{Name: status.Name}
		}
	}
}

package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/backup"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/bucket"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

const (
	// reasonRestoring is the reason of a cluster that is down while its volumes are restored.
	reasonRestoring = "Restoring"
	// restorePoll is the interval at which terminating instances and detaching volumes are polled.
	restorePoll = 5 * time.Second
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
	if outcome := o.checkSnapshot(ctx, cluster, snapshot, resolved.Spec.ControlPlane.EtcdVolume.SizeGiB); !outcome.IsDone() {
		return outcome
	}
	if known.Digest == "" { // A new cluster has no instances yet.
		return operatorkit.Done()
	}
	if outcome := o.deleteSlots(ctx, cluster); !outcome.IsDone() {
		return outcome
	}
	return o.freeVolumes(ctx, cluster)
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

// checkSnapshot is done when volumes can be created from the snapshot.
func (o *operator) checkSnapshot(ctx context.Context, cluster *v1alpha1.Cluster, id string, size int32) operatorkit.Outcome {
	out, err := o.options.Clients.EC2(o.target(cluster)).DescribeSnapshots(ctx, &ec2.DescribeSnapshotsInput{SnapshotIds: []string{id}})
	if awsapi.Code(err) == backup.SnapshotGone || err == nil && len(out.Snapshots) == 0 {
		return operatorkit.Stall("SnapshotNotFound", fmt.Sprintf(
			"There is no snapshot %s in %s. Set spec.controlPlane.restoreSnapshot to one of status.backup.backups. Nothing was changed.",
			id,
			cluster.Spec.Region,
		))
	}
	if err != nil {
		return outcomes.Failed(err)
	}
	found := &out.Snapshots[0]
	owner := ""
	for _, tag := range found.Tags {
		if aws.ToString(tag.Key) == model.TagCluster {
			owner = aws.ToString(tag.Value)
		}
	}
	switch {
	case found.State == types.SnapshotStateError:
		return operatorkit.Stall(
			"SnapshotFailed",
			fmt.Sprintf(
				"The snapshot %s failed and contains no data. Set spec.controlPlane.restoreSnapshot to another. Nothing was changed.",
				id,
			),
		)
	case found.State != types.SnapshotStateCompleted:
		return operatorkit.Wait(
			restorePoll,
			"SnapshotPending",
			fmt.Sprintf("The snapshot %s is not complete yet. The restore starts when it is.", id),
		)
	case owner != "" && owner != cluster.Name:
		return operatorkit.Stall(
			"SnapshotOfAnother",
			fmt.Sprintf(
				"The snapshot %s belongs to the cluster %s. Set spec.controlPlane.restoreSnapshot to one of this cluster's. Nothing was changed.",
				id,
				owner,
			),
		)
	case aws.ToInt32(found.VolumeSize) > size:
		return operatorkit.Stall("SnapshotTooLarge", fmt.Sprintf(
			"The snapshot %s is of a volume of %d GiB. Set spec.controlPlane.etcdVolume.sizeGiB to at least that size. Nothing was changed.",
			id,
			aws.ToInt32(found.VolumeSize),
		))
	default:
		return operatorkit.Done()
	}
}

// deleteSlots deletes the stacks of all slots.
func (o *operator) deleteSlots(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	var all []operatorkit.Outcome
	begun := true
	for slot := range int(cluster.Spec.ControlPlane.Replicas) {
		name := model.SlotStackName(cluster.Name, slot)
		status := record.Find(cluster, name)
		if status == nil || isDeleted(status) {
			continue
		}
		o.own(cluster, name)
		o.settledInputs.Drop(stackKey{cluster.UID, name})
		outcome := o.apply.Delete(ctx, cluster, o.target(cluster), name, status, stack.DeleteOptions{OwnerTags: o.owner.SlotTags(cluster, slot)})
		known, err := record.Decode(status)
		begun = begun && err == nil && known.Deleting
		all = append(all, outcome)
	}
	if whole := outcomes.Aggregate(all); !whole.IsDone() {
		if begun { // No instance is replaced anymore, so terminate them now.
			if err := o.endSlots(ctx, cluster); err != nil {
				return outcomes.Failed(err)
			}
		}
		return whole.Explain(
			reasonRestoring,
			"The control plane is being deleted to restore it from "+cluster.Spec.ControlPlane.RestoreSnapshot+". "+whole.Message(),
		)
	}
	return operatorkit.Done()
}

// forgetSlots resets the status of deleted stacks, so that they are created again.
func forgetSlots(cluster *v1alpha1.Cluster) {
	for i := range cluster.Status.Stacks {
		if status := &cluster.Status.Stacks[i]; status.Name != model.BaseStackName(cluster.Name) && isDeleted(status) {
			*status = v1alpha1.StackStatus{Name: status.Name}
		}
	}
}

// slotInstances returns the slots' instances that are not terminated yet, and those of them that
// are not shutting down.
func (o *operator) slotInstances(ctx context.Context, cluster *v1alpha1.Cluster) (all, alive []string, err error) {
	filter := func(name string, values ...string) types.Filter { return types.Filter{Name: &name, Values: values} }
	pages := ec2.NewDescribeInstancesPaginator(
		o.options.Clients.EC2(o.target(cluster)),
		&ec2.DescribeInstancesInput{Filters: []types.Filter{
			filter("tag:"+model.TagOwnedPrefix+cluster.Name, model.TagOwned), filter("tag:"+model.TagNamespace, cluster.Namespace),
			filter("tag:"+model.TagOperator, o.options.ClusterName), filter("tag:"+model.TagRole, model.RoleControlPlane),
			filter("instance-state-name", "pending", "running", "stopping", "stopped", "shutting-down"),
		}},
	)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("list the slots' instances: %w", err)
		}
		for i := range page.Reservations {
			for j := range page.Reservations[i].Instances {
				one := &page.Reservations[i].Instances[j]
				all = append(all, aws.ToString(one.InstanceId))
				if one.State != nil && one.State.Name != types.InstanceStateNameShuttingDown {
					alive = append(alive, aws.ToString(one.InstanceId))
				}
			}
		}
	}
	return all, alive, nil
}

// endSlots terminates the slots' instances.
func (o *operator) endSlots(ctx context.Context, cluster *v1alpha1.Cluster) error {
	_, alive, err := o.slotInstances(ctx, cluster)
	if err != nil || len(alive) == 0 {
		return err
	}
	if _, err := o.options.Clients.EC2(o.target(cluster)).TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: alive}); err != nil {
		return fmt.Errorf("terminate the slots' instances %s: %w", strings.Join(alive, ", "), err)
	}
	return nil
}

// freeVolumes is done when no instance has the volumes to delete attached. An instance may have
// outlived its group.
func (o *operator) freeVolumes(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	if err := o.endSlots(ctx, cluster); err != nil {
		return outcomes.Failed(err)
	}
	all, _, err := o.slotInstances(ctx, cluster)
	if err != nil {
		return outcomes.Failed(err)
	}
	if len(all) > 0 {
		return operatorkit.Wait(
			restorePoll,
			reasonRestoring,
			fmt.Sprintf("Waiting for the instances %s, which use the etcd volumes, to terminate.", strings.Join(all, ", ")),
		)
	}
	var volumes []string
	for slot := range int(cluster.Spec.ControlPlane.Replicas) {
		if id := cluster.Status.Outputs[model.OutputEtcdVolume(slot)]; id != "" {
			volumes = append(volumes, id)
		}
	}
	out, err := o.options.Clients.EC2(o.target(cluster)).DescribeVolumes(ctx, &ec2.DescribeVolumesInput{
		Filters: []types.Filter{{Name: aws.String("volume-id"), Values: volumes}}, // The filter omits volumes that do not exist.
	})
	if err != nil {
		return outcomes.Failed(fmt.Errorf("describe etcd's volumes: %w", err))
	}
	for i := range out.Volumes {
		held := slices.IndexFunc(
			out.Volumes[i].Attachments,
			func(a types.VolumeAttachment) bool { return a.State != types.VolumeAttachmentStateDetached },
		)
		if held >= 0 {
			return operatorkit.Wait(restorePoll, "VolumeInUse", fmt.Sprintf("The volume %s is attached to %s. If that instance is not terminating, detach the volume.",
				aws.ToString(out.Volumes[i].VolumeId), aws.ToString(out.Volumes[i].Attachments[held].InstanceId))).
				Degraded()
		}
	}
	return operatorkit.Done()
}

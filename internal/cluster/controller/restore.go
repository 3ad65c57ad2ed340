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
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

const (
	// reasonRestoring is why a cluster is down while its volumes are made anew.
	reasonRestoring = "Restoring"
	// restoreAgain is when to look again at machines and volumes that are on their way out.
	restoreAgain = 5 * time.Second
)

// errNotPrepared keeps a change from being sent. Why is told by the outcome of what prepares it.
var errNotPrepared = errors.New("the change is not prepared yet")

// A restore makes the etcd volumes of all slots anew from one snapshot, by the base stack, which gets new volumes in place of those
// that there are. That is safe in one order only:
//
//  1. The base stack's change is allowed and approved, the snapshot is there, and so is what slots need for it. Until then
//     nothing has happened.
//  2. The slots' stacks are deleted. Machines that do not go with them are ended. Now nothing writes to the old volumes, and
//     CloudFormation can delete them (it keeps a last snapshot of each), which it could not while they are attached.
//  3. The base stack is changed. If that fails, it goes back to the old volumes, which it has not deleted yet, and the next
//     edit decides: another snapshot, or the field as it was, for the cluster as it was.
//  4. The slots' stacks are made as those of a new cluster are. Their machines take volumes of that snapshot only, see
//     [model.EtcdSlotTag], and make their members by themselves.
//
// What CloudFormation does not know makes no difference: volumes and machines that somebody deleted are as good as gone.

// restoring returns the snapshot that the Cluster's volumes are to be made of but are not yet, "" if they are as they should be.
func restoring(cluster *v1alpha1.Cluster, known *remembered) string {
	if wanted := cluster.Spec.ControlPlane.RestoreSnapshot; wanted != known.Restored {
		return wanted
	}
	return ""
}

// keepsRestored is done unless the snapshot that the volumes were made of is not named any more: without it the volumes would be
// made anew and empty.
func (o *operator) keepsRestored(cluster *v1alpha1.Cluster) operatorkit.Outcome {
	known, err := recall(knownStack(cluster, model.BaseStackName(cluster.Name)))
	if err != nil {
		return operatorkit.Fail(err)
	}
	if known.Restored == "" || cluster.Spec.ControlPlane.RestoreSnapshot != "" {
		return operatorkit.Done()
	}
	return operatorkit.Stall("RestoreSnapshotMissing", fmt.Sprintf(
		"The volumes of etcd were made of %s, and without it in spec.controlPlane.restoreSnapshot they would be made anew and empty: put it back.", known.Restored))
}

// restored notes that the base stack is in place, and so are its volumes. The token that workers join with was one of the etcd
// before: another is made.
func (o *operator) restored(cluster *v1alpha1.Cluster, architecture v1alpha1.Architecture) error {
	status := stackOf(cluster, model.BaseStackName(cluster.Name))
	known, err := recall(status)
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
	return keep(status, known)
}

// prepareRestore is done when the base stack may make the volumes anew.
func (o *operator) prepareRestore(ctx context.Context, cluster *v1alpha1.Cluster, resolved *model.Cluster, known *remembered) operatorkit.Outcome {
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
	if known.Digest == "" { // A new cluster has no machines yet.
		return operatorkit.Done()
	}
	if outcome := o.deleteSlots(ctx, cluster); !outcome.IsDone() {
		return outcome
	}
	return o.freeVolumes(ctx, cluster)
}

// chooseRestoreProgram remembers the hash of the program that the Cluster is restored with. It is part of the slots' bundles, so it
// stays when another operator brings another program.
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

// putRestore stores the program by which slots make their members of the snapshot's data. A program of another hash than the
// remembered one is not put in its place.
func (o *operator) putRestore(ctx context.Context, cluster *v1alpha1.Cluster, to bucket, snapshot string, architecture v1alpha1.Architecture) error {
	file, err := o.nodeup.FindRestore(architecture)
	if err != nil {
		return err
	}
	sum, err := file.Sum()
	if err != nil {
		return err
	}
	if etcd := cluster.Status.Etcd; etcd != nil && etcd.RestoreProgram != "" && etcd.RestoreProgram != sum {
		there, err := to.has(ctx, bundle.RestoreKey(snapshot, string(architecture)))
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
	return to.put(ctx, bundle.RestoreKey(snapshot, string(architecture)), "application/octet-stream", body)
}

// checkSnapshot is done when volumes can be made of the snapshot.
func (o *operator) checkSnapshot(ctx context.Context, cluster *v1alpha1.Cluster, id string, size int32) operatorkit.Outcome {
	out, err := o.options.Clients.EC2(o.target(cluster)).DescribeSnapshots(ctx, &ec2.DescribeSnapshotsInput{SnapshotIds: []string{id}})
	if awsapi.Code(err) == snapshotGone || err == nil && len(out.Snapshots) == 0 {
		return operatorkit.Stall("SnapshotNotFound", fmt.Sprintf(
			"There is no snapshot %s in %s: name one of status.backup.backups in spec.controlPlane.restoreSnapshot. Nothing was changed.", id, cluster.Spec.Region))
	}
	if err != nil {
		return failed(err)
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
		return operatorkit.Stall("SnapshotFailed", fmt.Sprintf("The snapshot %s failed and holds nothing: name another in spec.controlPlane.restoreSnapshot. Nothing was changed.", id))
	case found.State != types.SnapshotStateCompleted:
		return operatorkit.Wait(restoreAgain, "SnapshotPending", fmt.Sprintf("The snapshot %s is not complete yet; the restore begins when it is.", id))
	case owner != "" && owner != cluster.Name:
		return operatorkit.Stall("SnapshotOfAnother", fmt.Sprintf("The snapshot %s is of the cluster %s: name one of this cluster's in spec.controlPlane.restoreSnapshot. Nothing was changed.", id, owner))
	case aws.ToInt32(found.VolumeSize) > size:
		return operatorkit.Stall("SnapshotTooLarge", fmt.Sprintf(
			"The snapshot %s is of a volume of %d GiB: raise spec.controlPlane.etcdVolume.sizeGiB to that. Nothing was changed.", id, aws.ToInt32(found.VolumeSize)))
	default:
		return operatorkit.Done()
	}
}

// deleteSlots deletes the stacks of all slots, and forgets them when they are gone.
func (o *operator) deleteSlots(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	var outcomes []operatorkit.Outcome
	begun := true
	for slot := range int(cluster.Spec.ControlPlane.Replicas) {
		name := model.SlotStackName(cluster.Name, slot)
		status := knownStack(cluster, name)
		if status == nil || isGone(status) {
			continue
		}
		o.own(cluster, name)
		o.settled.drop(stackKey{cluster.UID, name})
		outcome := o.deleteStack(ctx, cluster, o.target(cluster), name, status, stack.DeleteOptions{OwnerTags: o.slotTags(cluster, slot)})
		known, err := recall(status)
		begun = begun && err == nil && known.Deleting
		outcomes = append(outcomes, outcome)
	}
	if whole := together(outcomes); !whole.IsDone() {
		if begun { // None is replaced any more; they need not be waited for.
			if err := o.endSlots(ctx, cluster); err != nil {
				return failed(err)
			}
		}
		return whole.Explain(reasonRestoring, "The control plane is ended, to be restored from "+cluster.Spec.ControlPlane.RestoreSnapshot+". "+whole.Message())
	}
	return operatorkit.Done()
}

// forgetSlots forgets stacks that are gone, so that they are made anew.
func forgetSlots(cluster *v1alpha1.Cluster) {
	for i := range cluster.Status.Stacks {
		if status := &cluster.Status.Stacks[i]; status.Name != model.BaseStackName(cluster.Name) && isGone(status) {
			*status = v1alpha1.StackStatus{Name: status.Name}
		}
	}
}

// slotInstances returns the slots' instances that are not terminated yet, and those of them that nobody is ending.
func (o *operator) slotInstances(ctx context.Context, cluster *v1alpha1.Cluster) (all, alive []string, err error) {
	filter := func(name string, values ...string) types.Filter { return types.Filter{Name: &name, Values: values} }
	pages := ec2.NewDescribeInstancesPaginator(o.options.Clients.EC2(o.target(cluster)), &ec2.DescribeInstancesInput{Filters: []types.Filter{
		filter("tag:"+model.TagOwnedPrefix+cluster.Name, model.TagOwned), filter("tag:"+model.TagNamespace, cluster.Namespace),
		filter("tag:"+model.TagOperator, o.options.ClusterName), filter("tag:"+model.TagRole, model.RoleControlPlane),
		filter("instance-state-name", "pending", "running", "stopping", "stopped", "shutting-down"),
	}})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("look for the slots' machines: %w", err)
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

// endSlots ends the slots' machines.
func (o *operator) endSlots(ctx context.Context, cluster *v1alpha1.Cluster) error {
	_, alive, err := o.slotInstances(ctx, cluster)
	if err != nil || len(alive) == 0 {
		return err
	}
	if _, err := o.options.Clients.EC2(o.target(cluster)).TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: alive}); err != nil {
		return fmt.Errorf("end the slots' machines %s: %w", strings.Join(alive, ", "), err)
	}
	return nil
}

// freeVolumes is done when no machine has the volumes that are to go. A machine may have been kept when its group went.
func (o *operator) freeVolumes(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	if err := o.endSlots(ctx, cluster); err != nil {
		return failed(err)
	}
	all, _, err := o.slotInstances(ctx, cluster)
	if err != nil {
		return failed(err)
	}
	if len(all) > 0 {
		return operatorkit.Wait(restoreAgain, reasonRestoring, fmt.Sprintf("The machines %s have etcd's volumes and are on their way out.", strings.Join(all, ", ")))
	}
	var volumes []string
	for slot := range int(cluster.Spec.ControlPlane.Replicas) {
		if id := cluster.Status.Outputs[model.OutputEtcdVolume(slot)]; id != "" {
			volumes = append(volumes, id)
		}
	}
	out, err := o.options.Clients.EC2(o.target(cluster)).DescribeVolumes(ctx, &ec2.DescribeVolumesInput{
		Filters: []types.Filter{{Name: aws.String("volume-id"), Values: volumes}}, // Of those that are gone nothing is said.
	})
	if err != nil {
		return failed(fmt.Errorf("look at etcd's volumes: %w", err))
	}
	for i := range out.Volumes {
		held := slices.IndexFunc(out.Volumes[i].Attachments, func(a types.VolumeAttachment) bool { return a.State != types.VolumeAttachmentStateDetached })
		if held >= 0 {
			return operatorkit.Wait(restoreAgain, "VolumeInUse", fmt.Sprintf("The volume %s is attached to %s: if that is not on its way out, detach it.",
				aws.ToString(out.Volumes[i].VolumeId), aws.ToString(out.Volumes[i].Attachments[held].InstanceId))).Degraded()
		}
	}
	return operatorkit.Done()
}

package etcdvolumes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/backup"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

const (
	// ReasonRestoring is the reason of a cluster that is down while its volumes are restored.
	ReasonRestoring = "Restoring"
	// poll is the interval at which terminating instances and detaching volumes are polled.
	poll = 5 * time.Second
)

// CheckSnapshot is done when volumes can be created from the snapshot. It is repeated if EC2 does not
// find the snapshot, which may have been created just now.
// https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html
func (v *Volumes) CheckSnapshot(ctx context.Context, cluster *v1alpha1.Cluster, id string, size int32) operatorkit.Outcome {
	out, err := v.options.EC2(cluster).DescribeSnapshots(ctx, &ec2.DescribeSnapshotsInput{SnapshotIds: []string{id}})
	if awsapi.Code(err) == backup.SnapshotGone || err == nil && len(out.Snapshots) == 0 {
		return operatorkit.Stall("SnapshotNotFound", fmt.Sprintf(
			"There is no snapshot %s in %s. Set spec.controlPlane.restoreSnapshot to one of status.backup.backups. Nothing was changed.",
			id,
			cluster.Spec.Region,
		)).RequeueAfter(poll) // EC2 may not find a snapshot for some seconds after its creation
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
	case found.State == ec2types.SnapshotStateError:
		return operatorkit.Stall(
			"SnapshotFailed",
			fmt.Sprintf(
				"The snapshot %s failed and contains no data. Set spec.controlPlane.restoreSnapshot to another. Nothing was changed.",
				id,
			),
		)
	case found.State != ec2types.SnapshotStateCompleted:
		return operatorkit.Wait(
			poll,
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

// slotInstances returns the slots' instances that are not terminated yet, and those of them that
// are not shutting down.
func (v *Volumes) slotInstances(ctx context.Context, cluster *v1alpha1.Cluster) (all, alive []string, err error) {
	filter := func(name string, values ...string) ec2types.Filter {
		return ec2types.Filter{Name: &name, Values: values}
	}
	pages := ec2.NewDescribeInstancesPaginator(
		v.options.EC2(cluster),
		&ec2.DescribeInstancesInput{Filters: []ec2types.Filter{
			filter("tag:"+model.TagOwnedPrefix+cluster.Name, model.TagOwned), filter("tag:"+model.TagNamespace, cluster.Namespace),
			filter("tag:"+model.TagOperator, v.options.Operator), filter("tag:"+model.TagRole, model.RoleControlPlane),
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
				if one.State != nil && one.State.Name != ec2types.InstanceStateNameShuttingDown {
					alive = append(alive, aws.ToString(one.InstanceId))
				}
			}
		}
	}
	return all, alive, nil
}

// TerminateSlots terminates the slots' instances.
func (v *Volumes) TerminateSlots(ctx context.Context, cluster *v1alpha1.Cluster) error {
	_, alive, err := v.slotInstances(ctx, cluster)
	if err != nil || len(alive) == 0 {
		return err
	}
	if _, err := v.options.EC2(cluster).TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: alive}); err != nil {
		return fmt.Errorf("terminate the slots' instances %s: %w", strings.Join(alive, ", "), err)
	}
	return nil
}

// Free is done when no instance has the volumes to delete attached. An instance may have
// outlived its group.
func (v *Volumes) Free(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	if err := v.TerminateSlots(ctx, cluster); err != nil {
		return outcomes.Failed(err)
	}
	all, _, err := v.slotInstances(ctx, cluster)
	if err != nil {
		return outcomes.Failed(err)
	}
	if len(all) > 0 {
		return operatorkit.Wait(
			poll,
			ReasonRestoring,
			fmt.Sprintf("Waiting for the instances %s, which use the etcd volumes, to terminate.", strings.Join(all, ", ")),
		)
	}
	var volumes []string
	for slot := range int(cluster.Spec.ControlPlane.Slots()) {
		volumes = append(volumes, model.EtcdVolumes(cluster.Status.Outputs, slot)...)
	}
	out, err := v.options.EC2(cluster).DescribeVolumes(ctx, &ec2.DescribeVolumesInput{
		Filters: []ec2types.Filter{{Name: aws.String("volume-id"), Values: volumes}}, // The filter omits volumes that do not exist.
	})
	if err != nil {
		return outcomes.Failed(fmt.Errorf("describe etcd's volumes: %w", err))
	}
	for i := range out.Volumes {
		held := slices.IndexFunc(
			out.Volumes[i].Attachments,
			func(a ec2types.VolumeAttachment) bool { return a.State != ec2types.VolumeAttachmentStateDetached },
		)
		if held >= 0 {
			return operatorkit.Wait(poll, "VolumeInUse", fmt.Sprintf("The volume %s is attached to %s. If that instance is not terminating, detach the volume.",
				aws.ToString(out.Volumes[i].VolumeId), aws.ToString(out.Volumes[i].Attachments[held].InstanceId))).
				Degraded()
		}
	}
	return operatorkit.Done()
}

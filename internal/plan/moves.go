package plan

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/stacks"
)

// moves plans the slots whose etcd volumes are in another zone than the spec gives them: at the end, each has
// a volume of its own name there. It reports whether that changes the cluster's status, with which the
// cluster is resolved again.
func (d *draft) moves(ctx context.Context) (bool, error) {
	zones, err := d.volumeZones(ctx)
	if err != nil || len(zones) == 0 {
		return false, err
	}
	outputs, snapshot := d.in.Cluster.Status.Outputs, d.model.Spec.ControlPlane.RestoreSnapshot
	cluster := d.in.Cluster.DeepCopy()
	for _, slot := range d.model.Slots {
		state := model.EtcdVolumeOf(cluster.Status.Etcd, snapshot, slot.Index)
		first := outputs[model.OutputEtcdVolume(slot.Index)]
		from, next := zones[first], zones[outputs[model.OutputNextEtcdVolume(slot.Index)]]
		if from == "" || from == slot.SpecZone && next == "" || state.Lost == first {
			continue
		}
		if why := d.model.CannotMove(d.options.NoOperator); why != "" && next == "" {
			return false, fmt.Errorf("cluster %s: slot %d cannot move from %s to %s: %s", cluster.Name, slot.Index, from, slot.SpecZone, why)
		}
		state.Generation, _ = model.ParseEtcdGeneration(outputs[model.OutputEtcdGeneration(slot.Index)])
		state.Zone, state.MovesTo = "", ""
		left := state.Generation
		switch {
		case next == "" || next == slot.SpecZone:
			state.Generation++
			d.note("Slot %d moves from %s to %s: its etcd member is rebuilt from the others, on a blank volume. Slots move one at a time. When the "+
				"slot is healthy, the volume in %[2]s is deleted; CloudFormation takes a snapshot of it.", slot.Index, from, slot.SpecZone)
		case from == slot.SpecZone:
			left++
			d.note("Slot %d stays in %s, or returns there from %s, whose volume is deleted.", slot.Index, from, next)
		default:
			left++
			state.Zone = from
			d.note("Slot %d is moving from %s to %s. It first returns to %[2]s, as in this plan, and then moves to %[4]s.",
				slot.Index, from, next, slot.SpecZone)
		}
		d.left = append(d.left, model.EtcdVolumeID(slot.Index, snapshot, left))
		model.SetEtcdVolume(cluster, state)
	}
	d.in.Cluster = cluster
	return len(d.left) > 0, nil
}

// volumeZones returns the zones of the etcd volumes of the restored snapshot, by their IDs, as EC2 reports them.
func (d *draft) volumeZones(ctx context.Context) (map[string]string, error) {
	var ids []string
	tags := map[string]string{}
	for _, slot := range d.model.Slots {
		for _, id := range model.EtcdVolumes(d.in.Cluster.Status.Outputs, slot.Index) {
			ids = append(ids, id)
			tags[id] = model.EtcdSlotTag(slot.Index, d.model.Spec.ControlPlane.RestoreSnapshot)
		}
	}
	if len(ids) == 0 || d.options.Clients == nil || !d.in.Cluster.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	if stay, err := d.slotsStay(); err != nil || stay {
		return nil, err
	}
	out, err := d.options.Clients.EC2(d.target).DescribeVolumes(ctx, &ec2.DescribeVolumesInput{
		Filters: []types.Filter{{Name: aws.String("volume-id"), Values: ids}}, // The filter omits volumes that do not exist.
	})
	if err != nil {
		return nil, awsapi.Explain(err)
	}
	zones := map[string]string{}
	for i := range out.Volumes {
		id := aws.ToString(out.Volumes[i].VolumeId)
		if slices.ContainsFunc(out.Volumes[i].Tags, func(t types.Tag) bool {
			return aws.ToString(t.Key) == model.TagEtcdSlot && aws.ToString(t.Value) == tags[id]
		}) {
			zones[id] = aws.ToString(out.Volumes[i].AvailabilityZone)
		}
	}
	return zones, nil
}

// slotsStay reports whether the base stack does not change and no slot moves, so that nothing needs to be read from AWS.
func (d *draft) slotsStay() (bool, error) {
	if slices.ContainsFunc(d.model.Slots, func(s model.Slot) bool { return s.NextEtcdVolumeZone != "" }) {
		return false, nil
	}
	rendered, err := d.renderBase()
	if err != nil {
		return false, err
	}
	want := stacks.Desired(rendered)
	known, err := record.Decode(record.Find(d.in.Cluster, d.model.StackName))
	return isCurrent(&known, want.Digest()), err
}

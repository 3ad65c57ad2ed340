package etcdvolumes

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// volumes is what the base stack and EC2 say of a slot's volumes.
type volumes struct {
	// generation is that of the first volume, zone its zone; empty if EC2 does not find it.
	generation int32
	zone       string
	// next reports that the base stack has a second volume, nextZone is its zone.
	next     bool
	nextZone string
	// used and nextUsed report that an instance has the volume attached.
	used, nextUsed bool
}

// Place returns the states of the slots' volumes with which the base stack has each volume in the zone
// where EC2 reports it. A slot whose zone in the spec is another one gets a second volume there, unless it
// is leaving the cluster. It returns only the states that differ from those in the Cluster's status.
func (v *Volumes) Place(ctx context.Context, cluster *v1alpha1.Cluster, resolved *model.Cluster) ([]v1alpha1.EtcdVolumeStatus, error) {
	found, err := v.describe(ctx, cluster)
	if err != nil {
		return nil, err
	}
	var changed []v1alpha1.EtcdVolumeStatus
	snapshot, outputs := resolved.Spec.ControlPlane.RestoreSnapshot, cluster.Status.Outputs
	for i, slot := range resolved.AllSlots() {
		recorded := model.EtcdVolumeOf(cluster.Status.Etcd, snapshot, slot.Index)
		first := outputs[model.OutputEtcdVolume(slot.Index)]
		if first != "" && recorded.Lost == first { // It is being replaced.
			continue
		}
		is := volumes{next: outputs[model.OutputNextEtcdVolume(slot.Index)] != ""}
		is.generation, _ = model.ParseEtcdGeneration(outputs[model.OutputEtcdGeneration(slot.Index)])
		is.zone, is.used = stateOf(found[first], slot.Index, snapshot)
		is.nextZone, is.nextUsed = stateOf(found[outputs[model.OutputNextEtcdVolume(slot.Index)]], slot.Index, snapshot)
		is.next = is.next && (is.nextZone != "" || is.zone != "") // Otherwise they are of another snapshot.
		wanted := place(recorded, slot.SpecZone, is)
		if i >= len(resolved.Slots) && !is.next {
			wanted.MovesTo = ""
		}
		if first == "" {
			wanted.Zone, wanted.MovesTo = "", ""
		}
		if wanted != recorded {
			changed = append(changed, wanted)
		}
	}
	return changed, nil
}

// place returns the state of a slot's volumes that matches what exists. Only a volume that no instance
// uses may be dropped.
func place(recorded v1alpha1.EtcdVolumeStatus, specZone string, is volumes) v1alpha1.EtcdVolumeStatus {
	wanted := recorded
	switch {
	case !is.next && is.zone == "":
	case !is.next && is.zone == specZone:
		wanted.Zone, wanted.MovesTo = "", ""
	case !is.next:
		wanted.Zone, wanted.MovesTo = is.zone, specZone
	case drops(recorded, is):
	default:
		wanted.Generation = is.generation
		if is.zone != "" {
			wanted.Zone = is.zone
		}
		if is.nextZone != "" {
			wanted.MovesTo = is.nextZone
		}
	}
	return wanted
}

// drops reports whether the state drops one of two volumes, the other is in use where the state says, and
// the dropped one is not.
func drops(recorded v1alpha1.EtcdVolumeStatus, is volumes) bool {
	switch {
	case recorded.MovesTo != "":
		return false
	case recorded.Generation == is.generation:
		return is.used && !is.nextUsed && recorded.Zone == is.zone
	default:
		return recorded.Generation == is.generation+1 && is.nextUsed && !is.used && recorded.Zone == is.nextZone
	}
}

// Keep records that a slot that moved uses only the volume in its zone, so that the base stack drops the
// other. It returns why that is not possible yet, "" if it is.
func (v *Volumes) Keep(ctx context.Context, cluster *v1alpha1.Cluster, snapshot string, slot *model.Slot) (problem string, err error) {
	found, err := v.describe(ctx, cluster)
	if err != nil {
		return "", err
	}
	outputs := cluster.Status.Outputs
	first, next := outputs[model.OutputEtcdVolume(slot.Index)], outputs[model.OutputNextEtcdVolume(slot.Index)]
	state := model.EtcdVolumeOf(cluster.Status.Etcd, snapshot, slot.Index)
	kept, left := first, next
	if slot.UsesNext() {
		kept, left = next, first
		state.Generation++
	}
	zone, used := stateOf(found[kept], slot.Index, snapshot)
	_, leftUsed := stateOf(found[left], slot.Index, snapshot)
	switch {
	case !used || zone != slot.Zone:
		return fmt.Sprintf("no instance uses its etcd volume %s in %s", kept, slot.Zone), nil
	case leftUsed:
		return fmt.Sprintf("an instance still uses its former etcd volume %s", left), nil
	}
	state.Zone, state.MovesTo = zone, ""
	model.SetEtcdVolume(cluster, state)
	return "", nil
}

// Left returns the logical IDs in the base stack of volumes that slots have left by moving, so that the
// change that drops them may remove them. It returns none after that change. Call Place before.
func Left(cluster *v1alpha1.Cluster, resolved *model.Cluster) []string {
	var left []string
	snapshot := resolved.Spec.ControlPlane.RestoreSnapshot
	for _, slot := range resolved.Slots {
		outputs := cluster.Status.Outputs
		state := model.EtcdVolumeOf(cluster.Status.Etcd, snapshot, slot.Index)
		lost := state.Lost != "" && state.Lost == outputs[model.OutputEtcdVolume(slot.Index)]
		if outputs[model.OutputNextEtcdVolume(slot.Index)] == "" || state.MovesTo != "" || lost {
			continue
		}
		generation, _ := model.ParseEtcdGeneration(outputs[model.OutputEtcdGeneration(slot.Index)])
		if state.Generation == generation {
			generation++
		}
		left = append(left, model.EtcdVolumeID(slot.Index, snapshot, generation))
	}
	return left
}

// stateOf returns the zone of a slot's volume, empty if there is none, and whether an instance uses it. A
// volume of another snapshot does not count: a restore replaces it.
func stateOf(volume *ec2types.Volume, slot int, snapshot string) (zone string, used bool) {
	if volume == nil || !slices.ContainsFunc(volume.Tags, func(t ec2types.Tag) bool {
		return aws.ToString(t.Key) == model.TagEtcdSlot && aws.ToString(t.Value) == model.EtcdSlotTag(slot, snapshot)
	}) {
		return "", false
	}
	return aws.ToString(volume.AvailabilityZone), slices.ContainsFunc(
		volume.Attachments, func(a ec2types.VolumeAttachment) bool { return a.State != ec2types.VolumeAttachmentStateDetached },
	)
}

// describe returns the volumes that the outputs of the base stack name, by ID, those that exist.
func (v *Volumes) describe(ctx context.Context, cluster *v1alpha1.Cluster) (map[string]*ec2types.Volume, error) {
	var ids []string
	for slot := range model.MostSlots {
		ids = append(ids, model.EtcdVolumes(cluster.Status.Outputs, slot)...)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	if err := v.options.Confirm(ctx, cluster); err != nil { // Never act on volumes that only the status names.
		return nil, err
	}
	slices.Sort(ids)
	out, err := v.options.EC2(cluster).DescribeVolumes(ctx, &ec2.DescribeVolumesInput{
		Filters: []ec2types.Filter{{Name: aws.String("volume-id"), Values: ids}}, // The filter omits volumes that do not exist.
	})
	if err != nil {
		return nil, fmt.Errorf("describe etcd's volumes: %w", err)
	}
	found := map[string]*ec2types.Volume{}
	for i := range out.Volumes {
		switch out.Volumes[i].State {
		case ec2types.VolumeStateDeleting, ec2types.VolumeStateDeleted:
		default:
			found[aws.ToString(out.Volumes[i].VolumeId)] = &out.Volumes[i]
		}
	}
	return found, nil
}

package model

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
)

// A slot moves to another zone in three steps, in each of which the slot can use its volume:
//
//  1. The base stack gets a blank volume of the next generation in the zone of the spec. The slot stays.
//  2. The slot's stack moves. Its new instance finds the volume of its zone, and its etcd member is rebuilt
//     from the others. If that fails, the stack rolls back to the first zone, whose volume still exists.
//  3. When the slot is healthy, the volume in the zone that it left leaves the base stack.
//
// The status has the zones of both volumes, as EC2 reports them. A slot is always in the zone of one of its
// volumes: if the spec names a third zone meanwhile, the slot returns to the first.

// placeVolumes sets the zones of the slot and its volumes. Volume is their state.
func (s *Slot) placeVolumes(volume v1alpha1.EtcdVolumeStatus) {
	s.Zone = s.SpecZone
	if volume.Zone != "" && volume.MovesTo != s.SpecZone {
		s.Zone = volume.Zone
	}
	s.EtcdVolumeGeneration, s.EtcdVolumeZone = volume.Generation, cmp.Or(volume.Zone, s.Zone)
	s.NextEtcdVolumeZone = volume.MovesTo
}

// CannotMove returns why no slot can move to another zone, and the remedy; empty if slots can. Alone is
// whether no operator manages the cluster.
func (c *Cluster) CannotMove(alone bool) string {
	const back = "set spec.controlPlane.zones to the zones that the slots are in, slot by slot"
	switch {
	case len(c.AllSlots()) == 1:
		return "no other slot has its data; " + back + ", or spec.controlPlane.replicas to 3 first"
	case alone:
		return "that requires an operator that manages the cluster, since the former volume is kept until the slot is healthy; " + back
	case !c.Features.RejoinEtcd:
		return fmt.Sprintf("the resource set of Release %s is %s, and slots join etcd from %s on; "+
			"%s, change spec.release, and move the slot then", c.Release.Name, c.ResourceSet, release.Set120, back)
	default:
		return ""
	}
}

// UsesNext reports whether the slot's volume is that of the next generation: it moves there.
func (s *Slot) UsesNext() bool {
	return s.NextEtcdVolumeZone != "" && s.Zone == s.NextEtcdVolumeZone
}

// Leaves returns the zone that a moving slot leaves, empty if the slot does not move.
func (s *Slot) Leaves() string {
	if s.UsesNext() {
		return s.EtcdVolumeZone
	}
	return s.NextEtcdVolumeZone
}

// EtcdVolumeOf returns the state of a slot's etcd volume that the status records for the snapshot. It is
// zero for a volume that replaced no other and stays in its zone.
func EtcdVolumeOf(status *v1alpha1.EtcdStatus, snapshot string, slot int) v1alpha1.EtcdVolumeStatus {
	if status != nil {
		i := slices.IndexFunc(status.Volumes, func(v v1alpha1.EtcdVolumeStatus) bool {
			return int(v.Slot) == slot && v.Snapshot == snapshot
		})
		if i >= 0 {
			return status.Volumes[i]
		}
	}
	return v1alpha1.EtcdVolumeStatus{Slot: int32(slot), Snapshot: snapshot} //nolint:gosec // there are at most five
}

// SetEtcdVolume records the state of a slot's etcd volume.
func SetEtcdVolume(cluster *v1alpha1.Cluster, volume v1alpha1.EtcdVolumeStatus) {
	if cluster.Status.Etcd == nil {
		cluster.Status.Etcd = &v1alpha1.EtcdStatus{}
	}
	etcd := cluster.Status.Etcd
	ForgetEtcdVolume(cluster, int(volume.Slot))
	if volume != (v1alpha1.EtcdVolumeStatus{Slot: volume.Slot, Snapshot: volume.Snapshot}) {
		etcd.Volumes = append(etcd.Volumes, volume)
	}
}

// ForgetEtcdVolume drops the state of the volume of a slot that left.
func ForgetEtcdVolume(cluster *v1alpha1.Cluster, slot int) {
	if etcd := cluster.Status.Etcd; etcd != nil {
		etcd.Volumes = slices.DeleteFunc(etcd.Volumes, func(v v1alpha1.EtcdVolumeStatus) bool { return int(v.Slot) == slot })
	}
}

// SlotsMove reports whether slots of a Cluster move to other zones.
func SlotsMove(cluster *v1alpha1.Cluster) bool {
	return cluster.Status.Etcd != nil && slices.ContainsFunc(cluster.Status.Etcd.Volumes, func(v v1alpha1.EtcdVolumeStatus) bool {
		return v.MovesTo != "" && v.Snapshot == cluster.Spec.ControlPlane.RestoreSnapshot
	})
}

// EtcdVolumes returns the IDs of a slot's etcd volumes in the outputs of the base stack.
func EtcdVolumes(outputs map[string]string, slot int) []string {
	return slices.DeleteFunc(
		[]string{outputs[OutputEtcdVolume(slot)], outputs[OutputNextEtcdVolume(slot)]}, func(id string) bool { return id == "" },
	)
}

package model_test

import (
	"testing"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// A slot is always in the zone of one of its volumes, and has a second one only while it moves.
func TestZonesOfASlotThatMoves(t *testing.T) {
	const a, b, c = "eu-central-1a", "eu-central-1b", "eu-central-1c"
	for reason, one := range map[string]struct {
		spec              string
		volume            v1alpha1.EtcdVolumeStatus
		zone, first, next string
		leaves            string
	}{
		"stays":                         {spec: b, zone: b, first: b},
		"its volume was lost":           {spec: b, volume: v1alpha1.EtcdVolumeStatus{Generation: 2}, zone: b, first: b},
		"moves":                         {spec: c, volume: v1alpha1.EtcdVolumeStatus{Zone: b, MovesTo: c}, zone: c, first: b, next: c, leaves: b},
		"returns":                       {spec: b, volume: v1alpha1.EtcdVolumeStatus{Zone: b, MovesTo: c}, zone: b, first: b, next: c, leaves: c},
		"is to move to a third zone":    {spec: a, volume: v1alpha1.EtcdVolumeStatus{Zone: b, MovesTo: c}, zone: b, first: b, next: c, leaves: c},
		"has moved":                     {spec: c, volume: v1alpha1.EtcdVolumeStatus{Generation: 1, Zone: c}, zone: c, first: c},
		"has moved before a third zone": {spec: a, volume: v1alpha1.EtcdVolumeStatus{Generation: 1, Zone: c}, zone: c, first: c},
		"moved before another snapshot": {spec: c, volume: v1alpha1.EtcdVolumeStatus{Zone: b, MovesTo: a, Snapshot: "snap-0123456789abcdef0"}, zone: c, first: c},
	} {
		t.Run(reason, func(t *testing.T) {
			in := input(t, newVPC, "spec: {controlPlane: {zones: [eu-central-1a, "+one.spec+", eu-central-1c]}}")
			one.volume.Slot = 1
			in.Cluster.Status.Etcd = &v1alpha1.EtcdStatus{Volumes: []v1alpha1.EtcdVolumeStatus{one.volume}}
			resolved, err := model.Resolve(in)
			if err != nil {
				t.Fatal(err)
			}
			slot := resolved.Slots[1]
			if slot.Zone != one.zone || slot.Subnet.Zone != one.zone ||
				slot.EtcdVolumeZone != one.first || slot.NextEtcdVolumeZone != one.next ||
				slot.SpecZone != one.spec || slot.Leaves() != one.leaves {
				t.Errorf("the slot is in %s (%s), its volumes are in %q and %q, it leaves %q; want %+v",
					slot.Zone, slot.Subnet.Zone, slot.EtcdVolumeZone, slot.NextEtcdVolumeZone, slot.Leaves(), one)
			}
		})
	}
}

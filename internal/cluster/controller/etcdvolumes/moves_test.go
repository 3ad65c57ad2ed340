package etcdvolumes_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/etcdvolumes"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
)

// cloud is an EC2 with the etcd volumes of a base stack, and the operator's steps around them.
type cloud struct {
	awsapi.EC2

	t       *testing.T
	random  *rand.Rand
	release *v1alpha1.Release
	cluster *v1alpha1.Cluster
	volumes *etcdvolumes.Volumes
	// zones are the zones of the volumes in the base stack by their logical IDs, which are also their IDs;
	// slots those of the slots' instances.
	zones map[string]string
	slots []string
}

var zoneNames = []string{"eu-central-1a", "eu-central-1b", "eu-central-1c"}

func newCloud(t *testing.T, seed uint64) *cloud {
	t.Helper()
	all, err := release.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	newest := all[slices.IndexFunc(all, func(r *v1alpha1.Release) bool { return r.Spec.ResourceSet == release.Set120 })]
	random := rand.New(rand.NewPCG(seed, 1))
	c := &cloud{t: t, random: random, release: newest, zones: map[string]string{}, slots: slices.Clone(zoneNames)}
	c.cluster = &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "default"},
		Spec: v1alpha1.ClusterSpec{
			Release: newest.Name, Region: "eu-central-1", Network: v1alpha1.Network{CIDR: "10.0.0.0/16", Zones: zoneNames},
			ControlPlane: v1alpha1.ControlPlane{Replicas: 3},
		},
	}
	c.volumes = etcdvolumes.New(etcdvolumes.Options{
		EC2: func(*v1alpha1.Cluster) awsapi.EC2 { return c }, Confirm: func(context.Context, *v1alpha1.Cluster) error { return nil },
	})
	c.deploy(c.resolve())
	return c
}

func (c *cloud) resolve() *model.Cluster {
	c.t.Helper()
	resolved, err := model.Resolve(model.Input{
		Cluster: c.cluster, Release: c.release, Operator: "test", AccountID: "123456789012", Partition: "aws", DNSSuffix: "amazonaws.com",
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return resolved
}

func (c *cloud) DescribeVolumes(
	_ context.Context, in *ec2.DescribeVolumesInput, _ ...func(*ec2.Options),
) (*ec2.DescribeVolumesOutput, error) {
	out := &ec2.DescribeVolumesOutput{}
	for _, id := range in.Filters[0].Values {
		if c.zones[id] == "" {
			continue
		}
		volume := ec2types.Volume{
			VolumeId: aws.String(id), AvailabilityZone: aws.String(c.zones[id]), State: ec2types.VolumeStateAvailable,
			Tags: []ec2types.Tag{{Key: aws.String(model.TagEtcdSlot), Value: aws.String(id[len("EtcdVolume") : len("EtcdVolume")+1])}},
		}
		if c.isUsed(id) {
			volume.Attachments = []ec2types.VolumeAttachment{{State: ec2types.VolumeAttachmentStateAttached}}
		}
		out.Volumes = append(out.Volumes, volume)
	}
	return out, nil
}

// isUsed reports whether the slot's instance is in the zone of its volume.
func (c *cloud) isUsed(id string) bool {
	for slot, zone := range c.slots {
		if id[len("EtcdVolume"):len("EtcdVolume")+1] == fmt.Sprint(slot) {
			return zone == c.zones[id]
		}
	}
	return false
}

// deploy updates the base stack to the model.
func (c *cloud) deploy(resolved *model.Cluster) {
	c.t.Helper()
	left, wanted, outputs := etcdvolumes.Left(c.cluster, resolved), map[string]string{}, map[string]string{}
	for _, slot := range resolved.Slots {
		id := model.EtcdVolumeID(slot.Index, "", slot.EtcdVolumeGeneration)
		wanted[id], outputs[model.OutputEtcdVolume(slot.Index)] = slot.EtcdVolumeZone, id
		if slot.EtcdVolumeGeneration > 0 {
			outputs[model.OutputEtcdGeneration(slot.Index)] = model.EtcdGeneration(slot.EtcdVolumeGeneration, "")
		}
		if slot.NextEtcdVolumeZone != "" {
			id = model.EtcdVolumeID(slot.Index, "", slot.EtcdVolumeGeneration+1)
			wanted[id], outputs[model.OutputNextEtcdVolume(slot.Index)] = slot.NextEtcdVolumeZone, id
		}
	}
	for id, zone := range c.zones {
		switch {
		case wanted[id] == "" && (c.isUsed(id) || !slices.Contains(left, id)):
			c.t.Fatalf("%s in %s is removed; in use: %t, slots %v, may be removed: %v", id, zone, c.isUsed(id), c.slots, left)
		case wanted[id] != "" && wanted[id] != zone:
			c.t.Fatalf("%s is in %s, and rendered in %s; status %+v", id, zone, wanted[id], c.cluster.Status.Etcd)
		}
	}
	c.zones, c.cluster.Status.Outputs = wanted, outputs
}

// step is a reconcile. It returns whether nothing is left to do.
func (c *cloud) step(fails bool) bool {
	c.t.Helper()
	resolved := c.resolve()
	changed, err := c.volumes.Place(c.t.Context(), c.cluster, resolved)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, volume := range changed {
		model.SetEtcdVolume(c.cluster, volume)
	}
	if len(changed) > 0 {
		return false
	}
	c.deploy(resolved)
	// A slot that has moved is compared with the spec again, as the step of the base stack does.
	done := !fails && (c.cluster.Status.Etcd == nil ||
		!slices.ContainsFunc(c.cluster.Status.Etcd.Volumes, func(v v1alpha1.EtcdVolumeStatus) bool { return v.Zone != "" }))
	for i := range resolved.Slots {
		slot := &resolved.Slots[i]
		if c.slots[i] != slot.Zone && !fails {
			if !slices.Contains([]string{slot.EtcdVolumeZone, slot.NextEtcdVolumeZone}, slot.Zone) {
				c.t.Fatalf("slot %d moves to %s without a volume: %+v", i, slot.Zone, slot)
			}
			c.slots[i] = slot.Zone
			return false
		}
		if slot.Leaves() == "" || c.slots[i] != slot.Zone {
			continue
		}
		if problem, err := c.volumes.Keep(c.t.Context(), c.cluster, "", slot); problem != "" || err != nil {
			c.t.Fatalf("slot %d: %s, %v", i, problem, err)
		}
		done = false
	}
	return done
}

// Whatever users edit, wherever an operator is interrupted or loses the status, and whichever moves fail: no
// volume changes its zone, none is removed that is used, and in the end each slot has one volume, in its zone.
func TestVolumesNeverChangeTheirZones(t *testing.T) {
	for seed := range uint64(100) {
		c := newCloud(t, seed)
		for range 60 {
			switch c.random.IntN(8) {
			case 0:
				zones := make([]string, 3)
				for i := range zones {
					zones[i] = zoneNames[c.random.IntN(3)]
				}
				c.cluster.Spec.ControlPlane.Zones = zones
			case 1:
				c.loseStatus()
			default:
				c.step(c.random.IntN(3) == 0)
			}
		}
		for steps := 0; !c.step(false); steps++ {
			if steps > 100 {
				t.Fatalf("seed %d does not end: %+v", seed, c.cluster.Status.Etcd)
			}
		}
		wanted := c.resolve()
		for i, slot := range wanted.Slots {
			if c.slots[i] != slot.SpecZone || len(c.zones) != 3 || !slices.Contains(slices.Collect(maps.Values(c.zones)), slot.SpecZone) {
				t.Errorf("seed %d: slot %d is in %s, wanted in %s; volumes %v", seed, i, c.slots[i], slot.SpecZone, c.zones)
			}
		}
	}
}

// loseStatus loses the status and reads the generations from the outputs, as a new operator does.
func (c *cloud) loseStatus() {
	c.cluster.Status.Etcd = nil
	for slot := range c.slots {
		if generation, _ := model.ParseEtcdGeneration(c.cluster.Status.Outputs[model.OutputEtcdGeneration(slot)]); generation > 0 {
			model.SetEtcdVolume(c.cluster, v1alpha1.EtcdVolumeStatus{Slot: int32(slot), Generation: generation})
		}
	}
}

// A volume that is lost while its slot moves is replaced by the second one, which stays in its zone.
func TestVolumeLostWhileItsSlotMoves(t *testing.T) {
	c := newCloud(t, 0)
	c.volumes = etcdvolumes.New(etcdvolumes.Options{
		EC2: func(*v1alpha1.Cluster) awsapi.EC2 { return c }, Confirm: func(context.Context, *v1alpha1.Cluster) error { return nil },
		Clock: clock.RealClock{}, Recorder: events.NewFakeRecorder(1),
	})
	c.cluster.Spec.ControlPlane.Zones = []string{zoneNames[0], zoneNames[2], zoneNames[2]}
	for c.zones["EtcdVolume1Generation1"] == "" {
		c.step(true)
	}
	delete(c.zones, "EtcdVolume1")
	if problem := c.volumes.Replace(c.cluster, c.resolve(), 1); problem != "" {
		t.Fatal(problem)
	}
	want := v1alpha1.EtcdVolumeStatus{Slot: 1, Generation: 1, Lost: "EtcdVolume1", Zone: zoneNames[2]}
	if got := model.EtcdVolumeOf(c.cluster.Status.Etcd, "", 1); got != want {
		t.Errorf("the status is %+v, want %+v", got, want)
	}
	for steps := 0; !c.step(false) && steps < 10; steps++ {
	}
	if c.zones["EtcdVolume1Generation1"] != zoneNames[2] || len(c.zones) != 3 || c.slots[1] != zoneNames[2] {
		t.Errorf("the volumes are %v, and the slots in %v", c.zones, c.slots)
	}
}

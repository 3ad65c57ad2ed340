package controller_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// move sets the zones of the slots: letters of the region's zones.
func (w *watched) move(letters string) {
	w.t.Helper()
	w.patch(w.cluster, fmt.Sprintf(
		`{"spec":{"controlPlane":{"zones":["eu-central-1%c","eu-central-1%c","eu-central-1%c"]}}}`, letters[0], letters[1], letters[2],
	))
}

// volumesOf returns the IDs of etcd's volumes by slot and zone.
func (w *watched) volumesOf() map[string]string {
	w.t.Helper()
	found := map[string]string{}
	for id, volume := range w.etcdVolumes() {
		for _, tag := range volume.Tags {
			if *tag.Key == "cluster-operator.aws/etcd-slot" {
				found[*tag.Value+strings.TrimPrefix(*volume.AvailabilityZone, region)] = id
			}
		}
	}
	return found
}

// areIn waits until the cluster is ready and has exactly these volumes.
func (w *watched) areIn(slots ...string) map[string]string {
	w.t.Helper()
	var found map[string]string
	w.eventually("the slots are in "+strings.Join(slots, ", "), func() error {
		w.condition(w.cluster, "Ready", metav1.ConditionTrue, "")
		found = w.volumesOf()
		for _, slot := range slots {
			if found[slot] == "" || len(found) != len(slots) {
				return fmt.Errorf("the volumes are %v", found)
			}
		}
		for slot := range slots {
			if id := w.cluster.Status.Outputs[fmt.Sprintf("EtcdVolume%dNext", slot)]; id != "" {
				return errors.New("the base stack still has a second volume " + id)
			}
		}
		return nil
	})
	for _, volume := range w.etcdVolumes() {
		if len(volume.Attachments) != 1 {
			w.t.Errorf("the volume %s is attached to %v", *volume.VolumeId, volume.Attachments)
		}
	}
	return found
}

// A slot moves to another zone and back, its etcd member is rebuilt from the others, and the other slots keep
// theirs. An operator that is killed amid that, also one that loses the Cluster's status, continues.
func TestSlotMovesToAnotherZone(t *testing.T) {
	for name, disturb := range map[string]func(w *watched){
		"undisturbed": func(*watched) {},
		"killed repeatedly": func(w *watched) {
			for range 12 {
				pause(w.t, 150*time.Millisecond)
				w.stop()
				w.start()
			}
		},
		"its status lost": func(w *watched) {
			w.eventually("slot 1 has a second volume", func() error {
				if len(w.etcdVolumes()) != 4 {
					return errStill
				}
				return nil
			})
			w.stop()
			w.loseStatus(w.cluster)
			w.start()
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newResizable(t, 3)
			before := w.areIn("0a", "1b", "2c")
			w.move("acc")
			disturb(w)
			after := w.areIn("0a", "1c", "2c")
			if after["0a"] != before["0a"] || after["2c"] != before["2c"] {
				t.Errorf("the volumes were %v and are %v", before, after)
			}
			etcd, want := w.cluster.Status.Etcd, v1alpha1.EtcdVolumeStatus{Slot: 1, Generation: 1}
			if len(etcd.Volumes) != 1 || etcd.Volumes[0] != want {
				t.Errorf("the status of the volumes is %+v", etcd.Volumes)
			}
			w.move("abc")
			if back := w.areIn("0a", "1b", "2c"); back["1b"] == before["1b"] {
				t.Errorf("the volumes were %v and are %v", before, back)
			}
			w.served(2)
			if err := w.client.Delete(t.Context(), w.cluster); err != nil {
				t.Fatal(err)
			}
			w.waitDeleted(w.cluster)
			w.nothingIsLeft(account, region)
		})
	}
}

// All slots move, one at a time. A third zone in the meantime takes each slot there in the end.
func TestAllSlotsMove(t *testing.T) {
	w := newResizable(t, 3)
	w.move("bca")
	w.condition(w.cluster, "ControlPlaneReady", metav1.ConditionFalse, "MovingSlot")
	w.move("cab")
	w.areIn("0c", "1a", "2b")
	w.served(2)
}

// A slot that no instance can be launched for in the other zone rolls back to its zone and its volume, which
// the condition explains. When the zones are set back, the second volume is deleted.
func TestSlotThatCannotMoveStays(t *testing.T) {
	w := newResizable(t, 3)
	before := w.areIn("0a", "1b", "2c")
	w.sim.Instances().SetCapacity("eu-central-1c", "m6i.large", false)
	w.move("acc")
	moving := w.condition(w.cluster, "ControlPlaneReady", metav1.ConditionFalse, "MovingSlot")
	if want := "Slot 1 of the control plane moves from eu-central-1b to eu-central-1c."; !strings.Contains(moving.Message, want) {
		t.Errorf("the message is %q, want %q", moving.Message, want)
	}
	w.slotIs(1, "UPDATE_IN_PROGRESS")
	console := cloudformation.NewFromConfig(w.awsConfig(account, region))
	if _, err := console.CancelUpdateStack(t.Context(), &cloudformation.CancelUpdateStackInput{
		StackName: aws.String("demo-control-plane-1"),
	}); err != nil {
		t.Fatal(err)
	}
	said := w.condition(w.cluster, "Stalled", metav1.ConditionTrue, "")
	for _, want := range []string{
		"did not move from eu-central-1b to eu-central-1c, and keeps its etcd volume in eu-central-1b", "set spec.controlPlane.zones back",
	} {
		if !strings.Contains(said.Message, want) {
			t.Errorf("the message is %q, want %q", said.Message, want)
		}
	}
	w.eventually("slot 1 uses its first volume", func() error {
		if volume := w.etcdVolumes()[before["1b"]]; len(volume.Attachments) != 1 {
			return errStill
		}
		return nil
	})
	w.move("abc")
	if after := w.areIn("0a", "1b", "2c"); !maps.Equal(before, after) {
		t.Errorf("the volumes were %v and are %v", before, after)
	}
	w.sim.Instances().SetCapacity("eu-central-1c", "m6i.large", true)
	w.move("acc")
	w.areIn("0a", "1c", "2c")
	w.served(2)
}

// A slot whose Release cannot join etcd does not move, and nothing changes. The only slot never does.
func TestSlotsThatCannotRejoinDoNotMove(t *testing.T) {
	w := newWatched(t, 3, simulatedHost(), nil)
	calls := w.sim.Calls()["cloudformation/UpdateStack"]
	w.move("acc")
	said := w.condition(w.cluster, "Stalled", metav1.ConditionTrue, "CannotMove")
	if want := "Slot 1 cannot move from eu-central-1b to eu-central-1c"; !strings.Contains(said.Message, want) {
		t.Errorf("the message is %q, want %q", said.Message, want)
	}
	if now := w.sim.Calls()["cloudformation/UpdateStack"]; now != calls {
		t.Errorf("%d updates were sent", now-calls)
	}
	w.move("abc")
	w.condition(w.cluster, "Ready", metav1.ConditionTrue, "")

	only := w.aCluster("only")
	only.Spec.ControlPlane.Replicas = 1
	w.create(only)
	move := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"controlPlane":{"zones":["eu-central-1b"]}}}`))
	err := w.client.Patch(t.Context(), only, move)
	if err == nil || !strings.Contains(err.Error(), "a slot moves to another zone only by controlPlane.zones") {
		t.Errorf("the API server says %v", err)
	}
}

// served checks that so many slots served all the time.
func (w *watched) served(fewest int) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fewest < fewest {
		w.t.Errorf("at one moment only %d slots served, want at least %d", w.fewest, fewest)
	}
}

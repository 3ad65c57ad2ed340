package render_test

import (
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
)

// The place of a lost volume is taken by a blank one under another name, also in a cluster that was
// made of a snapshot: the data of the snapshot is older than what the other members have. The
// template says how often that happened.
func TestALostVolumeIsMadeBlankUnderAnotherName(t *testing.T) {
	const snapshot = "snap-0123456789abcdef0"
	f := read(t, "testdata/private.yaml")
	f.cluster.Spec.Release, f.cluster.Spec.ControlPlane.RestoreSnapshot = "set-1.2.0", snapshot
	f.cluster.Status.Etcd = &v1alpha1.EtcdStatus{Volumes: []v1alpha1.EtcdVolumeStatus{
		{Slot: 0, Generation: 3}, // before the restore
		{Slot: 1, Generation: 2, Snapshot: snapshot},
	}}
	c, _ := fixture{cluster: f.cluster}.resolve(t, setRelease("1.2.0"))
	s, err := render.Base(c)
	if err != nil {
		t.Fatal(err)
	}
	for id, made := range map[string]bool{
		"EtcdVolume0Of0123456789abcdef0": true, "EtcdVolume1Of0123456789abcdef0Generation2": false, "EtcdVolume2Of0123456789abcdef0": true,
	} {
		volume := s.Template.Resources[id]
		if volume == nil {
			t.Errorf("there is no volume %s", id)
			continue
		}
		if has := volume.Properties.Get("SnapshotId") != nil; has != made {
			t.Errorf("that %s is made of the snapshot is %t", id, has)
		}
	}
	for slot, want := range map[int]int32{0: 0, 1: 2, 2: 0} {
		output := s.Template.Outputs[model.OutputEtcdGeneration(slot)]
		if (output != nil) != (want > 0) {
			t.Errorf("that there is an output of the generation of slot %d is %t", slot, output != nil)
		}
		if output == nil {
			continue
		}
		if generation, of := model.ParseEtcdGeneration(output.Value.Text); generation != want || of != snapshot {
			t.Errorf("the output of slot %d is read as %d of %q", slot, generation, of)
		}
	}
}

// From resource set 1.2.0 on the bucket of the CAs is not public in part, and the issuer's own has
// two documents for all.
func TestOnlyTheIssuersBucketIsPublic(t *testing.T) {
	f := read(t, "testdata/private.yaml")
	f.cluster.Spec.Release = "set-1.2.0"
	c, _ := fixture{cluster: f.cluster}.resolve(t, setRelease("1.2.0"))
	s, err := render.Base(c)
	if err != nil {
		t.Fatal(err)
	}
	text := func(id string) string { return string(s.Template.Resources[id].Properties.AppendJSON(nil)) }
	if policy := text("BucketPolicy"); strings.Contains(policy, "IssuerForAll") {
		t.Errorf("the policy of the cluster's bucket is %s", policy)
	}
	for _, key := range model.IssuerDocumentKeys {
		if policy := text("IssuerBucketPolicy"); !strings.Contains(policy, c.IssuerBucket+"/"+key) {
			t.Errorf("%s is not for all: %s", key, policy)
		}
	}
	if block := text("Bucket"); strings.Contains(block, `"BlockPublicPolicy":false`) ||
		strings.Contains(block, `"BlockPublicPolicy":"false"`) {
		t.Errorf("the cluster's bucket may become public: %s", block)
	}
}

// While a slot moves, it has a volume in either zone, with the same tags, under its own name. The first stays
// as it is.
func TestSlotThatMovesHasTwoVolumes(t *testing.T) {
	f := read(t, "testdata/private.yaml")
	f.cluster.Spec.Release = "set-1.2.0"
	before, _ := fixture{cluster: f.cluster}.resolve(t, setRelease("1.2.0"))
	zones := before.Zones()
	f.cluster.Spec.ControlPlane.Zones = []string{zones[0], zones[2], zones[2]}
	f.cluster.Status.Etcd = &v1alpha1.EtcdStatus{Volumes: []v1alpha1.EtcdVolumeStatus{{Slot: 1, Zone: zones[1], MovesTo: zones[2]}}}
	after, _ := fixture{cluster: f.cluster}.resolve(t, setRelease("1.2.0"))
	was, err := render.Base(before)
	if err != nil {
		t.Fatal(err)
	}
	is, err := render.Base(after)
	if err != nil {
		t.Fatal(err)
	}
	text := func(s *render.Stack, id string) string {
		return string(s.Template.Resources[id].Properties.AppendJSON(nil))
	}
	if got, want := text(is, "EtcdVolume1"), text(was, "EtcdVolume1"); got != want {
		t.Errorf("the first volume changes from %s to %s", want, got)
	}
	if got, want := text(is, "EtcdVolume1Generation1"), strings.ReplaceAll(text(was, "EtcdVolume1"), zones[1], zones[2]); got != want {
		t.Errorf("the second volume is %s, want %s", got, want)
	}
	if is.Template.Outputs[model.OutputNextEtcdVolume(1)] == nil || is.Template.Outputs[model.OutputEtcdGeneration(1)] != nil {
		t.Error("the outputs do not have the second volume, or a generation of the first")
	}
}

package ec2_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	testclock "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

func decode(t *testing.T, from io.Reader, to any) {
	t.Helper()
	if err := json.NewDecoder(from).Decode(to); err != nil {
		t.Fatal(err)
	}
}

func (w *suite) volume(zone string) string {
	w.t.Helper()
	out, err := w.CreateVolume(w.t.Context(), &awsec2.CreateVolumeInput{
		AvailabilityZone: aws.String(zone), Size: aws.Int32(10), VolumeType: types.VolumeTypeGp3, Encrypted: aws.Bool(true),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	if out.State != types.VolumeStateCreating {
		w.t.Errorf("a volume begins %s", out.State)
	}
	return *out.VolumeId
}

func (w *suite) attach(volume, instance, device string) error {
	_, err := w.AttachVolume(w.t.Context(), &awsec2.AttachVolumeInput{VolumeId: &volume, InstanceId: &instance, Device: &device})
	return err
}

func (w *suite) detach(volume string) error {
	_, err := w.DetachVolume(w.t.Context(), &awsec2.DetachVolumeInput{VolumeId: &volume})
	return err
}

func (w *suite) volumeUntil(id string, state types.VolumeState, attachment types.VolumeAttachmentState) (found types.Volume) {
	w.t.Helper()
	w.eventually("volume "+id+" to be "+string(state), func() bool {
		out, err := w.DescribeVolumes(w.t.Context(), &awsec2.DescribeVolumesInput{VolumeIds: []string{id}})
		if err != nil {
			w.t.Fatal(err)
		}
		found = out.Volumes[0]
		return found.State == state && (len(found.Attachments) == 0 || found.Attachments[0].State == attachment)
	})
	return found
}

// AWS documents the states of a volume:
// https://docs.aws.amazon.com/ebs/latest/userguide/ebs-describing-volumes.html
func TestVolumeMovesBetweenInstances(t *testing.T) {
	w := start(t)
	one, two := *w.launch(w.request()).InstanceId, *w.launch(w.request()).InstanceId
	in := w.request()
	in.SubnetId = aws.String(w.subnets[region+"b"])
	elsewhere := *w.launch(in).InstanceId
	id := w.volume(region + "a")
	if v := w.volumeUntil(id, types.VolumeStateAvailable, ""); *v.Iops != 3000 || *v.Throughput != 125 || aws.ToString(v.KmsKeyId) == "" {
		t.Errorf("made as %+v", v)
	}
	wiretest.WantCode(t, w.detach(id), "IncorrectState")
	wiretest.WantCode(t, w.attach(id, elsewhere, "/dev/sdf"), "InvalidVolume.ZoneMismatch")
	wiretest.WantCode(t, w.attach(id, one, "/dev/sda1"), "InvalidParameterValue")
	wiretest.WantCode(t, w.attach("vol-0123456789abcdef0", one, "/dev/sdf"), "InvalidVolume.NotFound")
	wiretest.WantCode(t, w.attach(id, "i-0123456789abcdef0", "/dev/sdf"), "InvalidInstanceID.NotFound")
	if err := w.attach(id, one, "/dev/sdf"); err != nil {
		t.Fatal(err)
	}
	w.volumeUntil(id, types.VolumeStateInUse, types.VolumeAttachmentStateAttached)
	if !w.host.called("attach " + one + " " + id + " /dev/sdf") {
		t.Errorf("the host heard %v", w.host.calls)
	}
	wiretest.WantCode(t, w.attach(id, two, "/dev/sdf"), "VolumeInUse")
	_, err := w.DeleteVolume(t.Context(), &awsec2.DeleteVolumeInput{VolumeId: &id})
	wiretest.WantCode(t, err, "VolumeInUse")
	if err := w.detach(id); err != nil {
		t.Fatal(err)
	}
	w.volumeUntil(id, types.VolumeStateAvailable, "")
	if err := w.attach(id, two, "/dev/sdf"); err != nil {
		t.Fatal(err)
	}
	w.volumeUntil(id, types.VolumeStateInUse, types.VolumeAttachmentStateAttached)
	if err := w.service.Terminate(account, region, two); err != nil {
		t.Fatal(err)
	}
	w.until(two, types.InstanceStateNameTerminated)
	w.volumeUntil(id, types.VolumeStateAvailable, "")
	if _, err := w.DeleteVolume(t.Context(), &awsec2.DeleteVolumeInput{VolumeId: &id}); err != nil {
		t.Fatal(err)
	}
	w.eventually("its data to go", func() bool { return w.host.called("delete " + id) })
	root := w.until(one, types.InstanceStateNameRunning).BlockDeviceMappings[0]
	wiretest.WantCode(t, w.detach(*root.Ebs.VolumeId), "OperationNotPermitted")
}

// https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html
func TestVolumeIsCreatedOnceForAToken(t *testing.T) {
	w := start(t)
	create := func(token string, size int32) (id string, err error) {
		out, err := w.CreateVolume(t.Context(), &awsec2.CreateVolumeInput{
			AvailabilityZone: aws.String(region + "a"), Size: aws.Int32(size), ClientToken: aws.String(token),
		})
		if err != nil {
			return "", err
		}
		return *out.VolumeId, nil
	}
	first, err := create("once", 1)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := create("once", 1); err != nil || again != first {
		t.Errorf("the same request created %s after %s: %v", again, first, err)
	}
	_, err = create("once", 2)
	wiretest.WantCode(t, err, "IdempotentParameterMismatch")
	if other, err := create("another", 1); err != nil || other == first {
		t.Errorf("another token has the volume %s: %v", other, err)
	}
	_, err = create(strings.Repeat("t", 65), 1)
	wiretest.WantCode(t, err, "InvalidParameterValue")
	if _, err := w.DeleteVolume(t.Context(), &awsec2.DeleteVolumeInput{VolumeId: &first}); err != nil {
		t.Fatal(err)
	}
	_, err = create("once", 1)
	wiretest.WantCode(t, err, "IdempotentParameterMismatch")
}

func TestVolumeIsCreatedFromSnapshot(t *testing.T) {
	w := start(t)
	id := w.volume(region + "a")
	snap, err := w.CreateSnapshot(t.Context(), &awsec2.CreateSnapshotInput{VolumeId: &id, Description: aws.String("before")})
	if err != nil {
		t.Fatal(err)
	}
	if !w.host.called("copy " + id + " " + *snap.SnapshotId) {
		t.Errorf("the host heard %v", w.host.calls)
	}
	_, err = w.CreateVolume(
		t.Context(), &awsec2.CreateVolumeInput{AvailabilityZone: aws.String(region + "b"), SnapshotId: snap.SnapshotId, Size: aws.Int32(5)},
	)
	wiretest.WantCode(t, err, "InvalidParameterValue")
	restored, err := w.CreateVolume(
		t.Context(), &awsec2.CreateVolumeInput{AvailabilityZone: aws.String(region + "b"), SnapshotId: snap.SnapshotId},
	)
	if err != nil || *restored.Size != 10 || !*restored.Encrypted {
		t.Fatalf("restored %+v %v", restored, err)
	}
	if !w.host.called("copy " + *snap.SnapshotId + " " + *restored.VolumeId) {
		t.Errorf("the host heard %v", w.host.calls)
	}
	if _, err := w.DeleteSnapshot(t.Context(), &awsec2.DeleteSnapshotInput{SnapshotId: snap.SnapshotId}); err != nil {
		t.Fatal(err)
	}
	_, err = w.DescribeSnapshots(t.Context(), &awsec2.DescribeSnapshotsInput{SnapshotIds: []string{*snap.SnapshotId}})
	wiretest.WantCode(t, err, "InvalidSnapshot.NotFound")
}

// AWS documents the limits of volume types:
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateVolume.html
func TestInvalidVolumesAreRefused(t *testing.T) {
	w := start(t)
	zone := aws.String(region + "a")
	for _, c := range []struct {
		reason string
		in     awsec2.CreateVolumeInput
		code   string
	}{
		{"a zone of another region", awsec2.CreateVolumeInput{AvailabilityZone: aws.String("us-east-1a"), Size: aws.Int32(1)}, "InvalidZone.NotFound"},
		{"neither size nor snapshot", awsec2.CreateVolumeInput{AvailabilityZone: zone}, "MissingParameter"},
		{"a type that is none", awsec2.CreateVolumeInput{AvailabilityZone: zone, Size: aws.Int32(1), VolumeType: "gp9"}, "UnknownVolumeType"},
		{"too small for its type", awsec2.CreateVolumeInput{AvailabilityZone: zone, Size: aws.Int32(1), VolumeType: types.VolumeTypeSt1}, "InvalidParameterValue"},
		{"IOPS where they cannot be chosen", awsec2.CreateVolumeInput{AvailabilityZone: zone, Size: aws.Int32(1), VolumeType: types.VolumeTypeGp2, Iops: aws.Int32(3000)}, "InvalidParameterCombination"},
		{"IOPS that must be chosen", awsec2.CreateVolumeInput{AvailabilityZone: zone, Size: aws.Int32(4), VolumeType: types.VolumeTypeIo1}, "MissingParameter"},
		{"a key without encryption", awsec2.CreateVolumeInput{AvailabilityZone: zone, Size: aws.Int32(1), KmsKeyId: aws.String("alias/none")}, "InvalidParameterDependency"},
		{"a key that is none", awsec2.CreateVolumeInput{AvailabilityZone: zone, Size: aws.Int32(1), Encrypted: aws.Bool(true), KmsKeyId: aws.String("alias/none")}, "InvalidKmsKeyId"},
		{"a snapshot that is none", awsec2.CreateVolumeInput{AvailabilityZone: zone, SnapshotId: aws.String("snap-0123456789abcdef0")}, "InvalidSnapshot.NotFound"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			_, err := w.CreateVolume(t.Context(), &c.in)
			wiretest.WantCode(t, err, c.code)
		})
	}
}

// https://aws.amazon.com/about-aws/whats-new/2026/01/amazon-ebs-up-to-four-volume-modifications/
func TestVolumeIsModifiedFourTimesADay(t *testing.T) {
	w := startWith(t, testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), nil)
	id, size := w.volume(region+"a"), int32(10)
	grow := func() error {
		size++
		_, err := w.ModifyVolume(t.Context(), &awsec2.ModifyVolumeInput{VolumeId: &id, Size: &size})
		return err
	}
	for range 4 {
		if err := grow(); err != nil {
			t.Fatal(err)
		}
		w.clock.Step(time.Hour)
	}
	wiretest.WantCode(t, grow(), "VolumeModificationRateExceeded")
	w.clock.Step(20 * time.Hour)
	if err := grow(); err != nil {
		t.Error(err)
	}
}

func TestVolumeCanGrow(t *testing.T) {
	w := start(t)
	id := w.volume(region + "a")
	_, err := w.ModifyVolume(t.Context(), &awsec2.ModifyVolumeInput{VolumeId: &id, Size: aws.Int32(5)})
	wiretest.WantCode(t, err, "InvalidParameterValue")
	if _, err := w.ModifyVolume(t.Context(), &awsec2.ModifyVolumeInput{
		VolumeId: &id, Size: aws.Int32(20), Iops: aws.Int32(4000),
	}); err != nil {
		t.Fatal(err)
	}
	v := w.volumeUntil(id, types.VolumeStateAvailable, "")
	if *v.Size != 20 || *v.Iops != 4000 || *v.Throughput != 125 {
		t.Errorf("grown to %+v", v)
	}
	changes, err := w.DescribeVolumesModifications(t.Context(), &awsec2.DescribeVolumesModificationsInput{VolumeIds: []string{id}})
	if err != nil || len(changes.VolumesModifications) != 1 || *changes.VolumesModifications[0].OriginalSize != 10 {
		t.Errorf("modifications %+v %v", changes, err)
	}
}

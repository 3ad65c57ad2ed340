package ec2_test

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	testclock "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

// stoppedInstance returns a stopped instance, and its root volume.
func (w *suite) stoppedInstance() (id, volume string) {
	w.t.Helper()
	i := w.launch(w.request())
	id = *i.InstanceId
	if err := w.service.ShutDown(account, region, id); err != nil {
		w.t.Fatal(err)
	}
	stopped := w.until(id, types.InstanceStateNameStopped)
	return id, *stopped.BlockDeviceMappings[0].Ebs.VolumeId
}

func (w *suite) createImage(instance, name string) string {
	w.t.Helper()
	out, err := w.CreateImage(w.t.Context(), &awsec2.CreateImageInput{
		InstanceId: &instance, Name: &name, Description: aws.String("of a test"),
		TagSpecifications: []types.TagSpecification{
			{ResourceType: types.ResourceTypeImage, Tags: []types.Tag{{Key: aws.String("release"), Value: &name}}},
			{ResourceType: types.ResourceTypeSnapshot, Tags: []types.Tag{{Key: aws.String("release"), Value: &name}}},
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return *out.ImageId
}

func (w *suite) ownImages(filters ...types.Filter) []types.Image {
	w.t.Helper()
	out, err := w.DescribeImages(w.t.Context(), &awsec2.DescribeImagesInput{Owners: []string{"self"}, Filters: filters})
	if err != nil {
		w.t.Fatal(err)
	}
	return out.Images
}

// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateImage.html
func TestImageIsPendingUntilItsSnapshotIsComplete(t *testing.T) {
	w := startWith(t, testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), nil)
	w.service.SetSnapshotTime(time.Minute)
	instance, volume := w.stoppedInstance()
	id := w.createImage(instance, "baked")
	image := w.ownImages()[0]
	root := image.BlockDeviceMappings[0]
	if *image.ImageId != id || image.State != types.ImageStatePending || *image.Name != "baked" || *image.OwnerId != account ||
		*image.Public || *image.SourceInstanceId != instance || *image.SourceImageId != w.image("amd64") ||
		*root.DeviceName != *image.RootDeviceName || image.Architecture != types.ArchitectureValuesX8664 {
		t.Errorf("the image is %+v", image)
	}
	snapshots := w.snapshots()
	if len(snapshots) != 1 || *snapshots[0].SnapshotId != *root.Ebs.SnapshotId || *snapshots[0].VolumeId != volume ||
		*snapshots[0].Description != "Created by CreateImage("+instance+") for "+id || *snapshots[0].Tags[0].Value != "baked" {
		t.Errorf("the snapshots are %+v", snapshots)
	}
	in := w.request()
	in.ImageId = &id
	_, err := w.RunInstances(t.Context(), in)
	wiretest.WantCode(t, err, "InvalidAMIID.Unavailable")
	w.clock.Step(time.Minute)
	tagged := w.ownImages(types.Filter{Name: aws.String("tag:release"), Values: []string{"baked"}})
	if len(tagged) != 1 || tagged[0].State != types.ImageStateAvailable || *tagged[0].Tags[0].Key != "release" {
		t.Errorf("after the snapshot, the images with the tag are %+v", tagged)
	}
	if other := w.ownImages(types.Filter{Name: aws.String("tag:release"), Values: []string{"other"}}); len(other) != 0 {
		t.Errorf("with another tag there are %+v", other)
	}
	launched := w.launch(in)
	made := w.until(*launched.InstanceId, types.InstanceStateNameRunning)
	if copied := "copy " + *root.Ebs.SnapshotId + " " + *made.BlockDeviceMappings[0].Ebs.VolumeId; !w.host.called(copied) {
		t.Errorf("the root volume was not made from the snapshot: no %q", copied)
	}
}

func TestImageFailsWithItsSnapshot(t *testing.T) {
	w := start(t)
	instance, volume := w.stoppedInstance()
	w.service.FailSnapshot(volume, "out of luck")
	w.createImage(instance, "baked")
	if image := w.ownImages()[0]; image.State != types.ImageStateFailed || *image.StateReason.Message != "out of luck" {
		t.Errorf("the image is %s, %+v", image.State, image.StateReason)
	}
}

// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
func TestCreateImageRefuses(t *testing.T) {
	w := start(t)
	instance, _ := w.stoppedInstance()
	w.createImage(instance, "taken")
	ended := w.launch(w.request())
	if err := w.service.Terminate(account, region, *ended.InstanceId); err != nil {
		t.Fatal(err)
	}
	w.until(*ended.InstanceId, types.InstanceStateNameTerminated)
	for name, test := range map[string]struct {
		in   awsec2.CreateImageInput
		code string
	}{
		"a name in use":       {awsec2.CreateImageInput{InstanceId: &instance, Name: aws.String("taken")}, "InvalidAMIName.Duplicate"},
		"a short name":        {awsec2.CreateImageInput{InstanceId: &instance, Name: aws.String("ab")}, "InvalidAMIName.Malformed"},
		"a colon in the name": {awsec2.CreateImageInput{InstanceId: &instance, Name: aws.String("a:bc")}, "InvalidAMIName.Malformed"},
		"no such instance": {
			awsec2.CreateImageInput{InstanceId: aws.String("i-00000000000000000"), Name: aws.String("free")}, "InvalidInstanceID.NotFound",
		},
		"a terminated instance": {awsec2.CreateImageInput{InstanceId: ended.InstanceId, Name: aws.String("free")}, "IncorrectInstanceState"},
		"a dry run": {
			awsec2.CreateImageInput{InstanceId: &instance, Name: aws.String("free"), DryRun: aws.Bool(true)}, "DryRunOperation",
		},
		"tags of an instance": {
			awsec2.CreateImageInput{InstanceId: &instance, Name: aws.String("free"), TagSpecifications: []types.TagSpecification{
				{ResourceType: types.ResourceTypeInstance, Tags: []types.Tag{{Key: aws.String("a"), Value: aws.String("b")}}},
			}}, "InvalidParameterValue",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.CreateImage(t.Context(), &test.in)
			wiretest.WantCode(t, err, test.code)
		})
	}
}

// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeregisterImage.html
func TestDeregisteredImageLeavesItsSnapshotsUnlessAsked(t *testing.T) {
	w := start(t)
	instance, _ := w.stoppedInstance()
	kept, deleted := w.createImage(instance, "kept"), w.createImage(instance, "deleted")
	snapshotOf := map[string]string{}
	for _, image := range w.ownImages() {
		snapshotOf[*image.ImageId] = *image.BlockDeviceMappings[0].Ebs.SnapshotId
	}
	_, err := w.DeleteSnapshot(t.Context(), &awsec2.DeleteSnapshotInput{SnapshotId: aws.String(snapshotOf[kept])})
	wiretest.WantCode(t, err, "InvalidSnapshot.InUse")
	if _, err := w.DeregisterImage(t.Context(), &awsec2.DeregisterImageInput{ImageId: &kept}); err != nil {
		t.Fatal(err)
	}
	out, err := w.DeregisterImage(t.Context(), &awsec2.DeregisterImageInput{ImageId: &deleted, DeleteAssociatedSnapshots: aws.Bool(true)})
	if err != nil || len(out.DeleteSnapshotResults) != 1 || *out.DeleteSnapshotResults[0].SnapshotId != snapshotOf[deleted] ||
		out.DeleteSnapshotResults[0].ReturnCode != types.SnapshotReturnCodesSuccess {
		t.Errorf("the answer is %+v, %v", out, err)
	}
	left := w.snapshots()
	if len(left) != 1 || *left[0].SnapshotId != snapshotOf[kept] || len(w.ownImages()) != 0 {
		t.Errorf("left are %+v", left)
	}
	if _, err := w.DeleteSnapshot(t.Context(), &awsec2.DeleteSnapshotInput{SnapshotId: aws.String(snapshotOf[kept])}); err != nil {
		t.Errorf("the snapshot of a deregistered image: %v", err)
	}
	in := w.request()
	in.ImageId = &kept
	_, err = w.RunInstances(t.Context(), in)
	wiretest.WantCode(t, err, "InvalidAMIID.Unavailable")
	_, err = w.DeregisterImage(t.Context(), &awsec2.DeregisterImageInput{ImageId: &kept})
	wiretest.WantCode(t, err, "InvalidAMIID.Unavailable")
	_, err = w.DeregisterImage(t.Context(), &awsec2.DeregisterImageInput{ImageId: aws.String(w.image("amd64"))})
	wiretest.WantCode(t, err, "AuthFailure")
	_, err = w.DeregisterImage(t.Context(), &awsec2.DeregisterImageInput{ImageId: aws.String("ami-00000000000000000")})
	wiretest.WantCode(t, err, "InvalidAMIID.NotFound")
}

func TestCreateImageRebootsARunningInstanceUnlessAsked(t *testing.T) {
	w := start(t)
	i := w.launch(w.request())
	if _, err := w.CreateImage(t.Context(), &awsec2.CreateImageInput{
		InstanceId: i.InstanceId, Name: aws.String("calm"), NoReboot: aws.Bool(true),
	}); err != nil {
		t.Fatal(err)
	}
	if w.host.called("terminate " + *i.InstanceId) {
		t.Error("it was rebooted")
	}
	w.createImage(*i.InstanceId, "rebooted")
	w.eventually("it is rebooted", func() bool { return w.host.called("terminate " + *i.InstanceId) })
	if names := w.ownImages(); len(names) != 2 || !slices.ContainsFunc(names, func(i types.Image) bool { return *i.Name == "calm" }) {
		t.Errorf("the images are %+v", names)
	}
}

package ec2_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/ec2"
	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

// template creates a launch template for m6i.large and returns its ID.
func (w *suite) template(name string) string {
	w.t.Helper()
	out, err := w.CreateLaunchTemplate(w.t.Context(), &awsec2.CreateLaunchTemplateInput{
		LaunchTemplateName: &name,
		LaunchTemplateData: &types.RequestLaunchTemplateData{
			ImageId: aws.String(w.image("amd64")), InstanceType: types.InstanceTypeM6iLarge,
			BlockDeviceMappings: []types.LaunchTemplateBlockDeviceMappingRequest{{
				DeviceName: aws.String("/dev/sda1"), Ebs: &types.LaunchTemplateEbsBlockDeviceRequest{VolumeSize: aws.Int32(20)},
			}},
			TagSpecifications: []types.LaunchTemplateTagSpecificationRequest{
				{
					ResourceType: types.ResourceTypeInstance,
					Tags: []types.Tag{
						{Key: aws.String("a"), Value: aws.String("1")},
						{Key: aws.String("b"), Value: aws.String("1")},
					},
				},
				{ResourceType: types.ResourceTypeVolume, Tags: []types.Tag{{Key: aws.String("disk"), Value: aws.String("root")}}},
			},
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return *out.LaunchTemplate.LaunchTemplateId
}

// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/manage-launch-template-versions.html
func TestLaunchTemplateVersions(t *testing.T) {
	w := start(t)
	ctx := t.Context()
	id := w.template("nodes")
	_, err := w.CreateLaunchTemplate(
		ctx,
		&awsec2.CreateLaunchTemplateInput{LaunchTemplateName: aws.String("nodes"), LaunchTemplateData: &types.RequestLaunchTemplateData{}},
	)
	wiretest.WantCode(t, err, "InvalidLaunchTemplateName.AlreadyExistsException")
	second, err := w.CreateLaunchTemplateVersion(ctx, &awsec2.CreateLaunchTemplateVersionInput{
		LaunchTemplateId: &id, SourceVersion: aws.String("1"),
		LaunchTemplateData: &types.RequestLaunchTemplateData{InstanceType: types.InstanceTypeM6iXlarge},
	})
	if err != nil || *second.LaunchTemplateVersion.VersionNumber != 2 ||
		aws.ToString(second.LaunchTemplateVersion.LaunchTemplateData.ImageId) != w.image("amd64") {
		t.Fatalf("second version %+v %v", second, err)
	}
	for version, want := range map[string]string{"$Default": "1", "$Latest": "2", "1": "1", "": "1"} {
		if got, err := w.service.LaunchTemplate(account, region, "nodes", version); err != nil || got.Version != want || got.ID != id {
			t.Errorf("%q is %+v %v", version, got, err)
		}
	}
	if _, err := w.ModifyLaunchTemplate(ctx, &awsec2.ModifyLaunchTemplateInput{
		LaunchTemplateId: &id, DefaultVersion: aws.String("2"),
	}); err != nil {
		t.Fatal(err)
	}
	described, err := w.DescribeLaunchTemplates(ctx, &awsec2.DescribeLaunchTemplatesInput{LaunchTemplateNames: []string{"nodes"}})
	if err != nil || *described.LaunchTemplates[0].DefaultVersionNumber != 2 || *described.LaunchTemplates[0].LatestVersionNumber != 2 {
		t.Errorf("described %+v %v", described, err)
	}
	versions, err := w.DescribeLaunchTemplateVersions(ctx, &awsec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &id})
	if err != nil || len(versions.LaunchTemplateVersions) != 2 || *versions.LaunchTemplateVersions[0].VersionNumber != 2 {
		t.Errorf("versions %+v %v", versions, err)
	}
	gone, err := w.DeleteLaunchTemplateVersions(
		ctx, &awsec2.DeleteLaunchTemplateVersionsInput{LaunchTemplateId: &id, Versions: []string{"1", "2", "9"}},
	)
	if err != nil || len(gone.SuccessfullyDeletedLaunchTemplateVersions) != 1 ||
		len(gone.UnsuccessfullyDeletedLaunchTemplateVersions) != 2 {
		t.Errorf("deleted %+v %v", gone, err)
	}
	_, err = w.service.LaunchTemplate(account, region, id, "1")
	wantWire(t, err, "InvalidLaunchTemplateId.VersionNotFound")
	if _, err := w.DeleteLaunchTemplate(ctx, &awsec2.DeleteLaunchTemplateInput{LaunchTemplateId: &id}); err != nil {
		t.Fatal(err)
	}
	_, err = w.service.LaunchTemplate(account, region, id, "")
	wantWire(t, err, "InvalidLaunchTemplateId.NotFound")
	_, err = w.service.LaunchTemplate(account, region, "nodes", "")
	wantWire(t, err, "InvalidLaunchTemplateName.NotFoundException")
}

func TestRequestOverridesLaunchTemplate(t *testing.T) {
	w := start(t)
	w.template("nodes")
	i := w.launch(&awsec2.RunInstancesInput{
		LaunchTemplate: &types.LaunchTemplateSpecification{
			LaunchTemplateName: aws.String("nodes"),
		}, InstanceType: types.InstanceTypeM6iXlarge,
		SubnetId: aws.String(w.subnets[region+"a"]), MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
		TagSpecifications: []types.TagSpecification{
			{ResourceType: types.ResourceTypeInstance, Tags: []types.Tag{{Key: aws.String("b"), Value: aws.String("2")}}},
		},
	})
	tags := map[string]string{}
	for _, tag := range i.Tags {
		tags[*tag.Key] = *tag.Value
	}
	if i.InstanceType != types.InstanceTypeM6iXlarge || tags["a"] != "1" || tags["b"] != "2" ||
		tags["aws:ec2launchtemplate:version"] != "1" {
		t.Errorf("launched as %s tagged %v", i.InstanceType, tags)
	}
	v := w.volumeUntil(*i.BlockDeviceMappings[0].Ebs.VolumeId, types.VolumeStateInUse, types.VolumeAttachmentStateAttached)
	if *v.Size != 20 || v.VolumeType != types.VolumeTypeGp3 || len(v.Tags) != 1 {
		t.Errorf("root volume %+v", v)
	}
}

func TestAutoScalingLaunchesFromTemplate(t *testing.T) {
	w := start(t)
	id := w.template("nodes")
	q := ec2.LaunchRequest{
		Account: account, Region: region, SubnetID: w.subnets[region+"b"], LaunchTemplateID: id, InstanceType: "m6a.large", Spot: true,
		Tags: map[string]string{"aws:autoscaling:groupName": "g"}, Requester: "autoscaling.amazonaws.com",
	}
	made, err := w.service.Launch(q)
	if err != nil {
		t.Fatal(err)
	}
	if made.State != types.InstanceStateNamePending || made.Zone != region+"b" || made.Type != "m6a.large" || !made.Spot ||
		made.LaunchTemplateVersion != "1" || made.Tags["aws:autoscaling:groupName"] != "g" || made.Tags["a"] != "1" {
		t.Errorf("launched %+v", made)
	}
	w.until(made.ID, types.InstanceStateNameRunning)
	if found, ok := w.service.ByAddress(made.VPCID, made.PrivateIP); !ok || found.ID != made.ID {
		t.Errorf("found by address: %+v", found)
	}
	if got := w.service.Resolve(made.VPCID, made.PrivateDNSName+"."); len(got) != 1 || got[0] != made.PrivateIP {
		t.Errorf("%s resolves to %v", made.PrivateDNSName, got)
	}
	w.service.SetCapacity(region+"b", "", false)
	_, err = w.service.Launch(q)
	wantWire(t, err, "InsufficientInstanceCapacity")
	wantWire(t, w.service.Terminate(account, region, "i-0123456789abcdef0"), "InvalidInstanceID.NotFound")
}

package ec2_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

func tagsOf(pairs ...string) (tags []types.Tag) {
	for n := 0; n < len(pairs); n += 2 {
		tags = append(tags, types.Tag{Key: &pairs[n], Value: &pairs[n+1]})
	}
	return tags
}

// override is a pool of an instance type in a zone.
func (w *suite) override(kind types.InstanceType, zone string) types.FleetLaunchTemplateOverridesRequest {
	return types.FleetLaunchTemplateOverridesRequest{
		InstanceType: kind, SubnetId: aws.String(w.subnets[region+zone]), AvailabilityZone: aws.String(region + zone),
	}
}

// fleet returns a request for a number of instances from pools of a launch template.
func (w *suite) fleet(count int32, pools ...types.FleetLaunchTemplateOverridesRequest) *awsec2.CreateFleetInput {
	return &awsec2.CreateFleetInput{
		Type: types.FleetTypeInstant,
		LaunchTemplateConfigs: []types.FleetLaunchTemplateConfigRequest{{
			LaunchTemplateSpecification: &types.FleetLaunchTemplateSpecificationRequest{
				LaunchTemplateName: aws.String("nodes"), Version: aws.String("$Latest"),
			},
			Overrides: pools,
		}},
		TargetCapacitySpecification: &types.TargetCapacitySpecificationRequest{TotalTargetCapacity: &count},
		TagSpecifications: []types.TagSpecification{
			{ResourceType: types.ResourceTypeInstance, Tags: tagsOf("b", "2")},
			{ResourceType: types.ResourceTypeVolume, Tags: tagsOf("disk", "fleet")},
			{ResourceType: types.ResourceTypeFleet, Tags: tagsOf("b", "2")},
		},
	}
}

// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-fleet-allocation-strategy.html
func TestFleetLaunchesTheCheapestPool(t *testing.T) {
	w := start(t)
	w.template("nodes")
	out, err := w.CreateFleet(t.Context(), w.fleet(3,
		w.override(types.InstanceTypeR6iLarge, "a"), w.override(types.InstanceTypeC6iLarge, "b"),
		w.override(types.InstanceTypeM6iLarge, "a"),
	))
	if err != nil || len(out.Errors) != 0 || len(out.Instances) != 1 || !strings.HasPrefix(*out.FleetId, "fleet-") {
		t.Fatalf("got %+v, %v", out, err)
	}
	group := out.Instances[0]
	if len(group.InstanceIds) != 3 || group.InstanceType != types.InstanceTypeC6iLarge ||
		group.Lifecycle != types.InstanceLifecycleOnDemand ||
		*group.LaunchTemplateAndOverrides.Overrides.AvailabilityZone != region+"b" {
		t.Errorf("got %+v", group)
	}
	i := w.until(group.InstanceIds[0], types.InstanceStateNameRunning)
	tags := map[string]string{}
	for _, tag := range i.Tags {
		tags[*tag.Key] = *tag.Value
	}
	if tags["a"] != "1" || tags["b"] != "2" || tags["aws:ec2:fleet-id"] != *out.FleetId || *i.SubnetId != w.subnets[region+"b"] {
		t.Errorf("instance in %s tagged %v", *i.SubnetId, tags)
	}
	if !w.host.called("boot " + *i.InstanceId) {
		t.Error("the instance has no machine")
	}
	v := w.volumeUntil(*i.BlockDeviceMappings[0].Ebs.VolumeId, types.VolumeStateInUse, types.VolumeAttachmentStateAttached)
	if len(v.Tags) != 1 || *v.Tags[0].Value != "fleet" {
		t.Errorf("volume tagged %+v", v.Tags)
	}
}

func TestFleetReportsPoolsWithoutCapacity(t *testing.T) {
	w := start(t)
	w.template("nodes")
	w.service.SetCapacity(region+"b", "c6i.large", false)
	in := w.fleet(1, w.override(types.InstanceTypeC6iLarge, "b"), w.override(types.InstanceTypeM6iLarge, "a"))
	in.SpotOptions = &types.SpotOptionsRequest{AllocationStrategy: types.SpotAllocationStrategyPriceCapacityOptimized}
	in.TargetCapacitySpecification.DefaultTargetCapacityType = types.DefaultTargetCapacityTypeSpot
	out, err := w.CreateFleet(t.Context(), in)
	if err != nil || len(out.Instances) != 1 || len(out.Errors) != 1 {
		t.Fatalf("got %+v, %v", out, err)
	}
	failed := out.Errors[0]
	if *failed.ErrorCode != "InsufficientInstanceCapacity" || failed.Lifecycle != types.InstanceLifecycleSpot ||
		failed.LaunchTemplateAndOverrides.Overrides.InstanceType != types.InstanceTypeC6iLarge ||
		*failed.LaunchTemplateAndOverrides.Overrides.AvailabilityZone != region+"b" {
		t.Errorf("error %+v", failed)
	}
	i := w.until(out.Instances[0].InstanceIds[0], types.InstanceStateNameRunning)
	if i.InstanceLifecycle != types.InstanceLifecycleTypeSpot || i.InstanceType != types.InstanceTypeM6iLarge {
		t.Errorf("launched %s %s", i.InstanceLifecycle, i.InstanceType)
	}
	w.service.SetCapacity(region+"a", "", false)
	in.ClientToken = aws.String("again")
	if out, err = w.CreateFleet(t.Context(), in); err != nil || len(out.Instances) != 0 || len(out.Errors) != 2 {
		t.Errorf("without any capacity: %+v, %v", out, err)
	}
}

func TestPrioritizedFleetFollowsPriorities(t *testing.T) {
	w := start(t)
	w.template("nodes")
	cheap, wanted := w.override(types.InstanceTypeC6iLarge, "b"), w.override(types.InstanceTypeR6iLarge, "a")
	cheap.Priority, wanted.Priority = aws.Float64(2), aws.Float64(1)
	in := w.fleet(1, cheap, wanted)
	in.OnDemandOptions = &types.OnDemandOptionsRequest{AllocationStrategy: types.FleetOnDemandAllocationStrategyPrioritized}
	out, err := w.CreateFleet(t.Context(), in)
	if err != nil || len(out.Instances) != 1 || out.Instances[0].InstanceType != types.InstanceTypeR6iLarge {
		t.Errorf("got %+v, %v", out, err)
	}
}

// https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html
func TestFleetIsIdempotent(t *testing.T) {
	w := start(t)
	w.template("nodes")
	in := w.fleet(1, w.override(types.InstanceTypeC6iLarge, "b"))
	in.ClientToken = aws.String("token")
	first, err := w.CreateFleet(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	second, err := w.CreateFleet(t.Context(), in)
	if err != nil || *second.FleetId != *first.FleetId || second.Instances[0].InstanceIds[0] != first.Instances[0].InstanceIds[0] {
		t.Errorf("got %+v, %v, want %+v", second, err, first)
	}
	in.TargetCapacitySpecification.TotalTargetCapacity = aws.Int32(2)
	_, err = w.CreateFleet(t.Context(), in)
	wiretest.WantCode(t, err, "IdempotentParameterMismatch")
}

func TestFleetRefusesRequests(t *testing.T) {
	w := start(t)
	w.template("nodes")
	for name, test := range map[string]struct {
		edit func(*awsec2.CreateFleetInput)
		want string
	}{
		"a dry run":       {func(in *awsec2.CreateFleetInput) { in.DryRun = aws.Bool(true) }, "DryRunOperation"},
		"an unknown type": {func(in *awsec2.CreateFleetInput) { in.Type = types.FleetTypeMaintain }, "UnsupportedOperation"},
		"no version": {func(in *awsec2.CreateFleetInput) {
			in.LaunchTemplateConfigs[0].LaunchTemplateSpecification.Version = nil
		}, "MissingParameter"},
		"an unknown subnet": {func(in *awsec2.CreateFleetInput) {
			in.LaunchTemplateConfigs[0].Overrides[0].SubnetId = aws.String("subnet-00000000")
		}, "InvalidSubnetID.NotFound"},
		"tags of a template": {func(in *awsec2.CreateFleetInput) {
			in.TagSpecifications[0].ResourceType = types.ResourceTypeLaunchTemplate
		}, "InvalidParameterValue"},
		"reserved tags": {func(in *awsec2.CreateFleetInput) { in.TagSpecifications[0].Tags = tagsOf("aws:ec2:fleet-id", "x") }, "InvalidParameterValue"},
		"no capacity": {func(in *awsec2.CreateFleetInput) {
			in.TargetCapacitySpecification.TotalTargetCapacity = aws.Int32(0)
		}, "InvalidParameterValue"},
		"no launch template": {func(in *awsec2.CreateFleetInput) {
			in.LaunchTemplateConfigs[0].LaunchTemplateSpecification.LaunchTemplateName = aws.String("none")
		}, "InvalidLaunchTemplateName.NotFoundException"},
		"a pool twice": {func(in *awsec2.CreateFleetInput) {
			c := &in.LaunchTemplateConfigs[0]
			c.Overrides = append(c.Overrides, c.Overrides[0])
		}, "InvalidFleetConfig"},
		"weights": {func(in *awsec2.CreateFleetInput) {
			in.LaunchTemplateConfigs[0].Overrides[0].WeightedCapacity = aws.Float64(2)
		}, "UnsupportedOperation"},
		"another zone": {func(in *awsec2.CreateFleetInput) {
			in.LaunchTemplateConfigs[0].Overrides[0].AvailabilityZone = aws.String(region + "a")
		}, "InvalidParameterValue"},
	} {
		t.Run(name, func(t *testing.T) {
			in := w.fleet(1, w.override(types.InstanceTypeC6iLarge, "b"))
			test.edit(in)
			_, err := w.CreateFleet(t.Context(), in)
			wiretest.WantCode(t, err, test.want)
		})
	}
}

// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeSpotPriceHistory.html
func TestSpotPrices(t *testing.T) {
	w := start(t)
	out, err := w.DescribeSpotPriceHistory(t.Context(), &awsec2.DescribeSpotPriceHistoryInput{
		InstanceTypes:       []types.InstanceType{types.InstanceTypeM6iLarge},
		ProductDescriptions: []string{"Linux/UNIX", "Linux/UNIX (Amazon VPC)"},
	})
	if err != nil || len(out.SpotPriceHistory) != 3 || *out.SpotPriceHistory[0].SpotPrice != "0.038400" ||
		*out.SpotPriceHistory[0].AvailabilityZone != region+"a" {
		t.Errorf("got %+v, %v", out, err)
	}
	out, err = w.DescribeSpotPriceHistory(t.Context(), &awsec2.DescribeSpotPriceHistoryInput{ProductDescriptions: []string{"Windows"}})
	if err != nil || len(out.SpotPriceHistory) != 0 {
		t.Errorf("prices of Windows %+v, %v", out, err)
	}
	var all int
	pages := awsec2.NewDescribeSpotPriceHistoryPaginator(w.Client, &awsec2.DescribeSpotPriceHistoryInput{MaxResults: aws.Int32(100)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range page.SpotPriceHistory {
			if *p.SpotPrice == "0.000000" {
				t.Errorf("%s has no price", p.InstanceType)
			}
		}
		all += len(page.SpotPriceHistory)
	}
	if all < 500 {
		t.Errorf("%d prices", all)
	}
}

package autoscaling_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsas "github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

// launching adds a version to the launch template.
func (w *suite) launching(change func(*ec2types.RequestLaunchTemplateData)) {
	w.t.Helper()
	data := &ec2types.RequestLaunchTemplateData{ImageId: aws.String(w.image()), InstanceType: ec2types.InstanceTypeM6iLarge}
	change(data)
	_, err := w.ec2.CreateLaunchTemplateVersion(w.t.Context(), &awsec2.CreateLaunchTemplateVersionInput{
		LaunchTemplateId: &w.template, LaunchTemplateData: data,
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// failed waits for a failed launch of a group and returns its message.
func (w *suite) failed(name string) (message string) {
	w.t.Helper()
	w.eventually("a failed launch", func() bool {
		all := w.activities(name)
		at := slices.IndexFunc(all, func(a types.Activity) bool { return a.StatusCode == types.ScalingActivityStatusCodeFailed })
		if at >= 0 {
			message = aws.ToString(all[at].StatusMessage)
		}
		return at >= 0
	})
	return message
}

// A group launches instances in the capacity reservation of its launch template until it is used up.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/use-ec2-capacity-reservations.html
func TestGroupUsesReservedCapacity(t *testing.T) {
	w := start(t)
	made, err := w.ec2.CreateCapacityReservation(t.Context(), &awsec2.CreateCapacityReservationInput{
		InstanceCount: aws.Int32(2), InstanceType: aws.String("m6i.large"), AvailabilityZone: aws.String(region + "a"),
		InstancePlatform:      ec2types.CapacityReservationInstancePlatformLinuxUnix,
		InstanceMatchCriteria: ec2types.InstanceMatchCriteriaTargeted,
	})
	id := must(t, made, err).CapacityReservation.CapacityReservationId
	w.launching(func(d *ec2types.RequestLaunchTemplateData) {
		d.CapacityReservationSpecification = &ec2types.LaunchTemplateCapacityReservationSpecificationRequest{
			CapacityReservationTarget: &ec2types.CapacityReservationTarget{CapacityReservationId: id},
		}
	})
	in := w.group("g", 2, 3)
	in.VPCZoneIdentifier = &w.subnets[0]
	w.create(in)
	w.until("g", 2)
	_, err = w.SetDesiredCapacity(t.Context(), &awsas.SetDesiredCapacityInput{AutoScalingGroupName: aws.String("g"), DesiredCapacity: aws.Int32(3)})
	if err != nil {
		t.Fatal(err)
	}
	if message := w.failed("g"); !strings.Contains(message, "does not have sufficient compatible and available capacity") {
		t.Errorf("the launch failed with %q", message)
	}
	out, err := w.ec2.DescribeCapacityReservations(t.Context(), &awsec2.DescribeCapacityReservationsInput{})
	if n := *must(t, out, err).CapacityReservations[0].AvailableInstanceCount; n != 0 {
		t.Errorf("room for %d instances is left", n)
	}
}

// A group tries its other zones for reserved capacity.
func TestGroupFindsReservedCapacityInAnotherZone(t *testing.T) {
	w := start(t)
	_, err := w.ec2.CreateCapacityReservation(t.Context(), &awsec2.CreateCapacityReservationInput{
		InstanceCount: aws.Int32(2), InstanceType: aws.String("m6i.large"), AvailabilityZone: aws.String(region + "c"),
		InstancePlatform: ec2types.CapacityReservationInstancePlatformLinuxUnix,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.launching(func(d *ec2types.RequestLaunchTemplateData) {
		d.CapacityReservationSpecification = &ec2types.LaunchTemplateCapacityReservationSpecificationRequest{
			CapacityReservationPreference: ec2types.CapacityReservationPreferenceCapacityReservationsOnly,
		}
	})
	w.create(w.group("g", 2, 2))
	w.until("g", 2)
	if got := w.zonesOf("g"); got["c"] != 2 {
		t.Errorf("the zones are %v", got)
	}
}

// Auto Scaling tries the launch template before it creates a group.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-launch-template-permissions.html
func TestGroupWithoutItsPlacementGroupIsRefused(t *testing.T) {
	w := start(t)
	w.launching(func(d *ec2types.RequestLaunchTemplateData) {
		d.Placement = &ec2types.LaunchTemplatePlacementRequest{GroupName: aws.String("nowhere")}
	})
	_, err := w.CreateAutoScalingGroup(t.Context(), w.group("g", 1, 1))
	wiretest.WantCode(t, err, "ValidationError")
}

// Instances beyond the seventh of a spread placement group in a zone do not launch.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/placement-strategies.html
func TestGroupFillsASpreadPlacementGroup(t *testing.T) {
	w := start(t)
	_, err := w.ec2.CreatePlacementGroup(t.Context(), &awsec2.CreatePlacementGroupInput{
		GroupName: aws.String("apart"), Strategy: ec2types.PlacementStrategySpread,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.launching(func(d *ec2types.RequestLaunchTemplateData) {
		d.Placement = &ec2types.LaunchTemplatePlacementRequest{GroupName: aws.String("apart")}
	})
	in := w.group("g", 7, 8)
	in.VPCZoneIdentifier = &w.subnets[0]
	w.create(in)
	w.until("g", 7)
	_, err = w.SetDesiredCapacity(t.Context(), &awsas.SetDesiredCapacityInput{AutoScalingGroupName: aws.String("g"), DesiredCapacity: aws.Int32(8)})
	if err != nil {
		t.Fatal(err)
	}
	if message := w.failed("g"); !strings.Contains(message, "Placement Group 'apart'") {
		t.Errorf("the launch failed with %q", message)
	}
}

package ec2_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	testclock "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

// reserve creates a capacity reservation for m6i.large in zone a.
func (w *suite) reserve(count int32, criteria types.InstanceMatchCriteria, change ...func(*awsec2.CreateCapacityReservationInput)) string {
	w.t.Helper()
	in := &awsec2.CreateCapacityReservationInput{
		InstanceCount: &count, InstanceType: aws.String("m6i.large"), AvailabilityZone: aws.String(region + "a"),
		InstancePlatform: types.CapacityReservationInstancePlatformLinuxUnix, InstanceMatchCriteria: criteria,
	}
	for _, do := range change {
		do(in)
	}
	out, err := w.CreateCapacityReservation(w.t.Context(), in)
	if err != nil {
		w.t.Fatal(err)
	}
	return *out.CapacityReservation.CapacityReservationId
}

// available returns how many instances a capacity reservation has room for, and its state.
func (w *suite) available(id string) (int32, types.CapacityReservationState) {
	w.t.Helper()
	out, err := w.DescribeCapacityReservations(w.t.Context(), &awsec2.DescribeCapacityReservationsInput{
		CapacityReservationIds: []string{id},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return *out.CapacityReservations[0].AvailableInstanceCount, out.CapacityReservations[0].State
}

// targeting returns a request for an instance in reserved capacity.
func (w *suite) targeting(preference types.CapacityReservationPreference, id, group string) *awsec2.RunInstancesInput {
	in := w.request()
	in.CapacityReservationSpecification = &types.CapacityReservationSpecification{CapacityReservationPreference: preference}
	if id != "" {
		in.CapacityReservationSpecification.CapacityReservationTarget = &types.CapacityReservationTarget{CapacityReservationId: &id}
	}
	if group != "" {
		in.CapacityReservationSpecification.CapacityReservationTarget = &types.CapacityReservationTarget{
			CapacityReservationResourceGroupArn: &group,
		}
	}
	return in
}

// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-reservations-launch.html
func TestTargetedCapacityReservationIsUsedUp(t *testing.T) {
	w := start(t)
	ctx := t.Context()
	id := w.reserve(1, types.InstanceMatchCriteriaTargeted)
	if i := w.launch(w.request()); i.CapacityReservationId != nil {
		t.Errorf("an instance without a target runs in %s", *i.CapacityReservationId)
	}
	i := w.launch(w.targeting("", id, ""))
	if aws.ToString(i.CapacityReservationId) != id {
		t.Errorf("the instance runs in %q", aws.ToString(i.CapacityReservationId))
	}
	if n, _ := w.available(id); n != 0 {
		t.Errorf("room for %d instances is left", n)
	}
	_, err := w.RunInstances(ctx, w.targeting("", id, ""))
	wiretest.WantCode(t, err, "ReservationCapacityExceeded")
	if _, err := w.TerminateInstances(ctx, &awsec2.TerminateInstancesInput{InstanceIds: []string{*i.InstanceId}}); err != nil {
		t.Fatal(err)
	}
	w.until(*i.InstanceId, types.InstanceStateNameTerminated)
	w.launch(w.targeting("", id, ""))
}

// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CapacityReservationSpecification.html
func TestCapacityReservationTargetsRefuse(t *testing.T) {
	w := start(t)
	id := w.reserve(5, types.InstanceMatchCriteriaTargeted)
	otherType := w.targeting("", id, "")
	otherType.InstanceType = types.InstanceTypeM6iXlarge
	otherZone := w.targeting("", id, "")
	otherZone.SubnetId = aws.String(w.subnets[region+"b"])
	spot := w.targeting("", id, "")
	spot.InstanceMarketOptions = &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeSpot}
	block := w.targeting("", id, "")
	block.InstanceMarketOptions = &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeCapacityBlock}
	canceled := w.reserve(1, types.InstanceMatchCriteriaTargeted)
	_, err := w.CancelCapacityReservation(t.Context(), &awsec2.CancelCapacityReservationInput{CapacityReservationId: &canceled})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		in   *awsec2.RunInstancesInput
		code string
	}{
		"no such reservation":        {w.targeting("", "cr-0123456789abcdef0", ""), "InvalidCapacityReservationId.NotFound"},
		"no ID":                      {w.targeting("", "reserved", ""), "InvalidCapacityReservationId.Malformed"},
		"another type":               {otherType, "InvalidParameterValue"},
		"another zone":               {otherZone, "InvalidParameterValue"},
		"a canceled reservation":     {w.targeting("", canceled, ""), "InvalidParameterValue"},
		"open and a target":          {w.targeting("open", id, ""), "InvalidParameterCombination"},
		"spot":                       {spot, "InvalidParameterCombination"},
		"a block":                    {block, "UnsupportedOperation"},
		"a group that no test made":  {w.targeting("", "", "arn:aws:resource-groups:eu-central-1:123456789012:group/a"), "UnsupportedOperation"},
		"only reserved, and no room": {w.targeting("capacity-reservations-only", "", ""), "ReservationCapacityExceeded"},
	} {
		_, err := w.RunInstances(t.Context(), c.in)
		t.Log(name)
		wiretest.WantCode(t, err, c.code)
	}
}

// An open capacity reservation takes matching instances until it is full, even if the zone has no other
// capacity; the others run on demand, unless they do not want that.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-reservations.html
func TestOpenCapacityReservationTakesMatchingInstances(t *testing.T) {
	w := start(t)
	id := w.reserve(2, types.InstanceMatchCriteriaOpen)
	if i := w.launch(w.targeting("none", "", "")); i.CapacityReservationId != nil {
		t.Error("an instance that wants no reserved capacity has it")
	}
	w.service.SetCapacity(region+"a", "m6i.large", false)
	for _, in := range []*awsec2.RunInstancesInput{w.request(), w.targeting("capacity-reservations-only", "", "")} {
		if i := w.launch(in); aws.ToString(i.CapacityReservationId) != id {
			t.Errorf("the instance runs in %q", aws.ToString(i.CapacityReservationId))
		}
	}
	_, err := w.RunInstances(t.Context(), w.request())
	wiretest.WantCode(t, err, "InsufficientInstanceCapacity")
	w.service.SetCapacity(region+"a", "m6i.large", true)
	if i := w.launch(w.request()); i.CapacityReservationId != nil {
		t.Error("a full reservation took an instance")
	}
}

// Without room in the group, instances run on demand, unless they are limited to reserved capacity.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/create-cr-group.html
func TestGroupOfCapacityReservations(t *testing.T) {
	w := start(t)
	const group = "arn:aws:resource-groups:eu-central-1:123456789012:group/reserved"
	id := w.reserve(1, types.InstanceMatchCriteriaTargeted)
	w.service.SetCapacityGroup(account, region, group, id)
	if i := w.launch(w.targeting("", "", group)); aws.ToString(i.CapacityReservationId) != id {
		t.Errorf("the instance runs in %q", aws.ToString(i.CapacityReservationId))
	}
	if i := w.launch(w.targeting("", "", group)); i.CapacityReservationId != nil {
		t.Error("a full reservation took an instance")
	}
	_, err := w.RunInstances(t.Context(), w.targeting("capacity-reservations-only", "", group))
	wiretest.WantCode(t, err, "ReservationCapacityExceeded")
}

// Unused reserved capacity counts for the quota of instances.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-reservations-create.html
func TestQuotaCountsReservedCapacity(t *testing.T) {
	w := start(t)
	w.service.SetQuota(account, region, false, 4)
	id := w.reserve(2, types.InstanceMatchCriteriaTargeted)
	_, err := w.RunInstances(t.Context(), w.request())
	wiretest.WantCode(t, err, "VcpuLimitExceeded")
	w.launch(w.targeting("", id, ""))
	_, err = w.CreateCapacityReservation(t.Context(), &awsec2.CreateCapacityReservationInput{
		InstanceCount: aws.Int32(1), InstanceType: aws.String("m6i.large"), AvailabilityZone: aws.String(region + "a"),
		InstancePlatform: types.CapacityReservationInstancePlatformLinuxUnix,
	})
	wiretest.WantCode(t, err, "VcpuLimitExceeded")
}

// Instances of a capacity reservation that ends run on demand from then on.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-reservations-using.html
func TestCapacityReservationEnds(t *testing.T) {
	clk := testclock.NewFakeClock(time.Now())
	w := startWith(t, clk, nil)
	id := w.reserve(1, types.InstanceMatchCriteriaOpen, func(in *awsec2.CreateCapacityReservationInput) {
		in.EndDateType, in.EndDate = types.EndDateTypeLimited, aws.Time(clk.Now().Add(time.Hour))
	})
	i := w.launch(w.request())
	clk.Step(time.Hour)
	if _, state := w.available(id); state != types.CapacityReservationStateExpired {
		t.Errorf("the reservation is %s", state)
	}
	if i := w.until(*i.InstanceId, types.InstanceStateNameRunning); i.CapacityReservationId != nil {
		t.Error("the instance runs in a reservation that ended")
	}
}

package autoscaling_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsas "github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	testclock "k8s.io/utils/clock/testing"
)

// zonesOf counts a group's instances in service by zone.
func (w *suite) zonesOf(name string) map[string]int {
	w.t.Helper()
	count := map[string]int{}
	for _, i := range w.get(name).Instances {
		if i.LifecycleState == types.LifecycleStateInService {
			count[strings.TrimPrefix(*i.AvailabilityZone, region)]++
		}
	}
	return count
}

func TestZonesAreBalancedByLaunchingFirst(t *testing.T) {
	w := startWith(t, testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
	ctx := t.Context()
	in := w.group("g", 4, 4)
	in.VPCZoneIdentifier = &w.subnets[0]
	in.LifecycleHookSpecificationList = []types.LifecycleHookSpecification{hook("drain", terminating, "CONTINUE", 600)}
	w.create(in)
	w.until("g", 4)
	suspend := &awsas.SuspendProcessesInput{AutoScalingGroupName: aws.String("g"), ScalingProcesses: []string{"AZRebalance"}}
	if _, err := w.SuspendProcesses(ctx, suspend); err != nil {
		t.Fatal(err)
	}
	if _, err := w.UpdateAutoScalingGroup(ctx, &awsas.UpdateAutoScalingGroupInput{
		AutoScalingGroupName: aws.String("g"), VPCZoneIdentifier: aws.String(w.subnets[0] + "," + w.subnets[1]),
	}); err != nil {
		t.Fatal(err)
	}
	if got := w.zonesOf("g"); got["a"] != 4 {
		t.Errorf("while the process is suspended the zones are %v", got)
	}
	w.compute.SetCapacity(region+"b", "m6i.large", false)
	if _, err := w.ResumeProcesses(ctx, &awsas.ResumeProcessesInput{AutoScalingGroupName: aws.String("g"), ScalingProcesses: suspend.ScalingProcesses}); err != nil {
		t.Fatal(err)
	}
	w.eventually("a failed attempt", func() bool {
		return slices.ContainsFunc(
			w.activities("g"), func(a types.Activity) bool { return a.StatusCode == types.ScalingActivityStatusCodeFailed },
		)
	})
	if got := w.zonesOf("g"); got["a"] != 4 {
		t.Errorf("without capacity the zones are %v", got)
	}
	w.compute.SetCapacity(region+"b", "m6i.large", true)
	w.clock.Step(6 * time.Minute)
	w.soon("balance", func() bool {
		got := w.zonesOf("g")
		if n := got["a"] + got["b"]; n < 4 {
			t.Errorf("%d instances are in service", n)
		}
		return got["a"] == 2 && got["b"] == 2
	})
	if held := w.in("g", types.LifecycleStateTerminatingWait); len(held) != 2 {
		t.Errorf("held: %v", held)
	}
	if a := w.activities("g")[0]; !strings.Contains(
		*a.Cause, "instances were launched to balance instances in zones "+region+"b with other zones",
	) {
		t.Errorf("the cause is %s", *a.Cause)
	}
}

// spotGroup creates a group of spot instances.
func (w *suite) spotGroup(size int32, rebalance bool) []string {
	w.t.Helper()
	in := w.group("g", size, size)
	in.MixedInstancesPolicy = &types.MixedInstancesPolicy{
		LaunchTemplate:        &types.LaunchTemplate{LaunchTemplateSpecification: in.LaunchTemplate},
		InstancesDistribution: &types.InstancesDistribution{OnDemandPercentageAboveBaseCapacity: aws.Int32(0)},
	}
	in.LaunchTemplate, in.CapacityRebalance = nil, &rebalance
	in.LifecycleHookSpecificationList = []types.LifecycleHookSpecification{hook("drain", terminating, "CONTINUE", 600)}
	w.create(in)
	return w.until("g", int(size))
}

func TestSpotInstanceAtRiskIsReplacedBeforeTermination(t *testing.T) {
	w := start(t)
	ids := w.spotGroup(3, true)
	if err := w.compute.RecommendRebalance(account, region, ids[1]); err != nil {
		t.Fatal(err)
	}
	w.eventually("the hold", func() bool { return slices.Equal(w.in("g", types.LifecycleStateTerminatingWait), []string{ids[1]}) })
	if now := w.inService("g"); len(now) != 3 {
		t.Errorf("in service: %v", now)
	}
	if g := w.get("g"); *g.DesiredCapacity != 3 {
		t.Errorf("the desired capacity is %d", *g.DesiredCapacity)
	}
}

func TestRecommendationIsIgnoredWithoutCapacityRebalancing(t *testing.T) {
	w := start(t)
	ids := w.spotGroup(2, false)
	if err := w.compute.RecommendRebalance(account, region, ids[0]); err != nil {
		t.Fatal(err)
	}
	// The group's queue is in order: when the next change is done, so is this one.
	if _, err := w.SetDesiredCapacity(t.Context(), &awsas.SetDesiredCapacityInput{AutoScalingGroupName: aws.String("g"), DesiredCapacity: aws.Int32(2)}); err != nil {
		t.Fatal(err)
	}
	if now := w.until("g", 2); !slices.Equal(now, ids) {
		t.Errorf("%v became %v", ids, now)
	}
}

func TestInstanceWithFailedStatusChecksIsReplacedThroughItsHook(t *testing.T) {
	w := startWith(t, testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
	in := w.group("g", 1, 1)
	in.HealthCheckGracePeriod = aws.Int32(60)
	in.LifecycleHookSpecificationList = []types.LifecycleHookSpecification{hook("drain", terminating, "CONTINUE", 600)}
	w.create(in)
	id := w.until("g", 1)[0]
	if err := w.compute.SetImpaired(account, region, id, true); err != nil {
		t.Fatal(err)
	}
	if now := w.inService("g"); !slices.Equal(now, []string{id}) {
		t.Errorf("within its grace period: %v", now)
	}
	w.clock.Step(time.Minute)
	w.soon("the hold", func() bool { return len(w.in("g", types.LifecycleStateTerminatingWait)) == 1 })
	w.eventually("a replacement", func() bool { return len(w.others("g", id)) == 1 })
}

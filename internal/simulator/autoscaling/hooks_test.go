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

	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

const terminating = "autoscaling:EC2_INSTANCE_TERMINATING"

func hook(name, transition, result string, heartbeat int32) types.LifecycleHookSpecification {
	return types.LifecycleHookSpecification{
		LifecycleHookName: &name, LifecycleTransition: &transition, DefaultResult: &result, HeartbeatTimeout: &heartbeat,
		NotificationMetadata: aws.String("cluster=demo"),
	}
}

func TestTerminatingHookHoldsInstance(t *testing.T) {
	w := startWith(t, testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
	ctx := t.Context()
	in := w.group("g", 0, 1)
	in.DesiredCapacity = aws.Int32(1)
	in.LifecycleHookSpecificationList = []types.LifecycleHookSpecification{hook("drain", terminating, "CONTINUE", 60)}
	w.create(in)
	id := w.until("g", 1)[0]
	if _, err := w.SetDesiredCapacity(ctx, &awsas.SetDesiredCapacityInput{AutoScalingGroupName: aws.String("g"), DesiredCapacity: aws.Int32(0)}); err != nil {
		t.Fatal(err)
	}
	w.eventually("the hold", func() bool { return len(w.in("g", types.LifecycleStateTerminatingWait)) == 1 })
	w.eventually("the event", func() bool { return len(w.published("EC2 Instance-terminate Lifecycle Action")) == 1 })
	e := w.published("EC2 Instance-terminate Lifecycle Action")[0]
	if e.detail["EC2InstanceId"] != id || e.detail["LifecycleHookName"] != "drain" || e.detail["NotificationMetadata"] != "cluster=demo" ||
		e.detail["LifecycleTransition"] != terminating || len(e.resources) != 1 ||
		!strings.HasSuffix(e.resources[0], "autoScalingGroupName/g") {
		t.Errorf("the event is %+v", e)
	}
	token := aws.String(e.detail["LifecycleActionToken"].(string))
	for range 5 { // longer than the timeout, but with heartbeats
		w.clock.Step(50 * time.Second)
		if _, err := w.RecordLifecycleActionHeartbeat(ctx, &awsas.RecordLifecycleActionHeartbeatInput{
			AutoScalingGroupName: aws.String("g"), LifecycleHookName: aws.String("drain"), LifecycleActionToken: token,
		}); err != nil {
			t.Fatal(err)
		}
	}
	if held := w.in("g", types.LifecycleStateTerminatingWait); len(held) != 1 {
		t.Fatalf("held: %v", held)
	}
	complete := &awsas.CompleteLifecycleActionInput{
		AutoScalingGroupName: aws.String("g"), LifecycleHookName: aws.String("drain"), InstanceId: &id,
		LifecycleActionResult: aws.String("CONTINUE"),
	}
	if _, err := w.CompleteLifecycleAction(ctx, complete); err != nil {
		t.Fatal(err)
	}
	w.until("g", 0)
	w.eventually("the termination event", func() bool { return len(w.published("EC2 Instance Terminate Successful")) == 1 })
	_, err := w.CompleteLifecycleAction(ctx, complete)
	wiretest.WantCode(t, err, "ValidationError")
}

func TestIncompleteHookTimesOut(t *testing.T) {
	w := startWith(t, testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
	in := w.group("g", 1, 1)
	in.LifecycleHookSpecificationList = []types.LifecycleHookSpecification{
		hook("boot", "autoscaling:EC2_INSTANCE_LAUNCHING", "ABANDON", 60),
	}
	w.create(in)
	w.eventually("the hold", func() bool { return len(w.in("g", types.LifecycleStatePendingWait)) == 1 })
	first := w.in("g", types.LifecycleStatePendingWait)
	w.clock.Step(61 * time.Second)
	w.eventually("another instance", func() bool {
		w.clock.Step(time.Second)
		now := w.in("g", types.LifecycleStatePendingWait)
		return len(now) == 1 && !slices.Equal(now, first)
	})
	cancelled := slices.ContainsFunc(w.activities("g"), func(a types.Activity) bool {
		return a.StatusCode == types.ScalingActivityStatusCodeCancelled &&
			strings.HasSuffix(aws.ToString(a.StatusMessage), "was abandoned: Heartbeat Timeout")
	})
	if !cancelled {
		t.Errorf("activities: %+v", w.activities("g"))
	}
	if _, err := w.CompleteLifecycleAction(t.Context(), &awsas.CompleteLifecycleActionInput{
		AutoScalingGroupName: aws.String("g"), LifecycleHookName: aws.String("boot"), LifecycleActionResult: aws.String("CONTINUE"),
		InstanceId: &w.in("g", types.LifecycleStatePendingWait)[0],
	}); err != nil {
		t.Fatal(err)
	}
	w.until("g", 1)
}

func TestHooksAreStoredAndDescribed(t *testing.T) {
	w := start(t)
	ctx := t.Context()
	w.create(w.group("g", 0, 0))
	put := &awsas.PutLifecycleHookInput{
		AutoScalingGroupName: aws.String("g"),
		LifecycleHookName:    aws.String("h"),
		LifecycleTransition:  aws.String(terminating),
	}
	if _, err := w.PutLifecycleHook(ctx, put); err != nil {
		t.Fatal(err)
	}
	put.LifecycleTransition, put.HeartbeatTimeout = nil, aws.Int32(90)
	if _, err := w.PutLifecycleHook(ctx, put); err != nil {
		t.Fatal(err)
	}
	out, err := w.DescribeLifecycleHooks(ctx, &awsas.DescribeLifecycleHooksInput{AutoScalingGroupName: aws.String("g")})
	if err != nil {
		t.Fatal(err)
	}
	h := out.LifecycleHooks[0]
	if *h.DefaultResult != "ABANDON" || *h.HeartbeatTimeout != 90 || *h.GlobalTimeout != 9000 || *h.LifecycleTransition != terminating {
		t.Errorf("the hook is %+v", h)
	}
	put.HeartbeatTimeout = aws.Int32(5)
	_, err = w.PutLifecycleHook(ctx, put)
	wiretest.WantCode(t, err, "ValidationError")
	if _, err := w.DeleteLifecycleHook(ctx, &awsas.DeleteLifecycleHookInput{
		AutoScalingGroupName: aws.String("g"), LifecycleHookName: aws.String("h"),
	}); err != nil {
		t.Fatal(err)
	}
}

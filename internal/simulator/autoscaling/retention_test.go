package autoscaling_test

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsas "github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	testclock "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

// complete completes the lifecycle action of an instance.
func (w *suite) complete(id, result string) {
	w.t.Helper()
	if _, err := w.CompleteLifecycleAction(w.t.Context(), &awsas.CompleteLifecycleActionInput{
		AutoScalingGroupName: aws.String("g"), LifecycleHookName: aws.String("drain"), InstanceId: &id, LifecycleActionResult: &result,
	}); err != nil {
		w.t.Fatal(err)
	}
}

// terminate terminates an instance in its group.
func (w *suite) terminate(id string, decrement bool) error {
	_, err := w.TerminateInstanceInAutoScalingGroup(w.t.Context(), &awsas.TerminateInstanceInAutoScalingGroupInput{
		InstanceId: &id, ShouldDecrementDesiredCapacity: &decrement,
	})
	return err
}

// drained creates a group of one instance with a hook that holds terminating instances.
func drained(t *testing.T, retain bool) (w *suite, id string) {
	t.Helper()
	w = startWith(t, testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
	in := w.group("g", 1, 1)
	in.LifecycleHookSpecificationList = []types.LifecycleHookSpecification{hook("drain", terminating, "CONTINUE", 60)}
	if retain {
		in.InstanceLifecyclePolicy = &types.InstanceLifecyclePolicy{
			RetentionTriggers: &types.RetentionTriggers{TerminateHookAbandon: types.RetentionActionRetain},
		}
	}
	w.create(in)
	id = w.until("g", 1)[0]
	if err := w.terminate(id, false); err != nil {
		t.Fatal(err)
	}
	w.eventually("the hold", func() bool { return len(w.in("g", types.LifecycleStateTerminatingWait)) == 1 })
	return w, id
}

func TestAbandonedInstanceIsRetained(t *testing.T) {
	w, id := drained(t, true)
	w.complete(id, "ABANDON")
	w.eventually("retention and a replacement", func() bool {
		return slices.Equal(w.in("g", types.LifecycleStateTerminatingRetained), []string{id}) && len(w.inService("g")) == 1
	})
	if g := w.get("g"); *g.DesiredCapacity != 1 ||
		g.InstanceLifecyclePolicy.RetentionTriggers.TerminateHookAbandon != types.RetentionActionRetain {
		t.Errorf("the group is %+v", g)
	}
	if i, _ := w.compute.Instance(account, region, id); i.State != "running" {
		t.Errorf("the retained instance is %s", i.State)
	}
	_, err := w.DeleteAutoScalingGroup(
		t.Context(), &awsas.DeleteAutoScalingGroupInput{AutoScalingGroupName: aws.String("g"), ForceDelete: aws.Bool(true)},
	)
	wiretest.WantCode(t, err, "ValidationError")
	wiretest.WantCode(t, w.terminate(id, true), "ValidationError")

	// Its termination runs the hook again.
	if err := w.terminate(id, false); err != nil {
		t.Fatal(err)
	}
	w.eventually("another hold", func() bool { return len(w.published("EC2 Instance-terminate Lifecycle Action")) == 2 })
	w.eventually("the hold", func() bool { return len(w.in("g", types.LifecycleStateTerminatingWait)) == 1 })
	w.complete(id, "CONTINUE")
	if left := w.until("g", 1); left[0] == id {
		t.Error("the retained instance is left in service")
	}
}

func TestAbandonedInstanceIsTerminatedWithoutPolicy(t *testing.T) {
	w, id := drained(t, false)
	w.complete(id, "ABANDON")
	w.until("g", 1)
	w.eventually("its end", func() bool { i, _ := w.compute.Instance(account, region, id); return i.State != "running" })
}

func TestHookDoesNotHoldTerminatedInstance(t *testing.T) {
	w, id := drained(t, true)
	if _, err := w.ec2.TerminateInstances(t.Context(), &awsec2.TerminateInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	second := w.until("g", 1)[0]
	// An instance that the user terminates in EC2 is replaced without a hold.
	if _, err := w.ec2.TerminateInstances(t.Context(), &awsec2.TerminateInstancesInput{InstanceIds: []string{second}}); err != nil {
		t.Fatal(err)
	}
	w.eventually("a replacement", func() bool { return len(w.others("g", id, second)) == 1 })
	w.until("g", 1)
}

package rollout_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/drain"
	"github.com/aws-operator/aws-operator/internal/cluster/rollout"
)

func settings() *rollout.Settings {
	return &rollout.Settings{
		Attempt: "1", BatchSize: 1, MinInService: 5, ReadyTimeout: time.Minute, DrainTimeout: time.Minute, OnDrainTimeout: drain.Continue,
	}
}

func TestFiveNodesAreReplacedWithASurgeUnderABudget(t *testing.T) {
	t.Parallel() // It mostly waits.
	w := newSuite(t)
	w.group(2, 5, 6)
	w.app(5)
	version := w.edit()
	s := settings()
	s.Surge = 1
	result := w.roll(aGroup(s), rollout.Done)
	if result.Updated != 5 || result.Total != 5 {
		t.Errorf("%d of %d are updated in the end", result.Updated, result.Total)
	}
	w.restored(5, version)
	if w.least < 5 || w.leastPod < 4 {
		t.Errorf("there were only %d Ready nodes and %d pods once", w.least, w.leastPod)
	}
	if again := w.roll(aGroup(s), rollout.Done); len(again.Did) > 0 {
		t.Errorf("although nothing was to be done: %v", again.Did)
	}
}

func TestACanaryThatIsNeverReadyStopsTheRoll(t *testing.T) {
	t.Parallel() // It mostly waits.
	w := newSuite(t)
	w.group(2, 3, 4)
	before := w.ready("1")
	w.broken[w.edit()] = true
	s := settings()
	s.Surge, s.Canary, s.ReadyTimeout, s.MinInService = 1, 1, time.Second, 3
	result := w.roll(aGroup(s), rollout.Stopped)
	if !strings.Contains(result.Why, "was not Ready within 1s") {
		t.Errorf("it stopped: %s", result.Why)
	}
	w.eventually("the canary is terminated", func() bool { w.live(); return len(w.describe().Instances) == 3 })
	if after := w.ready("1"); strings.Join(before, " ") != strings.Join(after, " ") || *w.describe().DesiredCapacity != 3 {
		t.Errorf("%v served before, and %v do now", before, after)
	}
	if tags := rollout.TagsOf(w.describe()); !tags.Autoscaled() || tags.AutoscalerHeld() {
		t.Errorf("the autoscaler is not back: %v", tags)
	}
	if again := w.roll(aGroup(s), rollout.Stopped); len(again.Did) > 0 {
		t.Errorf("although it stopped: %v", again.Did)
	}
	version := w.edit()
	s.Attempt, s.ReadyTimeout = "2", settings().ReadyTimeout
	w.roll(aGroup(s), rollout.Done)
	w.restored(3, version)
}

// failing is Auto Scaling whose next change is refused.
type failing struct {
	awsapi.AutoScaling
	left *int
}

var errKilled = errors.New("killed")

func (f failing) kill() error {
	*f.left--
	if *f.left < 0 {
		return errKilled
	}
	return nil
}

func (f failing) CreateOrUpdateTags(
	ctx context.Context, in *autoscaling.CreateOrUpdateTagsInput, o ...func(*autoscaling.Options),
) (*autoscaling.CreateOrUpdateTagsOutput, error) {
	if err := f.kill(); err != nil {
		return nil, err
	}
	return f.AutoScaling.CreateOrUpdateTags(ctx, in, o...)
}

func (f failing) DeleteTags(
	ctx context.Context, in *autoscaling.DeleteTagsInput, o ...func(*autoscaling.Options),
) (*autoscaling.DeleteTagsOutput, error) {
	if err := f.kill(); err != nil {
		return nil, err
	}
	return f.AutoScaling.DeleteTags(ctx, in, o...)
}

func (f failing) SetDesiredCapacity(
	ctx context.Context, in *autoscaling.SetDesiredCapacityInput, o ...func(*autoscaling.Options),
) (*autoscaling.SetDesiredCapacityOutput, error) {
	if err := f.kill(); err != nil {
		return nil, err
	}
	return f.AutoScaling.SetDesiredCapacity(ctx, in, o...)
}

func (f failing) TerminateInstanceInAutoScalingGroup(
	ctx context.Context, in *autoscaling.TerminateInstanceInAutoScalingGroupInput, o ...func(*autoscaling.Options),
) (*autoscaling.TerminateInstanceInAutoScalingGroupOutput, error) {
	if err := f.kill(); err != nil {
		return nil, err
	}
	return f.AutoScaling.TerminateInstanceInAutoScalingGroup(ctx, in, o...)
}

// A step that AWS refuses reports how many nodes are to be updated.
func TestAStepThatFailsReportsTheNumberOfNodes(t *testing.T) {
	t.Parallel() // It mostly waits.
	w := newSuite(t)
	w.group(2, 3, 4)
	w.edit()
	left := 0
	w.limit(&left)
	result, err := w.roller.Step(t.Context(), aGroup(settings()))
	if !errors.Is(err, errKilled) || result.Total != 3 || result.Updated != 0 {
		t.Errorf("got %d of %d, %v", result.Updated, result.Total, err)
	}
}

// Each engine gets one change of AWS further than the one before left it, and is killed.
func TestARollThatIsKilledAfterEachChangeEndsTheSame(t *testing.T) {
	t.Parallel() // It mostly waits.
	w := newSuite(t)
	w.group(1, 2, 3)
	w.app(2)
	version := w.edit()
	s := settings()
	s.Surge, s.MinInService = 1, 2
	group := aGroup(s)
	killed := 0
	for {
		w.start()
		left := 1
		w.limit(&left)
		var result rollout.Result
		w.eventually("it is killed or done", func() bool {
			w.live()
			var err error
			result, err = w.roller.Step(t.Context(), group)
			if err != nil && !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
			return err != nil || result.State != rollout.Rolling
		})
		if result.State == rollout.Done {
			break
		}
		if killed++; killed > 100 || result.State == rollout.Stopped {
			t.Fatalf("it does not end: %s", result.Why)
		}
	}
	t.Logf("killed %d times", killed)
	w.restored(2, version)
	if w.least < 2 || w.leastPod < 1 {
		t.Errorf("there were only %d Ready nodes and %d pods once", w.least, w.leastPod)
	}
}

func TestADrainThatIsAbandonedStopsTheRollAndOpensTheNode(t *testing.T) {
	t.Parallel() // It mostly waits.
	w := newSuite(t)
	w.group(1, 2, 2)
	w.app(2)
	zero := w.forbid()
	w.edit()
	clk := testclock.NewFakeClock(time.Now())
	w.drainClock = clk
	w.start()
	s := settings()
	s.MinInService, s.DrainTimeout, s.OnDrainTimeout = 1, time.Hour, drain.Abandon
	w.eventually("a budget blocks the drain", func() bool {
		w.live()
		clk.Step(time.Second)
		step, err := w.roller.Step(t.Context(), aGroup(s))
		must(t, err)
		return slices.ContainsFunc(step.Draining, func(p drain.Progress) bool { return slices.Contains(p.BlockedBy, "default/"+zero) })
	})
	clk.Step(time.Hour)
	result := w.roll(aGroup(s), rollout.Stopped)
	if !strings.Contains(result.Why, "default/"+zero) {
		t.Errorf("it stopped: %s", result.Why)
	}
	w.eventually("both nodes serve", func() bool { return len(w.ready("1")) == 2 })
}

func TestANodeThatIsNotWellHoldsTheRollBack(t *testing.T) {
	t.Parallel() // It mostly waits.
	w := newSuite(t)
	w.group(1, 2, 2)
	w.edit()
	s := settings()
	s.MinInService = 1
	other := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "other"}, Status: corev1.NodeStatus{
		Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(time.Now().Add(time.Minute))},
		},
	}}
	must(t, w.api.Put(other))
	var result rollout.Result
	w.eventually("it waits", func() bool {
		w.live()
		var err error
		result, err = w.roller.Step(t.Context(), aGroup(s))
		must(t, err)
		return strings.Contains(result.Why, "node other")
	})
	if result.State != rollout.Rolling || len(w.ready("1")) != 2 {
		t.Errorf("%s: %s", result.State, result.Why)
	}
}

package autoscaling_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsas "github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	testclock "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

func (w *suite) schedule(in awsas.PutScheduledUpdateGroupActionInput) error {
	in.AutoScalingGroupName = aws.String("g")
	_, err := w.PutScheduledUpdateGroupAction(w.t.Context(), &in)
	return err
}

// soon waits until a condition holds while it steps the clock slowly, because a group may not have
// set its timer yet.
func (w *suite) soon(what string, holds func() bool) {
	w.t.Helper()
	w.eventually(what, func() bool {
		w.clock.Step(time.Millisecond)
		return holds()
	})
}

func (w *suite) scheduled() []types.ScheduledUpdateGroupAction {
	w.t.Helper()
	out, err := w.DescribeScheduledActions(w.t.Context(), &awsas.DescribeScheduledActionsInput{AutoScalingGroupName: aws.String("g")})
	return must(w.t, out, err).ScheduledUpdateGroupActions
}

func TestScheduledActionsRunWhenDue(t *testing.T) {
	friday := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	w := startWith(t, testclock.NewFakeClock(friday))
	w.create(w.group("g", 0, 5))
	once := awsas.PutScheduledUpdateGroupActionInput{
		ScheduledActionName: aws.String("once"), StartTime: aws.Time(friday.Add(time.Hour)), DesiredCapacity: aws.Int32(2),
	}
	weekdays := awsas.PutScheduledUpdateGroupActionInput{
		ScheduledActionName: aws.String("weekdays"), Recurrence: aws.String("30 6 * * MON-FRI"), MinSize: aws.Int32(3),
	}
	for _, in := range []awsas.PutScheduledUpdateGroupActionInput{once, weekdays} {
		if err := w.schedule(in); err != nil {
			t.Fatal(err)
		}
	}
	monday := time.Date(2026, 1, 5, 6, 30, 0, 0, time.UTC)
	list := w.scheduled()
	if len(list) != 2 || *list[1].ScheduledActionName != "weekdays" || !list[1].StartTime.Equal(monday) ||
		!strings.HasSuffix(*list[1].ScheduledActionARN, "scheduledActionName/weekdays") {
		t.Errorf("the actions are %+v", list)
	}
	w.clock.Step(time.Hour)
	w.soon("two instances", func() bool { return len(w.inService("g")) == 2 })
	if a := w.activities("g")[0]; !strings.Contains(
		*a.Cause,
		"a scheduled action update of AutoScalingGroup constraints to min: 0, max: 5, desired: 2 changing the desired capacity from 0 to 2.",
	) {
		t.Errorf("the cause is %s", *a.Cause)
	}
	if list := w.scheduled(); len(list) != 1 {
		t.Errorf("an action that is done is left: %+v", list)
	}
	w.clock.SetTime(monday)
	w.soon("three instances", func() bool { return len(w.inService("g")) == 3 })
	if list := w.scheduled(); !list[0].StartTime.Equal(monday.AddDate(0, 0, 1)) {
		t.Errorf("the next time is %s", list[0].StartTime)
	}

	// Actions that are due while the process is suspended are skipped.
	if _, err := w.SuspendProcesses(t.Context(), &awsas.SuspendProcessesInput{
		AutoScalingGroupName: aws.String("g"), ScalingProcesses: []string{"ScheduledActions"},
	}); err != nil {
		t.Fatal(err)
	}
	once.StartTime, once.DesiredCapacity = aws.Time(monday.Add(time.Hour)), aws.Int32(5)
	if err := w.schedule(once); err != nil {
		t.Fatal(err)
	}
	w.clock.Step(time.Hour)
	w.soon("the action to be over", func() bool { return len(w.scheduled()) == 1 })
	if g := w.get("g"); *g.DesiredCapacity != 3 {
		t.Errorf("the desired capacity is %d", *g.DesiredCapacity)
	}
	if _, err := w.DeleteScheduledAction(t.Context(), &awsas.DeleteScheduledActionInput{
		AutoScalingGroupName: aws.String("g"), ScheduledActionName: aws.String("weekdays"),
	}); err != nil {
		t.Fatal(err)
	}
	if list := w.scheduled(); len(list) != 0 {
		t.Errorf("left: %+v", list)
	}
}

func TestInvalidScheduledActionsAreRefused(t *testing.T) {
	w := start(t)
	w.create(w.group("g", 0, 5))
	for what, in := range map[string]awsas.PutScheduledUpdateGroupActionInput{
		"no size":        {ScheduledActionName: aws.String("x"), Recurrence: aws.String("* * * * *")},
		"no time":        {ScheduledActionName: aws.String("x"), MinSize: aws.Int32(1)},
		"in the past":    {ScheduledActionName: aws.String("x"), MinSize: aws.Int32(1), StartTime: aws.Time(time.Unix(0, 0))},
		"six fields":     {ScheduledActionName: aws.String("x"), MinSize: aws.Int32(1), Recurrence: aws.String("0 0 * * * *")},
		"the 61st":       {ScheduledActionName: aws.String("x"), MinSize: aws.Int32(1), Recurrence: aws.String("61 * * * *")},
		"no such zone":   {ScheduledActionName: aws.String("x"), MinSize: aws.Int32(1), Recurrence: aws.String("* * * * *"), TimeZone: aws.String("Mars/Base")},
		"bounds crossed": {ScheduledActionName: aws.String("x"), MinSize: aws.Int32(3), MaxSize: aws.Int32(2), Recurrence: aws.String("* * * * *")},
	} {
		t.Run(what, func(t *testing.T) { wiretest.WantCode(t, w.schedule(in), "ValidationError") })
	}
	out, err := w.BatchPutScheduledUpdateGroupAction(t.Context(), &awsas.BatchPutScheduledUpdateGroupActionInput{
		AutoScalingGroupName: aws.String("g"), ScheduledUpdateGroupActions: []types.ScheduledUpdateGroupActionRequest{
			{ScheduledActionName: aws.String("good"), MinSize: aws.Int32(1), Recurrence: aws.String("*/15 0 1 1,6 *")},
			{ScheduledActionName: aws.String("bad"), Recurrence: aws.String("* * * * *")},
		},
	})
	if failed := must(t, out, err).FailedScheduledUpdateGroupActions; len(failed) != 1 || *failed[0].ScheduledActionName != "bad" {
		t.Errorf("failed: %+v", failed)
	}
	if list := w.scheduled(); len(list) != 1 || *list[0].ScheduledActionName != "good" {
		t.Errorf("kept: %+v", list)
	}
}

package autoscaling

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/google/uuid"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// scheduled is a scheduled action of a group.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-scheduled-scaling.html
type scheduled struct {
	name, arn, recurrence, zone string
	cron                        *cron // nil for a single action
	location                    *time.Location
	// next is the time of the next run; end is the time after which the action expires.
	next     time.Time
	end      *time.Time
	min, max *int32
	desired  *int32
}

const processScheduledActions = "ScheduledActions"

// maxScheduled is the maximum number of actions of a group.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-quotas.html
const maxScheduled = 125

// schedule runs the scheduled actions that are due. It skips those that were due while the process
// was suspended.
func (p *pass) schedule() {
	g := p.g
	for _, a := range slices.Clone(g.scheduled) {
		if p.now.Before(a.next) {
			p.until(a.next)
			continue
		}
		if !g.is(processScheduledActions) && !g.deleting {
			g.rescale(p.now, a)
		}
		if a.cron != nil {
			a.next = a.cron.next(p.now.In(a.location))
		}
		if a.cron == nil || a.end != nil && !a.next.Before(*a.end) {
			g.scheduled = slices.DeleteFunc(g.scheduled, func(other *scheduled) bool { return other == a })
			continue
		}
		p.until(a.next)
	}
}

// rescale applies the sizes of a scheduled action to a group; a desired capacity that the action
// does not set moves into the bounds.
func (g *group) rescale(now time.Time, a *scheduled) {
	set, desired := g.settings, g.desired
	if a.min != nil {
		set.min = int(*a.min)
	}
	if a.max != nil {
		set.max = int(*a.max)
	}
	if a.desired != nil {
		desired = int(*a.desired)
	}
	if set.min > set.max {
		return // other calls have changed the sizes
	}
	desired = min(max(desired, set.min), set.max)
	before := g.desired
	g.update(now, set, desired)
	if desired != before {
		g.pendingCause = fmt.Sprintf(
			"%s a scheduled action update of AutoScalingGroup constraints to min: %d, max: %d, desired: %d changing the desired capacity from %d to %d.  ",
			at(now),
			set.min,
			set.max,
			desired,
			before,
			desired,
		)
	}
}

func (s *Service) putScheduledAction(
	ctx context.Context, in *autoscaling.PutScheduledUpdateGroupActionInput,
) (*autoscaling.PutScheduledUpdateGroupActionOutput, error) {
	request := types.ScheduledUpdateGroupActionRequest{
		ScheduledActionName: in.ScheduledActionName, StartTime: in.StartTime, EndTime: in.EndTime, Recurrence: in.Recurrence,
		MinSize: in.MinSize, MaxSize: in.MaxSize, DesiredCapacity: in.DesiredCapacity, TimeZone: in.TimeZone,
	}
	if request.StartTime == nil {
		request.StartTime = in.Time
	}
	return nil, s.change(ctx, in.AutoScalingGroupName, func(g *group) error { return g.putScheduled(s.now(), s.partition(), request) })
}

// putScheduled adds a scheduled action or replaces one with the same name.
func (g *group) putScheduled(now time.Time, partition string, in types.ScheduledUpdateGroupActionRequest) error {
	a := &scheduled{
		name: deref(in.ScheduledActionName), recurrence: deref(in.Recurrence), zone: deref(in.TimeZone), location: time.UTC,
		end: in.EndTime, min: in.MinSize, max: in.MaxSize, desired: in.DesiredCapacity,
	}
	if err := a.check(now, in.StartTime); err != nil {
		return err
	}
	i := slices.IndexFunc(g.scheduled, func(other *scheduled) bool { return other.name == a.name })
	switch {
	case i >= 0:
		a.arn = g.scheduled[i].arn
		g.scheduled[i] = a
	case len(g.scheduled) >= maxScheduled:
		return wireLimit("The limit of %d scheduled actions per Auto Scaling group is reached.", maxScheduled)
	default:
		a.arn = g.region.ARN(
			partition,
			"autoscaling",
			"scheduledUpdateGroupAction:"+uuid.NewString()+":autoScalingGroupName/"+g.name+":scheduledActionName/"+a.name,
		)
		g.scheduled = append(g.scheduled, a)
	}
	return nil
}

// check validates the action and determines its first run.
func (a *scheduled) check(now time.Time, start *time.Time) (err error) {
	if a.zone != "" {
		if a.location, err = time.LoadLocation(a.zone); err != nil || a.zone == "Local" {
			return validation("Invalid time zone: %s", a.zone)
		}
	}
	if a.recurrence != "" {
		if a.cron, err = parseCron(a.recurrence); err != nil {
			return validation("Given recurrence string: %s is invalid: %s", a.recurrence, err)
		}
		a.next = a.cron.next(now.In(a.location))
	}
	switch {
	case a.name == "":
		return validation(
			"1 validation error detected: Value null at 'scheduledActionName' failed to satisfy constraint: Member must not be null",
		)
	case a.min == nil && a.max == nil && a.desired == nil:
		return validation("At least one of DesiredCapacity, MinSize or MaxSize must be specified.")
	case a.min != nil && a.max != nil && *a.min > *a.max:
		return validation("Max bound, %d, must be greater than or equal to min bound, %d", *a.max, *a.min)
	case start == nil && a.cron == nil:
		return validation("Either StartTime or Recurrence must be specified.")
	case start != nil && start.Before(now):
		return validation("Given start time is in the past")
	case a.end != nil && !a.end.After(now):
		return validation("Given end time is in the past")
	case start != nil:
		a.next = *start
	}
	return nil
}

func (g *group) deleteScheduled(name string) error {
	i := slices.IndexFunc(g.scheduled, func(a *scheduled) bool { return a.name == name })
	if i < 0 {
		return validation("Scheduled action name not found")
	}
	g.scheduled = slices.Delete(g.scheduled, i, i+1)
	return nil
}

func (s *Service) deleteScheduledAction(
	ctx context.Context, in *autoscaling.DeleteScheduledActionInput,
) (*autoscaling.DeleteScheduledActionOutput, error) {
	return nil, s.change(ctx, in.AutoScalingGroupName, func(g *group) error { return g.deleteScheduled(deref(in.ScheduledActionName)) })
}

// failedScheduled returns the error of one action in a batch.
func failedScheduled(name *string, err error) types.FailedScheduledUpdateGroupActionRequest {
	return types.FailedScheduledUpdateGroupActionRequest{
		ScheduledActionName: name, ErrorCode: aws.String(code(err)), ErrorMessage: aws.String(err.Error()),
	}
}

func (s *Service) batchPutScheduled(
	ctx context.Context, in *autoscaling.BatchPutScheduledUpdateGroupActionInput,
) (*autoscaling.BatchPutScheduledUpdateGroupActionOutput, error) {
	out := &autoscaling.BatchPutScheduledUpdateGroupActionOutput{}
	return out, s.change(ctx, in.AutoScalingGroupName, func(g *group) error {
		for _, r := range in.ScheduledUpdateGroupActions {
			if err := g.putScheduled(s.now(), s.partition(), r); err != nil {
				out.FailedScheduledUpdateGroupActions = append(
					out.FailedScheduledUpdateGroupActions, failedScheduled(r.ScheduledActionName, err),
				)
			}
		}
		return nil
	})
}

func (s *Service) batchDeleteScheduled(
	ctx context.Context, in *autoscaling.BatchDeleteScheduledActionInput,
) (*autoscaling.BatchDeleteScheduledActionOutput, error) {
	out := &autoscaling.BatchDeleteScheduledActionOutput{}
	return out, s.change(ctx, in.AutoScalingGroupName, func(g *group) error {
		for _, name := range in.ScheduledActionNames {
			if err := g.deleteScheduled(name); err != nil {
				out.FailedScheduledActions = append(out.FailedScheduledActions, failedScheduled(&name, err))
			}
		}
		return nil
	})
}

func (s *Service) describeScheduledActions(
	ctx context.Context, in *autoscaling.DescribeScheduledActionsInput,
) (*autoscaling.DescribeScheduledActionsOutput, error) {
	r := s.at(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	found := map[string]types.ScheduledUpdateGroupAction{}
	var keys []string
	for _, name := range r.names() {
		g := r.groups[name]
		if in.AutoScalingGroupName != nil && name != *in.AutoScalingGroupName {
			continue
		}
		for _, a := range g.scheduled {
			outside := in.StartTime != nil && a.next.Before(*in.StartTime) || in.EndTime != nil && a.next.After(*in.EndTime)
			if outside || len(in.ScheduledActionNames) > 0 && !slices.Contains(in.ScheduledActionNames, a.name) {
				continue
			}
			key := name + "\x00" + a.name
			keys, found[key] = append(keys, key), a.sdk(g)
		}
	}
	keys, next, err := page(keys, in.NextToken, in.MaxRecords)
	out := &autoscaling.DescribeScheduledActionsOutput{ScheduledUpdateGroupActions: []types.ScheduledUpdateGroupAction{}, NextToken: next}
	for _, key := range keys {
		out.ScheduledUpdateGroupActions = append(out.ScheduledUpdateGroupActions, found[key])
	}
	return out, err
}

func (a *scheduled) sdk(g *group) types.ScheduledUpdateGroupAction {
	return types.ScheduledUpdateGroupAction{
		AutoScalingGroupName: &g.name, ScheduledActionName: &a.name, ScheduledActionARN: &a.arn, StartTime: aws.Time(a.next),
		Time: aws.Time(a.next), EndTime: a.end, MinSize: a.min, MaxSize: a.max, DesiredCapacity: a.desired,
		Recurrence: wire.Optional(a.recurrence), TimeZone: wire.Optional(a.zone),
	}
}

// cron is a recurrence: minutes, hours, days of the month, months and days of the week.
// https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_PutScheduledUpdateGroupAction.html
type cron struct {
	fields [5][]bool
	// anyDay and anyWeekday say that the field is a star. A day must match both fields if either is
	// a star, and otherwise at least one of them.
	anyDay, anyWeekday bool
}

var cronBounds = [5][2]int{{0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 7}}

func parseCron(text string) (*cron, error) {
	parts := strings.Fields(text)
	if len(parts) != len(cronBounds) {
		return nil, fmt.Errorf("it has %d fields instead of five", len(parts))
	}
	c := &cron{anyDay: parts[2] == "*", anyWeekday: parts[4] == "*"}
	for i, part := range parts {
		field, err := parseCronField(strings.ToUpper(part), cronBounds[i][0], cronBounds[i][1])
		if err != nil {
			return nil, err
		}
		c.fields[i] = field
	}
	if c.fields[4][7] { // Sunday is 0 and 7
		c.fields[4][0] = true
	}
	return c, nil
}

var cronNames = strings.NewReplacer(
	"JAN",
	"1",
	"FEB",
	"2",
	"MAR",
	"3",
	"APR",
	"4",
	"MAY",
	"5",
	"JUN",
	"6",
	"JUL",
	"7",
	"AUG",
	"8",
	"SEP",
	"9",
	"OCT",
	"10",
	"NOV",
	"11",
	"DEC",
	"12",
	"SUN",
	"0",
	"MON",
	"1",
	"TUE",
	"2",
	"WED",
	"3",
	"THU",
	"4",
	"FRI",
	"5",
	"SAT",
	"6",
)

// parseCronField parses a comma-separated list of items such as 5, 1-5, * and */15.
func parseCronField(text string, least, most int) ([]bool, error) {
	field := make([]bool, most+1)
	for item := range strings.SplitSeq(cronNames.Replace(text), ",") {
		from, to, step, err := parseCronItem(item, least, most)
		if err != nil || step < 1 || from < least || to > most || from > to {
			return nil, fmt.Errorf("%q is not within %d to %d", item, least, most)
		}
		for n := from; n <= to; n += min(step, most+1) { // A longer step would overflow.
			field[n] = true
		}
	}
	return field, nil
}

// parseCronItem parses one item; missing ends of a range are the bounds.
func parseCronItem(item string, least, most int) (from, to, step int, err error) {
	span, stepText, stepped := strings.Cut(item, "/")
	from, to, step = least, most, 1
	if stepped {
		if step, err = strconv.Atoi(stepText); err != nil {
			return 0, 0, 0, err
		}
	}
	if span == "*" {
		return from, to, step, nil
	}
	low, high, ranged := strings.Cut(span, "-")
	if from, err = strconv.Atoi(low); err != nil {
		return 0, 0, 0, err
	}
	switch {
	case ranged:
		to, err = strconv.Atoi(high)
	case !stepped:
		to = from
	}
	return from, to, step, err
}

// next returns the first matching minute after a time, or the time five years later if none
// matches.
func (c *cron) next(after time.Time) time.Time {
	t := after.Truncate(time.Minute).Add(time.Minute)
	limit := after.AddDate(5, 0, 0)
	for t.Before(limit) {
		switch {
		case !c.fields[3][int(t.Month())] || !c.day(t):
			t = time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, t.Location())
		case !c.fields[1][t.Hour()]:
			t = time.Date(t.Year(), t.Month(), t.Day(), t.Hour()+1, 0, 0, 0, t.Location())
		case !c.fields[0][t.Minute()]:
			t = t.Add(time.Minute)
		default:
			return t
		}
	}
	return limit
}

func (c *cron) day(t time.Time) bool {
	day, weekday := c.fields[2][t.Day()], c.fields[4][int(t.Weekday())]
	if c.anyDay || c.anyWeekday {
		return day && weekday
	}
	return day || weekday
}

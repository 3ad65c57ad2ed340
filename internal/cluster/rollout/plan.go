package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// Row is the state of a group, for a table.
type Row struct {
	Name string
	Role Role
	// Status is Ready, NeedsUpdate, Rolling or Stopped.
	Status string
	// NeedUpdate and Ready count instances; Nodes those with a node.
	NeedUpdate, Ready, Nodes int
	// Min, Target and Max are the group's sizes.
	Min, Target, Max int
	// Why is why the rollout in progress stopped; empty otherwise.
	Why string
}

// Plan reads groups and changes nothing. It returns the errors of AWS.
func (r *Roller) Plan(ctx context.Context, groups []Group) ([]Row, error) {
	rows := make([]Row, len(groups))
	for n := range groups {
		w, err := r.observe(ctx, &groups[n])
		if err != nil {
			return nil, err
		}
		rows[n] = rowOf(w, &groups[n])
	}
	return rows, nil
}

func rowOf(w *seen, group *Group) Row {
	p := newPlanner(&w.Observation, &group.Settings, time.Time{})
	r := Row{Name: group.Name, Role: group.Role, NeedUpdate: len(p.old), Ready: p.available, Min: w.Min, Target: w.Desired, Max: w.Max}
	for i := range w.Instances {
		if w.Instances[i].Node != "" {
			r.Nodes++
		}
	}
	switch {
	case w.Memory != nil && w.Memory.Stopped != "":
		r.Status, r.Why = "Stopped", w.Memory.Stopped
	case w.Memory != nil:
		r.Status = "Rolling"
	case r.NeedUpdate > 0:
		r.Status = "NeedsUpdate"
	default:
		r.Status = "Ready"
	}
	return r
}

// RunOptions select the groups and their order.
type RunOptions struct {
	Groups []Group
	// AtOnce is the number of worker groups that roll concurrently, 1 if zero.
	AtOnce int
	// BastionsLast replaces bastions last instead of first.
	BastionsLast bool
	// Slots returns the problems of unhealthy slots by number. It is called before each slot and
	// must not be nil if there are slots. An error means that all are unhealthy.
	Slots func(context.Context) (map[int]string, error)
	// Trigger, if not nil, starts an iteration at once, for example when a node changed.
	Trigger <-chan struct{}
	// Poll is the maximum interval between iterations; if zero, the decisions determine it.
	Poll time.Duration
	// Patience is how long a run waits without any change before it gives up; forever if zero.
	// Another run can continue.
	Patience time.Duration
}

// Progress is the progress of a run.
type Progress struct {
	// Group is the group's name.
	Group string
	Result
}

// Run rolls groups, one stage of [Order] after the other, until all are done, one of them stops, or
// the context ends. It calls report after actions and when the reason to wait changes. It returns
// an error when a group stops; later stages do not start then.
func (roller *Roller) Run(ctx context.Context, options *RunOptions, report func(Progress)) error {
	for _, stage := range Order(options.Groups, options.AtOnce, options.BastionsLast) {
		r := &run{roller: roller, options: options, report: report, last: map[int]Result{}, changed: roller.options.Clock.Now()}
		round := r.groups
		if options.Groups[stage[0]].Role == RoleControlPlane {
			round = r.slots
		}
		if err := r.loop(ctx, stage, round); err != nil {
			return err
		}
	}
	return nil
}

// run executes one stage of a run.
type run struct {
	roller  *Roller
	options *RunOptions
	report  func(Progress)
	last    map[int]Result // by index of the group
	changed time.Time
}

// loop iterates until a stage is done.
func (r *run) loop(ctx context.Context, stage []int, round func(context.Context, []int) (State, time.Duration, error)) error {
	clk := r.roller.options.Clock
	for {
		state, again, err := round(ctx, stage)
		switch {
		case err != nil:
			return err
		case state == Done:
			return nil
		case state == Stopped:
			return fmt.Errorf("the rolling update stopped: %s", r.stopped(stage))
		case r.options.Patience > 0 && clk.Since(r.changed) > r.options.Patience:
			return fmt.Errorf("the rolling update waited for %s: %s Run it again to continue", r.options.Patience, r.waiting(stage))
		}
		again = max(again, time.Second)
		if poll := r.options.Poll; poll > 0 {
			again = min(again, poll)
		}
		timer := clk.NewTimer(again)
		select {
		case <-r.options.Trigger:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("the rolling update was interrupted; run it again to continue: %w", context.Cause(ctx))
		case <-timer.C():
		}
	}
}

func (r *run) stopped(stage []int) string { return r.first(stage, Stopped) }
func (r *run) waiting(stage []int) string { return r.first(stage, Rolling) }

// first returns what the first group in a state waits for.
func (r *run) first(stage []int, state State) string {
	for _, n := range stage {
		if result := r.last[n]; result.State == state {
			return r.options.Groups[n].Name + ": " + result.Why
		}
	}
	return ""
}

// step advances one group and reports its progress.
func (r *run) step(ctx context.Context, n int) (Result, error) {
	result, err := r.roller.Step(ctx, &r.options.Groups[n])
	if err != nil {
		if result, err = r.troubled(n, result, err); err != nil {
			return result, err
		}
	}
	r.note(n, result)
	return result, nil
}

// troubled handles an error: transient ones are retried.
func (r *run) troubled(n int, result Result, err error) (Result, error) {
	err = awsapi.Known(err)
	if failure, ok := errors.AsType[*awsapi.Failure](err); ok && failure.Transient() {
		result.State, result.Why, result.Again = Rolling, failure.Message, pollInterval
		return result, nil
	}
	return Result{}, fmt.Errorf("group %s: %w", r.options.Groups[n].Name, err)
}

func (r *run) note(n int, result Result) {
	before, known := r.last[n]
	r.last[n] = result
	if !known || before.State != result.State || before.Why != result.Why || len(result.Did) > 0 {
		r.changed = r.roller.options.Clock.Now()
		r.report(Progress{Group: r.options.Groups[n].Name, Result: result})
	}
}

// groups advances all groups of a stage. One that stopped does not block the others.
func (r *run) groups(ctx context.Context, stage []int) (State, time.Duration, error) {
	again := time.Duration(0)
	states := map[State]bool{}
	for _, n := range stage {
		if last, ok := r.last[n]; ok && last.State != Rolling {
			states[last.State] = true
			continue
		}
		result, err := r.step(ctx, n)
		if err != nil {
			return Rolling, 0, err
		}
		states[result.State] = true
		if result.State == Rolling && (again == 0 || result.Again < again) {
			again = result.Again
		}
	}
	switch {
	case states[Rolling]:
		return Rolling, again, nil
	case states[Stopped]:
		return Stopped, 0, nil
	default:
		return Done, 0, nil
	}
}

// slots advances the slot whose turn it is.
func (r *run) slots(ctx context.Context, stage []int) (State, time.Duration, error) {
	problems, err := r.options.Slots(ctx)
	slots := make([]Slot, len(stage))
	for at, n := range stage {
		group := &r.options.Groups[n]
		rows, planned := r.roller.Plan(ctx, []Group{*group})
		if planned != nil {
			result := r.last[n]
			result.Did = nil
			result, err := r.troubled(n, result, planned)
			if err == nil {
				r.note(n, result)
			}
			return Rolling, result.Again, err
		}
		slots[at] = Slot{
			Number:   group.Slot,
			Outdated: rows[0].NeedUpdate > 0,
			Problem:  problems[group.Slot],
			State:    r.last[n].State,
			Why:      r.last[n].Why,
		}
		if err != nil {
			slots[at].Problem = err.Error()
		}
		if last, ok := r.last[n]; rows[0].Status == "Rolling" && !ok { // of an interrupted run
			slots[at].State, slots[at].Why = Rolling, last.Why
		}
	}
	decided := DecideSlots(slots)
	if decided.State != Rolling {
		return decided.State, 0, nil
	}
	if decided.Next == NoSlot {
		r.note(stage[0], Result{State: "", Why: decided.Why, Again: pollInterval})
		return Rolling, pollInterval, nil
	}
	n := stage[slices.IndexFunc(slots, func(s Slot) bool { return s.Number == decided.Next })]
	result, err := r.step(ctx, n)
	if result.State == Done {
		return Rolling, time.Millisecond, err
	}
	return Rolling, result.Again, err
}

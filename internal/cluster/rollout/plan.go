package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// Row is what is known of one group, for a table.
type Row struct {
	Name string
	Role Role
	// Status is Ready, NeedsUpdate, Rolling or Stopped.
	Status string
	// NeedUpdate and Ready count machines; Nodes are those that have a node.
	NeedUpdate, Ready, Nodes int
	// Min, Target and Max are the group's sizes.
	Min, Target, Max int
	// Why says what the roll that is under way was stopped by; empty otherwise.
	Why string
}

// Plan looks at groups and changes nothing. It errs when AWS does.
func (e *Engine) Plan(ctx context.Context, groups []Group) ([]Row, error) {
	rows := make([]Row, len(groups))
	for n := range groups {
		w, err := e.observe(ctx, &groups[n])
		if err != nil {
			return nil, err
		}
		rows[n] = rowOf(w, &groups[n])
	}
	return rows, nil
}

func rowOf(w *seen, group *Group) Row {
	p := newPlanner(&w.Suite, &group.Settings, time.Time{})
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

// RunOptions say what is rolled and in which order.
type RunOptions struct {
	Groups []Group
	// AtOnce is how many groups of workers roll at once, 1 when zero.
	AtOnce int
	// BastionsLast has bastions replaced after all else, not before.
	BastionsLast bool
	// Slots tells what is wrong with a control plane's slots, by their numbers; those that are missing are well. It is asked before each
	// slot and must not be nil if there are any. An error counts as all being unwell.
	Slots func(context.Context) (map[int]string, error)
	// Wake, if not nil, has it look again at once, as when a node changed.
	Wake <-chan struct{}
	// Poll is how often to look at least while something goes on; as seldom as is decided when zero.
	Poll time.Duration
	// Patience is how long nothing may change while it waits, before it is given up; for ever when zero. What was begun can be gone on
	// with by another run.
	Patience time.Duration
}

// Progress is news of a run.
type Progress struct {
	// Group is the group's name.
	Group string
	Result
}

// Run rolls groups, one stage of [Order] after the other, until all are done, one of them stops, or the context ends. Report is called
// whenever something was done, or something else is waited for. It errs when a group stops; then later stages have not begun.
func (e *Engine) Run(ctx context.Context, options *RunOptions, report func(Progress)) error {
	for _, stage := range Order(options.Groups, options.AtOnce, options.BastionsLast) {
		r := &run{engine: e, options: options, report: report, last: map[int]Result{}, changed: e.options.Clock.Now()}
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

// run is one stage of a run.
type run struct {
	engine  *Engine
	options *RunOptions
	report  func(Progress)
	last    map[int]Result // by index of the group
	changed time.Time
}

// loop goes round until a stage is done.
func (r *run) loop(ctx context.Context, stage []int, round func(context.Context, []int) (State, time.Duration, error)) error {
	clk := r.engine.options.Clock
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
			return fmt.Errorf("the rolling update waited for %s: %s Run it again to go on", r.options.Patience, r.waiting(stage))
		}
		again = max(again, time.Second)
		if poll := r.options.Poll; poll > 0 {
			again = min(again, poll)
		}
		timer := clk.NewTimer(again)
		select {
		case <-r.options.Wake:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("the rolling update was interrupted; run it again to go on: %w", context.Cause(ctx))
		case <-timer.C():
		}
	}
}

func (r *run) stopped(stage []int) string { return r.first(stage, Stopped) }
func (r *run) waiting(stage []int) string { return r.first(stage, Rolling) }

// first says what the first group in a state waits for.
func (r *run) first(stage []int, state State) string {
	for _, n := range stage {
		if result := r.last[n]; result.State == state {
			return r.options.Groups[n].Name + ": " + result.Why
		}
	}
	return ""
}

// step takes one group on and reports what is new of it.
func (r *run) step(ctx context.Context, n int) (Result, error) {
	result, err := r.engine.Step(ctx, &r.options.Groups[n])
	if err != nil {
		if result, err = r.troubled(n, result.Did, err); err != nil {
			return result, err
		}
	}
	r.note(n, result)
	return result, nil
}

// troubled says what is done about an error: what may pass is waited for.
func (r *run) troubled(n int, did []string, err error) (Result, error) {
	err = awsapi.Known(err)
	if failure, ok := errors.AsType[*awsapi.Failure](err); ok && failure.Transient() {
		return Result{State: Rolling, Why: failure.Message, Again: lookAgain, Did: did}, nil
	}
	return Result{}, fmt.Errorf("group %s: %w", r.options.Groups[n].Name, err)
}

func (r *run) note(n int, result Result) {
	before, known := r.last[n]
	r.last[n] = result
	if !known || before.State != result.State || before.Why != result.Why || len(result.Did) > 0 {
		r.changed = r.engine.options.Clock.Now()
		r.report(Progress{Group: r.options.Groups[n].Name, Result: result})
	}
}

// groups takes all groups of a stage on. One that stopped does not hold up the others.
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

// slots takes the slot on whose turn it is.
func (r *run) slots(ctx context.Context, stage []int) (State, time.Duration, error) {
	problems, err := r.options.Slots(ctx)
	slots := make([]Slot, len(stage))
	for at, n := range stage {
		group := &r.options.Groups[n]
		rows, planned := r.engine.Plan(ctx, []Group{*group})
		if planned != nil {
			result, err := r.troubled(n, nil, planned)
			if err == nil {
				r.note(n, result)
			}
			return Rolling, result.Again, err
		}
		slots[at] = Slot{Number: group.Slot, Outdated: rows[0].NeedUpdate > 0, Problem: problems[group.Slot], State: r.last[n].State, Why: r.last[n].Why}
		if err != nil {
			slots[at].Problem = err.Error()
		}
		if last, ok := r.last[n]; rows[0].Status == "Rolling" && !ok { // of a run that was killed
			slots[at].State, slots[at].Why = Rolling, last.Why
		}
	}
	decided := DecideSlots(slots)
	if decided.State != Rolling {
		return decided.State, 0, nil
	}
	if decided.Next == NoSlot {
		r.note(stage[0], Result{State: "", Why: decided.Why, Again: lookAgain})
		return Rolling, lookAgain, nil
	}
	n := stage[slices.IndexFunc(slots, func(s Slot) bool { return s.Number == decided.Next })]
	result, err := r.step(ctx, n)
	if result.State == Done {
		return Rolling, time.Millisecond, err
	}
	return Rolling, result.Again, err
}

package rolling

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Action is one action of CloudFormation. Exactly one member is set.
type Action struct {
	// Say is the message of an event of the resource.
	Say string
	// Resize sets the group's sizes.
	Resize *Sizes
	// Terminate terminates instances.
	Terminate []Termination
	// Done ends the update with success; Fail ends it with a reason.
	Done bool
	Fail string
}

// Sizes are a group's minimum and desired capacity.
type Sizes struct{ Min, Desired int }

// Termination terminates one instance. If it is not to be replaced, Decrement lowers the desired
// capacity.
type Termination struct {
	ID        string
	Decrement bool
}

// state is the current phase of a roll.
type state int

const (
	starting state = iota
	launching
	signalling
	choosing
	terminating
	ended
)

// stabilizeTimeout is the time limit for new instances to be in service.
const stabilizeTimeout = 2 * time.Hour

// Roll is one rolling update of a group.
type Roll struct {
	policy Update
	// target are the sizes at the end.
	target Sizes
	state  state
	// size is the desired capacity during the roll.
	size, batch int
	// obsolete are the instances to replace, current those that are being terminated; replaced is
	// the number that have left.
	obsolete, current []string
	replaced          int
	// waited are the instances that need no signal: they are up to date from before the roll, or
	// the roll has waited for them.
	waited map[string]bool
	// reported are the instances whose signals have been reported.
	reported map[string]bool
	// expected is the total number of signals to receive; failed and good count the received ones.
	expected, good, failed int
	// needed is the number of new instances to wait for.
	needed   int
	deadline time.Time
}

// New returns a rolling update that ends with the target sizes.
func New(policy Update, target Sizes) *Roll {
	return &Roll{policy: policy, target: target, waited: map[string]bool{}, reported: map[string]bool{}}
}

// Next returns the next actions, in order. It returns none if the roll has to wait: for a change of
// the group, a signal, or, unless it is zero, the time that it returns.
func (r *Roll) Next(o Observation) (actions []Action, next time.Time) {
	r.recordObsolete(o.Group)
	switch r.state {
	case starting:
		return r.start(o), time.Time{}
	case launching:
		return r.launch(o)
	case signalling:
		return r.signals(o)
	case choosing:
		return r.choose(o), time.Time{}
	case terminating:
		return r.terminated(o), time.Time{}
	case ended:
	}
	return nil, time.Time{}
}

// Abort returns the actions after a roll was cancelled. They restore the group's minimum. The
// desired capacity stays, because only the template may set it.
// https://github.com/guardian/testing-asg-rolling-update/blob/main/observations/healthy-to-unhealthy.md
func (r *Roll) Abort(g Group) []Action {
	r.state = ended
	if g.Min == r.target.Min {
		return nil
	}
	return []Action{{Resize: &Sizes{Min: r.target.Min, Desired: g.Desired}}}
}

// recordObsolete records obsolete instances, including those whose launch began before the update
// of the group and that appear afterwards.
func (r *Roll) recordObsolete(g Group) {
	for _, i := range g.Instances {
		if i.Obsolete && i.Phase < Leaving && !slices.Contains(r.obsolete, i.ID) {
			r.obsolete = append(r.obsolete, i.ID)
		}
	}
}

// start makes room for the first batch.
func (r *Roll) start(o Observation) []Action {
	g := o.Group
	for _, i := range g.Instances {
		if !i.Obsolete && i.Phase == InService {
			r.waited[i.ID] = true
		}
	}
	r.size = g.Desired
	if len(r.obsolete) == 0 {
		return r.finish(g)
	}
	keep := r.policy.keep(r.target.Desired)
	r.batch = max(1, min(r.policy.MaxBatchSize, len(r.obsolete), g.Max-keep))
	r.expected = max(len(r.obsolete), r.target.Desired-len(r.waited))
	actions := []Action{{Say: r.announcement(keep)}}
	if room := min(keep+r.batch, g.Max); room > r.size {
		r.size = room
		actions = append(actions, Action{Resize: &Sizes{Min: room, Desired: room}},
			Action{Say: fmt.Sprintf("Temporarily setting autoscaling group MinSize and DesiredCapacity to %d.", room)})
	}
	r.await(o.Now)
	return actions
}

// keep returns how many instances of a desired capacity stay in service.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-updatepolicy.html
func (u *Update) keep(desired int) int {
	return max(u.MinInService, (desired*max(u.MinActivePercent, 0)+99)/100)
}

func (r *Roll) announcement(keep int) string {
	text := fmt.Sprintf("Rolling update initiated. Terminating %d obsolete instance(s) in batches of %d", len(r.obsolete), r.batch)
	if keep > 0 {
		text += fmt.Sprintf(", while keeping at least %d instance(s) in service", keep)
	}
	switch {
	case r.policy.WaitOnSignals:
		text += ". Waiting on resource signals with a timeout of " + r.policy.PauseTime + " when new instances are added to the autoscaling group"
	case r.policy.Pause > 0:
		text += ". Pausing for " + r.policy.PauseTime + " when new instances are added to the autoscaling group"
	}
	return text + "."
}

// await starts waiting for the missing instances.
func (r *Roll) await(now time.Time) {
	r.state, r.deadline = launching, now.Add(stabilizeTimeout)
}

// launch waits until all missing instances are in service.
func (r *Roll) launch(o Observation) ([]Action, time.Time) {
	g := o.Group
	r.needed = min(r.size, g.Desired)
	arrived := 0
	for _, i := range g.Instances {
		switch {
		case i.Phase >= Leaving:
		case i.Obsolete || r.waited[i.ID]:
			r.needed--
		case i.Phase == InService:
			arrived++
		}
	}
	switch {
	case r.needed <= 0:
		r.state = choosing
		return r.choose(o), time.Time{}
	case arrived < r.needed && g.Failure != "":
		return r.fail(g, g.Failure), time.Time{}
	case arrived < r.needed && !o.Now.Before(r.deadline):
		return r.fail(g, fmt.Sprintf("Group did not stabilize. {current/minSize/maxSize group size = %d/%d/%d}.", len(g.Instances), g.Min, g.Max)), time.Time{}
	case arrived < r.needed:
		return nil, r.deadline
	}
	r.state, r.deadline = signalling, o.Now.Add(r.policy.Pause)
	switch {
	case r.policy.WaitOnSignals:
		return say("New instance(s) added to autoscaling group - Waiting on %d resource signal(s) with a timeout of %s.", r.needed, r.policy.PauseTime), time.Time{}
	case r.policy.Pause > 0:
		return say("New instance(s) added to autoscaling group - Pausing for %s.", r.policy.PauseTime), time.Time{}
	}
	return r.signals(o)
}

func say(format string, args ...any) []Action { return []Action{{Say: fmt.Sprintf(format, args...)}} }

// signals waits until the new instances have signalled, or for the pause.
func (r *Roll) signals(o Observation) ([]Action, time.Time) {
	due := !o.Now.Before(r.deadline)
	if !r.policy.WaitOnSignals {
		if !due {
			return nil, r.deadline
		}
		r.markWaited(o.Group, nil)
		return r.choose(o), time.Time{}
	}
	if reported := r.reportSignals(o); len(reported) > 0 {
		return reported, time.Time{}
	}
	good, bad := 0, 0
	for _, i := range o.Group.Instances {
		ok, came := o.Signals[i.ID]
		switch {
		case r.waited[i.ID] || i.Obsolete || !came:
		case ok:
			good++
		default:
			bad++
		}
	}
	missing := r.needed - good - bad
	switch {
	case !r.reachable(bad):
		return r.fail(o.Group, r.shortfall(r.failed+bad, "FAILURE")), time.Time{}
	case missing > 0 && !due:
		return nil, r.deadline
	}
	var actions []Action
	r.good += good
	if missing > 0 {
		actions = say(
			"Failed to receive %d resource signal(s) for the current batch.  Each resource signal timeout is counted as a FAILURE.",
			missing,
		)
		if !r.reachable(bad + missing) {
			return append(actions, r.fail(o.Group, r.shortfall(r.good, "SUCCESS"))...), time.Time{}
		}
		bad += missing
		r.markWaited(o.Group, nil)
	} else {
		r.markWaited(o.Group, o.Signals)
	}
	r.failed += bad
	return append(actions, r.choose(o)...), time.Time{}
}

// reportSignals reports the signals of new instances. It ignores signals of other instances.
func (r *Roll) reportSignals(o Observation) []Action {
	var reported []Action
	for _, i := range o.Group.Instances {
		ok, came := o.Signals[i.ID]
		if !came || r.reported[i.ID] || r.waited[i.ID] || i.Obsolete {
			continue
		}
		r.reported[i.ID] = true
		word := "SUCCESS"
		if !ok {
			word = "FAILURE"
		}
		reported = append(reported, say("Received %s signal with UniqueId %s", word, i.ID)...)
	}
	return reported
}

// markWaited marks new instances as waited for: all, or those that have signalled.
func (r *Roll) markWaited(g Group, signals map[string]bool) {
	for _, i := range g.Instances {
		if _, came := signals[i.ID]; !i.Obsolete && i.Phase < Leaving && (signals == nil || came) {
			r.waited[i.ID] = true
		}
	}
	r.state = choosing
}

// reachable reports whether enough instances can still succeed if this many more have failed. With
// five instances and 50 percent, three must succeed.
func (r *Roll) reachable(bad int) bool {
	required := (r.expected*r.policy.MinSuccessfulPercent + 99) / 100
	return r.expected-r.failed-bad >= required
}

func (r *Roll) shortfall(received int, what string) string {
	return fmt.Sprintf("Received %d %s signal(s) out of %d.  Unable to satisfy %d%% MinSuccessfulInstancesPercent requirement",
		received, what, r.expected, r.policy.MinSuccessfulPercent)
}

// choose terminates the next batch, or ends the roll if all obsolete instances were replaced.
func (r *Roll) choose(o Observation) []Action {
	g := o.Group
	current := 0 // instances that are up to date
	var left []string
	for _, i := range g.Instances {
		switch {
		case i.Phase >= Leaving:
		case i.Obsolete:
			left = append(left, i.ID)
		default:
			current++
		}
	}
	if len(left) == 0 {
		return r.finish(g)
	}
	r.current = left[:min(r.batch, len(left))]
	r.replaced = len(r.obsolete) - len(left)
	replaced := min(max(r.target.Desired-current, 0), len(r.current))
	actions := say("Terminating instance(s) [%s]; replacing with %d new instance(s).", strings.Join(r.current, ","), replaced)
	dropped := len(r.current) - replaced
	if dropped > 0 && (g.Min > r.size-dropped || g.Desired > r.size) {
		// Allow a smaller group. This also removes instances that the user added during the roll,
		// see
		// https://github.com/guardian/testing-asg-rolling-update/blob/main/observations/healthy-scale-out-mid-deploy.md
		actions = append(actions, Action{Resize: &Sizes{Min: r.target.Min, Desired: r.size}})
	}
	end := make([]Termination, len(r.current))
	for i, id := range r.current {
		end[i] = Termination{ID: id, Decrement: i >= replaced}
	}
	r.size -= dropped
	r.state = terminating
	return append(actions, Action{Terminate: end})
}

// terminated waits until a batch is out of service.
func (r *Roll) terminated(o Observation) []Action {
	for _, i := range o.Group.Instances {
		if i.Phase != Left && slices.Contains(r.current, i.ID) {
			return nil
		}
	}
	r.replaced += len(r.current)
	text := fmt.Sprintf("Successfully terminated instance(s) [%s] (Progress %d%%).",
		strings.Join(r.current, ","), (100*r.replaced+len(r.obsolete)/2)/len(r.obsolete))
	r.await(o.Now)
	return []Action{{Say: text}}
}

// finish sets the target sizes of the group.
func (r *Roll) finish(g Group) []Action {
	r.state = ended
	var actions []Action
	if g.Min != r.target.Min || g.Desired != r.target.Desired && r.size != r.target.Desired {
		actions = append(actions, Action{Resize: &Sizes{Min: r.target.Min, Desired: r.target.Desired}})
	}
	return append(actions, Action{Done: true})
}

func (r *Roll) fail(g Group, reason string) []Action {
	return append(r.Abort(g), Action{Fail: reason})
}

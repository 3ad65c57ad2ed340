package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws-operator/aws-operator/internal/cluster/drain"
	"github.com/aws-operator/aws-operator/internal/plural"
)

// State is the state of a rollout.
type State string

// States.
const (
	// Done groups have nothing to replace.
	Done State = "Done"
	// Rolling groups are replacing instances, or wait to continue.
	Rolling State = "Rolling"
	// Stopped groups need a user's action: nothing more is replaced until another attempt.
	Stopped State = "Stopped"
)

// ActionKind is a kind of Action.
type ActionKind string

// Kinds of actions.
const (
	// Remember records Action.Memory on the group; Forget removes the record.
	Remember ActionKind = "Remember"
	Forget   ActionKind = "Forget"
	// KeepOff suspends other changes of the group's size; LetBack resumes them.
	KeepOff ActionKind = "KeepOff"
	LetBack ActionKind = "LetBack"
	// SetCapacity sets the group's desired capacity to Action.Capacity.
	SetCapacity ActionKind = "SetCapacity"
	// Drain starts to drain an instance's node; CancelDrain cancels that and uncordons the node.
	Drain       ActionKind = "Drain"
	CancelDrain ActionKind = "CancelDrain"
	// Terminate terminates an instance; with Action.Shrink, it also lowers the group's capacity.
	Terminate ActionKind = "Terminate"
	// Release releases an instance that a lifecycle hook holds: at once if it was drained, else
	// when it is.
	Release ActionKind = "Release"
	// Validate checks the health of all nodes and system pods.
	Validate ActionKind = "Validate"
)

// Action is one action.
type Action struct {
	Kind ActionKind
	// Instance is the instance that the action concerns.
	Instance string
	Shrink   bool
	Capacity int
	Memory   *Memory
}

// Decision lists the next actions, in order, and what the rollout waits for.
type Decision struct {
	State   State
	Actions []Action
	// Why describes the actions, or why there are none.
	Why string
	// Again is the delay until the next decision without a change; zero if only a change can
	// continue the rollout.
	Again time.Duration
}

const (
	// pollInterval is the polling interval for state without events.
	pollInterval = 5 * time.Second
	// steadyAfter is how long a desired capacity that the rollout did not set must be observed
	// before it counts as another party's change: AWS's responses may predate the last change.
	steadyAfter = 3 * time.Second
)

// Decide decides the next actions for a group. It changes nothing.
func Decide(observed *Observation, settings *Settings, now time.Time) Decision {
	p := newPlanner(observed, settings, now)
	if d := p.begin(); d != nil {
		return *d
	}
	for _, next := range []func() *Decision{
		p.release, p.recount, p.endAgain, p.stopped, p.reachable, p.finished, p.keepOff, p.troubled, p.drained, p.settling,
	} {
		if d := next(); d != nil {
			return *d
		}
	}
	return p.proceed()
}

// planner is the state of one decision.
type planner struct {
	*Observation
	settings Settings
	now      time.Time
	// old instances are active and to be replaced, coming ones are new and not yet settled, settled
	// ones count as replaced.
	old, coming, settled []*Instance
	// going counts instances that terminate or drain; available counts those that serve.
	going, available int
	missing          int
}

func newPlanner(observed *Observation, settings *Settings, now time.Time) *planner {
	p := &planner{Observation: observed, settings: *settings, now: now}
	active := 0
	for n := range observed.Instances {
		i := &observed.Instances[n]
		if i.Lifecycle == Leaving || i.active() && i.Drain != "" {
			p.going++
		}
		if !i.active() {
			continue
		}
		active++
		if p.serves(i) {
			p.available++
		}
		switch {
		case p.outdated(i):
			p.old = append(p.old, i)
		case p.settledAt(i).IsZero() || now.Before(p.settledAt(i)):
			p.coming = append(p.coming, i)
		default:
			p.settled = append(p.settled, i)
		}
	}
	p.missing = max(0, observed.Desired-active)
	return p
}

// outdated reports whether an instance is to be replaced.
func (p *planner) outdated(i *Instance) bool {
	return i.Outdated || i.Launched.Before(p.settings.Before)
}

// well reports whether an instance is healthy.
func (p *planner) well(i *Instance) bool {
	return i.Lifecycle == InService && (i.Ready || p.settings.CloudOnly)
}

// serves reports whether an instance accepts and runs pods.
func (p *planner) serves(i *Instance) bool { return p.well(i) && !i.Cordoned && i.Drain == "" }

// settledAt returns when an instance has been healthy for the pause; zero if it is not healthy.
func (p *planner) settledAt(i *Instance) time.Time {
	if !p.well(i) {
		return time.Time{}
	}
	since := i.Since
	if p.settings.CloudOnly {
		since = i.Launched
	}
	return since.Add(p.settings.Pause)
}

// act returns a decision with actions.
func act(why string, actions ...Action) *Decision {
	return &Decision{State: Rolling, Actions: actions, Why: why}
}

// wait returns a decision to wait.
func wait(again time.Duration, why string) *Decision {
	return &Decision{State: Rolling, Why: why, Again: again}
}

func remember(m *Memory) Action { return Action{Kind: Remember, Memory: m} }

// begin starts a rollout, or another attempt. Without a record, nothing else is left to do.
func (p *planner) begin() *Decision {
	m := p.Memory
	switch {
	case m == nil && len(p.old) == 0:
		return &Decision{State: Done, Why: "No instance needs to be replaced."}
	case m == nil:
		m = &Memory{Attempt: p.settings.Attempt, Started: p.now, Desired: p.Desired, Suspended: p.toSuspend()}
		return act(fmt.Sprintf("%d of %s to be replaced.", len(p.old), plural.Count(len(p.Instances), "instance")), remember(m))
	case m.Attempt == p.settings.Attempt:
		return nil
	}
	m = m.clone()
	if m.Stopped != "" {
		m.Stopped, m.Started, m.Suspended = "", p.now, p.toSuspend()
	}
	m.Attempt, m.Short = p.settings.Attempt, time.Time{}
	return act("The rollout continues with the latest settings.", remember(m))
}

// toSuspend returns the processes that are yet to be suspended.
func (p *planner) toSuspend() []string {
	return slices.DeleteFunc(slices.Clone(heldProcesses), func(process string) bool { return slices.Contains(p.Suspended, process) })
}

// release releases instances that hooks hold.
func (p *planner) release() *Decision {
	var held []*Instance
	d := act("")
	for n := range p.Instances {
		if i := &p.Instances[n]; i.Held {
			held = append(held, i)
			d.Actions = append(d.Actions, Action{Kind: Release, Instance: i.ID})
		}
	}
	if len(held) == 0 {
		return nil
	}
	d.Why = capital(namesOf(held)) + " is released from its lifecycle hook."
	return d
}

// keepOff suspends other changes of the group's size.
func (p *planner) keepOff() *Decision {
	if !p.Autoscaled &&
		!slices.ContainsFunc(p.Memory.Suspended, func(process string) bool { return !slices.Contains(p.Suspended, process) }) {
		return nil
	}
	return act("Suspending the cluster autoscaler and scaling policies for the group.", Action{Kind: KeepOff})
}

// letBack resumes other changes of the group's size, if suspended.
func (p *planner) letBack() *Decision {
	if !p.Held && !slices.ContainsFunc(p.Memory.Suspended, func(process string) bool { return slices.Contains(p.Suspended, process) }) {
		return nil
	}
	return act("Resuming the cluster autoscaler and scaling policies for the group.", Action{Kind: LetBack})
}

// reachable waits for the cluster's API.
func (p *planner) reachable() *Decision {
	if p.settings.CloudOnly || p.Unreachable == "" {
		return nil
	}
	return wait(pollInterval, p.Unreachable)
}

// stop stops a failing rollout.
func (p *planner) stop(why string) *Decision {
	m := p.Memory.clone()
	m.Stopped = why
	return act(why, remember(m))
}

// troubled stops the rollout if it fails.
func (p *planner) troubled() *Decision {
	for _, i := range p.old {
		if i.Drain == drain.Kept {
			return p.stop(
				fmt.Sprintf(
					"%s could not be drained within %s%s. It stays in service.", capital(i.name()), p.settings.DrainTimeout, blockedBy(i),
				),
			)
		}
	}
	for _, i := range p.coming {
		since := i.Launched
		if i.Node != "" && i.Since.After(since) {
			since = i.Since // it was Ready in between
		}
		if !p.well(i) && p.now.Sub(since) > p.settings.ReadyTimeout {
			return p.stop(fmt.Sprintf("New %s was not Ready within %s.", i.name(), p.settings.ReadyTimeout))
		}
	}
	return p.shortage()
}

// shortage stops the rollout if instances are not launched in time. The time starts when no
// instance is terminating, since Auto Scaling may wait for that.
func (p *planner) shortage() *Decision {
	short := p.missing > 0 && !slices.ContainsFunc(p.Instances, func(i Instance) bool { return i.Lifecycle == Leaving })
	m := p.Memory.clone()
	switch {
	case short && m.Short.IsZero():
		m.Short = p.now
	case short && p.now.Sub(m.Short) > p.settings.ReadyTimeout:
		return p.stop(
			fmt.Sprintf(
				"Auto Scaling could not launch %s within %s. Check the group's activities.",
				plural.Count(p.missing, "instance"),
				p.settings.ReadyTimeout,
			),
		)
	case !short && !m.Short.IsZero():
		m.Short = time.Time{}
	default:
		return nil
	}
	return act(p.launching(), remember(m))
}

func (p *planner) launching() string {
	if p.missing == 0 {
		return "All instances are launched."
	}
	return capital(plural.Count(p.missing, "instance")) + " to be launched."
}

// finished ends the rollout when all instances are new and healthy, in the original number.
func (p *planner) finished() *Decision {
	if len(p.old)+len(p.coming)+p.missing+p.going+p.Memory.Surge > 0 {
		return nil
	}
	if d := p.letBack(); d != nil {
		return d
	}
	return &Decision{
		State:   Done,
		Actions: []Action{{Kind: Forget}},
		Why:     "All instances are up to date (" + plural.Count(len(p.settled), "instance") + ").",
	}
}

// settling waits until new instances are launched, and their nodes have been Ready for the pause.
func (p *planner) settling() *Decision {
	if p.missing > 0 {
		return wait(pollInterval, p.launching())
	}
	if len(p.coming) == 0 {
		return nil
	}
	names := make([]string, len(p.coming))
	again := pollInterval
	pausing := true
	for n, i := range p.coming {
		names[n] = i.name()
		at := p.settledAt(i)
		pausing = pausing && !at.IsZero()
		if !at.IsZero() {
			again = min(again, max(at.Sub(p.now), time.Millisecond))
		}
	}
	slices.Sort(names)
	if pausing {
		return wait(again, fmt.Sprintf("Waiting until new %s has been Ready for %s.", strings.Join(names, ", "), p.settings.Pause))
	}
	return wait(again, fmt.Sprintf("Waiting for new %s to become Ready.", strings.Join(names, ", ")))
}

// validated checks the cluster's health before more instances are replaced.
func (p *planner) validated() *Decision {
	v := p.Validation
	switch {
	case p.settings.CloudOnly || v.Passed >= max(1, p.settings.ValidateCount):
		return nil
	case !v.At.IsZero() && p.now.Sub(v.At) < pollInterval:
		return wait(pollInterval-p.now.Sub(v.At), cmp.Or(v.Problem, "The cluster is healthy and must stay so for a while."))
	default:
		return &Decision{
			State: Rolling, Actions: []Action{{Kind: Validate}}, Again: pollInterval,
			Why: cmp.Or(v.Problem, "Checking the cluster's health before replacing more instances."),
		}
	}
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func blockedBy(i *Instance) string {
	if i.Blocked == "" {
		return ""
	}
	return " because of " + i.Blocked
}

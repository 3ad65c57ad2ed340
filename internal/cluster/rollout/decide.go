package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws-operator/aws-operator/internal/cluster/drain"
)

// State says how far a roll is.
type State string

// States.
const (
	// Done has nothing to replace.
	Done State = "Done"
	// Rolling replaces machines, or waits for what it needs to go on.
	Rolling State = "Rolling"
	// Stopped needs a person: nothing more is taken until another attempt is asked for.
	Stopped State = "Stopped"
)

// ActionKind is a kind of Action.
type ActionKind string

// Kinds of actions.
const (
	// Remember writes Action.Memory on the group; Forget removes what was written.
	Remember ActionKind = "Remember"
	Forget   ActionKind = "Forget"
	// KeepOff keeps everybody else from changing the group's size; LetBack ends that.
	KeepOff ActionKind = "KeepOff"
	LetBack ActionKind = "LetBack"
	// SetCapacity makes Action.Capacity the group's desired capacity.
	SetCapacity ActionKind = "SetCapacity"
	// Drain begins to drain a machine's node; CancelDrain ends that and opens the node.
	Drain       ActionKind = "Drain"
	CancelDrain ActionKind = "CancelDrain"
	// Terminate ends a machine; with Action.Shrink the group's capacity is lowered with it.
	Terminate ActionKind = "Terminate"
	// Release has a machine go that a lifecycle hook holds: at once if it was drained, else when it is.
	Release ActionKind = "Release"
	// Validate looks whether all nodes and system pods are well.
	Validate ActionKind = "Validate"
)

// Action is one thing to do.
type Action struct {
	Kind ActionKind
	// Instance is the machine that it is about.
	Instance string
	Shrink   bool
	Capacity int
	Memory   *Memory
}

// Decision is what to do, in this order, and what is waited for.
type Decision struct {
	State   State
	Actions []Action
	// Why says in a sentence what is done, or why nothing can be done now.
	Why string
	// Again is when to look again if nothing is to be done before; zero if only a change can go on.
	Again time.Duration
}

const (
	// lookAgain is how often to look at what tells nobody that it changed.
	lookAgain = 5 * time.Second
	// steadyAfter is how long a desired capacity that the roll did not make must be seen before it is taken for somebody's wish: what
	// AWS answers may be from before the last change.
	steadyAfter = 3 * time.Second
)

// Decide decides what to do next with a group. It does not change the world.
func Decide(suite *Suite, settings *Settings, now time.Time) Decision {
	p := newPlanner(suite, settings, now)
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
	return p.goOn()
}

// planner is a look at a group.
type planner struct {
	*Suite
	settings Settings
	now      time.Time
	// old machines are active and to be replaced, coming ones are new and not yet settled, settled ones count.
	old, coming, settled []*Instance
	// going machines are leaving or being drained; available ones serve.
	going, available int
	missing          int
}

func newPlanner(suite *Suite, settings *Settings, now time.Time) *planner {
	p := &planner{Suite: suite, settings: *settings, now: now}
	active := 0
	for n := range suite.Instances {
		i := &suite.Instances[n]
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
	p.missing = max(0, suite.Desired-active)
	return p
}

// outdated reports whether a machine is to be replaced.
func (p *planner) outdated(i *Instance) bool {
	return i.Outdated || i.Launched.Before(p.settings.Before)
}

// well reports whether a machine does what it is for.
func (p *planner) well(i *Instance) bool {
	return i.Lifecycle == InService && (i.Ready || p.settings.CloudOnly)
}

// serves reports whether a machine takes and runs pods.
func (p *planner) serves(i *Instance) bool { return p.well(i) && !i.Cordoned && i.Drain == "" }

// settledAt returns when a machine has been well for the pause; zero if it is not well.
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

// act returns a decision to do something.
func act(why string, actions ...Action) *Decision {
	return &Decision{State: Rolling, Actions: actions, Why: why}
}

// wait returns a decision to wait.
func wait(again time.Duration, why string) *Decision {
	return &Decision{State: Rolling, Why: why, Again: again}
}

func remember(m *Memory) Action { return Action{Kind: Remember, Memory: m} }

// begin begins a roll, or another attempt at one. Without a memory all else is done.
func (p *planner) begin() *Decision {
	m := p.Memory
	switch {
	case m == nil && len(p.old) == 0:
		return &Decision{State: Done, Why: "No machine needs to be replaced."}
	case m == nil:
		m = &Memory{Attempt: p.settings.Attempt, Started: p.now, Desired: p.Desired, Suspended: p.toSuspend()}
		return act(fmt.Sprintf("%d of %s to be replaced.", len(p.old), count(len(p.Instances), "machine")), remember(m))
	case m.Attempt == p.settings.Attempt:
		return nil
	}
	m = m.clone()
	if m.Stopped != "" {
		m.Stopped, m.Started, m.Suspended = "", p.now, p.toSuspend()
	}
	m.Attempt, m.Short = p.settings.Attempt, time.Time{}
	return act("It goes on by what was asked for last.", remember(m))
}

// toSuspend returns the processes that are not suspended yet and should be.
func (p *planner) toSuspend() []string {
	return slices.DeleteFunc(slices.Clone(heldProcesses), func(process string) bool { return slices.Contains(p.Suspended, process) })
}

// release lets machines go that hooks hold.
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
	d.Why = capital(namesOf(held)) + " may go: its lifecycle hook is answered."
	return d
}

// keepOff keeps others off the group.
func (p *planner) keepOff() *Decision {
	if !p.Autoscaled && !slices.ContainsFunc(p.Memory.Suspended, func(process string) bool { return !slices.Contains(p.Suspended, process) }) {
		return nil
	}
	return act("The cluster autoscaler and scaling policies are kept off the group.", Action{Kind: KeepOff})
}

// letBack lets others back to the group, if they are off.
func (p *planner) letBack() *Decision {
	if !p.Held && !slices.ContainsFunc(p.Memory.Suspended, func(process string) bool { return slices.Contains(p.Suspended, process) }) {
		return nil
	}
	return act("The cluster autoscaler and scaling policies are let back to the group.", Action{Kind: LetBack})
}

// reachable waits for the cluster's API.
func (p *planner) reachable() *Decision {
	if p.settings.CloudOnly || p.Unreachable == "" {
		return nil
	}
	return wait(lookAgain, p.Unreachable)
}

// stop ends a roll that does not go well.
func (p *planner) stop(why string) *Decision {
	m := p.Memory.clone()
	m.Stopped = why
	return act(why, remember(m))
}

// troubled stops the roll if it does not go well.
func (p *planner) troubled() *Decision {
	for _, i := range p.old {
		if i.Drain == drain.Kept {
			return p.stop(fmt.Sprintf("%s could not be drained within %s%s; it stays in service.", capital(i.name()), p.settings.DrainTimeout, blockedBy(i)))
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

// shortage stops the roll if machines are not launched in time. The time runs once nobody is leaving: Auto Scaling may wait for that.
func (p *planner) shortage() *Decision {
	short := p.missing > 0 && !slices.ContainsFunc(p.Instances, func(i Instance) bool { return i.Lifecycle == Leaving })
	m := p.Memory.clone()
	switch {
	case short && m.Short.IsZero():
		m.Short = p.now
	case short && p.now.Sub(m.Short) > p.settings.ReadyTimeout:
		return p.stop(fmt.Sprintf("Auto Scaling could not launch %s within %s: look at the group's activities.", count(p.missing, "machine"), p.settings.ReadyTimeout))
	case !short && !m.Short.IsZero():
		m.Short = time.Time{}
	default:
		return nil
	}
	return act(p.launching(), remember(m))
}

func (p *planner) launching() string {
	if p.missing == 0 {
		return "All machines are launched."
	}
	return capital(count(p.missing, "machine")) + " to be launched."
}

// finished ends the roll when all is new, well, and as many as it was.
func (p *planner) finished() *Decision {
	if len(p.old)+len(p.coming)+p.missing+p.going+p.Memory.Surge > 0 {
		return nil
	}
	if d := p.letBack(); d != nil {
		return d
	}
	return &Decision{State: Done, Actions: []Action{{Kind: Forget}}, Why: count(len(p.settled), "machine") + " of the new shape, and none of another."}
}

// settling waits until new machines are launched, and their nodes have been Ready for the pause.
func (p *planner) settling() *Decision {
	if p.missing > 0 {
		return wait(lookAgain, p.launching())
	}
	if len(p.coming) == 0 {
		return nil
	}
	names := make([]string, len(p.coming))
	again := lookAgain
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
		return wait(again, fmt.Sprintf("New %s must have been Ready for %s.", strings.Join(names, ", "), p.settings.Pause))
	}
	return wait(again, fmt.Sprintf("New %s must become Ready.", strings.Join(names, ", ")))
}

// validated looks whether the cluster is well before more is taken.
func (p *planner) validated() *Decision {
	v := p.Validation
	switch {
	case p.settings.CloudOnly || v.Passed >= max(1, p.settings.ValidateCount):
		return nil
	case !v.At.IsZero() && p.now.Sub(v.At) < lookAgain:
		return wait(lookAgain-p.now.Sub(v.At), cmp.Or(v.Problem, "The cluster is well, and must be for a while."))
	default:
		return &Decision{
			State: Rolling, Actions: []Action{{Kind: Validate}}, Again: lookAgain,
			Why: cmp.Or(v.Problem, "The cluster is looked over before more is taken."),
		}
	}
}

// count says how many there are of something.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func blockedBy(i *Instance) string {
	if i.Blocked == "" {
		return ""
	}
	return " because of " + i.Blocked
}

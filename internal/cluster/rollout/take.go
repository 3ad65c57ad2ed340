package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cluster/drain"
	"github.com/aws-operator/aws-operator/internal/plural"
)

// proceed grows the group or selects the next instances, or explains why it cannot.
func (p *planner) proceed() Decision {
	grow := p.growth()
	taken, why := p.next()
	if grow == 0 && len(taken) == 0 {
		return *wait(pollInterval, why)
	}
	if d := p.validated(); d != nil {
		return *d
	}
	if grow > 0 {
		return *p.grow(grow)
	}
	if p.settings.drainsFirst() {
		return *p.drain(taken)
	}
	return *p.terminate(taken)
}

// floor returns how many instances must stay in service: the setting, limited so that the group can
// have one more, and to its size.
func (p *planner) floor() int {
	return min(p.settings.MinInService, p.Max-1, p.Memory.Desired)
}

// growth returns by how many instances the group must grow now: by the surge, or by one if it could
// not keep its floor otherwise, but never by more than the number of instances to replace. During
// the canary phase it covers only the canaries.
func (p *planner) growth() int {
	surge := p.settings.Surge
	if p.floor() == p.Memory.Desired {
		surge = max(surge, 1)
	}
	surge = min(surge, p.Max-p.Memory.Desired, len(p.old))
	if ahead := p.settings.Canary - len(p.settled); ahead > 0 {
		surge = min(surge, max(p.Memory.Surge, ahead))
	}
	return max(0, surge-p.Memory.Surge)
}

// grow raises the group's capacity.
func (p *planner) grow(by int) *Decision {
	m := p.Memory.clone()
	m.From, m.Surge = p.Desired, m.Surge+by
	return act(
		fmt.Sprintf("Growing the group by %s during the rollout.", plural.Count(by, "instance")),
		remember(m),
		Action{Kind: SetCapacity, Capacity: m.Desired + m.Surge},
	)
}

// next returns the instances to replace now, or why there are none.
func (p *planner) next() (taken []*Instance, why string) {
	candidates := p.old
	if len(p.old) == 0 { // Only the surge is left to remove.
		candidates = p.settled
	}
	candidates = slices.DeleteFunc(slices.Clone(candidates), func(i *Instance) bool { return i.Lifecycle != InService || i.Drain != "" })
	candidates = p.order(candidates)
	limit, why := p.limit()
	if len(p.old) == 0 {
		limit = min(limit, p.Memory.Surge-len(p.reprieved()))
	}
	spare := p.available - p.floor()
	for _, i := range candidates {
		switch {
		case len(taken) >= limit:
			return taken, why
		case p.serves(i) && spare <= 0:
			return taken, fmt.Sprintf("%s in service, at least %d required.", capital(plural.Count(p.available, "Ready node")), p.floor())
		case p.serves(i):
			spare--
		}
		taken = append(taken, i)
	}
	return taken, cmp.Or(why, "Waiting for outdated instances that are still starting.")
}

// order puts instances that do not serve first. Then it alternates between zones, from the one with
// the most instances left, so that Auto Scaling has little to rebalance afterwards and a batch
// spans zones; within a zone, the oldest is first.
func (p *planner) order(candidates []*Instance) []*Instance {
	slices.SortFunc(candidates, func(a, b *Instance) int {
		return cmp.Or(a.Launched.Compare(b.Launched), strings.Compare(a.ID, b.ID))
	})
	left := map[string]int{}
	for n := range p.Instances {
		if i := &p.Instances[n]; i.active() {
			left[i.Zone]++
		}
	}
	rank := func(i *Instance) int {
		if !p.serves(i) {
			return len(p.Instances) + left[i.Zone]
		}
		return left[i.Zone]
	}
	ordered := make([]*Instance, 0, len(candidates))
	for len(candidates) > 0 {
		next := slices.MaxFunc(candidates, func(a, b *Instance) int { return rank(a) - rank(b) }) // the first of equal ones
		left[next.Zone]--
		ordered = append(ordered, next)
		candidates = slices.DeleteFunc(candidates, func(i *Instance) bool { return i == next })
	}
	return ordered
}

// limit returns how many more instances may be replaced, and what the others wait for.
func (p *planner) limit() (limit int, why string) {
	limit = max(1, p.settings.BatchSize) - p.going
	why = p.leaving()
	if p.settings.Canary > 0 && len(p.settled) <= p.settings.Canary && p.going > 0 {
		return 0, "The canary is replaced alone: " + why
	}
	if ahead := p.settings.Canary - len(p.settled); ahead > 0 {
		limit = min(limit, ahead)
	}
	return max(0, limit), why
}

// leaving describes the terminating and draining instances.
func (p *planner) leaving() string {
	var names []string
	for n := range p.Instances {
		if i := &p.Instances[n]; i.Lifecycle == Leaving || i.active() && i.Drain != "" {
			names = append(names, i.name()+blockedBy(i))
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return capital(strings.Join(names, ", ")) + " must be terminated first."
}

// drain starts to drain nodes. Instances without a node are terminated at once.
func (p *planner) drain(taken []*Instance) *Decision {
	if bare := slices.DeleteFunc(slices.Clone(taken), func(i *Instance) bool { return i.Node != "" }); len(bare) > 0 {
		return p.terminate(bare)
	}
	d := act(capital(namesOf(taken)) + " to be drained.")
	for _, i := range taken {
		d.Actions = append(d.Actions, Action{Kind: Drain, Instance: i.ID})
	}
	return d
}

// drained terminates instances whose nodes are empty, or whose drain timed out.
func (p *planner) drained() *Decision {
	var ready []*Instance
	for _, i := range p.old {
		if i.Lifecycle == InService && (i.Drain == drain.Empty || i.Drain == drain.TimedOut) {
			ready = append(ready, i)
		}
	}
	open := act("Canceling the drains of nodes that need not be replaced.")
	for n, i := range p.reprieved() {
		switch {
		case len(p.old) > 0 || n >= p.Memory.Surge:
			open.Actions = append(open.Actions, Action{Kind: CancelDrain, Instance: i.ID})
		case i.Drain == drain.Empty || i.Drain == drain.TimedOut: // The group grew by it.
			ready = append(ready, i)
		}
	}
	switch {
	case len(open.Actions) > 0:
		return open
	case len(ready) > 0:
		return p.terminate(ready)
	default:
		return nil
	}
}

// reprieved returns draining instances that need not be replaced: the configuration was reverted,
// or they belong to the surge.
func (p *planner) reprieved() []*Instance {
	return slices.DeleteFunc(append(slices.Clone(p.settled), p.coming...), func(i *Instance) bool { return i.Drain == "" || !i.Ours })
}

// terminate terminates instances. As many as the surge are not replaced, the last ones.
func (p *planner) terminate(taken []*Instance) *Decision {
	m, left := p.Memory.clone(), len(p.old)
	var replaced, shrinking []Action
	m.Ending = nil
	for _, i := range taken {
		shrink := m.Surge > 0 && left <= m.Surge
		left--
		switch {
		case !shrink:
			replaced = append(replaced, Action{Kind: Terminate, Instance: i.ID})
		case len(shrinking) < endingAtOnce:
			m.Ending, m.Surge = append(m.Ending, i.ID), m.Surge-1
			shrinking = append(shrinking, Action{Kind: Terminate, Instance: i.ID, Shrink: true})
		}
	}
	d := act(capital(namesOf(taken))+" to be terminated.", replaced...)
	if len(shrinking) > 0 {
		d.Actions = append(append(d.Actions, remember(m)), shrinking...)
	}
	return d
}

func namesOf(instances []*Instance) string {
	names := make([]string, len(instances))
	for n, i := range instances {
		names[n] = i.name()
	}
	return strings.Join(names, ", ")
}

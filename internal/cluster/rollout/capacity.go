package rollout

import (
	"fmt"
	"slices"

	"github.com/aws-operator/aws-operator/internal/cluster/drain"
	"github.com/aws-operator/aws-operator/internal/plural"
)

// recount compares the group's capacity with the record. It completes changes that the rollout
// announced. Any other change is another party's, and becomes part of the capacity that the group
// has in the end.
func (p *planner) recount() *Decision {
	m := p.Memory.clone()
	ending := len(p.ending())
	ended := len(m.Ending) - ending
	if target := m.Desired + m.Surge; m.From != 0 {
		switch {
		case p.Desired == target:
			m.From = 0
			return act(fmt.Sprintf("The group's capacity is %d.", target), remember(m))
		case p.Desired == m.From && target <= p.Max:
			return act(fmt.Sprintf("The group's capacity becomes %d.", target), Action{Kind: SetCapacity, Capacity: target})
		}
		m.Surge = m.From - m.Desired // The change was never made.
	}
	expected := m.Desired + m.Surge + ending
	switch {
	case p.Desired == expected && m.From == 0 && ended == 0:
		return nil
	case p.Desired == expected && m.From == 0:
		m.Ending = slices.DeleteFunc(m.Ending, func(id string) bool { return !p.isEnding(id) })
		return act(capital(plural.Count(ended, "machine"))+" terminated without replacement.", remember(m))
	case p.Steady < steadyAfter:
		return wait(steadyAfter-p.Steady, "The group's capacity has just changed.")
	case p.Desired > expected && p.Desired <= expected+ended: // They terminated earlier and were replaced.
		m.From, m.Ending, m.Surge = 0, nil, m.Surge+ending+p.Desired-expected
		return act("Instances that were to terminate without replacement had terminated earlier.", remember(m))
	}
	// Instances whose termination was announced but did not happen belong to the surge again.
	m.From, m.Ending, m.Surge = 0, nil, m.Surge+ending
	if p.Desired != p.Max || p.Desired < m.Desired || p.Desired > expected { // Else only the surge no longer fits.
		m.Desired = min(max(m.Desired+p.Desired-expected, p.Min), p.Desired)
	}
	m.Surge = p.Desired - m.Desired
	return act(fmt.Sprintf("The group's capacity was changed to %d outside the rollout.", p.Desired), remember(m))
}

// ending returns the instances whose termination was announced, together with the group's capacity,
// and has not started yet.
func (p *planner) ending() []*Instance {
	var found []*Instance
	for n := range p.Instances {
		if i := &p.Instances[n]; i.active() && slices.Contains(p.Memory.Ending, i.ID) {
			found = append(found, i)
		}
	}
	return found
}

func (p *planner) isEnding(id string) bool {
	return slices.ContainsFunc(p.ending(), func(i *Instance) bool { return i.ID == id })
}

// endAgain terminates instances whose termination was announced, unless they are needed by now.
func (p *planner) endAgain() *Decision {
	ending, serving, spared := p.ending(), 0, false
	if len(ending) == 0 {
		return nil
	}
	for _, i := range ending {
		if p.serves(i) {
			serving++
			spared = spared || p.settings.drainsFirst() // its drain was canceled
		}
		spared = spared || !p.outdated(i) && len(p.old) > 0 && p.Memory.Stopped == ""
	}
	if spared || serving > 0 && (p.available-serving < p.floor() || p.going+serving > p.settings.BatchSize) {
		m := p.Memory.clone()
		m.Ending, m.Surge = nil, m.Surge+len(ending)
		return act(capital(namesOf(ending))+" must stay in service for now.", remember(m))
	}
	d := act(capital(namesOf(ending)) + " to be terminated.")
	for _, i := range ending {
		d.Actions = append(d.Actions, Action{Kind: Terminate, Instance: i.ID, Shrink: true})
	}
	return d
}

// stopped cleans up after a stopped rollout: it uncordons draining nodes, removes surge instances
// that are not Ready, and permits other changes of the group's size again.
func (p *planner) stopped() *Decision {
	why := p.Memory.Stopped
	if why == "" {
		return nil
	}
	if d := p.reopen(); d != nil {
		return d
	}
	if d := p.shed(); d != nil {
		return d
	}
	if d := p.letBack(); d != nil {
		return d
	}
	if d := p.finished(); d != nil {
		return d
	}
	return &Decision{State: Stopped, Why: why}
}

// reopen cancels the drains.
func (p *planner) reopen() *Decision {
	if !p.settings.drainsFirst() {
		return nil
	}
	d := act("Canceling the drains.")
	for _, i := range p.old {
		if i.Drain != "" {
			d.Actions = append(d.Actions, Action{Kind: CancelDrain, Instance: i.ID})
		}
	}
	if len(d.Actions) == 0 {
		return nil
	}
	return d
}

// shed lowers the capacity by what was not launched, and terminates new instances that are not
// healthy.
func (p *planner) shed() *Decision {
	m := p.Memory.clone()
	if m.Surge == 0 {
		return nil
	}
	if p.missing > 0 {
		m.From, m.Surge = p.Desired, m.Surge-min(m.Surge, p.missing)
		return act(
			"Lowering the group's capacity by the instances that could not be launched.",
			remember(m),
			Action{Kind: SetCapacity, Capacity: m.Desired + m.Surge},
		)
	}
	var actions []Action
	m.Ending = nil
	for _, i := range p.coming {
		if !p.well(i) && i.Drain != drain.Draining && m.Surge > 0 && len(actions) < endingAtOnce {
			m.Ending, m.Surge = append(m.Ending, i.ID), m.Surge-1
			actions = append(actions, Action{Kind: Terminate, Instance: i.ID, Shrink: true})
		}
	}
	if len(actions) == 0 {
		return nil
	}
	return act(
		"Terminating new instances that are not Ready and exceed the group's capacity.",
		append([]Action{remember(m)}, actions...)...)
}

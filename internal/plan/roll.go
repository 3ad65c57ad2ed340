package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// Parties that replace nodes.
const (
	byCloudFormation = "CloudFormation"
	byOperator       = "the operator"
	byEKS            = "EKS"
)

// The maximum times of a slot's update: the drain hook, then the signal, for the pause time in its
// template.
const (
	slotPauseTime = 20 * time.Minute
	slotDrainTime = 10 * time.Minute
)

// roll returns the instances that are replaced: those of Auto Scaling groups that stay.
func (p *Plan) roll(subjects []Subject) {
	var slots []string
	var groups []Roll
	for i := range subjects {
		if !p.Stacks[i].rolls() {
			continue
		}
		switch s := &subjects[i]; s.Part {
		case Slot:
			slots = append(slots, s.Name)
		case Group:
			groups = append(groups, groupRoll(s, p.Stacks[i].fitStay()))
		case Base, EKSAddons, Service: // Nothing replaces their instances.
		}
	}
	var first, behind Duration
	if len(slots) > 0 {
		one := slotsRoll(slots)
		p.Rolls, first = append(p.Rolls, one), one.AtLeast
	}
	for _, one := range groups {
		p.Rolls = append(p.Rolls, one)
		p.Takes = max(p.Takes, one.AtLeast)
		if one.After {
			behind = max(behind, one.AtLeast)
		}
	}
	p.Takes = max(p.Takes, first+behind)
	for i := range p.Rolls {
		p.Summary.Roll += p.Rolls[i].Machines
	}
}

func (s *Stack) rolls() bool {
	return slices.ContainsFunc(s.Resources, func(r Resource) bool { return r.Rolls })
}

// fitStay reports whether instances that still match the group stay.
func (s *Stack) fitStay() bool {
	return slices.ContainsFunc(s.Resources, func(r Resource) bool { return r.FitStay })
}

// slotsRoll returns the replacement of the slots' instances, one at a time.
func slotsRoll(slots []string) Roll {
	n := len(slots)
	return Roll{
		What: RollControlPlane, Machines: n, Order: slots, BatchSize: 1, Batches: n, By: byCloudFormation,
		AtLeast: times(n, BootAtLeast), AtMost: times(n, slotPauseTime+slotDrainTime),
		Assumes: fmt.Sprintf("each new instance serves %s after its launch, and draining the old one takes no time", words(BootAtLeast)),
	}
}

// groupRoll returns the replacement of the instances of an instance group.
func groupRoll(s *Subject, upTo bool) Roll {
	r := s.Rolling
	one := Roll{
		What:      RollGroup,
		Name:      s.Of,
		Machines:  s.Machines,
		UpTo:      upTo,
		BatchSize: max(1, int(r.BatchSize)),
		By:        byCloudFormation,
		After:     s.After,
	}
	left := one.Machines
	if r.Engine == v1alpha1.RollOperator {
		one.By = byOperator
		if canary := min(int(r.Canary), left); canary > 0 {
			one.Batches, left = 1, left-canary
		}
	}
	managed := s.hasNodegroup()
	if managed {
		one.By = byEKS
	}
	one.Batches += (left + one.BatchSize - 1) / one.BatchSize
	if !upTo {
		one.AtLeast = times(one.Batches, BootAtLeast+r.Pause)
	}
	if !managed { // EKS has limits of its own.
		one.AtMost = times(one.Batches, r.SignalTimeout+r.DrainTimeout)
	}
	if upTo {
		one.Assumes = "instances whose type and subnet are still in the definition stay"
		return one
	}
	assumes := []string{fmt.Sprintf("new nodes are ready %s after their launch", words(BootAtLeast))}
	if r.Pause > 0 {
		assumes = append(assumes, fmt.Sprintf("each batch then pauses for %s", words(r.Pause)))
	}
	one.Assumes = strings.Join(append(assumes, "draining takes no time"), ", ")
	return one
}

// hasNodegroup reports whether EKS manages the instances of a group.
func (s *Subject) hasNodegroup() bool {
	for _, r := range s.Wanted.Template.Resources {
		if r.Type == typeNodegroup {
			return true
		}
	}
	return false
}

func times(n int, d time.Duration) Duration { return Duration(int64(n) * int64(d)) }

// words returns a duration in a short form: 1m30s, 2h.
func words(d time.Duration) string {
	text := d.Round(time.Second).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

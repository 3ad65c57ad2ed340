package firewall

import (
	"net/netip"
	"slices"
)

// Ruleset is an ordered program over packets. The first chain is where evaluation begins.
type Ruleset struct{ Chains []Chain }

// Chain is a list of steps.
type Chain struct {
	Name  string
	Steps []Step
}

// Step decides about the packets that match all of its conditions. A chain's last step matches every
// packet.
type Step struct {
	// From and To are the ranges of the source and the destination. Nil means any; an empty list
	// matches no packet.
	From, To []netip.Prefix
	// Traffic is the protocol and its ports, or nil for any.
	Traffic *Traffic
	// Tracked matches only packets of established connections which that side tracks.
	Tracked Side
	// Untrack marks the connection: that side evaluates its rules for each of its packets.
	Untrack Side
	// Action is what happens to the packet; Target is the chain of a Jump.
	Action Action
	Target string
}

// Action is what a step does with a packet.
type Action int

// The actions. Return continues after the step that jumped to the chain.
const (
	Accept Action = iota
	Drop
	Return
	Jump
)

// Side is the end of a connection whose security groups track it.
type Side int

// The sides: the one that opened the connection, and the other one.
const (
	NoSide Side = iota
	Sender
	Receiver
)

// Allows reports whether a packet passes. A packet of an established connection counts as tracked.
func (r *Ruleset) Allows(p Packet) bool {
	byName := make(map[string]*Chain, len(r.Chains))
	for i := range r.Chains {
		byName[r.Chains[i].Name] = &r.Chains[i]
	}
	action := run(byName, &r.Chains[0], p)
	return action == Accept
}

func run(chains map[string]*Chain, c *Chain, p Packet) Action {
	for i := range c.Steps {
		s := &c.Steps[i]
		if !s.matches(p) {
			continue
		}
		if s.Action != Jump {
			return s.Action
		}
		if action := run(chains, chains[s.Target], p); action != Return {
			return action
		}
	}
	return Return
}

func (s *Step) matches(p Packet) bool {
	return contains(s.From, p.From) && contains(s.To, p.To) && (s.Traffic == nil || s.Traffic.Matches(p)) &&
		(s.Tracked == NoSide || p.Established)
}

func contains(ranges []netip.Prefix, a netip.Addr) bool {
	return ranges == nil || slices.ContainsFunc(ranges, func(r netip.Prefix) bool { return r.Contains(a) })
}

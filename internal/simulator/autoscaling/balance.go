package autoscaling

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
)

// outgoing marks an instance that is replaced before it is terminated: one at risk, one in a zone
// that has too many, or one that a refresh updates. The group launches one more instance, and
// terminates the outgoing one when the other is in service. Meanwhile a group may exceed its
// maximum by ten percent, and by at least one instance.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-capacity-rebalancing.html
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-benefits.html#AutoScalingBehavior.InstanceUsage
type outgoing struct {
	// why is the cause of its termination.
	why string
	// zone is the zone of the replacement, or "" for any.
	zone string
	// refreshed says that an instance refresh replaces it.
	refreshed bool
}

// outgoingMembers counts the outgoing members.
func (g *group) outgoingMembers() int {
	n := 0
	for _, m := range g.members {
		if m.active() && m.outgoing != nil {
			n++
		}
	}
	return n
}

// mayExceed reports whether the group may launch one more replacement.
func (g *group) mayExceed() bool {
	return g.desired+g.outgoingMembers()+1 <= g.max+max(g.max/10, 1)
}

// replaced terminates an outgoing member when there are enough members without it.
func (p *pass) replaced() effect {
	g := p.g
	staying := 0
	for _, m := range g.members {
		if m.active() && m.outgoing == nil && m.state == types.LifecycleStateInService && p.warm(m) {
			staying++
		}
	}
	if g.is(processTerminate) {
		return nil
	}
	for _, m := range g.members {
		if !m.active() || m.outgoing == nil || m.state != types.LifecycleStateInService {
			continue
		}
		if staying+g.outgoingMembers() > g.desired {
			return g.out(p.now, m, at(p.now)+" "+m.outgoing.why)
		}
	}
	return nil
}

// atRisk starts to replace a spot instance that EC2 recommends to rebalance.
func (p *pass) atRisk(m *member, seen observation) {
	g := p.g
	if m.outgoing == nil && m.spot && seen.instance.AtRisk && g.rebalance != nil && *g.rebalance && g.mayExceed() && !g.is(processLaunch) {
		m.outgoing = &outgoing{why: "an instance was taken out of service in response to an EC2 instance rebalance recommendation."}
	}
}

const processAZRebalance = "AZRebalance"

// balance marks an instance in the fullest zone of a steady group as outgoing if another zone has
// at least two fewer instances. It reports whether it has marked one.
func (p *pass) balance() bool {
	g := p.g
	if g.is(processAZRebalance) || g.is(processLaunch) || g.is(processTerminate) || g.deleting || g.refreshing() || !p.steady() {
		return false
	}
	if p.now.Before(g.balanceAfter) {
		p.until(g.balanceAfter)
		return false
	}
	fullest, emptiest := g.extremes(p.zones)
	if fullest == "" || !g.mayExceed() {
		return false
	}
	m := g.victim()
	if m == nil || m.zone != fullest {
		return false
	}
	m.outgoing = &outgoing{zone: emptiest, why: fmt.Sprintf(
		"instances were launched to balance instances in zones %s with other zones resulting in more than desired number of instances in the group.  "+
			"%s an instance was taken out of service in response to a difference between desired and actual capacity, shrinking the capacity from %d to %d.",
		emptiest,
		at(p.now),
		g.desired+1,
		g.desired,
	)}
	return true
}

// extremes returns the zone with the most instances and the zone of the group with the fewest;
// empty if they differ by less than two.
func (g *group) extremes(zones map[string]string) (fullest, emptiest string) {
	count := map[string]int{}
	for _, zone := range zones {
		count[zone] = 0
	}
	own := slices.Sorted(maps.Keys(count))
	for _, m := range g.members {
		if m.active() {
			count[m.zone]++
		}
	}
	if len(own) == 0 {
		return "", ""
	}
	fewest := func(a, b string) int { return count[a] - count[b] }
	emptiest = slices.MinFunc(own, fewest)
	fullest = slices.MaxFunc(slices.Sorted(maps.Keys(count)), fewest)
	if count[fullest]-count[emptiest] < 2 {
		return "", ""
	}
	return fullest, emptiest
}

// steady reports whether all members are in service and their number is the desired capacity.
func (p *pass) steady() bool {
	n := 0
	for _, m := range p.g.members {
		if m.id == "" || m.active() && (m.state != types.LifecycleStateInService || m.outgoing != nil) {
			return false
		}
		if m.active() {
			n++
		}
	}
	return n == p.g.desired && n > 1
}

// wantedZone returns the zone of the next launch, or "" for any.
func (g *group) wantedZone() string {
	for _, m := range g.members {
		if m.active() && m.outgoing != nil && m.outgoing.zone != "" {
			return m.outgoing.zone
		}
	}
	return ""
}

// unbalanced suspends balancing for a while, because the emptiest zone has no capacity.
func (g *group) unbalanced(now time.Time) {
	g.balanceAfter = now.Add(longestRetry)
	for _, m := range g.members {
		if m.outgoing != nil && m.outgoing.zone != "" {
			m.outgoing = nil
		}
	}
}

// inZone returns the choices in one zone, or all of them.
func inZone(list []choice, zone string) []choice {
	if zone == "" {
		return list
	}
	return slices.DeleteFunc(list, func(c choice) bool { return c.zone != zone })
}

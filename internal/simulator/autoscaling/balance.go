package autoscaling

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
)

// Some instances are replaced before they go: those at risk, those in a zone that
// has too many, those that a refresh updates. Such an instance is outgoing: the
// group launches one more, and ends it when the other is in service. Meanwhile a
// group may exceed its maximum by a tenth, but by one at least.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-capacity-rebalancing.html
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-benefits.html#AutoScalingBehavior.InstanceUsage
type outgoing struct {
	// why is the cause of its end.
	why string
	// zone is where the replacement is to be launched, "" for anywhere.
	zone string
	// refreshed says that it waits for its turn in an instance refresh.
	refreshed bool
}

// leavers counts the members that are to go when others have come.
func (g *group) leavers() int {
	n := 0
	for _, m := range g.members {
		if m.active() && m.outgoing != nil {
			n++
		}
	}
	return n
}

// mayExceed reports whether one more instance may be launched for one that goes.
func (g *group) mayExceed() bool {
	return g.desired+g.leavers()+1 <= g.max+max(g.max/10, 1)
}

// replaced ends an outgoing member once there are enough without it.
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
		if staying+g.leavers() > g.desired {
			return g.out(p.now, m, at(p.now)+" "+m.outgoing.why)
		}
	}
	return nil
}

// atRisk has a spot instance replaced that EC2 recommends to rebalance.
func (p *pass) atRisk(m *member, seen glance) {
	g := p.g
	if m.outgoing == nil && m.spot && seen.instance.AtRisk && g.rebalance != nil && *g.rebalance && g.mayExceed() && !g.is(processLaunch) {
		m.outgoing = &outgoing{why: "an instance was taken out of service in response to an EC2 instance rebalance recommendation."}
	}
}

const processAZRebalance = "AZRebalance"

// balance marks an instance of the zone that has the most of a group that is at
// peace, if another zone has two fewer, and reports whether it has.
func (p *pass) balance() bool {
	g := p.g
	if g.is(processAZRebalance) || g.is(processLaunch) || g.is(processTerminate) || g.deleting || g.refreshing() || !p.peaceful() {
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
		emptiest, at(p.now), g.desired+1, g.desired)}
	return true
}

// extremes returns the zone that has the most instances and that of the group's
// own zones that has the fewest, empty when they differ by less than two.
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

// peaceful reports whether all members are in service and as many as wanted.
func (p *pass) peaceful() bool {
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

// wantedZone is where the next instance has to be launched, "" for anywhere.
func (g *group) wantedZone() string {
	for _, m := range g.members {
		if m.active() && m.outgoing != nil && m.outgoing.zone != "" {
			return m.outgoing.zone
		}
	}
	return ""
}

// unbalanced gives an attempt to balance zones up for a while: the zone that has
// too few cannot have more.
func (g *group) unbalanced(now time.Time) {
	g.balanceAfter = now.Add(longestRetry)
	for _, m := range g.members {
		if m.outgoing != nil && m.outgoing.zone != "" {
			m.outgoing = nil
		}
	}
}

// inZone keeps the choices of one zone, or all of them.
func inZone(list []choice, zone string) []choice {
	if zone == "" {
		return list
	}
	return slices.DeleteFunc(list, func(c choice) bool { return c.zone != zone })
}

package autoscaling

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
)

// shrink terminates a member that the termination policies choose.
func (p *pass) shrink() effect {
	g := p.g
	m := g.victim()
	if m == nil {
		return nil
	}
	from := g.active()
	cause := g.pendingCause + fmt.Sprintf(
		"%s an instance was taken out of service in response to a difference between desired and actual capacity, "+
			"shrinking the capacity from %d to %d.  %s instance %s was selected for termination.",
		at(p.now),
		from,
		g.desired,
		at(p.now),
		m.id,
	)
	if m.activity != nil && m.activity.end == nil && m.activity.launch {
		m.activity.finish(p.now, types.ScalingActivityStatusCodeCancelled, "The instance was terminated before it was in service.")
	}
	return g.out(p.now, m, cause)
}

// victim returns the member to terminate: in the zone with the most instances, by the group's
// policies in their order, and then the oldest.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-termination-policies.html
func (g *group) victim() *member {
	var candidates []*member
	perZone := map[string]int{}
	for _, m := range g.members {
		if !m.active() || m.id == "" {
			continue
		}
		perZone[m.zone]++
		if !m.protected || g.deleting {
			candidates = append(candidates, m)
		}
	}
	if len(candidates) == 0 {
		return nil
	}
	most := 0
	for _, m := range candidates {
		most = max(most, perZone[m.zone])
	}
	candidates = slices.DeleteFunc(candidates, func(m *member) bool { return perZone[m.zone] < most })
	names := g.policies
	if len(names) == 0 {
		names = []string{"Default"}
	}
	for _, name := range names {
		candidates = g.narrow(candidates, name)
	}
	return slices.MinFunc(candidates, byAge)
}

func byAge(a, b *member) int { return a.launched.Compare(b.launched) }

// narrow returns the candidates that a policy prefers to terminate.
func (g *group) narrow(candidates []*member, policy string) []*member {
	switch policy {
	case "Default":
		return g.narrow(g.narrow(candidates, "AllocationStrategy"), "OldestLaunchTemplate")
	case "AllocationStrategy":
		return g.aligned(candidates)
	case "OldestInstance", "ClosestToNextInstanceHour":
		return []*member{slices.MinFunc(candidates, byAge)}
	case "NewestInstance":
		return []*member{slices.MaxFunc(candidates, byAge)}
	case "OldestLaunchTemplate":
		return g.oldestTemplate(candidates)
	}
	return candidates
}

// aligned prefers the purchase option, on demand or spot, of which the group has too many.
func (g *group) aligned(candidates []*member) []*member {
	if g.mixed == nil {
		return candidates
	}
	onDemand, total := 0, 0
	for _, m := range g.members {
		if m.active() {
			total++
			if !m.spot {
				onDemand++
			}
		}
	}
	spot := onDemand <= g.onDemandOf(total-1)
	kept := slices.DeleteFunc(slices.Clone(candidates), func(m *member) bool { return m.spot != spot })
	if len(kept) == 0 {
		return candidates
	}
	return kept
}

// oldestTemplate prefers instances of another launch template than the group's, and then those with
// the lowest version.
func (g *group) oldestTemplate(candidates []*member) []*member {
	current := deref(g.launchTemplate().LaunchTemplateId)
	foreign := slices.DeleteFunc(slices.Clone(candidates), func(m *member) bool {
		return current == "" || m.templateID == current
	})
	if len(foreign) > 0 {
		return foreign
	}
	oldest := slices.MinFunc(candidates, func(a, b *member) int { return a.version() - b.version() }).version()
	return slices.DeleteFunc(slices.Clone(candidates), func(m *member) bool { return m.version() != oldest })
}

func (m *member) version() int {
	n, err := strconv.Atoi(m.templateVersion)
	if err != nil {
		return 0
	}
	return n
}

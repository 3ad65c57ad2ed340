package autoscaling

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation/rolling"
	"github.com/aws-operator/aws-operator/internal/simulator/property"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

var _ rolling.Roller = groupProvider{}

// Observe returns the state of a group for CloudFormation.
func (p groupProvider) Observe(_ context.Context, r resource.Request) (rolling.Group, error) {
	g, err := p.find(r)
	if err != nil {
		return rolling.Group{}, err
	}
	fits := p.s.shape(g)
	g.region.mu.Lock()
	defer g.region.mu.Unlock()
	out := rolling.Group{Min: g.min, Max: g.max, Desired: g.desired}
	if g.failures >= enoughFailures {
		out.Failure = g.unstable()
	}
	for _, m := range g.bySurplus() {
		out.Instances = append(out.Instances, rolling.Instance{ID: m.id, Obsolete: !fits(m), Phase: m.phase()})
	}
	return out, nil
}

// bySurplus returns the members, those in the zones with the fewest first. The last ones may not be
// replaced, so the zones with the most instances shrink.
func (g *group) bySurplus() []*member {
	perZone := map[string]int{}
	list := make([]*member, 0, len(g.members))
	for _, m := range g.members {
		if m.id == "" {
			continue
		}
		list = append(list, m)
		if m.active() {
			perZone[m.zone]++
		}
	}
	slices.SortStableFunc(list, func(a, b *member) int { return perZone[a.zone] - perZone[b.zone] })
	return list
}

// phase returns the phase of a member for CloudFormation, which does not wait for terminating
// hooks; see package rolling.
func (m *member) phase() rolling.Phase {
	switch m.state {
	case types.LifecycleStatePending, types.LifecycleStatePendingWait, types.LifecycleStatePendingProceed:
		return rolling.Launching
	case types.LifecycleStateInService:
		return rolling.InService
	case types.LifecycleStateTerminating:
		return rolling.Leaving
	default:
		return rolling.Left
	}
}

func (p groupProvider) find(r resource.Request) (*group, error) {
	reg := p.s.regions.At(r.Target())
	reg.mu.Lock()
	defer reg.mu.Unlock()
	g, ok := reg.groups[r.PhysicalID]
	if !ok {
		return nil, property.Missing(groupType, r.PhysicalID)
	}
	return g, nil
}

// shape returns a function that reports whether a member matches what its group launches now: the
// launch template and its version, the instance type and the subnet. The caller of the function
// holds the region's lock; the caller of shape must not.
func (s *Service) shape(g *group) func(*member) bool {
	g.region.mu.Lock()
	kinds, subnets := g.kinds(), slices.Clone(g.subnets)
	g.region.mu.Unlock()
	type source struct{ id, version, instanceType string }
	sources := make([]source, 0, len(kinds))
	for _, k := range kinds {
		q := templateRequest(k.template)
		name := q.LaunchTemplateID
		if name == "" {
			name = q.LaunchTemplateName
		}
		if v, err := s.options.Compute.LaunchTemplate(g.region.Account, g.region.Region, name, q.Version); err == nil {
			sources = append(sources, source{id: v.ID, version: v.Version, instanceType: k.instanceType})
		}
	}
	return func(m *member) bool {
		return slices.Contains(subnets, m.subnet) && slices.ContainsFunc(sources, func(o source) bool {
			return o.id == m.templateID && o.version == m.templateVersion && (o.instanceType == "" || o.instanceType == m.instanceType)
		})
	}
}

// Resize sets a group's minimum and desired capacity.
func (p groupProvider) Resize(_ context.Context, r resource.Request, minimum, desired int) error {
	return p.on(r, func(g *group) error {
		set := g.settings
		set.min = minimum
		g.update(p.s.now(), set, min(max(desired, minimum), g.max))
		return nil
	})
}

// Terminate terminates an instance of a group.
func (p groupProvider) Terminate(_ context.Context, r resource.Request, id string, decrement bool) error {
	return p.on(r, func(g *group) error {
		m := g.member(id)
		if m == nil || m.leaving {
			return nil
		}
		return g.terminate(p.s.now(), m, decrement && g.desired > g.min)
	})
}

// Suspend suspends or resumes processes and returns those whose state changed.
func (p groupProvider) Suspend(_ context.Context, r resource.Request, processes []string, suspended bool) (changed []string, err error) {
	if len(processes) == 0 {
		return nil, nil
	}
	names, err := namedProcesses(processes)
	if err != nil {
		return nil, property.HandlerError(handlerService, err)
	}
	err = p.on(r, func(g *group) error {
		for _, name := range names {
			switch {
			case g.is(name) == suspended:
				continue
			case suspended:
				g.suspend(name, p.s.now())
			default:
				delete(g.suspended, name)
				g.retryNow()
			}
			changed = append(changed, name)
		}
		return nil
	})
	return changed, err
}

// Watch sets the function to call when a group may have changed.
func (p groupProvider) Watch(_ context.Context, r resource.Request, changed func()) error {
	return p.on(r, func(g *group) error {
		g.watcher = changed
		return nil
	})
}

func (g *group) suspend(process string, now time.Time) {
	g.suspended[process] = "User suspended at " + now.UTC().Format(timeFormat)
}

// unstable returns the stack's error for a group whose launches fail.
func (g *group) unstable() string {
	return fmt.Sprintf(
		"Group did not stabilize. {current/minSize/maxSize group size = %d/%d/%d}. Failed Scaling Activity: %s",
		g.inService(),
		g.min,
		g.max,
		g.failure,
	)
}

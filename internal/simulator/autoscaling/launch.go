package autoscaling

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/aws-operator/aws-operator/internal/simulator/ec2"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// size launches or terminates instances to reach the desired capacity.
func (p *pass) size() effect {
	g := p.g
	if do := p.refresh(); do != nil {
		return do
	}
	if do := p.replaced(); do != nil {
		return do
	}
	if p.balance() {
		return func() {}
	}
	missing := g.desired + g.outgoingMembers() - g.active()
	switch {
	case missing > 0:
		if g.is(processLaunch) || g.deleting {
			return nil
		}
		if p.now.Before(g.retry) {
			p.until(g.retry)
			return nil
		}
		return func() { p.s.launch(g) }
	case missing < 0 && !g.is(processTerminate):
		return p.shrink()
	}
	return nil
}

// choice is one way to launch an instance.
type choice struct {
	subnet, zone, instanceType string
	template                   *types.LaunchTemplateSpecification
}

// launch launches one instance for a group: in the zone with the fewest instances, with the first
// available instance type, and otherwise in other zones.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-availability-zone-balanced.html
func (s *Service) launch(g *group) {
	r := g.region
	zones := s.zones(g)
	r.mu.Lock()
	if g.active() >= g.desired+g.outgoingMembers() || g.deleting {
		r.mu.Unlock()
		return
	}
	now := s.now()
	m := &member{state: types.LifecycleStatePending, launched: now, protected: g.protect, spot: g.wantsSpot()}
	m.activity = g.begin(now, true, "Launching a new EC2 instance", g.launchCause(now))
	g.members = append(g.members, m)
	zone := g.wantedZone()
	choices := inZone(g.choices(zones), zone)
	request := ec2.LaunchRequest{Account: r.Account, Region: r.Region, Spot: m.spot, Tags: g.instanceTags(), Requester: requester}
	r.mu.Unlock()

	instance, err := s.try(request, choices)

	r.mu.Lock()
	if err != nil {
		do := s.launchFailed(g, m, err)
		if zone != "" {
			g.retryNow()
			g.unbalanced(s.now())
		}
		r.mu.Unlock()
		do()
		return
	}
	m.take(instance)
	s.owners.Store(m.id, g)
	r.mu.Unlock()
	s.queue.post(g) // its state may have changed before its owner was known
}

func (m *member) take(i ec2.Instance) {
	m.id, m.zone, m.subnet, m.instanceType, m.image = i.ID, i.Zone, i.SubnetID, i.Type, i.ImageID
	m.templateID, m.templateVersion, m.spot = i.LaunchTemplateID, i.LaunchTemplateVersion, i.Spot
	if a := m.activity; a != nil {
		a.description = "Launching a new EC2 instance: " + i.ID
		a.zone, a.subnet, a.progress = i.Zone, i.SubnetID, 30
	}
}

// launchFailed records a launch that EC2 refused. The caller holds the lock.
func (s *Service) launchFailed(g *group, m *member, err error) effect {
	g.remove(m)
	now := s.now()
	message := sentence(err) + " Launching EC2 instance failed."
	if g.mixed != nil {
		market := "On-Demand"
		if m.spot {
			market = "Spot"
		}
		message = "Could not launch " + market + " Instances. " + code(err) + " - " + message
	}
	m.activity.finish(now, types.ScalingActivityStatusCodeFailed, message)
	m.activity.description = "Launching a new EC2 instance.  Status Reason: " + message
	p := &pass{s: s, g: g, now: now}
	p.failed(message)
	return s.notLaunched(g, m.activity, "")
}

// sentence returns EC2's message, ending in a period.
func sentence(err error) string {
	text := err.Error()
	if e, ok := errors.AsType[*wire.Error](err); ok {
		text = e.Message
	}
	return strings.TrimSuffix(strings.TrimSpace(text), ".") + "."
}

func code(err error) string {
	if e, ok := errors.AsType[*wire.Error](err); ok {
		return e.Code
	}
	return "InternalError"
}

// try launches with the first choice that has capacity. Any other error ends the attempt.
func (s *Service) try(request ec2.LaunchRequest, choices []choice) (ec2.Instance, error) {
	err := error(wire.Errorf("ValidationError", "The subnets of the group do not exist."))
	for _, c := range choices {
		from := templateRequest(c.template)
		request.LaunchTemplateID, request.LaunchTemplateName, request.Version = from.LaunchTemplateID, from.LaunchTemplateName, from.Version
		request.SubnetID, request.InstanceType = c.subnet, c.instanceType
		var instance ec2.Instance
		instance, err = s.options.Compute.Launch(request)
		if err == nil {
			return instance, nil
		}
		if !slices.Contains([]string{
			"InsufficientInstanceCapacity", "InsufficientFreeAddressesInSubnet", "ReservationCapacityExceeded", "Unsupported",
		}, code(err)) {
			break
		}
	}
	return ec2.Instance{}, err
}

// requester is the service that launches the instances.
const requester = "autoscaling.amazonaws.com"

// templateRequest returns a launch from a template.
func templateRequest(t *types.LaunchTemplateSpecification) ec2.LaunchRequest {
	q := ec2.LaunchRequest{LaunchTemplateID: deref(t.LaunchTemplateId), Version: deref(t.Version)}
	if q.LaunchTemplateID == "" {
		q.LaunchTemplateName = deref(t.LaunchTemplateName)
	}
	return q
}

// zones returns the zone of each existing subnet of the group.
func (s *Service) zones(g *group) map[string]string {
	g.region.mu.Lock()
	subnets := g.subnets
	g.region.mu.Unlock()
	zones := map[string]string{}
	for _, id := range subnets {
		if zone, ok := s.options.Zone(g.region.Account, g.region.Region, id); ok {
			zones[id] = zone
		}
	}
	return zones
}

// choices returns the ways to launch, best first.
func (g *group) choices(zones map[string]string) []choice {
	perZone, perSubnet := map[string]int{}, map[string]int{}
	for _, m := range g.members {
		if m.active() && m.outgoing == nil && m.id != "" {
			perZone[m.zone]++
			perSubnet[m.subnet]++
		}
	}
	subnets := slices.Clone(g.subnets)
	slices.SortStableFunc(subnets, func(a, b string) int {
		if zones[a] != zones[b] {
			return perZone[zones[a]] - perZone[zones[b]]
		}
		return perSubnet[a] - perSubnet[b]
	})
	var list []choice
	for _, subnet := range subnets {
		zone, ok := zones[subnet]
		if !ok {
			continue
		}
		for _, t := range g.kinds() {
			t.subnet, t.zone = subnet, zone
			list = append(list, t)
		}
	}
	return list
}

// kinds returns the instance types that the group may launch, in its order.
func (g *group) kinds() []choice {
	base := g.launchTemplate()
	if g.mixed == nil || len(g.mixed.LaunchTemplate.Overrides) == 0 {
		return []choice{{template: base}}
	}
	list := make([]choice, 0, len(g.mixed.LaunchTemplate.Overrides))
	for _, o := range g.mixed.LaunchTemplate.Overrides {
		c := choice{instanceType: deref(o.InstanceType), template: base}
		if o.LaunchTemplateSpecification != nil {
			c.template = o.LaunchTemplateSpecification
		}
		list = append(list, c)
	}
	return list
}

// wantsSpot reports whether the next instance is a spot instance. The base is on demand; the
// percentage applies above it.
// https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_InstancesDistribution.html
func (g *group) wantsSpot() bool {
	if g.mixed == nil {
		return false
	}
	onDemand := 0
	for _, m := range g.members {
		if m.active() && m.outgoing == nil && !m.spot {
			onDemand++
		}
	}
	return onDemand >= g.onDemandOf(g.desired)
}

// onDemandOf returns how many of a number of instances are on demand.
func (g *group) onDemandOf(total int) int {
	base, percentage := 0, 100
	if d := g.mixed.InstancesDistribution; d != nil {
		base = int(deref(d.OnDemandBaseCapacity))
		if d.OnDemandPercentageAboveBaseCapacity != nil {
			percentage = int(*d.OnDemandPercentageAboveBaseCapacity)
		}
	}
	above := max(total-base, 0)
	return min(base, total) + (above*percentage+99)/100
}

// instanceTags returns the tags of the group's instances.
func (g *group) instanceTags() map[string]string {
	tags := map[string]string{"aws:autoscaling:groupName": g.name}
	for _, t := range g.tags {
		if deref(t.PropagateAtLaunch) {
			tags[deref(t.Key)] = deref(t.Value)
		}
	}
	return tags
}

// launchCause returns the cause of a launch.
func (g *group) launchCause(now time.Time) string {
	if g.replacing > 0 {
		g.replacing--
		return at(now) + " an instance was launched in response to an unhealthy instance needing to be replaced."
	}
	from := g.active()
	to := max(g.desired, from)
	return g.pendingCause + fmt.Sprintf(
		"%s an instance was started in response to a difference between desired and actual capacity, increasing the capacity from %d to %d.",
		at(now),
		from,
		to,
	)
}

package autoscaling

import (
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	compute "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/ec2"
)

// effect is an action of a group without its region's lock: a call of EC2 or of a load balancer, or
// an event.
type effect func()

// observation is the observed state of a member's instance.
type observation struct {
	instance ec2.Instance
	found    bool
	// failing says that the instance fails the health check of a target group.
	failing bool
	// draining says that a target group still drains its connections.
	draining bool
}

// converge takes all steps of a group that are possible without waiting.
func (s *Service) converge(g *group) {
	zones := s.zones(g)
	for {
		seen := s.observe(g)
		g.region.mu.Lock()
		if g.region.groups[g.name] != g {
			g.region.mu.Unlock()
			return
		}
		p := &pass{s: s, g: g, now: s.now(), seen: seen, zones: zones}
		do := p.step()
		if do == nil {
			s.setTimer(g, p.next)
		}
		watcher := g.watcher
		g.region.mu.Unlock()
		if do == nil {
			if watcher != nil {
				watcher()
			}
			return
		}
		do()
	}
}

// observe reads the state of the members from EC2 and the load balancers.
func (s *Service) observe(g *group) map[string]observation {
	type question struct {
		id           string
		targetGroups []string
		elb          bool
	}
	g.region.mu.Lock()
	elbChecks := strings.Contains(g.healthCheckType, checkELB)
	questions := make([]question, 0, len(g.members))
	for _, m := range g.members {
		if m.id != "" {
			questions = append(questions, question{m.id, m.registered, elbChecks || m.leaving})
		}
	}
	g.region.mu.Unlock()
	seen := make(map[string]observation, len(questions))
	for _, q := range questions {
		var l observation
		l.instance, l.found = s.options.Compute.Instance(g.region.Account, g.region.Region, q.id)
		for _, arn := range q.targetGroups {
			if !q.elb {
				break
			}
			switch s.options.Balancers.Health(g.region.Account, g.region.Region, arn, q.id) {
			case elb.TargetHealthStateEnumUnhealthy:
				l.failing = true
			case elb.TargetHealthStateEnumDraining:
				l.draining = true
			default: // healthy or unknown
			}
		}
		seen[q.id] = l
	}
	return seen
}

// setTimer enqueues the group at a time. The caller holds the lock.
func (s *Service) setTimer(g *group, next time.Time) {
	if g.timer != nil {
		g.timer.Stop()
		g.timer = nil
	}
	if next.IsZero() {
		return
	}
	g.timer = s.env.Clock.AfterFunc(max(next.Sub(s.now()), time.Millisecond), func() { s.queue.post(g) })
}

// pass is one reconcile of a group, under its region's lock.
type pass struct {
	s    *Service
	g    *group
	now  time.Time
	seen map[string]observation
	// zones are the zones of the group's subnets.
	zones map[string]string
	next  time.Time
}

// until schedules another reconcile of the group.
func (p *pass) until(t time.Time) {
	if p.next.IsZero() || t.Before(p.next) {
		p.next = t
	}
}

// step returns the group's next action, or nil if it has to wait.
func (p *pass) step() effect {
	p.schedule()
	for _, m := range p.g.members {
		if m.id == "" {
			continue
		}
		if do := p.member(m); do != nil {
			return do
		}
	}
	if p.g.deleting && len(p.g.members) == 0 {
		delete(p.g.region.groups, p.g.name)
		return nil
	}
	return p.size()
}

// member returns the next action for a member.
func (p *pass) member(m *member) effect {
	seen, ok := p.seen[m.id]
	if !ok { // it was added after the observation
		return func() {}
	}
	switch m.state {
	case types.LifecycleStatePending:
		return p.pending(m, seen)
	case types.LifecycleStatePendingWait, types.LifecycleStateTerminatingWait:
		return p.waiting(m, seen)
	case types.LifecycleStatePendingProceed:
		return p.enter(m, seen)
	case types.LifecycleStateInService:
		return p.service(m, seen)
	case types.LifecycleStateTerminating, types.LifecycleStateDetaching, types.LifecycleStateEnteringStandby:
		return p.leave(m, seen)
	case types.LifecycleStateTerminatingProceed:
		return p.end(m, seen)
	case types.LifecycleStateTerminatingRetained:
		return p.keep(m, seen)
	default: // in standby
		return nil
	}
}

// ended reports whether an instance is shutting down, terminated or unknown.
func ended(l observation) bool {
	if !l.found {
		return true
	}
	return l.instance.State == compute.InstanceStateNameShuttingDown || l.instance.State == compute.InstanceStateNameTerminated
}

func stopped(l observation) bool {
	return l.found && (l.instance.State == compute.InstanceStateNameStopping || l.instance.State == compute.InstanceStateNameStopped)
}

// pending waits until the instance runs.
func (p *pass) pending(m *member, seen observation) effect {
	switch {
	case ended(seen) || stopped(seen):
		return p.abort(
			m, "Instance became unhealthy while waiting for instance to be in InService state. Termination Reason: "+reason(seen),
		)
	case seen.instance.State != compute.InstanceStateNameRunning:
		return nil
	}
	return p.hold(m, seen, transitionLaunching, types.LifecycleStatePendingWait, types.LifecycleStatePendingProceed)
}

func reason(l observation) string {
	if !l.found {
		return "Client.UserInitiatedShutdown: User initiated shutdown"
	}
	return deref(l.instance.Reason.Message)
}

// abort terminates a member that never got into service.
func (p *pass) abort(m *member, why string) effect {
	m.abandoned = why
	p.failed(why)
	m.activity.finish(p.now, types.ScalingActivityStatusCodeCancelled, why)
	m.leaving, m.state = true, types.LifecycleStateTerminatingProceed
	m.activity = p.g.begin(p.now, false, "Terminating EC2 instance: "+m.id,
		at(p.now)+" an instance was taken out of service in response to a launch failure.")
	return func() {}
}

// failed counts a failed launch and schedules a retry.
func (p *pass) failed(why string) {
	g := p.g
	g.failures++
	g.failure = why
	pause := firstRetry << min(g.failures-1, 10)
	g.retry = p.now.Add(min(pause, longestRetry))
}

const (
	firstRetry   = 3 * time.Second
	longestRetry = 5 * time.Minute
)

// enter moves a member into service and registers it with the target groups.
func (p *pass) enter(m *member, seen observation) effect {
	if ended(seen) || stopped(seen) {
		return p.abort(
			m, "Instance became unhealthy while waiting for instance to be in InService state. Termination Reason: "+reason(seen),
		)
	}
	if do := p.register(m); do != nil {
		return do
	}
	m.state, m.inService = types.LifecycleStateInService, p.now
	if m.activity == nil {
		return func() {}
	}
	m.activity.finish(p.now, types.ScalingActivityStatusCodeSuccessful, "")
	p.g.failures, p.g.failure = 0, ""
	return p.s.launched(p.g, m)
}

// register registers a member with the target groups that it is not in yet.
func (p *pass) register(m *member) effect {
	if p.g.is(processAddToLoadBalancer) {
		return nil
	}
	for _, arn := range p.g.targetGroups {
		if slices.Contains(m.registered, arn) {
			continue
		}
		m.registered = append(slices.Clip(m.registered), arn)
		account, region, id := p.g.region.Account, p.g.region.Region, m.id
		// a deleted target group must be detached by the user
		return func() { _ = p.s.options.Balancers.Register(account, region, arn, id) }
	}
	return nil
}

// deregister deregisters a member from a target group that is not in keep.
func (p *pass) deregister(m *member, keep []string) effect {
	for i, arn := range m.registered {
		if slices.Contains(keep, arn) {
			continue
		}
		m.registered = append(m.registered[:i:i], m.registered[i+1:]...)
		account, region, id := p.g.region.Account, p.g.region.Region, m.id
		return func() { _ = p.s.options.Balancers.Deregister(account, region, arn, id) }
	}
	return nil
}

// service maintains a member in service: its target groups and its health.
func (p *pass) service(m *member, seen observation) effect {
	if !ended(seen) {
		if do := p.register(m); do != nil {
			return do
		}
		if do := p.deregister(m, p.g.targetGroups); do != nil {
			return do
		}
	}
	p.judge(m, seen)
	p.atRisk(m, seen)
	if !m.unhealthy || m.standby || p.g.is(processReplaceUnhealthy) || p.g.is(processTerminate) {
		return nil
	}
	p.g.replacing++
	return p.g.out(p.now, m, at(p.now)+" an instance was taken out of service in response to "+sickness(seen)+".")
}

// judge evaluates the health of a member. An instance that is not running is unhealthy at once;
// other checks, and scheduled events that are due, count after the grace period.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/health-checks-overview.html
func (p *pass) judge(m *member, seen observation) {
	if m.unhealthy || p.g.is(processHealthCheck) {
		return
	}
	if ended(seen) || stopped(seen) {
		m.unhealthy = true
		return
	}
	if !seen.failing && !seen.instance.Impaired && !seen.instance.Due {
		return
	}
	if graced := m.inService.Add(p.g.grace); p.now.Before(graced) {
		p.until(graced)
		return
	}
	m.unhealthy = true
}

func sickness(seen observation) string {
	switch {
	case ended(seen) || stopped(seen):
		return "an EC2 health check indicating it has been terminated or stopped"
	case seen.instance.Impaired:
		return "an EC2 instance status checks failure"
	case seen.instance.Due:
		return "an EC2 health check indicating a scheduled event"
	case seen.failing:
		return "an ELB system health check failure"
	}
	return "a user health-check"
}

// out starts to terminate a member. The caller holds the lock.
func (g *group) out(now time.Time, m *member, cause string) effect {
	m.leaving, m.state = true, types.LifecycleStateTerminating
	m.activity = g.begin(now, false, "Terminating EC2 instance: "+m.id, cause)
	m.activity.zone, m.activity.subnet = m.zone, m.subnet
	return func() {}
}

// leave deregisters a running member from the target groups and waits until its connections are
// drained; then the hooks hold it.
func (p *pass) leave(m *member, seen observation) effect {
	drains := m.state == types.LifecycleStateTerminating && !ended(seen) && !stopped(seen)
	if drains && seen.draining {
		m.activity.code = types.ScalingActivityStatusCodeWaitingForELBConnectionDraining
		p.until(p.now.Add(time.Second))
		return nil
	}
	for _, arn := range m.registered {
		account, region, id := p.g.region.Account, p.g.region.Region, m.id
		if slices.Contains(m.left, arn) {
			continue
		}
		m.left = append(m.left, arn)
		return func() { _ = p.s.options.Balancers.Deregister(account, region, arn, id) }
	}
	m.left, m.registered = nil, nil
	switch m.state {
	case types.LifecycleStateDetaching:
		m.activity.finish(p.now, types.ScalingActivityStatusCodeSuccessful, "")
		p.g.remove(m)
		p.s.owners.Delete(m.id)
		return p.s.detached(p.g, m)
	case types.LifecycleStateEnteringStandby:
		m.state = types.LifecycleStateStandby
		m.activity.finish(p.now, types.ScalingActivityStatusCodeSuccessful, "")
		return func() {}
	default:
		return p.hold(m, seen, transitionTerminating, types.LifecycleStateTerminatingWait, types.LifecycleStateTerminatingProceed)
	}
}

// end terminates the instance, and removes the member when the instance is terminated.
func (p *pass) end(m *member, seen observation) effect {
	if seen.found && seen.instance.State != compute.InstanceStateNameTerminated {
		if m.terminationRequested {
			return nil // EC2 notifies the group when it is terminated
		}
		m.terminationRequested = true
		account, region, id := p.g.region.Account, p.g.region.Region, m.id
		return func() {
			if err := p.s.options.Compute.Terminate(account, region, id); err != nil {
				p.s.notTerminated(p.g, m, err)
			}
		}
	}
	p.g.remove(m)
	p.s.owners.Delete(m.id)
	m.activity.finish(p.now, types.ScalingActivityStatusCodeSuccessful, "")
	return p.s.terminated(p.g, m)
}

// notTerminated records why EC2 did not terminate an instance, and retries later.
func (s *Service) notTerminated(g *group, m *member, err error) {
	g.region.mu.Lock()
	m.activity.message = sentence(err) + " Terminating EC2 instance failed."
	publish := s.report(g, m.activity, m.id, "EC2 Instance Terminate Unsuccessful", originGroup, originEC2)
	g.region.mu.Unlock()
	publish()
	s.env.Clock.AfterFunc(firstRetry, func() {
		go func() {
			g.region.mu.Lock()
			m.terminationRequested = false
			g.region.mu.Unlock()
			s.queue.post(g)
		}()
	})
}

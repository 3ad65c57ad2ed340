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

// effect is something that a group does outside the lock: a call of EC2 or of a
// load balancer, or an event.
type effect func()

// glance is what a look at a member's instance showed.
type glance struct {
	instance ec2.Instance
	found    bool
	// sick is the ARN of a target group whose health check the instance fails.
	sick bool
	// draining says that a target group still lets its connections end.
	draining bool
}

// converge takes a group as far as it gets without waiting.
func (s *Service) converge(g *group) {
	zones := s.zones(g)
	for {
		seen := s.look(g)
		g.region.mu.Lock()
		if g.region.groups[g.name] != g {
			g.region.mu.Unlock()
			return
		}
		p := &pass{s: s, g: g, now: s.now(), seen: seen, zones: zones}
		do := p.step()
		if do == nil {
			s.setTimer(g, p.wake)
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

// look asks EC2 and the load balancers about the members.
func (s *Service) look(g *group) map[string]glance {
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
	seen := make(map[string]glance, len(questions))
	for _, q := range questions {
		var l glance
		l.instance, l.found = s.options.Compute.Instance(g.region.Account, g.region.Region, q.id)
		for _, arn := range q.targetGroups {
			if !q.elb {
				break
			}
			switch s.options.Balancers.Health(g.region.Account, g.region.Region, arn, q.id) {
			case elb.TargetHealthStateEnumUnhealthy:
				l.sick = true
			case elb.TargetHealthStateEnumDraining:
				l.draining = true
			default: // it is well, or not known yet
			}
		}
		seen[q.id] = l
	}
	return seen
}

// setTimer has the group looked at when a time comes. The caller holds the lock.
func (s *Service) setTimer(g *group, wake time.Time) {
	if g.timer != nil {
		g.timer.Stop()
		g.timer = nil
	}
	if wake.IsZero() {
		return
	}
	g.timer = s.env.Clock.AfterFunc(max(wake.Sub(s.now()), time.Millisecond), func() { s.queue.post(g) })
}

// pass is one look at a group, under its region's lock.
type pass struct {
	s    *Service
	g    *group
	now  time.Time
	seen map[string]glance
	// zones are those of the group's subnets.
	zones map[string]string
	wake  time.Time
}

// until notes that the group is to be looked at again then.
func (p *pass) until(t time.Time) {
	if p.wake.IsZero() || t.Before(p.wake) {
		p.wake = t
	}
}

// step decides what the group does next; nil when it has to wait.
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

// member takes one member on.
func (p *pass) member(m *member) effect {
	seen, ok := p.seen[m.id]
	if !ok { // it came after the look
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
	default: // in standby it is left alone
		return nil
	}
}

// gone reports whether an instance is not going to run any more.
func gone(l glance) bool {
	if !l.found {
		return true
	}
	return l.instance.State == compute.InstanceStateNameShuttingDown || l.instance.State == compute.InstanceStateNameTerminated
}

func stopped(l glance) bool {
	return l.found && (l.instance.State == compute.InstanceStateNameStopping || l.instance.State == compute.InstanceStateNameStopped)
}

// pending waits until the instance runs.
func (p *pass) pending(m *member, seen glance) effect {
	switch {
	case gone(seen) || stopped(seen):
		return p.abort(m, "Instance became unhealthy while waiting for instance to be in InService state. Termination Reason: "+reason(seen))
	case seen.instance.State != compute.InstanceStateNameRunning:
		return nil
	}
	return p.hold(m, seen, transitionLaunching, types.LifecycleStatePendingWait, types.LifecycleStatePendingProceed)
}

func reason(l glance) string {
	if !l.found {
		return "Client.UserInitiatedShutdown: User initiated shutdown"
	}
	return deref(l.instance.Reason.Message)
}

// abort gives a member up that never got into service.
func (p *pass) abort(m *member, why string) effect {
	m.abandoned = why
	p.failed(why)
	m.activity.finish(p.now, types.ScalingActivityStatusCodeCancelled, why)
	m.leaving, m.state = true, types.LifecycleStateTerminatingProceed
	m.activity = p.g.begin(p.now, false, "Terminating EC2 instance: "+m.id,
		at(p.now)+" an instance was taken out of service in response to a launch failure.")
	return func() {}
}

// failed counts a failed launch and says when to try again.
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

// enter brings a member into service: it is registered with the target groups.
func (p *pass) enter(m *member, seen glance) effect {
	if gone(seen) || stopped(seen) {
		return p.abort(m, "Instance became unhealthy while waiting for instance to be in InService state. Termination Reason: "+reason(seen))
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

// register adds a member to the target groups that it is not in yet.
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
		// A target group that has gone is the group's own to detach.
		return func() { _ = p.s.options.Balancers.Register(account, region, arn, id) }
	}
	return nil
}

// deregister takes a member out of a target group that it should not be in.
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

// service looks after a member in service: its target groups and its health.
func (p *pass) service(m *member, seen glance) effect {
	if !gone(seen) {
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

// judge decides whether a member is healthy. An instance that does not run is
// not, at once; other checks count after the grace period.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-health-checks.html
func (p *pass) judge(m *member, seen glance) {
	if m.unhealthy || p.g.is(processHealthCheck) {
		return
	}
	if gone(seen) || stopped(seen) {
		m.unhealthy = true
		return
	}
	if !seen.sick && !seen.instance.Impaired {
		return
	}
	if graced := m.inService.Add(p.g.grace); p.now.Before(graced) {
		p.until(graced)
		return
	}
	m.unhealthy = true
}

func sickness(seen glance) string {
	switch {
	case gone(seen) || stopped(seen):
		return "an EC2 health check indicating it has been terminated or stopped"
	case seen.instance.Impaired:
		return "an EC2 instance status checks failure"
	case seen.sick:
		return "an ELB system health check failure"
	}
	return "a user health-check"
}

// out begins a member's way out. The caller holds the lock.
func (g *group) out(now time.Time, m *member, cause string) effect {
	m.leaving, m.state = true, types.LifecycleStateTerminating
	m.activity = g.begin(now, false, "Terminating EC2 instance: "+m.id, cause)
	m.activity.zone, m.activity.subnet = m.zone, m.subnet
	return func() {}
}

// leave takes a member out of the target groups and waits until its connections
// have ended, as long as it runs; then come the hooks.
func (p *pass) leave(m *member, seen glance) effect {
	drains := m.state == types.LifecycleStateTerminating && !gone(seen) && !stopped(seen)
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

// end terminates the instance, and forgets the member once it is gone.
func (p *pass) end(m *member, seen glance) effect {
	if seen.found && seen.instance.State != compute.InstanceStateNameTerminated {
		if m.killed {
			return nil // EC2 tells when it is gone
		}
		m.killed = true
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

// notTerminated notes why EC2 did not end an instance, and tries again later.
func (s *Service) notTerminated(g *group, m *member, err error) {
	g.region.mu.Lock()
	m.activity.message = sentence(err) + " Terminating EC2 instance failed."
	tell := s.told(g, m.activity, m.id, "EC2 Instance Terminate Unsuccessful", originGroup, originEC2)
	g.region.mu.Unlock()
	tell()
	s.env.Clock.AfterFunc(firstRetry, func() {
		go func() {
			g.region.mu.Lock()
			m.killed = false
			g.region.mu.Unlock()
			s.queue.post(g)
		}()
	})
}

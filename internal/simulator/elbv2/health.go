package elbv2

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	compute "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// refresh updates the health checks of the groups' targets after a change: targets of groups that
// are in use are checked at once and then periodically. It must be called without the lock.
func (s *Service) refresh(r *region, groups ...string) {
	r.mu.Lock()
	var targets []*target
	for _, arn := range groups {
		if g, ok := r.groups[arn]; ok {
			targets = append(targets, g.targets...)
		}
	}
	r.mu.Unlock()
	for _, t := range targets {
		state := compute.InstanceStateNameRunning
		if i, ok := s.options.Compute.Instance(r.Account, r.Region, t.machine); ok {
			state = i.State
		} else if t.machine != t.id || t.group.targetType == types.TargetTypeEnumInstance {
			state = compute.InstanceStateNameTerminated
		}
		r.mu.Lock()
		changed := s.updateState(t, state)
		r.mu.Unlock()
		if changed {
			s.notify(t)
		}
	}
}

// updateState moves a target between "unused" and being checked. It reports whether the target's
// state changed. The caller holds the lock.
func (s *Service) updateState(t *target, instance compute.InstanceStateName) bool {
	before := t.state
	users := t.group.users()
	switch {
	case t.state == types.TargetHealthStateEnumDraining:
	case instance != compute.InstanceStateNameRunning:
		t.stop()
		t.set(types.TargetHealthStateEnumUnused, types.TargetHealthReasonEnumInvalidState, stateText(instance))
	case len(users) == 0:
		t.stop()
		t.set(types.TargetHealthStateEnumUnused, types.TargetHealthReasonEnumNotInUse,
			"Target group is not configured to receive traffic from the load balancer")
	case t.zone != "" && !covers(users, t.zone):
		t.stop()
		t.set(types.TargetHealthStateEnumUnused, types.TargetHealthReasonEnumNotInUse,
			"Target is in an Availability Zone that is not enabled for the load balancer")
	case t.state == types.TargetHealthStateEnumUnused:
		s.observe(t)
	}
	return t.state != before
}

func covers(users []*balancer, name string) bool {
	for _, b := range users {
		for _, z := range b.zones {
			if z.name == name {
				return true
			}
		}
	}
	return false
}

// observe starts the checks of a target. Without machines there is nothing to check: a running
// instance is healthy.
func (s *Service) observe(t *target) {
	if !s.forwards() || !t.group.health.enabled {
		t.set(types.TargetHealthStateEnumHealthy, "", "")
		return
	}
	t.good, t.bad = 0, 0
	t.set(types.TargetHealthStateEnumInitial, types.TargetHealthReasonEnumInitialHealthChecking, "Initial health checks in progress")
	s.schedule(t, 0)
}

// schedule checks a target after a delay. The caller holds the lock.
func (s *Service) schedule(t *target, after time.Duration) {
	epoch := t.epoch
	run := func() { s.begin(func() { s.probing(t, epoch) }) }
	if s.ctx.Err() != nil {
		return
	}
	if after <= 0 {
		run()
		return
	}
	t.timer = s.env.Clock.AfterFunc(after, run)
}

// probe checks a target once and schedules the next check.
func (s *Service) probe(t *target, epoch int) {
	r := t.group.region
	r.mu.Lock()
	if t.epoch != epoch || s.ctx.Err() != nil {
		r.mu.Unlock()
		return
	}
	check, machine, port, sessions, users := t.group.health, t.machine, t.checkPort(), t.sessions, t.group.users()
	r.mu.Unlock()

	reason, text := types.TargetHealthReasonEnumTimeout, "Request timed out"
	if s.checked(users, t, port) {
		reason, text = s.ask(check, machine, port, sessions)
	}

	r.mu.Lock()
	if t.epoch != epoch {
		r.mu.Unlock()
		return
	}
	before := t.state
	t.judge(check, reason, text)
	s.schedule(t, s.until(t, check))
	changed := t.state != before
	r.mu.Unlock()
	if changed {
		s.notify(t)
	}
}

// until returns the time until a target's next check. Patience shortens the time to become healthy
// or unhealthy. A target that stays healthy is checked [steady] times less often than in AWS,
// because the targets of a thousand clusters would otherwise be checked hundreds of times a second.
// The end of an instance and a failed connection each trigger a check at once.
func (s *Service) until(t *target, c check) time.Duration {
	if s.options.Patience > 0 && t.state == types.TargetHealthStateEnumHealthy && t.good >= c.healthy {
		return steady * s.options.Patience
	}
	return bounded(time.Duration(c.interval)*time.Second, s.options.Patience)
}

// steady is the factor by which the interval of checks of healthy targets is longer.
const steady = 30

// leastTimeout is the minimum timeout of a check. A target shares the processors with the
// simulator, so a slow response is not a sign of failure.
const leastTimeout = 20 * time.Second

// recheck checks a healthy target at once. The caller holds the lock.
func (s *Service) recheck(t *target) {
	if t.timer == nil || t.state != types.TargetHealthStateEnumHealthy || !t.timer.Stop() {
		return // it is being checked, or has no checks
	}
	s.schedule(t, 0)
}

// judge counts a check's result. The first success makes a new target of an application load balancer
// healthy; otherwise the thresholds apply. Until then, the target is "initial".
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/target-group-health-checks.html
// https://docs.aws.amazon.com/elasticloadbalancing/latest/network/target-group-health-checks.html
func (t *target) judge(c check, reason types.TargetHealthReasonEnum, text string) {
	if reason == "" {
		t.good, t.bad = t.good+1, 0
		if t.good >= c.healthy || t.state == types.TargetHealthStateEnumInitial && layer7(t.group.protocol) {
			t.set(types.TargetHealthStateEnumHealthy, "", "")
		}
		return
	}
	t.good, t.bad = 0, t.bad+1
	if t.bad >= c.sick {
		closeAll(t.conns) // like target_health_state.unhealthy.connection_termination.enabled
		t.set(types.TargetHealthStateEnumUnhealthy, reason, text)
	}
}

// ask runs one health check; an empty reason means that it passed.
func (s *Service) ask(
	c check, machine string, port int, sessions tls.ClientSessionCache,
) (reason types.TargetHealthReasonEnum, text string) {
	ctx, cancel := context.WithTimeout(s.ctx, max(time.Duration(c.timeout)*time.Second, leastTimeout))
	defer cancel()
	conn, err := s.options.Host.Dial(ctx, machine, port)
	if err != nil {
		return failed(err)
	}
	defer func() { _ = conn.Close() }()
	if !layer7(c.protocol) {
		return "", ""
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	code, err := get(ctx, conn, c, sessions, net.JoinHostPort(machine, strconv.Itoa(port)))
	switch {
	case err != nil && ctx.Err() != nil:
		return types.TargetHealthReasonEnumTimeout, "Request timed out"
	case err != nil:
		return failed(err)
	case !matches(c.codes, code):
		return types.TargetHealthReasonEnumResponseCodeMismatch, fmt.Sprintf("Health checks failed with these codes: [%d]", code)
	}
	return "", ""
}

func failed(err error) (reason types.TargetHealthReasonEnum, text string) {
	if errors.Is(err, context.DeadlineExceeded) {
		return types.TargetHealthReasonEnumTimeout, "Request timed out"
	}
	return types.TargetHealthReasonEnumFailedHealthChecks, "Health checks failed"
}

// get requests the path of a health check and returns the status.
func get(ctx context.Context, conn net.Conn, c check, sessions tls.ClientSessionCache, host string) (int, error) {
	scheme := "http"
	if c.protocol == types.ProtocolEnumHttps {
		scheme = "https"
		// Resuming the last session with the cheapest curve reduces the cost of a check to a fifth.
		//nolint:gosec // load balancers do not verify the certificates of targets:
		// https://docs.aws.amazon.com/elasticloadbalancing/latest/network/target-group-health-checks.html
		conn = tls.Client(conn, &tls.Config{
			InsecureSkipVerify: true, ClientSessionCache: sessions, CurvePreferences: []tls.CurveID{tls.X25519, tls.CurveP256},
		})
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+host+c.path, http.NoBody)
	if err != nil {
		return 0, fmt.Errorf("making the health check: %w", err)
	}
	req.Header.Set("User-Agent", "ELB-HealthChecker/2.0")
	req.Close = true
	// A server writes session tickets before it reads the request. On an unbuffered connection,
	// such as a pipe, that write blocks until the client reads.
	sent := make(chan error, 1)
	go func() { sent <- req.Write(conn) }()
	answer, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil {
		_ = conn.Close()
		return 0, fmt.Errorf("asking for health: %w", errors.Join(<-sent, err))
	}
	_ = answer.Body.Close()
	return answer.StatusCode, <-sent
}

// matches reports whether a status is among the codes of a matcher: "200", "200,301", "200-399".
func matches(codes string, code int) bool {
	for part := range strings.SplitSeq(codes, ",") {
		low, high, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			high = low
		}
		from, err1 := strconv.Atoi(low)
		to, err2 := strconv.Atoi(high)
		if err1 == nil && err2 == nil && from <= code && code <= to {
			return true
		}
	}
	return false
}

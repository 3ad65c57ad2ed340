package elbv2

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	compute "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/simulator/ec2"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// target is a port of an instance or an address in a target group. Its region's lock guards it.
type target struct {
	group *targetGroup
	// id is the instance or the address; machine is the instance behind either.
	id, machine string
	port        int32
	zone        string
	state       types.TargetHealthStateEnum
	reason      types.TargetHealthReasonEnum
	description string
	// good and bad count consecutive checks with the same result.
	good, bad int32
	timer     clock.Timer
	// epoch identifies checks that started before the target was stopped.
	epoch int
	conns map[net.Conn]struct{}
	// sessions is the TLS session of the last check.
	sessions tls.ClientSessionCache
}

func (t *target) key() string { return t.id + ":" + strconv.Itoa(int(t.port)) }

func (t *target) set(state types.TargetHealthStateEnum, reason types.TargetHealthReasonEnum, description string) {
	t.state, t.reason, t.description = state, reason, description
}

// stop ends the checks of a target.
func (t *target) stop() {
	t.epoch++
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
}

func (s *Service) registerTargets(ctx context.Context, in *elb.RegisterTargetsInput) (*elb.RegisterTargetsOutput, error) {
	if len(in.Targets) == 0 {
		return nil, validation("At least one target must be specified")
	}
	return nil, s.register(s.at(ctx), deref(in.TargetGroupArn), in.Targets)
}

// register adds targets to a group.
func (s *Service) register(r *region, arn string, wanted []types.TargetDescription) error {
	r.mu.Lock()
	g, err := r.group(&arn)
	if err != nil {
		r.mu.Unlock()
		return err
	}
	kind, vpcID := g.targetType, g.vpcID
	r.mu.Unlock()
	targets := make([]*target, 0, len(wanted))
	for _, w := range wanted {
		t, err := s.newTarget(r, kind, vpcID, w)
		if err != nil {
			return err
		}
		targets = append(targets, t)
	}
	r.mu.Lock()
	g, err = r.group(&arn)
	if err != nil {
		r.mu.Unlock()
		return err
	}
	for _, t := range targets {
		t.group = g
		if t.port == 0 {
			t.port = g.port
		}
	}
	if err := s.checkTargets(g, targets, g.users()); err != nil {
		r.mu.Unlock()
		return err
	}
	for _, t := range targets {
		g.add(t)
	}
	r.mu.Unlock()
	s.refresh(r, arn)
	return nil
}

// add adds a target to its group. If the group has the target already and drains it, the
// deregistration is cancelled.
func (g *targetGroup) add(t *target) {
	i := slices.IndexFunc(g.targets, func(other *target) bool { return other.key() == t.key() })
	switch {
	case i < 0:
		g.targets = append(g.targets, t)
		g.region.machines[t.machine] = append(g.region.machines[t.machine], t)
	case g.targets[i].state == types.TargetHealthStateEnumDraining:
		g.targets[i].stop()
		g.targets[i].set(types.TargetHealthStateEnumUnused, "", "")
	}
}

// newTarget checks that the target exists.
func (s *Service) newTarget(r *region, kind types.TargetTypeEnum, vpcID string, w types.TargetDescription) (*target, error) {
	id := deref(w.Id)
	t := &target{id: id, machine: id, port: deref(w.Port), state: types.TargetHealthStateEnumUnused, conns: map[net.Conn]struct{}{}}
	t.sessions = tls.NewLRUClientSessionCache(1)
	if kind == types.TargetTypeEnumIp {
		address, err := netip.ParseAddr(id)
		if err != nil || !address.Is4() {
			return nil, validation("The IP address '%s' is not a valid IPv4 address", id)
		}
		if i, ok := s.options.Compute.ByAddress(vpcID, address); ok {
			t.machine, t.zone = i.ID, i.Zone
		}
		return t, nil
	}
	i, ok := s.options.Compute.Instance(r.Account, r.Region, id)
	switch {
	case !ok:
		return nil, wire.Errorf("InvalidTarget", "The instance ID '%s' is not valid", id)
	case i.VPCID != vpcID:
		return nil, wire.Errorf("InvalidTarget", "The following targets are not in the target group VPC '%s': '%s'", vpcID, id)
	case i.State != compute.InstanceStateNameRunning:
		return nil, wire.Errorf("InvalidTarget", "The following targets are not in a running state and cannot be registered: '%s'", id)
	}
	t.zone = i.Zone
	return t, nil
}

func (s *Service) deregisterTargets(ctx context.Context, in *elb.DeregisterTargetsInput) (*elb.DeregisterTargetsOutput, error) {
	return nil, s.deregister(s.at(ctx), deref(in.TargetGroupArn), in.Targets)
}

// deregister removes targets from a group: those without connections at once, the others when their
// connections have ended or the delay is over.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/edit-target-group-attributes.html#deregistration-delay
func (s *Service) deregister(r *region, arn string, leaving []types.TargetDescription) error {
	r.mu.Lock()
	g, err := r.group(&arn)
	if err != nil {
		r.mu.Unlock()
		return err
	}
	var drained []*target
	for _, w := range leaving {
		for _, t := range slices.Clone(g.targets) {
			if t.isNamed(w) {
				s.drain(t)
				drained = append(drained, t)
			}
		}
	}
	r.mu.Unlock()
	for _, t := range drained {
		s.notify(t)
	}
	return nil
}

// drain starts the deregistration of a target. The caller holds the lock.
func (s *Service) drain(t *target) {
	if t.state == types.TargetHealthStateEnumDraining {
		return
	}
	t.stop()
	if len(t.conns) == 0 {
		t.group.drop(t)
		return
	}
	t.set(types.TargetHealthStateEnumDraining, types.TargetHealthReasonEnumDeregistrationInProgress, "Target deregistration is in progress")
	r, epoch := t.group.region, t.epoch
	t.timer = s.env.Clock.AfterFunc(max(t.group.delay(s.options.Patience), time.Millisecond), func() {
		s.begin(func() {
			r.mu.Lock()
			over := t.epoch == epoch
			if over {
				t.group.drop(t)
				if t.group.attributes[terminatesAtEnd] == "true" {
					closeAll(t.conns)
				}
			}
			r.mu.Unlock()
			if over {
				s.notify(t)
			}
		})
	})
}

func (g *targetGroup) drop(t *target) {
	t.stop()
	is := func(other *target) bool { return other == t }
	g.targets = slices.DeleteFunc(g.targets, is)
	machines := g.region.machines
	if machines[t.machine] = slices.DeleteFunc(machines[t.machine], is); len(machines[t.machine]) == 0 {
		delete(machines, t.machine)
	}
}

func closeAll(conns map[net.Conn]struct{}) {
	for c := range conns {
		_ = c.Close()
	}
}

// instanceChanged updates the targets on an instance whose state changed. A terminated instance is
// removed from its target groups.
func (s *Service) instanceChanged(i ec2.Instance) {
	s.begin(func() {
		r := s.regions.At(wire.Target{Account: i.Account, Region: i.Region})
		affected := r.affected(i)
		for _, t := range affected {
			s.refresh(r, t.group.arn)
			s.notify(t)
		}
	})
}

// affected returns the targets on an instance, and removes them if the instance is terminated.
func (r *region) affected(i ec2.Instance) []*target {
	r.mu.Lock()
	defer r.mu.Unlock()
	targets := slices.Clone(r.machines[i.ID])
	for _, t := range targets {
		if i.State == compute.InstanceStateNameTerminated {
			t.group.drop(t)
			closeAll(t.conns)
		}
	}
	return targets
}

func (s *Service) describeTargetHealth(ctx context.Context, in *elb.DescribeTargetHealthInput) (*elb.DescribeTargetHealthOutput, error) {
	r := s.at(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	g, err := r.group(in.TargetGroupArn)
	if err != nil {
		return nil, err
	}
	out := &elb.DescribeTargetHealthOutput{TargetHealthDescriptions: []types.TargetHealthDescription{}}
	for _, t := range g.targets {
		if len(in.Targets) == 0 || slices.ContainsFunc(in.Targets, t.isNamed) {
			out.TargetHealthDescriptions = append(out.TargetHealthDescriptions, t.describe())
		}
	}
	for _, w := range in.Targets {
		if !slices.ContainsFunc(g.targets, func(t *target) bool { return t.isNamed(w) }) {
			out.TargetHealthDescriptions = append(out.TargetHealthDescriptions, types.TargetHealthDescription{
				Target: &w, TargetHealth: &types.TargetHealth{
					State: types.TargetHealthStateEnumUnused, Reason: types.TargetHealthReasonEnumNotRegistered,
					Description: aws.String("Target is not registered to the target group"),
				},
			})
		}
	}
	return out, nil
}

func (t *target) isNamed(w types.TargetDescription) bool {
	return t.id == deref(w.Id) && (w.Port == nil || *w.Port == t.port)
}

func (t *target) describe() types.TargetHealthDescription {
	out := types.TargetHealthDescription{
		Target:          &types.TargetDescription{Id: &t.id, Port: aws.Int32(t.port)},
		TargetHealth:    &types.TargetHealth{State: t.state, Reason: t.reason, Description: wire.Optional(t.description)},
		HealthCheckPort: aws.String(strconv.Itoa(t.checkPort())),
	}
	if t.group.targetType == types.TargetTypeEnumIp {
		out.Target.AvailabilityZone = wire.Optional(t.zone)
	}
	return out
}

func (t *target) checkPort() int {
	if n, err := strconv.Atoi(t.group.health.port); err == nil {
		return n
	}
	return int(t.port)
}

// stateText returns the health description of an instance that is not running.
func stateText(state compute.InstanceStateName) string {
	return fmt.Sprintf("Target is in the %s state", strings.ToLower(string(state)))
}

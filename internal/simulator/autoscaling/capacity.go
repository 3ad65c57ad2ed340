package autoscaling

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
)

func (s *Service) setDesiredCapacity(
	ctx context.Context, in *autoscaling.SetDesiredCapacityInput,
) (*autoscaling.SetDesiredCapacityOutput, error) {
	return nil, s.change(ctx, in.AutoScalingGroupName, func(g *group) error {
		n := int(deref(in.DesiredCapacity))
		switch {
		case in.DesiredCapacity == nil:
			return validation(
				"1 validation error detected: Value null at 'desiredCapacity' failed to satisfy constraint: Member must not be null",
			)
		case n < g.min:
			return validation("New SetDesiredCapacity value %d is below min value %d for the AutoScalingGroup.", n, g.min)
		case n > g.max:
			return validation("New SetDesiredCapacity value %d is above max value %d for the AutoScalingGroup.", n, g.max)
		}
		if n != g.desired {
			g.pendingCause = fmt.Sprintf(
				"%s a user request explicitly set group desired capacity changing the desired capacity from %d to %d.  ",
				at(s.now()),
				g.desired,
				n,
			)
		}
		g.desired = n
		g.retryNow()
		return nil
	})
}

func (s *Service) terminateInstance(
	ctx context.Context, in *autoscaling.TerminateInstanceInAutoScalingGroupInput,
) (*autoscaling.TerminateInstanceInAutoScalingGroupOutput, error) {
	var out types.Activity
	err := s.changeOwner(ctx, in.InstanceId, func(g *group, m *member) error {
		err := g.terminate(s.now(), m, deref(in.ShouldDecrementDesiredCapacity))
		if err == nil {
			out = m.activity.sdk(g)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &autoscaling.TerminateInstanceInAutoScalingGroupOutput{Activity: &out}, nil
}

// terminate starts to terminate a member at the user's request.
func (g *group) terminate(now time.Time, m *member, decrement bool) error {
	switch {
	case m.retained() && decrement:
		return validation(
			"Instance %s is retained and does not count towards the desired capacity, which cannot be decremented with it.", m.id,
		)
	case m.leaving && !m.retained():
		return validation("Instance %s is not in a state that permits termination.", m.id)
	case decrement && g.desired <= g.min:
		return validation(
			"Currently, desiredSize equals minSize (%d). Terminating instance without replacement will violate group's min size constraint. Either set shouldDecrementDesiredCapacity flag to false or lower group's min size.",
			g.min,
		)
	}
	tail := fmt.Sprintf("keeping the capacity at the current %d.", g.desired)
	if decrement {
		tail = fmt.Sprintf("shrinking the capacity from %d to %d.", g.desired, g.desired-1)
		g.desired--
	}
	g.out(now, m, fmt.Sprintf("%s instance %s was taken out of service in response to a user request, %s", at(now), m.id, tail))
	m.standby = false
	return nil
}

func (s *Service) setInstanceHealth(
	ctx context.Context, in *autoscaling.SetInstanceHealthInput,
) (*autoscaling.SetInstanceHealthOutput, error) {
	status := deref(in.HealthStatus)
	if !strings.EqualFold(status, "Healthy") && !strings.EqualFold(status, "Unhealthy") {
		return nil, validation("Value '%s' at 'healthStatus' failed to satisfy constraint: Valid values are Healthy and Unhealthy", status)
	}
	return nil, s.changeOwner(ctx, in.InstanceId, func(g *group, m *member) error {
		respected := in.ShouldRespectGracePeriod == nil || *in.ShouldRespectGracePeriod
		unhealthy := strings.EqualFold(status, "Unhealthy")
		if unhealthy && respected && !m.inService.IsZero() && s.now().Before(m.inService.Add(g.grace)) {
			return nil
		}
		m.unhealthy = unhealthy
		return nil
	})
}

func (s *Service) setInstanceProtection(
	ctx context.Context, in *autoscaling.SetInstanceProtectionInput,
) (*autoscaling.SetInstanceProtectionOutput, error) {
	return nil, s.change(ctx, in.AutoScalingGroupName, func(g *group) error {
		members, err := g.all(in.InstanceIds)
		if err != nil {
			return err
		}
		for _, m := range members {
			if m.retained() {
				return validation("The instance %s is not in InService or EnteringStandby or Standby.", m.id)
			}
			m.protected = deref(in.ProtectedFromScaleIn)
		}
		return nil
	})
}

// all returns the members with the IDs.
func (g *group) all(ids []string) ([]*member, error) {
	members := make([]*member, 0, len(ids))
	for _, id := range ids {
		m := g.member(id)
		if m == nil || id == "" {
			return nil, validation("The instance %s is not part of Auto Scaling group %s.", id, g.name)
		}
		members = append(members, m)
	}
	return members, nil
}

func (s *Service) enterStandby(ctx context.Context, in *autoscaling.EnterStandbyInput) (*autoscaling.EnterStandbyOutput, error) {
	out := &autoscaling.EnterStandbyOutput{}
	return out, s.change(ctx, in.AutoScalingGroupName, func(g *group) error {
		members, err := s.step(g, in.InstanceIds, deref(in.ShouldDecrementDesiredCapacity), "moved to standby")
		for _, m := range members {
			m.standby, m.state = true, types.LifecycleStateEnteringStandby
			m.activity = g.begin(s.now(), false, "Moving EC2 instance to Standby: "+m.id,
				fmt.Sprintf("%s instance %s was moved to standby in response to a user request.", at(s.now()), m.id))
			out.Activities = append(out.Activities, m.activity.sdk(g))
		}
		return err
	})
}

// step checks that members in service may leave it, and lowers the desired capacity on request.
func (s *Service) step(g *group, ids []string, decrement bool, what string) ([]*member, error) {
	members, err := g.all(ids)
	if err != nil {
		return nil, err
	}
	for _, m := range members {
		detachable := m.retained() && what == "detached" && !decrement
		if !detachable && (m.leaving || m.state != types.LifecycleStateInService && !m.standby) {
			return nil, validation("The instance %s is not in InService or Standby and cannot be %s.", m.id, what)
		}
	}
	if !decrement {
		return members, nil
	}
	if g.desired-len(members) < g.min {
		return nil, validation(
			"AutoScalingGroup %s has min-size=%d, max-size=%d, and desired-size=%d. To do this with decrement of the desired capacity, please reduce min size first.",
			g.name,
			g.min,
			g.max,
			g.desired,
		)
	}
	g.desired -= len(members)
	return members, nil
}

func (s *Service) exitStandby(ctx context.Context, in *autoscaling.ExitStandbyInput) (*autoscaling.ExitStandbyOutput, error) {
	out := &autoscaling.ExitStandbyOutput{}
	return out, s.change(ctx, in.AutoScalingGroupName, func(g *group) error {
		members, err := g.all(in.InstanceIds)
		if err != nil {
			return err
		}
		for _, m := range members {
			if m.state != types.LifecycleStateStandby {
				return validation("The instance %s is not in Standby.", m.id)
			}
		}
		if g.desired+len(members) > g.max {
			return validation(
				"AutoScalingGroup %s has max-size=%d; %d instances cannot be moved out of standby.", g.name, g.max, len(members),
			)
		}
		g.desired += len(members)
		for _, m := range members {
			m.standby, m.state = false, types.LifecycleStatePending
			m.activity = g.begin(s.now(), false, "Moving EC2 instance out of Standby: "+m.id,
				fmt.Sprintf("%s instance %s was moved out of standby in response to a user request.", at(s.now()), m.id))
			out.Activities = append(out.Activities, m.activity.sdk(g))
		}
		return nil
	})
}

func (s *Service) detachInstances(ctx context.Context, in *autoscaling.DetachInstancesInput) (*autoscaling.DetachInstancesOutput, error) {
	out := &autoscaling.DetachInstancesOutput{}
	return out, s.change(ctx, in.AutoScalingGroupName, func(g *group) error {
		members, err := s.step(g, in.InstanceIds, deref(in.ShouldDecrementDesiredCapacity), "detached")
		for _, m := range members {
			m.standby, m.leaving, m.state = false, true, types.LifecycleStateDetaching
			m.activity = g.begin(s.now(), false, "Detaching EC2 instance: "+m.id,
				fmt.Sprintf("%s instance %s was detached in response to a user request.", at(s.now()), m.id))
			out.Activities = append(out.Activities, m.activity.sdk(g))
		}
		return err
	})
}

func (s *Service) attachInstances(ctx context.Context, in *autoscaling.AttachInstancesInput) (*autoscaling.AttachInstancesOutput, error) {
	r := s.at(ctx)
	members := make([]*member, 0, len(in.InstanceIds))
	for _, id := range in.InstanceIds {
		instance, ok := s.options.Compute.Instance(r.Account, r.Region, id)
		if !ok || instance.State != "running" {
			return nil, validation("Invalid Instance ID(s): [%s] specified. The instance must exist and be in the 'running' state.", id)
		}
		if _, owned := s.owners.Load(id); owned {
			return nil, validation("Instance %s is already part of an Auto Scaling group.", id)
		}
		m := &member{state: types.LifecycleStatePending, launched: instance.Launched}
		m.take(instance)
		members = append(members, m)
	}
	return nil, s.change(ctx, in.AutoScalingGroupName, func(g *group) error {
		if g.desired+len(members) > g.max {
			return validation("AutoScalingGroup %s has max-size=%d; attaching %d instances would exceed it.", g.name, g.max, len(members))
		}
		g.desired += len(members)
		for _, m := range members {
			m.protected = g.protect
			m.activity = g.begin(
				s.now(),
				false,
				"Attaching an existing EC2 instance: "+m.id,
				fmt.Sprintf(
					"%s an instance was attached in response to a user request, increasing the capacity from %d to %d.",
					at(s.now()),
					g.active(),
					g.active()+1,
				),
			)
			g.members = append(g.members, m)
			s.owners.Store(m.id, g)
		}
		return nil
	})
}

// The processes that can be suspended.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/as-suspend-resume-processes.html
const (
	processLaunch            = "Launch"
	processTerminate         = "Terminate"
	processHealthCheck       = "HealthCheck"
	processReplaceUnhealthy  = "ReplaceUnhealthy"
	processAddToLoadBalancer = "AddToLoadBalancer"
)

var processes = []string{
	processAddToLoadBalancer, "AlarmNotification", "AZRebalance", processHealthCheck, "InstanceRefresh", processLaunch,
	processReplaceUnhealthy, "ScheduledActions", processTerminate,
}

func namedProcesses(names []string) ([]string, error) {
	if len(names) == 0 {
		return processes, nil
	}
	for _, name := range names {
		if !slices.Contains(processes, name) {
			return nil, validation("The process %s is not a valid process type.", name)
		}
	}
	return names, nil
}

func (s *Service) suspendProcesses(
	ctx context.Context, in *autoscaling.SuspendProcessesInput,
) (*autoscaling.SuspendProcessesOutput, error) {
	names, err := namedProcesses(in.ScalingProcesses)
	if err != nil {
		return nil, err
	}
	return nil, s.change(ctx, in.AutoScalingGroupName, func(g *group) error {
		for _, name := range names {
			g.suspend(name, s.now())
		}
		return nil
	})
}

func (s *Service) resumeProcesses(ctx context.Context, in *autoscaling.ResumeProcessesInput) (*autoscaling.ResumeProcessesOutput, error) {
	names, err := namedProcesses(in.ScalingProcesses)
	if err != nil {
		return nil, err
	}
	return nil, s.change(ctx, in.AutoScalingGroupName, func(g *group) error {
		for _, name := range names {
			delete(g.suspended, name)
		}
		g.retryNow()
		return nil
	})
}

func (s *Service) describeProcessTypes(
	context.Context, *autoscaling.DescribeScalingProcessTypesInput,
) (*autoscaling.DescribeScalingProcessTypesOutput, error) {
	out := &autoscaling.DescribeScalingProcessTypesOutput{}
	for _, name := range processes {
		out.Processes = append(out.Processes, types.ProcessType{ProcessName: &name})
	}
	return out, nil
}

func (s *Service) describeTerminationPolicyTypes(
	context.Context, *autoscaling.DescribeTerminationPolicyTypesInput,
) (*autoscaling.DescribeTerminationPolicyTypesOutput, error) {
	return &autoscaling.DescribeTerminationPolicyTypesOutput{TerminationPolicyTypes: policies}, nil
}

package autoscaling

import (
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	compute "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// An instance lifecycle policy retains an instance whose terminating hook was abandoned:
// explicitly, or by a default result of ABANDON at its timeout. The instance does not count towards
// the group's capacity. It stays until the user detaches it or calls
// TerminateInstanceInAutoScalingGroup, which runs the hooks again.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/instance-lifecycle-policy.html
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/manage-retained-instances.html

func checkRetention(p *types.InstanceLifecyclePolicy) error {
	if p == nil || p.RetentionTriggers == nil {
		return nil
	}
	switch p.RetentionTriggers.TerminateHookAbandon {
	case "", types.RetentionActionRetain, types.RetentionActionTerminate:
		return nil
	}
	return validation(
		"1 validation error detected: Value '%s' at 'instanceLifecyclePolicy.retentionTriggers.terminateHookAbandon' failed to satisfy constraint: "+
			"Member must satisfy enum value set: [retain, terminate]",
		p.RetentionTriggers.TerminateHookAbandon,
	)
}

// retains reports whether the group retains instances whose terminating hooks are abandoned.
func (s *settings) retains() bool {
	return s.lifecycle != nil && s.lifecycle.RetentionTriggers != nil &&
		s.lifecycle.RetentionTriggers.TerminateHookAbandon == types.RetentionActionRetain
}

func (m *member) retained() bool { return m.state == types.LifecycleStateTerminatingRetained }

// retain retains a member whose terminating hook was abandoned.
func (p *pass) retain(m *member) effect {
	m.state = types.LifecycleStateTerminatingRetained
	m.activity.finish(
		p.now, types.ScalingActivityStatusCodeCancelled, "Instance "+m.id+" was retained: its termination lifecycle action was abandoned.",
	)
	return func() {}
}

// keep keeps a retained member until EC2 has terminated its instance.
func (p *pass) keep(m *member, seen observation) effect {
	if seen.found && seen.instance.State != compute.InstanceStateNameTerminated {
		return nil
	}
	p.g.remove(m)
	p.s.owners.Delete(m.id)
	return func() {}
}

// retainedOnly reports whether all remaining members are retained.
func (g *group) retainedOnly() bool {
	for _, m := range g.members {
		if !m.retained() {
			return false
		}
	}
	return len(g.members) > 0
}

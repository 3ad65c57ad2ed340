package autoscaling

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/google/uuid"
)

// The transitions at which a hook holds an instance, and the results of a hook.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/lifecycle-hooks-overview.html
const (
	transitionLaunching   = "autoscaling:EC2_INSTANCE_LAUNCHING"
	transitionTerminating = "autoscaling:EC2_INSTANCE_TERMINATING"

	resultContinue = "CONTINUE"
	resultAbandon  = "ABANDON"

	defaultHeartbeat = 3600
	longestWait      = 48 * time.Hour
	maxHooks         = 50
)

// hook is a lifecycle hook of a group.
type hook struct {
	name, transition, result  string
	heartbeat                 int32
	metadata, target, roleARN *string
}

// wait is the hold of one instance by one hook.
type wait struct {
	hook            *hook
	token           string
	deadline, limit time.Time
	result          string
	// timedOut says that the action was not completed in time.
	timedOut bool
}

func (h *hook) sdk(g *group) types.LifecycleHook {
	limit := min(int64(h.heartbeat)*100, int64(longestWait/time.Second))
	return types.LifecycleHook{
		AutoScalingGroupName: &g.name, LifecycleHookName: &h.name, LifecycleTransition: &h.transition, DefaultResult: &h.result,
		HeartbeatTimeout: aws.Int32(h.heartbeat), GlobalTimeout: aws.Int32(int32(limit)), //nolint:gosec // at most 172,800
		NotificationMetadata: h.metadata, NotificationTargetARN: h.target, RoleARN: h.roleARN,
	}
}

// hold holds a member at a transition if it has hooks for that, or lets it pass.
func (p *pass) hold(m *member, seen observation, transition string, stop, proceed types.LifecycleState) effect {
	m.waits = nil
	for _, h := range p.g.hooks {
		if h.transition != transition || ended(seen) {
			continue
		}
		w := &wait{hook: h, token: uuid.NewString(), deadline: p.now.Add(time.Duration(h.heartbeat) * time.Second)}
		w.limit = p.now.Add(min(100*time.Duration(h.heartbeat)*time.Second, longestWait))
		m.waits = append(m.waits, w)
	}
	if len(m.waits) == 0 {
		m.state = proceed
		return func() {}
	}
	m.state = stop
	m.activity.code = types.ScalingActivityStatusCodeMidLifecycleAction
	return p.s.held(p.g, m)
}

// waiting lets a held member continue when its hooks are completed or timed out.
func (p *pass) waiting(m *member, seen observation) effect {
	launching := m.state == types.LifecycleStatePendingWait
	if !launching && ended(seen) { // the instance no longer exists
		m.waits, m.state = nil, types.LifecycleStateTerminatingProceed
		m.activity.code = types.ScalingActivityStatusCodeInProgress
		return func() {}
	}
	if launching && (ended(seen) || stopped(seen)) {
		return p.abort(
			m, "Instance became unhealthy while waiting for instance to be in InService state. Termination Reason: "+reason(seen),
		)
	}
	open := false
	for _, w := range m.waits {
		if end := earlier(w.deadline, w.limit); w.result == "" && !p.now.Before(end) {
			w.result, w.timedOut = w.hook.result, true
		} else if w.result == "" {
			p.until(end)
		}
		switch w.result {
		case "":
			open = true
		case resultAbandon:
			return p.abandon(m, w, launching)
		}
	}
	switch {
	case open:
		return nil
	case launching:
		m.state = types.LifecycleStatePendingProceed
	default:
		m.state = types.LifecycleStateTerminatingProceed
	}
	m.waits = nil
	m.activity.code = types.ScalingActivityStatusCodeInProgress
	return func() {}
}

// abandon ends the hold of a member regardless of other hooks: a launching instance is terminated,
// a terminating one continues to terminate.
func (p *pass) abandon(m *member, w *wait, launching bool) effect {
	m.waits = nil
	if !launching {
		if p.g.retains() {
			return p.retain(m)
		}
		m.state = types.LifecycleStateTerminatingProceed
		m.activity.code = types.ScalingActivityStatusCodeInProgress
		return func() {}
	}
	why := "Lifecycle Action Completed with ABANDON Result"
	if w.timedOut {
		why = "Heartbeat Timeout"
	}
	return p.abort(m, "Instance failed to complete user's Lifecycle Action: Lifecycle Action with token "+w.token+" was abandoned: "+why)
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func (s *Service) putLifecycleHook(
	ctx context.Context, in *autoscaling.PutLifecycleHookInput,
) (*autoscaling.PutLifecycleHookOutput, error) {
	return nil, s.change(ctx, in.AutoScalingGroupName, func(g *group) error {
		return g.putHook(types.LifecycleHookSpecification{
			LifecycleHookName: in.LifecycleHookName, LifecycleTransition: in.LifecycleTransition, DefaultResult: in.DefaultResult,
			HeartbeatTimeout: in.HeartbeatTimeout, NotificationMetadata: in.NotificationMetadata,
			NotificationTargetARN: in.NotificationTargetARN, RoleARN: in.RoleARN,
		})
	})
}

// putHook adds a hook, or changes the given parameters of an existing one. Instances that the hook
// already holds keep their timeout.
func (g *group) putHook(in types.LifecycleHookSpecification) error {
	h := &hook{name: deref(in.LifecycleHookName), heartbeat: defaultHeartbeat, result: resultAbandon}
	i := slices.IndexFunc(g.hooks, func(other *hook) bool { return other.name == h.name })
	if i >= 0 {
		*h = *g.hooks[i]
	}
	if in.LifecycleTransition != nil {
		h.transition = *in.LifecycleTransition
	}
	if in.DefaultResult != nil {
		h.result = *in.DefaultResult
	}
	if in.HeartbeatTimeout != nil {
		h.heartbeat = *in.HeartbeatTimeout
	}
	if in.NotificationMetadata != nil {
		h.metadata = in.NotificationMetadata
	}
	if deref(in.NotificationTargetARN) != "" {
		return unsupported("notification targets of lifecycle hooks: EventBridge has their events")
	}
	if err := h.check(); err != nil {
		return err
	}
	switch {
	case i >= 0:
		g.hooks[i] = h
	case len(g.hooks) >= maxHooks:
		return wireLimit("The limit of %d lifecycle hooks per Auto Scaling group is reached.", maxHooks)
	default:
		g.hooks = append(g.hooks, h)
	}
	return nil
}

func (h *hook) check() error {
	switch {
	case h.name == "":
		return validation(
			"1 validation error detected: Value null at 'lifecycleHookName' failed to satisfy constraint: Member must not be null",
		)
	case h.transition == "":
		return validation("LifecycleTransition must be specified for a new lifecycle hook.")
	case h.transition != transitionLaunching && h.transition != transitionTerminating:
		return validation(
			"Invalid Lifecycle Transition. Valid values are autoscaling:EC2_INSTANCE_LAUNCHING and autoscaling:EC2_INSTANCE_TERMINATING",
		)
	case h.result != resultContinue && h.result != resultAbandon:
		return validation("Invalid Lifecycle Action Result. Valid values are CONTINUE and ABANDON")
	case h.heartbeat < 30 || h.heartbeat > 7200:
		return validation("Heartbeat Timeout must be between 30 and 7200 seconds.")
	}
	return nil
}

func (s *Service) deleteLifecycleHook(
	ctx context.Context, in *autoscaling.DeleteLifecycleHookInput,
) (*autoscaling.DeleteLifecycleHookOutput, error) {
	return nil, s.change(ctx, in.AutoScalingGroupName, func(g *group) error { return g.deleteHook(deref(in.LifecycleHookName)) })
}

// deleteHook deletes a hook. The instances that it holds continue with its default result.
func (g *group) deleteHook(name string) error {
	i := slices.IndexFunc(g.hooks, func(h *hook) bool { return h.name == name })
	if i < 0 {
		return validation("No Lifecycle Hook found with name %s", name)
	}
	g.hooks = slices.Delete(g.hooks, i, i+1)
	for _, m := range g.members {
		for _, w := range m.waits {
			if w.hook.name == name && w.result == "" {
				w.result = w.hook.result
			}
		}
	}
	return nil
}

func (s *Service) describeLifecycleHooks(
	ctx context.Context, in *autoscaling.DescribeLifecycleHooksInput,
) (*autoscaling.DescribeLifecycleHooksOutput, error) {
	r := s.at(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	g, err := r.find(in.AutoScalingGroupName)
	if err != nil {
		return nil, err
	}
	out := &autoscaling.DescribeLifecycleHooksOutput{LifecycleHooks: []types.LifecycleHook{}}
	for _, h := range g.hooks {
		if len(in.LifecycleHookNames) == 0 || slices.Contains(in.LifecycleHookNames, h.name) {
			out.LifecycleHooks = append(out.LifecycleHooks, h.sdk(g))
		}
	}
	return out, nil
}

func (s *Service) describeLifecycleHookTypes(
	context.Context, *autoscaling.DescribeLifecycleHookTypesInput,
) (*autoscaling.DescribeLifecycleHookTypesOutput, error) {
	return &autoscaling.DescribeLifecycleHookTypesOutput{LifecycleHookTypes: []string{transitionLaunching, transitionTerminating}}, nil
}

// action returns the hold that a call names by token or by instance.
func (g *group) action(hookName, token, id *string) (*wait, error) {
	if deref(token) == "" && deref(id) == "" {
		return nil, validation("Either LifecycleActionToken or InstanceId must be specified.")
	}
	for _, m := range g.members {
		for _, w := range m.waits {
			named := w.hook.name == deref(hookName) && w.result == ""
			if named && (deref(token) == "" || w.token == *token) && (deref(id) == "" || m.id == *id) {
				return w, nil
			}
		}
	}
	if deref(token) != "" {
		return nil, validation("No active Lifecycle Action found with token %s", *token)
	}
	return nil, validation("No active Lifecycle Action found with instance ID %s", *id)
}

func (s *Service) completeLifecycleAction(
	ctx context.Context, in *autoscaling.CompleteLifecycleActionInput,
) (*autoscaling.CompleteLifecycleActionOutput, error) {
	result := strings.ToUpper(deref(in.LifecycleActionResult))
	if result != resultContinue && result != resultAbandon {
		return nil, validation("Invalid Lifecycle Action Result. Valid values are CONTINUE and ABANDON")
	}
	return nil, s.change(ctx, in.AutoScalingGroupName, func(g *group) error {
		w, err := g.action(in.LifecycleHookName, in.LifecycleActionToken, in.InstanceId)
		if err == nil {
			w.result = result
		}
		return err
	})
}

func (s *Service) recordHeartbeat(
	ctx context.Context, in *autoscaling.RecordLifecycleActionHeartbeatInput,
) (*autoscaling.RecordLifecycleActionHeartbeatOutput, error) {
	return nil, s.change(ctx, in.AutoScalingGroupName, func(g *group) error {
		w, err := g.action(in.LifecycleHookName, in.LifecycleActionToken, in.InstanceId)
		if err == nil {
			w.deadline = s.now().Add(time.Duration(w.hook.heartbeat) * time.Second)
		}
		return err
	})
}

package rollout

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/drain"
)

// do executes one action.
func (r *Roller) do(ctx context.Context, group *Group, w *seen, a *Action) error {
	api, name := r.options.AutoScaling(group.Target), group.AutoScalingGroup
	switch a.Kind {
	case Remember:
		r.change(group, func(past *recent) { past.stopped = a.Memory.Stopped })
		return named(putTag(ctx, api, name, TagMemory, a.Memory.encode(), false), "record the rollout on Auto Scaling group %s", name)
	case Forget:
		return named(dropTag(ctx, api, name, TagMemory), "remove the record of the rollout from Auto Scaling group %s", name)
	case KeepOff:
		return keepOff(ctx, api, name, w)
	case LetBack:
		return letBack(ctx, api, name, w)
	case SetCapacity:
		_, err := api.SetDesiredCapacity(ctx, &autoscaling.SetDesiredCapacityInput{
			AutoScalingGroupName: &name,
			DesiredCapacity:      aws.Int32(int32(a.Capacity)), //nolint:gosec // between the group's sizes, which are int32
		})
		return named(err, "set the capacity of Auto Scaling group %s to %d", name, a.Capacity)
	case Drain:
		r.change(group, func(past *recent) { past.validation = Validation{}; delete(past.cancelled, a.Instance) })
		r.options.Drains.Begin(drain.Order{
			Cluster: group.Cluster, Group: group.workerGroup(), Slot: group.Slot, Instance: a.Instance, Target: group.Target,
			Reason: drain.Rolling, Timeout: group.DrainTimeout, Policy: group.OnDrainTimeout,
		})
		return nil
	case CancelDrain:
		r.change(group, func(past *recent) { past.cancelled[a.Instance] = true })
		r.options.Drains.Cancel(a.Instance)
		return nil
	case Terminate:
		return r.terminate(ctx, api, group, a)
	case Release:
		r.release(group, w, a.Instance)
		return nil
	case Validate:
		return r.validate(ctx, group, w)
	default:
		return fmt.Errorf("unknown action %s", a.Kind)
	}
}

// HookDrain is the name of the lifecycle hook that holds terminating instances until they are
// drained.
const HookDrain = "drain"

// release completes the lifecycle action that holds an instance: at once if there is nothing to
// wait for, for example if it was drained before its termination, else when its node is empty. The
// only slot of a control plane takes the API with it, and with that any knowledge of pods.
func (r *Roller) release(group *Group, w *seen, instance string) {
	progress, known := r.options.Drains.Get(instance)
	drained := known && (progress.State == drain.Empty || progress.State == drain.TimedOut)
	r.options.Drains.Begin(drain.Order{
		Cluster: group.Cluster, Group: group.workerGroup(), Slot: group.Slot, Instance: instance, Target: group.Target,
		AutoScalingGroup: group.AutoScalingGroup, Hook: HookDrain, Reason: drain.Rolling, Timeout: group.DrainTimeout,
		AtOnce: group.CloudOnly || drained || group.Role == RoleControlPlane && w.Unreachable != "",
	})
	r.change(group, func(past *recent) { past.released[instance] = true })
}

func named(err error, what string, of ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(what+": %w", append(of, err)...)
}

// change modifies the in-memory state of a group.
func (r *Roller) change(group *Group, how func(*recent)) {
	past := r.recent(group)
	r.mu.Lock()
	defer r.mu.Unlock()
	how(past)
}

// workerGroup returns the instance group of a worker, empty for others.
func (g *Group) workerGroup() string {
	if g.Role == RoleWorker {
		return g.Name
	}
	return ""
}

func keepOff(ctx context.Context, api awsapi.AutoScaling, name string, w *seen) error {
	if err := HoldAutoscaler(ctx, api, name, w.tags); err != nil {
		return err
	}
	if len(w.Memory.Suspended) == 0 { // An empty list would suspend all processes.
		return nil
	}
	_, err := api.SuspendProcesses(
		ctx, &autoscaling.SuspendProcessesInput{AutoScalingGroupName: &name, ScalingProcesses: w.Memory.Suspended},
	)
	return named(err, "suspend processes of Auto Scaling group %s", name)
}

func letBack(ctx context.Context, api awsapi.AutoScaling, name string, w *seen) error {
	if err := ReleaseAutoscaler(ctx, api, name, w.tags); err != nil {
		return err
	}
	if len(w.Memory.Suspended) == 0 {
		return nil
	}
	_, err := api.ResumeProcesses(ctx, &autoscaling.ResumeProcessesInput{AutoScalingGroupName: &name, ScalingProcesses: w.Memory.Suspended})
	return named(err, "resume processes of Auto Scaling group %s", name)
}

// terminate terminates an instance. An instance that is already terminating is no error.
func (r *Roller) terminate(ctx context.Context, api awsapi.AutoScaling, group *Group, a *Action) error {
	_, err := api.TerminateInstanceInAutoScalingGroup(ctx, &autoscaling.TerminateInstanceInAutoScalingGroupInput{
		InstanceId: &a.Instance, ShouldDecrementDesiredCapacity: &a.Shrink,
	})
	if err != nil {
		return fmt.Errorf("terminate instance %s of Auto Scaling group %s: %w", a.Instance, group.AutoScalingGroup, err)
	}
	r.change(group, func(past *recent) {
		past.validation = Validation{}
		past.ended[a.Instance] = r.options.Clock.Now()
	})
	return nil
}

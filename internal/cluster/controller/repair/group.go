package repair

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	astypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/conditions"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/rollout"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

const (
	// ReasonVolumeLost is the reason of a slot whose etcd volume is lost.
	ReasonVolumeLost = "EtcdVolumeLost"

	reasonTooManyUnhealthy = "TooManyUnhealthy"
	reasonReplacingNodes   = "ReplacingNodes"
)

// Group is an InstanceGroup to repair.
type Group struct {
	Object *v1alpha1.InstanceGroup
	Target awsapi.Target
	// Filters find the group's Auto Scaling group.
	Filters []astypes.Filter
	// Connection is that of the group's cluster.
	Connection *workload.Cluster
}

// Group replaces the group's unhealthy instances and those that never joined, unless too many are
// unhealthy. It returns the delay until the next check, zero for none.
func (r *Repairs) Group(ctx context.Context, of Group) (time.Duration, error) {
	group := of.Object
	reachable, _ := of.Connection.Reachable()
	if group.Spec.Repair.Disabled || !reachable || record.IsRolling(group.Status.Rollout) || !record.IsSettled(group.Status.Stack) ||
		group.Status.AutoScalingGroup == "" {
		return 0, nil
	}
	now := r.options.Clock.Now()
	after := TimeOf(&group.Spec.Repair)
	nodes := workload.InGroup(of.Connection.Nodes(), group.Name)
	lacking, wait, err := r.lacking(ctx, of, len(nodes))
	if err != nil {
		return 0, err
	}
	machines := append(r.tracker.healthOf(nodes), lacking...)
	plan := planRepair(machines, after, repairLimit(group.Spec.Repair.MaxUnhealthy, len(machines)), now)
	if plan.held {
		r.tooManyUnhealthy(group, &plan)
		return wait, nil
	}
	r.tracker.isNews(group.UID, "") // Report the limit again when it is next exceeded.
	successor := delayRepair(group, &plan, machines, now)
	for i := range plan.replace {
		if err := r.replace(ctx, of.Target, &plan.replace[i]); err != nil {
			return 0, err
		}
	}
	if len(plan.replace) > 0 {
		if group.Status.Repair == nil || successor {
			count := countRepair(group.Status.Repair, after, now)
			group.Status.Repair = &count
		}
		r.options.Recorder.Eventf(group, nil, corev1.EventTypeWarning, reasonReplacingNodes, "Repair", "%s",
			fmt.Sprintf("Replacing nodes that have been unhealthy for %s: %s.", after, nodesNamed(plan.replace)))
	}
	return earlier(plan.again, wait), nil
}

// earlier returns the shorter of two delays, of which zero stands for none.
func earlier(a, b time.Duration) time.Duration {
	if a <= 0 || b > 0 && b < a {
		return b
	}
	return a
}

// delayRepair removes from the plan the instances whose replacement must wait: those started after
// the last replacement, which evidently did not help. Older instances are unrelated to it and
// replaced without delay. Successor reports whether the plan still contains an instance that
// started after the last replacement. The count resets when all nodes are healthy.
func delayRepair(group *v1alpha1.InstanceGroup, plan *repairPlan, machines []health, now time.Time) (successor bool) {
	count := group.Status.Repair
	if count == nil {
		return false
	}
	if plan.unwell == 0 &&
		!slices.ContainsFunc(machines, func(h health) bool { return h.since.After(count.LastTime.Time) && !helped(count, h.since, now) }) {
		group.Status.Repair = nil
		return false
	}
	isSuccessor := func(h health) bool { return h.began.After(count.LastTime.Time) }
	wait := repairDelay(count, now)
	if wait == 0 {
		return slices.ContainsFunc(plan.replace, isSuccessor)
	}
	var delayed, due []health
	for _, one := range plan.replace {
		if isSuccessor(one) {
			delayed = append(delayed, one)
		} else {
			due = append(due, one)
		}
	}
	if len(delayed) == 0 {
		return false
	}
	plan.replace = due
	if plan.again == 0 || wait < plan.again {
		plan.again = wait
	}
	operatorkit.SetCondition(group, metav1.Condition{
		Type: conditions.Nodes, Status: metav1.ConditionFalse, Reason: reasonRepairDelayed,
		Message: fmt.Sprintf("%s %s", repairSentence("An unhealthy node", count), "Unhealthy now: "+nodesNamed(delayed)+"."),
	})
	return false
}

// tooManyUnhealthy reports in a condition, and once in an Event, why no instance is replaced.
func (r *Repairs) tooManyUnhealthy(group *v1alpha1.InstanceGroup, plan *repairPlan) {
	operatorkit.SetCondition(
		group,
		metav1.Condition{Type: conditions.Nodes, Status: metav1.ConditionFalse, Reason: reasonTooManyUnhealthy, Message: plan.sentence()},
	)
	if !r.tracker.isNews(group.UID, plan.sentence()) {
		return
	}
	r.options.Recorder.Eventf(group, nil, corev1.EventTypeWarning, reasonTooManyUnhealthy, "Repair", "%s", plan.sentence())
}

// lacking returns the instances of a group that are in service and have no node. While EC2 does not
// say which instances nodes run on, none of those that nodes claim is among them. It asks AWS at
// intervals while the group has fewer nodes than its minimum or a sweep found such an instance.
// Wait is the delay until the next request.
func (r *Repairs) lacking(
	ctx context.Context, of Group, nodes int,
) (machines []health, wait time.Duration, err error) {
	group, connection := of.Object, of.Connection
	now := r.options.Clock.Now()
	known, ago, hinted := r.tracker.lacking(group.UID, now)
	if nodes >= int(group.Spec.ExpectedNodes()) && !hinted && len(known) == 0 {
		return nil, 0, nil
	}
	if wait := stillNew(group, now); wait > 0 {
		return nil, wait, nil
	}
	pause := min(missingPoll, TimeOf(&group.Spec.Repair))
	if ago < pause {
		known = slices.DeleteFunc(known, func(h health) bool { return connection.MayHaveNode(h.instance) })
		return known, pause - ago, nil
	}
	ids, err := r.inService(ctx, of.Target, &autoscaling.DescribeAutoScalingGroupsInput{Filters: of.Filters})
	if err != nil {
		return nil, 0, err
	}
	ids = slices.DeleteFunc(ids, connection.MayHaveNode)
	machines, err = r.launched(ctx, of.Target, ids)
	if err != nil {
		return nil, 0, err
	}
	r.tracker.asked(group.UID, machines, now)
	if nodes >= int(group.Spec.ExpectedNodes()) && len(machines) == 0 {
		return nil, 0, nil
	}
	return machines, pause, nil
}

// stillNew returns how long the group's instances are still too new to be replaced, 0 if they are
// not: those of a new stack are younger than the stack.
func stillNew(group *v1alpha1.InstanceGroup, now time.Time) time.Duration {
	known, err := record.Decode(group.Status.Stack)
	if err != nil || known.Status != record.StatusCreated || known.StartedAt == nil {
		return 0
	}
	return known.StartedAt.Add(TimeOf(&group.Spec.Repair)).Sub(now)
}

// ReplaceTerminated replaces new instances that terminated while CloudFormation waits for the signals of
// a rolling update, during which it suspends Auto Scaling's own replacements. The signals of their
// replacements count. An instance that was already signaled for is left until the update ends,
// since CloudFormation would count its replacement's signal for an instance that is not ready. Some
// of the named instances may be healthy.
// https://repost.aws/knowledge-center/auto-scaling-group-rolling-updates
func (r *Repairs) ReplaceTerminated(
	ctx context.Context,
	group *v1alpha1.InstanceGroup,
	target awsapi.Target,
	found *astypes.AutoScalingGroup,
	named []string,
	signalled func(instance string) bool,
) error {
	if len(named) == 0 {
		return nil
	}
	outdated, err := rollout.Outdated(ctx, r.options.Clients.EC2(target), found)
	if err != nil {
		return err //nolint:wrapcheck // the error names the call
	}
	var waitedFor []string
	for i := range found.Instances {
		one := &found.Instances[i]
		id := aws.ToString(one.InstanceId)
		leaves := strings.HasPrefix(string(one.LifecycleState), "Terminat")
		if slices.Contains(named, id) && !slices.Contains(outdated, id) && !signalled(id) && !leaves {
			waitedFor = append(waitedFor, id)
		}
	}
	dead, err := r.ended(ctx, target, waitedFor)
	if err != nil {
		return err
	}
	for _, id := range dead {
		if err := r.replace(ctx, target, &health{instance: id}); err != nil {
			return err
		}
		r.options.Recorder.Eventf(group, nil, corev1.EventTypeWarning, reasonReplacingNodes, "Repair", "%s",
			fmt.Sprintf("New instance %s terminated while the group's instances are being replaced. A replacement is launched.", id))
	}
	r.tracker.forgetTerminated(group.UID, named)
	return nil
}

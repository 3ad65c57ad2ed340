package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	astypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/awsevents"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/rollout"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

const (
	reasonTooManyUnhealthy = "TooManyUnhealthy"
	reasonReplacingNodes   = "ReplacingNodes"
	// askAgain is how long what AWS said of machines without nodes is taken for true while a group lacks nodes.
	askAgain = 2 * time.Minute
)

// repair replaces the group's nodes that are not well, and machines that never became nodes, unless too many are. Outcome is that of the
// group's nodes; it is returned with the time when another look is due.
func (o *operator) repair(ctx context.Context, group *v1alpha1.InstanceGroup, connection *workload.Cluster, outcome operatorkit.Outcome) operatorkit.Outcome {
	stack := model.GroupStackName(group.Spec.Cluster, group.Name)
	reachable, _ := connection.Reachable()
	if group.Spec.Repair.Disabled || !reachable || isRolling(group.Status.Rollout) || !isSettled(group.Status.Stack) || group.Status.AutoScalingGroup == "" {
		return outcome
	}
	cluster, err := o.clusterOf(ctx, group)
	if err != nil || cluster == nil {
		return outcome
	}
	now := o.options.Clock.Now()
	after := repairTime(&group.Spec.Repair)
	nodes := inGroup(connection.Nodes(), group.Name)
	lacking, wait, err := o.lacking(ctx, cluster, group, stack, connection, len(nodes))
	if err != nil {
		return failed(err)
	}
	machines := append(o.repairs.healthOf(nodes), lacking...)
	plan := planRepair(machines, after, repairLimit(group.Spec.Repair.MaxUnhealthy, len(machines)), now)
	if plan.held {
		o.tooManyUnhealthy(group, &plan)
		return sooner(outcome, wait)
	}
	o.repairs.isNews(group.UID, "") // It is told again.
	successor := delayRepair(group, &plan, machines, now)
	for i := range plan.replace {
		if err := o.replace(ctx, o.target(cluster), &plan.replace[i]); err != nil {
			return failed(err)
		}
	}
	if len(plan.replace) > 0 {
		if group.Status.Repair == nil || successor {
			count := countRepair(group.Status.Repair, after, now)
			group.Status.Repair = &count
		}
		o.recorder.Eventf(group, nil, corev1.EventTypeWarning, reasonReplacingNodes, "Repair", "%s",
			fmt.Sprintf("Replacing what has not been well for %s: %s.", after, nodesNamed(plan.replace)))
	}
	return sooner(sooner(outcome, plan.again), wait)
}

// delayRepair takes out of the plan what has to wait for its replacement: machines that began after the last replacement, which did not
// help, as far as is known. What was there before is not related to it and is replaced as ever. Successor reports whether the plan still
// has one that began after the last replacement. The count starts over when all nodes are well.
func delayRepair(group *v1alpha1.InstanceGroup, plan *repairPlan, machines []health, now time.Time) (successor bool) {
	count := group.Status.Repair
	if count == nil {
		return false
	}
	if plan.unwell == 0 && !slices.ContainsFunc(machines, func(h health) bool { return h.since.After(count.LastTime.Time) && !helped(count, h.since, now) }) {
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
		Type: conditionNodes, Status: metav1.ConditionFalse, Reason: reasonRepairDelayed,
		Message: fmt.Sprintf("%s %s", repairSentence("What was not well", count), "Not well now: "+nodesNamed(delayed)+"."),
	})
	return false
}

// isSettled reports whether nothing is being done to a stack.
func isSettled(status *v1alpha1.StackStatus) bool {
	return status != nil && strings.HasSuffix(status.Status, "_COMPLETE")
}

// tooManyUnhealthy says why nothing is replaced, in a condition, and once in an Event.
func (o *operator) tooManyUnhealthy(group *v1alpha1.InstanceGroup, plan *repairPlan) {
	operatorkit.SetCondition(group, metav1.Condition{Type: conditionNodes, Status: metav1.ConditionFalse, Reason: reasonTooManyUnhealthy, Message: plan.sentence()})
	if !o.repairs.isNews(group.UID, plan.sentence()) {
		return
	}
	o.recorder.Eventf(group, nil, corev1.EventTypeWarning, reasonTooManyUnhealthy, "Repair", "%s", plan.sentence())
}

// lacking returns the machines of a group that are in service and have no node. AWS is asked when the group has fewer nodes than it must
// have or a sweep found such a machine, now and then. Wait is when to ask again.
func (o *operator) lacking(
	ctx context.Context, cluster *v1alpha1.Cluster, group *v1alpha1.InstanceGroup, stack string, connection *workload.Cluster, nodes int,
) (machines []health, wait time.Duration, err error) {
	now := o.options.Clock.Now()
	known, ago, hinted := o.repairs.lacking(stack, now)
	if nodes >= int(group.Spec.MinSize) && !hinted && len(known) == 0 {
		return nil, 0, nil
	}
	if wait := stillNew(group, now); wait > 0 {
		return nil, wait, nil
	}
	pause := min(askAgain, repairTime(&group.Spec.Repair))
	if ago < pause {
		known = slices.DeleteFunc(known, func(h health) bool { _, ok := connection.NodeOf(h.instance); return ok })
		return known, pause - ago, nil
	}
	ids, err := o.inService(ctx, o.target(cluster), &autoscaling.DescribeAutoScalingGroupsInput{Filters: o.scalingGroupFilters(group)})
	if err != nil {
		return nil, 0, err
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { _, ok := connection.NodeOf(id); return ok })
	machines, err = o.launched(ctx, o.target(cluster), ids)
	if err != nil {
		return nil, 0, err
	}
	o.repairs.asked(stack, machines, now)
	if nodes >= int(group.Spec.MinSize) && len(machines) == 0 {
		return nil, 0, nil
	}
	return machines, pause, nil
}

// stillNew returns how long the group's machines are still too new to be replaced, 0 if they are not: those of a stack that was just made
// are younger than it.
func stillNew(group *v1alpha1.InstanceGroup, now time.Time) time.Duration {
	known, err := recall(group.Status.Stack)
	if err != nil || known.Status != statusCreated || known.StartedAt == nil {
		return 0
	}
	return known.StartedAt.Add(repairTime(&group.Spec.Repair)).Sub(now)
}

// inService returns the instances of Auto Scaling groups that are in service.
func (o *operator) inService(ctx context.Context, target awsapi.Target, which *autoscaling.DescribeAutoScalingGroupsInput) ([]string, error) {
	out, err := o.options.Clients.AutoScaling(target).DescribeAutoScalingGroups(ctx, which)
	if err != nil {
		return nil, fmt.Errorf("look at Auto Scaling groups: %w", err)
	}
	var ids []string
	for i := range out.AutoScalingGroups {
		for _, one := range out.AutoScalingGroups[i].Instances {
			if one.LifecycleState == astypes.LifecycleStateInService {
				ids = append(ids, aws.ToString(one.InstanceId))
			}
		}
	}
	return ids, nil
}

// launched returns machines without nodes, and since when they have run.
func (o *operator) launched(ctx context.Context, target awsapi.Target, ids []string) ([]health, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	out, err := o.options.Clients.EC2(target).DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: ids})
	if awsapi.Code(err) == "InvalidInstanceID.NotFound" {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look at instances: %w", err)
	}
	var machines []health
	for i := range out.Reservations {
		for j := range out.Reservations[i].Instances {
			instance := &out.Reservations[i].Instances[j]
			id := aws.ToString(instance.InstanceId)
			machines = append(machines, health{instance: id, since: aws.ToTime(instance.LaunchTime), began: aws.ToTime(instance.LaunchTime), replacing: o.repairs.isReplacing(id)})
		}
	}
	return machines, nil
}

// replace has Auto Scaling end a machine and launch another in its place: its hook holds it until its node is drained. One that is in no
// group any more is left to whatever took it out.
// https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_TerminateInstanceInAutoScalingGroup.html
func (o *operator) replace(ctx context.Context, target awsapi.Target, machine *health) error {
	if machine.instance == "" {
		return nil
	}
	_, err := o.options.Clients.AutoScaling(target).TerminateInstanceInAutoScalingGroup(ctx, &autoscaling.TerminateInstanceInAutoScalingGroupInput{
		InstanceId: aws.String(machine.instance), ShouldDecrementDesiredCapacity: aws.Bool(false),
	})
	if err != nil && awsapi.Code(err) != "ValidationError" {
		return fmt.Errorf("replace instance %s: %w", machine.instance, err)
	}
	o.repairs.replaced(machine.instance, o.options.Clock.Now())
	return nil
}

// replaceDead replaces new machines that ended while CloudFormation waits for the signals of a roll, for which it keeps Auto Scaling from
// doing so: the signals of those in their place count. One that was signalled for is left until the roll is over, since another's signal
// would then be taken for that of a machine that is not ready. Some of those named may be well.
// https://repost.aws/knowledge-center/auto-scaling-group-rolling-updates
func (o *operator) replaceDead(
	ctx context.Context, group *v1alpha1.InstanceGroup, target awsapi.Target, known *remembered, found *astypes.AutoScalingGroup, named []string,
) error {
	outdated, err := rollout.Outdated(ctx, o.options.Clients.EC2(target), found)
	if err != nil {
		return err //nolint:wrapcheck // it says what was asked
	}
	var waitedFor []string
	for i := range found.Instances {
		one := &found.Instances[i]
		id := aws.ToString(one.InstanceId)
		_, signalled := o.signals.get(signalled{group.UID, known.Record.Token, id, false})
		leaves := strings.HasPrefix(string(one.LifecycleState), "Terminat")
		if slices.Contains(named, id) && !slices.Contains(outdated, id) && !signalled && !leaves {
			waitedFor = append(waitedFor, id)
		}
	}
	dead, err := o.ended(ctx, target, waitedFor)
	if err != nil {
		return err
	}
	for _, id := range dead {
		if err := o.replace(ctx, target, &health{instance: id}); err != nil {
			return err
		}
		o.recorder.Eventf(group, nil, corev1.EventTypeWarning, reasonReplacingNodes, "Repair", "%s",
			fmt.Sprintf("New machine %s ended while the group's machines are replaced; another is launched in its place.", id))
	}
	o.repairs.mourned(group.UID, named)
	return nil
}

// ended returns those of the instances that end, or have ended.
func (o *operator) ended(ctx context.Context, target awsapi.Target, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	out, err := o.options.Clients.EC2(target).DescribeInstances(ctx, &ec2.DescribeInstancesInput{Filters: []ec2types.Filter{
		{Name: aws.String("instance-id"), Values: ids},
		{Name: aws.String("instance-state-name"), Values: []string{"shutting-down", "terminated", "stopping", "stopped"}},
	}})
	if err != nil {
		return nil, fmt.Errorf("look at instances: %w", err)
	}
	var ended []string
	for i := range out.Reservations {
		for j := range out.Reservations[i].Instances {
			ended = append(ended, aws.ToString(out.Reservations[i].Instances[j].InstanceId))
		}
	}
	return ended, nil
}

// expectNode looks at a group of which a sweep found a machine in service that has no node.
func (o *operator) expectNode(e awsevents.Event) {
	stack := stackOfGroup(e.Instance.Group)
	if stack == "" {
		return
	}
	if _, _, ok := o.options.Workload.NodeOf(e.Instance.ID); ok {
		return
	}
	for _, owner := range o.ownersOf(e, stack) {
		if owner.group && o.repairs.hint(stack) {
			o.groups.Enqueue(owner.key)
		}
	}
}

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
	"github.com/aws-operator/aws-operator/internal/cluster/controller/conditions"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/rollout"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

const (
	reasonTooManyUnhealthy = "TooManyUnhealthy"
	reasonReplacingNodes   = "ReplacingNodes"
	// missingPoll is how long the operator relies on AWS's last report of instances without nodes
	// while a group lacks nodes.
	missingPoll = 2 * time.Minute
)

// repair replaces the group's unhealthy instances and those that never joined, unless too many are
// unhealthy. It returns the given outcome of the group's nodes with the time of the next check.
func (o *operator) repair(
	ctx context.Context,
	group *v1alpha1.InstanceGroup,
	connection *workload.Cluster,
	outcome operatorkit.Outcome,
) operatorkit.Outcome {
	stack := model.GroupStackName(group.Spec.Cluster, group.Name)
	reachable, _ := connection.Reachable()
	if group.Spec.Repair.Disabled || !reachable || record.IsRolling(group.Status.Rollout) || !record.IsSettled(group.Status.Stack) ||
		group.Status.AutoScalingGroup == "" {
		return outcome
	}
	cluster, err := o.clusterOf(ctx, group)
	if err != nil || cluster == nil {
		return outcome
	}
	now := o.options.Clock.Now()
	after := repairTime(&group.Spec.Repair)
	nodes := workload.InGroup(connection.Nodes(), group.Name)
	lacking, wait, err := o.lacking(ctx, cluster, group, stack, connection, len(nodes))
	if err != nil {
		return outcomes.Failed(err)
	}
	machines := append(o.repairs.healthOf(nodes), lacking...)
	plan := planRepair(machines, after, repairLimit(group.Spec.Repair.MaxUnhealthy, len(machines)), now)
	if plan.held {
		o.tooManyUnhealthy(group, &plan)
		return outcomes.RequeueAfterMin(outcome, wait)
	}
	o.repairs.isNews(group.UID, "") // Report the limit again when it is next exceeded.
	successor := delayRepair(group, &plan, machines, now)
	for i := range plan.replace {
		if err := o.replace(ctx, o.target(cluster), &plan.replace[i]); err != nil {
			return outcomes.Failed(err)
		}
	}
	if len(plan.replace) > 0 {
		if group.Status.Repair == nil || successor {
			count := countRepair(group.Status.Repair, after, now)
			group.Status.Repair = &count
		}
		o.recorder.Eventf(group, nil, corev1.EventTypeWarning, reasonReplacingNodes, "Repair", "%s",
			fmt.Sprintf("Replacing nodes that have been unhealthy for %s: %s.", after, nodesNamed(plan.replace)))
	}
	return outcomes.RequeueAfterMin(outcomes.RequeueAfterMin(outcome, plan.again), wait)
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
func (o *operator) tooManyUnhealthy(group *v1alpha1.InstanceGroup, plan *repairPlan) {
	operatorkit.SetCondition(
		group,
		metav1.Condition{Type: conditions.Nodes, Status: metav1.ConditionFalse, Reason: reasonTooManyUnhealthy, Message: plan.sentence()},
	)
	if !o.repairs.isNews(group.UID, plan.sentence()) {
		return
	}
	o.recorder.Eventf(group, nil, corev1.EventTypeWarning, reasonTooManyUnhealthy, "Repair", "%s", plan.sentence())
}

// lacking returns the instances of a group that are in service and have no node. It asks AWS at
// intervals while the group has fewer nodes than its minimum or a sweep found such an instance.
// Wait is the delay until the next request.
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
	pause := min(missingPoll, repairTime(&group.Spec.Repair))
	if ago < pause {
		known = slices.DeleteFunc(known, func(h health) bool { _, ok := connection.NodeOf(h.instance); return ok })
		return known, pause - ago, nil
	}
	ids, err := o.inService(ctx, o.target(cluster), &autoscaling.DescribeAutoScalingGroupsInput{Filters: o.owner.ScalingGroupFilters(group)})
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

// stillNew returns how long the group's instances are still too new to be replaced, 0 if they are
// not: those of a new stack are younger than the stack.
func stillNew(group *v1alpha1.InstanceGroup, now time.Time) time.Duration {
	known, err := record.Decode(group.Status.Stack)
	if err != nil || known.Status != record.StatusCreated || known.StartedAt == nil {
		return 0
	}
	return known.StartedAt.Add(repairTime(&group.Spec.Repair)).Sub(now)
}

// inService returns the in-service instances of Auto Scaling groups.
func (o *operator) inService(
	ctx context.Context,
	target awsapi.Target,
	which *autoscaling.DescribeAutoScalingGroupsInput,
) ([]string, error) {
	out, err := o.options.Clients.AutoScaling(target).DescribeAutoScalingGroups(ctx, which)
	if err != nil {
		return nil, fmt.Errorf("describe Auto Scaling groups: %w", err)
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

// launched returns the health of instances without nodes, with their launch times.
func (o *operator) launched(ctx context.Context, target awsapi.Target, ids []string) ([]health, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	out, err := o.options.Clients.EC2(target).DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: ids})
	if awsapi.Code(err) == "InvalidInstanceID.NotFound" {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("describe instances: %w", err)
	}
	var machines []health
	for i := range out.Reservations {
		for j := range out.Reservations[i].Instances {
			instance := &out.Reservations[i].Instances[j]
			id := aws.ToString(instance.InstanceId)
			machines = append(
				machines,
				health{
					instance:  id,
					since:     aws.ToTime(instance.LaunchTime),
					began:     aws.ToTime(instance.LaunchTime),
					replacing: o.repairs.isReplacing(id),
				},
			)
		}
	}
	return machines, nil
}

// replace makes Auto Scaling terminate an instance and launch another: the lifecycle hook holds the
// instance until its node is drained. An instance that is no longer in a group is ignored.
// https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_TerminateInstanceInAutoScalingGroup.html
func (o *operator) replace(ctx context.Context, target awsapi.Target, machine *health) error {
	if machine.instance == "" {
		return nil
	}
	_, err := o.options.Clients.AutoScaling(target).
		TerminateInstanceInAutoScalingGroup(ctx, &autoscaling.TerminateInstanceInAutoScalingGroupInput{
			InstanceId: aws.String(machine.instance), ShouldDecrementDesiredCapacity: aws.Bool(false),
		})
	if err != nil && awsapi.Code(err) != "ValidationError" {
		return fmt.Errorf("replace instance %s: %w", machine.instance, err)
	}
	o.repairs.replaced(machine.instance, o.options.Clock.Now())
	return nil
}

// replaceDead replaces new instances that terminated while CloudFormation waits for the signals of
// a rolling update, during which it suspends Auto Scaling's own replacements. The signals of their
// replacements count. An instance that was already signaled for is left until the update ends,
// since CloudFormation would count its replacement's signal for an instance that is not ready. Some
// of the named instances may be healthy.
// https://repost.aws/knowledge-center/auto-scaling-group-rolling-updates
func (o *operator) replaceDead(
	ctx context.Context,
	group *v1alpha1.InstanceGroup,
	target awsapi.Target,
	known *record.Stack,
	found *astypes.AutoScalingGroup,
	named []string,
) error {
	outdated, err := rollout.Outdated(ctx, o.options.Clients.EC2(target), found)
	if err != nil {
		return err //nolint:wrapcheck // the error names the call
	}
	var waitedFor []string
	for i := range found.Instances {
		one := &found.Instances[i]
		id := aws.ToString(one.InstanceId)
		_, signalled := o.signals.Get(signalled{group.UID, known.Record.Token, id, false})
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
			fmt.Sprintf("New instance %s terminated while the group's instances are being replaced. A replacement is launched.", id))
	}
	o.repairs.forgetTerminated(group.UID, named)
	return nil
}

// ended returns the instances that are stopping, stopped, shutting down or terminated.
func (o *operator) ended(ctx context.Context, target awsapi.Target, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	out, err := o.options.Clients.EC2(target).DescribeInstances(ctx, &ec2.DescribeInstancesInput{Filters: []ec2types.Filter{
		{Name: aws.String("instance-id"), Values: ids},
		{Name: aws.String("instance-state-name"), Values: []string{"shutting-down", "terminated", "stopping", "stopped"}},
	}})
	if err != nil {
		return nil, fmt.Errorf("describe instances: %w", err)
	}
	var ended []string
	for i := range out.Reservations {
		for j := range out.Reservations[i].Instances {
			ended = append(ended, aws.ToString(out.Reservations[i].Instances[j].InstanceId))
		}
	}
	return ended, nil
}

// expectNode enqueues a group with an in-service instance that has no node, which a sweep found.
func (o *operator) expectNode(e awsevents.Event) {
	stack := stackOfGroup(e.Instance.Group)
	if stack == "" {
		return
	}
	if _, _, ok := o.options.Workload.NodeOf(e.Instance.ID); ok {
		return
	}
	for _, owner := range o.ownersOf(e, stack) {
		if owner.Group && o.repairs.hint(stack) {
			o.groups.Enqueue(owner.Key)
		}
	}
}

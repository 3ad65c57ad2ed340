package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/progress"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/rollout"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// follow tracks a change of a group's stack: it records what the instances are made from, suspends
// the cluster autoscaler, and reports the rollout's status. Wanted is the shape that the spec asks
// for; sent is true if this reconcile sent the change. It returns the stack's outcome in terms of
// nodes.
func (s groupStackStep) follow(
	ctx context.Context,
	group *v1alpha1.InstanceGroup,
	cluster *v1alpha1.Cluster,
	wanted record.Machines,
	sent bool,
	outcome operatorkit.Outcome,
) operatorkit.Outcome {
	known, err := record.Decode(group.Status.Stack)
	if err != nil {
		return operatorkit.Fail(err)
	}
	past := known.History()
	past.Settle(&known, wanted)
	if made := past.Made(known.Status); made != nil {
		group.Status.Stack.Bundle = made.Bundle
	}
	if past.Now != nil {
		group.Status.Release, group.Status.Version = past.Now.Release, past.Now.Version
	}
	var problem error
	var requeueAfter time.Duration
	if !sent { // else record the change first
		target := s.targets.Of(cluster)
		problem = errors.Join(s.cancelChange(ctx, group, target, &known), s.assistRollout(ctx, group, target, &known))
		var err error
		requeueAfter, err = s.signalLost(ctx, group, target, &known, &wanted)
		problem = errors.Join(problem, err)
	}
	s.reportRollout(group, &known)
	if err := record.Encode(group.Status.Stack, known); err != nil {
		return operatorkit.Fail(err)
	}
	outcome = outcomes.RequeueAfterMin(describeOutcome(group, past, outcome), requeueAfter)
	switch {
	case problem != nil && outcome.IsDone():
		return outcomes.Failed(problem)
	case problem != nil:
		return outcomes.Join(outcome, problem)
	case sent && past.AutoscalerHeld:
		return outcomes.RequeueAfterMin(outcome, outcomes.Promptly)
	case known.Status == record.StatusUpdating && past.Rolls():
		return outcomes.RequeueAfterMin(outcome, past.LateIn(&known, s.nodesOf(group), s.options.Clock.Now()))
	default:
		return outcome
	}
}

// assistRollout makes the calls to AWS that a change of a group's instances needs, and determines
// which nodes made it fail.
func (s groupStackStep) assistRollout(ctx context.Context, group *v1alpha1.InstanceGroup, target awsapi.Target, known *record.Stack) error {
	past := known.History()
	blame := known.Status == record.StatusRollingBack && past.Next != nil && past.Rolls() && past.Cause == ""
	late := known.Status == record.StatusUpdating && past.Rolls() && past.LateIn(known, s.nodesOf(group), s.options.Clock.Now()) == 0
	over := past.Next == nil && strings.HasSuffix(known.Status, "_COMPLETE")
	dead := s.vanished(group, known)
	held, _ := s.rolls.held.Get(group.UID)
	adjustsAutoscaler := past.AutoscalerHeld && (over || held != known.Record.Token)
	if group.Status.AutoScalingGroup == "" || !blame && !adjustsAutoscaler && !late && len(dead) == 0 {
		return nil
	}
	api := s.options.Clients.AutoScaling(target)
	found, err := describeGroup(ctx, api, group.Status.AutoScalingGroup)
	if err != nil || found == nil {
		return err
	}
	if err := s.owner.CheckScalingGroup(group, found); err != nil {
		return err
	}
	signalled := func(instance string) bool { return s.signals.Sent(group.UID, known.Record.Token, instance) }
	switch {
	case blame:
		err = s.findCause(ctx, api, group, found, known)
	case late:
		past.Asked = new(metav1.NewTime(s.options.Clock.Now()))
		past.Miss(instancesOf(found), s.nodesOf(group))
		dead = append(dead, past.Missing...)
		fallthrough
	default:
		err = s.repairs.ReplaceTerminated(ctx, group, target, found, dead, signalled)
	}
	if err != nil {
		return err
	}
	if !adjustsAutoscaler {
		return nil
	}
	return s.holdOrReleaseAutoscaler(ctx, api, group, known, found, over)
}

// findCause records which instances of the change that is rolled back have no node, or one that is not Ready.
func (s groupStackStep) findCause(
	ctx context.Context, api awsapi.AutoScalingReader, group *v1alpha1.InstanceGroup, found *types.AutoScalingGroup, known *record.Stack,
) error {
	past, launched := known.History(), instancesOf(found)
	inVain, readable, err := s.launchedInVain(ctx, api, found, known)
	if err != nil {
		return err
	}
	if readable {
		launched, past.Missing = inVain, nil // instead of what was recorded before the rollback was observed
	}
	past.Asked = new(metav1.NewTime(s.options.Clock.Now()))
	past.Miss(launched, s.nodesOf(group))
	seen := progress.View{History: past, Status: record.StatusUpdating, Nodes: s.nodesOf(group)}
	past.Cause = seen.Blame(past.Missing)
	return nil
}

// launchedInVain returns the instances that may be the reason of a rollback: those that the Auto Scaling group launched in
// the change, also if it has terminated them since, and so long ago that they had time to become Ready. The others replace
// them in the rollback. It returns false without the permission to read the activities.
func (s groupStackStep) launchedInVain(
	ctx context.Context, api awsapi.AutoScalingReader, found *types.AutoScalingGroup, known *record.Stack,
) ([]string, bool, error) {
	if known.StartedAt == nil {
		return nil, false, nil
	}
	before := s.options.Clock.Now().Add(-known.History().Next.Ready.Duration * 3 / 4) // clocks differ
	launched, err := launchedBetween(ctx, api, aws.ToString(found.AutoScalingGroupName), known.StartedAt.Truncate(time.Second), before)
	if err != nil && awsapi.Explain(err).Kind == awsapi.Denied {
		return nil, false, nil
	}
	return launched, err == nil, err
}

// launchActivity begins the description of an activity that launched an instance, before the ID. There are examples on
// https://docs.aws.amazon.com/cli/latest/reference/autoscaling/describe-scaling-activities.html
const launchActivity = "Launching a new EC2 instance: "

// maxActivityPages limits the calls that read activities.
const maxActivityPages = 5

// launchedBetween returns the instances that an Auto Scaling group launched between two times. Activities are sorted, newest
// first.
func launchedBetween(
	ctx context.Context, api awsapi.AutoScalingReader, group string, since, before time.Time,
) (launched []string, err error) {
	in := &autoscaling.DescribeScalingActivitiesInput{AutoScalingGroupName: &group}
	for range maxActivityPages {
		page, err := api.DescribeScalingActivities(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("describe the activities of the Auto Scaling group %s: %w", group, err)
		}
		for i := range page.Activities {
			activity := &page.Activities[i]
			if aws.ToTime(activity.StartTime).Before(since) {
				return launched, nil
			}
			id, ok := strings.CutPrefix(aws.ToString(activity.Description), launchActivity)
			if ok && aws.ToTime(activity.StartTime).Before(before) {
				id, _, _ = strings.Cut(id, " ")
				launched = append(launched, id)
			}
		}
		if in.NextToken = page.NextToken; aws.ToString(in.NextToken) == "" {
			break
		}
	}
	return launched, nil
}

// holdOrReleaseAutoscaler suspends the cluster autoscaler for a group while its instances are
// replaced, and resumes it afterwards.
func (s groupStackStep) holdOrReleaseAutoscaler(
	ctx context.Context,
	api awsapi.AutoScaling,
	group *v1alpha1.InstanceGroup,
	known *record.Stack,
	found *types.AutoScalingGroup,
	over bool,
) error {
	past, name, tags := known.History(), group.Status.AutoScalingGroup, rollout.TagsOf(found)
	if !over {
		if err := rollout.HoldAutoscaler(ctx, api, name, tags); err != nil {
			return err
		}
		s.rolls.held.Keep(group.UID, known.Record.Token)
		return nil
	}
	if err := rollout.ReleaseAutoscaler(ctx, api, name, tags); err != nil {
		return err
	}
	if past.Now != nil && !past.Now.Autoscaled && tags.AutoscalerHeld() { // The change removed the group from the autoscaler and completed.
		_, err := api.DeleteTags(ctx, &autoscaling.DeleteTagsInput{Tags: []types.Tag{{
			ResourceType: aws.String("auto-scaling-group"), ResourceId: aws.String(name), Key: aws.String(model.TagAutoscalerEnabled),
		}}})
		if err != nil {
			return fmt.Errorf("remove group %s from the cluster autoscaler: %w", name, err)
		}
	}
	past.AutoscalerHeld = false
	s.rolls.held.Drop(group.UID)
	return nil
}

// describeGroup returns an Auto Scaling group, nil if none has that name.
func describeGroup(ctx context.Context, api awsapi.AutoScalingReader, name string) (*types.AutoScalingGroup, error) {
	out, err := api.DescribeAutoScalingGroups(ctx, &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{name}})
	if err != nil {
		return nil, fmt.Errorf("describe the Auto Scaling group %s: %w", name, err)
	}
	if len(out.AutoScalingGroups) == 0 {
		return nil, nil //nolint:nilnil // nil means that it does not exist
	}
	return &out.AutoScalingGroups[0], nil
}

// instancesOf returns the IDs of an Auto Scaling group's instances.
func instancesOf(group *types.AutoScalingGroup) []string {
	ids := make([]string, len(group.Instances))
	for i := range group.Instances {
		ids[i] = aws.ToString(group.Instances[i].InstanceId)
	}
	return ids
}

// vanished returns the new instances whose nodes disappeared while CloudFormation replaces the
// group's instances.
func (o *operator) vanished(group *v1alpha1.InstanceGroup, known *record.Stack) []string {
	past := known.History()
	if known.Status != record.StatusUpdating || !past.Rolls() {
		o.repairs.Rolled(group.UID)
		return nil
	}
	return o.repairs.Vanished(group.UID, o.newNodesOf(group, past))
}

// newNodesOf returns the group's nodes that have the new shape.
func (o *operator) newNodesOf(group *v1alpha1.InstanceGroup, past *record.History) []workload.Node {
	return slices.DeleteFunc(o.nodesOf(group), func(node workload.Node) bool { return !past.Updated(&node, record.StatusUpdating) })
}

// nodesOf returns the group's nodes, none while the cluster is not connected.
func (o *operator) nodesOf(group *v1alpha1.InstanceGroup) []workload.Node {
	connection := o.options.Workload.Get(clusterKeyOf(group))
	if connection == nil {
		return nil
	}
	return workload.InGroup(connection.Nodes(), group.Name)
}

// reportRollout updates the group's status.rollout to a CloudFormation change that replaces
// instances.
func (s groupStackStep) reportRollout(group *v1alpha1.InstanceGroup, known *record.Stack) {
	past, now := known.History(), metav1.NewTime(s.options.Clock.Now())
	if past.Rolls() && past.RolloutToken != known.Record.Token && record.IsChanging(known.Status) {
		past.RolloutToken = known.Record.Token
		group.Status.Rollout = &v1alpha1.RolloutStatus{
			State: v1alpha1.RolloutRolling, Started: &now, Total: group.Spec.ExpectedNodes(),
		}
	}
	rolloutStatus := group.Status.Rollout
	if past.RolloutToken == "" || rolloutStatus == nil {
		return
	}
	rolloutStatus.State = stateOf(known)
	goesOn := rolloutStatus.State == v1alpha1.RolloutRolling || rolloutStatus.State == v1alpha1.RolloutRollingBack
	if goesOn && s.options.Workload.Get(clusterKeyOf(group)) == nil {
		return // No nodes are known; the last report is more accurate.
	}
	seen := progress.View{
		History: past, Status: known.Status, Nodes: s.nodesOf(group), Expected: group.Spec.ExpectedNodes(),
	}
	rolloutStatus.Updated, rolloutStatus.Total = seen.Totals(rolloutStatus.State)
	rolloutStatus.Draining = s.draining.Status(clusterKeyOf(group), group.Name)
	rolloutStatus.Message = seen.Message(rolloutStatus)
	if !goesOn {
		rolloutStatus.Finished, past.RolloutToken = &now, ""
	}
}

// stateOf returns the state of the rollout.
func stateOf(known *record.Stack) v1alpha1.RolloutState {
	switch under := known.History().Next != nil; {
	case under && record.IsRollingBack(known.Status):
		return v1alpha1.RolloutRollingBack
	case under:
		return v1alpha1.RolloutRolling
	case strings.HasSuffix(known.Status, "_FAILED"):
		return v1alpha1.RolloutStopped
	case record.IsRollingBack(known.Status):
		return v1alpha1.RolloutRolledBack
	default:
		return v1alpha1.RolloutDone
	}
}

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
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/rollout"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// promptly is when to look again at what was just begun: what follows from it is done once it is recorded.
const promptly = 10 * time.Millisecond

// follow goes along with a change of a group's stack: it remembers what the machines are made from, keeps the cluster autoscaler off,
// and tells how far it is. Wanted is what the spec says they are made from; sent is true when the change was sent in this look. It
// returns the outcome of the stack in the words of somebody who looks at nodes.
func (s groupStackStep) follow(ctx context.Context, group *v1alpha1.InstanceGroup, cluster *v1alpha1.Cluster, wanted machines, sent bool, outcome operatorkit.Outcome) operatorkit.Outcome {
	known, err := recall(group.Status.Stack)
	if err != nil {
		return operatorkit.Fail(err)
	}
	past := known.historyOf()
	past.settle(&known, wanted)
	if made := past.made(known.Status); made != nil {
		group.Status.Stack.Bundle = made.Bundle
	}
	if past.Now != nil {
		group.Status.Release, group.Status.Version = past.Now.Release, past.Now.Version
	}
	var problem error
	if !sent { // else it is to be recorded first
		problem = errors.Join(s.takeBack(ctx, group, s.target(cluster), &known), s.accompany(ctx, group, s.target(cluster), &known))
	}
	s.tell(group, &known)
	if err := keep(group.Status.Stack, known); err != nil {
		return operatorkit.Fail(err)
	}
	outcome = inWords(group, past, outcome)
	switch {
	case problem != nil && outcome.IsDone():
		return failed(problem)
	case problem != nil:
		return besides(outcome, problem)
	case sent && past.AutoscalerHeld:
		return sooner(outcome, promptly)
	case known.Status == statusUpdating && past.rolls():
		return sooner(outcome, past.lateIn(&known, s.nodesOf(group), s.options.Clock.Now()))
	default:
		return outcome
	}
}

// accompany does in AWS what goes with a change of a group's machines, and finds out which nodes made it fail.
func (s groupStackStep) accompany(ctx context.Context, group *v1alpha1.InstanceGroup, target awsapi.Target, known *remembered) error {
	past := known.historyOf()
	blame := known.Status == statusGoingBack && past.Next != nil && past.rolls() && past.Cause == ""
	late := known.Status == statusUpdating && past.rolls() && past.lateIn(known, s.nodesOf(group), s.options.Clock.Now()) == 0
	over := past.Next == nil && strings.HasSuffix(known.Status, "_COMPLETE")
	dead := s.vanished(group, known)
	held, _ := s.autoscaling.get(group.UID)
	mind := past.AutoscalerHeld && (over || held != known.Record.Token)
	if group.Status.AutoScalingGroup == "" || !blame && !mind && !late && len(dead) == 0 {
		return nil
	}
	api := s.options.Clients.AutoScaling(target)
	found, err := describeGroup(ctx, api, group.Status.AutoScalingGroup)
	if err != nil || found == nil {
		return err
	}
	if err := s.notItsGroup(group, found); err != nil {
		return err
	}
	if late || blame {
		past.Asked = new(metav1.NewTime(s.options.Clock.Now()))
		past.miss(found, s.nodesOf(group))
		dead = append(dead, past.Missing...)
	}
	if !blame && len(dead) > 0 {
		if err := s.replaceDead(ctx, group, target, known, found, dead); err != nil {
			return err
		}
	}
	if blame {
		seen := view{history: past, status: statusUpdating, nodes: s.nodesOf(group)}
		past.Cause = seen.blame(past.Missing)
	}
	if !mind {
		return nil
	}
	return s.mindAutoscaler(ctx, api, group, known, found, over)
}

// mindAutoscaler keeps the cluster autoscaler off a group while its machines are replaced, and lets it back afterwards.
func (s groupStackStep) mindAutoscaler(ctx context.Context, api awsapi.AutoScaling, group *v1alpha1.InstanceGroup, known *remembered, found *types.AutoScalingGroup, over bool) error {
	past, name, tags := known.historyOf(), group.Status.AutoScalingGroup, rollout.TagsOf(found)
	if !over {
		if err := rollout.HoldAutoscaler(ctx, api, name, tags); err != nil {
			return err
		}
		s.autoscaling.keep(group.UID, known.Record.Token)
		return nil
	}
	if err := rollout.ReleaseAutoscaler(ctx, api, name, tags); err != nil {
		return err
	}
	if past.Now != nil && !past.Now.Autoscaled && tags.AutoscalerHeld() { // The change was to let it go, and came to pass.
		_, err := api.DeleteTags(ctx, &autoscaling.DeleteTagsInput{Tags: []types.Tag{{
			ResourceType: aws.String("auto-scaling-group"), ResourceId: aws.String(name), Key: aws.String(model.TagAutoscalerEnabled),
		}}})
		if err != nil {
			return fmt.Errorf("take group %s from the cluster autoscaler: %w", name, err)
		}
	}
	past.AutoscalerHeld = false
	s.autoscaling.drop(group.UID)
	return nil
}

// describeGroup returns an Auto Scaling group, nil if there is none of that name.
func describeGroup(ctx context.Context, api awsapi.AutoScalingReader, name string) (*types.AutoScalingGroup, error) {
	out, err := api.DescribeAutoScalingGroups(ctx, &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{name}})
	if err != nil {
		return nil, fmt.Errorf("look at the Auto Scaling group %s: %w", name, err)
	}
	if len(out.AutoScalingGroups) == 0 {
		return nil, nil //nolint:nilnil // that there is none is an answer
	}
	return &out.AutoScalingGroups[0], nil
}

// vanished returns the new machines whose nodes were there and are not any more while CloudFormation replaces the group's machines.
func (o *operator) vanished(group *v1alpha1.InstanceGroup, known *remembered) []string {
	past := known.historyOf()
	if known.Status != statusUpdating || !past.rolls() {
		o.repairs.rolled(group.UID)
		return nil
	}
	return o.repairs.vanished(group.UID, o.newNodesOf(group, past))
}

// newNodesOf returns the group's nodes of the shape that it is getting.
func (o *operator) newNodesOf(group *v1alpha1.InstanceGroup, past *history) []workload.Node {
	return slices.DeleteFunc(o.nodesOf(group), func(node workload.Node) bool { return !past.updated(&node, statusUpdating) })
}

// nodesOf returns the group's nodes, none while the cluster is not connected to.
func (o *operator) nodesOf(group *v1alpha1.InstanceGroup) []workload.Node {
	connection := o.options.Workload.Get(clusterKeyOf(group))
	if connection == nil {
		return nil
	}
	return inGroup(connection.Nodes(), group.Name)
}

// tell brings the group's status.rollout in line with the change that CloudFormation makes, if that replaces machines.
func (s groupStackStep) tell(group *v1alpha1.InstanceGroup, known *remembered) {
	past, now := known.historyOf(), metav1.NewTime(s.options.Clock.Now())
	if past.rolls() && past.Told != known.Record.Token && isChanging(known.Status) {
		past.Told = known.Record.Token
		group.Status.Rollout = &v1alpha1.RolloutStatus{State: v1alpha1.RolloutRolling, Started: &now}
	}
	told := group.Status.Rollout
	if past.Told == "" || told == nil {
		return
	}
	told.State = stateOf(known)
	goesOn := told.State == v1alpha1.RolloutRolling || told.State == v1alpha1.RolloutRollingBack
	if goesOn && s.options.Workload.Get(clusterKeyOf(group)) == nil {
		return // Nobody knows of any node: what was told last is nearer to the truth.
	}
	seen := view{history: past, status: known.Status, nodes: s.nodesOf(group), now: now.Time}
	told.Updated, told.Total, _ = seen.count()
	told.Draining = s.drainStatus(clusterKeyOf(group), group.Name)
	told.Message = seen.story(told)
	if !goesOn {
		told.Finished, past.Told = &now, ""
	}
}

// stateOf says how far the replacement of machines is.
func stateOf(known *remembered) v1alpha1.RolloutState {
	switch under := known.historyOf().Next != nil; {
	case under && isGoingBack(known.Status):
		return v1alpha1.RolloutRollingBack
	case under:
		return v1alpha1.RolloutRolling
	case strings.HasSuffix(known.Status, "_FAILED"):
		return v1alpha1.RolloutStopped
	case isGoingBack(known.Status):
		return v1alpha1.RolloutRolledBack
	default:
		return v1alpha1.RolloutDone
	}
}

// sooner has the object looked at again no later than after a time.
func sooner(outcome operatorkit.Outcome, after time.Duration) operatorkit.Outcome {
	if after > 0 && (outcome.After() == 0 || after < outcome.After()) {
		return outcome.RequeueAfter(after)
	}
	return outcome
}

// besides adds to an outcome that something else failed, which is tried again.
func besides(outcome operatorkit.Outcome, problem error) operatorkit.Outcome {
	if outcome.Kind() == operatorkit.KindFail {
		return operatorkit.Fail(errors.Join(outcome.Err(), problem)).Explain(outcome.Reason(), outcome.Message())
	}
	message := failed(problem).Message()
	if message == "" {
		message = problem.Error() + "."
	}
	return sooner(outcome.Explain(outcome.Reason(), outcome.Message()+" Besides, this failed and is tried again: "+message), signalAgain)
}

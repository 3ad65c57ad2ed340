package controller

import (
	"context"
	"fmt"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/conditions"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/progress"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/repair"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// groupNodesStep counts the group's nodes and waits until they are ready.
type groupNodesStep struct{ *operator }

// Name returns the step's name.
func (s groupNodesStep) Name() string { return "nodes" }

// EnsureCreated is done when the desired number of nodes is Ready.
func (s groupNodesStep) EnsureCreated(ctx context.Context, group *v1alpha1.InstanceGroup) operatorkit.Outcome {
	connection := s.options.Workload.Get(clusterKeyOf(group))
	if connection == nil {
		return conditions.Conclude(
			group,
			conditions.Nodes,
			"",
			"",
			operatorkit.Wait(outcomes.EventPoll, "ClusterNotReady", "The cluster's API does not respond yet; nodes join when it does.").
				WithoutEvent(),
		)
	}
	known, err := record.Decode(group.Status.Stack)
	if err != nil {
		return operatorkit.Fail(err)
	}
	cluster, err := s.objects.ClusterOf(ctx, group)
	if err != nil {
		return operatorkit.Fail(err)
	}
	count := countGroup(group, known.History(), known.Status, workload.InGroup(connection.Nodes(), group.Name))
	group.Status.Nodes = count
	s.setNodesUpdated(group, &known, &count, heldBack(cluster))
	outcome := operatorkit.Done().
		RequeueAfter(idlePoll).
		Explain(operatorkit.ReasonReady, "The instances are running and their nodes are ready.")
	if reachable, _ := connection.Reachable(); !reachable && count.Ready < count.Desired {
		outcome = operatorkit.Wait(outcomes.EventPoll, "ClusterNotReady", "The cluster's API does not respond yet; nodes join when it does.").
			WithoutEvent()
	} else if count.Ready < count.Desired {
		outcome = operatorkit.Wait(outcomes.EventPoll, "NodesMissing", fmt.Sprintf("%d of %d nodes are ready.", count.Ready, count.Desired)).WithoutEvent()
		if cluster != nil {
			outcome = s.stalledGroup(ctx, cluster, group, outcome)
		}
	}
	outcome = conditions.Conclude(group, conditions.Nodes, "AllReady", "All nodes are ready.", outcome)
	if cluster == nil {
		return outcome
	}
	again, err := s.repairs.Group(ctx, repair.Group{
		Object: group, Target: s.targets.Of(cluster), Filters: s.owner.ScalingGroupFilters(group), Connection: connection,
	})
	if err != nil {
		return outcomes.Failed(err)
	}
	return outcomes.RequeueAfterMin(outcome, again)
}

// countGroup counts a group's nodes, given the status of its stack.
func countGroup(group *v1alpha1.InstanceGroup, past *record.History, status string, nodes []workload.Node) v1alpha1.NodeCount {
	count, total := v1alpha1.NodeCount{}, int32(0)
	for i := range nodes {
		if nodes[i].Ready {
			count.Ready++
		}
	}
	seen := progress.View{History: past, Status: status, Nodes: nodes, Expected: group.Spec.ExpectedNodes()}
	count.Updated, total, _ = seen.Count()
	count.Desired = max(group.Spec.ExpectedNodes(), int32(len(nodes))) //nolint:gosec // at most a thousand nodes
	count.Summary = fmt.Sprintf("%d/%d", count.Ready, count.Desired)
	count.UpdatedSummary = fmt.Sprintf("%d/%d", count.Updated, total)
	return count
}

// EnsureDeleted has nothing to do: nodes are deleted with their instances.
func (s groupNodesStep) EnsureDeleted(_ context.Context, group *v1alpha1.InstanceGroup) operatorkit.Outcome {
	operatorkit.RemoveCondition(group, conditions.Nodes)
	operatorkit.RemoveCondition(group, conditions.Updated)
	return operatorkit.Done()
}

package controller

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/apply"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/approval"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/conditions"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/credentials"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/models"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/stackcache"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/offerings"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/stacks"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// eksGroupStackStep manages the stack of a group that EKS manages. EKS replaces and drains its nodes, and
// CloudFormation waits for it.
type eksGroupStackStep struct{ *operator }

// Name returns the step's name.
func (s eksGroupStackStep) Name() string { return "stack" }

// EnsureCreated moves the group's stack toward the spec, with the Release that the control plane runs: no
// node may be newer.
func (s eksGroupStackStep) EnsureCreated(ctx context.Context, group *v1alpha1.InstanceGroup) operatorkit.Outcome {
	cluster, err := s.objects.ClusterOf(ctx, group)
	if err != nil {
		return operatorkit.Fail(err)
	}
	if cluster == nil {
		return operatorkit.Wait(0, "ClusterNotFound", "The Cluster no longer exists.")
	}
	cluster = models.AsRun(cluster)
	release, err := s.objects.Release(ctx, cluster)
	if err != nil {
		return operatorkit.Wait(0, "ReleaseNotFound", fmt.Sprintf("There is no Release %q, which the nodes of Cluster %s need.", cluster.Spec.Release, cluster.Name)).
			Degraded()
	}
	name := model.GroupStackName(cluster.Name, group.Name)
	s.ownGroup(cluster.Status.Account, cluster.Spec.Region, name, group)
	key, digest := stackcache.Key{UID: group.UID, Stack: name}, groupStackStep(s).inputs(group, cluster, release, &credentials.CAs{})
	if s.stacks.IsSettled(key, digest, group.Status.Stack) {
		return operatorkit.Done()
	}
	s.stacks.Unsettle(key)
	if outcome := groupStackStep(s).nameIsFree(ctx, group); !outcome.IsDone() {
		return outcome
	}
	resolved, err := s.models.Resolve(ctx, cluster, release)
	if err != nil {
		return groupStackStep(s).clusterUnresolved(err)
	}
	outcome := approval.WithCommand(group, "instancegroup", s.ensure(ctx, group, cluster, resolved))
	if outcome.IsDone() {
		s.stacks.Settle(key, digest, group.Status.Stack)
		return outcome
	}
	_ = eksGroupNodesStep(s).EnsureCreated(ctx, group) // The later steps do not run now.
	return outcome
}

// ensure moves the stack toward the spec.
func (s eksGroupStackStep) ensure(
	ctx context.Context, group *v1alpha1.InstanceGroup, cluster *v1alpha1.Cluster, resolved *model.Cluster,
) operatorkit.Outcome {
	shape, err := model.ResolveGroup(resolved, group)
	if err != nil {
		return outcomes.Unresolved(err)
	}
	if group.Status.Stack == nil {
		group.Status.Stack = &v1alpha1.StackStatus{}
	}
	group.Status.Stack.Name = shape.StackName
	known, err := record.Decode(group.Status.Stack)
	if err != nil {
		return operatorkit.Fail(err)
	}
	made, err := stacks.Group(resolved, shape, cluster.Status.Outputs, nil, &known, s.bucket.NodeupHash)
	if err != nil {
		return notMade("instance group "+group.Name, err)
	}
	before := operatorkit.Done()
	_, outcome := s.apply.Ensure(ctx, group, s.targets.Of(cluster), group.Status.Stack, made.Stack, apply.Options{
		Manual: approval.IsManual(group.Spec.UpdatePolicy, cluster.Spec.UpdatePolicy),
		Limit:  s.targets.Limit(cluster),
		Prepare: func(ctx context.Context, known *record.Stack) error {
			if err := s.outputs.Confirm(ctx, cluster); err != nil {
				return err
			}
			if before = s.offered(ctx, cluster, known, offerings.OfGroup(shape)); !before.IsDone() {
				return errNotPrepared
			}
			known.History().Begin(made.Machines, nil)
			return nil
		},
		Resume: nil,
	})
	if !before.IsDone() {
		return before
	}
	return s.follow(group, made.Machines, outcome)
}

// follow records what the nodes are made from.
func (s eksGroupStackStep) follow(group *v1alpha1.InstanceGroup, wanted record.Machines, outcome operatorkit.Outcome) operatorkit.Outcome {
	known, err := record.Decode(group.Status.Stack)
	if err != nil {
		return operatorkit.Fail(err)
	}
	past := known.History()
	rolls := past.Rolls()
	past.Settle(&known, wanted)
	if past.Now != nil {
		group.Status.Release, group.Status.Version = past.Now.Release, past.Now.Version
	}
	if err := record.Encode(group.Status.Stack, known); err != nil {
		return operatorkit.Fail(err)
	}
	if rolls && known.Status == record.StatusUpdating && outcome.Kind() == operatorkit.KindWait {
		return outcome.Explain(reasonRolling, "EKS replaces the group's nodes: it launches new ones, drains the old ones for at most 15 minutes each, and ends them.")
	}
	return outcome
}

// EnsureDeleted deletes the group's stack.
func (s eksGroupStackStep) EnsureDeleted(ctx context.Context, group *v1alpha1.InstanceGroup) operatorkit.Outcome {
	return groupStackStep(s).EnsureDeleted(ctx, group)
}

// eksGroupNodesStep counts the nodes of a group that EKS manages, and waits until they are ready.
type eksGroupNodesStep struct{ *operator }

// Name returns the step's name.
func (s eksGroupNodesStep) Name() string { return "nodes" }

// EnsureCreated is done when the desired number of nodes is Ready.
func (s eksGroupNodesStep) EnsureCreated(_ context.Context, group *v1alpha1.InstanceGroup) operatorkit.Outcome {
	connection := s.options.Workload.Get(clusterKeyOf(group))
	if connection == nil {
		return conditions.Conclude(group, conditions.Nodes, "", "", notConnected())
	}
	known, err := record.Decode(group.Status.Stack)
	if err != nil {
		return operatorkit.Fail(err)
	}
	nodes := workload.InGroup(connection.Nodes(), group.Name)
	count := v1alpha1.NodeCount{Desired: max(group.Spec.ExpectedNodes(), int32(len(nodes)))} //nolint:gosec // at most a thousand nodes
	var versions []string
	for i := range nodes {
		versions = append(versions, nodes[i].Version)
		if nodes[i].Ready {
			count.Ready++
		}
	}
	if version := lowest(versions); version != "" { // EKS chooses the patch version.
		group.Status.Version = version
	}
	updated := metav1.Condition{
		Type: conditions.Updated, Status: metav1.ConditionTrue, Reason: reasonAllUpdated, Message: "All nodes are up to date.",
	}
	count.Updated = count.Ready
	switch {
	case record.IsChanging(known.Status) && known.History().Rolls():
		count.Updated = 0
		updated.Status, updated.Reason, updated.Message = metav1.ConditionFalse, reasonRolling, "EKS replaces the nodes."
	case known.FailedDigest != "":
		updated.Status, updated.Reason = metav1.ConditionFalse, reasonRolledBack
		updated.Message = "The last change failed: all nodes run the previous configuration."
	}
	count.Summary = fmt.Sprintf("%d/%d", count.Ready, count.Desired)
	count.UpdatedSummary = fmt.Sprintf("%d/%d", count.Updated, count.Desired)
	group.Status.Nodes = count
	operatorkit.SetCondition(group, updated)
	outcome := operatorkit.Done().RequeueAfter(idlePoll).Explain(operatorkit.ReasonReady, "The instances are running and their nodes are ready.")
	if reachable, _ := connection.Reachable(); !reachable && count.Ready < count.Desired {
		outcome = notConnected()
	} else if count.Ready < count.Desired {
		outcome = operatorkit.Wait(outcomes.EventPoll, "NodesMissing", fmt.Sprintf("%d of %d nodes are ready.", count.Ready, count.Desired)).WithoutEvent()
	}
	return conditions.Conclude(group, conditions.Nodes, "AllReady", "All nodes are ready.", outcome)
}

// notConnected returns the outcome of a group whose nodes are not known.
func notConnected() operatorkit.Outcome {
	return operatorkit.Wait(outcomes.EventPoll, "ClusterNotReady", "The cluster's API does not respond yet; nodes join when it does.").WithoutEvent()
}

// EnsureDeleted has nothing to do: nodes are deleted with their instances.
func (s eksGroupNodesStep) EnsureDeleted(ctx context.Context, group *v1alpha1.InstanceGroup) operatorkit.Outcome {
	return groupNodesStep(s).EnsureDeleted(ctx, group)
}

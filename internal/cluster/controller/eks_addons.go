package controller

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/apply"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/approval"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/conditions"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/stackcache"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// eksAddonsStep manages the stack of the add-ons that EKS installs. Their pods need nodes, so it is created
// once a node is ready, or at once with EKS Auto Mode, which launches nodes for pods. It is deleted after the nodes of
// groups: without the network plugin, no pod could be removed from one.
type eksAddonsStep struct{ *operator }

// Name returns the step's name.
func (s eksAddonsStep) Name() string { return "eks-addons" }

// EnsureCreated moves the stack toward the spec.
func (s eksAddonsStep) EnsureCreated(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	name := model.EKSAddonsStackName(cluster.Name)
	status := record.Find(cluster, name)
	if len(cluster.Spec.ControlPlane.EKS.Addons) == 0 {
		operatorkit.RemoveCondition(cluster, conditions.EKSAddons)
		return s.remove(ctx, cluster, status)
	}
	if status == nil && !model.EKSAddonsBeforeNodes(cluster.Spec.ControlPlane.EKS) && !s.hasReadyNode(cluster) {
		operatorkit.RemoveCondition(cluster, conditions.EKSAddons)
		return operatorkit.Done() // The step that waits for nodes says so.
	}
	outcome := conditions.Conclude(cluster, conditions.EKSAddons, "StackReady", "EKS has installed its add-ons, and their pods are ready.",
		approval.WithCommand(cluster, "cluster", s.ensure(ctx, cluster, name)))
	if !outcome.IsDone() {
		_ = eksNodesStep(s).EnsureCreated(ctx, cluster) // The later steps do not run now.
	}
	return outcome
}

func (s eksAddonsStep) hasReadyNode(cluster *v1alpha1.Cluster) bool {
	connection := s.options.Workload.Get(keyOf(cluster))
	return connection != nil && slices.ContainsFunc(connection.Nodes(), func(node workload.Node) bool { return node.Ready })
}

func (s eksAddonsStep) ensure(ctx context.Context, cluster *v1alpha1.Cluster, name string) operatorkit.Outcome {
	s.own(cluster, name)
	release, err := s.objects.Release(ctx, cluster)
	if err != nil {
		return operatorkit.Fail(err)
	}
	key, digest := stackcache.Key{UID: cluster.UID, Stack: name}, s.models.Digest(cluster, release).Sum64()
	if s.stacks.IsSettled(key, digest, record.Find(cluster, name)) {
		return operatorkit.Done()
	}
	s.stacks.Unsettle(key)
	resolved, err := s.models.Resolve(ctx, cluster, release)
	if err != nil {
		return outcomes.Unresolved(err)
	}
	wanted, err := render.EKSAddons(resolved)
	if err != nil {
		return operatorkit.Stall("InvalidTemplate", fmt.Sprintf("The stack of the add-ons of EKS cannot be rendered: %s.", err))
	}
	_, outcome := s.apply.Ensure(ctx, cluster, s.targets.Of(cluster), record.FindOrAdd(cluster, name), wanted, apply.Options{
		Manual: approval.IsManual(cluster.Spec.UpdatePolicy),
		Limit:  s.targets.Limit(cluster),
		Prepare: func(ctx context.Context, _ *record.Stack) error {
			return s.outputs.Confirm(ctx, cluster) // It names the EKS cluster, which must be this Cluster's.
		},
	})
	if outcome.IsDone() {
		s.stacks.Settle(key, digest, record.Find(cluster, name))
	}
	return outcome
}

// remove deletes the stack of a Cluster that wants no add-ons anymore.
func (s eksAddonsStep) remove(ctx context.Context, cluster *v1alpha1.Cluster, status *v1alpha1.StackStatus) operatorkit.Outcome {
	if status == nil {
		return operatorkit.Done()
	}
	outcome := s.EnsureDeleted(ctx, cluster)
	if outcome.IsDone() {
		record.Forget(cluster, status.Name)
	}
	return outcome
}

// EnsureDeleted deletes the stack. EKS removes what it has installed.
func (s eksAddonsStep) EnsureDeleted(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	name := model.EKSAddonsStackName(cluster.Name)
	status := record.Find(cluster, name)
	if cluster.Status.Account == "" || status == nil && len(cluster.Spec.ControlPlane.EKS.Addons) == 0 || isDeleted(status) {
		return operatorkit.Done()
	}
	s.own(cluster, name)
	s.stacks.Unsettle(stackcache.Key{UID: cluster.UID, Stack: name})
	return s.apply.Delete(ctx, cluster, s.targets.Of(cluster), name, status, stack.DeleteOptions{
		RoleARN: s.targets.ServiceRole(cluster), OwnerTags: s.owner.EKSAddonsTags(cluster),
	})
}

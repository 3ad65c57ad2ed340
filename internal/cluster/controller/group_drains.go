package controller

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// groupDrainsStep ends the drains of a group's instances when the group is deleted.
type groupDrainsStep struct{ *operator }

// Name returns the step's name.
func (s groupDrainsStep) Name() string { return "drains" }

// EnsureCreated has nothing to do: drains run outside the pipeline.
func (s groupDrainsStep) EnsureCreated(context.Context, *v1alpha1.InstanceGroup) operatorkit.Outcome {
	return operatorkit.Done()
}

// EnsureDeleted releases instances that are kept for their pods.
func (s groupDrainsStep) EnsureDeleted(ctx context.Context, group *v1alpha1.InstanceGroup) operatorkit.Outcome {
	cluster, err := s.objects.ClusterOf(ctx, group)
	if err != nil {
		return operatorkit.Fail(err)
	}
	s.draining.Continue(
		types.NamespacedName{Namespace: group.Namespace, Name: group.Spec.Cluster},
		group.Name,
		cluster == nil || !cluster.DeletionTimestamp.IsZero(),
	)
	return operatorkit.Done()
}

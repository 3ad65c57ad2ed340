package controller

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// groupSteps returns the steps that create an InstanceGroup, in order. Deletion runs them in
// reverse.
func (o *operator) groupSteps() []operatorkit.Step[*v1alpha1.InstanceGroup] {
	return []operatorkit.Step[*v1alpha1.InstanceGroup]{
		groupClusterStep{o},
		groupStackStep{o},
		groupRollStep{o},
		groupNodesStep{o},
		groupDrainsStep{o},
	}
}

// clusterOf returns the InstanceGroup's Cluster, nil if there is none.
func (o *operator) clusterOf(ctx context.Context, group *v1alpha1.InstanceGroup) (*v1alpha1.Cluster, error) {
	cluster := &v1alpha1.Cluster{}
	key := types.NamespacedName{Namespace: group.Namespace, Name: group.Spec.Cluster}
	switch err := o.client.Get(ctx, key, cluster); {
	case apierrors.IsNotFound(err):
		return nil, nil //nolint:nilnil // nil means that it does not exist
	case err != nil:
		return nil, fmt.Errorf("read Cluster %s: %w", key, err)
	default:
		return cluster, nil
	}
}

// groupPaused reports whether the InstanceGroup's Cluster is paused.
func (o *operator) groupPaused(group *v1alpha1.InstanceGroup) bool {
	cluster, err := o.clusterOf(context.Background(), group) // Reads from the informer cache.
	return err == nil && cluster != nil && isPaused(cluster)
}

// isPaused reports whether a Cluster is paused by its spec or its annotation.
func isPaused(cluster *v1alpha1.Cluster) bool {
	return cluster.Spec.Paused || operatorkit.HasPausedAnnotation(cluster, v1alpha1.PausedAnnotation)
}

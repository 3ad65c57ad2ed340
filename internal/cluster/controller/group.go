package controller

import (
	"context"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// groupSteps returns the steps that create an InstanceGroup, in order. Deletion runs them in
// reverse.
func (o *operator) groupSteps() []operatorkit.Step[*v1alpha1.InstanceGroup] {
	return []operatorkit.Step[*v1alpha1.InstanceGroup]{
		groupClusterStep{o},
		groupStackStep{o},
		groupNodeClassStep{o},
		groupRollStep{o},
		groupDriftStep{o},
		groupNodesStep{o},
		groupDrainsStep{o},
	}
}

// groupPaused reports whether the InstanceGroup's Cluster is paused.
func (o *operator) groupPaused(group *v1alpha1.InstanceGroup) bool {
	cluster, err := o.objects.ClusterOf(context.Background(), group) // Reads from the informer cache.
	return err == nil && cluster != nil && isPaused(cluster)
}

// isPaused reports whether a Cluster is paused by its spec or its annotation.
func isPaused(cluster *v1alpha1.Cluster) bool {
	return cluster.Spec.Paused || operatorkit.HasPausedAnnotation(cluster, v1alpha1.PausedAnnotation)
}

package controller

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// groupClusterStep waits for what the group's instances need from the Cluster.
type groupClusterStep struct{ *operator }

// Name returns the step's name.
func (s groupClusterStep) Name() string { return "cluster" }

// EnsureCreated is done when the Cluster has a network and CAs. Its control plane may still be
// booting: the group's instances wait for it themselves.
func (s groupClusterStep) EnsureCreated(ctx context.Context, group *v1alpha1.InstanceGroup) operatorkit.Outcome {
	cluster, err := s.objects.ClusterOf(ctx, group)
	switch {
	case err != nil:
		return operatorkit.Fail(err)
	case cluster == nil:
		return operatorkit.Wait(0, "ClusterNotFound", fmt.Sprintf("There is no Cluster %q in namespace %s; the group waits for it.", group.Spec.Cluster, group.Namespace)).
			Degraded()
	case !cluster.DeletionTimestamp.IsZero():
		return operatorkit.Wait(0, "ClusterDeleted", fmt.Sprintf("The Cluster %s is being deleted, and the group with it.", cluster.Name))
	case model.UsesEKS(cluster) && cluster.Status.Outputs[model.OutputClusterSecurityGroup] == "":
		return operatorkit.Wait(0, "ClusterNotReady", fmt.Sprintf("EKS has not made the control plane of Cluster %s yet.", cluster.Name)).
			WithoutEvent()
	case !model.UsesEKS(cluster) && (cluster.Status.Outputs[model.OutputBucket] == "" || cluster.Status.Outputs[model.OutputWorkerInstanceProfile] == ""):
		return operatorkit.Wait(0, "ClusterNotReady", fmt.Sprintf("The network of Cluster %s is not ready yet.", cluster.Name)).
			WithoutEvent()
	default:
		return operatorkit.Done()
	}
}

// EnsureDeleted removes the group from the caches and enqueues the objects that wait for its
// deletion.
func (s groupClusterStep) EnsureDeleted(ctx context.Context, group *v1alpha1.InstanceGroup) operatorkit.Outcome {
	s.forget(group.UID)
	s.enqueueNameConflict(ctx, group)
	s.clusters.Enqueue(types.NamespacedName{Namespace: group.Namespace, Name: group.Spec.Cluster})
	return operatorkit.Done()
}

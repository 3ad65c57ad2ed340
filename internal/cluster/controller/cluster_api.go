package controller

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/clusterapi"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// watchClusterAPI makes the operator follow Cluster API's objects, if the options say so.
func (o *operator) watchClusterAPI(mgr ctrl.Manager) error {
	if !o.options.ClusterAPI {
		return nil
	}
	o.capi = clusterapi.New(clusterapi.Options{
		Config: mgr.GetConfig(), HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		Namespaces: inNamespaces(o.options.WatchNamespaces), Clock: o.options.Clock, Logger: o.options.Logger,
		EnqueueCluster: func(key types.NamespacedName) { o.clusters.Enqueue(key) },
		EnqueueGroup:   func(key types.NamespacedName) { o.groups.Enqueue(key) },
		GroupsOf: func(ctx context.Context, key types.NamespacedName) []types.NamespacedName {
			groups, err := o.objects.GroupsOf(ctx, key)
			if err != nil {
				return nil // the cache is not filled yet, so every group is going to be reconciled
			}
			keys := make([]types.NamespacedName, len(groups))
			for i := range groups {
				keys[i] = keyOf(&groups[i])
			}
			return keys
		},
	})
	if err := mgr.Add(o.capi); err != nil {
		return fmt.Errorf("add the watch of Cluster API's objects: %w", err)
	}
	return nil
}

// followsClusterAPI reports whether a Cluster of Cluster API drives a Cluster.
func (o *operator) followsClusterAPI(ctx context.Context, cluster *v1alpha1.Cluster) bool {
	owner := o.capi.ClusterOwner(ctx, cluster)
	return owner.Follows()
}

// clusterAPIStep reports the address of the API to Cluster API.
type clusterAPIStep struct{ *operator }

// Name returns the step's name.
func (s clusterAPIStep) Name() string { return "cluster-api" }

// EnsureCreated writes the address into the Cluster's spec, where Cluster API reads it. It is the first
// step, so that it runs while others wait.
func (s clusterAPIStep) EnsureCreated(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	if err := s.capi.FollowCluster(ctx, s.direct, cluster); err != nil {
		return operatorkit.Fail(err)
	}
	return operatorkit.Done()
}

// EnsureDeleted has nothing to do.
func (s clusterAPIStep) EnsureDeleted(context.Context, *v1alpha1.Cluster) operatorkit.Outcome {
	return operatorkit.Done()
}

// groupClusterAPIStep does what a MachinePool asks for.
type groupClusterAPIStep struct{ *operator }

// Name returns the step's name.
func (s groupClusterAPIStep) Name() string { return "cluster-api" }

// EnsureCreated scales the group as its MachinePool says, and reports its nodes to it.
func (s groupClusterAPIStep) EnsureCreated(ctx context.Context, group *v1alpha1.InstanceGroup) operatorkit.Outcome {
	var nodes []workload.Node
	if connection := s.options.Workload.Get(clusterKeyOf(group)); connection != nil {
		if reachable, _ := connection.Reachable(); reachable { // else, the nodes may be none yet
			nodes = connection.Nodes()
		}
	}
	if err := s.capi.FollowGroup(ctx, s.direct, group, nodes); err != nil {
		return operatorkit.Fail(err)
	}
	return operatorkit.Done()
}

// EnsureDeleted has nothing to do.
func (s groupClusterAPIStep) EnsureDeleted(context.Context, *v1alpha1.InstanceGroup) operatorkit.Outcome {
	return operatorkit.Done()
}

// summarizeGroup sets what Cluster API reads in a group's status.
func (o *operator) summarizeGroup(group *v1alpha1.InstanceGroup) {
	o.capi.SummarizeGroup(group, o.groupPause(group))
}

// isPaused reports whether a Cluster is paused by its spec or its annotation, which the operator reads
// in any Cluster.
func isPaused(cluster *v1alpha1.Cluster) bool {
	return cluster.Spec.Paused || operatorkit.HasPausedAnnotation(cluster, v1alpha1.PausedAnnotation)
}

// clusterPaused reports whether a Cluster is paused by its spec or by Cluster API.
func (o *operator) clusterPaused(cluster *v1alpha1.Cluster) bool {
	return cluster.Spec.Paused || o.clusterPause(cluster).Paused
}

func (o *operator) clusterPause(cluster *v1alpha1.Cluster) clusterapi.Pause {
	return o.capi.ClusterPause(context.Background(), cluster) // Reads from the informer cache.
}

// explainClusterPause returns why a Cluster is paused, "" if by our own means.
func (o *operator) explainClusterPause(cluster *v1alpha1.Cluster) string {
	if isPaused(cluster) {
		return ""
	}
	return o.clusterPause(cluster).Message
}

// reconcileClusterPaused does what a paused Cluster still needs.
func (o *operator) reconcileClusterPaused(ctx context.Context, cluster *v1alpha1.Cluster) time.Duration {
	return sooner(o.signalSlotsPaused(ctx, cluster), o.capi.ClusterPause(ctx, cluster).After)
}

// groupPaused reports whether the InstanceGroup's Cluster is paused, or the group by Cluster API.
func (o *operator) groupPaused(group *v1alpha1.InstanceGroup) bool {
	cluster, err := o.objects.ClusterOf(context.Background(), group) // Reads from the informer cache.
	return err == nil && cluster != nil && isPaused(cluster) || o.groupPause(group).Paused
}

// groupPause returns whether Cluster API pauses a group or its Cluster.
func (o *operator) groupPause(group *v1alpha1.InstanceGroup) clusterapi.Pause {
	return o.groupPauseIn(context.Background(), group) // Reads from the informer cache.
}

func (o *operator) groupPauseIn(ctx context.Context, group *v1alpha1.InstanceGroup) clusterapi.Pause {
	if pause := o.capi.GroupPause(ctx, group); pause.Paused {
		return pause
	}
	cluster, err := o.objects.ClusterOf(ctx, group)
	if err != nil || cluster == nil {
		return clusterapi.Pause{}
	}
	return o.capi.ClusterPause(ctx, cluster)
}

// explainGroupPause returns why a group is paused, "" if by our own means.
func (o *operator) explainGroupPause(group *v1alpha1.InstanceGroup) string {
	if operatorkit.HasPausedAnnotation(group, v1alpha1.PausedAnnotation) {
		return ""
	}
	return o.groupPause(group).Message
}

// reconcileGroupPaused does what a paused group still needs.
func (o *operator) reconcileGroupPaused(ctx context.Context, group *v1alpha1.InstanceGroup) time.Duration {
	return sooner(o.signalPaused(ctx, group), o.groupPauseIn(ctx, group).After)
}

// sooner returns the shorter of two times, of which zero is never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

package controller

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// groupsStep has the Cluster's InstanceGroups deleted before the Cluster is: their machines stand in
// its network.
type groupsStep struct{ *operator }

// Name returns the step's name.
func (s groupsStep) Name() string { return "groups" }

// EnsureCreated has nothing to do: InstanceGroups look after themselves.
func (s groupsStep) EnsureCreated(context.Context, *v1alpha1.Cluster) operatorkit.Outcome {
	return operatorkit.Done()
}

// EnsureDeleted deletes the InstanceGroups and waits until they are gone.
func (s groupsStep) EnsureDeleted(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	groups, err := s.groupsOf(ctx, keyOf(cluster))
	if err != nil {
		return operatorkit.Fail(err)
	}
	var names []string
	for i := range groups {
		group := &groups[i]
		names = append(names, group.Name)
		if !group.DeletionTimestamp.IsZero() {
			continue
		}
		err := s.client.Delete(ctx, group, client.Preconditions{UID: &group.UID})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return operatorkit.Fail(fmt.Errorf("delete instance group %s: %w", group.Name, err))
		}
	}
	if len(names) > 0 {
		return operatorkit.Wait(awaitAgain, "DeletingInstanceGroups", "The Cluster's instance groups go first: "+strings.Join(names, ", ")+".")
	}
	return operatorkit.Done()
}

// cleanupStep removes what the workload cluster made in AWS by itself, at one moment of the deletion.
type cleanupStep struct {
	*operator

	name   string
	remove func(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome
}

// Name returns the step's name.
func (s cleanupStep) Name() string { return s.name }

// EnsureCreated has nothing to do.
func (s cleanupStep) EnsureCreated(context.Context, *v1alpha1.Cluster) operatorkit.Outcome {
	return operatorkit.Done()
}

// EnsureDeleted removes, if the operator was given what does.
func (s cleanupStep) EnsureDeleted(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	if s.options.Cleanup == nil || cluster.Status.Account == "" {
		return operatorkit.Done()
	}
	return s.remove(ctx, cluster)
}

func (o *operator) cleanupBeforeNodes() cleanupStep {
	return cleanupStep{operator: o, name: "cleanup", remove: func(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
		return o.options.Cleanup.BeforeNodes(ctx, cluster, o.target(cluster), o.options.Workload.Get(keyOf(cluster)))
	}}
}

func (o *operator) cleanupAfterNodes() cleanupStep {
	return cleanupStep{operator: o, name: "cleanup-after-nodes", remove: func(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
		return o.options.Cleanup.AfterNodes(ctx, cluster, o.target(cluster))
	}}
}

func (o *operator) sweep() cleanupStep {
	return cleanupStep{operator: o, name: "sweep", remove: func(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
		return o.options.Cleanup.Sweep(ctx, cluster, o.target(cluster))
	}}
}

// addonsStep keeps the cluster's charts, if the operator was given what does.
type addonsStep struct{ *operator }

// Name returns the step's name.
func (s addonsStep) Name() string { return "addons" }

// EnsureCreated brings the charts one step nearer to what is wanted.
func (s addonsStep) EnsureCreated(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	connection := s.options.Workload.Get(keyOf(cluster))
	if connection == nil {
		return operatorkit.Wait(awaitAgain, "NotConnected", "The cluster's API is not connected to yet.")
	}
	release, err := s.release(ctx, cluster)
	if err != nil {
		return operatorkit.Fail(err)
	}
	key := keyOf(cluster)
	outcome := s.options.Addons.Ensure(ctx, cluster, release, connection, func() { s.clusters.Wake(key) })
	return conclude(cluster, conditionAddons, "Installed", "The addons are installed.", outcome)
}

// EnsureDeleted ends what is under way. The charts go with the cluster.
func (s addonsStep) EnsureDeleted(_ context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	s.options.Addons.Forget(keyOf(cluster))
	operatorkit.RemoveCondition(cluster, conditionAddons)
	return operatorkit.Done()
}

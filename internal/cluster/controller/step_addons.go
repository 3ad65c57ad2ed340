package controller

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

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
	release, err := s.release(ctx, asRun(cluster)) // Charts may need the versions that they come with, so they follow the control plane.
	if apierrors.IsNotFound(err) && asRun(cluster) != cluster {
		return operatorkit.Done() // It was deleted during the move to another: they stay until that is over.
	}
	if err != nil {
		return operatorkit.Fail(err)
	}
	key := keyOf(cluster)
	return s.options.Addons.Ensure(ctx, cluster, release, connection, func() { s.clusters.Enqueue(key) })
}

// EnsureDeleted ends what is under way. The charts go with the cluster.
func (s addonsStep) EnsureDeleted(_ context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	s.options.Addons.Forget(keyOf(cluster))
	operatorkit.RemoveCondition(cluster, conditionAddons)
	return operatorkit.Done()
}

package controller

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/conditions"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/models"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// addonsStep manages the cluster's charts, if the operator has an addon manager.
type addonsStep struct{ *operator }

// Name returns the step's name.
func (s addonsStep) Name() string { return "addons" }

// EnsureCreated moves the charts toward the desired state.
func (s addonsStep) EnsureCreated(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	connection := s.options.Workload.Get(keyOf(cluster))
	if connection == nil {
		return operatorkit.Wait(outcomes.EventPoll, "NotConnected", "The operator is not connected to the cluster's API yet.")
	}
	release, err := s.objects.Release(
		ctx,
		models.AsRun(cluster),
	) // Charts may depend on the Kubernetes version of their Release, so they follow the control plane.
	if apierrors.IsNotFound(err) && models.AsRun(cluster) != cluster {
		return operatorkit.Done() // It was deleted during the upgrade to another: the charts stay until that ends.
	}
	if err != nil {
		return operatorkit.Fail(err)
	}
	key := keyOf(cluster)
	return s.options.Addons.Ensure(ctx, cluster, release, connection, func() { s.clusters.Enqueue(key) })
}

// EnsureDeleted stops work in progress. The charts are deleted with the cluster.
func (s addonsStep) EnsureDeleted(_ context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	s.options.Addons.Forget(keyOf(cluster))
	operatorkit.RemoveCondition(cluster, conditions.Addons)
	return operatorkit.Done()
}

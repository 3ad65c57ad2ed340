package controller

import (
	"context"
	"time"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// cleanupStep deletes AWS resources that the workload cluster's controllers created, at one point
// of the deletion.
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

// EnsureDeleted runs the cleanup, if the operator has one.
func (s cleanupStep) EnsureDeleted(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	if s.options.Cleanup == nil || cluster.Status.Account == "" {
		return operatorkit.Done()
	}
	return s.remove(ctx, cluster)
}

func (o *operator) cleanupBeforeNodes() cleanupStep {
	return cleanupStep{operator: o, name: "cleanup", remove: func(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
		connection := o.options.Workload.Get(keyOf(cluster))
		if connection == nil && o.apiDeleting(cluster) {
			return operatorkit.Done() // The API server is being deleted or no longer exists.
		}
		if connection == nil && cluster.Status.Version != "" { // The operator was restarted during the deletion.
			if connection, _ = o.credentials.Connect(ctx, cluster); connection != nil && !o.waited(cluster) {
				return operatorkit.Wait(connectTime, "Connecting", "Connecting to the cluster so that it can delete its load balancers.")
			}
		}
		return o.options.Cleanup.BeforeNodes(ctx, cluster, o.targets.Of(cluster), connection)
	}}
}

// apiDeleting reports whether the deletion of the stack of an API server has started: that of a slot, or the base
// stack if EKS runs the control plane.
func (o *operator) apiDeleting(cluster *v1alpha1.Cluster) bool {
	names := []string{model.BaseStackName(cluster.Name)}
	for slot := range model.MostSlots {
		names = append(names, model.SlotStackName(cluster.Name, slot))
	}
	for _, name := range names {
		known, err := record.Decode(record.Find(cluster, name))
		if err == nil && known.Deleting {
			return true
		}
	}
	return false
}

// connectTime is how long a cluster that is being deleted has to respond.
const connectTime = 5 * time.Second

// waited reports whether the deletion of a cluster has taken longer than connectTime.
func (o *operator) waited(cluster *v1alpha1.Cluster) bool {
	return o.options.Clock.Since(cluster.DeletionTimestamp.Time) > connectTime
}

func (o *operator) cleanupAfterNodes() cleanupStep {
	return cleanupStep{
		operator: o,
		name:     "cleanup-after-nodes",
		remove: func(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
			if outcome := o.outputs.Confirmed(ctx, cluster); !outcome.IsDone() {
				return outcome
			}
			return o.options.Cleanup.AfterNodes(ctx, cluster, o.targets.Of(cluster))
		},
	}
}

func (o *operator) sweep() cleanupStep {
	return cleanupStep{operator: o, name: "sweep", remove: func(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
		if outcome := o.outputs.Confirmed(ctx, cluster); !outcome.IsDone() {
			return outcome
		}
		return o.options.Cleanup.Sweep(ctx, cluster, o.targets.Of(cluster))
	}}
}

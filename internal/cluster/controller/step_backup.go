package controller

import (
	"context"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// backupStep keeps snapshots of etcd's volumes, and reports the backups that slots put into the
// bucket. A failed backup is reported and blocks no other step.
type backupStep struct{ *operator }

// Name returns the step's name.
func (s backupStep) Name() string { return "backup" }

// EnsureCreated takes and deletes the backups that are due.
func (s backupStep) EnsureCreated(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	outcome := s.backups.Ensure(ctx, cluster, s.healthySlots(cluster))
	return outcomes.RequeueAfterMin(outcome, s.bucketBackups.Ensure(ctx, cluster).After())
}

// EnsureDeleted removes the conditions.
func (s backupStep) EnsureDeleted(_ context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	s.backups.Delete(cluster)
	s.bucketBackups.Delete(cluster)
	return operatorkit.Done()
}

// healthySlots reports for each slot whether its node is Ready, which requires that its etcd member
// is part of the quorum.
func (o *operator) healthySlots(cluster *v1alpha1.Cluster) []bool {
	healthy := make([]bool, cluster.Spec.ControlPlane.Slots())
	connection := o.options.Workload.Get(keyOf(cluster))
	if connection == nil {
		return healthy
	}
	if reachable, _ := connection.Reachable(); !reachable {
		return healthy
	}
	for _, node := range connection.Nodes() {
		// While a slot moves, the outputs may name a volume that it no longer uses.
		moves := model.EtcdVolumeOf(cluster.Status.Etcd, cluster.Spec.ControlPlane.RestoreSnapshot, node.Slot).MovesTo != ""
		if node.Ready && node.Slot >= 0 && node.Slot < len(healthy) && !moves {
			healthy[node.Slot] = true
		}
	}
	return healthy
}

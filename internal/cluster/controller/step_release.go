package controller

import (
	"context"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// releaseStep records the Release that the whole control plane runs. It does not wait: a cluster
// that is being created needs its addons before its nodes are Ready.
type releaseStep struct{ *operator }

// Name returns the step's name.
func (s releaseStep) Name() string { return "release" }

// EnsureCreated compares the control plane's nodes with the Release. The slots' stacks are up to
// date when it is called.
func (s releaseStep) EnsureCreated(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	to, err := s.objects.Release(ctx, cluster)
	if err != nil {
		return operatorkit.Fail(err)
	}
	if to.Name == cluster.Status.Release && to.Spec.Kubernetes == cluster.Status.Version {
		return operatorkit.Done()
	}
	connection := s.options.Workload.Get(keyOf(cluster))
	if connection == nil {
		return operatorkit.Done()
	}
	moved := map[int]bool{}
	for _, node := range connection.Nodes() {
		if node.Slot == workload.NoSlot || !node.Ready {
			continue
		}
		moved[node.Slot] = moved[node.Slot] || record.Boots(&node, bundleOfSlot(cluster, node.Slot)) && node.Version == to.Spec.Kubernetes
	}
	for slot := range int(cluster.Spec.ControlPlane.Slots()) {
		if !moved[slot] {
			return operatorkit.Done()
		}
	}
	cluster.Status.Release, cluster.Status.Version = to.Name, to.Spec.Kubernetes
	return operatorkit.Done()
}

// EnsureDeleted has nothing to do.
func (s releaseStep) EnsureDeleted(context.Context, *v1alpha1.Cluster) operatorkit.Outcome {
	return operatorkit.Done()
}

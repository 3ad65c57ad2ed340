package controller

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// readAgain is when to look again at a cluster of which nothing is heard.
const readAgain = 12 * time.Hour

// readyStep waits for the nodes of the control plane.
type readyStep struct{ *operator }

// Name returns the step's name.
func (s readyStep) Name() string { return "ready" }

// EnsureCreated is done when every slot has a node that is ready. It counts if it booted from what the slot is made from: in etcd
// that comes back from a snapshot the Nodes of machines that are gone are ready until somebody looks at them.
func (s readyStep) EnsureCreated(_ context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	ready := map[int]bool{}
	var versions []string
	if connection := s.options.Workload.Get(keyOf(cluster)); connection != nil {
		for _, node := range connection.Nodes() {
			if node.Ready && node.Slot != workload.NoSlot && boots(&node, bundleOfSlot(cluster, node.Slot)) {
				ready[node.Slot] = true
				versions = append(versions, node.Version)
			}
		}
	}
	if replicas := int(cluster.Spec.ControlPlane.Replicas); len(ready) < replicas {
		return operatorkit.Wait(awaitAgain, "ControlPlaneNodesMissing", fmt.Sprintf("%d of %d control-plane nodes are ready.", len(ready), replicas)).Quietly()
	}
	cluster.Status.Version = cmp.Or(lowest(versions), cluster.Status.Version)
	// What was needed to make the cluster is not needed to keep it.
	s.dropModels(cluster.UID)
	s.authorities.drop(cluster.UID)
	s.brought.drop(cluster.UID)
	message := "The cluster is up: its control plane serves at " + cluster.Status.Endpoint + "."
	return operatorkit.Done().Explain(operatorkit.ReasonReady, message).LookAgain(readAgain)
}

// lowest returns the lowest of Kubernetes' versions: a control plane is of a release when all of its machines
// are. A slot's kubelet is of the version of its API server, since both come from one bundle.
func lowest(versions []string) string {
	least, text := (*version.Version)(nil), ""
	for _, one := range versions {
		parsed, err := version.ParseSemantic(one)
		if err == nil && (least == nil || parsed.LessThan(least)) {
			least, text = parsed, one
		}
	}
	return text
}

// EnsureDeleted begins the deletion: it takes back what was said of the cluster, and makes sure that it
// is known where it stands.
func (s readyStep) EnsureDeleted(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	for _, conditionType := range []string{conditionNetwork, conditionControlPlane, conditionAPI, conditionNodes} {
		operatorkit.RemoveCondition(cluster, conditionType)
	}
	return accountStep(s).findAgain(ctx, cluster)
}

package controller

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// readyStep counts the nodes and waits for those of the control plane.
type readyStep struct{ *operator }

// Name returns the step's name.
func (s readyStep) Name() string { return "ready" }

// EnsureCreated is done when every slot has a node that is ready.
func (s readyStep) EnsureCreated(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	release, err := s.operator.release(ctx, cluster)
	if err != nil {
		return operatorkit.Fail(err)
	}
	groups, err := s.groupsOf(ctx, keyOf(cluster))
	if err != nil {
		return operatorkit.Fail(err)
	}
	slots, all := s.count(cluster, groups)
	cluster.Status.Nodes = all
	condition := metav1.Condition{Type: conditionNodes, Status: metav1.ConditionTrue, Reason: "AllReady", Message: "All nodes are ready."}
	if all.Ready < all.Desired {
		condition.Status, condition.Reason = metav1.ConditionFalse, "NodesMissing"
		condition.Message = fmt.Sprintf("%d of %d nodes are ready.", all.Ready, all.Desired)
	}
	operatorkit.SetCondition(cluster, condition)
	if replicas := cluster.Spec.ControlPlane.Replicas; slots < replicas {
		return operatorkit.Wait(awaitAgain, "ControlPlaneNodesMissing", fmt.Sprintf("%d of %d control-plane nodes are ready.", slots, replicas))
	}
	cluster.Status.Version = release.Spec.Kubernetes
	// What was needed to make the cluster is not needed to keep it.
	s.models.drop(cluster.UID)
	s.authorities.drop(cluster.UID)
	return operatorkit.Done().Explain(operatorkit.ReasonReady, "The cluster is up: its control plane serves at "+cluster.Status.Endpoint+".").LookAgain(12 * time.Hour)
}

// EnsureDeleted says that the nodes go.
func (s readyStep) EnsureDeleted(_ context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	for _, conditionType := range []string{conditionNetwork, conditionControlPlane, conditionAPI, conditionNodes} {
		operatorkit.RemoveCondition(cluster, conditionType)
	}
	return operatorkit.Done()
}

// count counts the slots with a ready node, and all nodes.
func (s readyStep) count(cluster *v1alpha1.Cluster, groups []v1alpha1.InstanceGroup) (slots int32, all v1alpha1.NodeCount) {
	connection := s.options.Workload.Get(keyOf(cluster))
	if connection == nil {
		return 0, cluster.Status.Nodes
	}
	bundles := map[string]string{}
	sizes := map[string]int32{}
	for i := range groups {
		sizes[groups[i].Name] = groups[i].Spec.MinSize
		if groups[i].Status.Stack != nil {
			bundles[groups[i].Name] = groups[i].Status.Stack.Bundle
		}
	}
	members := map[string]int32{}
	ready := map[int]bool{}
	for _, node := range connection.Nodes() {
		bundle := bundles[node.Group]
		if node.Slot >= 0 {
			if status := knownStack(cluster, model.SlotStackName(cluster.Name, node.Slot)); status != nil {
				bundle = status.Bundle
			}
		} else {
			members[node.Group]++
		}
		if bundle != "" && node.Bundle == bundle[:min(len(bundle), model.BundleLabelLength)] {
			all.Updated++
		}
		if node.Ready {
			all.Ready++
			ready[node.Slot] = true
		}
	}
	delete(ready, -1)
	all.Desired = cluster.Spec.ControlPlane.Replicas
	for group, size := range sizes {
		all.Desired += max(size, members[group])
	}
	all.Summary = fmt.Sprintf("%d/%d", all.Ready, all.Desired)
	return int32(len(ready)), all //nolint:gosec // at most three slots
}

package controller

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/conditions"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// tally counts the cluster's nodes for its status and sets the nodes' condition.
func (o *operator) tally(ctx context.Context, cluster *v1alpha1.Cluster, nodes []workload.Node) error {
	groups, err := o.objects.GroupsOf(ctx, keyOf(cluster))
	if err != nil {
		return err
	}
	count := countNodes(cluster, groups, nodes)
	cluster.Status.Nodes = count
	condition := metav1.Condition{Type: conditions.Nodes, Status: metav1.ConditionTrue, Reason: "AllReady", Message: "All nodes are ready."}
	if count.Ready < count.Desired {
		condition.Status, condition.Reason = metav1.ConditionFalse, "NodesMissing"
		condition.Message = fmt.Sprintf("%d of %d nodes are ready.", count.Ready, count.Desired)
	}
	if unconfirmed := o.instances.ReportUnconfirmed(cluster, nodes); unconfirmed != "" {
		condition.Message += " " + unconfirmed
	}
	operatorkit.SetCondition(cluster, condition)
	return nil
}

// countNodes counts nodes. The desired number of a group is the larger of its minimum and its
// current size: the cluster autoscaler decides how many it has above its minimum.
func countNodes(cluster *v1alpha1.Cluster, groups []v1alpha1.InstanceGroup, nodes []workload.Node) v1alpha1.NodeCount {
	bundles, members := map[string]string{}, map[string]int32{}
	for i := range groups {
		if groups[i].Status.Stack != nil {
			bundles[groups[i].Name] = groups[i].Status.Stack.Bundle
		}
	}
	count := v1alpha1.NodeCount{Desired: cluster.Spec.ControlPlane.Slots()}
	for _, node := range nodes {
		bundle := bundles[node.Group]
		if node.Slot != workload.NoSlot {
			bundle = bundleOfSlot(cluster, node.Slot)
		} else {
			members[node.Group]++
		}
		if record.Boots(&node, bundle) {
			count.Updated++
		}
		if node.Ready {
			count.Ready++
		}
	}
	if model.UsesEKS(cluster) { // EKS Auto Mode has as many nodes of no group as pods need, and replaces them itself.
		count.Desired += members[""]
		count.Updated += members[""]
	}
	for i := range groups {
		if model.UsesEKS(cluster) && !model.IsSelfManaged(&groups[i].Spec) { // Its nodes have no bundles.
			count.Updated += groups[i].Status.Nodes.Updated
		}
		count.Desired += max(groups[i].Spec.ExpectedNodes(), members[groups[i].Name])
	}
	count.Summary = fmt.Sprintf("%d/%d", count.Ready, count.Desired)
	count.UpdatedSummary = fmt.Sprintf("%d/%d", count.Updated, count.Desired)
	return count
}

// bundleOfSlot returns the hash of a slot's bundle, "" if it has none.
func bundleOfSlot(cluster *v1alpha1.Cluster, slot int) string {
	status := record.Find(cluster, model.SlotStackName(cluster.Name, slot))
	if status == nil {
		return ""
	}
	return status.Bundle
}

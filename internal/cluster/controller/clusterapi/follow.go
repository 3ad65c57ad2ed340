package clusterapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/conditions"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// FieldOwner is the field manager of the fields of specs that the contract makes the operator write.
const FieldOwner = "aws-operator-cluster-api"

// FollowCluster writes the address of the API into the spec of a Cluster with an owner, where the
// contract wants it. It returns an error if the API server fails.
func (o *Objects) FollowCluster(ctx context.Context, writer client.Client, cluster *v1alpha1.Cluster) error {
	owner := o.ClusterOwner(ctx, cluster)
	endpoint := Endpoint(cluster)
	if !owner.Follows() || endpoint == nil {
		return nil
	}
	if cluster.Spec.ControlPlaneEndpoint != nil && *cluster.Spec.ControlPlaneEndpoint == *endpoint {
		noLongerRefused(cluster)
		return nil
	}
	refused, err := apply(ctx, writer, cluster, "Cluster", map[string]any{
		"controlPlaneEndpoint": map[string]any{"host": endpoint.Host, "port": int64(endpoint.Port)},
	})
	if err == nil && !refused {
		cluster.Spec.ControlPlaneEndpoint = endpoint
	}
	return err
}

// FollowGroup writes the number of nodes that a MachinePool asks for, and the provider IDs of the nodes
// that there are, into the spec of an InstanceGroup. Nodes are those of the group's cluster; nil if
// they are not known.
func (o *Objects) FollowGroup(ctx context.Context, writer client.Client, group *v1alpha1.InstanceGroup, nodes []workload.Node) error {
	owner := o.GroupOwner(ctx, group)
	if !owner.Follows() {
		return nil
	}
	spec, ids, replicas := map[string]any{}, group.Spec.ProviderIDList, replicasOf(owner.object, group)
	if nodes != nil {
		ids = providerIDs(group, nodes)
	}
	if replicas != nil {
		spec["replicas"] = int64(*replicas)
	}
	if len(ids) > 0 {
		list := make([]any, len(ids))
		for i := range ids {
			list[i] = ids[i]
		}
		spec["providerIDList"] = list
	}
	same := slices.Equal(ids, group.Spec.ProviderIDList) &&
		(replicas == nil || group.Spec.Replicas != nil && *replicas == *group.Spec.Replicas)
	if same {
		noLongerRefused(group)
		return nil
	}
	refused, err := apply(ctx, writer, group, kindInstanceGroup, spec)
	if err != nil || refused {
		return err
	}
	group.Spec.ProviderIDList = ids
	if replicas != nil {
		group.Spec.Replicas = replicas
	}
	return nil
}

// replicasOf returns the number of nodes that a MachinePool asks for, nil if something else determines
// it: by the annotation of the pool, or because the group is for the cluster autoscaler or Karpenter.
// https://cluster-api.sigs.k8s.io/developer/core/controllers/machine-pool#externally-managed-autoscaler
func replicasOf(pool *unstructured.Unstructured, group *v1alpha1.InstanceGroup) *int32 {
	if value, ok := pool.GetAnnotations()[v1alpha1.ClusterAPIReplicasAnnotation]; ok {
		if managed, err := strconv.ParseBool(value); err != nil || managed {
			return nil
		}
	}
	replicas, found, err := unstructured.NestedInt64(pool.Object, "spec", "replicas")
	if err != nil || !found || group.Spec.Autoscale || group.Spec.Manager == v1alpha1.ManagerKarpenter {
		return nil
	}
	wanted := int32(replicas) //nolint:gosec // an int32 by the schema of MachinePools; the API server refuses others
	return &wanted
}

// providerIDs returns the sorted provider IDs of a group's nodes. CAPI deletes the Node of an ID that
// leaves the list, so an ID leaves only when no Node claims its instance any more, even if EC2 has not
// confirmed the claim yet.
func providerIDs(group *v1alpha1.InstanceGroup, nodes []workload.Node) []string {
	var ids []string
	for i := range nodes {
		node := &nodes[i]
		if node.ProviderID == "" {
			continue
		}
		ours := node.InstanceID != "" && node.Group == group.Name
		if ours || slices.Contains(group.Spec.ProviderIDList, node.ProviderID) {
			ids = append(ids, node.ProviderID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// apply writes fields of an object's spec, and sets the condition ClusterAPIFollowed if the API server
// refuses them. The UID makes the write fail for another object of that name.
func apply(ctx context.Context, writer client.Client, obj client.Object, kind string, spec map[string]any) (refused bool, err error) {
	configuration := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	configuration.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	configuration.SetNamespace(obj.GetNamespace())
	configuration.SetName(obj.GetName())
	configuration.SetUID(obj.GetUID())
	err = writer.Apply(
		ctx, client.ApplyConfigurationFromUnstructured(configuration), client.FieldOwner(FieldOwner), client.ForceOwnership,
	)
	condition := followed
	switch {
	case apierrors.IsInvalid(err):
		condition.Status, condition.Reason = metav1.ConditionFalse, ReasonWriteRefused
		condition.Message = fmt.Sprintf("The API server refuses what Cluster API's objects ask for: %s.", cmp.Or(causeOf(err), err.Error()))
	case err != nil:
		return false, fmt.Errorf("write the fields of Cluster API into %s %s: %w", kind, client.ObjectKeyFromObject(obj), err)
	}
	operatorkit.SetCondition(obj, condition)
	return condition.Status == metav1.ConditionFalse, nil
}

// noLongerRefused resets the condition of an object whose spec has what was refused before.
func noLongerRefused(obj client.Object) {
	if was := operatorkit.FindCondition(obj, conditions.ClusterAPI); was != nil && was.Reason == ReasonWriteRefused {
		operatorkit.SetCondition(obj, followed)
	}
}

// causeOf returns the first cause of a refusal.
func causeOf(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil || len(status.Status().Details.Causes) == 0 {
		return ""
	}
	cause := status.Status().Details.Causes[0]
	return cause.Field + ": " + cause.Message
}

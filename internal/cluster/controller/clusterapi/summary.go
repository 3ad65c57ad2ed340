package clusterapi

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/conditions"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// SummarizeCluster sets what the contract reads in the status of a Cluster, from its conditions and
// outputs, and removes it from a Cluster without an owner.
func (o *Objects) SummarizeCluster(cluster *v1alpha1.Cluster) {
	ctx := context.Background() // Reads from the informer cache.
	owner := o.ClusterOwner(ctx, cluster)
	if owner.Unknown {
		return
	}
	if !owner.Follows() {
		cluster.Status.Initialization, cluster.Status.ExternalManagedControlPlane = nil, nil
		remove(cluster, conditions.Available)
	}
	setOwned(cluster, &owner, o.ClusterPause(ctx, cluster))
	if !owner.Follows() {
		return
	}
	reachable := meta.FindStatusCondition(cluster.Status.Conditions, conditions.API)
	was := v1alpha1.ClusterInitialization{}
	if cluster.Status.Initialization != nil {
		was = *cluster.Status.Initialization
	}
	cluster.Status.Initialization = &v1alpha1.ClusterInitialization{
		Provisioned:             was.Provisioned || Endpoint(cluster) != nil,
		ControlPlaneInitialized: was.ControlPlaneInitialized || reachable != nil && reachable.Status == metav1.ConditionTrue,
	}
	external := true
	cluster.Status.ExternalManagedControlPlane = &external
	available := metav1.Condition{
		Type: conditions.Available, Status: metav1.ConditionFalse, Reason: "NotAvailable",
		Message: "The Kubernetes API does not respond yet.",
	}
	switch {
	case !cluster.DeletionTimestamp.IsZero():
		available.Reason, available.Message = "Deleting", "The cluster is being deleted."
	case reachable != nil && reachable.Status == metav1.ConditionTrue:
		available.Status, available.Reason, available.Message = metav1.ConditionTrue, "Available", ""
	case reachable != nil:
		available.Message = reachable.Message
	}
	operatorkit.SetCondition(cluster, available)
}

// SummarizeGroup sets what the contract reads in the status of an InstanceGroup, and removes it from a
// group without an owner. Paused is whether the group or its Cluster is paused by CAPI.
func (o *Objects) SummarizeGroup(group *v1alpha1.InstanceGroup, paused Pause) {
	owner := o.GroupOwner(context.Background(), group) // Reads from the informer cache.
	if owner.Unknown {
		return
	}
	setOwned(group, &owner, paused)
	if !owner.Follows() {
		group.Status.Initialization, group.Status.Replicas, group.Status.ReadyForPool = nil, nil, false
		return
	}
	provisioned := group.Status.ReadyForPool || meta.IsStatusConditionTrue(group.Status.Conditions, operatorkit.ConditionReady)
	group.Status.Initialization = &v1alpha1.GroupInitialization{Provisioned: provisioned}
	group.Status.ReadyForPool = provisioned
	replicas := int32(len(group.Spec.ProviderIDList)) //nolint:gosec // at most 2000, by the CRD
	group.Status.Replicas = &replicas
}

// followed is the condition of an object that does what its owner says.
var followed = metav1.Condition{
	Type: conditions.ClusterAPI, Status: metav1.ConditionTrue, Reason: ReasonFollowed, Message: "Cluster API drives this object.",
}

// setOwned sets the conditions ClusterAPIFollowed and Paused of an object that has an owner, and
// removes them from others. The reason of a write that was refused stays: the step that writes sets it.
func setOwned(obj client.Object, owner *Owner, pause Pause) {
	if !owner.Exists {
		remove(obj, conditions.ClusterAPI)
		remove(obj, conditions.CAPIPaused)
		return
	}
	is := followed
	if owner.Problem != nil {
		is.Status, is.Reason, is.Message = metav1.ConditionFalse, owner.Problem.Reason, owner.Problem.Message
	}
	was := operatorkit.FindCondition(obj, conditions.ClusterAPI)
	if owner.Problem != nil || was == nil || was.Reason != ReasonWriteRefused {
		operatorkit.SetCondition(obj, is)
	}
	// https://cluster-api.sigs.k8s.io/developer/providers/contracts/infra-cluster#infracluster-pausing
	paused := metav1.Condition{Type: conditions.CAPIPaused, Status: metav1.ConditionFalse, Reason: "NotPaused"}
	if pause.Paused {
		paused.Status, paused.Reason, paused.Message = metav1.ConditionTrue, "Paused", pause.Message
	}
	operatorkit.SetCondition(obj, paused)
}

// remove removes a condition if there is one.
func remove(obj client.Object, conditionType string) {
	if operatorkit.FindCondition(obj, conditionType) != nil {
		operatorkit.RemoveCondition(obj, conditionType)
	}
}

// Endpoint returns the address of a Cluster's API, nil if there is none yet.
func Endpoint(cluster *v1alpha1.Cluster) *v1alpha1.ControlPlaneEndpoint {
	host := model.APIAddress(cluster.Status.Outputs)
	if host == "" {
		return nil
	}
	if dns := cluster.Spec.DNS; dns != nil && dns.Name != "" {
		host = dns.Name
	}
	return &v1alpha1.ControlPlaneEndpoint{Host: host, Port: model.PortAPI}
}

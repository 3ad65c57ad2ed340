package fleet

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// Types of conditions that decide the health.
const (
	conditionReady   = "Ready"
	conditionStalled = "Stalled"
	conditionUpdated = "NodesUpdated"
)

// Health is whether a Cluster is up to date with its spec.
type Health int

// Healths.
const (
	// Unhealthy means that the Cluster or an InstanceGroup of it is not Ready, or not with its current spec.
	Unhealthy Health = iota
	// Healthy means that the Cluster and its InstanceGroups are Ready with their current specs.
	Healthy
	// Stalled means that a user must act.
	Stalled
)

// HealthOf returns the health of a Cluster with its InstanceGroups, and the reason if it is not healthy.
func HealthOf(cluster *v1alpha1.Cluster, groups []*v1alpha1.InstanceGroup) (Health, string) {
	health, message := healthOf(cluster.Status.Conditions, cluster.Generation, cluster.Status.ObservedGeneration)
	if health == Healthy && cluster.Status.Release != cluster.Spec.Release {
		health, message = Unhealthy, fmt.Sprintf("The control plane does not run release %s yet.", cluster.Spec.Release)
	}
	for _, group := range groups {
		if health == Stalled || !group.DeletionTimestamp.IsZero() {
			continue
		}
		of, why := healthOf(group.Status.Conditions, group.Generation, group.Status.ObservedGeneration)
		if of == Healthy && (group.Status.Release != cluster.Spec.Release ||
			meta.IsStatusConditionFalse(group.Status.Conditions, conditionUpdated)) {
			of, why = Unhealthy, "Its nodes are not updated yet."
		}
		if of == Stalled || of == Unhealthy && health == Healthy {
			health, message = of, fmt.Sprintf("InstanceGroup %s: %s", group.Name, why)
		}
	}
	return health, message
}

// healthOf returns the health of one object by its conditions.
func healthOf(conditions []metav1.Condition, generation, observed int64) (Health, string) {
	ready := meta.FindStatusCondition(conditions, conditionReady)
	stalled := meta.FindStatusCondition(conditions, conditionStalled)
	switch {
	case observed != generation || ready == nil || ready.ObservedGeneration != generation:
		return Unhealthy, "The operator has not reconciled the last change yet."
	case stalled != nil && stalled.Status == metav1.ConditionTrue:
		return Stalled, stalled.Message
	case ready.Status != metav1.ConditionTrue:
		return Unhealthy, ready.Message
	}
	return Healthy, ""
}

// IsApproving reports whether a change of a Cluster or of an InstanceGroup of it waits for approval.
func IsApproving(cluster *v1alpha1.Cluster, groups []*v1alpha1.InstanceGroup) bool {
	if len(cluster.Status.PendingChanges) > 0 {
		return true
	}
	for _, group := range groups {
		if len(group.Status.PendingChanges) > 0 {
			return true
		}
	}
	return false
}

// Conditions returns the types of the conditions that [HealthOf] reads.
func Conditions() []string { return []string{conditionReady, conditionStalled, conditionUpdated} }

package clusterapi

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// unknownRequeue is when to reconcile an object again whose owner is not known yet.
const unknownRequeue = time.Second

// Pause is why an object is paused by CAPI: Message is for users. The zero value means that it is not.
type Pause struct {
	Paused  bool
	Message string
	// After is when to ask again, zero if something reports the change.
	After time.Duration
}

var ownerUnknown = Pause{
	Paused: true, After: unknownRequeue,
	Message: "The operator has not read the objects of Cluster API yet, which may have paused this object.",
}

// ClusterPause returns whether CAPI pauses a Cluster: by spec.paused of the owner, or by the annotation
// of the Cluster. An owner that is not followed for its name or kind pauses it, too; one that does not
// refer to the Cluster does not.
// https://cluster-api.sigs.k8s.io/developer/providers/contracts/control-plane#controlplane-pausing
func (o *Objects) ClusterPause(ctx context.Context, cluster *v1alpha1.Cluster) Pause {
	owner := o.ClusterOwner(ctx, cluster)
	switch {
	case owner.Unknown:
		return ownerUnknown
	case !owner.Exists || owner.Problem != nil && owner.Problem.Reason == ReasonNotReferenced:
		return Pause{}
	case isPaused(owner.object):
		return pausedBy(owner.Name)
	}
	if _, ok := cluster.Annotations[v1alpha1.ClusterAPIPausedAnnotation]; ok {
		return annotated
	}
	return Pause{}
}

// GroupPause returns whether CAPI pauses an InstanceGroup itself: by spec.paused of the Cluster of its
// MachinePool, or by its annotation. It does not see whether its Cluster is paused.
func (o *Objects) GroupPause(ctx context.Context, group *v1alpha1.InstanceGroup) Pause {
	owner := o.GroupOwner(ctx, group)
	switch {
	case owner.Unknown:
		return ownerUnknown
	case !owner.Exists || owner.Problem != nil:
		return Pause{}
	}
	if _, ok := group.Annotations[v1alpha1.ClusterAPIPausedAnnotation]; ok {
		return annotated
	}
	cluster := empty(kindCluster)
	if err := (*o.cache.Load()).Get(ctx, types.NamespacedName{Namespace: group.Namespace, Name: group.Spec.Cluster}, cluster); err == nil &&
		isPaused(cluster) {
		return pausedBy(cluster.GetName())
	}
	return Pause{}
}

// MayPauseDiffers reports whether an update of a Cluster may change whether CAPI pauses it.
func MayPauseDiffers(was, is *v1alpha1.Cluster) bool {
	_, before := was.Annotations[v1alpha1.ClusterAPIPausedAnnotation]
	_, after := is.Annotations[v1alpha1.ClusterAPIPausedAnnotation]
	return before != after || !slices.EqualFunc(was.OwnerReferences, is.OwnerReferences, func(a, b metav1.OwnerReference) bool {
		return a.UID == b.UID
	})
}

var annotated = Pause{Paused: true, Message: "The object is paused: the operator does not reconcile or delete it until the annotation " +
	v1alpha1.ClusterAPIPausedAnnotation + " is removed."}

func pausedBy(owner string) Pause {
	return Pause{Paused: true, Message: "The object is paused: the operator does not reconcile or delete it until spec.paused of the Cluster " +
		owner + " of Cluster API is false."}
}

func isPaused(cluster *unstructured.Unstructured) bool {
	paused, _, _ := unstructured.NestedBool(cluster.Object, "spec", "paused")
	return paused
}

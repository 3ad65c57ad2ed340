package controller

import (
	"context"
	"maps"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsevents"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/clusterapi"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/conditions"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/directory"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/objects"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/stackcache"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

// observe handles an AWS event and enqueues the objects of its stack.
func (o *operator) observe(e awsevents.Event) {
	if e.Stack == nil {
		o.draining.Observe(e)
		return
	}
	for _, found := range o.directory.Of(directory.Stack{Account: e.Account, Region: e.Region, Name: e.Stack.StackName}) {
		o.stacks.Unsettle(stackcache.Key{UID: found.UID, Stack: e.Stack.StackName})
		if found.Group {
			o.groups.Enqueue(found.Key)
		} else {
			o.clusters.Enqueue(found.Key)
		}
	}
}

// observeWorkload enqueues the objects that a change in a workload cluster concerns.
func (o *operator) observeWorkload(change workload.Change) {
	o.draining.NodesChanged()
	o.clusters.Enqueue(change.Cluster)
	if change.Group != "" {
		o.groups.Enqueue(types.NamespacedName{Namespace: change.Cluster.Namespace, Name: change.Group})
		return
	}
	if !change.Whole {
		return
	}
	groups, err := o.objects.GroupsOf(context.Background(), change.Cluster) // Reads from the informer cache.
	if err != nil {
		return
	}
	for i := range groups {
		o.groups.Enqueue(keyOf(&groups[i]))
	}
}

// secretChanged drops the caches of a Cluster's Secrets and enqueues it when one of them changes or
// is deleted.
func (o *operator) secretChanged(obj any) {
	if unknown, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = unknown.Obj
	}
	secret, ok := obj.(client.Object)
	if !ok {
		return
	}
	controller := metav1.GetControllerOf(secret)
	if controller == nil || controller.Kind != "Cluster" || controller.APIVersion != v1alpha1.GroupVersion.String() {
		return
	}
	o.credentials.Changed(controller.UID)
	o.bucket.Changed(controller.UID)
	o.clusters.Enqueue(types.NamespacedName{Namespace: secret.GetNamespace(), Name: controller.Name})
}

// clusterChangedPredicate selects the updates of a Cluster that its InstanceGroups need.
func clusterChangedPredicate() predicate.TypedPredicate[*v1alpha1.Cluster] {
	return predicate.TypedFuncs[*v1alpha1.Cluster]{
		UpdateFunc: func(e event.TypedUpdateEvent[*v1alpha1.Cluster]) bool {
			was, is := e.ObjectOld, e.ObjectNew
			return was.Generation != is.Generation || was.Status.Release != is.Status.Release || was.Status.Account != is.Status.Account ||
				isPaused(was) != isPaused(is) || clusterapi.MayPauseDiffers(was, is) ||
				was.DeletionTimestamp.IsZero() != is.DeletionTimestamp.IsZero() || isAbandoned(was) != isAbandoned(is) ||
				!maps.Equal(was.Status.Outputs, is.Status.Outputs) ||
				meta.IsStatusConditionTrue(
					was.Status.Conditions, conditions.API,
				) != meta.IsStatusConditionTrue(is.Status.Conditions, conditions.API)
		},
	}
}

// groupChangedPredicate selects the updates of an InstanceGroup that its Cluster needs.
func groupChangedPredicate() predicate.TypedPredicate[*v1alpha1.InstanceGroup] {
	return predicate.TypedFuncs[*v1alpha1.InstanceGroup]{
		UpdateFunc: func(e event.TypedUpdateEvent[*v1alpha1.InstanceGroup]) bool {
			return e.ObjectOld.Generation != e.ObjectNew.Generation ||
				!reflect.DeepEqual(e.ObjectOld.Status.Nodes, e.ObjectNew.Status.Nodes)
		},
	}
}

// groupsOfCluster enqueues the InstanceGroups of a Cluster.
func (o *operator) groupsOfCluster() handler.TypedEventHandler[*v1alpha1.Cluster, reconcile.Request] {
	return handler.TypedEnqueueRequestsFromMapFunc(func(ctx context.Context, cluster *v1alpha1.Cluster) []reconcile.Request {
		groups, err := o.objects.GroupsOf(ctx, keyOf(cluster))
		if err != nil {
			return nil
		}
		requests := make([]reconcile.Request, len(groups))
		for i := range groups {
			requests[i].NamespacedName = keyOf(&groups[i])
		}
		return requests
	})
}

// clusterOfGroup enqueues the Cluster of an InstanceGroup.
func (o *operator) clusterOfGroup() handler.TypedEventHandler[*v1alpha1.InstanceGroup, reconcile.Request] {
	return handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, group *v1alpha1.InstanceGroup) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: group.Namespace, Name: group.Spec.Cluster}}}
	})
}

// clustersOfRelease enqueues the Clusters that name a Release.
func (o *operator) clustersOfRelease() handler.TypedEventHandler[*v1alpha1.Release, reconcile.Request] {
	return handler.TypedEnqueueRequestsFromMapFunc(func(ctx context.Context, release *v1alpha1.Release) []reconcile.Request {
		list := &v1alpha1.ClusterList{}
		if err := o.client.List(ctx, list, client.MatchingFields{objects.IndexRelease: release.Name}); err != nil {
			return nil
		}
		requests := make([]reconcile.Request, len(list.Items))
		for i := range list.Items {
			requests[i].NamespacedName = keyOf(&list.Items[i])
		}
		return requests
	})
}

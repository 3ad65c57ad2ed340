package fleets

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/fleet"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

type queueOfController = workqueue.TypedRateLimitingInterface[reconcile.Request]

// indexCluster indexes InstanceGroups by their Clusters.
const indexCluster = "spec.cluster"

// newCache returns the cache of the Clusters and InstanceGroups of all shards. It watches nothing until it is used.
func newCache(mgr ctrl.Manager, namespaces map[string]cache.Config) (cache.Cache, error) {
	clusters, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), DefaultNamespaces: namespaces,
		ByObject: map[client.Object]cache.ByObject{
			&v1alpha1.Cluster{}:       {Transform: trimCluster},
			&v1alpha1.InstanceGroup{}: {Transform: trimGroup},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("create the cache of the Fleets' Clusters: %w", err)
	}
	return clusters, nil
}

// trimCluster removes what Fleets do not need of a Cluster.
func trimCluster(obj any) (any, error) {
	cluster, ok := obj.(*v1alpha1.Cluster)
	if !ok {
		return obj, nil
	}
	trimMeta(&cluster.ObjectMeta)
	was := &cluster.Status
	cluster.Status = v1alpha1.ClusterStatus{
		ObservedGeneration: was.ObservedGeneration, Conditions: trimConditions(was.Conditions), Version: was.Version, Release: was.Release,
		PendingChanges: trimChanges(was.PendingChanges),
	}
	return cluster, nil
}

// trimGroup removes what Fleets do not need of an InstanceGroup.
func trimGroup(obj any) (any, error) {
	group, ok := obj.(*v1alpha1.InstanceGroup)
	if !ok {
		return obj, nil
	}
	trimMeta(&group.ObjectMeta)
	was := &group.Status
	group.Status = v1alpha1.InstanceGroupStatus{
		ObservedGeneration: was.ObservedGeneration, Conditions: trimConditions(was.Conditions), Release: was.Release,
		PendingChanges: trimChanges(was.PendingChanges),
	}
	return group, nil
}

func trimMeta(of *metav1.ObjectMeta) {
	maps.DeleteFunc(of.Annotations, func(key, _ string) bool {
		return key != v1alpha1.PausedAnnotation && key != v1alpha1.FleetOwnsAnnotation
	})
	of.ManagedFields = slices.DeleteFunc(of.ManagedFields, func(e metav1.ManagedFieldsEntry) bool { return e.Subresource != "" })
	of.Finalizers, of.OwnerReferences = nil, nil
}

// trimConditions keeps the conditions that decide the health.
func trimConditions(conditions []metav1.Condition) []metav1.Condition {
	var kept []metav1.Condition
	for _, conditionType := range fleet.Conditions() {
		if found := meta.FindStatusCondition(conditions, conditionType); found != nil {
			kept = append(kept, *found)
		}
	}
	return kept
}

// trimChanges keeps whether there are changes.
func trimChanges(changes []v1alpha1.PendingChange) []v1alpha1.PendingChange {
	if len(changes) == 0 {
		return nil
	}
	return []v1alpha1.PendingChange{{Stack: changes[0].Stack}}
}

// watch starts the cache of Clusters, once.
func (c *controller) watch(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watching {
		return nil
	}
	handler := toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { c.changed(nil, obj) }, //nolint:contextcheck // Handlers have no context; it reads from the cache.
		UpdateFunc: c.changed,
		DeleteFunc: func(obj any) { //nolint:contextcheck // as above
			if unknown, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
				obj = unknown.Obj
			}
			c.changed(nil, obj)
		},
	}
	if err := c.clusters.IndexField(ctx, &v1alpha1.InstanceGroup{}, indexCluster, clusterOfGroup); err != nil {
		return fmt.Errorf("index the InstanceGroups of Fleets: %w", err)
	}
	for _, obj := range []client.Object{&v1alpha1.InstanceGroup{}, &v1alpha1.Cluster{}} {
		informer, err := c.clusters.GetInformer(ctx, obj)
		if err != nil {
			return fmt.Errorf("watch the Clusters of Fleets: %w", err)
		}
		if _, err := informer.AddEventHandler(handler); err != nil {
			return fmt.Errorf("watch the Clusters of Fleets: %w", err)
		}
	}
	c.watching = true
	return nil
}

func clusterOfGroup(obj client.Object) []string {
	group, ok := obj.(*v1alpha1.InstanceGroup)
	if !ok {
		return nil
	}
	return []string{group.Spec.Cluster}
}

// changed enqueues the Fleets that a Cluster or InstanceGroup concerns, unless nothing changed that matters to them.
func (c *controller) changed(old, changed any) {
	switch is := changed.(type) {
	case *v1alpha1.Cluster:
		was, _ := old.(*v1alpha1.Cluster)
		if was == nil || clusterMatters(was, is) {
			c.enqueueFleetsOf(is.Namespace, is, was)
		}
	case *v1alpha1.InstanceGroup:
		if was, ok := old.(*v1alpha1.InstanceGroup); ok && !groupMatters(was, is) {
			return
		}
		cluster := &v1alpha1.Cluster{}
		key := types.NamespacedName{Namespace: is.Namespace, Name: is.Spec.Cluster}
		if err := c.clusters.Get(context.Background(), key, cluster, client.UnsafeDisableDeepCopy); err == nil { // Reads from the cache.
			c.enqueueFleetsOf(is.Namespace, cluster, nil)
		}
	}
}

func clusterMatters(was, is *v1alpha1.Cluster) bool {
	return was.UID != is.UID || was.Generation != is.Generation || !maps.Equal(was.Labels, is.Labels) || isPaused(was) != isPaused(is) ||
		was.Annotations[v1alpha1.FleetOwnsAnnotation] != is.Annotations[v1alpha1.FleetOwnsAnnotation] ||
		was.DeletionTimestamp.IsZero() != is.DeletionTimestamp.IsZero() || was.Status.Release != is.Status.Release ||
		was.Status.Version != is.Status.Version || was.Status.ObservedGeneration != is.Status.ObservedGeneration ||
		len(was.Status.PendingChanges) != len(is.Status.PendingChanges) || !sameConditions(was.Status.Conditions, is.Status.Conditions)
}

func groupMatters(was, is *v1alpha1.InstanceGroup) bool {
	return was.UID != is.UID || was.Generation != is.Generation || was.Status.Release != is.Status.Release ||
		was.DeletionTimestamp.IsZero() != is.DeletionTimestamp.IsZero() || !maps.Equal(was.Labels, is.Labels) ||
		was.Annotations[v1alpha1.FleetOwnsAnnotation] != is.Annotations[v1alpha1.FleetOwnsAnnotation] ||
		was.Status.ObservedGeneration != is.Status.ObservedGeneration ||
		len(was.Status.PendingChanges) != len(is.Status.PendingChanges) || !sameConditions(was.Status.Conditions, is.Status.Conditions)
}

// sameConditions reports whether conditions have the same statuses for the same generations.
func sameConditions(was, is []metav1.Condition) bool {
	return slices.EqualFunc(was, is, func(a, b metav1.Condition) bool {
		return a.Type == b.Type && a.Status == b.Status && a.ObservedGeneration == b.ObservedGeneration
	})
}

func isPaused(cluster *v1alpha1.Cluster) bool {
	return cluster.Spec.Paused || operatorkit.HasPausedAnnotation(cluster, v1alpha1.PausedAnnotation)
}

// enqueueFleetsOf enqueues the Fleets that select one of several versions of a Cluster.
func (c *controller) enqueueFleetsOf(namespace string, versions ...*v1alpha1.Cluster) {
	var list v1alpha1.FleetList
	if err := c.fleets.List(context.Background(), &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return // Reads from the informer cache.
	}
	for i := range list.Items {
		key := client.ObjectKeyFromObject(&list.Items[i])
		selector, err := metav1.LabelSelectorAsSelector(&list.Items[i].Spec.Selector)
		if err != nil || !c.owns(key) {
			continue
		}
		selects := func(one *v1alpha1.Cluster) bool { return one != nil && selector.Matches(labels.Set(one.Labels)) }
		if slices.ContainsFunc(versions, selects) {
			c.delayed.enqueue(key)
		}
	}
}

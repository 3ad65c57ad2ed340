package controller

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/awsevents"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/directory"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/instances"
	"github.com/aws-operator/aws-operator/internal/cluster/drain"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
)

// observeInstance handles an instance event.
func (o *operator) observeInstance(e awsevents.Event) {
	switch news := e.Instance; {
	case news == nil:
	case news.Kind == awsevents.InstanceTerminating || news.Kind == awsevents.InstanceRetained:
		o.drainHeld(e)
	case news.Kind == awsevents.InstanceInterrupted || news.Kind == awsevents.InstanceRebalance:
		o.drainSpot(news)
	case news.Kind == awsevents.InstanceInService:
		o.expectNode(e)
	default:
		o.instanceEnds(news)
	}
}

// drainHeld drains the node of an instance that a lifecycle hook holds, if the operator manages it.
func (o *operator) drainHeld(e awsevents.Event) {
	stack := instances.StackOf(e.Instance.Group)
	if stack == "" {
		return
	}
	owners := o.ownersOf(e, stack)
	if len(owners) == 0 {
		o.unclaimed.Keep(stack, e, o.options.Clock.Now())
	}
	for _, owner := range owners {
		if order, ok := o.orderFor(owner, e); ok {
			o.drains.Begin(order)
		}
	}
}

// ownersOf returns the objects whose stack an event is about. Events of a sweep lack the account
// but carry the object's target.
func (o *operator) ownersOf(e awsevents.Event, stack string) []directory.Owner {
	if e.Account != "" {
		return o.directory.Of(directory.Stack{Account: e.Account, Region: e.Region, Name: stack})
	}
	var of []directory.Owner
	for _, one := range o.directory.Named(stack) {
		if cluster, _, err := o.objectsOf(one); err == nil && cluster != nil && o.targets.Of(cluster) == e.Target {
			of = append(of, one)
		}
	}
	return of
}

// objectsOf returns the owner's Cluster, nil if it no longer exists, and its InstanceGroup, nil for
// a slot.
func (o *operator) objectsOf(of directory.Owner) (*v1alpha1.Cluster, *v1alpha1.InstanceGroup, error) {
	ctx := context.Background() // Reads from the informer cache.
	if !of.Group {
		cluster := &v1alpha1.Cluster{}
		if err := o.client.Get(ctx, of.Key, cluster); err != nil {
			return nil, nil, client.IgnoreNotFound(err) //nolint:wrapcheck // callers only check it for nil
		}
		return cluster, nil, nil
	}
	group := &v1alpha1.InstanceGroup{}
	if err := o.client.Get(ctx, of.Key, group); err != nil {
		return nil, nil, client.IgnoreNotFound(err) //nolint:wrapcheck // as above
	}
	cluster, err := o.objects.ClusterOf(ctx, group)
	return cluster, group, err
}

// drainSpot drains the node of a spot instance with an interruption notice. For a rebalance
// recommendation it only cordons the node: Auto Scaling replaces the instance (CapacityRebalance),
// and its lifecycle hook then starts the drain.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/rebalance-recommendations.html
func (o *operator) drainSpot(news *awsevents.InstanceEvent) {
	connection, node, ok := o.options.Workload.NodeOf(news.ID)
	if !ok {
		return
	}
	order := drain.Order{
		Cluster:    connection.Key(),
		Group:      node.Group,
		Slot:       node.Slot,
		Instance:   news.ID,
		Reason:     drain.Rebalance,
		CordonOnly: true,
	}
	if news.Kind == awsevents.InstanceInterrupted {
		order.Reason, order.CordonOnly = drain.SpotInterruption, false
		order.Timeout, order.Deadline = interruption, news.Time.Add(interruption)
	}
	o.drains.Begin(order)
}

// interruption is the time from a spot instance's notice to its termination:
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html
const interruption = 2 * time.Minute

// instanceEnds records that an instance is terminating or terminated, and enqueues the Cluster of
// its node.
func (o *operator) instanceEnds(news *awsevents.InstanceEvent) {
	o.drains.Gone(news.ID)
	o.repairs.Terminated(news.ID)
	if news.Kind != awsevents.InstanceTerminated {
		return
	}
	o.instances.Terminated(news.ID)
	if cluster, _, ok := o.options.Workload.NodeOf(news.ID); ok {
		o.clusters.Enqueue(cluster.Key())
	}
}

// drainProgressed enqueues the object whose node is being drained.
func (o *operator) drainProgressed(p drain.Progress) {
	if p.Group == "" {
		o.clusters.Enqueue(p.Cluster)
		return
	}
	o.groups.Enqueue(types.NamespacedName{Namespace: p.Cluster.Namespace, Name: p.Group})
}

// drainNotice records an Event about the object whose node is being drained.
func (o *operator) drainNotice(n drain.Notice) {
	key := directory.Owner{Group: n.Group != "", Key: n.Cluster}
	if key.Group {
		key.Key.Name = n.Group
	}
	cluster, group, err := o.objectsOf(key)
	if err != nil {
		return
	}
	eventType := corev1.EventTypeNormal
	if n.Warning {
		eventType = corev1.EventTypeWarning
	}
	switch {
	case group != nil:
		o.recorder.Eventf(group, nil, eventType, n.What, "Drain", "%s", n.Message)
	case cluster != nil:
		o.recorder.Eventf(cluster, nil, eventType, n.What, "Drain", "%s", n.Message)
	}
}

// drainStatus returns the nodes being drained of a Cluster's instance group, or of its slots if
// group is empty.
func (o *operator) drainStatus(cluster types.NamespacedName, group string) []v1alpha1.DrainStatus {
	var all []v1alpha1.DrainStatus
	for _, p := range o.drains.Of(cluster, group) {
		if p.Node == "" || p.CordonOnly {
			continue
		}
		began, deadline := metav1.NewTime(p.Began), metav1.NewTime(p.Deadline)
		all = append(all, v1alpha1.DrainStatus{
			Node: p.Node, Instance: p.Instance, Since: &began, Deadline: &deadline, Pods: int32(p.Pods), BlockedBy: p.BlockedBy, //nolint:gosec // a node has few pods
		})
	}
	return all
}

// expectMachines reports whether instances of a target are or may be terminating, so that missed
// events are searched for.
func (o *operator) expectMachines(target awsapi.Target) awsevents.Expectation {
	if o.drains.Busy(target) {
		return awsevents.InstancesTerminating
	}
	ctx := context.Background() // Reads from the informer cache.
	clusters := &v1alpha1.ClusterList{}
	if err := o.client.List(ctx, clusters, client.UnsafeDisableDeepCopy); err != nil {
		return awsevents.NoInstances
	}
	expectation := awsevents.NoInstances
	for i := range clusters.Items {
		cluster := &clusters.Items[i]
		if o.targets.Of(cluster) != target {
			continue
		}
		expectation = awsevents.InstancesStay
		if record.IsRolling(cluster.Status.Rollout) || !cluster.DeletionTimestamp.IsZero() {
			return awsevents.InstancesTerminating
		}
		groups, err := o.objects.GroupsOf(ctx, keyOf(cluster))
		if err == nil && slices.ContainsFunc(groups, o.shrinks) {
			return awsevents.InstancesTerminating
		}
	}
	return expectation
}

// shrinks reports whether a group may be losing instances.
func (o *operator) shrinks(group v1alpha1.InstanceGroup) bool {
	stack := group.Status.Stack
	return record.IsRolling(group.Status.Rollout) || !group.DeletionTimestamp.IsZero() || stack != nil && record.IsChanging(stack.Status) ||
		group.Status.Nodes.Desired > group.Spec.MaxSize
}

// continueDrains continues the drains of a group, or of the slots, whose instances are all to be
// terminated: at once, or within their timeout.
func (o *operator) continueDrains(cluster types.NamespacedName, group string, atOnce bool) {
	for _, p := range o.drains.Of(cluster, group) {
		if p.Policy == drain.Continue && (p.AtOnce || !atOnce) {
			continue
		}
		order := p.Order
		order.Reason, order.Policy, order.AtOnce = drain.Deletion, drain.Continue, atOnce
		o.drains.Begin(order)
	}
}

// claimed handles the events of a stack that arrived before its owner was known.
func (o *operator) claimed(stack string) {
	for _, e := range o.unclaimed.Take(stack, o.options.Clock.Now()) {
		o.drainHeld(e)
	}
}

// expectNode enqueues a group with an in-service instance that has no node, which a sweep found.
func (o *operator) expectNode(e awsevents.Event) {
	stack := instances.StackOf(e.Instance.Group)
	if stack == "" {
		return
	}
	if _, _, ok := o.options.Workload.NodeOf(e.Instance.ID); ok {
		return
	}
	for _, owner := range o.ownersOf(e, stack) {
		if owner.Group && o.repairs.Hint(stack) {
			o.groups.Enqueue(owner.Key)
		}
	}
}

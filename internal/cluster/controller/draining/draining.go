package draining

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/awsevents"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/directory"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/instances"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/objects"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/repair"
	"github.com/aws-operator/aws-operator/internal/cluster/drain"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

// Options configure [Draining]. All are required.
type Options struct {
	Clients  drain.Clients
	Workload *workload.Clusters
	Clock    clock.Clock
	Recorder events.EventRecorder
	// Client reads Clusters and InstanceGroups from the informer cache.
	Client  client.Reader
	Objects *objects.Objects
	// Target returns the account and region of a Cluster's stacks.
	Target func(*v1alpha1.Cluster) awsapi.Target
	// Place returns a target's account and region.
	Place     func(awsapi.Target) awsapi.Place
	Repairs   *repair.Repairs
	Instances *instances.Instances
	// EnqueueCluster and EnqueueGroup make the controllers reconcile an object.
	EnqueueCluster, EnqueueGroup func(types.NamespacedName)
}

// Draining handles events about instances.
type Draining struct {
	options Options
	// Directory records which objects claim the stacks of the instances.
	Directory *directory.Directory
	// Drains drains nodes.
	Drains *drain.Drains
	// unclaimed holds events about objects that were not reconciled yet, notices those about spot
	// instances whose nodes are not known yet.
	unclaimed *directory.Unclaimed
	notices   *notices
}

// New returns a draining without any node. Its Drains must be started.
func New(options Options) *Draining {
	d := &Draining{options: options, unclaimed: directory.NewUnclaimed(), notices: newNotices()}
	d.Directory = directory.New(d.claimed)
	d.Drains = drain.New(drain.Options{
		Clients: options.Clients, Workload: options.Workload, Clock: options.Clock, Logger: ctrl.Log.WithName("drain"), Tell: d.drainNotice,
	})
	d.Drains.Subscribe(d.drainProgressed)
	return d
}

// Observe handles an instance event.
func (d *Draining) Observe(e awsevents.Event) {
	switch news := e.Instance; {
	case news == nil:
	case news.Kind == awsevents.InstanceTerminating || news.Kind == awsevents.InstanceRetained:
		d.drainHeld(e)
	case news.Kind == awsevents.InstanceInterrupted || news.Kind == awsevents.InstanceRebalance:
		d.drainSpot(e)
	case news.Kind == awsevents.InstanceInService:
		d.expectNode(e)
	default:
		d.instanceEnds(e)
	}
}

// drainHeld drains the node of an instance that a lifecycle hook holds, if the operator manages it.
func (d *Draining) drainHeld(e awsevents.Event) {
	stack := instances.StackOf(e.Instance.Group)
	if stack == "" {
		return
	}
	owners := d.Directory.Of(directory.Stack{Account: e.Account, Region: e.Region, Name: stack})
	if len(owners) == 0 {
		d.unclaimed.Keep(stack, e, d.options.Clock.Now())
	}
	for _, owner := range owners {
		if order, ok := d.orderFor(owner, e); ok {
			d.Drains.Begin(order)
		}
	}
}

// objectsOf returns the owner's Cluster, nil if it no longer exists, and its InstanceGroup, nil for
// a slot.
func (d *Draining) objectsOf(of directory.Owner) (*v1alpha1.Cluster, *v1alpha1.InstanceGroup, error) {
	ctx := context.Background() // Reads from the informer cache.
	if !of.Group {
		cluster := &v1alpha1.Cluster{}
		if err := d.options.Client.Get(ctx, of.Key, cluster); err != nil {
			return nil, nil, client.IgnoreNotFound(err) //nolint:wrapcheck // callers only check it for nil
		}
		return cluster, nil, nil
	}
	group := &v1alpha1.InstanceGroup{}
	if err := d.options.Client.Get(ctx, of.Key, group); err != nil {
		return nil, nil, client.IgnoreNotFound(err) //nolint:wrapcheck // as above
	}
	cluster, err := d.options.Objects.ClusterOf(ctx, group)
	return cluster, group, err
}

// drainSpot drains the node of a spot instance with an interruption notice. For a rebalance
// recommendation it only cordons the node: Auto Scaling replaces the instance (CapacityRebalance),
// and its lifecycle hook then starts the drain.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/rebalance-recommendations.html
func (d *Draining) drainSpot(e awsevents.Event) {
	news := e.Instance
	connection, node, ok := d.options.Workload.NodeOf(news.ID)
	if !ok {
		d.notices.keep(e, d.options.Clock.Now())
		return
	}
	if !d.isIn(connection.Key(), e) {
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
	d.Drains.Begin(order)
}

// isIn reports whether a Cluster is in the account and region of an event. Events come from queues
// in accounts of several tenants, who can write anything into their own: such an event must not
// reach another tenant's cluster.
func (d *Draining) isIn(key types.NamespacedName, e awsevents.Event) bool {
	cluster, _, err := d.objectsOf(directory.Owner{Key: key})
	return err == nil && cluster != nil && d.options.Place(d.options.Target(cluster)) == awsapi.Place{Account: e.Account, Region: e.Region}
}

// NodesChanged drains the nodes of spot instances with a notice that were not known when it arrived.
func (d *Draining) NodesChanged() {
	known := func(instance string) bool {
		_, _, ok := d.options.Workload.NodeOf(instance)
		return ok
	}
	for _, e := range d.notices.take(known, d.options.Clock.Now()) {
		d.drainSpot(e)
	}
}

// interruption is the time from a spot instance's notice to its termination:
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html
const interruption = 2 * time.Minute

// instanceEnds records that an instance is terminating or terminated, and enqueues the Cluster of
// its node.
func (d *Draining) instanceEnds(e awsevents.Event) {
	news := e.Instance
	cluster, _, known := d.options.Workload.NodeOf(news.ID)
	if known && !d.isIn(cluster.Key(), e) {
		return
	}
	d.Drains.Gone(news.ID)
	d.options.Repairs.Terminated(news.ID)
	if news.Kind != awsevents.InstanceTerminated {
		return
	}
	d.options.Instances.Terminated(news.ID)
	if known {
		d.options.EnqueueCluster(cluster.Key())
	}
}

// drainProgressed enqueues the object whose node is being drained.
func (d *Draining) drainProgressed(p drain.Progress) {
	if p.Group == "" {
		d.options.EnqueueCluster(p.Cluster)
		return
	}
	d.options.EnqueueGroup(types.NamespacedName{Namespace: p.Cluster.Namespace, Name: p.Group})
}

// drainNotice records an Event about the object whose node is being drained.
func (d *Draining) drainNotice(n drain.Notice) {
	key := directory.Owner{Group: n.Group != "", Key: n.Cluster}
	if key.Group {
		key.Key.Name = n.Group
	}
	cluster, group, err := d.objectsOf(key)
	if err != nil {
		return
	}
	eventType := corev1.EventTypeNormal
	if n.Warning {
		eventType = corev1.EventTypeWarning
	}
	switch {
	case group != nil:
		d.options.Recorder.Eventf(group, nil, eventType, n.What, "Drain", "%s", n.Message)
	case cluster != nil:
		d.options.Recorder.Eventf(cluster, nil, eventType, n.What, "Drain", "%s", n.Message)
	}
}

// Status returns the nodes being drained of a Cluster's instance group, or of its slots if group is
// empty.
func (d *Draining) Status(cluster types.NamespacedName, group string) []v1alpha1.DrainStatus {
	var all []v1alpha1.DrainStatus
	for _, p := range d.Drains.Of(cluster, group) {
		if p.Node == "" || p.CordonOnly {
			continue
		}
		began, deadline := metav1.NewTime(p.Began), metav1.NewTime(p.Deadline)
		all = append(all, v1alpha1.DrainStatus{
			Node: p.Node, Instance: p.Instance, Since: &began, Deadline: &deadline, BlockedBy: p.BlockedBy,
			Pods: int32(p.Pods), //nolint:gosec // a node has few pods
		})
	}
	return all
}

// Expect reports whether instances in an account and region are or may be terminating, so that
// missed events are searched for.
func (d *Draining) Expect(at awsapi.Place) awsevents.Expectation {
	if d.Drains.Busy(func(target awsapi.Target) bool { return d.options.Place(target) == at }) {
		return awsevents.InstancesTerminating
	}
	ctx := context.Background() // Reads from the informer cache.
	clusters := &v1alpha1.ClusterList{}
	if err := d.options.Client.List(ctx, clusters, client.UnsafeDisableDeepCopy); err != nil {
		return awsevents.NoInstances
	}
	expectation := awsevents.NoInstances
	for i := range clusters.Items {
		cluster := &clusters.Items[i]
		if d.options.Place(d.options.Target(cluster)) != at {
			continue
		}
		expectation = awsevents.InstancesStay
		if record.IsRolling(cluster.Status.Rollout) || !cluster.DeletionTimestamp.IsZero() {
			return awsevents.InstancesTerminating
		}
		groups, err := d.options.Objects.GroupsOf(ctx, client.ObjectKeyFromObject(cluster))
		if err == nil && slices.ContainsFunc(groups, shrinks) {
			return awsevents.InstancesTerminating
		}
	}
	return expectation
}

// shrinks reports whether a group may be losing instances.
func shrinks(group v1alpha1.InstanceGroup) bool {
	stack := group.Status.Stack
	return record.IsRolling(group.Status.Rollout) || !group.DeletionTimestamp.IsZero() || stack != nil && record.IsChanging(stack.Status) ||
		group.Status.Nodes.Desired > group.Spec.MaxSize
}

// Continue continues the drains of a group, or of the slots, whose instances are all to be
// terminated: at once, or within their timeout.
func (d *Draining) Continue(cluster types.NamespacedName, group string, atOnce bool) {
	for _, p := range d.Drains.Of(cluster, group) {
		if p.Policy == drain.Continue && (p.AtOnce || !atOnce) {
			continue
		}
		order := p.Order
		order.Reason, order.Policy, order.AtOnce = drain.Deletion, drain.Continue, atOnce
		d.Drains.Begin(order)
	}
}

// claimed handles the events of a stack that arrived before its owner was known.
func (d *Draining) claimed(stack string) {
	for _, e := range d.unclaimed.Take(stack, d.options.Clock.Now()) {
		d.drainHeld(e)
	}
}

// expectNode enqueues a group with an in-service instance that has no node, which a sweep found.
func (d *Draining) expectNode(e awsevents.Event) {
	stack := instances.StackOf(e.Instance.Group)
	if stack == "" {
		return
	}
	if _, _, ok := d.options.Workload.NodeOf(e.Instance.ID); ok {
		return
	}
	for _, owner := range d.Directory.Of(directory.Stack{Account: e.Account, Region: e.Region, Name: stack}) {
		if owner.Group && d.options.Repairs.Hint(owner.UID) {
			d.options.EnqueueGroup(owner.Key)
		}
	}
}

// SlotStatus returns the nodes of slots that are being drained.
func (d *Draining) SlotStatus(cluster *v1alpha1.Cluster) []v1alpha1.DrainStatus {
	var draining []v1alpha1.DrainStatus
	for _, one := range d.Drains.Of(client.ObjectKeyFromObject(cluster), "") {
		if one.Node == "" || one.State != drain.Draining {
			continue
		}
		began, deadline := metav1.NewTime(one.Began), metav1.NewTime(one.Deadline)
		draining = append(draining, v1alpha1.DrainStatus{
			Node: one.Node, Instance: one.Instance, Since: &began, Deadline: &deadline, BlockedBy: one.BlockedBy,
			Pods: int32(one.Pods), //nolint:gosec // a node has a few hundred
		})
	}
	return draining
}

package draining

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/awsevents"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/directory"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/instances"
	"github.com/aws-operator/aws-operator/internal/cluster/drain"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
)

// orderFor returns the drain order for an instance that a lifecycle hook holds or that is kept. It
// returns false if the owner no longer exists.
//
// Instances of a paused Cluster are drained as well: a pause stops the operator's changes, but not
// Auto Scaling.
func (d *Draining) orderFor(of directory.Owner, e awsevents.Event) (drain.Order, bool) {
	cluster, group, err := d.objectsOf(of)
	if err == nil && cluster == nil && group != nil {
		return d.orderOfOrphan(group, e)
	}
	if err != nil || cluster == nil {
		return drain.Order{}, false
	}
	news, deleting := e.Instance, !cluster.DeletionTimestamp.IsZero()
	order := orderOf(client.ObjectKeyFromObject(cluster), d.options.Target(cluster), e)
	// In a cluster that is being deleted, pods have nowhere to move; a cluster that never came up has none.
	order.AtOnce = deleting || !d.cameUp(cluster)
	if group == nil {
		var policy v1alpha1.DrainPolicy
		order.Timeout, order.HookTimeout, policy = model.Draining(&v1alpha1.RollingUpdate{})
		order.Policy, order.Slot = drain.Policy(policy), instances.SlotOf(cluster, instances.StackOf(news.Group))
		order.Reason = d.reason(news.ID, cluster.Status.Rollout, deleting)
		// The only instance of a control plane is the API server, without which pods cannot be
		// evicted. Its load balancer may deregister it when its termination begins: AWS does not
		// document whether before or after the hook.
		order.AtOnce = order.AtOnce || model.SlotCount(cluster) == 1
		return order, true
	}
	order.Group = group.Name
	order.Timeout, order.HookTimeout, order.Policy = draining(group)
	order.Reason = d.reason(news.ID, group.Status.Rollout, deleting || !group.DeletionTimestamp.IsZero())
	return order, true
}

// cameUp reports whether a cluster may have pods. Its API decides if the status was lost.
func (d *Draining) cameUp(cluster *v1alpha1.Cluster) bool {
	if cluster.Status.Release != "" {
		return true
	}
	connection := d.options.Workload.Get(client.ObjectKeyFromObject(cluster))
	if connection == nil {
		return false
	}
	reachable, _ := connection.Reachable()
	return reachable
}

// orderOfOrphan lets an instance go whose group is being deleted after its Cluster was forcibly deleted: a
// hook would hold it for hours. Without the Cluster, only the operator's own account is known.
func (d *Draining) orderOfOrphan(group *v1alpha1.InstanceGroup, e awsevents.Event) (drain.Order, bool) {
	target := awsapi.Target{}
	if own := d.options.Place(target); e.Account != own.Account {
		return drain.Order{}, false
	} else if e.Region != own.Region {
		target.Region = e.Region
	}
	order := orderOf(types.NamespacedName{Namespace: group.Namespace, Name: group.Spec.Cluster}, target, e)
	order.Group, order.Reason, order.AtOnce = group.Name, drain.Deletion, true
	order.Timeout, order.HookTimeout, order.Policy = draining(group)
	return order, !group.DeletionTimestamp.IsZero()
}

// orderOf returns what every order for the instance of an event has.
func orderOf(cluster types.NamespacedName, target awsapi.Target, e awsevents.Event) drain.Order {
	news := e.Instance
	return drain.Order{
		Cluster: cluster, Slot: drain.NoSlot, Instance: news.ID, Target: target,
		AutoScalingGroup: news.Group, Hook: cmp.Or(news.Hook, awsevents.DrainHook), Token: news.Token, Since: news.Time,
		Retained: news.Kind == awsevents.InstanceRetained,
	}
}

// draining returns the drain timeout of a group's nodes, their hook's timeout, and what happens at
// the timeout. A group that is being deleted keeps no instance.
func draining(group *v1alpha1.InstanceGroup) (timeout, hook time.Duration, policy drain.Policy) {
	timeout, hook, given := model.Draining(&group.Spec.RollingUpdate)
	if !group.DeletionTimestamp.IsZero() {
		given = v1alpha1.DrainContinue
	}
	return timeout, hook, drain.Policy(given)
}

// reason returns the most likely reason for an instance's termination: Auto Scaling does not report
// it.
func (d *Draining) reason(instance string, rollout *v1alpha1.RolloutStatus, deleting bool) drain.Reason {
	switch {
	case deleting:
		return drain.Deletion
	case d.options.Repairs.IsReplacing(instance):
		return drain.Repair
	case record.IsRolling(rollout):
		return drain.Rolling
	default:
		return drain.ScaleIn
	}
}

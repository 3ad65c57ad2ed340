package controller

import (
	"context"
	"time"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/signals"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

// signalPaused continues to signal for a group that was paused during a rolling update: a pause
// must not make a change fail for lack of signals. A paused group's stack is not observed, so it
// may be rolling back, and instances of both configurations are signaled.
func (o *operator) signalPaused(ctx context.Context, group *v1alpha1.InstanceGroup) time.Duration {
	known, err := record.Decode(group.Status.Stack)
	if err != nil || !record.IsChanging(known.Status) {
		return 0
	}
	cluster, err := o.objects.ClusterOf(ctx, group)
	if err != nil || cluster == nil {
		return 0
	}
	past := known.History()
	requeueAfter, err := o.signal(ctx, group, o.targets.Of(cluster), &known, past.Next, past.Now)
	if err != nil {
		return signals.Retry
	}
	return requeueAfter
}

// signal signals for a group's new instances that boot with an expected configuration.
func (o *operator) signal(
	ctx context.Context, group *v1alpha1.InstanceGroup, target awsapi.Target, known *record.Stack, expected ...*record.Machines,
) (time.Duration, error) {
	return o.signals.Send(ctx, o.stackToSignal(group, target, known), o.nodesOf(group), known,
		func(node *workload.Node, now time.Time) (time.Duration, bool) {
			return known.History().SignalIn(node, expected, now)
		})
}

// signalLost signals for a group's new instances in a change whose record was lost. Without signals,
// its rollback would fail, too.
func (o *operator) signalLost(
	ctx context.Context, group *v1alpha1.InstanceGroup, target awsapi.Target, known *record.Stack, wanted *record.Machines,
) (time.Duration, error) {
	return o.signals.Send(ctx, o.stackToSignal(group, target, known), o.nodesOf(group), known,
		func(node *workload.Node, now time.Time) (time.Duration, bool) {
			return known.History().SignalLostIn(node, known, wanted, now)
		})
}

func (o *operator) stackToSignal(group *v1alpha1.InstanceGroup, target awsapi.Target, known *record.Stack) signals.Stack {
	return signals.Stack{UID: group.UID, Target: target, Owner: o.owner.Group(group, known)}
}

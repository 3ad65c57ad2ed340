package controller

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

// signalled identifies a signal that was sent for an instance in an operation of a stack.
// CloudFormation counts an instance only once, so repeating signals after a restart costs only
// calls. https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_SignalResource.html
type signalled struct {
	uid             types.UID
	token, instance string
	back            bool
}

const (
	// resourceGroup is the logical ID of the Auto Scaling group in the stacks of instance groups
	// and slots.
	resourceGroup = "AutoScalingGroup"
	// signalRetry is the delay before a signal is retried that failed or came before CloudFormation
	// waited for it.
	signalRetry = 2 * time.Second
)

// signal sends CloudFormation the signals of a group's new instances whose nodes are Ready and
// booted with an expected bundle. It returns the delay until the next check, 0 if only a node's
// change requires one.
func (o *operator) signal(
	ctx context.Context,
	group *v1alpha1.InstanceGroup,
	target awsapi.Target,
	known *record.Stack,
	expected ...*record.Machines,
) (time.Duration, error) {
	connection := o.options.Workload.Get(clusterKeyOf(group))
	if connection == nil || !record.IsChanging(known.Status) {
		return 0, nil
	}
	past, now := known.History(), o.options.Clock.Now()
	var requeueAfter time.Duration
	var problems []error
	for _, node := range workload.InGroup(connection.Nodes(), group.Name) {
		key := signalled{group.UID, known.Record.Token, node.InstanceID, record.IsRollingBack(known.Status)}
		if _, ok := o.signals.Get(key); ok {
			continue
		}
		after, due := past.SignalIn(&node, expected, now)
		switch {
		case !due:
			continue
		case after == 0:
			waiting, err := o.options.Engine.Signal(ctx, target, o.owner.Group(group, known), resourceGroup, node.InstanceID)
			if err != nil {
				problems = append(problems, err)
			}
			if waiting {
				o.signals.Keep(key, struct{}{})
				continue
			}
			after = signalRetry
		}
		if requeueAfter == 0 || after < requeueAfter {
			requeueAfter = after
		}
	}
	return requeueAfter, errors.Join(problems...)
}

// signalPaused continues to signal for a group that was paused during a rolling update: a pause
// must not make a change fail for lack of signals. A paused group's stack is not observed, so it
// may be rolling back, and instances of both configurations are signaled.
func (o *operator) signalPaused(ctx context.Context, group *v1alpha1.InstanceGroup) time.Duration {
	known, err := record.Decode(group.Status.Stack)
	if err != nil || !record.IsChanging(known.Status) {
		return 0
	}
	cluster, err := o.clusterOf(ctx, group)
	if err != nil || cluster == nil {
		return 0
	}
	past := known.History()
	requeueAfter, err := o.signal(ctx, group, o.target(cluster), &known, past.Next, past.Now)
	if err != nil {
		return signalRetry
	}
	return requeueAfter
}

// clusterKeyOf returns the key of an InstanceGroup's Cluster.
func clusterKeyOf(group *v1alpha1.InstanceGroup) types.NamespacedName {
	return types.NamespacedName{Namespace: group.Namespace, Name: group.Spec.Cluster}
}

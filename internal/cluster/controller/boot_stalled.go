package controller

import (
	"context"
	"time"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/boots"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// reasonBootStalled is the reason of instances that have not become nodes within the deadline of a
// boot stage.
const reasonBootStalled = "BootStalled"

// recentLaunch is the age up to which instances of a cluster that was up count as booting. A console
// forgets a boot when the instance writes much or reboots.
const recentLaunch = time.Hour

// stalledSlots returns the outcome of a step that waits for the control plane. If an instance of a
// slot has not passed a boot stage in time, the outcome says so. The second result reports that all
// instances have joined according to their consoles.
func (o *operator) stalledSlots(
	ctx context.Context, cluster *v1alpha1.Cluster, waiting operatorkit.Outcome,
) (outcome operatorkit.Outcome, joined bool) {
	tags := o.owner.ClusterTags(cluster)
	tags[model.TagRole] = model.RoleControlPlane
	question := boots.Question{
		UID: cluster.UID, Of: "the control plane", EC2: o.options.Clients.EC2(o.targets.Of(cluster)), Tags: tags,
		Joined: o.hasNode(cluster), Most: model.MostSlots,
	}
	for slot := range int(cluster.Spec.ControlPlane.Slots()) {
		known, err := record.Decode(record.Find(cluster, model.SlotStackName(cluster.Name, slot)))
		if err == nil && known.StartedAt != nil && (question.Since.IsZero() || known.StartedAt.Before(question.Since)) {
			question.Since = *known.StartedAt
		}
	}
	if cluster.Status.Version != "" {
		question.After = o.options.Clock.Now().Add(-recentLaunch)
	}
	return o.stalled(ctx, &question, waiting)
}

// stalledGroup does for an instance group what stalledSlots does for the control plane.
func (o *operator) stalledGroup(
	ctx context.Context, cluster *v1alpha1.Cluster, group *v1alpha1.InstanceGroup, waiting operatorkit.Outcome,
) operatorkit.Outcome {
	question := boots.Question{
		UID: group.UID, Of: "instance group " + group.Name, EC2: o.options.Clients.EC2(o.targets.Of(cluster)),
		Tags: o.owner.GroupTags(group), Joined: o.hasNode(cluster), Most: 1, After: o.options.Clock.Now().Add(-recentLaunch),
	}
	if known, err := record.Decode(group.Status.Stack); err == nil && known.StartedAt != nil {
		question.Since = *known.StartedAt
	}
	outcome, _ := o.stalled(ctx, &question, waiting)
	return outcome
}

// hasNode returns a function that reports whether an instance is a node of a cluster, or claimed by one.
func (o *operator) hasNode(cluster *v1alpha1.Cluster) func(instance string) bool {
	connection := o.options.Workload.Get(keyOf(cluster))
	return func(instance string) bool {
		return connection != nil && connection.MayHaveNode(instance)
	}
}

func (o *operator) stalled(
	ctx context.Context, question *boots.Question, waiting operatorkit.Outcome,
) (outcome operatorkit.Outcome, joined bool) {
	answer, err := o.boots.Ask(ctx, question)
	if err != nil {
		return outcomes.Join(waiting, err), false
	}
	waiting = outcomes.RequeueAfterMin(waiting, answer.Again)
	if answer.Stalled != "" {
		waiting = waiting.Explain(reasonBootStalled, answer.Stalled).Degraded()
	}
	return waiting, answer.Joined
}

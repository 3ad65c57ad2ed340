package controller

import (
	"context"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// upkeep operates a cluster that was up while a change of its stacks is in progress, waits or
// failed: without the token no instance can join, and a change may wait weeks for approval. It
// returns the outcome of the change, with the time of the next upkeep.
func (o *operator) upkeep(ctx context.Context, cluster *v1alpha1.Cluster, change operatorkit.Outcome) operatorkit.Outcome {
	if change.IsDone() {
		return change
	}
	requeueAfter, err := o.signalSlots(ctx, cluster) // Without signals, the change of a slot would roll back.
	if err != nil {
		change = outcomes.Join(change, err)
	}
	change = outcomes.RequeueAfterMin(change, requeueAfter)
	steps := []operatorkit.Step[*v1alpha1.Cluster]{kubeconfigStep{o}, apiStep{o}, tokenStep{o}, nodesStep{o}, backupStep{o}}
	if model.UsesEKS(cluster) {
		steps = []operatorkit.Step[*v1alpha1.Cluster]{eksAPIStep{o}, eksNodesStep{o}}
	}
	if cluster.Status.Version == "" {
		if change.Reason() != reasonNotItsTurn || o.options.Workload.Get(keyOf(cluster)) == nil {
			return change
		}
		// The status was lost, and the slot for which the others wait may need a repair.
		steps = []operatorkit.Step[*v1alpha1.Cluster]{nodesStep{o}}
	}
	for _, step := range steps {
		outcome := step.EnsureCreated(ctx, cluster)
		after := outcome.After()
		if outcome.Kind() == operatorkit.KindFail {
			after = outcomes.EventPoll
			message := outcome.Message()
			if message == "" {
				message = outcome.Err().Error() + "."
			}
			change = change.Explain(
				change.Reason(), change.Message()+" In addition, step "+step.Name()+" failed and will be retried: "+message,
			)
		}
		if after > 0 && (change.After() == 0 || after < change.After()) {
			change = change.RequeueAfter(after)
		}
		if !outcome.IsDone() {
			break
		}
	}
	return change
}

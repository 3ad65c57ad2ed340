package controller

import (
	"context"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// upkeep does for a cluster that was up what it needs day by day although a change of its stacks is under way,
// waits or failed: without the token no machine joins, and a change may wait for a person for weeks. It
// returns the outcome of the change, with the time when upkeep is due again.
func (o *operator) upkeep(ctx context.Context, cluster *v1alpha1.Cluster, change operatorkit.Outcome) operatorkit.Outcome {
	if change.IsDone() {
		return change
	}
	look, err := o.signalSlots(ctx, cluster) // The machine of a slot that is being replaced would go back for want of it.
	if err != nil {
		change = besides(change, err)
	}
	change = sooner(change, look)
	if cluster.Status.Version == "" {
		return change
	}
	for _, step := range []operatorkit.Step[*v1alpha1.Cluster]{kubeconfigStep{o}, apiStep{o}, tokenStep{o}, nodesStep{o}, backupStep{o}} {
		outcome := step.EnsureCreated(ctx, cluster)
		after := outcome.After()
		if outcome.Kind() == operatorkit.KindFail {
			after = awaitAgain
			message := outcome.Message()
			if message == "" {
				message = outcome.Err().Error() + "."
			}
			change = change.Explain(change.Reason(), change.Message()+" Besides, step "+step.Name()+" failed and is tried again: "+message)
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

package controller

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/drain"
)

// reasonDrainTimedOut is why a change was taken back whose nodes could not be drained in time.
const reasonDrainTimedOut = "DrainTimedOut"

// takeBack cancels the change under way when a machine that it was to replace is kept, because its node could not be drained in time and
// the group says to abandon it then: no further node is to go. CloudFormation does not wait for machines that are drained, and an update
// that is complete cannot be cancelled; then the machine that is kept goes when its pods can, and the change stays.
func (s groupStackStep) takeBack(ctx context.Context, group *v1alpha1.InstanceGroup, target awsapi.Target, known *remembered) error {
	past := known.historyOf()
	if known.Status != statusUpdating || !past.rolls() || past.Kept {
		return nil
	}
	for _, one := range s.drains.Of(clusterKeyOf(group), group.Name) {
		if one.State != drain.Kept || past.Since != nil && one.Began.Before(past.Since.Time) {
			continue
		}
		cancelled, err := s.options.Engine.Cancel(ctx, target, s.groupOwner(group, known))
		if err != nil {
			return fmt.Errorf("take the change of stack %s back: %w", known.StackID, err)
		}
		past.Kept = true
		if cancelled {
			past.Cause = keptCause(&one)
		}
		return nil
	}
	return nil
}

// keptCause says which node was kept, and by what.
func keptCause(one *drain.Progress) string {
	why := "its pods did not end"
	if len(one.BlockedBy) > 0 {
		why = "PodDisruptionBudget " + strings.Join(one.BlockedBy, ", ") + " forbids it"
	}
	return fmt.Sprintf("Node %s could not be drained in time, since %s: its machine is kept until its pods can go, and the change is taken back.", one.Node, why)
}

package controller

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/drain"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
)

// reasonDrainTimedOut is the reason of a change that was canceled because nodes could not be
// drained in time.
const reasonDrainTimedOut = "DrainTimedOut"

// cancelChange cancels the change in progress when an instance that it was to replace is kept: its
// node could not be drained in time, and the group's policy is to abandon the change then.
// CloudFormation does not wait for drains, and a complete update cannot be canceled. In that case
// the kept instance is terminated once its pods can be evicted, and the change stays.
func (s groupStackStep) cancelChange(ctx context.Context, group *v1alpha1.InstanceGroup, target awsapi.Target, known *record.Stack) error {
	past := known.History()
	if known.Status != record.StatusUpdating || !past.Rolls() || past.Kept {
		return nil
	}
	for _, one := range s.drains.Of(clusterKeyOf(group), group.Name) {
		if one.State != drain.Kept || past.Since != nil && one.Began.Before(past.Since.Time) {
			continue
		}
		cancelled, err := s.options.Engine.Cancel(ctx, target, s.owner.Group(group, known))
		if err != nil {
			return fmt.Errorf("cancel the change of stack %s: %w", known.StackID, err)
		}
		past.Kept = true
		if cancelled {
			past.Cause = keptCause(&one)
		}
		return nil
	}
	return nil
}

// keptCause describes which node was kept and what blocked it.
func keptCause(one *drain.Progress) string {
	why := "its pods did not terminate"
	if len(one.BlockedBy) > 0 {
		why = "PodDisruptionBudget " + strings.Join(one.BlockedBy, ", ") + " blocks eviction"
	}
	return fmt.Sprintf(
		"Node %s could not be drained in time because %s. Its instance is kept until its pods can be evicted, and the change is canceled.",
		one.Node,
		why,
	)
}

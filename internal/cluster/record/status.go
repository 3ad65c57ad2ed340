package record

import (
	"strings"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// IsRollingBack reports whether an update of a stack failed and was or is being rolled back.
func IsRollingBack(status string) bool { return strings.HasPrefix(status, "UPDATE_ROLLBACK_") }

// IsChanging reports whether an update of a stack or its rollback is in progress.
func IsChanging(status string) bool { return status == StatusUpdating || status == StatusRollingBack }

// CloudFormation's statuses of created stacks, and of those whose update or rollback may wait for
// signals: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/view-stack-events.html
const (
	StatusCreating    = "CREATE_IN_PROGRESS"
	StatusCreated     = "CREATE_COMPLETE"
	StatusUpdating    = "UPDATE_IN_PROGRESS"
	StatusRollingBack = "UPDATE_ROLLBACK_IN_PROGRESS"
)

// IsSettled reports whether no change of a stack is in progress.
func IsSettled(status *v1alpha1.StackStatus) bool {
	return status != nil && strings.HasSuffix(status.Status, "_COMPLETE")
}

// IsRolling reports whether a rollout or its rollback is in progress.
func IsRolling(rollout *v1alpha1.RolloutStatus) bool {
	return rollout != nil && (rollout.State == v1alpha1.RolloutRolling || rollout.State == v1alpha1.RolloutRollingBack)
}

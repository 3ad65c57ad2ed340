package record

import "strings"

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

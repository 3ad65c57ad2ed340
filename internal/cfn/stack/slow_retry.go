package stack

import (
	"fmt"
	"strings"
	"time"

	"github.com/aws-operator/aws-operator/internal/cfn/cause"
)

// lacksSignals reports whether an AWS message says that CloudFormation received too few success
// signals.
func lacksSignals(reason string) bool {
	return strings.Contains(reason, "SUCCESS signal(s)") || strings.Contains(reason, "resource signal(s)")
}

// longestSlowRetry limits the growing delay between retries after the engine gave up.
const longestSlowRetry = 15 * time.Minute

// retrySlowly schedules a retry of a stack that the engine gave up, if the cause of the failure may
// pass. It returns false otherwise.
func (v *visit) retrySlowly() (Result, bool) {
	why := v.record.StatusReason
	reason := cause.Of(why)
	if reason == "" && v.record.Away && lacksSignals(why) {
		reason, why = cause.Away, "The operator was not running while instances were replaced, so CloudFormation received no success signals."
	}
	if reason == "" {
		return Result{}, false
	}
	now := v.now()
	if v.record.RetryAt == nil {
		delay := v.engine.options.SlowRetry << min(v.record.Retries, 8)
		at := now.Add(min(delay, longestSlowRetry)).UTC()
		v.record.RetryAt = &at
	}
	message := fmt.Sprintf("%s Retrying at %s, or as soon as the object changes.", why, v.record.RetryAt.Format("15:04:05 MST"))
	return v.wait(reason, message, max(v.record.RetryAt.Sub(now), time.Millisecond)), true
}

// retryIfDue makes the engine send again what it gave up, once the retry is due.
func (r *Record) retryIfDue(now time.Time) {
	if r.RetryAt == nil || now.Before(*r.RetryAt) {
		return
	}
	retries := r.Retries + 1
	r.forgetFailure()
	r.Retries = retries
}

// forgetFailure makes the engine send again what failed.
func (r *Record) forgetFailure() {
	r.FailedDigest, r.NextAttempt, r.Attempts, r.RollbackAttempts = "", nil, 0, 0
	r.Retries, r.RetryAt, r.Away = 0, nil, false
}

// fails records that sending a digest failed.
func (v *visit) fails(digest string) {
	if v.isStage(digest) {
		digest = v.digest // the creation or the import is a part of it
	}
	v.record.FailedDigest = digest
	v.record.Away = v.record.StartedAt != nil && v.record.StartedAt.Before(v.engine.inCharge())
}

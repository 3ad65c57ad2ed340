package apply

import (
	"fmt"
	"strings"
	"time"

	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/diagnosis"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// causeAway is the cause of a failure for lack of signals while the operator was not running.
const causeAway = "OperatorAway"

// publicRemedy explains how to fix a refused public policy.
const publicRemedy = "The documents of the service-account issuer must be public, and the account or its organization blocks public policies of buckets " +
	"(S3 Block Public Access, BlockPublicPolicy). Turn that off for the account, or publish the documents elsewhere and set spec.serviceAccountIssuer.url, " +
	"or remove spec.serviceAccountIssuer."

// lacksSignals reports whether an AWS message says that CloudFormation received too few success
// signals.
func lacksSignals(reason string) bool {
	return strings.Contains(reason, "SUCCESS signal(s)") || strings.Contains(reason, "resource signal(s)")
}

// Bounds of the growing delay between retries after the stack engine gave up.
const (
	FirstSlowRetry   = time.Minute
	longestSlowRetry = 15 * time.Minute
)

// stalled reports a failed stack. If the cause may pass, it retries with a growing delay.
func (s *Stacks) stalled(name string, known *record.Stack, result stack.Result) operatorkit.Outcome {
	cause, why := diagnosis.StackCause(known.StatusReason), known.StatusReason
	if cause == "" && known.Away && lacksSignals(known.StatusReason) {
		cause, why = causeAway, "The operator was not running while instances were replaced, so CloudFormation received no success signals."
	}
	if cause == "" {
		return operatorkit.Stall(result.Reason, result.Message).About(outcomes.StackSubject(name))
	}
	if cause == diagnosis.StackPublic {
		why += " " + publicRemedy
	}
	now := s.clock.Now()
	if known.RetryAt == nil {
		delay := s.slowRetry << min(known.Retries, 8)
		at := now.Add(min(delay, longestSlowRetry)).UTC()
		known.RetryAt = &at
	}
	return operatorkit.Wait(max(known.RetryAt.Sub(now), time.Millisecond), cause, fmt.Sprintf(
		"%s Retrying at %s, or as soon as the object changes.",
		why,
		known.RetryAt.Format("15:04:05 MST"),
	)).About(outcomes.StackSubject(name)).Degraded()
}

// retry makes the engine retry a stack that it gave up, once the retry is due. A user who asks for
// one begins with the shortest delay again.
func (s *Stacks) retry(known *record.Stack, asked string) {
	if asked != "" && asked != known.Retried {
		known.RetryAt, known.Retries, known.Away = nil, 0, false
	}
	if known.RetryAt == nil || s.clock.Now().Before(*known.RetryAt) {
		return
	}
	known.RetryAt, known.Retries, known.Away = nil, known.Retries+1, false
	known.Attempts, known.FailedDigest, known.NextAttempt = 0, "", nil
}

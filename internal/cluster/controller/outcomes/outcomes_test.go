package outcomes

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"testing"
	"time"

	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

func TestOutcomesAreAggregated(t *testing.T) {
	wait := func(stack, text string) operatorkit.Outcome {
		return operatorkit.Wait(time.Minute, "CreateInProgress", text).About(StackSubject(stack))
	}
	for reason, c := range map[string]struct {
		outcomes []operatorkit.Outcome
		want     operatorkit.Outcome
	}{
		"all done": {
			[]operatorkit.Outcome{operatorkit.Done(), operatorkit.Done().RequeueAfter(time.Hour)},
			operatorkit.Done().RequeueAfter(time.Hour),
		},
		"equal messages of several stacks are joined": {
			[]operatorkit.Outcome{wait("a", "It is made."), operatorkit.Done(), wait("b", "It is made."), wait("c", "It goes.")},
			operatorkit.Wait(time.Minute, "CreateInProgress", "Stacks a, b: It is made. Stack c: It goes."),
		},
		"a troubled outcome determines the reason": {
			[]operatorkit.Outcome{
				wait("a", "It is made."), operatorkit.Wait(
					time.Second, "QuotaExceeded", "No.",
				).About(StackSubject("b")).Degraded(),
			},
			operatorkit.Wait(time.Second, "QuotaExceeded", "Stack a: It is made. Stack b: No.").Degraded(),
		},
		"a stall is reported when nothing is in progress": {
			[]operatorkit.Outcome{operatorkit.Done(), operatorkit.Stall("CreateFailed", "No.").About(StackSubject("b"))},
			operatorkit.Stall("CreateFailed", "Stack b: No."),
		},
		"a stall is not reported while others are in progress": {
			[]operatorkit.Outcome{wait("a", "It is made."), operatorkit.Stall("CreateFailed", "No.").About(StackSubject("b"))},
			operatorkit.Wait(time.Minute, "CreateInProgress", "Stack a: It is made. Stack b: No."),
		},
	} {
		t.Run(reason, func(t *testing.T) {
			got := Aggregate(c.outcomes)
			if got.String() != c.want.String() || got.After() != c.want.After() || got.IsDegraded() != c.want.IsDegraded() {
				t.Errorf("want %s after %s, have %s after %s", c.want, c.want.After(), got, got.After())
			}
		})
	}
}

// Messages about an unreachable API server do not contain errors of Go's network library.
func TestUnreachableAPIIsReportedWithoutGoNetworkErrors(t *testing.T) {
	err := errors.Join(errors.New("label node a: b"), &url.Error{
		Op: "Patch", URL: "https://10.0.0.1:6443/api/v1/nodes/a",
		Err: errors.New("read tcp 127.0.0.1:4->10.0.0.1:6443: connection reset by peer"),
	})
	const want = "The Kubernetes API at 10.0.0.1:6443 did not respond. The request will be retried."
	if outcome := Failed(err); outcome.Reason() != "APIUnreachable" || outcome.Message() != want {
		t.Errorf("%s: %s", outcome.Reason(), outcome.Message())
	}
}

func TestAbortedResponseIsExplained(t *testing.T) {
	outcome := Failed(
		fmt.Errorf(
			"label node x: %w",
			fmt.Errorf("unexpected error when reading response body. Please retry. Original error: %w", io.ErrUnexpectedEOF),
		),
	)
	if outcome.Reason() != "APIUnreachable" ||
		outcome.Message() != "The cluster's Kubernetes API aborted its response. The request will be retried." {
		t.Errorf("%s: %s", outcome.Reason(), outcome.Message())
	}
}

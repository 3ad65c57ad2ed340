package stack

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/cfn/cause"
)

// An update that failed for lack of signals is retried if the operator was not running.
func TestGivenUpStackIsRetriedIfTheCauseMayPass(t *testing.T) {
	const unsignalled = "AutoScalingGroup: Received 0 SUCCESS signal(s) out of 4. Unable to satisfy 100% MinSuccessfulInstancesPercent requirement."
	cases := map[string]struct {
		away  bool
		why   string
		again string // the reason, if it is retried
	}{
		"the operator was not running":                  {true, unsignalled, cause.Away},
		"the operator was running":                      {false, unsignalled, ""},
		"it failed for another reason":                  {true, "AutoScalingGroup: You must have a subnet.", ""},
		"a name was in use just before":                 {false, "Queue: You must wait 60 seconds after deleting a queue before you can create another with the same name.", cause.Recent},
		"AWS failed while the operator was not running": {true, "AutoScalingGroup: Internal Failure.", cause.AWS},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			now := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
			v := &visit{engine: New(Options{Clock: now}), record: Record{
				Status: "UPDATE_ROLLBACK_COMPLETE", StatusReason: c.why, FailedDigest: "digest", Away: c.away,
			}}
			result := v.stallFailed()
			if c.again == "" {
				if result.State != Stalled {
					t.Errorf("%+v", result)
				}
				return
			}
			if result.State != Waiting || result.Reason != c.again || result.RequeueAfter != time.Minute {
				t.Errorf("%+v", result)
			}
			for retry := range 6 {
				if v.record.retryIfDue(now.Now()); v.record.FailedDigest == "" {
					t.Errorf("retry %d comes early: %+v", retry, v.record)
				}
				now.SetTime(*v.record.RetryAt)
				if v.record.retryIfDue(now.Now()); v.record.FailedDigest != "" || v.record.Away || v.record.RetryAt != nil {
					t.Fatalf("it is not retried: %+v", v.record)
				}
				v.record.FailedDigest, v.record.Away = "digest", c.away
				want := min(time.Minute<<(retry+1), 15*time.Minute)
				if result := v.stallFailed(); result.RequeueAfter != want {
					t.Errorf("retry %d comes after %s, want %s", retry+2, result.RequeueAfter, want)
				}
			}
		})
	}
}

package stack

import (
	"math"
	"testing"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// A record whose revision was edited does not hide what the engine returned last, when the caller passes
// none at all after it.
func TestEditedRevisionsDoNotHideTheEnginesRecord(t *testing.T) {
	for _, edited := range []int64{math.MinInt64, -1, math.MaxInt64, lastRevision + 1} {
		e := New(Options{})
		key := stackKey{place: awsapi.Place{Account: "123456789012", Region: "eu-central-1"}, name: "a"}
		record := e.journal.newest(key, claimant{}, Record{Revision: edited})
		v := &visit{engine: e, key: key, before: record, record: record}
		v.record.StackID = "arn:aws:cloudformation:eu-central-1:123456789012:stack/a/1"
		v.finish(Result{})
		if got := e.journal.newest(key, claimant{}, Record{}); got.StackID != v.record.StackID {
			t.Errorf("after a record with revision %d, the engine forgets its stack", edited)
		}
	}
}

package stack

import (
	"testing"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

func TestForgetDropsOneTarget(t *testing.T) {
	e := New(Options{})
	used, left := awsapi.Target{}, awsapi.Target{RoleARN: "arn:aws:iam::123456789012:role/left"}
	for _, target := range []awsapi.Target{used, left} {
		key := stackKey{target: target, name: "a"}
		e.journal.keep(key, claimant{}, Record{StackID: "id", Revision: 1})
		e.denials.add(key)
		e.watchlist.own("arn:"+target.RoleARN, target, "owner")
		e.describer.targets[target] = &batches{}
	}
	e.Forget(left)
	for what, n := range map[string]int{
		"records": len(e.journal.entries), "denials": len(e.denials.counts), "stacks": len(e.watchlist.stacks),
		"listings": len(e.describer.targets),
	} {
		if n != 1 {
			t.Errorf("%d %s are left, want those of the other target", n, what)
		}
	}
}

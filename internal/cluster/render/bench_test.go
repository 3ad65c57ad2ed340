package render_test

import (
	"testing"

	"github.com/aws-operator/aws-operator/internal/cfn/diff"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
)

// BenchmarkRenderAndPlan resolves and renders all stacks of a cluster with three slots and two
// instance groups, of which one thing has changed, and compares each with what is deployed: what
// the operator and the command line do when a manifest has changed, without asking AWS. The goal is
// 20 ms.
func BenchmarkRenderAndPlan(b *testing.B) {
	t, r := &testing.T{}, setRelease("1.1.0")
	f := read(t, "testdata/private.yaml")
	deployed := f.stacks(t, r)
	f.cluster.Spec.API.AllowedCIDRs = append(f.cluster.Spec.API.AllowedCIDRs, "10.200.0.0/16")
	for b.Loop() {
		changes := 0
		for i, s := range f.stacks(t, r) {
			plan := diff.Compare(
				diff.Side{Template: deployed[i].Template, Parameters: deployed[i].Parameters, Tags: deployed[i].Tags},
				diff.Side{Template: s.Template, Parameters: s.Parameters, Tags: s.Tags}, schema.Default(),
			)
			changes += len(plan.Changes)
		}
		if changes != 1 {
			b.Fatalf("there are %d changes: a rule for one more range", changes)
		}
	}
}

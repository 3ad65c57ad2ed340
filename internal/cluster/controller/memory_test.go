package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cluster/stacks"
)

// Package stacks decodes the same record for plans and must read the same data.
func TestStackRecordIsReadableByPackageStacks(t *testing.T) {
	now, next := machines{Bundle: "b", Nodeup: "n", Shape: "s", DiskTags: map[string]string{"a": "b"}}, machines{Bundle: "c"}
	known := remembered{
		Record: stack.Record{StackID: "arn", Status: "UPDATE_IN_PROGRESS", Digest: "d", PendingDigest: "p"},
		Nodeup: "n2", Machines: &history{Now: &now, Next: &next},
	}
	status := &v1alpha1.StackStatus{Name: "demo", Bundle: "c"}
	if err := keep(status, known); err != nil {
		t.Fatal(err)
	}
	read, err := stacks.Recall(status)
	if err != nil {
		t.Fatal(err)
	}
	want := stacks.Known{Record: known.Record, Machines: known.pastOf(status)}
	if d := cmp.Diff(want, read, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

package controller

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/cache"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/stacks"
)

func TestStackInProgressIsRenderedOnce(t *testing.T) {
	ours := record.Machines{Stack: "1", Bundle: "b", Nodeup: "n", DiskTags: map[string]string{"a": "b"}}
	others := record.Machines{Stack: "2", Bundle: "c", Nodeup: "n"}
	cases := map[string]struct {
		inputs uint64
		past   *record.History
		again  bool
	}{
		"its creation is in progress":              {1, &record.History{Next: &ours}, false},
		"it was created":                           {1, &record.History{Now: &ours}, false},
		"its inputs changed":                       {2, &record.History{Next: &ours}, true},
		"it was not sent, so nodeup may be newer":  {1, nil, true},
		"another change is in progress":            {1, &record.History{Now: &ours, Next: &others}, true},
		"the instances are from an earlier change": {1, &record.History{Now: &others}, true},
		"the change is the rendered one":           {1, &record.History{Now: &others, Next: &ours}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			o := &operator{rendered: cache.NewLatest[stackKey, rendered](2)}
			key, times := stackKey{"uid", "demo"}, 0
			render := func() (*stacks.Made, error) {
				times++
				return &stacks.Made{Machines: ours}, nil
			}
			for _, input := range []struct {
				inputs uint64
				past   *record.History
			}{{1, nil}, {c.inputs, c.past}} {
				if made, err := o.render(key, input.inputs, input.past, render); err != nil || made.Machines.Stack != "1" {
					t.Fatalf("got %v, %v", made, err)
				}
			}
			if again := times == 2; again != c.again {
				t.Errorf("rendered again: %t, want %t", again, c.again)
			}
		})
	}
}

func TestInstancesOfANewStackAreNotReplaced(t *testing.T) {
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	cases := map[string]struct {
		status string
		now    time.Time
		wait   time.Duration
	}{
		"just created": {record.StatusCreated, began.Add(2 * time.Minute), 8 * time.Minute},
		"created as long ago as the repair delay": {record.StatusCreated, began.Add(10 * time.Minute), 0},
		"updated: some instances may be older":    {"UPDATE_COMPLETE", began.Add(2 * time.Minute), 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			group := &v1alpha1.InstanceGroup{}
			group.Spec.Repair.After = &metav1.Duration{Duration: 10 * time.Minute}
			group.Status.Stack = &v1alpha1.StackStatus{Name: "demo-workers"}
			if err := record.Encode(group.Status.Stack, record.Stack{Record: stack.Record{Status: c.status, StartedAt: &began}}); err != nil {
				t.Fatal(err)
			}
			if wait := max(0, stillNew(group, c.now)); wait != c.wait {
				t.Errorf("too new for %s, want %s", wait, c.wait)
			}
		})
	}
}

package repair

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
)

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
			known := record.Stack{Record: stack.Record{Status: c.status, StartedAt: &began}}
			if err := record.Encode(group.Status.Stack, known); err != nil {
				t.Fatal(err)
			}
			if wait := max(0, stillNew(group, c.now)); wait != c.wait {
				t.Errorf("too new for %s, want %s", wait, c.wait)
			}
		})
	}
}

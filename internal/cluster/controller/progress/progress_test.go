package progress

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// shaped returns instances with a shape that boot with a bundle.
func shaped(stack, bundle, shape string) record.Machines {
	ready := metav1.Duration{Duration: 15 * time.Minute}
	return record.Machines{Stack: stack, Bundle: strings.Repeat(bundle, 64), Shape: shape, Ready: ready}
}

// aNode returns a node that booted with a bundle and became Ready at once.
func aNode(instance, bundle string, made time.Time) workload.Node {
	return workload.Node{
		Name: "node-" + instance, InstanceID: instance, Bundle: strings.Repeat(bundle, model.BundleLabelLength), Created: made, Ready: true,
		ReadyChanged: made,
	}
}

func TestRolloutMessage(t *testing.T) {
	old, next := shaped("1", "a", "x"), shaped("2", "b", "y")
	past := &record.History{Now: &old}
	nodes := []workload.Node{aNode("i-1", "a", noon), aNode("i-2", "a", noon), aNode("i-3", "a", noon)}
	past.Begin(next, nodes)
	coming := aNode("i-5", "b", noon.Add(5*time.Minute))
	coming.Ready = false
	going := aNode("i-6", "a", noon)
	going.Unschedulable = true
	seen := View{History: past, Status: record.StatusUpdating, Nodes: append(nodes, aNode("i-4", "b", noon.Add(3*time.Minute)), coming, going)}
	rolloutStatus := &v1alpha1.RolloutStatus{
		State: v1alpha1.RolloutRolling, Started: new(metav1.NewTime(noon.Add(3 * time.Minute))),
		Draining: []v1alpha1.DrainStatus{
			{Node: "node-i-6", Since: new(metav1.NewTime(noon.Add(4 * time.Minute))), BlockedBy: []string{"default/web"}},
		},
	}
	const want = "2 of 5 nodes updated since 12:03 UTC; node node-i-6 is draining since 12:04 UTC and waits for the PodDisruptionBudget default/web; " +
		"1 new node is not ready yet, until 12:20 UTC."
	if got := seen.Message(rolloutStatus); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	const blame = "New nodes were not ready within 15m0s: node node-i-5 (i-5) joined but is not ready, instance i-7 did not join."
	if got := seen.Blame([]string{"i-7"}); got != blame {
		t.Errorf("got %q, want %q", got, blame)
	}
}

// CloudFormation completes an update while the previous instances terminate: their nodes remain, and are not cordoned before the
// operator has received the event of the lifecycle hook, which may be late.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/lifecycle-hooks.html
func TestEndedRolloutDoesNotCountNodesThatAreLeaving(t *testing.T) {
	changed, same := shaped("2", "b", "y"), shaped("2", "a", "y")
	for name, next := range map[string]record.Machines{"another bundle": changed, "the same bundle": same} {
		t.Run(name, func(t *testing.T) {
			old := shaped("1", "a", "x")
			past := &record.History{Now: &old}
			nodes := []workload.Node{aNode("i-1", "a", noon), aNode("i-2", "a", noon)}
			past.Begin(next, nodes)
			bundle := next.Bundle[:1]
			for _, id := range []string{"i-3", "i-4", "i-5"} {
				nodes = append(nodes, aNode(id, bundle, noon.Add(time.Minute)))
			}
			known := &record.Stack{}
			known.Digest, known.Status = next.Stack, "UPDATE_COMPLETE"
			past.Settle(known, next)
			seen := View{History: past, Status: known.Status, Nodes: nodes}
			if updated, total := seen.Totals(v1alpha1.RolloutDone); updated != 3 || total != 3 {
				t.Errorf("%d of %d nodes are updated, want 3 of 3", updated, total)
			}
			const want = "All instances were replaced: 3 nodes up to date."
			if got := seen.Message(&v1alpha1.RolloutStatus{State: v1alpha1.RolloutDone}); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// The nodes of a change that was rolled back leave in the same way.
func TestRolledBackRolloutDoesNotCountNodesThatAreLeaving(t *testing.T) {
	old, next := shaped("1", "a", "x"), shaped("2", "b", "y")
	past := &record.History{Now: &old}
	nodes := []workload.Node{aNode("i-1", "a", noon), aNode("i-2", "a", noon)}
	past.Begin(next, nodes)
	past.Next = nil
	seen := View{History: past, Status: "UPDATE_ROLLBACK_COMPLETE", Nodes: append(nodes, aNode("i-3", "b", noon.Add(time.Minute)))}
	if updated, total := seen.Totals(v1alpha1.RolloutRolledBack); updated != 2 || total != 2 {
		t.Errorf("%d of %d nodes are updated, want 2 of 2", updated, total)
	}
	if updated, total := seen.Totals(v1alpha1.RolloutStopped); updated != 2 || total != 3 {
		t.Errorf("a failed rollback: %d of %d nodes are updated, want 2 of 3", updated, total)
	}
}

// A rollout starts before the group's nodes are known.
func TestRolloutMessageCountsExpectedNodes(t *testing.T) {
	old, next := shaped("1", "a", "x"), shaped("2", "b", "y")
	past := &record.History{Now: &old}
	past.Begin(next, nil)
	rolloutStatus := &v1alpha1.RolloutStatus{State: v1alpha1.RolloutRolling, Started: new(metav1.NewTime(noon))}
	for _, c := range []struct {
		nodes []workload.Node
		want  string
	}{
		{nil, "0 of 3 nodes updated since 12:00 UTC."},
		{[]workload.Node{aNode("i-1", "b", noon)}, "1 of 3 nodes updated since 12:00 UTC."},
	} {
		seen := View{History: past, Status: record.StatusUpdating, Nodes: c.nodes, Expected: 3}
		if got := seen.Message(rolloutStatus); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

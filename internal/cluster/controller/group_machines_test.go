package controller

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// shaped returns instances with a shape that boot with a bundle.
func shaped(stack, bundle, shape string) machines {
	return machines{Stack: stack, Bundle: strings.Repeat(bundle, 64), Shape: shape, Ready: metav1.Duration{Duration: 15 * time.Minute}}
}

// aNode returns a node that booted with a bundle and became Ready at once.
func aNode(instance, bundle string, made time.Time) workload.Node {
	return workload.Node{
		Name: "node-" + instance, InstanceID: instance, Bundle: strings.Repeat(bundle, model.BundleLabelLength), Created: made, Ready: true,
		ReadyChanged: made,
	}
}

func TestHistoryFollowsTheStack(t *testing.T) {
	a, b, c := shaped("1", "a", "x"), shaped("2", "b", "y"), shaped("3", "c", "z")
	for name, one := range map[string]struct {
		before history
		found  stack.Record
		wanted machines
		now    string // the bundle of the existing instances
		next   string // the bundle of the change in progress
		made   string // the bundle of new instances
	}{
		"a stack is being created":             {history{Next: &a}, stack.Record{Status: "CREATE_IN_PROGRESS", PendingDigest: "1"}, a, "", "a", "a"},
		"it was created":                       {history{Next: &a}, stack.Record{Status: "CREATE_COMPLETE", Digest: "1"}, a, "a", "", "a"},
		"a change is in progress":              {history{Now: &a, Next: &b}, stack.Record{Status: "UPDATE_IN_PROGRESS", Digest: "1", PendingDigest: "2"}, b, "a", "b", "b"},
		"the object is edited in the meantime": {history{Now: &a, Next: &b}, stack.Record{Status: "UPDATE_IN_PROGRESS", Digest: "1", PendingDigest: "2"}, c, "a", "b", "b"},
		"the change completed":                 {history{Now: &a, Next: &b}, stack.Record{Status: "UPDATE_COMPLETE", Digest: "2"}, b, "b", "", "b"},
		"it is rolling back":                   {history{Now: &a, Next: &b}, stack.Record{Status: "UPDATE_ROLLBACK_IN_PROGRESS", Digest: "1", PendingDigest: "2"}, b, "a", "b", "a"},
		"it was rolled back":                   {history{Now: &a, Next: &b}, stack.Record{Status: "UPDATE_ROLLBACK_COMPLETE", Digest: "1", FailedDigest: "2"}, b, "a", "", "a"},
		"the change was refused":               {history{Now: &a, Next: &b}, stack.Record{Status: "UPDATE_COMPLETE", Digest: "1", FailedDigest: "2"}, b, "a", "", "a"},
		"the next change follows at once":      {history{Now: &a, Prior: &b, Next: &c}, stack.Record{Status: "UPDATE_IN_PROGRESS", Digest: "2", PendingDigest: "3"}, c, "b", "c", "c"},
		"a change follows a failed one":        {history{Now: &a, Prior: &b, Next: &c}, stack.Record{Status: "UPDATE_IN_PROGRESS", Digest: "1", PendingDigest: "3"}, c, "a", "c", "c"},
		"an existing stack is recorded":        {history{}, stack.Record{Status: "UPDATE_COMPLETE", Digest: "1"}, a, "a", "", "a"},
	} {
		t.Run(name, func(t *testing.T) {
			known := remembered{Record: one.found}
			one.before.settle(&known, one.wanted)
			for what, got := range map[string][2]string{
				"what is there": {bundleOf(one.before.Now), one.now}, "what is under way": {bundleOf(one.before.Next), one.next},
				"what is made": {bundleOf(one.before.made(known.Status)), one.made},
			} {
				if got[0] != got[1] {
					t.Errorf("%s is %q, want %q", what, got[0], got[1])
				}
			}
			if one.before.Prior != nil {
				t.Error("the previous change is still recorded")
			}
		})
	}
}

func bundleOf(m *machines) string {
	if m == nil {
		return ""
	}
	return m.Bundle[:1]
}

func TestNodesToSignal(t *testing.T) {
	old, next, paused := shaped("1", "a", "x"), shaped("2", "b", "y"), shaped("2", "b", "y")
	paused.Pause.Duration = time.Minute
	past := &history{}
	past.begin(next, []workload.Node{aNode("i-1", "a", noon.Add(-time.Hour)), aNode("i-2", "a", noon)})
	unready := aNode("i-3", "b", noon.Add(time.Minute))
	unready.Ready = false
	for name, one := range map[string]struct {
		node     workload.Node
		expected *machines
		due      bool
		after    time.Duration
	}{
		"a Ready node with the new shape":                      {aNode("i-3", "b", noon.Add(time.Minute)), &next, true, 0},
		"a node with the previous shape":                       {aNode("i-3", "a", noon.Add(time.Minute)), &next, false, 0},
		"a new node with the previous shape during a rollback": {aNode("i-3", "a", noon.Add(time.Minute)), &old, true, 0},
		"an old node during a rollback":                        {aNode("i-1", "a", noon.Add(-time.Hour)), &old, false, 0},
		"the newest old node":                                  {aNode("i-2", "a", noon), &old, false, 0},
		"another node of the same second":                      {aNode("i-3", "a", noon), &old, true, 0},
		"a node that is not Ready":                             {unready, &next, false, 0},
		"a node without an instance":                           {aNode("", "b", noon.Add(time.Minute)), &next, false, 0},
		"a node whose pause has not ended":                     {aNode("i-3", "b", noon.Add(time.Minute)), &paused, true, 30 * time.Second},
		"a node whose pause has ended":                         {aNode("i-3", "b", noon.Add(time.Second)), &paused, true, 0},
		"a node without an expected shape":                     {aNode("i-3", "b", noon.Add(time.Minute)), nil, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			after, due := past.signalIn(&one.node, []*machines{one.expected}, noon.Add(90*time.Second))
			if due != one.due || after != one.after {
				t.Errorf("signaled: %t, after %s", due, after)
			}
		})
	}
}

func TestNodesWithTheSameBundleAreDistinguishedByAge(t *testing.T) {
	old, bigger := shaped("1", "a", "x"), shaped("2", "a", "y")
	before := aNode("i-1", "a", noon)
	past := &history{Now: &old}
	past.begin(bigger, []workload.Node{before})
	after := aNode("i-2", "a", noon.Add(time.Minute))
	if past.updated(&before, statusUpdating) || !past.updated(&after, statusUpdating) {
		t.Error("another instance type is not distinguished from the previous one")
	}
	if !past.updated(&before, statusGoingBack) {
		t.Error("the previous shape is not the desired one during a rollback")
	}
}

func TestRolloutMessage(t *testing.T) {
	old, next := shaped("1", "a", "x"), shaped("2", "b", "y")
	past := &history{Now: &old}
	nodes := []workload.Node{aNode("i-1", "a", noon), aNode("i-2", "a", noon), aNode("i-3", "a", noon)}
	past.begin(next, nodes)
	coming := aNode("i-5", "b", noon.Add(5*time.Minute))
	coming.Ready = false
	going := aNode("i-6", "a", noon)
	going.Unschedulable = true
	seen := view{history: past, status: statusUpdating, nodes: append(nodes, aNode("i-4", "b", noon.Add(3*time.Minute)), coming, going)}
	rolloutStatus := &v1alpha1.RolloutStatus{
		State: v1alpha1.RolloutRolling, Started: new(metav1.NewTime(noon.Add(3 * time.Minute))),
		Draining: []v1alpha1.DrainStatus{
			{Node: "node-i-6", Since: new(metav1.NewTime(noon.Add(4 * time.Minute))), BlockedBy: []string{"default/web"}},
		},
	}
	const want = "2 of 5 nodes updated since 12:03 UTC; node node-i-6 is draining since 12:04 UTC and waits for the PodDisruptionBudget default/web; " +
		"1 new node is not ready yet, until 12:20 UTC."
	if got := seen.rolloutMessage(rolloutStatus); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	const blame = "New nodes were not ready within 15m0s: node node-i-5 (i-5) joined but is not ready, instance i-7 did not join."
	if got := seen.blame([]string{"i-7"}); got != blame {
		t.Errorf("got %q, want %q", got, blame)
	}
}

package record

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// shaped returns instances with a shape that boot with a bundle.
func shaped(stack, bundle, shape string) Machines {
	return Machines{Stack: stack, Bundle: strings.Repeat(bundle, 64), Shape: shape, Ready: metav1.Duration{Duration: 15 * time.Minute}}
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
		before History
		found  stack.Record
		wanted Machines
		now    string // the bundle of the existing instances
		next   string // the bundle of the change in progress
		made   string // the bundle of new instances
	}{
		"a stack is being created":             {History{Next: &a}, stack.Record{Status: "CREATE_IN_PROGRESS", PendingDigest: "1"}, a, "", "a", "a"},
		"it was created":                       {History{Next: &a}, stack.Record{Status: "CREATE_COMPLETE", Digest: "1"}, a, "a", "", "a"},
		"a change is in progress":              {History{Now: &a, Next: &b}, stack.Record{Status: "UPDATE_IN_PROGRESS", Digest: "1", PendingDigest: "2"}, b, "a", "b", "b"},
		"the object is edited in the meantime": {History{Now: &a, Next: &b}, stack.Record{Status: "UPDATE_IN_PROGRESS", Digest: "1", PendingDigest: "2"}, c, "a", "b", "b"},
		"the change completed":                 {History{Now: &a, Next: &b}, stack.Record{Status: "UPDATE_COMPLETE", Digest: "2"}, b, "b", "", "b"},
		"it is rolling back":                   {History{Now: &a, Next: &b}, stack.Record{Status: "UPDATE_ROLLBACK_IN_PROGRESS", Digest: "1", PendingDigest: "2"}, b, "a", "b", "a"},
		"it was rolled back":                   {History{Now: &a, Next: &b}, stack.Record{Status: "UPDATE_ROLLBACK_COMPLETE", Digest: "1", FailedDigest: "2"}, b, "a", "", "a"},
		"the change was refused":               {History{Now: &a, Next: &b}, stack.Record{Status: "UPDATE_COMPLETE", Digest: "1", FailedDigest: "2"}, b, "a", "", "a"},
		"the next change follows at once":      {History{Now: &a, Prior: &b, Next: &c}, stack.Record{Status: "UPDATE_IN_PROGRESS", Digest: "2", PendingDigest: "3"}, c, "b", "c", "c"},
		"a change follows a failed one":        {History{Now: &a, Prior: &b, Next: &c}, stack.Record{Status: "UPDATE_IN_PROGRESS", Digest: "1", PendingDigest: "3"}, c, "a", "c", "c"},
		"an existing stack is recorded":        {History{}, stack.Record{Status: "UPDATE_COMPLETE", Digest: "1"}, a, "a", "", "a"},
	} {
		t.Run(name, func(t *testing.T) {
			known := Stack{Record: one.found}
			one.before.Settle(&known, one.wanted)
			for what, got := range map[string][2]string{
				"what is there": {bundleOf(one.before.Now), one.now}, "what is under way": {bundleOf(one.before.Next), one.next},
				"what is made": {bundleOf(one.before.Made(known.Status)), one.made},
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

func bundleOf(m *Machines) string {
	if m == nil {
		return ""
	}
	return m.Bundle[:1]
}

func TestNodesToSignal(t *testing.T) {
	old, next, paused := shaped("1", "a", "x"), shaped("2", "b", "y"), shaped("2", "b", "y")
	paused.Pause.Duration = time.Minute
	past := &History{}
	past.Begin(next, []workload.Node{aNode("i-1", "a", noon.Add(-time.Hour)), aNode("i-2", "a", noon)})
	unready := aNode("i-3", "b", noon.Add(time.Minute))
	unready.Ready = false
	for name, one := range map[string]struct {
		node     workload.Node
		expected *Machines
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
			after, due := past.SignalIn(&one.node, []*Machines{one.expected}, noon.Add(90*time.Second))
			if due != one.due || after != one.after {
				t.Errorf("signaled: %t, after %s", due, after)
			}
		})
	}
}

// After a record was lost, it is unknown what the instances of a change or of its rollback are made from.
func TestNodesToSignalAfterALostRecord(t *testing.T) {
	old, next, paused := shaped("1", "a", "x"), shaped("2", "b", "y"), shaped("2", "b", "y")
	paused.Pause.Duration = time.Minute
	began := noon.Add(300 * time.Millisecond)
	for name, one := range map[string]struct {
		past   History
		status string
		node   workload.Node
		wanted *Machines
		due    bool
		after  time.Duration
	}{
		"a node since the change began":             {History{}, StatusUpdating, aNode("i-2", "c", noon), &next, true, 0},
		"a node whose pause has not ended":          {History{}, StatusUpdating, aNode("i-2", "c", noon), &paused, true, 30 * time.Second},
		"a node from before the change":             {History{}, StatusUpdating, aNode("i-1", "c", noon.Add(-time.Second)), &next, false, 0},
		"a node of a known change":                  {History{Next: &next}, StatusUpdating, aNode("i-2", "b", noon), &next, false, 0},
		"a node since the change, in its rollback":  {History{}, StatusRollingBack, aNode("i-2", "c", noon), &next, true, 0},
		"a node of the change, in its rollback":     {History{}, StatusRollingBack, aNode("i-2", "b", noon), &next, false, 0},
		"the same, with the wanted shape unknown":   {History{}, StatusRollingBack, aNode("i-2", "b", noon), nil, true, 0},
		"a node of the known change, in a rollback": {History{Next: &next}, StatusRollingBack, aNode("i-2", "b", noon), &old, false, 0},
		"another node, in a rollback of it":         {History{Next: &next}, StatusRollingBack, aNode("i-2", "a", noon), nil, true, 0},
		"a node of a known shape, in a rollback":    {History{Now: &old}, StatusRollingBack, aNode("i-2", "a", noon), nil, false, 0},
		"a node of a stack that does not change":    {History{}, StatusCreated, aNode("i-2", "a", noon), nil, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			known := &Stack{Record: stack.Record{Status: one.status, StartedAt: &began}}
			after, due := one.past.SignalLostIn(&one.node, known, one.wanted, noon.Add(30*time.Second))
			if due != one.due || after != one.after {
				t.Errorf("signaled: %t, after %s", due, after)
			}
		})
	}
}

func TestNodesWithTheSameBundleAreDistinguishedByAge(t *testing.T) {
	old, bigger := shaped("1", "a", "x"), shaped("2", "a", "y")
	before := aNode("i-1", "a", noon)
	past := &History{Now: &old}
	past.Begin(bigger, []workload.Node{before})
	after := aNode("i-2", "a", noon.Add(time.Minute))
	if past.Updated(&before, StatusUpdating) || !past.Updated(&after, StatusUpdating) {
		t.Error("another instance type is not distinguished from the previous one")
	}
	if !past.Updated(&before, StatusRollingBack) {
		t.Error("the previous shape is not the desired one during a rollback")
	}
}

// The record of a change was lost, and the first new node joined before it was found again.
func TestResumedChangeIncludesNodesThatJoinedMeanwhile(t *testing.T) {
	old, next := shaped("1", "a", "x"), shaped("2", "a", "y")
	before, after := aNode("i-1", "a", noon.Add(-time.Hour)), aNode("i-2", "a", noon)
	past := &History{Now: &old}
	past.Resume(next, []workload.Node{before, after}, noon.Add(300*time.Millisecond))
	if past.Next == nil || past.Next.Stack != "2" || past.Now.Stack != "1" {
		t.Errorf("the history is %+v", past)
	}
	for node, want := range map[*workload.Node]bool{&before: false, &after: true} {
		if _, due := past.SignalIn(node, []*Machines{past.Next, past.Now}, noon.Add(time.Minute)); due != want {
			t.Errorf("node %s is to be signaled: %t", node.Name, due)
		}
	}
}

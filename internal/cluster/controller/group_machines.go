package controller

import (
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/stacks"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

// machines is what the machines of a stack are made from.
type machines = stacks.Machines

// history is what is remembered of a stack's machines.
type history struct {
	// Now is what the machines are made from: of the stack as it was brought about last.
	Now *machines `json:"now,omitempty"`
	// Next is what the change makes them from that is under way; nil if none is. When it fails, they are made from Now again.
	Next *machines `json:"next,omitempty"`
	// Prior is a change that had ended, one way or the other, when the next one was sent in the same look.
	Prior *machines `json:"prior,omitempty"`
	// Told is the token of the change of which the group's status.rollout tells, until that has ended.
	Told string `json:"told,omitempty"`
	// Since is when the newest node was made that was there when the last change began, by the workload cluster's clock, and Last the
	// instances of the nodes that were made in that second: nodes that came later are the change's.
	Since *metav1.Time `json:"since,omitempty"`
	Last  []string     `json:"last,omitempty"`
	// Missing are machines that had not joined when most of the time for it was over, and Asked is when that was found out.
	Missing []string     `json:"missing,omitempty"`
	Asked   *metav1.Time `json:"asked,omitempty"`
	// Cause says which nodes made the last change fail; Kept that one could not be drained in time, and the change was cancelled.
	Cause string `json:"cause,omitempty"`
	Kept  bool   `json:"kept,omitempty"`
	// AutoscalerHeld is true from before the cluster autoscaler is kept off until it is let back.
	AutoscalerHeld bool `json:"autoscalerHeld,omitempty"`
}

// historyOf returns what is remembered of a stack's machines, which is never nil.
func (r *remembered) historyOf() *history {
	if r.Machines == nil {
		r.Machines = &history{}
	}
	return r.Machines
}

// pastOf returns what a stack's machines are made from, as far as it matters to how the stack is rendered.
func (r *remembered) pastOf(status *v1alpha1.StackStatus) stacks.Past {
	h := r.historyOf()
	return stacks.Past{Now: h.Now, Next: h.Next, Stored: status.Bundle, Nodeup: r.Nodeup}
}

// begin notes that a change is sent which makes machines of next, beside the nodes that there are.
func (h *history) begin(next machines, nodes []workload.Node) {
	*h = history{Now: h.Now, Prior: h.Next, Next: &next, AutoscalerHeld: h.AutoscalerHeld}
	for i := range nodes {
		switch made := nodes[i].Created; {
		case h.Since == nil || made.After(h.Since.Time):
			h.Since, h.Last = new(metav1.NewTime(made)), []string{nodes[i].InstanceID}
		case made.Equal(h.Since.Time):
			h.Last = append(h.Last, nodes[i].InstanceID)
		}
	}
	slices.Sort(h.Last)
	h.AutoscalerHeld = h.AutoscalerHeld || h.rolls() && (h.Now.Autoscaled || next.Autoscaled)
}

// settle brings the history in line with what the stack engine found; wanted is what the stack should be.
func (h *history) settle(known *remembered, wanted machines) {
	if h.Prior != nil && known.Digest == h.Prior.Stack {
		h.Now = h.Prior
	}
	h.Prior = nil
	switch {
	case h.Next == nil:
	case known.Digest == h.Next.Stack:
		h.Now, h.Next = h.Next, nil
	case known.PendingDigest != h.Next.Stack: // It went back, or was never made.
		h.Next = nil
	}
	if known.Digest == wanted.Stack {
		h.Now = &wanted
	}
}

// isLater reports whether a node came after the last change began.
func (h *history) isLater(node *workload.Node) bool {
	switch {
	case h.Since == nil || node.Created.After(h.Since.Time):
		return true
	default:
		return node.Created.Equal(h.Since.Time) && !slices.Contains(h.Last, node.InstanceID)
	}
}

// lateIn returns after what time most of the time is over that new machines may take, counted from the beginning of the change or the
// newest node; 0 if it is and nobody has asked since which are missing, and a long time if somebody has.
func (h *history) lateIn(known *remembered, nodes []workload.Node, now time.Time) time.Duration {
	began := now
	if known.StartedAt != nil {
		began = *known.StartedAt
	}
	for i := range nodes {
		if nodes[i].Created.After(began) {
			began = nodes[i].Created
		}
	}
	if h.Asked != nil && h.Asked.After(began) {
		return longAway
	}
	return max(0, began.Add((h.Next.Ready.Duration+h.Next.Pause.Duration)*3/4).Sub(now))
}

// longAway is when to look at what needs no look.
const longAway = time.Hour

// miss notes which machines of an Auto Scaling group have no node, besides those that were noted before and have none still.
func (h *history) miss(group *types.AutoScalingGroup, nodes []workload.Node) {
	joined, missing := map[string]bool{}, h.Missing
	for i := range nodes {
		joined[nodes[i].InstanceID] = true
	}
	for i := range group.Instances {
		missing = append(missing, aws.ToString(group.Instances[i].InstanceId))
	}
	slices.Sort(missing)
	h.Missing = slices.DeleteFunc(slices.Compact(missing), func(id string) bool { return joined[id] })
}

// made is what new machines are made from in a status of the stack: of the change, unless it goes back.
func (h *history) made(status string) *machines {
	if h.Next != nil && !isGoingBack(status) {
		return h.Next
	}
	return h.Now
}

// rolls reports whether the change that is under way replaces machines, and CloudFormation does it.
func (h *history) rolls() bool {
	return h.Now != nil && h.Next != nil && h.Next.Engine != v1alpha1.RollOperator && h.Now.Differs(h.Next)
}

// updated reports whether a node is of the shape that the group has, or is getting. Where the bundle says nothing, as when only the
// machines' type changes, the time does.
func (h *history) updated(node *workload.Node, status string) bool {
	made := h.made(status)
	if made == nil || !boots(node, made.Bundle) {
		return false
	}
	if h.rolls() && h.Now.Bundle == h.Next.Bundle && !isGoingBack(status) {
		return h.isLater(node)
	}
	return true
}

// isGoingBack reports whether an update of a stack failed and goes, or went, back.
func isGoingBack(status string) bool { return strings.HasPrefix(status, "UPDATE_ROLLBACK_") }

// isChanging reports whether an update of a stack, or its rollback, is under way.
func isChanging(status string) bool { return status == statusUpdating || status == statusGoingBack }

// CloudFormation's words for stacks that are made, and for those whose update, or its rollback, may wait for signals:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/view-stack-events.html
const (
	statusCreating  = "CREATE_IN_PROGRESS"
	statusCreated   = "CREATE_COMPLETE"
	statusUpdating  = "UPDATE_IN_PROGRESS"
	statusGoingBack = "UPDATE_ROLLBACK_IN_PROGRESS"
)

// inGroup returns those nodes that are of an instance group.
func inGroup(nodes []workload.Node, group string) []workload.Node {
	var of []workload.Node
	for i := range nodes {
		if nodes[i].Group == group {
			of = append(of, nodes[i])
		}
	}
	return of
}

// signalIn returns after what time a signal for a node is due: never if false. Expected are the bundles of machines that the
// change may make.
func (h *history) signalIn(node *workload.Node, expected []*machines, now time.Time) (time.Duration, bool) {
	if !node.Ready || node.InstanceID == "" || !h.isLater(node) {
		return 0, false
	}
	for _, one := range expected {
		if one == nil || !boots(node, one.Bundle) {
			continue
		}
		if one.Pause.Duration == 0 { // Whatever the clocks say.
			return 0, true
		}
		return max(0, node.ReadyChanged.Add(one.Pause.Duration).Sub(now)), true
	}
	return 0, false
}

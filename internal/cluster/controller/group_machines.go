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

// machines is what the instances of a stack are made from.
type machines = stacks.Machines

// history records what a stack's instances are made from, across changes.
type history struct {
	// Now is the shape of instances in the stack's last completed change.
	Now *machines `json:"now,omitempty"`
	// Next is the shape that the change in progress creates, nil if there is none. If the change
	// fails, instances return to Now.
	Next *machines `json:"next,omitempty"`
	// Prior is a change that had ended when the same reconcile sent the next one.
	Prior *machines `json:"prior,omitempty"`
	// RolloutToken is the token of the change that the group's status.rollout reports, until it has
	// ended.
	RolloutToken string `json:"told,omitempty"`
	// Since is the creation time, by the workload cluster's clock, of the newest node when the last
	// change began. Last are the instances of the nodes that were created in that second. Nodes
	// that came later belong to the change.
	Since *metav1.Time `json:"since,omitempty"`
	Last  []string     `json:"last,omitempty"`
	// Missing are instances that had not joined after most of the time allowed. Asked is when that
	// was determined.
	Missing []string     `json:"missing,omitempty"`
	Asked   *metav1.Time `json:"asked,omitempty"`
	// Cause names the nodes that made the last change fail. Kept reports that a node could not be
	// drained in time and the change was canceled.
	Cause string `json:"cause,omitempty"`
	Kept  bool   `json:"kept,omitempty"`
	// AutoscalerHeld is true from before the cluster autoscaler is suspended until it is resumed.
	AutoscalerHeld bool `json:"autoscalerHeld,omitempty"`
}

// historyOf returns the history of a stack's instances. It is never nil.
func (r *remembered) historyOf() *history {
	if r.Machines == nil {
		r.Machines = &history{}
	}
	return r.Machines
}

// pastOf returns the part of the history that affects how the stack is rendered.
func (r *remembered) pastOf(status *v1alpha1.StackStatus) stacks.Past {
	h := r.historyOf()
	return stacks.Past{Now: h.Now, Next: h.Next, Stored: status.Bundle, Nodeup: r.Nodeup}
}

// begin records that a change was sent that creates instances of next, and which nodes exist.
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

// settle updates the history to what the stack engine found; wanted is the desired shape.
func (h *history) settle(known *remembered, wanted machines) {
	if h.Prior != nil && known.Digest == h.Prior.Stack {
		h.Now = h.Prior
	}
	h.Prior = nil
	switch {
	case h.Next == nil:
	case known.Digest == h.Next.Stack:
		h.Now, h.Next = h.Next, nil
	case known.PendingDigest != h.Next.Stack: // It was rolled back or never started.
		h.Next = nil
	}
	if known.Digest == wanted.Stack {
		h.Now = &wanted
	}
}

// isLater reports whether a node was created after the last change began.
func (h *history) isLater(node *workload.Node) bool {
	switch {
	case h.Since == nil || node.Created.After(h.Since.Time):
		return true
	default:
		return node.Created.Equal(h.Since.Time) && !slices.Contains(h.Last, node.InstanceID)
	}
}

// lateIn returns when three quarters of the time allowed for new instances will have passed,
// counted from the start of the change or the newest node. It returns 0 if they have passed and
// missing instances were not determined since, and longAway if they were.
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
		return idleDelay
	}
	return max(0, began.Add((h.Next.Ready.Duration+h.Next.Pause.Duration)*3/4).Sub(now))
}

// idleDelay is the requeue delay when nothing is due.
const idleDelay = time.Hour

// miss records which instances of an Auto Scaling group have no node, and drops recorded ones that
// joined.
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

// made returns the shape of new instances in a status of the stack: that of the change, unless it
// is rolling back.
func (h *history) made(status string) *machines {
	if h.Next != nil && !isGoingBack(status) {
		return h.Next
	}
	return h.Now
}

// rolls reports whether CloudFormation replaces instances in the change in progress.
func (h *history) rolls() bool {
	return h.Now != nil && h.Next != nil && h.Next.Engine != v1alpha1.RollOperator && h.Now.Differs(h.Next)
}

// updated reports whether a node has the shape that the group has or is getting. Where the bundle
// is the same, as when only the instance type changes, the creation time decides.
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

// isGoingBack reports whether an update of a stack failed and was or is being rolled back.
func isGoingBack(status string) bool { return strings.HasPrefix(status, "UPDATE_ROLLBACK_") }

// isChanging reports whether an update of a stack or its rollback is in progress.
func isChanging(status string) bool { return status == statusUpdating || status == statusGoingBack }

// CloudFormation's statuses of created stacks, and of those whose update or rollback may wait for
// signals: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/view-stack-events.html
const (
	statusCreating  = "CREATE_IN_PROGRESS"
	statusCreated   = "CREATE_COMPLETE"
	statusUpdating  = "UPDATE_IN_PROGRESS"
	statusGoingBack = "UPDATE_ROLLBACK_IN_PROGRESS"
)

// inGroup returns the nodes of an instance group.
func inGroup(nodes []workload.Node, group string) []workload.Node {
	var of []workload.Node
	for i := range nodes {
		if nodes[i].Group == group {
			of = append(of, nodes[i])
		}
	}
	return of
}

// signalIn returns the delay until a node is to be signaled, false if never. Expected are the
// shapes that the change may create.
func (h *history) signalIn(node *workload.Node, expected []*machines, now time.Time) (time.Duration, bool) {
	if !node.Ready || node.InstanceID == "" || !h.isLater(node) {
		return 0, false
	}
	for _, one := range expected {
		if one == nil || !boots(node, one.Bundle) {
			continue
		}
		if one.Pause.Duration == 0 { // Do not depend on clocks.
			return 0, true
		}
		return max(0, node.ReadyChanged.Add(one.Pause.Duration).Sub(now)), true
	}
	return 0, false
}

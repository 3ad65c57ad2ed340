package record

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

// History records what a stack's instances are made from, across changes.
type History struct {
	// Now is the shape of instances in the stack's last completed change.
	Now *Machines `json:"now,omitempty"`
	// Next is the shape that the change in progress creates, nil if there is none. If the change
	// fails, instances return to Now.
	Next *Machines `json:"next,omitempty"`
	// Prior is a change that had ended when the same reconcile sent the next one.
	Prior *Machines `json:"prior,omitempty"`
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

// Begin records that a change was sent that creates instances of next, and which nodes exist.
func (h *History) Begin(next Machines, nodes []workload.Node) {
	*h = History{Now: h.Now, Prior: h.Next, Next: &next, AutoscalerHeld: h.AutoscalerHeld}
	for i := range nodes {
		switch made := nodes[i].Created; {
		case h.Since == nil || made.After(h.Since.Time):
			h.Since, h.Last = new(metav1.NewTime(made)), []string{nodes[i].InstanceID}
		case made.Equal(h.Since.Time):
			h.Last = append(h.Last, nodes[i].InstanceID)
		}
	}
	slices.Sort(h.Last)
	h.AutoscalerHeld = h.AutoscalerHeld || h.Rolls() && (h.Now.Autoscaled || next.Autoscaled)
}

// Resume records a change in progress that was sent at a time, and whose record was lost. Nodes
// that were created since then belong to it. Kubernetes stores the time of a creation in seconds.
func (h *History) Resume(next Machines, nodes []workload.Node, sent time.Time) {
	began := sent.Truncate(time.Second)
	h.Begin(next, slices.DeleteFunc(slices.Clone(nodes), func(n workload.Node) bool { return !n.Created.Before(began) }))
}

// Settle updates the history to what the stack engine found; wanted is the desired shape.
func (h *History) Settle(known *Stack, wanted Machines) {
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

// IsLater reports whether a node was created after the last change began.
func (h *History) IsLater(node *workload.Node) bool {
	switch {
	case h.Since == nil || node.Created.After(h.Since.Time):
		return true
	default:
		return node.Created.Equal(h.Since.Time) && !slices.Contains(h.Last, node.InstanceID)
	}
}

// LateIn returns when three quarters of the time allowed for new instances will have passed,
// counted from the start of the change or the newest node. It returns 0 if they have passed and
// missing instances were not determined since, and longAway if they were.
func (h *History) LateIn(known *Stack, nodes []workload.Node, now time.Time) time.Duration {
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

// Miss records which instances of an Auto Scaling group have no node, and drops recorded ones that
// joined.
func (h *History) Miss(instances []string, nodes []workload.Node) {
	joined, missing := map[string]bool{}, slices.Concat(h.Missing, instances)
	for i := range nodes {
		joined[nodes[i].InstanceID] = true
	}
	slices.Sort(missing)
	h.Missing = slices.DeleteFunc(slices.Compact(missing), func(id string) bool { return joined[id] })
}

// Made returns the shape of new instances in a status of the stack: that of the change, unless it
// is rolling back.
func (h *History) Made(status string) *Machines {
	if h.Next != nil && !IsRollingBack(status) {
		return h.Next
	}
	return h.Now
}

// Rolls reports whether CloudFormation replaces instances in the change in progress.
func (h *History) Rolls() bool {
	return h.Now != nil && h.Next != nil && h.Next.Engine != v1alpha1.RollOperator && h.Now.Differs(h.Next)
}

// Updated reports whether a node has the shape that the group has or is getting. Where the bundle
// is the same, as when only the instance type changes, the creation time decides.
func (h *History) Updated(node *workload.Node, status string) bool {
	made := h.Made(status)
	if made == nil || !Boots(node, made.Bundle) {
		return false
	}
	if h.Rolls() && h.Now.Bundle == h.Next.Bundle && !IsRollingBack(status) {
		return h.IsLater(node)
	}
	return true
}

// SignalIn returns the delay until a node is to be signaled, false if never. Expected are the
// shapes that the change may create.
func (h *History) SignalIn(node *workload.Node, expected []*Machines, now time.Time) (time.Duration, bool) {
	if !node.Ready || node.InstanceID == "" || !h.IsLater(node) {
		return 0, false
	}
	for _, one := range expected {
		if one == nil || !Boots(node, one.Bundle) {
			continue
		}
		return one.pauseIn(node, now), true
	}
	return 0, false
}

// SignalLostIn is SignalIn for a change or a rollback of which it is unknown what the instances are
// made from, because the record was lost. All nodes that were created since belong to it, in a rollback
// except those of the change that failed: of Next, or else of wanted, which may be nil.
func (h *History) SignalLostIn(node *workload.Node, known *Stack, wanted *Machines, now time.Time) (time.Duration, bool) {
	back := IsRollingBack(known.Status)
	isKnown := back && h.Now != nil || !back && h.Next != nil
	if !IsChanging(known.Status) || isKnown || !node.Ready || node.InstanceID == "" {
		return 0, false
	}
	isLater := h.Next != nil && h.IsLater(node) ||
		h.Next == nil && known.StartedAt != nil && !node.Created.Before(known.StartedAt.Truncate(time.Second))
	change := cmp.Or(h.Next, wanted)
	switch {
	case !isLater || back && change != nil && Boots(node, change.Bundle):
		return 0, false
	case change == nil:
		return 0, true
	default:
		return change.pauseIn(node, now), true
	}
}

// pauseIn returns the delay until a Ready node was Ready for the pause.
func (m *Machines) pauseIn(node *workload.Node, now time.Time) time.Duration {
	if m.Pause.Duration == 0 { // Do not depend on clocks.
		return 0
	}
	return max(0, node.ReadyChanged.Add(m.Pause.Duration).Sub(now))
}

// Boots reports whether a node booted with a bundle.
func Boots(node *workload.Node, bundle string) bool {
	return bundle != "" && node.Bundle == bundle[:min(len(bundle), model.BundleLabelLength)]
}
